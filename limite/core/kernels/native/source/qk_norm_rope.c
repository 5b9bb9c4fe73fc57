/* Every head at unit root mean square, then turned by its token's position. */
#include <math.h>

#include "turn.h"
#include "vectors.h"

/* `heads` heads of each token, at the given strides, to dense rows. Without turns, `pairs` is 0. */
void qk_norm_rope(int64_t first, int64_t last, int64_t part, const float *x, int64_t heads,
                  int64_t token_stride, int64_t head_stride, const float *cos, const float *sin,
                  int64_t pairs, int64_t width, int64_t halves, float eps, float *result,
                  float *inverses) {
    (void)part;
    for (int64_t token = first; token < last; token++)
        for (int64_t head = 0; head < heads; head++) {
            const float *from = x + token * token_stride + head * head_stride;
            const float inverse = 1.0f / sqrtf(dot(from, from, width) / (float)width + eps);
            turn(from, inverse, cos + token * pairs, sin + token * pairs, pairs, width, halves,
                 1.0f, result + (token * heads + head) * width);
            if (inverses) inverses[token * heads + head] = inverse;
        }
}

void qk_norm_rope_backward(int64_t first, int64_t last, int64_t part, const float *gradient,
                           const float *x, int64_t heads, int64_t token_stride,
                           int64_t head_stride, const float *cos, const float *sin, int64_t pairs,
                           int64_t width, int64_t halves, const float *inverses, float *change) {
    (void)part;
    for (int64_t token = first; token < last; token++)
        for (int64_t head = 0; head < heads; head++) {
            const int64_t row = token * heads + head;
            const float *from = x + token * token_stride + head * head_stride;
            float *to = change + row * width;
            turn(gradient + row * width, 1.0f, cos + token * pairs, sin + token * pairs, pairs,
                 width, halves, -1.0f, to);
            const float inverse = inverses[row];
            const float share =
                dot(to, from, width) * (inverse * inverse * inverse) * (1.0f / (float)width);
            for (int64_t at = 0; at < width; at++) to[at] = to[at] * inverse - from[at] * share;
        }
}
