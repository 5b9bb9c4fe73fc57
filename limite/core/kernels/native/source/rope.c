/* Every head turned by its token's position. */
#include "turn.h"

/* `heads` heads of each token, at the given strides, to dense rows. */
void rope(int64_t first, int64_t last, int64_t part, const float *x, int64_t heads,
          int64_t token_stride, int64_t head_stride, const float *cos, const float *sin,
          int64_t pairs, int64_t width, int64_t halves, float by, float *result) {
    (void)part;
    for (int64_t token = first; token < last; token++)
        for (int64_t head = 0; head < heads; head++)
            turn(x + token * token_stride + head * head_stride, 1.0f, cos + token * pairs,
                 sin + token * pairs, pairs, width, halves, by,
                 result + (token * heads + head) * width);
}
