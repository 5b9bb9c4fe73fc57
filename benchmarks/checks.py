"""Whether results are right on this device, at sizes that a float64 reference can follow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import attrs
import torch
from torch import Tensor

from benchmarks.cases import Sizes, shape_text, tiny_sizes
from benchmarks.inputs import Problem, make
from benchmarks.measure import SEED, backend_of, prepare_process
from benchmarks.rows import Check
from limite.core.kernels import dispatch, ops
from limite.plugins.conformance.kernels.measure import GRADIENT, OUTPUT, Tolerance, size_of

HEADS = {"heads": 10, "kv_heads": 2, "width": 128}
SMALL = {"heads": 6, "kv_heads": 2, "width": 32}
SINGLE = {"heads": 5, "kv_heads": 5, "width": 64}
ROWS: tuple[Sizes, ...] = (
    {"rows": 4096, "width": 1280},
    {"rows": 1, "width": 1},
    {"rows": 7, "width": 1000},
    {"rows": 65, "width": 2049},
)

SIZES: Mapping[str, tuple[Sizes, ...]] = {
    "rms_norm": ROWS,
    "add_rms_norm": ROWS,
    "qk_norm_rope": (
        {"tokens": 2048, "heads": 12, "width": 128, "pairs": 32},
        {"tokens": 1, "heads": 3, "width": 16, "pairs": 8},
        {"tokens": 17, "heads": 5, "width": 64, "pairs": 1},
        {"tokens": 65, "heads": 12, "width": 128, "pairs": 64},
    ),
    "rope": (
        {"tokens": 2048, "heads": 12, "width": 128, "pairs": 64},
        {"tokens": 1, "heads": 3, "width": 16, "pairs": 8},
        {"tokens": 17, "heads": 5, "width": 64, "pairs": 1},
        {"tokens": 65, "heads": 12, "width": 128, "pairs": 64},
    ),
    "swiglu": (
        {"rows": 1024, "width": 3328},
        {"rows": 1, "width": 1},
        {"rows": 3, "width": 5},
        {"rows": 33, "width": 1025},
    ),
    "head_mix": (
        {"tokens": 2048, **HEADS},
        {"tokens": 1, **SMALL},
        {"tokens": 33, **SINGLE},
        {"tokens": 127, **SMALL},
    ),
    "attention": (
        {"batch": 1, "tokens": 1100, **HEADS, "window": 1025},
        {"batch": 2, "tokens": 1, **HEADS, "window": None},
        {"batch": 2, "tokens": 129, **SMALL, "window": 65},
        {"batch": 1, "tokens": 321, **SINGLE, "window": None},
    ),
    "attention_decode": (
        {"batch": 4, "cached": 4096, **HEADS, "window": None},
        {"batch": 2, "cached": 1, **HEADS, "window": None},
        {"batch": 3, "cached": 37, **SMALL, "window": 37},
        {"batch": 1, "cached": 1031, **SINGLE, "window": 1000},
    ),
    "simplicial_attention": (
        {"batch": 1, "tokens": 160, **HEADS, "window1": 96, "window2": 32},
        {"batch": 2, "tokens": 1, **HEADS, "window1": 4, "window2": 4},
        {"batch": 2, "tokens": 33, **SMALL, "window1": 7, "window2": 3},
        {"batch": 1, "tokens": 77, **SINGLE, "window1": 16, "window2": 40},
    ),
    "simplicial_attention_decode": (
        {"batch": 4, **HEADS, "window1": 512, "window2": 32},
        {"batch": 2, **HEADS, "window1": 1, "window2": 1},
        {"batch": 3, **SMALL, "window1": 37, "window2": 5},
        {"batch": 1, **SINGLE, "window1": 16, "window2": 40},
    ),
    "indexed_logprob": (
        {"tokens": 256, "vocabulary": 151_680, "width": 1280, "indices": 1, "cap": 1},
        {"tokens": 1, "vocabulary": 2, "width": 16, "indices": 1, "cap": 0, "entropy": 1},
        {"tokens": 33, "vocabulary": 1031, "width": 64, "indices": 4, "cap": 0, "entropy": 1},
        {"tokens": 130, "vocabulary": 4097, "width": 192, "indices": 32, "cap": 1, "entropy": 1},
    ),
    "linear_scan": (
        {"rows": 16, "tokens": 5000},  # the reference's gradient takes time with its square
        {"rows": 1, "tokens": 1},
        {"rows": 3, "tokens": 4097},
        {"rows": 7, "tokens": 1023},
    ),
}
"""For each operation one shape like those that are timed, and three odd ones."""

CPU_HEAD: Sizes = {"tokens": 64, "vocabulary": 151_680, "width": 192, "indices": 1, "cap": 1}
"""In place of the first of the head: its gradient in float64 would take many GiB."""

DTYPES = {"cuda": ("float32", "float16", "bfloat16"), "cpu": ("float32", "bfloat16")}

LOGP = Tolerance(2e-7, 2e-5)
ENTROPY = Tolerance(2e-7, 5e-5)


@attrs.frozen
class Question:
    """An operation at a shape in a dtype."""

    op: str
    sizes: Sizes
    dtype: str


def questions(operations: Sequence[str], device: str, *, small: bool) -> list[Question]:
    """What to check of these operations, the shapes like the timed ones first."""
    found = []
    for number in range(4):
        for op in SIZES:
            if op not in operations:
                continue
            sizes = SIZES[op][number]
            if (op, number, device) == ("indexed_logprob", 0, "cpu"):
                sizes = CPU_HEAD
            for dtype in DTYPES[device]:
                if op == "linear_scan" and dtype != "float32":
                    continue
                found.append(Question(op, tiny_sizes(op, sizes) if small else sizes, dtype))
    return found


def answer(question: Question, device: str) -> list[Check]:
    """The errors of outputs and of gradients."""
    prepare_process()
    torch.backends.cuda.matmul.allow_tf32 = False
    dtype = getattr(torch, question.dtype)
    problem = make(question.op, question.sizes, dtype, device, SEED)
    if "need_lse" in problem.arguments:
        problem = attrs.evolve(problem, arguments={**problem.arguments, "need_lse": True})
    with dispatch.use(f"{question.op}=reference"):
        outputs, leaves = _run(problem.wide(torch.float64))
    stream = torch.Generator(device).manual_seed(SEED)
    upstream = [
        torch.randn(out.shape, generator=stream, device=device).to(dtype)
        for out in outputs[: problem.weighted]
    ]
    gradients = _gradients(outputs, leaves, upstream)
    found, leaves = _run(problem)
    found_gradients = _gradients(found, leaves, upstream)
    backend = backend_of(question.op, problem)["backend"]
    checks = [_check(question, "outputs", backend, _output_errors(problem, found, outputs))]
    if gradients:
        natural = size_of(*problem.tensors.values(), *upstream)
        errors = [
            _errors(mine, exact, GRADIENT[dtype], natural)
            for mine, exact in zip(found_gradients, gradients, strict=True)
        ]
        checks.append(_check(question, "gradients", backend, errors))
    return checks


def failed(question: Question, reason: str) -> Check:
    return Check(
        op=question.op,
        shape=shape_text(question.op, question.sizes),
        dtype=question.dtype,
        part="outputs",
        failed=reason,
    )


def _run(problem: Problem) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs, and the tensors that they come from; with a graph where something flows back."""
    differentiate = problem.weighted > 0
    leaves = {
        name: tensor.detach().requires_grad_(differentiate)
        for name, tensor in problem.tensors.items()
    }
    with torch.set_grad_enabled(differentiate):
        found = problem.call(getattr(ops, problem.op), leaves)
    outputs = found if isinstance(found, tuple) else (found,)
    return [each for each in outputs if each is not None], list(leaves.values())


