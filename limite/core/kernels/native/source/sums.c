/* Sums over all elements of tensors, in double precision. */
#include "vectors.h"

#define SUMS 16

/* The sum of squares of the elements from first to last, into `sums[part]`. */
void squares(int64_t first, int64_t last, int64_t part, const float *values, double *sums) {
    double each[SUMS] = {0};
    int64_t at = first;
    for (; at + SUMS <= last; at += SUMS)
        for (int lane = 0; lane < SUMS; lane++)
            each[lane] += (double)values[at + lane] * (double)values[at + lane];
    for (; at < last; at++) each[0] += (double)values[at] * (double)values[at];
    double sum = 0.0;
    for (int lane = 0; lane < SUMS; lane++) sum += each[lane];
    sums[part] = sum;
}
