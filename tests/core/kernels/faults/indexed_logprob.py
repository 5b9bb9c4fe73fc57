"""Faults in log-probabilities without logits, each with the law that finds it."""

from __future__ import annotations

CPU = "core/kernels/cpu/indexed_logprob.py"
KERNELS = "core/kernels/triton/indexed_logprob_kernels.py"
TRITON = "core/kernels/triton/indexed_logprob.py"
OP = "indexed_logprob"
REFERENCE = "equals_the_reference"

FAULTS = [
    # Columns beyond the last counted as if they were ids.
    (
        KERNELS,
        "exponential = tl.where(inside, tl.exp2(logits * LOG2_E), 0.0)",
        "exponential = tl.exp2(logits * LOG2_E)",
        OP,
        "probabilities_sum_to_one",
    ),
    # Sums are not brought down when the maximum rises.
    (KERNELS, "            total *= shrunk\n", "", OP, "probabilities_sum_to_one"),
    # The entropy's sums are, but not to the new maximum.
    (
        KERNELS,
        "total_z = (total_z + (top - higher) * total) * shrunk",
        "total_z = total_z * shrunk",
        OP,
        REFERENCE,
    ),
    # Natural exponentials of base-2 exponents.
    (
        KERNELS,
        "shrunk = tl.exp2((top - higher) * LOG2_E)",
        "shrunk = tl.exp2(top - higher)",
        OP,
        "the_size_of_chunks_has_no_effect",
    ),
    # The last tile of a program is left out.
    (
        KERNELS,
        "for start in range(first, last, BV):",
        "for start in range(first, last - BV, BV):",
        OP,
        "probabilities_sum_to_one",
    ),
    # A program does not stop where the next begins.
    (
        KERNELS,
        "last = tl.minimum(first + SPAN, V)",
        "last = V",
        OP,
        "probabilities_sum_to_one",
    ),
    # Rows taken to follow one another.
    (
        TRITON,
        "hidden.stride(0), weight.stride(0), index.stride(0), rows, vocabulary,",
        "hidden.stride(0), width, index.stride(0), rows, vocabulary,",
        OP,
        REFERENCE,
    ),
    (
        TRITON,
        "hidden.stride(0), weight.stride(0), index.stride(0), span, rows, last, first,",
        "hidden.stride(0), width, index.stride(0), span, rows, last, first,",
        OP,
        REFERENCE,
    ),
    # The slope of the cap.
    (KERNELS, "change *= made * (1.0 - made)", "change *= made", OP, REFERENCE),
    # The shift of the cap.
    (KERNELS, "made = _squashed(made + shift)", "made = _squashed(made)", OP, REFERENCE),
    # Ties away from even.
    (KERNELS, "0x7FFF + ((bits >> 16) & 1)", "0x8000", OP, "the_product_is_rounded_first"),
    # Not rounded at all where one id is picked by itself.
    (
        KERNELS,
        'raw = tl.where(index < V, _rounded(raw, ROUND), float("nan"))',
        'raw = tl.where(index < V, raw, float("nan"))',
        OP,
        "the_product_is_rounded_first",
    ),
    # The last channels are left out.
    (
        KERNELS,
        "for start in range(0, D, BD):",
        "for start in range(0, D - BD + 1, BD):",
        OP,
        REFERENCE,
    ),
    # What flows into equal ids is written by each, not by the first for all.
    (
        KERNELS,
        "push += tl.sum(tl.where(same, theirs[None, :], 0.0), 1)",
        "push += tl.sum(tl.where(same & (j[None, :] == k[:, None]), theirs[None, :], 0.0), 1)",
        OP,
        "ids_that_repeat_add_up",
    ),
    # Slices of ids begin one column late.
    (
        KERNELS,
        "at = change_ptr + row * stride_c + (index - first)",
        "at = change_ptr + row * stride_c + index",
        OP,
        REFERENCE,
    ),
    # NaN becomes a large number.
    (
        KERNELS,
        "power = tl.where(power > 126.0, 126.0, power)",
        "power = tl.minimum(power, 126.0)",
        OP,
        "nan_in_the_weight_reaches_every_row",
    ),
    # NaN among the logits is left out, ...
    (
        KERNELS,
        "exponential = tl.where(inside, ",
        "exponential = tl.where(inside & (logits == logits), ",
        OP,
        "nan_in_the_weight_reaches_every_row",
    ),
    # ... or forgotten at the first maximum there is.
    (
        KERNELS,
        "            total *= shrunk\n",
        "            total = tl.where(shrunk > 0.0, total * shrunk, 0.0)\n",
        OP,
        "nan_in_the_weight_reaches_every_row",
    ),
    # A mark for no id taken for the last one.
    (TRITON, ".masked_fill(index < 0, 0.0)\n    return logp", "\n    return logp", OP, REFERENCE),
    # Gradients of hidden states from the last slice alone.
    (TRITON, "total.addmm_(left.float()", "total.zero_().addmm_(left.float()", OP, REFERENCE),
    # Without what stands beside an indexed logit's own gradient.
    (
        TRITON,
        "base, push = logp.exp() * base * bend, push * bend",
        "base, push = logp.exp() * base, push * bend",
        OP,
        REFERENCE,
    ),
    # Tiles of the CPU.
    (CPU, "logits.sub_(torch.amax(", "logits.sub_(0 * torch.amax(", OP, REFERENCE),
    (CPU, "* tall + row % self.height", "* tall", OP, REFERENCE),
    (
        CPU,
        "        total.addmm_(left, right)",
        "        total.addmm_(left, right, beta=0)",
        OP,
        "the_size_of_chunks_has_no_effect",
    ),
    (CPU, "change.mul_(probability)\n", "pass\n", OP, REFERENCE),
    (CPU, "alpha=settings.height, out=logp", "out=logp", OP, REFERENCE),
    (
        CPU,
        "torch.sum(logits.mul_(exponentials), 0, out=sums[number, rows])",
        "torch.sum(logits, 0, out=sums[number, rows])",
        OP,
        "entropies_are_possible",
    ),
    (CPU, "            made.copy_(narrow)\n", "", OP, "the_product_is_rounded_first"),
    (CPU, "* settings.slope  # [P]", "# [P]", OP, "temperature_is_scaling"),
    (
        CPU,
        "torch.ops.aten.sigmoid_backward.grad_input(change, made, grad_input=change)",
        "change.mul_(made)",
        OP,
        REFERENCE,
    ),
]
