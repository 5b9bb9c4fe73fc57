"""How few rows a batch may have for every response to keep its bits, tried out on this machine.

``limite.core.rollout.sampler`` fills batches up with copies to whole multiples of 32 rows. Whether
fewer do depends on the processor, on what computes its matrix products, and on the model's sizes.
Two things are asked of a number of rows:

* Every product and every sum of a step of that many rows, and of other multiples of it, gives each
  row the bits that it has among 32. Those that work in another order show that at once, since about
  every second result of theirs is another. The rows lie in reversed order, so that places change.
* Operators that work element by element make whole multiples of 32 elements. The last few beyond
  are computed by other code, which mostly gives the same, so that trying a few would not tell.
  Left out are operators that round once, or not at all, and two that are tried by themselves.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from limite.core.kernels.layout import Layout
from limite.core.model.cache import Cache
from limite.core.model.fixed_cache import Unrecorded
from limite.core.rollout.drawing import Drawing
from limite.core.rollout.steps import StepDecoder

ROWS = 32
"""Rows with which every response keeps its bits on every processor."""

TRIALS = {16: (16, 48), 8: (8, 24, 40)}
"""For each number of rows, falling, the multiples of it that are tried beside those tried before.

Matrix products go through rows by sixes, twelves or twenty-fours; these leave every rest of those
that a multiple of 8 can leave.
"""

CAPACITY = 64  # tokens
THREADS = 2
"""At most: more of them share out elements so that a share may end within a multiple of 32."""

ELEMENTS = 32
"""Two vectors of float32 in the widest registers: what vectorised operators take at once."""

BY_ROW = frozenset(
    {
        "mm", "addmm", "bmm", "baddbmm", "linear", "matmul", "softmax", "_softmax",
        "log_softmax", "_log_softmax", "sum", "mean", "amax", "linalg_vector_norm", "cumsum",
        "sort", "topk", "searchsorted",
    }
)  # fmt: skip
"""Products, and what goes along the elements of a row: trying tells."""

EXACT = frozenset(
    {
        "add", "sub", "mul", "div", "neg", "abs", "sqrt", "clamp", "maximum", "minimum",
        "where", "masked_fill", "fill", "index_fill", "triu", "view", "reshape", "contiguous",
        "t", "mT", "transpose", "permute", "unsqueeze", "squeeze", "expand", "slice", "select",
        "split", "split_with_sizes", "unbind", "flatten", "unflatten", "alias", "detach",
        "clone", "copy", "to", "_to_copy", "cat", "pad", "constant_pad_nd", "new_ones",
        "new_zeros", "new_empty", "full", "zeros", "ones", "empty", "empty_like", "arange",
        "index", "index_select", "index_copy", "index_put", "scatter", "gather", "embedding",
        "repeat_interleave",
    }
)  # fmt: skip
"""Real numbers go in and come out as they are, or rounded once."""

TRIED = frozenset({"addcmul", "rsqrt"})
"""Tried by ``tails_agree``."""


class Watch(TorchDispatchMode):
    """Keeps what products and sums make, and notes operators that make elements for each of
    ``rows`` rows but not in whole multiples of 32."""

    def __init__(self, rows: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.rows = rows
        self.made: list[Tensor] = []
        self.partial: set[str] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch would import its compiler, only to keep it from what follows."""
        return False

    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Any = (), named: Any = None
    ) -> Any:
        named = named or {}
        made = operation(*arguments, **named)
        name = operation._schema.name.removeprefix("aten::").rstrip("_")
        for each in made if isinstance(made, (list, tuple)) else (made,):
            if not isinstance(each, Tensor) or not (
                each.dtype.is_floating_point or each.dtype.is_complex
            ):
                continue
            if name in BY_ROW:
                self.made.append(each.clone())  # what follows may work in place
            elif not _apart(each, arguments) and self._partial(each, name, named):
                self.partial.add(name)
        return made

    def _partial(self, made: Tensor, name: str, named: dict[str, Any]) -> bool:
        if made.numel() % self.rows or not made.numel() % ELEMENTS:
            return False  # nothing that there is for each row; or whole multiples
        if made.dtype.is_complex:
            return True
        once = name in EXACT and named.get("alpha", 1) == 1
        return not once and not (name in TRIED and tails_agree())


