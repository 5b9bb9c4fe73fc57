"""A checkpoint's tensors as a decoder's parameters, one for one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import torch
from torch import Tensor, nn

from limite.core.checkpoint.tensor_header import refuse_all, shown
from limite.core.errors import LimiteError, Mistake, did_you_mean, mistakes_of
from limite.core.pretrained.tensor_directory import INDEX, TensorDirectory
from limite.core.pretrained.tensor_read import converts

if TYPE_CHECKING:
    from limite.core.pretrained.directory import Inventory

Dtypes = Literal["keep", "round"]
Module = TypeVar("Module", bound=nn.Module)

_HINTS = 20


def load_module(
    path: Path,
    make: Callable[[torch.device | str], Module],
    inventory: Callable[[Module], Inventory],
    device: torch.device | str,
) -> Module:
    """What ``make`` gives for ``device``, with the weights in a directory.

    Its sizes come from a file: no memory is taken for them before the tensors turn out to be so.
    """
    tensors = TensorDirectory.open(path)
    shapes = make("meta")
    found = inventory(shapes)
    sources = matching(shapes, tensors, found.names, tied=found.tied, derived=found.derived)
    module = make(device)
    read_parameters(module, tensors, sources)
    return module.eval()


def parameter_values(
    path: Path, decoder: Module, inventory: Callable[[Module], Inventory]
) -> Iterator[tuple[str, Tensor]]:
    """The weights in a directory for each parameter of ``decoder``, one at a time."""
    tensors = TensorDirectory.open(path)
    found = inventory(decoder)
    sources = matching(decoder, tensors, found.names, tied=found.tied, derived=found.derived)

    def each() -> Iterator[tuple[str, Tensor]]:
        for name, parameter in decoder.named_parameters():
            values = torch.empty_like(parameter.detach(), device="cpu")
            tensors.read_into(sources[name], values)
            yield name, values

    return each()


def refusals(
    path: Path,
    make: Callable[[torch.device | str], Module],
    inventory: Callable[[Module], Inventory],
) -> list[Mistake]:
    """Everything for which ``load_module`` would refuse the weights, as far as headers tell."""
    try:
        tensors = TensorDirectory.open(path)
    except LimiteError as error:
        return mistakes_of(error)
    shapes = make("meta")
    found = inventory(shapes)
    return mismatches(shapes, tensors, found.names, tied=found.tied, derived=found.derived)


def load_parameters(
    decoder: nn.Module,
    tensors: TensorDirectory,
    names: Mapping[str, str],
    *,
    tied: Mapping[str, str] | None = None,
    derived: Collection[str] = (),
    dtypes: Dtypes = "round",
) -> None:
    """Reads the tensors of a checkpoint straight into the parameters of ``decoder``.

    ``names`` is parameter to tensor, for every parameter. Nothing is read before names, shapes
    and dtypes match one for one; all that does not is told at once. ``tied`` is tensor to tensor:
    the first may be in the checkpoint beside the second, bit for bit the same, or in its place.
    ``derived`` are tensors that may be there and are not read.

    With ``round`` floats are rounded to each parameter's dtype; with ``keep`` a parameter takes
    the dtype its tensor has. On the meta device shapes and dtypes are settled and nothing is read.
    """
    sources = matching(decoder, tensors, names, tied=tied, derived=derived)
    read_parameters(decoder, tensors, sources, dtypes=dtypes)


def read_parameters(
    decoder: nn.Module,
    tensors: TensorDirectory,
    sources: Mapping[str, str],
    *,
    dtypes: Dtypes = "round",
) -> None:
    """``load_parameters`` from the tensors that ``matching`` found for them."""
    for name, parameter in decoder.named_parameters():
        source = sources[name]
        dtype = tensors.entry(source).dtype
        if dtypes == "keep" and parameter.dtype != dtype:
            parameter.data = torch.empty_like(parameter, dtype=dtype)
        tensors.read_into(source, parameter)


def matching(
    decoder: nn.Module,
    tensors: TensorDirectory,
    names: Mapping[str, str],
    *,
    tied: Mapping[str, str] | None = None,
    derived: Collection[str] = (),
) -> dict[str, str]:
    """The tensor that holds each parameter's values, once all of them match one for one."""
    refuse_all(mismatches(decoder, tensors, names, tied=tied, derived=derived))
    sources = _sources(tensors, names, tied or {})
    return {name: sources[tensor] for name, tensor in names.items()}