def _gradients(
    outputs: Sequence[Tensor], leaves: Sequence[Tensor], upstream: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    if not upstream:
        return ()
    through = outputs[: len(upstream)]
    flowing = [each.to(out) for each, out in zip(upstream, through, strict=True)]
    return torch.autograd.grad(through, leaves, flowing)


@attrs.frozen
class _Error:
    largest: float
    relative: float | None
    share: float


NOTHING = 1e-9
"""Of the natural size: an exact gradient as small as this is one of 0, with its rounding."""


def _errors(found: Tensor, exact: Tensor, tolerance: Tolerance, natural: float = 0.0) -> _Error:
    """As the laws measure it: the two-norm over a whole tensor.

    What is exactly 0, as a gradient of a query that sees one key, is what is left when numbers of
    the ``natural`` size cancel; there the absolute part of the tolerance is in units of that size.
    """
    x, y = found.detach().double(), exact.detach().double()
    infinite = x.isinf() & (x == y)
    x, y = x.masked_fill(infinite, 0.0), y.masked_fill(infinite, 0.0)
    error, norm, root = (x - y).norm().item(), y.norm().item(), math.sqrt(max(y.numel(), 1))
    size = natural if norm <= NOTHING * natural * root else 1.0
    allowed = tolerance.relative * norm + tolerance.absolute * size * root
    share = error / allowed if math.isfinite(error) else math.inf
    largest = (x - y).abs().max().item() if y.numel() else 0.0
    return _Error(largest, error / norm if norm else None, share)


def _largest(found: Tensor, exact: Tensor, tolerance: Tolerance) -> _Error:
    """Log-probabilities: each element's own error counts."""
    error = _errors(found, exact, tolerance)
    allowed = tolerance.absolute + tolerance.relative * exact.abs().max().item()
    return attrs.evolve(error, share=error.largest / allowed)


def _output_errors(
    problem: Problem, found: Sequence[Tensor], exact: Sequence[Tensor]
) -> Iterator[_Error]:
    for number, (mine, right) in enumerate(zip(found, exact, strict=True)):
        if problem.op == "indexed_logprob":
            entropy = number == 1 and len(found) == 3
            yield _largest(mine, right, ENTROPY if entropy else LOGP)
        else:
            yield _errors(mine, right, OUTPUT[mine.dtype])


def _check(
    question: Question, part: str, backend: str | None, errors: Iterator[_Error] | list[_Error]
) -> Check:
    every = list(errors)
    relative = [error.relative for error in every if error.relative is not None]
    share = max(error.share for error in every)
    finite = all(math.isfinite(error.largest) for error in every)
    return Check(
        op=question.op,
        shape=shape_text(question.op, question.sizes),
        dtype=question.dtype,
        part=part,
        backend=backend,
        max_error=max(error.largest for error in every) if finite else None,
        relative_error=max(relative) if finite and relative else None,
        share_of_allowed=share if math.isfinite(share) else None,
        failed=None if finite else "results that are not finite",
    )
