"""Soups: the average of models that grew from one (arXiv:2203.05482), as a model's directory.

No model is ever held whole: a tensor is averaged when its turn to be written comes, a little of it
at a time, so that what is held does not grow with the number of models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import Tensor

import limite
from limite.core.checkpoint.tensor_header import TensorEntry
from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.errors import LimiteError
from limite.core.model.decoder import Decoder
from limite.core.model.init import unset_decoder
from limite.core.pretrained.average import average, widened
from limite.core.pretrained.directory import file_name
from limite.core.pretrained.export import Exported, Progress, Source, export_model
from limite.core.pretrained.soup_match import notes, refuse_different
from limite.core.pretrained.tensor_directory import SHARD_BYTES, TensorDirectory

RECEIPT = "soup.json"
"""What a soup was made of, in its directory."""

_HELD_VALUES = 1 << 19
"""Of all models together, while a tensor is averaged."""
_FEWEST_VALUES = 1 << 12


@attrs.frozen(kw_only=True, eq=False)
class Ingredient:
    """One model of a soup, and the SHA-256 of each of its files of weights."""

    name: str
    source: Source
    tensors: TensorDirectory
    hashes: Mapping[str, str]

    @classmethod
    def of(cls, name: str, source: Source) -> Ingredient:
        """Reads every file of weights once."""
        assert isinstance(source.tensors, TensorDirectory), "files are what is averaged"
        hashes = {}
        for file in source.tensors.files.values():
            with file.path.open("rb") as content:
                hashes[file.path.name] = hashlib.file_digest(content, "sha256").hexdigest()
        return cls(name=name, source=source, tensors=source.tensors, hashes=hashes)

    @property
    def digest(self) -> str:
        """Of all files together."""
        return hashlib.sha256(json.dumps(sorted(self.hashes.values())).encode()).hexdigest()

    def entry(self, parameter: str) -> TensorEntry:
        return self.tensors.entry(self.source.tensor_of[parameter])


@attrs.frozen(kw_only=True, eq=False)
class Averages:
    """The average of every tensor of some models, called by parameter and made when asked."""

    models: Sequence[Ingredient]
    weights: Sequence[float]

    def entry(self, name: str) -> TensorEntry:
        """The dtype and shape of a tensor."""
        return self.models[0].entry(name)

    def deferred(self, name: str, dtype: torch.dtype | None = None) -> DeferredTensor:
        """The average of a tensor, rounded once to a dtype; without one to that of the models."""
        entry = self.entry(name)
        kind = dtype or entry.dtype
        return DeferredTensor(
            dtype=kind, shape=entry.shape, make=lambda: self._average(name, entry, kind)
        )

    def _average(self, name: str, entry: TensorEntry, dtype: torch.dtype) -> Tensor:
        found = torch.empty(entry.shape, dtype=dtype)
        flat = found.view(-1)
        # In an order that follows from the contents, so that how models are listed changes nothing.
        pairs = zip(self.models, self.weights, strict=True)
        ordered = sorted(pairs, key=lambda pair: (pair[0].digest, pair[1]))
        weights = [weight for _, weight in ordered]
        values = max(_FEWEST_VALUES, _HELD_VALUES // len(ordered))
        with ExitStack() as files:
            readers = []
            for model, _ in ordered:
                own = model.source.tensor_of[name]
                reader = model.tensors.home[own].pieces(own, values=values)
                readers.append(files.enter_context(closing(reader)))
            begin = 0
            for read in zip(*readers, strict=True):
                pieces = widened(read)
                part = average(pieces, weights, dtype)
                if not part.isfinite().all():
                    _refuse_infinite(file_name(name), [model for model, _ in ordered], pieces, part)
                flat[begin : begin + len(part)] = part
                begin += len(part)
        return found


@attrs.frozen(kw_only=True, eq=False)
class Soup:
    """Models that may be averaged: one architecture, one tokenizer, the same tensors."""

    models: Sequence[Ingredient]

    @classmethod
    def of(cls, sources: Sequence[tuple[str, Source]], *, dtypes: bool = True) -> Soup:
        """The models by the names they are called; a SettingsError tells all that differs.

        Without ``dtypes`` tensors may be of several, and the widest is what all are read as.
        """
        assert sources, "a soup is made of something"
        refuse_different(sources, dtypes=dtypes)
        return cls(models=[Ingredient.of(name, source) for name, source in sources])

    def decoder(
        self,
        weights: Sequence[float],
        *,
        stored: str | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Decoder:
        """The average as a decoder, its weights those that a directory ``stored`` so would hold."""
        spec = self.models[0].source.spec
        decoder = unset_decoder(spec, dtype=dtype, device=device)
        self.fill(decoder, weights, stored=stored)
        return decoder.eval()

    @torch.no_grad()
    def fill(
        self, decoder: Decoder, weights: Sequence[float], *, stored: str | None = None
    ) -> None:
        """Puts the average into a decoder of the models' architecture."""
        averages = self._averages(weights)
        kinds = self._stored(stored)
        for name, parameter in decoder.named_parameters():
            parameter.copy_(averages.deferred(name, kinds.get(name)).make())

    def write(
        self,
        target: str | Path,
        weights: Sequence[float],
        *,
        dtype: str | None = None,
        shard_bytes: int = SHARD_BYTES,
        record: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Exported:
        """Writes the average into the new directory ``target``, whole or not at all.

        Tensors keep their dtypes, or matrices are rounded to ``dtype``; either way values are
        rounded once. Configuration, tokenizer and generation settings are those of the first
        model. ``soup.json`` says of what it was made, and ``record``.
        """
        first = self.models[0].source
        receipt = self.receipt(weights) | dict(record or {})
        text = json.dumps(receipt, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        soup = attrs.evolve(
            first,
            tensors=self._averages(weights),
            tensor_of={name: name for name in first.tensor_of},
            files={**first.files, RECEIPT: text.encode()},
            notes=tuple(self.notes()),
        )
        return export_model(soup, target, dtype=dtype, shard_bytes=shard_bytes, progress=progress)

    def receipt(self, weights: Sequence[float]) -> dict[str, Any]:
        """What the average is of."""
        return {
            "limite": limite.__version__,
            "models": [
                {"name": model.name, "weight": weight, "sha256": dict(model.hashes)}
                for model, weight in zip(self.models, weights, strict=True)
            ],
        }

    def notes(self) -> list[str]:
        """What somebody should know of the models."""
        own = [f"{model.name}: {note}" for model in self.models for note in model.source.notes]
        return own + notes([(model.name, model.source) for model in self.models])

    def _averages(self, weights: Sequence[float]) -> Averages:
        return Averages(models=self.models, weights=weights)

    def _stored(self, dtype: str | None) -> dict[str, torch.dtype]:
        if dtype is None:
            return {}
        spec = self.models[0].source.spec
        shapes = unset_decoder(spec, dtype=getattr(torch, dtype), device="meta")
        return {name: parameter.dtype for name, parameter in shapes.named_parameters()}


def _refuse_infinite(
    name: str, models: Sequence[Ingredient], pieces: Sequence[Tensor], part: Tensor
) -> None:
    for model, piece in zip(models, pieces, strict=True):
        if not piece.isfinite().all():
            raise LimiteError(f"{model.name}: {name}: holds NaN or infinity, which has no average")
    reach = torch.finfo(part.dtype).max
    raise LimiteError(f"{name}: expected values that {part.dtype} can hold (up to {reach:g})")
