"""Other attention in some layers of a model that exists, which computes what it did before."""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import nn

from limite.core.checkpoint.tensor_header import refuse_all
from limite.core.errors import LimiteError, Mistake
from limite.core.kernels.layout import Layout
from limite.core.kinds import Attention, Graftable
from limite.core.model.attention import AttentionMixer, mixer_of
from limite.core.model.decoder import Decoder
from limite.core.model.init import unset_decoder
from limite.core.model.resolve import attention_component
from limite.core.model.spec import AttentionShape
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.families.variant import with_attention
from limite.core.pretrained.new_directory import refuse_existing
from limite.core.pretrained.save import save_pretrained
from limite.core.pretrained.token_files import refuse_unfit_tokenizer
from limite.core.seeds import Seeds

COMPARED_TOKENS = 32


@attrs.frozen(kw_only=True, eq=False)
class Graft:
    """A grafted model, and what is new in it.

    ``new`` are the parameters that its parent has not, by name, with their shapes; ``dropped`` are
    those of the parent that it has no more. All others are the parent's own: the same memory.
    ``difference`` is the largest between a logit of the two, over a row of a few tokens.
    """

    decoder: Decoder
    layers: tuple[int, ...]
    new: Mapping[str, tuple[int, ...]]
    dropped: tuple[str, ...]
    difference: float

    @property
    def new_parameters(self) -> int:
        return sum(map(math.prod, self.new.values()))

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.decoder.parameters())


def graft_directory(
    source: str | Path,
    target: str | Path,
    attention: Attention,
    layers: Sequence[int],
    *,
    keep: Sequence[str] = (),
    seed: int = 0,
    dtype: str | None = None,
) -> Graft:
    """Writes the model of ``source`` with ``attention`` in ``layers`` into the new ``target``.

    Its tokenizer and generation settings go with it. What cannot be is told before a weight is
    read: so are settings in ``keep`` that the model does not leave to ``attention``. ``dtype`` is
    that of the matrices, None: as in ``source``.
    """
    refuse_existing(Path(target))
    directory = ModelDirectory.open(source)
    shapes = unset_decoder(directory.spec, device="meta")
    grown: Any = grafted_attention(shapes, attention, layers)
    refuse_all(
        [
            Mistake(f"the model decides: it becomes {now!r}; leave it out", name)
            for name in dict.fromkeys(keep)
            if (now := getattr(grown, name)) != getattr(attention, name)
        ]
    )
    refuse_unfit_tokenizer(directory.path, directory.spec.padded_vocabulary)
    parent = directory.load(dtype)
    done = graft(parent, attention, layers, seed=seed)
    save_pretrained(done.decoder, target, source=directory)
    return done


def graft(
    parent: Decoder, attention: Attention, layers: Sequence[int], *, seed: int | Seeds = 0
) -> Graft:
    """``parent`` with ``attention`` in ``layers`` and, as long as it is not trained, its logits.

    Parameters are shared with the parent, which must not be trained beside it. New ones draw from
    ``seed`` where they start from anything random.
    """
    seeds = seed if isinstance(seed, Seeds) else Seeds(seed)
    component = grafted_attention(parent, attention, layers)
    spec = with_attention(parent.spec, component)
    decoder = unset_decoder(spec, dtype=parent.dtype, device="meta")
    with torch.device(parent.device):
        for layer, block in enumerate(decoder.layers):
            made = mixer_of(component, AttentionShape.of(spec, layer), parent.dtype)
            block.self_attn.mixer = made  # type: ignore[union-attr]
    for layer, (mine, theirs) in enumerate(zip(decoder.mixers(), parent.mixers(), strict=True)):
        if layer not in layers and (type(mine), mine.words) != (type(theirs), theirs.words):
            raise LimiteError(
                f"the graft would change more than its layers: layer {layer} was {theirs.words!r} "
                f"and becomes {mine.words!r}"
            )
    places = [f"layers.{layer}.self_attn.mixer" for layer in sorted(layers)]
    new, dropped = _take_over(decoder, parent, places)
    for place in places:
        mixer = decoder.get_submodule(place)
        assert isinstance(mixer, AttentionMixer)
        mixer.initialise(seeds.child("init", place))
        mixer.start_as_parent()
    decoder.train(parent.training)
    return Graft(
        decoder=decoder,
        layers=tuple(sorted(layers)),
        new=new,
        dropped=dropped,
        difference=_difference(parent, decoder, seeds),
    )


