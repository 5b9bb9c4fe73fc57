/* The next token of every row, by a uniform number, and its log-probability. */
#include <math.h>

#include "vectors.h"

#define BLOCK 512 /* ids whose shares are summed in float before they join a sum in double */

/* e^(z - largest) of a row, with its sum. */
static double shares_of(const float *logits, int64_t ids, float temperature, float *shares,
                        float *largest) {
    vector most = all(-INFINITY);
    int64_t at = 0;
    for (; at + LANES <= ids; at += LANES) {
        const vector z = load(logits + at) / temperature;
        store(shares + at, z);
        most = either(z > most, z, most);
    }
    *largest = largest_of(most);
    for (; at < ids; at++) {
        shares[at] = logits[at] / temperature;
        if (shares[at] > *largest) *largest = shares[at];
    }
    double sum = 0.0;
    for (int64_t from = 0; from < ids; from += BLOCK) {
        const int64_t until = from + BLOCK < ids ? from + BLOCK : ids;
        vector some = {0};
        for (at = from; at + LANES <= until; at += LANES) {
            const vector share = exponential(load(shares + at) - *largest);
            store(shares + at, share);
            some += share;
        }
        if (at < until) {
            /* Beyond the end as little as there is: a share of 0. */
            float room[LANES];
            for (int lane = 0; lane < LANES; lane++)
                room[lane] = at + lane < until ? shares[at + lane] - *largest : -INFINITY;
            const vector share = exponential(load(room));
            store_some(shares + at, share, until - at);
            some += share;
        }
        sum += (double)sum_of(some);
    }
    return sum;
}

/* The natural logarithm of an id's probability. */
static inline float nats(float logit, float temperature, float largest, double sum) {
    return (float)((double)(logit / temperature) - (double)largest - log(sum));
}

/* The first id at which the running sum passes `threshold`; an id without a share never. `totals`
 * are the sums of blocks.
 */
static int64_t picked(const float *shares, int64_t ids, const double *totals, double threshold) {
    double reached = 0.0;
    int64_t block = 0, last = 0;
    const int64_t blocks = (ids + BLOCK - 1) / BLOCK;
    for (; block < blocks - 1 && !(reached + totals[block] > threshold); block++)
        reached += totals[block];
    const int64_t until = (block + 1) * BLOCK < ids ? (block + 1) * BLOCK : ids;
    for (int64_t at = block * BLOCK; at < until; at++) {
        reached += (double)shares[at];
        if (shares[at] > 0.0f) last = at;
        if (reached > threshold) return at;
    }
    return last; /* by rounding; or where probabilities are not numbers */
}

/* `ids` logits of each row, of which the first `allowed` may be drawn, but none of `unused`. `room`
 * has for each part `ids` floats, `totals` a double for every block of them.
 */
void draw(int64_t first, int64_t last, int64_t part, const float *logits, int64_t row_stride,
          int64_t ids, float temperature, int64_t allowed, const int64_t *unused,
          int64_t unused_count, const double *uniform, float *room, double *totals, int64_t *token,
          float *logprob) {
    const int64_t blocks = (ids + BLOCK - 1) / BLOCK;
    float *shares = room + part * ids;
    double *total = totals + part * blocks;
    for (int64_t row = first; row < last; row++) {
        const float *z = logits + row * row_stride;
        float largest;
        const double sum = shares_of(z, ids, temperature, shares, &largest);
        for (int64_t each = 0; each < unused_count; each++) shares[unused[each]] = 0.0f;
        double whole = 0.0;
        for (int64_t block = 0; block * BLOCK < allowed; block++) {
            const int64_t until = (block + 1) * BLOCK < allowed ? (block + 1) * BLOCK : allowed;
            double four[4] = {0};
            int64_t at = block * BLOCK;
            for (; at + 4 <= until; at += 4)
                for (int each = 0; each < 4; each++) four[each] += (double)shares[at + each];
            for (; at < until; at++) four[0] += (double)shares[at];
            total[block] = (four[0] + four[1]) + (four[2] + four[3]);
            whole += total[block];
        }
        token[row] = picked(shares, allowed, total, uniform[row] * whole);
        logprob[row] = nats(z[token[row]], temperature, largest, sum);
    }
}

/* The same log-probabilities, of all ids. */
void log_probabilities(int64_t first, int64_t last, int64_t part, const float *logits,
                       int64_t row_stride, int64_t ids, float temperature, float *room,
                       float *result) {
    float *shares = room + part * ids;
    for (int64_t row = first; row < last; row++) {
        const float *z = logits + row * row_stride;
        float largest;
        const double sum = shares_of(z, ids, temperature, shares, &largest);
        for (int64_t id = 0; id < ids; id++)
            result[row * ids + id] = nats(z[id], temperature, largest, sum);
    }
}
