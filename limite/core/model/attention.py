"""What the attention of one layer is to the block around it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.model.branches import Branches
from limite.core.seeds import Seeds

if TYPE_CHECKING:
    from limite.core.kinds import Attention
    from limite.core.model.spec import AttentionShape


class LayerCache:
    """What one layer remembers of each row. The cache around it asks no more than this."""

    @property
    def bytes(self) -> int:
        """What it takes, all rows together."""
        raise NotImplementedError

    @property
    def tensors(self) -> Sequence[Tensor]:
        """What a step reads and writes, where the mixer has its steps recorded."""
        return ()

    def select(self, rows: Tensor) -> LayerCache:
        """The cache of the given rows, in that order; a row may be asked for more than once."""
        raise NotImplementedError

    def replace(self, rows: Tensor, source: LayerCache) -> None:
        """Overwrites ``rows`` with the rows of ``source``, one for one."""
        raise NotImplementedError

    def leading(self, rows: int) -> LayerCache | None:
        """The first ``rows`` rows in the same memory: what a step writes to one is in the other.

        None where there is no such view; steps are then not captured as graphs.
        """
        return None


class AttentionMixer(nn.Module):
    """Mixes the values of one layer. The block owns projections, norms, rotary and gates.

    All methods take ``queries [N, heads, D]``, ``keys`` and ``values [N, kv_heads, D]``, ready for
    use (normalised, rotated where ``rotary`` says so, value embeddings added), and the normalised
    attention input ``inputs [N, width]``, which a mixer with parameters of its own may read. They
    return ``[N, heads, D]``. Query head h belongs to key/value head h // (heads / kv_heads).

    A row's result must not depend on the other rows; in ``extend`` and ``step`` not even by a bit.

    Parameters of its own, if it has any, lie below the block's under ``mixer.``. They get the dtype
    of the block's matrices; their first values are the mixer's to give (``initialise``).
    """

    operations: ClassVar[tuple[str, ...]] = ("attention", "attention_decode")
    """The operations of the kernel core it calls, for ``limite check`` to tell of."""

    rotary: bool = False
    """Whether the block turns queries and keys by their positions."""

    window: int | None = None
    """How many tokens one sees, itself included; None: all before it."""

    ragged: bool = True
    """Whether ``forward`` takes rows of different lengths. Where it does not, rows that are trained
    on are padded at the right to the longest beside them, whose tokens none of them sees."""

    shares_prompts: bool = True
    """Whether rows that begin with the same prompt may hold it once (see ``branched``)."""

    @property
    def words(self) -> str:
        """What a token of this layer sees, in a few words for people."""
        seen = "global" if self.window is None else f"local {self.window}"
        return seen if self.rotary else f"{seen} without positions"

    def initialise(self, seeds: Seeds) -> None:
        """Gives parameters of its own their first values. ``seeds`` are this mixer's alone."""

    def start_as_parent(self) -> None:
        """After ``initialise``: values with which it mixes as what it was grafted in place of.

        For attention that can be grafted onto a model (see ``limite.core.kinds.Graftable``).
        Their gradients must not all be zero, or nothing would ever be learned.
        """
        raise NotImplementedError(f"{type(self).__name__} does not start out as another attention")

    def arithmetic(self, tokens: int) -> int:
        """Floating-point operations to mix a row of ``tokens`` tokens, the backward pass aside.

        For estimates. Products with parameters of its own are counted elsewhere, as all are.
        """
        return 0

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, layout: Layout
    ) -> Tensor:
        """Whole rows: token p of a row sees the row's tokens up to p."""
        raise NotImplementedError

    def branched(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, branches: Branches
    ) -> Tensor:
        """As ``forward``, for rows some of which go on from the first tokens of another.

        Here they are written out, which is right for every mixer; one that knows how far a token
        sees can save what that repeats.
        """
        rows = branches.whole()
        taken = (x.index_select(0, rows.tokens) for x in (queries, keys, values, inputs))
        mixed: Tensor = self(*taken, rows.layout)
        return mixed.index_select(0, rows.places)

    def new_cache(
        self, rows: int, capacity: int, dtype: torch.dtype, device: torch.device
    ) -> LayerCache:
        """An empty cache for ``rows`` rows of up to ``capacity`` tokens."""
        raise NotImplementedError

    def extend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        layout: Layout,
        cache: Any,
        before: tuple[int, ...],
    ) -> Tensor:
        """A chunk for each row, after the ``before [B]`` tokens which the cache has seen."""
        raise NotImplementedError

    def decided(self, cache: Any) -> Callable[[int, int], Hashable] | None:
        """What ``step`` decides on the host: from the tokens of the longest row and those of the
        shortest, the one at hand included, to something that is equal where all decisions are.

        ``step`` may then be recorded as the operators it calls, and they be called again on the
        tensors of another cache, or of this one (``LayerCache.tensors``). Equal mixers give equal
        functions. None where a step keeps or asks for what tensors hold, or is not to be recorded.
        """
        return None

    def step(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        cache: Any,
        moment: Moment,
    ) -> Tensor:
        """One token for each row of the cache: ``N`` is the number of rows.

        The lengths of ``moment`` count this token; of ``longest`` and ``shortest`` it may only be
        taken that no row is longer or shorter. To be captured as a graph it must write to the
        cache where it lies, and ask the device for nothing.
        """
        raise NotImplementedError


def mix_rows(
    mixer: AttentionMixer,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    inputs: Tensor,
    layout: Layout | Branches,
) -> Tensor:
    """What ``mixer`` makes of whole rows, whichever way they are laid out."""
    if isinstance(layout, Branches):
        return mixer.branched(queries, keys, values, inputs, layout)
    mixed: Tensor = mixer(queries, keys, values, inputs, layout)
    return mixed


def mixer_of(attention: Attention, shape: AttentionShape, dtype: torch.dtype) -> AttentionMixer:
    """The mixer of one layer, for a block whose matrices are of ``dtype``."""
    mixer = attention.build(shape).to(dtype)
    assert isinstance(mixer, AttentionMixer), f"build gave a {type(mixer).__name__}"
    return mixer
