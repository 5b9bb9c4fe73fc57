"""A model's directory: what it holds is checked as a whole before a weight is read."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean, mistakes_of
from limite.core.pretrained.json_files import read_object

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from limite.core.model.decoder import Decoder
    from limite.core.model.settings import DecoderSpec
    from limite.core.pretrained.load import Dtypes
    from limite.core.pretrained.tensor_directory import TensorDirectory

CONFIG_FILE = "config.json"
PREFIX = "model."
HEAD = "lm_head.weight"
CRITIC = "ForTokenClassification"
"""What the name of an architecture ends in that gives each token a number, and no logits."""
SYNTHETIC = "limite_synthetic"
"""True in a ``config.json`` whose weights nobody trained: made at random, for tests."""
DTYPES = ("float32", "bfloat16", "float16", "float64")

FAMILIES: Mapping[str, str] = {
    "limite": "limite.core.pretrained.families.limite",
    "limite-variant": "limite.core.pretrained.families.variant",
    "llama": "limite.core.pretrained.families.llama",
    "mistral": "limite.core.pretrained.families.llama",
    "qwen2": "limite.core.pretrained.families.llama",
    "qwen3": "limite.core.pretrained.families.llama",
}
"""The ``model_type`` of a configuration, and the module that reads it."""


WRITERS: Mapping[str, str] = {
    "ModelSpec": "limite.core.pretrained.families.limite",
    "LlamaSpec": "limite.core.pretrained.families.llama_write",
}
"""The settings of a decoder, and the module that writes them as a configuration."""


DERIVED: Mapping[str, str] = {"LlamaSpec": "limite.core.pretrained.families.llama"}
"""The settings of decoders whose older files also hold what the configuration says."""


class Family(Protocol):
    """What a module of ``limite.core.pretrained.families`` offers."""

    spec_from_config: Callable[[Mapping[str, Any]], DecoderSpec]


def file_name(parameter: str) -> str:
    """What a decoder's parameter is called in files."""
    return parameter if parameter == HEAD else PREFIX + parameter


def read_config(path: Path) -> dict[str, Any]:
    """The ``config.json`` of a model's directory."""
    if not path.is_dir():
        what = "is a file, not a directory" if path.exists() else "there is no such directory"
        raise LimiteError(f"{path}: {what}")
    config = read_object(path / CONFIG_FILE)
    if config is None:
        run = (path / "recipe.toml").is_file()
        hint = f"; it is the folder of a run: limite export {path} --to DIR" if run else ""
        raise LimiteError(f"{path}: there is no {CONFIG_FILE}, so it is no model's directory{hint}")
    return config


def architecture_of(config: Mapping[str, Any]) -> str | None:
    """The one architecture a configuration names; None where it does not name one."""
    names = config.get("architectures")
    one = isinstance(names, list) and len(names) == 1 and isinstance(names[0], str)
    return str(names[0]) if one and names is not None else None


