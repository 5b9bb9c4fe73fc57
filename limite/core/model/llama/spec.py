"""The shape of a Llama, Qwen2, Qwen3 or Mistral decoder as settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, optional

from limite.core.kinds import Attention
from limite.core.model.llama.scaling import NoScaling, RopeScaling
from limite.core.model.settings import Model
from limite.core.validators import option

if TYPE_CHECKING:
    from torch import Tensor

    from limite.core.model.decoder import Decoder
    from limite.core.seeds import Seeds


def _everywhere() -> Attention:
    from limite.core.model.resolve import attention_component

    return attention_component({"type": "global", "rotary": True})


@attrs.frozen(kw_only=True)
class LlamaSpec(Model):
    """A decoder of plain pre-norm blocks, as Llama has them; Qwen2, Qwen3 and Mistral vary it.

    Qwen2 adds ``query_key_value_bias``, Qwen3 ``query_key_norm``; Mistral, and some layers of
    Qwen, see a window. A field left at None is derived from the others, by ``filled``.
    """

    kind: ClassVar[str] = "llama"

    width: int = attrs.field(
        default=64, validator=and_(ge(1), le(10**6)), metadata={"unit": "channels"}
    )
    layers: int = attrs.field(default=4, validator=and_(ge(1), le(1000)))
    heads: int = attrs.field(default=2, validator=and_(ge(1), le(10_000)))
    kv_heads: int = attrs.field(default=1, validator=and_(ge(1), le(10_000)))
    head_width: int = attrs.field(
        default=32, validator=and_(ge(2), le(10**6)), metadata={"unit": "channels"}
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
    attention: Attention | str = attrs.field(
        factory=_everywhere,
        metadata={"help": "a component whose layers are rotary; left out: global and rotary"},
    )
    attention_scale: float | None = attrs.field(
        default=None,
        validator=optional(and_(gt(0.0), le(1e6))),
        metadata={"help": "factor of the scores; None: head_width to the power of -1/2"},
    )
    norm_epsilon: float = attrs.field(
        default=1e-6,
        validator=and_(gt(0.0), le(1.0)),
        metadata={"help": "what a norm adds to the mean square"},
    )
    rope_base: float = attrs.field(
        default=10_000.0,
        validator=and_(gt(1.0), le(1e12)),
        metadata={"help": "base of the rotary frequencies"},
    )
    rope_scaling: RopeScaling = attrs.field(
        factory=NoScaling, metadata={"help": "how frequencies are stretched for longer contexts"}
    )
    query_key_norm: bool = attrs.field(
        default=False, metadata={"help": "whether every query and key head is normalised"}
    )
    query_key_value_bias: bool = False
    output_bias: bool = attrs.field(
        default=False, metadata={"help": "whether the attention's output projection has a bias"}
    )
    mlp_bias: bool = False
    tied_head: bool = attrs.field(
        default=True, metadata={"help": "whether the output head is the token table"}
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
    def cap(self) -> None:
        """No soft cap bounds the logits."""
        return

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
        if self.heads % self.kv_heads:
            wrong.append(
                f"'heads' ({self.heads}) must be a multiple of 'kv_heads' ({self.kv_heads})"
            )
        if self.head_width % 2:
            wrong.append(f"'head_width' ({self.head_width}) must be even")
        ids, rows = self.vocabulary, self.padded_vocabulary
        if ids is not None and rows is not None and ids > rows:
            wrong.append(f"'vocabulary' ({ids}) must be at most 'padded_vocabulary' ({rows})")
        return wrong

    def filled(self, vocabulary: int | None = None) -> LlamaSpec:
        """The same model with every derived field written out.

        ``vocabulary`` is the tokenizer's, used when the field is None.
        """
        ids = self.vocabulary if self.vocabulary is not None else vocabulary
        if ids is None:
            raise ValueError("'vocabulary' is not set, and no tokenizer gave its own")

        def use(value: Any, otherwise: Any) -> Any:
            return otherwise if value is None else value

        return attrs.evolve(
            self,
            vocabulary=ids,
            padded_vocabulary=use(self.padded_vocabulary, ids),
            attention_scale=use(self.attention_scale, self.head_width**-0.5),
        )
