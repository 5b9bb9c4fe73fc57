/* The norm, and the residual join with its norm: a row at a time, forward and backward. */
#include <math.h>

#include "vectors.h"

static void normalise(const float *x, const float *weight, float inverse, float *y, int64_t width) {
    if (weight)
        for (int64_t at = 0; at < width; at++) y[at] = x[at] * inverse * weight[at];
    else
        for (int64_t at = 0; at < width; at++) y[at] = x[at] * inverse;
}

/* Row r of x begins at (r / inner) outer_stride + (r % inner) inner_stride. */
void rms_norm(int64_t first, int64_t last, int64_t part, const float *x, int64_t inner,
              int64_t outer_stride, int64_t inner_stride, const float *weight, float eps, float *y,
              float *inverses, int64_t width) {
    (void)part;
    for (int64_t row = first; row < last; row++) {
        const float *from = x + (row / inner) * outer_stride + (row % inner) * inner_stride;
        const float inverse = 1.0f / sqrtf(dot(from, from, width) / (float)width + eps);
        normalise(from, weight, inverse, y + row * width, width);
        if (inverses) inverses[row] = inverse;
    }
}

void add_rms_norm(int64_t first, int64_t last, int64_t part, const float *a, const float *b,
                  const float *keep, const float *add, const float *weight, float eps, float *total,
                  float *normal, float *inverses, int64_t width) {
    (void)part;
    const float kept = keep ? *keep : 1.0f, added = add ? *add : 1.0f;
    for (int64_t row = first; row < last; row++) {
        const float *left = a + row * width, *right = b + row * width;
        float *sum = total + row * width;
        if (keep || add)
            for (int64_t at = 0; at < width; at++) sum[at] = kept * left[at] + added * right[at];
        else
            for (int64_t at = 0; at < width; at++) sum[at] = left[at] + right[at];
        const float inverse = 1.0f / sqrtf(dot(sum, sum, width) / (float)width + eps);
        normalise(sum, weight, inverse, normal + row * width, width);
        if (inverses) inverses[row] = inverse;
    }
}

#define TOGETHER 32 /* rows whose gradients of the weight are summed before they join the others */

/* The gradient of x, with `d_x` added where it is given; of the weight, those of the part's rows in
 * the first of two rows that the part has in `sums`.
 */
void rms_norm_backward(int64_t first, int64_t last, int64_t part, const float *gradient,
                       const float *d_x, const float *x, int64_t inner, int64_t outer_stride,
                       int64_t inner_stride, const float *weight, const float *inverses,
                       float *change, float *sums, int64_t width) {
    float *all_rows = 0, *some_rows = 0;
    if (sums) {
        all_rows = sums + 2 * part * width;
        some_rows = all_rows + width;
        memset(all_rows, 0, 2 * (size_t)width * sizeof(float));
    }
    for (int64_t row = first; row < last; row++) {
        const float *from = x + (row / inner) * outer_stride + (row % inner) * inner_stride;
        const float *g = gradient + row * width, *with = d_x ? d_x + row * width : 0;
        float *to = change + row * width;
        const float inverse = inverses[row];
        if (weight)
            for (int64_t at = 0; at < width; at++) to[at] = g[at] * weight[at];
        else
            memcpy(to, g, (size_t)width * sizeof(float));
        const float share =
            dot(to, from, width) * (inverse * inverse * inverse) * (1.0f / (float)width);
        if (with)
            for (int64_t at = 0; at < width; at++)
                to[at] = with[at] + (to[at] * inverse - from[at] * share);
        else
            for (int64_t at = 0; at < width; at++) to[at] = to[at] * inverse - from[at] * share;
        if (!sums) continue;
        for (int64_t at = 0; at < width; at++) some_rows[at] += g[at] * inverse * from[at];
        if ((row - first) % TOGETHER == TOGETHER - 1 || row == last - 1)
            for (int64_t at = 0; at < width; at++) {
                all_rows[at] += some_rows[at];
                some_rows[at] = 0.0f;
            }
    }
}
