"""What a recipe may say of its model, and what every decoder knows of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

import attrs

from limite.core.errors import Mistake
from limite.core.tokenizer import CharacterTokenizer, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from limite.core.kinds import Attention
    from limite.core.model.decoder import Decoder
    from limite.core.seeds import Seeds


class DecoderSpec(Protocol):
    """The sizes that the settings of every family of decoders have, once they are filled."""

    @property
    def width(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def heads(self) -> int: ...
    @property
    def kv_heads(self) -> int: ...
    @property
    def head_width(self) -> int: ...
    @property
    def mlp_width(self) -> int: ...
    @property
    def attention(self) -> Attention | str: ...
    @property
    def attention_scale(self) -> float | None: ...
    @property
    def vocabulary(self) -> int | None: ...
    @property
    def padded_vocabulary(self) -> int | None: ...
    @property
    def context(self) -> int: ...
    @property
    def cap(self) -> tuple[float, float, float] | None: ...
    @property
    def tied_head(self) -> bool: ...
    @property
    def head_precision(self) -> str: ...


@attrs.frozen(kw_only=True)
class Model:
    """Where the model of a recipe comes from: sizes for new weights, or weights that exist."""

    kinds: ClassVar[Mapping[str, type[Model]]] = {}
    """What ``type`` says in settings files, and the class it stands for."""

    default_kind: ClassVar[str] = "limite"

    @property
    @abstractmethod
    def context(self) -> int:
        """The most tokens of prompt and response together."""

    @abstractmethod
    def filled(self, vocabulary: int | None = None) -> DecoderSpec:
        """The sizes, all of them; ``vocabulary`` is the tokenizer's. Reads no weight."""

    @abstractmethod
    def decoder(self, vocabulary: int, seeds: Seeds, *, values: bool = True) -> Decoder:
        """A decoder with the weights to start from; without ``values`` they may be anything."""

    @abstractmethod
    def values(self, decoder: Decoder, seeds: Seeds) -> Iterator[tuple[str, Tensor]]:
        """The weights to start from, parameter by parameter, each in host memory as it is asked
        for; ``decoder`` has their shapes and dtypes."""

    def mistakes(self) -> list[Mistake]:
        """What is wrong with the files the model is read from, told before they are loaded."""
        return []

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each file the model is read from, for receipts."""
        return {}

    def default_tokenizer(self) -> Tokenizer:
        """What a recipe that names no tokenizer reads text with."""
        return CharacterTokenizer()
