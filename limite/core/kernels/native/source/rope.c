/* Every head turned by its token's position. */
#include "vectors.h"

/* `heads` heads of each token, at the given strides, to dense rows; `by` is 1, or -1 to turn back.
 * `halves` turns channels (j, j + pairs) by plus theta, else (2j, 2j + 1) by minus theta.
 */
void rope(int64_t first, int64_t last, int64_t part, const float *x, int64_t heads,
          int64_t token_stride, int64_t head_stride, const float *cos, const float *sin,
          int64_t pairs, int64_t width, int64_t halves, float by, float *result) {
    (void)part;
    for (int64_t token = first; token < last; token++) {
        const float *c = cos + token * pairs, *s = sin + token * pairs;
        for (int64_t head = 0; head < heads; head++) {
            const float *restrict from = x + token * token_stride + head * head_stride;
            float *restrict to = result + (token * heads + head) * width;
            if (halves)
                for (int64_t j = 0; j < pairs; j++) {
                    const float a = from[j], b = from[j + pairs], turn = by * s[j];
                    to[j] = a * c[j] - b * turn;
                    to[j + pairs] = b * c[j] + a * turn;
                }
            else
                for (int64_t j = 0; j < pairs; j++) {
                    const float a = from[2 * j], b = from[2 * j + 1], turn = by * s[j];
                    to[2 * j] = a * c[j] + b * turn;
                    to[2 * j + 1] = b * c[j] - a * turn;
                }
            for (int64_t at = 2 * pairs; at < width; at++) to[at] = from[at];
        }
    }
}
