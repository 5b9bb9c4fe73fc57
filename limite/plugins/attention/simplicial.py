"""2-simplicial attention: a token looks at pairs of earlier tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from attrs.validators import and_, ge, gt, le

from limite.core.errors import LimiteError
from limite.core.kinds import Attention
from limite.core.model.spec import AttentionShape
from limite.core.validators import layer_numbers, option
from limite.plugins.attention.everywhere import Global

if TYPE_CHECKING:
    from limite.core.model.attention import AttentionMixer


@attrs.frozen(kw_only=True)
class Simplicial:
    """Every ``every``-th layer 2-simplicial: a token sees pairs of tokens; the rest ``other``.

    ``score(i, j, k) = scale sum_d q[i,d] k1[j,d] k2[k,d]``, one softmax over all pairs of the last
    ``window1`` tokens j and the last ``window2`` tokens k, and ``sum p(i,j,k) v1[j] v2[k]``
    (arXiv 2507.02754, whose windows are 512 and 32). First keys and values are the block's; second
    ones are projections of the layer's own, ``k2 = norm(1 + W a)`` and ``v2 = 1 + W a``: with
    ``W = 0`` this is ordinary attention over ``window1`` tokens. A row costs
    ``4 heads head_width window1 window2`` operations a token, and a cache holds
    ``2 (window1 + window2)`` vectors a head, however long the row.

    ``trilinear`` scores know no relative positions: ``rotary`` turns queries and first keys alone.
    With ``determinant``, sums of 3x3 determinants over triples of channels, it turns all three.
    """

    window1: int = attrs.field(
        default=32, validator=and_(ge(1), le(2**24)), metadata={"unit": "tokens"}
    )
    window2: int = attrs.field(
        default=8, validator=and_(ge(1), le(2**24)), metadata={"unit": "tokens"}
    )
    form: str = attrs.field(default="trilinear", validator=option("trilinear", "determinant"))
    rotary: bool = False
    rotary_base: float = attrs.field(
        default=1024.0,
        validator=and_(gt(1.0), le(1e12)),
        metadata={"help": "of the turns of 'determinant'; others have the model's"},
    )
    every: int = attrs.field(
        default=4, validator=and_(ge(1), le(2**24)), metadata={"unit": "layers"}
    )
    layers: tuple[int, ...] | None = attrs.field(
        default=None,
        validator=layer_numbers,
        metadata={"help": "the 2-simplicial layers, from 0, in place of 'every'"},
    )
    other: Attention = attrs.field(
        factory=lambda: Global(rotary=True), metadata={"help": "attention of the other layers"}
    )

    def is_simplicial(self, layer: int) -> bool:
        if self.layers is not None:
            return layer in self.layers
        return layer % self.every == self.every - 1

    def build(self, shape: AttentionShape) -> AttentionMixer:
        if not self.is_simplicial(shape.layer):
            other: Any = self.other.build(shape)
            built: AttentionMixer = other
            return built
        from limite.plugins.attention.pairs import SimplicialMixer

        return SimplicialMixer(
            shape,
            window1=self.window1,
            window2=self.window2,
            form=self.form,
            rotary=self.rotary,
            rotary_base=self.rotary_base,
        )

    def graft(
        self, parent: Attention, layers: Mapping[int, AttentionMixer], context: int
    ) -> Attention:
        """``parent`` with 2-simplicial attention in ``layers``, which starts out as what it was.

        ``layers`` are the parent's mixers by layer. Their sight becomes ``window1`` (``context``
        where it has no end) and their rotary turns are kept; ``form`` and ``window2`` are those of
        this component.
        """
        from limite.plugins.attention.window import WindowMixer

        if self.form != "trilinear":
            raise LimiteError(
                f"the form {self.form!r} cannot be grafted: no second keys make a determinant of "
                "an ordinary score; use 'trilinear'"
            )
        said = [
            name
            for name in ("window1", "rotary", "rotary_base", "every", "layers", "other")
            if getattr(self, name) != getattr(type(self)(), name)
        ]
        if said:
            raise LimiteError(
                f"a graft takes {', '.join(said)} from the model; leave it out, or it would not "
                "start out as what it was"
            )
        alike: dict[tuple[int, bool], list[int]] = {}
        for layer, mixer in sorted(layers.items()):
            if not isinstance(mixer, WindowMixer):
                raise LimiteError(
                    f"layer {layer} cannot become 2-simplicial: its attention is a "
                    f"{type(mixer).__name__}, not softmax attention over a window"
                )
            window = context if mixer.window is None else min(mixer.window, context)
            alike.setdefault((window, mixer.rotary), []).append(layer)
        grown = parent
        for (window, rotary), chosen in alike.items():
            grown = attrs.evolve(
                self, window1=window, rotary=rotary, layers=tuple(chosen), other=grown
            )
        return grown
