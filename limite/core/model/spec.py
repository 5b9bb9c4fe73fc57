"""The shape of a Limite decoder as settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs
from attrs.validators import and_, ge, gt, le, optional

from limite.core.kinds import Attention
from limite.core.model.settings import DecoderSpec, Model
from limite.core.validators import layer_numbers, option

if TYPE_CHECKING:
    from torch import Tensor

    from limite.core.model.decoder import Decoder
    from limite.core.seeds import Seeds


def _cap(_instance: Any, attribute: Any, value: Any) -> None:
    """Bound, shift and spread of the soft cap."""
    if len(value) != 3 or not value[0] > 0 or not value[2] > 0 or max(map(abs, value)) > 1e6:
        raise ValueError(
            f"{attribute.name!r} must be [bound, shift, spread] with bound and spread above 0 "
            f"and all within a million, got {list(value)}"
        )


@attrs.frozen(kw_only=True)
class AttentionShape:
    """What the attention of one layer is built for."""

    layer: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    width: int
    scale: float

    @classmethod
    def of(cls, spec: DecoderSpec, layer: int) -> AttentionShape:
        """That of one layer of a decoder whose spec is filled."""
        assert spec.attention_scale is not None, "the spec must be filled"
        return cls(
            layer=layer,
            layers=spec.layers,
            heads=spec.heads,
            kv_heads=spec.kv_heads,
            head_width=spec.head_width,
            width=spec.width,
            scale=spec.attention_scale,
        )


@attrs.frozen(kw_only=True)
class ModelSpec(Model):
    """A Limite decoder: widths, depths, and which of its parts sit in which layer.

    A field left at None is derived from the others, by ``filled``; an empty list of layers means
    that no layer has the part.
    """

    width: int = attrs.field(
        default=64, validator=and_(ge(1), le(10**6)), metadata={"unit": "channels"}
    )
    layers: int = attrs.field(default=4, validator=and_(ge(1), le(1000)))
    heads: int = attrs.field(default=2, validator=and_(ge(1), le(10_000)))
    kv_heads: int = attrs.field(default=1, validator=and_(ge(1), le(10_000)))
    head_width: int = attrs.field(
        default=32, validator=and_(ge(1), le(10**6)), metadata={"unit": "channels"}
    )
    mlp_width: int = attrs.field(
        default=176, validator=and_(ge(1), le(10**6)), metadata={"unit": "channels"}
    )
    vocabulary: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(1), le(2**24))),
        metadata={"unit": "tokens", "help": "ids that mean something; None: the tokenizer's"},
    )
    padded_vocabulary: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(1), le(2**24))),
        metadata={"unit": "tokens", "help": "rows of the token table; None: no padding rows"},
    )
    context: int = attrs.field(
        default=128,
        validator=and_(ge(2), le(2**24)),
        metadata={"help": "prompt and response together", "unit": "tokens"},
    )
    attention: Attention | str = "local-global"
    attention_scale: float | None = attrs.field(
        default=None,
        validator=optional(and_(gt(0.0), le(1e6))),
        metadata={"help": "factor of the scores; None: 12.8 / head_width, the published ratio"},
    )
    rope_pairs: int | None = attrs.field(
        default=None,
        validator=optional(ge(0)),
        metadata={"help": "channel pairs that rotate; None: half of the channels do"},
    )
    rope_base: float = attrs.field(
        default=1024.0,
        validator=and_(gt(1.0), le(1e12)),
        metadata={"help": "base of the rotary frequencies"},
    )
    value_layers: tuple[int, ...] | None = attrs.field(
        default=None,
        validator=layer_numbers,
        metadata={"help": "layers with value embeddings; None: 1, 4, 7, ..."},
    )
    value_width: int | None = attrs.field(
        default=None, validator=optional(ge(1)), metadata={"help": "None: head_width"}
    )
    value_heads: int | None = attrs.field(
        default=None,
        validator=optional(ge(1)),
        metadata={"help": "heads stored in the value table; None: kv_heads"},
    )
    value_gate_channels: int | None = attrs.field(
        default=None, validator=optional(ge(1)), metadata={"help": "None: 12, or width if less"}
    )
    head_gate_channels: int | None = attrs.field(
        default=None,
        validator=optional(ge(0)),
        metadata={"help": "channels the head gate reads, 0: no gate; None: head_width"},
    )
    xsa_layers: tuple[int, ...] | None = attrs.field(
        default=None,
        validator=layer_numbers,
        metadata={"help": "layers that remove the own value's direction; None: all"},
    )
    mudd_layers: tuple[int, ...] | None = attrs.field(
        default=None,
        validator=layer_numbers,
        metadata={"help": "layers fed by a mixture of earlier states; None: the middle, the last"},
    )
    mudd_taps: tuple[tuple[int, ...], ...] | None = attrs.field(
        default=None,
        metadata={"help": "for each of mudd_layers l the states it mixes; None: 0, l // 2, l"},
    )
    mudd_width: int = attrs.field(
        default=16,
        validator=and_(ge(1), le(10**6)),
        metadata={"help": "hidden width of the mixture's weights", "unit": "channels"},
    )
    mudd_residual: bool = attrs.field(
        default=True, metadata={"help": "whether mudd_layers mix their residual base too"}
    )
    cap: tuple[float, float, float] = attrs.field(
        default=(23.0, 5.0, 7.5),
        validator=_cap,
        metadata={"help": "logit = bound * sigmoid((product + shift) / spread)"},
    )
    head_precision: str = attrs.field(
        default="rounded",
        validator=option("rounded", "float32"),
        metadata={"help": "dtype of the output head's product: the activations', or float32"},
    )

    def __attrs_post_init__(self) -> None:
        wrong = self._contradictions()
        if wrong:
            raise ValueError("\n".join(wrong))

    @property
    def tied_head(self) -> bool:
        """The output head is the token table."""
        return True

    @classmethod
    def preset(cls, name: str) -> ModelSpec:
        """A model by name, such as ``"limite-tiny"``."""
        from limite.core.model.presets import preset

        return preset(name)

    def decoder(self, vocabulary: int, seeds: Seeds, *, values: bool = True) -> Decoder:
        """New weights, drawn from ``seeds``."""
        from limite.core.model.init import build_decoder, unset_decoder

        spec = self.filled(vocabulary)
        return build_decoder(spec, seeds) if values else unset_decoder(spec)

    def values(self, decoder: Decoder, seeds: Seeds) -> Iterator[tuple[str, Tensor]]:
        from limite.core.model.init import initial_values

        return initial_values(decoder, seeds)

    def _contradictions(self) -> list[str]:
        """What is wrong between fields, in sentences."""
        wrong = []

        def at_most(small: str, value: int | None, large: str, limit: int) -> None:
            if value is not None and value > limit:
                wrong.append(f"{small!r} ({value}) must be at most {large} ({limit})")

        if self.heads % self.kv_heads:
            wrong.append(
                f"'heads' ({self.heads}) must be a multiple of 'kv_heads' ({self.kv_heads})"
            )
        at_most("rope_pairs", self.rope_pairs, "half of 'head_width'", self.head_width // 2)
        if self.head_width % 2 and self.rope_pairs != 0:
            wrong.append(f"'head_width' ({self.head_width}) must be even, unless 'rope_pairs' is 0")
        at_most("value_width", self.value_width, "'head_width'", self.head_width)
        at_most("value_gate_channels", self.value_gate_channels, "'width'", self.width)
        at_most("head_gate_channels", self.head_gate_channels, "'width'", self.width)
        if self.value_heads not in (None, self.kv_heads, self.heads):
            wrong.append(
                f"'value_heads' ({self.value_heads}) must equal 'kv_heads' ({self.kv_heads}) "
                f"or 'heads' ({self.heads})"
            )
        if self.vocabulary is not None and self.padded_vocabulary is not None:
            at_most("vocabulary", self.vocabulary, "'padded_vocabulary'", self.padded_vocabulary)
        for name in ("value_layers", "xsa_layers", "mudd_layers"):
            for number in getattr(self, name) or ():
                at_most(name, number, "the last of 'layers'", self.layers - 1)
        if self.mudd_taps is not None:
            wrong += self._wrong_taps(self.mudd_taps)
        return wrong

    def _wrong_taps(self, taps: tuple[tuple[int, ...], ...]) -> list[str]:
        if self.mudd_layers is None or len(self.mudd_layers) != len(taps):
            return ["'mudd_taps' must have one list for each of 'mudd_layers'"]
        if len({len(states) for states in taps}) > 1 or not all(taps):
            return ["'mudd_taps' must have lists of one length, at least 1"]
        return [
            f"'mudd_taps' of layer {layer} must lie within 0 and {layer}, got {list(states)}"
            for layer, states in zip(self.mudd_layers, taps, strict=True)
            if min(states) < 0 or max(states) > layer
        ]

    def filled(self, vocabulary: int | None = None) -> ModelSpec:
        """The same model with every derived field written out.

        ``vocabulary`` is the tokenizer's, used when the field is None.
        """
        ids = self.vocabulary if self.vocabulary is not None else vocabulary
        if ids is None:
            raise ValueError("'vocabulary' is not set, and no tokenizer gave its own")

        def use(value: Any, otherwise: Any) -> Any:
            return otherwise if value is None else value

        last = self.layers - 1
        mudd_layers = use(self.mudd_layers, tuple(sorted({self.layers // 2, last})))
        return attrs.evolve(
            self,
            vocabulary=ids,
            padded_vocabulary=use(self.padded_vocabulary, ids),
            attention_scale=use(self.attention_scale, 12.8 / self.head_width),
            rope_pairs=use(self.rope_pairs, max(1, self.head_width // 4)),
            value_layers=use(self.value_layers, tuple(range(1, self.layers, 3))),
            value_width=use(self.value_width, self.head_width),
            value_heads=use(self.value_heads, self.kv_heads),
            value_gate_channels=use(self.value_gate_channels, min(12, self.width)),
            head_gate_channels=use(self.head_gate_channels, min(self.head_width, self.width)),
            xsa_layers=use(self.xsa_layers, tuple(range(self.layers))),
            mudd_layers=mudd_layers,
            mudd_taps=use(self.mudd_taps, tuple((0, i // 2, i) for i in mudd_layers)),
        )
