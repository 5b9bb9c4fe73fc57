"""Weights shared out over ranks with FSDP2: each holds some rows of every matrix.

A layer's matrices are gathered when it computes, forward and backward, and let go of afterwards;
their gradients are summed where they are kept. Scalars, vectors, and what has another dtype than
the matrices stay whole on every rank: the first cannot be shared out, all of them are small, and
some are read outside of their layer.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

import attrs
import torch
import torch.distributed
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor

from limite.core.checkpoint.state import (
    Shaped,
    module_payload,
    refuse_misfits,
    restore_optimizer,
)
from limite.core.checkpoint.tensors import DeferredTensor, Storable
from limite.core.model.decoder import Decoder
from limite.core.model.init import with_memory
from limite.core.recipe.ranks.comms import Gathering, Scattering
from limite.core.recipe.ranks.pieces import Pieces
from limite.core.recipe.ranks.ranks import Ranks
from limite.core.recipe.ranks.weights import Named
from limite.core.recipe.ranks.whole_matrices import OnWholeMatrices
from limite.core.train.norms import joint_norm


@attrs.frozen(kw_only=True, eq=False)
class Part:
    """One matrix: as FSDP knows it, and this rank's rows of it as a plain parameter."""

    name: str
    shared: nn.Parameter
    own: nn.Parameter
    pieces: Pieces


