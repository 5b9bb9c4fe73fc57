/* Causal attention of short rows packed end to end, and its gradients.
 *
 * A unit of work is a row and a key/value head, with all the query heads that read it: unit u is
 * head u % kv_heads of row u / kv_heads. Tokens of a tensor lie at a stride, and heads at another;
 * results are dense, `[tokens, heads, width]`.
 */
#include "attention.h"

/* Channel by channel, zeros after the last token. */
static void turned(const float *from, int64_t stride, int64_t tokens, int64_t width, int64_t places,
                   float *to) {
    for (int64_t d = 0; d < width; d++) {
        for (int64_t token = 0; token < tokens; token++) to[d * places + token] = from[token * stride + d];
        for (int64_t token = tokens; token < places; token++) to[d * places + token] = 0.0f;
    }
}

/* Four queries of a row, the last ones perhaps the same: from `at`, `real` of them. */
typedef struct {
    int64_t at, real, from, until; /* places whose scores are computed */
    int64_t all_from, all_until;   /* places that every query sees */
    Sight sight[QUERIES];
} Block;

static Block block_at(int64_t at, int64_t tokens, int64_t window) {
    Block block = {.at = at, .real = tokens - at < QUERIES ? tokens - at : QUERIES};
    const int64_t last = at + block.real - 1;
    for (int64_t each = 0; each < QUERIES; each++) {
        const int64_t query = each < block.real ? at + each : last;
        const int64_t first = query + 1 - window;
        block.sight[each] = (Sight){first > 0 ? first : 0, query + 1, 0};
    }
    block.from = step_down(block.sight[0].first);
    block.until = step_up(last + 1);
    block.all_from = block.sight[QUERIES - 1].first;
    block.all_until = at + 1;
    if (block.all_until < block.all_from) block.all_until = block.all_from;
    return block;
}

/* As `weighted`, for what each query of a block sees: nothing else is read, were it NaN. */
static inline void gathered(const Block *block, const float *const numbers[QUERIES],
                            const float *rows, int64_t stride, int64_t width,
                            float *const result[QUERIES]) {
    weighted(numbers, rows, stride, width, block->all_from, block->all_until, result);
    for (int64_t each = 0; each < block->real; each++) {
        const Sight *sight = &block->sight[each];
        const int64_t before =
            block->all_from < sight->last ? block->all_from : sight->last;
        weighted_one(numbers[each], rows, stride, width, sight->first, before, result[each]);
        if (block->all_until < sight->last)
            weighted_one(numbers[each], rows, stride, width, block->all_until, sight->last,
                         result[each]);
    }
}

/* Adds to the rows that the queries of a block see what each gives: the other way round. */
static inline void scattered(const Block *block, const float *const numbers[QUERIES],
                             const float *const given[QUERIES], float *rows, int64_t stride,
                             int64_t width) {
    for (int64_t at = 0; at < width; at += LANES) {
        vector from[QUERIES];
        for (int each = 0; each < QUERIES; each++)
            from[each] = each < block->real ? load(given[each] + at) : (vector){0};
        for (int64_t place = block->all_from; place < block->all_until; place++) {
            vector sum = load(rows + place * stride + at);
            for (int each = 0; each < QUERIES; each++)
                sum += all(numbers[each][place]) * from[each];
            store(rows + place * stride + at, sum);
        }
        for (int64_t each = 0; each < block->real; each++) {
            const Sight *sight = &block->sight[each];
            for (int64_t place = sight->first; place < sight->last; place++) {
                if (place >= block->all_from && place < block->all_until) {
                    place = block->all_until - 1;
                    continue;
                }
                float *to = rows + place * stride + at;
                store(to, load(to) + all(numbers[each][place]) * from[each]);
            }
        }
    }
}

/* `room` has for each part width + QUERIES + 1 rows of step_up(longest row) floats. */
void attention(int64_t first, int64_t last, int64_t part, const float *q, int64_t q_token,
               int64_t q_head, const float *k, int64_t k_token, int64_t k_head, const float *v,
               int64_t v_token, int64_t v_head, const int64_t *starts, const int64_t *lengths,
               int64_t longest, int64_t kv_heads, int64_t group, int64_t width, float scale,
               int64_t window, float cap, float *room, float *result, float *sums) {
    const int64_t heads = kv_heads * group;
    float *own = room + part * (width + QUERIES + 1) * step_up(longest);
    for (int64_t unit = first; unit < last; unit++) {
        const int64_t row = unit / kv_heads, kv = unit % kv_heads;
        const int64_t tokens = lengths[row], places = step_up(tokens), start = starts[row];
        const float *value = v + start * v_token + kv * v_head;
        float *keys = own, *share[QUERIES];
        turned(k + start * k_token + kv * k_head, k_token, tokens, width, places, keys);
        for (int64_t at = 0; at < tokens; at += QUERIES) {
            const Block block = block_at(at, tokens, window);
            for (int64_t member = 0; member < group; member++) {
                const int64_t head = kv * group + member;
                const float *query[QUERIES];
                float *to[QUERIES], total[QUERIES], unused[width];
                for (int each = 0; each < QUERIES; each++) {
                    const int real = each < block.real;
                    const int64_t token = start + at + (real ? each : block.real - 1);
                    query[each] = q + token * q_token + head * q_head;
                    share[each] = own + (width + (real ? each : QUERIES)) * places;
                    to[each] = real ? result + (token * heads + head) * width : unused;
                    memset(to[each], 0, (size_t)width * sizeof(float));
                }
                products(query, keys, places, width, block.from, block.until, share);
                for (int each = 0; each < QUERIES; each++) {
                    const float largest = scores(share[each], block.sight[each], block.from,
                                                 block.until, scale, cap);
                    total[each] = shares(share[each], block.from, block.until, largest);
                    if (sums && each < block.real)
                        sums[(start + at + each) * heads + head] = largest + logf(total[each]);
                }
                const float *const numbers[QUERIES] = {share[0], share[1], share[2], share[3]};
                gathered(&block, numbers, value, v_token, width, to);
                for (int each = 0; each < block.real; each++) {
                    const float inverse = 1.0f / total[each];
                    for (int64_t d = 0; d < width; d++) to[each][d] *= inverse;
                }
            }
        }
    }
}