def _apart(made: Tensor, arguments: Any) -> bool:
    """Whether the operator goes through each row by itself, since rows do not adjoin."""
    given = arguments[0] if arguments else None
    return (
        isinstance(given, Tensor)
        and given.ndim == 2
        and given.shape == made.shape
        and given.stride(1) == 1
        and given.stride(0) > given.shape[1]
    )


@cache
def tails_agree() -> bool:
    """Whether ``addcmul`` and ``rsqrt`` round the last few elements as they do all others."""
    numbers = torch.linspace(1e-3, 9.0, 128 * ELEMENTS)
    least = torch.tensor(1e-6)

    def both(some: Tensor) -> Tensor:
        squares = torch.addcmul(least, some, some, value=1 / 192)
        return torch.stack([squares, squares.rsqrt()])

    parts = [both(each) for each in numbers.split(ELEMENTS // 4)]
    return torch.equal(both(numbers), torch.cat(parts, dim=1))


@torch.inference_mode()
def fewest_rows(decoder: StepDecoder, drawing: Drawing) -> int:
    """8, 16 or 32: what rows, and tokens of prompts, may come in multiples of.

    About a dozen steps are made to find out. 32, and no step, where the decoder is not on a CPU or
    does not compute in float32, and with more than two threads.
    """
    if decoder.device.type != "cpu" or torch.get_num_threads() > THREADS:
        return ROWS
    if getattr(decoder, "dtype", None) != torch.float32:
        return ROWS
    expected = Trial(decoder, drawing, torch.arange(ROWS))
    found = ROWS
    for rows, multiples in TRIALS.items():
        for each in multiples:
            trial = Trial(decoder, drawing, torch.arange(each).flip(0) % ROWS)
            if trial.partial or not trial.agrees(expected):
                return found
        found = rows
    return found


class Trial:
    """A prompt of one token for each row, a step and a draw; rows are told apart by numbers."""

    def __init__(self, decoder: StepDecoder, drawing: Drawing, numbers: Tensor) -> None:
        self.numbers = numbers  # [R] from 0 and below 32
        rows = len(numbers)
        first = (numbers * 37 + 5) % drawing.forbid_from  # [R] ids
        second = (numbers * 53) % drawing.forbid_from  # [R] ids
        uniform = ((numbers.double() * 0.618034 + 0.01) % 1.0)[:, None]  # [R, 1]
        every, layout = torch.arange(rows), Layout.from_lengths([1] * rows)
        with Watch(rows) as watch:
            cache = decoder.new_cache(rows, min(CAPACITY, decoder.spec.context))
            read = decoder.extend(first, layout, cache)
            cache = cache.select(every)
            if isinstance(cache, Cache):
                cache.recorded = Unrecorded()  # operators, whatever was recorded of the decoder
            hidden = decoder.step(second, cache)
            drawn = drawing(decoder.logits(hidden), uniform)
        self.partial = watch.partial
        self.made = [*watch.made, read, hidden, *(each for each in drawn if each is not None)]

    def agrees(self, whole: Trial) -> bool:
        """Whether all that was made for a row is what was made for it among 32."""
        return len(self.made) == len(whole.made) and all(
            self._same(mine, its) for mine, its in zip(self.made, whole.made, strict=True)
        )

    def _same(self, mine: Tensor, its: Tensor) -> bool:
        if mine.shape == its.shape:  # of the weights alone
            return torch.equal(mine, its)
        rows = len(self.numbers)
        if mine.numel() % rows or mine.numel() // rows != its.numel() // ROWS:
            return False
        return torch.equal(mine.reshape(rows, -1), its.reshape(ROWS, -1)[self.numbers])