class Sharded:
    """The weights of a decoder over all ranks. ``module`` computes as it did before.

    Every rank makes the same number of passes through it, forward and backward. ``another`` makes
    a decoder of the same form. The decoder may be one of shapes: then a rank takes memory for its
    part alone, which ``fill`` gives its values.
    """

    def __init__(self, decoder: Decoder, ranks: Ranks, another: Callable[[], Decoder]) -> None:
        self.module: nn.Module = decoder
        self._ranks = ranks
        self._another = another
        self._copy: Decoder | None = None
        shapes = {name: each.shape for name, each in decoder.named_parameters()}
        apart = {each for each in decoder.parameters() if not is_shared(decoder, each)}
        mesh = init_device_mesh(torch.device(ranks.device).type, (ranks.world_size,))
        for block in decoder.layers:
            fully_shard(block, mesh=mesh, ignored_params=apart, reshard_after_forward=True)
        # What the output head reads is read after the decoder's own pass.
        fully_shard(decoder, mesh=mesh, ignored_params=apart, reshard_after_forward=False)
        for each in decoder.modules():
            if isinstance(each, FSDPModule):
                each.set_gradient_divide_factor(1.0)
                each.set_force_sum_reduction_for_comms(True)
                each.set_custom_all_gather(Gathering(ranks))
                each.set_custom_reduce_scatter(Scattering(ranks))
        with_memory(decoder, ranks.device)
        self._parts: dict[str, Part] = {}
        self._named: Named = []
        for name, parameter in decoder.named_parameters():
            if isinstance(parameter, DTensor):
                part = self._part(name, parameter, shapes[name])
                self._parts[name] = part
                self._named.append((name, part.own))
            else:
                self._named.append((name, parameter))
        self._by_own = {part.own: part for part in self._parts.values()}

    def _part(self, name: str, shared: nn.Parameter, shape: torch.Size) -> Part:
        with torch.no_grad():
            rows = cast(DTensor, shared).to_local()
        own = nn.Parameter(rows, requires_grad=shared.requires_grad)
        cast(Any, own).whole_shape = shape
        pieces = Pieces(shape=shape, rank=self._ranks.rank, ranks=self._ranks.world_size)
        assert pieces.own_shape == own.shape, f"{name}: {pieces.own_shape} and {own.shape}"
        return Part(name=name, shared=shared, own=own, pieces=pieces)

    @torch.no_grad()
    def fill(self, values: Iterable[tuple[str, Tensor]]) -> None:
        """Gives the weights their values, each whole and by its name, one at a time."""
        own = dict(self._named) | {
            name: value
            for name, value in module_payload(self.module).items()
            if name not in self._parts
        }
        wanted: dict[str, Shaped] = {
            name: _Kind(
                shape=tuple(self._parts[name].pieces.shape if name in self._parts else each.shape),
                dtype=each.dtype,
            )
            for name, each in own.items()
        }
        given: dict[str, Shaped] = {}
        for name, value in values:
            given[name] = _Kind(shape=tuple(value.shape), dtype=value.dtype)
            fits = name in own and given[name] == wanted[name]
            if fits and name in self._parts:
                rows = self._parts[name].pieces.rows_of(self._ranks.rank)
                own[name].copy_(value[rows.start : rows.stop])
            elif fits:
                own[name].copy_(value)
        refuse_misfits(wanted, given)

    def named(self) -> Named:
        return list(self._named)

    def prepare(self, optimizer: torch.optim.Optimizer) -> None:
        if hasattr(optimizer, "of_whole"):
            pieces = {own: part.pieces for own, part in self._by_own.items()}
            cast(Any, optimizer).of_whole = OnWholeMatrices(pieces, self._ranks)

    def sum_gradients(self, what: str) -> None:
        self._let_go()
        apart = [each for _, each in self._named if each not in self._by_own]
        self._ranks.sum_gradients(apart, what)
        for part in self._parts.values():
            gradient = cast("DTensor | None", part.shared.grad)
            with torch.no_grad():
                part.own.grad = None if gradient is None else gradient.to_local()
            part.shared.grad = None

    def _let_go(self) -> None:
        """Lets go of everything gathered, which an update would leave behind."""
        for each in self.module.modules():
            if isinstance(each, FSDPModule):
                each.reshard()

    def norm(self, parameters: Sequence[nn.Parameter], tensors: Sequence[Tensor]) -> float:
        pairs = list(zip(parameters, tensors, strict=True))
        shared = [tensor for parameter, tensor in pairs if parameter in self._by_own]
        others = [tensor for parameter, tensor in pairs if parameter not in self._by_own]
        told = self._ranks.host.gather(joint_norm(shared), "the norm over all ranks")
        everything = [*map(float, told), joint_norm(others)]
        # hypot takes infinity for the answer even beside what is no number.
        return math.nan if any(map(math.isnan, everything)) else math.hypot(*everything)

    def left_out(self, passes: int, what: str) -> int:
        return int(max(self._ranks.host.gather(passes, what))) - passes

    @contextlib.contextmanager
    def whole(self, what: str) -> Iterator[nn.Module]:
        self._ranks.host.arrive(what)
        if self._copy is None:
            self._copy = self._another().eval().requires_grad_(False)
        copy = self._copy
        places: dict[str, Tensor] = dict(copy.named_buffers())
        places |= dict(copy.named_parameters(remove_duplicate=False))
        values = module_payload(self.module)
        _let_go_of(places, values)
        try:
            for name, value in values.items():
                part = self._parts.get(name)
                if part is None:
                    places[name].data = value.clone()
                    continue
                own = part.own.detach()
                places[name].data = own.new_empty(part.pieces.shape)
                with self._ranks.collective(what):
                    part.pieces.gather_into(places[name].data, own, self._ranks)
            yield copy
        finally:
            _let_go_of(places, values)

    def payload(self) -> Mapping[str, Storable]:
        return {
            name: self._deferred(self._parts[name].pieces, self._parts[name].own)
            if name in self._parts
            else value
            for name, value in module_payload(self.module).items()
        }

    def _deferred(self, pieces: Pieces, own: Tensor) -> DeferredTensor:
        make = partial(pieces.on_first, own.detach(), self._ranks)
        return DeferredTensor(dtype=own.dtype, shape=tuple(pieces.shape), make=make)

    def whole_state(
        self, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
    ) -> Mapping[str, Storable]:
        found: dict[str, Storable] = {}
        for path, tensor in tensors.items():
            part = self._part_of(optimizer, path)
            like = part is not None and tensor.shape == part.own.shape
            found[path] = self._deferred(part.pieces, tensor) if part and like else tensor
        return found

    def restore_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        tensors: Iterable[tuple[str, Tensor]],
        plain: Mapping[str, Any],
    ) -> None:
        cut = {}
        for path, tensor in tensors:
            part = self._part_of(optimizer, path)
            like = part is not None and tensor.shape == part.pieces.shape
            cut[path] = part.pieces.cut(tensor) if part and like else tensor
        restore_optimizer(optimizer, cut, plain, taken=True)

    def _part_of(self, optimizer: torch.optim.Optimizer, path: str) -> Part | None:
        """Of which shared matrix the tensor at ``state/NUMBER/NAME`` is; None where of none."""
        kind, _, rest = path.partition("/")
        if kind != "state":
            return None
        ordered = [each for group in optimizer.param_groups for each in group["params"]]
        return self._by_own.get(ordered[int(rest.partition("/")[0])])

    def replicated(self) -> Sequence[nn.Parameter]:
        return [each for _, each in self._named if each not in self._by_own]


@attrs.frozen(kw_only=True)
class _Kind:
    """What is known of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def _let_go_of(places: Mapping[str, Tensor], names: Iterable[str]) -> None:
    """Memory is taken only while it is wanted."""
    for name in names:
        place = places[name]
        place.data = torch.empty(0, dtype=place.dtype, device=place.device)


def is_shared(decoder: Decoder, parameter: nn.Parameter) -> bool:
    """Whether a parameter is shared out: matrices and what has more dimensions, in one dtype."""
    return parameter.ndim > 1 and parameter.dtype == decoder.dtype
