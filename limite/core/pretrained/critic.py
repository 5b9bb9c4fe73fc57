"""A critic as a directory beside its actor's: a token classifier with one label.

The trunk's tensors are called as in the actor's directory, the head's ``score.weight [1, width]``
and ``score.bias [1]``. transformers' ``AutoModelForTokenClassification`` reads it, for the families
it knows, and its scores are the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import torch

from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.model.critic import Critic, start_head
from limite.core.model.init import unset_decoder
from limite.core.pretrained.directory import (
    CONFIG_FILE,
    CRITIC,
    Inventory,
    ModelDirectory,
    architecture_of,
    config_of,
    file_name,
    read_config,
)
from limite.core.pretrained.directory import HEAD as LM_HEAD
from limite.core.pretrained.load import load_module, refusals
from limite.core.pretrained.save import dtype_name, write_model
from limite.core.pretrained.tensor_directory import SHARD_BYTES
from limite.core.seeds import Seeds

ACTOR = "ForCausalLM"
"""What the name of a language model's architecture ends in."""

TRUNK, HEAD, SCORE = "trunk.", "value_head.", "score."

LABELS: Mapping[str, Any] = {
    "num_labels": 1,
    "id2label": {"0": "value"},
    "label2id": {"value": 0},
    "classifier_dropout": 0.0,
    "token_classification_bias": True,
}
"""What the configuration of a critic says beyond its actor's."""


def save_critic(
    critic: Critic,
    target: str | Path,
    *,
    dtype: str | None = None,
    source: ModelDirectory | None = None,
    shard_bytes: int = SHARD_BYTES,
) -> None:
    """Writes a critic into the new directory ``target``, as ``save_pretrained`` does a decoder.

    ``source`` is a directory of its trunk: the actor's, or ``CriticDirectory.model``. The head
    stays in float32. A critic of more outputs than one has no such directory.
    """
    refuse_more_outputs(critic.outputs)
    kind = dtype_name(critic.dtype) if dtype is None else dtype
    shapes = unset_decoder(critic.spec, dtype=getattr(torch, kind), device="meta", head=False)
    write_model(
        target,
        critic,
        Critic(shapes),
        critic_config(config_of(critic.spec)) | {"torch_dtype": kind},
        critic_file_name,
        source=source,
        shard_bytes=shard_bytes,
    )


def refuse_more_outputs(outputs: int) -> None:
    """Refuses to write a critic that says several numbers of a token."""
    if outputs != 1:
        raise LimiteError(
            f"a critic's directory holds one value a token, and this one says {outputs} "
            "numbers; fit one with kind 'mse' or 'bce'"
        )


def load_critic(
    path: str | Path, dtype: str | None = None, device: torch.device | str = "cpu"
) -> Critic:
    """The critic in a directory. A language model's directory is refused: see ``start_critic``."""
    return CriticDirectory.open(path).load(dtype, device)


def start_critic(
    path: str | Path,
    dtype: str | None = None,
    device: torch.device | str = "cpu",
    *,
    bias: float = 0.0,
    seed: int | Seeds | None = None,
) -> Critic:
    """A critic with a new head on the trunk of the language model in a directory.

    An output head of the model's own is not read. ``bias`` and ``seed`` are those of
    ``limite.core.model.critic.start_head``.
    """
    trunk = ModelDirectory.open(path).load(dtype, device, head=False)
    return start_head(Critic(trunk), bias=bias, seed=seed).eval()