def family_of(config: Mapping[str, Any]) -> Family:
    """The family that a ``config.json`` belongs to."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        known = ", ".join(map(repr, FAMILIES))
        near = did_you_mean(kind, FAMILIES) if isinstance(kind, str) else ""
        raise SettingsError([Mistake(f"expected one of {known}, got {kind!r}{near}", "model_type")])
    family: Any = importlib.import_module(FAMILIES[kind])
    found: Family = family
    return found


def config_of(spec: DecoderSpec) -> dict[str, Any]:
    """The ``config.json`` that says a spec, in the format of its family.

    Where only its attention is not the family's, it is a variant of the family.
    """
    name = type(spec).__name__
    if name not in WRITERS:
        raise LimiteError(f"no format of checkpoints holds models of {name}")
    write: Callable[[DecoderSpec], dict[str, Any]]
    write = importlib.import_module(WRITERS[name]).config_from_spec
    try:
        return write(spec)
    except LimiteError as error:
        variant: Any = importlib.import_module(FAMILIES["limite-variant"])
        try:
            base = write(variant.base_of(spec))
        except LimiteError:
            raise error from None
        config: dict[str, Any] = variant.config_around(base, spec.attention)
        return config


@attrs.frozen(kw_only=True)
class Inventory:
    """The tensors of a decoder's checkpoint: one for each parameter, and what may be beside them.

    The fields are those that ``limite.core.pretrained.load`` takes.
    """

    names: Mapping[str, str]
    tied: Mapping[str, str]
    derived: frozenset[str]

    @classmethod
    def of(cls, decoder: Decoder) -> Inventory:
        names = {name: file_name(name) for name, _ in decoder.named_parameters()}
        tied = {HEAD: file_name("embed_tokens.weight")} if decoder.spec.tied_head else {}
        derived: frozenset[str] = frozenset()
        kind = type(decoder.spec).__name__
        if kind in DERIVED:
            derived = importlib.import_module(DERIVED[kind]).derived_names(decoder.spec)
        if not tied and HEAD not in names:  # a trunk: the head may be there, and is not read
            derived |= {HEAD}
        return cls(names=names, tied=tied, derived=derived)


def load_checkpoint(
    decoder: Decoder, tensors: TensorDirectory, *, dtypes: Dtypes = "round"
) -> None:
    """Gives ``decoder`` the tensors of a checkpoint, as ``load_parameters`` does."""
    from limite.core.pretrained.load import load_parameters

    found = Inventory.of(decoder)
    load_parameters(
        decoder, tensors, found.names, tied=found.tied, derived=found.derived, dtypes=dtypes
    )


@attrs.frozen(kw_only=True, eq=False)
class ModelDirectory:
    """A directory in the layout of Hugging Face whose configuration was read and understood."""

    path: Path
    config: Mapping[str, Any]
    spec: DecoderSpec

    @classmethod
    def open(cls, path: str | Path) -> ModelDirectory:
        """Reads ``config.json``; weights and tokenizer wait until they are asked for."""
        path = Path(path)
        config = read_config(path)
        architecture = architecture_of(config)
        if architecture is not None and architecture.endswith(CRITIC):
            raise LimiteError(
                f"{path}: expected a language model, got {architecture}, a critic: it has values "
                "and no words, and limite.core.pretrained.critic.load_critic opens it"
            )
        return cls.of(path, config)

    @classmethod
    def of(cls, path: Path, config: Mapping[str, Any]) -> ModelDirectory:
        """The directory with a configuration that was read."""
        own = {name: value for name, value in config.items() if name != SYNTHETIC}
        try:
            if not isinstance(config.get(SYNTHETIC, False), bool):
                said = f"expected true or false, got {config[SYNTHETIC]!r}"
                raise SettingsError([Mistake(said, SYNTHETIC)])
            spec = family_of(config).spec_from_config(own)
        except LimiteError as error:
            place = str(path / CONFIG_FILE)
            raise SettingsError(
                attrs.evolve(each, file=place) for each in mistakes_of(error)
            ) from None
        return cls(path=path, config=config, spec=spec)

    def load(
        self,
        dtype: str | None = None,
        device: torch.device | str = "cpu",
        *,
        values: bool = True,
        head: bool = True,
    ) -> Decoder:
        """A decoder with the directory's weights, each read straight to where it stays.

        ``dtype`` is that of matrices and activations; None: what the configuration says. Without
        ``values`` no weight is read; without ``head`` none of an output head of its own.
        """
        from limite.core.pretrained.load import load_module

        make = self._makes(dtype or self.dtype, head)
        if not values:
            return make(device).eval()
        return load_module(self.path, make, Inventory.of, device)

    def values(self, decoder: Decoder) -> Iterator[tuple[str, Tensor]]:
        """The directory's weights as ``load`` gives them to a decoder like this one, each read as
        it is asked for."""
        from limite.core.pretrained.load import parameter_values

        return parameter_values(self.path, decoder, Inventory.of)

    def check(self, dtype: str | None = None) -> list[Mistake]:
        """Everything for which ``load`` would refuse the weights, as far as headers tell.

        Opens every file of weights and reads its header alone, whatever the size of the model;
        only where a tied head is stored a second time are those two tensors read and compared.
        """
        from limite.core.pretrained.load import refusals

        kind, wrong = self.dtype_to_check(dtype)
        return wrong + refusals(self.path, self._makes(kind, head=True), Inventory.of)

    def _makes(self, dtype: str, head: bool) -> Callable[[torch.device | str], Decoder]:
        import torch

        from limite.core.model.init import unset_decoder

        kind = getattr(torch, dtype)
        return lambda device: unset_decoder(self.spec, dtype=kind, device=device, head=head)

    def dtype_to_check(self, dtype: str | None) -> tuple[str, list[Mistake]]:
        """The dtype asked for or said; where what is said is refused, why, and another instead."""
        try:
            return dtype or self.dtype, []
        except LimiteError as error:
            return "float32", mistakes_of(error)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of the configuration and of every file of weights."""
        files = [self.path / CONFIG_FILE, *sorted(self.path.glob("*.safetensors"))]
        found = {}
        for file in files:
            with file.open("rb") as content:
                found[file.name] = hashlib.file_digest(content, "sha256").hexdigest()
        return found

    @property
    def synthetic(self) -> bool:
        """Whether its weights were made at random, and are nothing to go on from."""
        return bool(self.config.get(SYNTHETIC, False))

    @property
    def dtype(self) -> str:
        """Of the matrices, as the configuration says."""
        said = self.config.get("dtype", self.config.get("torch_dtype", "float32"))
        if said not in DTYPES:
            place = str(self.path / CONFIG_FILE)
            message = f"expected one of {', '.join(map(repr, DTYPES))}, got {said!r}"
            raise SettingsError([Mistake(message, "torch_dtype", place)])
        return str(said)
