/* What attention of a few queries is made of; `width` is a multiple of LANES everywhere.
 *
 * Keys lie channel by channel, so that a vector holds the same channel of LANES places; scores of
 * places are computed in fixed groups of STEP, whatever a query sees of them.
 */
#ifndef LIMITE_ATTENTION_H
#define LIMITE_ATTENTION_H

#include <math.h>

#include "vectors.h"

#define QUERIES 4         /* that are worked through together */
#define STEP (2 * LANES)  /* places whose scores are computed together */

static inline int64_t step_down(int64_t place) { return place - place % STEP; }
static inline int64_t step_up(int64_t place) { return step_down(place + STEP - 1); }

/* Products of four queries with the keys in places [from, until), multiples of STEP. */
static inline void products(const float *const query[QUERIES], const float *keys, int64_t stride,
                            int64_t width, int64_t from, int64_t until,
                            float *const result[QUERIES]) {
    for (int64_t at = from; at < until; at += STEP) {
        vector sums[QUERIES][2] = {{{0}}};
        const float *channel = keys + at;
        for (int64_t d = 0; d < width; d++, channel += stride) {
            const vector left = load(channel), right = load(channel + LANES);
            for (int each = 0; each < QUERIES; each++) {
                const vector number = all(query[each][d]);
                sums[each][0] += number * left;
                sums[each][1] += number * right;
            }
        }
        for (int each = 0; each < QUERIES; each++) {
            store(result[each] + at, sums[each][0]);
            store(result[each] + at + LANES, sums[each][1]);
        }
    }
}

/* Adds, for the places [from, until), number times row to four rows of `width`. */
static inline void weighted(const float *const numbers[QUERIES], const float *rows, int64_t stride,
                            int64_t width, int64_t from, int64_t until,
                            float *const result[QUERIES]) {
    int64_t at = 0;
    for (; at + STEP <= width; at += STEP) {
        vector sums[QUERIES][2];
        for (int each = 0; each < QUERIES; each++) {
            sums[each][0] = load(result[each] + at);
            sums[each][1] = load(result[each] + at + LANES);
        }
        const float *row = rows + from * stride + at;
        for (int64_t place = from; place < until; place++, row += stride) {
            const vector left = load(row), right = load(row + LANES);
            for (int each = 0; each < QUERIES; each++) {
                const vector number = all(numbers[each][place]);
                sums[each][0] += number * left;
                sums[each][1] += number * right;
            }
        }
        for (int each = 0; each < QUERIES; each++) {
            store(result[each] + at, sums[each][0]);
            store(result[each] + at + LANES, sums[each][1]);
        }
    }
    for (; at < width; at += LANES)
        for (int each = 0; each < QUERIES; each++) {
            vector sum = load(result[each] + at);
            for (int64_t place = from; place < until; place++)
                sum += all(numbers[each][place]) * load(rows + place * stride + at);
            store(result[each] + at, sum);
        }
}

/* The same for one. */
static inline void weighted_one(const float *numbers, const float *rows, int64_t stride,
                                int64_t width, int64_t from, int64_t until, float *result) {
    for (int64_t place = from; place < until; place++)
        for (int64_t at = 0; at < width; at += LANES)
            store(result + at,
                  load(result + at) + all(numbers[place]) * load(rows + place * stride + at));
}

/* Places that a query sees: [first, last), and from place 0 on as far as `wrapped`. */
typedef struct {
    int64_t first, last, wrapped;
} Sight;

static inline whole seen(Sight sight, int64_t at) {
    const whole place = counting() + (int32_t)at;
    return ((place >= (int32_t)sight.first) & (place < (int32_t)sight.last)) |
           (place < (int32_t)sight.wrapped);
}

/* Scores of places [from, until), from products: scaled, capped (0: not), -inf where hidden. Their
 * largest is returned.
 */
static inline float scores(float *values, Sight sight, int64_t from, int64_t until, float scale,
                           float cap) {
    vector largest = all(-INFINITY);
    for (int64_t at = from; at < until; at += LANES) {
        vector score = load(values + at) * scale;
        if (cap != 0.0f)
            for (int lane = 0; lane < LANES; lane++) score[lane] = cap * tanhf(score[lane] / cap);
        score = either(seen(sight, at), score, all(-INFINITY));
        store(values + at, score);
        largest = either(score > largest, score, largest);
    }
    return largest_of(largest);
}

/* Scores to e^(score - largest); their sum is returned. */
static inline float shares(float *values, int64_t from, int64_t until, float largest) {
    vector sum = {0};
    for (int64_t at = from; at < until; at += LANES) {
        const vector share = exponential(load(values + at) - largest);
        store(values + at, share);
        sum += share;
    }
    return sum_of(sum);
}

#endif
