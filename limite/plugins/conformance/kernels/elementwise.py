"""What the laws of norms, rotation, SwiGLU and head mix have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from limite.core.kernels import ops
from limite.plugins.conformance.kernels import measure, run, values

BUNDLE = 32
"""Rows that come in multiples of this many have the same bits among any others."""

SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 33)
"""On either side of what fills a block of 8 or 16."""


def hold_to_the_reference(
    op: str,
    backend: run.Backend,
    inputs: Mapping[str, Tensor],
    arguments: Mapping[str, Any],
    upstream: Sequence[Tensor | None],
    *,
    sizes: Mapping[str, float],
    layout: str = "contiguous",
    on_cpu: Mapping[str, Any] | None = None,
) -> None:
    """Fails unless outputs, and gradients of all inputs, are the float64 reference's.

    ``sizes`` are natural sizes of gradients, by input. What is in half precision must also be
    about as good as the plain formula in that precision is. ``on_cpu``: the arguments for the
    reference, where those of the backend hold tensors on its device.
    """
    elsewhere = arguments if on_cpu is None else on_cpu
    same = {
        name: values.broadcast(tensor, layout) if tensor.dim() >= 3 else tensor
        for name, tensor in inputs.items()
    }
    names = tuple(inputs)
    found = run.run(
        op, backend, same, arguments, differentiate=names, upstream=upstream, layout=layout
    )
    exact = run.exact(op, same, elsewhere, differentiate=names, upstream=upstream)
    plain = None
    if any(tensor.dtype.itemsize < 4 for tensor in inputs.values()):
        plain = run.run(op, run.REFERENCE, same, elsewhere, differentiate=names, upstream=upstream)
    kind = next(iter(inputs.values())).dtype
    for place, (output, right) in enumerate(zip(found.outputs, exact.outputs, strict=True)):
        assert output is not None
        assert right is not None
        assert output.dtype == kind, f"output {place} in {output.dtype}"
        measure.require_close(f"output {place}", output, right, measure.OUTPUT[kind])
        if plain is not None:
            other = plain.outputs[place]
            assert other is not None
            _as_good_as_plain(f"output {place}", output, other, right)
    for name in names:
        gradient, right = found.gradients[name], exact.gradients[name]
        assert gradient.dtype == inputs[name].dtype, f"gradient of {name} in {gradient.dtype}"
        measure.require_close(
            f"gradient of {name}", gradient, right, measure.GRADIENT[kind], size=sizes[name]
        )
        if plain is not None and gradient.dtype.itemsize < 4:
            _as_good_as_plain(f"gradient of {name}", gradient, plain.gradients[name], right)


def _as_good_as_plain(name: str, found: Tensor, plain: Tensor, exact: Tensor) -> None:
    """Fails where the error is more than twice that of the plain formula, and a rounding."""
    there = exact.isfinite()
    right = exact[there]
    error, other = ((each[there].double() - right).norm() for each in (found, plain))
    rounding = 0.3 * torch.finfo(found.dtype).eps * right.norm()
    floor = torch.finfo(found.dtype).smallest_normal * right.numel() ** 0.5
    assert error <= 2 * other + rounding + floor, (
        f"{name}: off by {error:.3g}, the plain formula by {other:.3g}"
    )


def hold_to_the_same_bits(
    op: str,
    backend: run.Backend,
    inputs: Mapping[str, Tensor],
    arguments: Mapping[str, Any],
    upstream: Sequence[Tensor | None],
) -> None:
    """Fails unless a second run gives the outputs and gradients of the first, to the bit."""
    names = tuple(inputs)
    first, again = (
        run.run(op, backend, inputs, arguments, differentiate=names, upstream=upstream)
        for _ in range(2)
    )
    for place, (one, other) in enumerate(zip(first.outputs, again.outputs, strict=True)):
        assert one is not None
        assert other is not None
        measure.require_same_bits(f"output {place}", other, one)
    for name in names:
        measure.require_same_bits(
            f"gradient of {name}", again.gradients[name], first.gradients[name]
        )


def call(op: str, backend: run.Backend, *inputs: Any, **arguments: Any) -> Any:
    """``ops.<op>`` on a backend, without gradients, tensors moved there and back."""

    def there(each: Any) -> Any:
        return each.to(backend.device) if isinstance(each, Tensor) else each

    with torch.no_grad(), backend.use(op):
        found = getattr(ops, op)(
            *map(there, inputs), **{name: there(each) for name, each in arguments.items()}
        )
    return tuple(each.cpu() for each in found) if isinstance(found, tuple) else found.cpu()


def hold_rows_apart(rows: int, seed: int, compute: Callable[[Tensor], Tensor]) -> None:
    """Fails where a row's bits depend on the rows beside it, or on how many there are.

    ``compute(chosen)`` gives the results of the rows of these numbers, of ``rows`` in all. Asked
    for rows in multiples of ``BUNDLE``: less than a vector's worth may round otherwise.
    """
    assert rows % BUNDLE == 0
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    whole = compute(torch.arange(rows))
    measure.require_same_bits("rows in another order", compute(order), whole[order])
    some = order[:BUNDLE]
    measure.require_same_bits("rows among fewer", compute(some), whole[some])
