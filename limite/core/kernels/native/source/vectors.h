/* Vectors of floats, as wide as the processor has them, and what the kernels make of them.
 *
 * Products are added to sums without being rounded in between (-ffp-contract=fast), where the
 * processor can. No sum is taken in another order than the one written here, so that the numbers
 * of a row follow from that row alone.
 */
#ifndef LIMITE_VECTORS_H
#define LIMITE_VECTORS_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef int32_t whole __attribute__((vector_size(4 * LANES)));
/* The same in memory, where it may begin at any float. */
typedef float unaligned __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline vector load(const float *from) { return *(const unaligned *)from; }

static inline void store(float *to, vector values) { *(unaligned *)to = values; }

static inline vector all(float number) { return number - (vector){0}; }

/* The first `count` of a vector, zeros after them. */
static inline vector load_some(const float *from, int64_t count) {
    float room[LANES] = {0};
    memcpy(room, from, (size_t)count * sizeof(float));
    return load(room);
}

static inline void store_some(float *to, vector values, int64_t count) {
    float room[LANES];
    store(room, values);
    memcpy(to, room, (size_t)count * sizeof(float));
}

static inline float sum_of(vector values) {
    float room[LANES];
    store(room, values);
    for (int half = LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++) room[lane] += room[lane + half];
    return room[0];
}

static inline float largest_of(vector values) {
    float room[LANES];
    store(room, values);
    float largest = room[0];
    for (int lane = 1; lane < LANES; lane++) largest = room[lane] > largest ? room[lane] : largest;
    return largest;
}

/* Where `mask` is set the first, elsewhere the second. */
static inline vector either(whole mask, vector there, vector elsewhere) {
    return (vector)((mask & (whole)there) | (~mask & (whole)elsewhere));
}

static inline whole counting(void) {
    whole lanes;
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = lane;
    return lanes;
}

/* e^x within 2 units in the last place; 0 for -inf, inf for inf, NaN for NaN.
 *
 * x = n ln 2 + r: a polynomial of degree 7 in r (|r| <= ln 2 / 2), times 2^n in two steps, either
 * of which is a normal number.
 */
static inline vector exponential(vector x) {
    const vector high = all(104.0f), low = all(-104.0f);
    x = either(x > high, high, x);
    x = either(x < low, low, x);
    const vector round = all(12582912.0f); /* 1.5 2^23: what is added to it becomes whole */
    const vector n = (x * 1.44269504f + round) - round;
    const vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    vector y = all(1.9875691500e-4f);
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    const whole exponent = __builtin_convertvector(n, whole);
    const whole half = exponent >> 1;
    const vector one = (vector)((half + 127) << 23);
    const vector other = (vector)((exponent - half + 127) << 23);
    return y * one * other;
}

/* Sum of the products of two rows. */
static inline float dot(const float *a, const float *b, int64_t width) {
    vector sums[4] = {{0}, {0}, {0}, {0}};
    int64_t at = 0;
    for (; at + 4 * LANES <= width; at += 4 * LANES)
        for (int each = 0; each < 4; each++)
            sums[each] += load(a + at + each * LANES) * load(b + at + each * LANES);
    for (; at + LANES <= width; at += LANES) sums[0] += load(a + at) * load(b + at);
    if (at < width) sums[1] += load_some(a + at, width - at) * load_some(b + at, width - at);
    return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

#endif