def mismatches(
    decoder: nn.Module,
    tensors: TensorDirectory,
    names: Mapping[str, str],
    *,
    tied: Mapping[str, str] | None = None,
    derived: Collection[str] = (),
) -> list[Mistake]:
    """Why ``load_parameters`` would refuse the tensors, from what their files' headers say.

    Only of a copy of a tied tensor the values count: those two tensors are compared bit by bit, a
    little at a time. That a value is too large for a narrower dtype shows when it is read.
    """
    parameters = dict(decoder.named_parameters())
    assert parameters.keys() == names.keys(), "names must cover the parameters"
    assert len(set(names.values())) == len(names), "two parameters cannot share one tensor"
    tied = tied or {}
    sources = _sources(tensors, names, tied)
    spare = tensors.home.keys() - sources.keys() - tied.keys() - {*derived}
    return _mismatches(parameters, tensors, names, sources, spare) + _untied(tensors, tied)


def _sources(
    tensors: TensorDirectory, names: Mapping[str, str], tied: Mapping[str, str]
) -> dict[str, str]:
    """Where each tensor asked for is: under its own name, or under that of one tied to it."""
    sources = {name: name for name in names.values()}
    for copy, original in tied.items():
        if original not in tensors.home and copy in tensors.home:
            sources[original] = copy
    return sources


def _mismatches(
    parameters: Mapping[str, nn.Parameter],
    tensors: TensorDirectory,
    names: Mapping[str, str],
    sources: Mapping[str, str],
    spare: Collection[str],
) -> list[Mistake]:
    missing = {name for name, source in sources.items() if source not in tensors.home}
    wrong: list[Mistake] = []
    if missing:
        for file in tensors.passed_over:
            why = f"names no tensor of {file}, which lies beside it"
            wrong.append(Mistake(why, file=str(tensors.path / INDEX)))
    for name in sorted(spare):
        near = did_you_mean(name, missing) if len(wrong) < _HINTS else ""
        why = f"this model has no such tensor{near}"
        wrong.append(Mistake(why, path=shown(name), file=str(tensors.home[name].path)))
    for name in sorted(missing):
        near = did_you_mean(name, spare) if len(wrong) < _HINTS else ""
        wrong.append(Mistake(f"missing{near}", path=shown(name), file=str(tensors.path)))
    for name, parameter in parameters.items():
        source = sources[names[name]]
        if source in missing:
            continue
        entry, file = tensors.entry(source), str(tensors.home[source].path)
        shape = tuple(parameter.shape)
        if entry.shape != shape:
            why = f"expected shape {list(shape)}, got {list(entry.shape)}"
            wrong.append(Mistake(why, path=shown(source), file=file))
        if not converts(entry.dtype, parameter.dtype):
            why = f"expected {parameter.dtype}, got {entry.dtype}"
            wrong.append(Mistake(why, path=shown(source), file=file))
    return wrong


def _untied(tensors: TensorDirectory, tied: Mapping[str, str]) -> list[Mistake]:
    """Copies that are not what they are a copy of."""
    return [
        Mistake(
            f"differs from {original}, which it is tied to",
            path=shown(copy),
            file=str(tensors.home[copy].path),
        )
        for copy, original in tied.items()
        if copy in tensors.home and original in tensors.home and not tensors.equal(copy, original)
    ]