def grafted_attention(parent: Decoder, attention: Attention, layers: Sequence[int]) -> Attention:
    """The attention of the whole model once ``attention`` is in ``layers``. Reads no weight."""
    _check(layers, parent.spec.layers)
    if not isinstance(attention, Graftable):
        raise LimiteError(
            f"{type(attention).__name__} cannot be grafted: it has no way to start out as another "
            f"attention{_others()}"
        )
    mixers = dict(enumerate(parent.mixers()))
    chosen = {layer: mixers[layer] for layer in sorted(layers)}
    return attention.graft(attention_component(parent.spec.attention), chosen, parent.spec.context)


def _check(layers: Sequence[int], count: int) -> None:
    wrong = [
        f"there is no layer {layer}; the model has layers 0 to {count - 1}"
        for layer in sorted(set(layers))
        if not 0 <= layer < count
    ]
    wrong += [
        f"layer {each} is named twice" for each in sorted(set(layers)) if layers.count(each) > 1
    ]
    if not layers:
        wrong.append("no layer is named")
    refuse_all([Mistake(message, "layers") for message in wrong])


def _others() -> str:
    """Which registered attention can be grafted."""
    # The registry stands above: it is reached by name, and only to tell of this mistake.
    registry = importlib.import_module("limite.core.discover").load_registry()
    found = []
    for name in sorted(registry.names("attention")):
        with contextlib.suppress(LimiteError):  # a broken plugin's
            if hasattr(registry.get("attention", name).load(), "graft"):
                found.append(repr(name))
    return f"; {', '.join(found)} can" if found else ""


def _take_over(
    decoder: Decoder, parent: Decoder, places: Sequence[str]
) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """Gives ``decoder`` all of its parent but the mixers at ``places``: what is new, and gone."""
    within = tuple(place + "." for place in places)
    parameters, tables = dict(parent.named_parameters()), dict(parent.named_buffers())
    new: dict[str, tuple[int, ...]] = {}
    for path, module in decoder.named_modules():
        for own, value in [*module.named_parameters(recurse=False)]:
            name = f"{path}.{own}" if path else own
            if name.startswith(within):
                new[name] = tuple(value.shape)
                continue
            theirs = parameters.get(name)
            if theirs is None or theirs.shape != value.shape:
                raise LimiteError(f"the graft would change more than its layers: {name} is another")
            setattr(module, own, theirs)
        _take_tables(module, path, tables)
    gone = [name for name in parameters if name.startswith(within)]
    return new, tuple(gone)


def _take_tables(module: nn.Module, path: str, tables: Mapping[str, torch.Tensor]) -> None:
    """The tables which the model works out when it is built: those of the parent."""
    for own, value in [*module.named_buffers(recurse=False)]:
        if value.is_meta:
            setattr(module, own, tables[f"{path}.{own}" if path else own])


@torch.no_grad()
def _difference(parent: Decoder, decoder: Decoder, seeds: Seeds) -> float:
    length = min(COMPARED_TOKENS, parent.spec.context)
    generator = seeds.torch_stream("graft", "tokens")
    tokens = torch.randint(parent.vocabulary, (length,), generator=generator).to(parent.device)
    before, after = (
        each.logits(each(tokens, Layout.from_lengths([length], parent.device)))
        for each in (parent, decoder)
    )
    difference = (before - after).abs().max().item()
    if not math.isfinite(difference):
        raise LimiteError("the model's logits are not finite, so nothing can be said of the graft")
    return difference
