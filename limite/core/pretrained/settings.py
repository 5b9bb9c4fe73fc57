"""A model that exists, as the settings of a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs

from limite.core.errors import LimiteError, Mistake, SettingsError, mistakes_of, shortened
from limite.core.model.settings import DecoderSpec, Model
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.tokenizer import Tokenizer
from limite.core.validators import option

if TYPE_CHECKING:
    from torch import Tensor

    from limite.core.model.decoder import Decoder
    from limite.core.pretrained.directory import ModelDirectory
    from limite.core.seeds import Seeds


@attrs.frozen(kw_only=True, slots=False)
class Pretrained(Model):
    """The model in a directory in the layout of Hugging Face, with its weights and tokenizer."""

    path: str = attrs.field(
        validator=attrs.validators.instance_of(str),
        metadata={"help": "the directory that holds config.json and the weights"},
    )
    dtype: str = attrs.field(
        default="float32",
        validator=option("float32", "bfloat16", "float64"),
        metadata={"help": "what matrices are rounded to, and activations are"},
    )
    synthetic: bool = attrs.field(
        default=False,
        metadata={"help": "whether weights that are marked as made at random for tests will do"},
    )

    @cached_property
    def directory(self) -> ModelDirectory:
        """The directory, its configuration read."""
        from limite.core.pretrained.directory import ModelDirectory

        try:
            return ModelDirectory.open(self.path)
        except SettingsError as error:  # mistakes of that file, not of the recipe
            raise LimiteError(str(error)) from None

    def mistakes(self) -> list[Mistake]:
        """What is wrong with its configuration, or else with its weights as their headers say."""
        from limite.core.pretrained.directory import ModelDirectory

        try:
            return shortened(ModelDirectory.open(self.path).check(self.dtype))
        except LimiteError as error:
            return mistakes_of(error)

    @property
    def context(self) -> int:
        return self.directory.spec.context

    def filled(self, vocabulary: int | None = None) -> DecoderSpec:
        """The sizes its configuration says, and the ids that its tokenizer gives a meaning.

        Tables may have more rows than the tokenizer has ids, never fewer. The tokenizer says which
        ids mean something: a configuration of most families has nothing but the number of rows.
        """
        spec: Any = self.directory.spec
        if vocabulary is None:
            return cast(DecoderSpec, spec)
        for ids, what in (
            (spec.padded_vocabulary, "rows of the token table"),
            (spec.vocabulary, "ids that config.json says have a meaning"),
        ):
            if vocabulary > ids:
                raise LimiteError(
                    f"{self.path}: the tokenizer has {vocabulary} ids, more than the {ids} {what}"
                )
        return cast(DecoderSpec, attrs.evolve(spec, vocabulary=vocabulary))

    def decoder(self, vocabulary: int, seeds: Seeds, *, values: bool = True) -> Decoder:
        """The weights of the directory; without ``values``, what memory happens to hold."""
        spec = self.filled(vocabulary)
        directory = attrs.evolve(self.directory, spec=spec)
        return directory.load(self.dtype, values=values)

    def values(self, decoder: Decoder, seeds: Seeds) -> Iterator[tuple[str, Tensor]]:
        return attrs.evolve(self.directory, spec=decoder.spec).values(decoder)

    def default_tokenizer(self) -> Tokenizer:
        return PretrainedTokenizer(path=self.path)

    def hashes(self) -> dict[str, str]:
        return self.directory.hashes()


def at(path: str | Path) -> Pretrained:
    """The model in a directory, wherever a run will later be resumed from."""
    return Pretrained(path=str(Path(path).expanduser().absolute()))
