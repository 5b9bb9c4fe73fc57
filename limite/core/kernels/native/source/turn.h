/* The turn of one head. */
#ifndef LIMITE_TURN_H
#define LIMITE_TURN_H

#include <stdint.h>

/* By is 1, or -1 to turn back. `halves` turns channels (j, j + pairs) by plus theta, else (2j, 2j + 1)
 * by minus theta; channels from 2 pairs on stay. Every number is times `scale`.
 */
static inline void turn(const float *restrict from, float scale, const float *cos, const float *sin,
                        int64_t pairs, int64_t width, int64_t halves, float by,
                        float *restrict to) {
    if (halves)
        for (int64_t j = 0; j < pairs; j++) {
            const float a = from[j] * scale, b = from[j + pairs] * scale, other = by * sin[j];
            to[j] = a * cos[j] - b * other;
            to[j + pairs] = b * cos[j] + a * other;
        }
    else
        for (int64_t j = 0; j < pairs; j++) {
            const float a = from[2 * j] * scale, b = from[2 * j + 1] * scale, other = by * sin[j];
            to[2 * j] = a * cos[j] + b * other;
            to[2 * j + 1] = b * cos[j] - a * other;
        }
    for (int64_t at = 2 * pairs; at < width; at++) to[at] = from[at] * scale;
}

#endif