/* Gradients of queries, keys and values. `room` has for each part 2 (width + QUERIES) + 1 rows of
 * step_up(longest row) floats; `d_sums` may be missing.
 */
void attention_backward(int64_t first, int64_t last, int64_t part, const float *q, int64_t q_token,
                        int64_t q_head, const float *k, int64_t k_token, int64_t k_head,
                        const float *v, int64_t v_token, int64_t v_head, const int64_t *starts,
                        const int64_t *lengths, int64_t longest, int64_t kv_heads, int64_t group,
                        int64_t width, float scale, int64_t window, float cap, const float *result,
                        const float *sums, const float *d_result, const float *d_sums, float *room,
                        float *d_q, float *d_k, float *d_v) {
    const int64_t heads = kv_heads * group;
    float *own = room + part * (2 * (width + QUERIES) + 1) * step_up(longest);
    for (int64_t unit = first; unit < last; unit++) {
        const int64_t row = unit / kv_heads, kv = unit % kv_heads;
        const int64_t tokens = lengths[row], places = step_up(tokens), start = starts[row];
        const float *key = k + start * k_token + kv * k_head;
        const int64_t dense = kv_heads * width;
        float *keys = own, *values = own + width * places, *more = own + 2 * width * places;
        float *to_keys = d_k + start * dense + kv * width, *to_values = d_v + start * dense + kv * width;
        turned(key, k_token, tokens, width, places, keys);
        turned(v + start * v_token + kv * v_head, v_token, tokens, width, places, values);
        for (int64_t token = 0; token < tokens; token++) {
            memset(to_keys + token * dense, 0, (size_t)width * sizeof(float));
            memset(to_values + token * dense, 0, (size_t)width * sizeof(float));
        }
        for (int64_t at = 0; at < tokens; at += QUERIES) {
            const Block block = block_at(at, tokens, window);
            for (int64_t member = 0; member < group; member++) {
                const int64_t head = kv * group + member;
                const float *query[QUERIES], *upstream[QUERIES];
                float *share[QUERIES], *slope[QUERIES], *to[QUERIES], unused[width];
                for (int each = 0; each < QUERIES; each++) {
                    const int real = each < block.real;
                    const int64_t token = start + at + (real ? each : block.real - 1);
                    query[each] = q + token * q_token + head * q_head;
                    upstream[each] = d_result + (token * heads + head) * width;
                    share[each] = more + each * places;
                    slope[each] = more + (QUERIES + each) * places;
                    to[each] = real ? d_q + (token * heads + head) * width : unused;
                    memset(to[each], 0, (size_t)width * sizeof(float));
                }
                products(query, keys, places, width, block.from, block.until, share);
                products(upstream, values, places, width, block.from, block.until, slope);
                for (int each = 0; each < QUERIES; each++) {
                    const int64_t token =
                        start + at + (each < block.real ? each : block.real - 1);
                    const float *out = result + (token * heads + head) * width;
                    vector along = {0};
                    for (int64_t d = 0; d < width; d += LANES)
                        along += load(out + d) * load(upstream[each] + d);
                    float level = sum_of(along);
                    const float logsum = sums[token * heads + head];
                    if (d_sums) level -= d_sums[token * heads + head];
                    const Sight sight = block.sight[each];
                    for (int64_t place = block.from; place < block.until; place += LANES) {
                        vector score = load(share[each] + place) * scale, bent = all(1.0f);
                        if (cap != 0.0f) {
                            for (int lane = 0; lane < LANES; lane++)
                                score[lane] = tanhf(score[lane] / cap);
                            bent = 1.0f - score * score;
                            score *= cap;
                        }
                        const whole visible = seen(sight, place);
                        const vector p =
                            either(visible, exponential(score - logsum), (vector){0});
                        const vector d = p * (load(slope[each] + place) - level) * bent * scale;
                        store(share[each] + place, p);
                        store(slope[each] + place, either(visible, d, (vector){0}));
                    }
                }
                const float *const p[QUERIES] = {share[0], share[1], share[2], share[3]};
                const float *const d[QUERIES] = {slope[0], slope[1], slope[2], slope[3]};
                gathered(&block, d, key, k_token, width, to);
                scattered(&block, d, query, to_keys, dense, width);
                scattered(&block, p, upstream, to_values, dense, width);
            }
        }
    }
}
