/* One query of each row over its cache, and what a step writes into it. */
#include "attention.h"

/* Keys and values of the token that is number `lengths[row]` of its row, into its slot. Keys lie by
 * channel, `[rows, kv_heads, width, slots]`, values by slot; both dense.
 */
void append(int64_t first, int64_t last, int64_t part, const float *keys, int64_t keys_row,
            int64_t keys_head, const float *values, int64_t values_row, int64_t values_head,
            const int64_t *lengths, int64_t kv_heads, int64_t slots, int64_t width,
            float *stored_keys, float *stored_values) {
    (void)part;
    for (int64_t row = first; row < last; row++) {
        if (lengths[row] < 1) continue;
        const int64_t slot = (lengths[row] - 1) % slots;
        for (int64_t head = 0; head < kv_heads; head++) {
            const float *key = keys + row * keys_row + head * keys_head;
            const float *value = values + row * values_row + head * values_head;
            float *to = stored_keys + (row * kv_heads + head) * width * slots + slot;
            for (int64_t d = 0; d < width; d++) to[d * slots] = key[d];
            memcpy(stored_values + ((row * kv_heads + head) * slots + slot) * width, value,
                   (size_t)width * sizeof(float));
        }
    }
}

/* `room` has, for each part, QUERIES + 1 rows of step_up(slots) floats, and STEP width more. */
void attention_decode(int64_t first, int64_t last, int64_t part, const float *q, int64_t q_row,
                      int64_t q_head, const float *keys, int64_t keys_row, int64_t keys_head,
                      int64_t keys_channel, const float *values, int64_t values_row,
                      int64_t values_head, int64_t values_slot, const int64_t *lengths,
                      int64_t kv_heads, int64_t group, int64_t slots, int64_t width, float scale,
                      int64_t window, float cap, float *room, float *result, float *sums) {
    const int64_t length_of_room = step_up(slots);
    float *own = room + part * ((QUERIES + 1) * length_of_room + STEP * width);
    float *end = own + (QUERIES + 1) * length_of_room;
    const int64_t even = step_down(slots); /* beyond it, keys are moved to where whole steps have room */
    for (int64_t row = first; row < last; row++) {
        const int64_t length = lengths[row];
        if (length < 1) {
            memset(result + row * kv_heads * group * width, 0,
                   (size_t)(kv_heads * group * width) * sizeof(float));
            for (int64_t head = 0; sums && head < kv_heads * group; head++)
                sums[row * kv_heads * group + head] = -INFINITY;
            continue;
        }
        int64_t count = length < slots ? length : slots;
        if (window < count) count = window;
        const int64_t after = (length - 1) % slots + 1; /* the slot behind the last token's */
        Sight sight = {after - count, after, 0};
        if (sight.first < 0) { /* what is seen goes around the end of the ring */
            sight.first += slots;
            sight.wrapped = after;
            sight.last = slots;
        }
        const int64_t from = sight.wrapped ? 0 : step_down(sight.first);
        const int64_t until = step_up(sight.last);
        for (int64_t kv = 0; kv < kv_heads; kv++) {
            const float *key = keys + row * keys_row + kv * keys_head;
            const float *value = values + row * values_row + kv * values_head;
            if (until > slots)
                for (int64_t d = 0; d < width; d++) {
                    memset(end + d * STEP, 0, STEP * sizeof(float));
                    memcpy(end + d * STEP, key + d * keys_channel + even,
                           (size_t)(slots - even) * sizeof(float));
                }
            for (int64_t member = 0; member < group; member += QUERIES) {
                const float *query[QUERIES];
                float *share[QUERIES], *to[QUERIES];
                float unused[width];
                float total[QUERIES], largest[QUERIES];
                for (int each = 0; each < QUERIES; each++) {
                    const int real = member + each < group;
                    const int64_t head = kv * group + (real ? member + each : group - 1);
                    query[each] = q + row * q_row + head * q_head;
                    share[each] = own + (real ? each : QUERIES) * length_of_room;
                    to[each] = real ? result + (row * kv_heads * group + head) * width : unused;
                    memset(to[each], 0, (size_t)width * sizeof(float));
                }
                products(query, key, keys_channel, width, from, until > slots ? even : until, share);
                if (until > slots) {
                    float *later[QUERIES];
                    for (int each = 0; each < QUERIES; each++) later[each] = share[each] + even;
                    products(query, end, STEP, width, 0, STEP, later);
                }
                for (int each = 0; each < QUERIES && member + each < group; each++) {
                    largest[each] = scores(share[each], sight, from, until, scale, cap);
                    total[each] = shares(share[each], from, until, largest[each]);
                }
                const float *const numbers[QUERIES] = {share[0], share[1], share[2], share[3]};
                if (sight.wrapped)
                    weighted(numbers, value, values_slot, width, 0, sight.wrapped, to);
                weighted(numbers, value, values_slot, width, sight.first, sight.last, to);
                for (int each = 0; each < QUERIES && member + each < group; each++) {
                    const float inverse = 1.0f / total[each];
                    for (int64_t d = 0; d < width; d++) to[each][d] *= inverse;
                    if (sums)
                        sums[row * kv_heads * group + kv * group + member + each] =
                            largest[each] + logf(total[each]);
                }
            }
        }
    }
}
