/* The own value's removal and the head gate: (y - s (y . v) v) g, v the value at unit length. */
#include <math.h>

#include "vectors.h"

#define TOGETHER 32 /* tokens whose gradients of s are summed before they join the others */

/* What one value is divided by, and whether that is its own length. */
static inline float length_of(const float *value, int64_t width, float shortest, int *own) {
    const float length = sqrtf(dot(value, value, width));
    *own = length > shortest;
    return length < shortest ? shortest : length; /* NaN stays */
}

static inline float gate_of(const float *gates, int64_t at) {
    return gates ? 2.0f / (1.0f + expf(-gates[at])) : 1.0f;
}

/* `strengths` (tanh of alpha), with `values`, or `gates` may be missing. Results are dense. */
void head_mix(int64_t first, int64_t last, int64_t part, const float *outputs, int64_t o_token,
              int64_t o_head, const float *values, int64_t v_token, int64_t v_head,
              const float *strengths, const float *gates, int64_t g_token, int64_t heads,
              int64_t group, int64_t width, float shortest, float *result) {
    (void)part;
    for (int64_t token = first; token < last; token++) {
        const float *value = 0;
        float length = 1.0f;
        int own;
        for (int64_t head = 0; head < heads; head++) {
            if (strengths && head % group == 0) {
                value = values + token * v_token + head / group * v_head;
                length = length_of(value, width, shortest, &own);
            }
            const float *y = outputs + token * o_token + head * o_head;
            float *to = result + (token * heads + head) * width;
            const float gate = gate_of(gates, token * g_token + head);
            if (strengths) {
                const float along = dot(y, value, width) / length;
                const float by = strengths[head] * along / length;
                for (int64_t at = 0; at < width; at++) to[at] = (y[at] - by * value[at]) * gate;
            } else
                for (int64_t at = 0; at < width; at++) to[at] = y[at] * gate;
        }
    }
}

/* Gradients of outputs, values, gates; of the strengths, negated, those of the part's tokens in the
 * first of the two rows that the part has in `sums`. `gradient` is dense, and so are results.
 */
void head_mix_backward(int64_t first, int64_t last, int64_t part, const float *gradient,
                       const float *outputs, int64_t o_token, int64_t o_head, const float *values,
                       int64_t v_token, int64_t v_head, const float *strengths, const float *gates,
                       int64_t g_token, int64_t heads, int64_t group, int64_t width,
                       float shortest, float *d_outputs, float *d_values, float *d_gates,
                       float *sums) {
    float *all_tokens = 0, *some_tokens = 0;
    if (sums) {
        all_tokens = sums + 2 * part * heads;
        some_tokens = all_tokens + heads;
        memset(all_tokens, 0, 2 * (size_t)heads * sizeof(float));
    }
    for (int64_t token = first; token < last; token++) {
        const float *value = 0;
        float *to_value = 0, length = 1.0f, inward = 0.0f;
        int own = 0;
        for (int64_t head = 0; head < heads; head++) {
            const float *g = gradient + (token * heads + head) * width;
            const float *y = outputs + token * o_token + head * o_head;
            float *to = d_outputs + (token * heads + head) * width;
            const float gate = gate_of(gates, token * g_token + head);
            float d_gate = gates ? dot(g, y, width) : 0.0f;
            if (strengths) {
                if (head % group == 0) {
                    value = values + token * v_token + head / group * v_head;
                    to_value = d_values + (token * (heads / group) + head / group) * width;
                    memset(to_value, 0, (size_t)width * sizeof(float));
                    length = length_of(value, width, shortest, &own);
                    inward = 0.0f;
                }
                const float along = dot(y, value, width) / length;
                const float pushed = dot(g, value, width) / length;
                const float factor = strengths[head] * gate, both = along * pushed;
                const float by = factor * pushed / length;
                const float g_part = factor * along, y_part = factor * pushed;
                for (int64_t at = 0; at < width; at++) to[at] = gate * g[at] - by * value[at];
                for (int64_t at = 0; at < width; at++)
                    to_value[at] -= g[at] * g_part + y[at] * y_part;
                d_gate -= strengths[head] * both;
                some_tokens[head] += both * gate;
                if (own) inward += 2.0f * factor * both;
                if (head % group == group - 1) {
                    const float back = inward / length;
                    for (int64_t at = 0; at < width; at++)
                        to_value[at] = (to_value[at] + back * value[at]) / length;
                }
            } else
                for (int64_t at = 0; at < width; at++) to[at] = gate * g[at];
            /* d(2 sigmoid) = 2 sigmoid (1 - sigmoid), by gate = 2 sigmoid */
            if (gates) d_gates[token * heads + head] = d_gate * gate * (2.0f - gate) * 0.5f;
        }
        if (sums && ((token - first) % TOGETHER == TOGETHER - 1 || token == last - 1))
            for (int64_t head = 0; head < heads; head++) {
                all_tokens[head] += some_tokens[head];
                some_tokens[head] = 0.0f;
            }
    }
}