@attrs.frozen(kw_only=True, eq=False)
class CriticDirectory:
    """A critic's directory whose configuration was read and understood."""

    model: ModelDirectory
    """Its trunk's: the configuration is the one the actor would have."""

    @classmethod
    def open(cls, path: str | Path) -> CriticDirectory:
        """Reads ``config.json``; weights wait until they are asked for."""
        path = Path(path)
        config = read_config(path)
        wrong = _label_mistakes(config, path)
        model = None
        try:
            model = ModelDirectory.of(path, actor_config(config, path))
        except SettingsError as error:
            # Told of the architecture that the file names, not of the one it was read as.
            wrong.extend(
                attrs.evolve(each, message=each.message.replace(ACTOR, CRITIC))
                for each in error.mistakes
            )
        if wrong or model is None:
            raise SettingsError(wrong)
        return cls(model=model)

    def load(self, dtype: str | None = None, device: torch.device | str = "cpu") -> Critic:
        """The critic, each tensor read straight to where it stays.

        ``dtype`` is that of the trunk's matrices and activations; None: what the configuration
        says.
        """
        kind = dtype or self.model.dtype
        return load_module(self.model.path, self._makes(kind), critic_inventory, device)

    def check(self, dtype: str | None = None) -> list[Mistake]:
        """Everything for which ``load`` would refuse the weights, as ``ModelDirectory.check``."""
        kind, wrong = self.model.dtype_to_check(dtype)
        return wrong + refusals(self.model.path, self._makes(kind), critic_inventory)

    def _makes(self, dtype: str) -> Callable[[torch.device | str], Critic]:
        kind, spec = getattr(torch, dtype), self.model.spec
        return lambda device: Critic(unset_decoder(spec, dtype=kind, device=device, head=False))


def critic_inventory(critic: Critic) -> Inventory:
    """The tensors of a critic's checkpoint: an output head of its actor's is none of them."""
    names = {name: critic_file_name(name) for name, _ in critic.named_parameters()}
    return Inventory(names=names, tied={}, derived=Inventory.of(critic.trunk).derived - {LM_HEAD})


def critic_file_name(parameter: str) -> str:
    """What files call a parameter of a critic."""
    if parameter.startswith(HEAD):
        return SCORE + parameter.removeprefix(HEAD)
    return file_name(parameter.removeprefix(TRUNK))


def critic_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a critic on the trunk of the model that ``config`` is of."""
    name = architecture_of(config)
    assert name is not None, "a configuration that limite writes names its architecture"
    return {**config, "architectures": [name.removesuffix(ACTOR) + CRITIC], **LABELS}


def actor_config(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The configuration of a critic's trunk as a language model's."""
    name = architecture_of(config)
    if name is None or not name.endswith(CRITIC):
        given = config.get("architectures") if name is None else name
        hint = ""
        if name is not None and name.endswith(ACTOR):
            hint = ", a language model: start_critic puts a new head on its trunk"
        raise LimiteError(
            f"{path}: expected a critic, whose architecture ends in {CRITIC}, got {given!r}{hint}"
        )
    kept = {field: value for field, value in config.items() if field not in LABELS}
    return kept | {"architectures": [name.removesuffix(CRITIC) + ACTOR]}


def _label_mistakes(config: Mapping[str, Any], path: Path) -> list[Mistake]:
    """What makes a token classifier no critic."""
    wrong = []
    place = str(path / CONFIG_FILE)
    names, said = config.get("id2label"), config.get("num_labels")
    if said is None and names is None:
        wrong.append(Mistake("missing; a critic has 1 label", "num_labels", place))
    if said is not None and (said != 1 or isinstance(said, bool)):
        wrong.append(Mistake(f"a critic has 1 label, got {said!r}", "num_labels", place))
    if names is not None and not (isinstance(names, dict) and len(names) == 1):
        wrong.append(Mistake(f"a critic has 1 label, got {names!r}", "id2label", place))
    dropout = config.get("classifier_dropout")  # None: as good as unsaid
    if dropout is not None and (dropout != 0 or isinstance(dropout, bool)):
        wrong.append(
            Mistake(f"only 0.0 is implemented, got {dropout!r}", "classifier_dropout", place)
        )
    if config.get("token_classification_bias", True) is not True:
        bias = config["token_classification_bias"]
        wrong.append(
            Mistake(f"only true is implemented, got {bias!r}", "token_classification_bias", place)
        )
    return wrong
