/* silu(gate) up, and its gradients, in one pass each. */
#include "vectors.h"

static inline vector sigmoid(vector x) { return 1.0f / (1.0f + exponential(-x)); }

/* Every row's last, partial vector is computed as all others are. */
void swiglu(int64_t first, int64_t last, int64_t part, const float *gate, int64_t gate_stride,
            const float *up, int64_t up_stride, float *result, int64_t width) {
    (void)part;
    for (int64_t row = first; row < last; row++) {
        const float *g = gate + row * gate_stride, *u = up + row * up_stride;
        float *to = result + row * width;
        int64_t at = 0;
        for (; at + LANES <= width; at += LANES) {
            const vector x = load(g + at);
            store(to + at, x / (1.0f + exponential(-x)) * load(u + at));
        }
        if (at < width) {
            const vector x = load_some(g + at, width - at);
            store_some(to + at, x / (1.0f + exponential(-x)) * load_some(u + at, width - at),
                       width - at);
        }
    }
}

void swiglu_backward(int64_t first, int64_t last, int64_t part, const float *gradient,
                     const float *gate, int64_t gate_stride, const float *up, int64_t up_stride,
                     float *d_gate, float *d_up, int64_t width) {
    (void)part;
    for (int64_t row = first; row < last; row++) {
        const float *h = gradient + row * width;
        const float *g = gate + row * gate_stride, *u = up + row * up_stride;
        float *to_gate = d_gate + row * width, *to_up = d_up + row * width;
        int64_t at = 0;
        for (; at + LANES <= width; at += LANES) {
            const vector x = load(g + at), d = load(h + at), s = sigmoid(x);
            store(to_up + at, d * (x * s));
            store(to_gate + at, d * load(u + at) * (s * (1.0f + x * (1.0f - s))));
        }
        if (at < width) {
            const int64_t left = width - at;
            const vector x = load_some(g + at, left), d = load_some(h + at, left), s = sigmoid(x);
            store_some(to_up + at, d * (x * s), left);
            store_some(to_gate + at,
                       d * load_some(u + at, left) * (s * (1.0f + x * (1.0f - s))), left);
        }
    }
}
