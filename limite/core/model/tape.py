"""A function of tensors, recorded as the operators it calls, to be played again without Python.

What a step of a small model takes is mostly not arithmetic: Python between operators, views taken
anew each time, memory asked for and given back. A recording keeps the operators alone, in order;
bound to tensors it is a tape, whose views are taken and whose memory is laid out once. They are the
same operators on the same values: the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import attrs
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from limite.core.kernels.native import library

LARGEST = 64 << 20
"""Bytes that a function may write: what writes more is not held up by what lies in between."""

_OUT = (
    "add", "addcmul", "addmm", "amax", "baddbmm", "bmm", "cat", "clamp", "cos", "div", "exp", "ge",
    "gt", "index_select", "le", "log", "lt", "maximum", "mm", "mul", "neg", "remainder", "rsqrt",
    "sigmoid", "sin", "sub", "sum", "tanh",
)  # fmt: skip
OUT: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(torch, name) for name in _OUT},
    "linalg_vector_norm": torch.linalg.vector_norm,
    "silu": torch._C._nn.silu,
    "gelu": torch._C._nn.gelu,
}
"""Operators that write where they are told to, as Python calls them."""

IN_PLACE = frozenset(
    {
        "add_", "addcmul_", "clamp_", "copy_", "div_", "exp_", "index_copy_", "log_",
        "masked_fill_", "mul_", "rsqrt_", "scatter_", "sigmoid_", "sub_", "tanh_",
    }
)  # fmt: skip

COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd

CONSTANT = frozenset({"arange", "full", "ones", "scalar_tensor", "zeros"})
UNWRITTEN = frozenset({"empty", "empty_like", "empty_strided", "new_empty"})


@attrs.frozen
class Compiled:
    """A kernel in C, and the rows that each part of it takes."""

    name: str
    bounds: tuple[int, ...]


Operator = Callable[..., Any] | Compiled


@attrs.frozen(eq=False)
class Tape:
    """A recording at the memory that it reads and writes."""

    inputs: Sequence[Tensor]
    calls: Sequence[Callable[[], Any]]
    result: Tensor
    kept: Sequence[Tensor]  # which calls know by their addresses alone

    def play(self, *inputs: Tensor) -> Tensor:
        """What the function gives for ``inputs``, in new memory."""
        for held, given in zip(self.inputs, inputs, strict=True):
            held.copy_(given)
        for call in self.calls:
            call()
        return self.result.clone()


@attrs.frozen(eq=False)
class View:
    """A tensor, as the number of the memory it lies in and how it lies there."""

    memory: int
    dtype: torch.dtype
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor, memory: int) -> View:
        offset = int(tensor.storage_offset())
        return cls(memory, tensor.dtype, offset, tensor.size(), tensor.stride())

    def on(self, memory: Sequence[torch.UntypedStorage]) -> Tensor:
        empty = torch.empty(0, dtype=self.dtype)
        return empty.set_(memory[self.memory], self.offset, self.size, self.stride)


@attrs.frozen(eq=False)
class Recording:
    """The operators of a function, and how the tensors lie that they work on.

    Memory is numbered: inputs first, then the tensors outside that may be others in a tape, then
    what operators write.
    """

    inputs: Sequence[View]
    outside: Sequence[int]  # numbers of the tensors given
    bytes: Sequence[int]  # of the memory that operators write
    calls: Sequence[tuple[Operator, tuple[Any, ...], Mapping[str, Any]]]
    result: View
    shapes: tuple[Any, ...]  # of all tensors given

    def tape(self, given: Sequence[Tensor]) -> Tape | None:
        """A tape that works on ``given``; None where these do not lie as those recorded did."""
        if shapes_of(given) != self.shapes:
            return None
        sizes = [_bytes(view) for view in self.inputs]
        memory = [_storage(size) for size in sizes]
        memory += [given[number].untyped_storage() for number in self.outside]
        memory += [_storage(size) for size in self.bytes]
        calls: list[Callable[[], Any]] = []
        kept: list[Tensor] = []
        for function, arguments, named in self.calls:
            bound = [_there(each, memory) for each in arguments]
            if isinstance(function, Compiled):
                calls.append(library.Call(function.name, function.bounds, bound).bind())
                kept += _tensors(bound)
            else:
                options = {name: _there(each, memory) for name, each in named.items()}
                calls.append(partial(function, *bound, **options))
        inputs = [view.on(memory) for view in self.inputs]
        return Tape(inputs, calls, self.result.on(memory), kept)


def record(
    function: Callable[..., Tensor], inputs: Sequence[Tensor], given: Sequence[Tensor]
) -> tuple[Tensor, Recording | None]:
    """What the function gives, and its recording; None where it does what none can hold.

    ``given`` are tensors that the function reads or writes, others of which may stand in their
    place in a tape. Whatever else it reads, a tape reads again where it lies; and what it decides
    in Python stays decided: who plays a tape knows where that is right.
    """
    held = [each.clone() for each in inputs]
    recorder = _Recorder()
    with recorder:
        result = function(*held)
    return result.clone(), recorder.recording(held, given, result)


def shapes_of(tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    """How tensors lie, and which of them share their memory."""
    first: dict[int, int] = {}
    return tuple(
        (first.setdefault(_address(each), number), each.dtype, each.size(), each.stride())
        for number, each in enumerate(tensors)
    )


class _CannotRecord(Exception):
    """The function does something that a recording does not hold."""


@attrs.define(eq=False)
class _Memory:
    """What one operator allocated, from the first call that writes it to the last that uses it."""

    bytes: int
    first: int
    last: int


class _Recorder(TorchDispatchMode):
    """Notes every operator that is called within."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[Operator, tuple[Any, ...], Mapping[str, Any]]] = []
        self.memory: dict[int, _Memory] = {}  # by address: nothing is freed before the end
        self.constant: set[int] = set()
        self.kept: list[Tensor] = []
        self.bytes = 0
        self.refused = False
        self.outer: list[library.Listener | None] = []

    def __enter__(self) -> Self:
        self.outer.append(library.told.listener)
        library.told.listener = self.compiled
        entered: Self = super().__enter__()  # type: ignore[no-untyped-call]
        return entered

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        library.told.listener = self.outer.pop()

    def compiled(self, call: library.Call) -> None:
        """Notes a kernel in C, of which torch knows nothing."""
        if self.refused:
            return
        self.kept += call.tensors
        if any(_address(each) in self.constant for each in call.written):
            self._refuse()
        else:
            self._add(Compiled(call.name, tuple(call.bounds)), tuple(call.arguments), {})

    def _refuse(self) -> None:
        self.refused = True
        self.calls, self.kept, self.memory = [], [], {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch would import its compiler, only to keep it from what follows."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), COMPOSITE):
            with self:  # what it is made of is noted by itself
                return func._op_dk(COMPOSITE, *args, **named)
        result = func(*args, **named)
        if not self.refused:
            try:
                self._note(func, args, named, result)
            except _CannotRecord:
                self._refuse()
        return result

    def _note(
        self, func: Any, arguments: tuple[Any, ...], named: Mapping[str, Any], result: Any
    ) -> None:
        name = func._schema.name.removeprefix("aten::")
        given = [_address(each) for each in _tensors(arguments)]
        results = result if isinstance(result, (tuple, list)) else (result,)
        if not all(isinstance(each, Tensor) for each in results):
            raise _CannotRecord
        self.kept += results
        if name in IN_PLACE:
            if _address(result) in self.constant:
                raise _CannotRecord
            self._add(getattr(Tensor, name), arguments, named)
        elif func._schema.is_mutable:
            raise _CannotRecord
        elif all(not each.numel() or _address(each) in given for each in results):
            return  # views
        elif isinstance(result, Tensor):
            self._allocated(name, arguments, named, result)
        else:
            raise _CannotRecord

    def _allocated(
        self, name: str, arguments: tuple[Any, ...], named: Mapping[str, Any], result: Tensor
    ) -> None:
        address, size = _address(result), result.untyped_storage().nbytes()
        self.bytes += size
        if self.bytes > LARGEST:
            raise _CannotRecord
        if name in CONSTANT:
            self.constant.add(address)
            return
        self.memory[address] = _Memory(size, len(self.calls), len(self.calls))
        if name in UNWRITTEN:
            return
        if name in ("clone", "_to_copy"):
            self._add(Tensor.copy_, (result, arguments[0]), {})
        elif name == "_softmax" and not arguments[2]:
            self._add(torch.softmax, arguments[:2], {"out": result})
        elif name == "embedding" and arguments[1].dim() == 1:
            self._add(torch.index_select, (arguments[0], 0, arguments[1]), {"out": result})
        elif name in OUT:
            self._add(OUT[name], arguments, {**named, "out": result})
        else:
            raise _CannotRecord

    def _add(
        self, function: Operator, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> None:
        for tensor in _tensors((*arguments, *named.values())):
            memory = self.memory.get(_address(tensor))
            if memory is not None:
                memory.last = len(self.calls)
        self.calls.append((function, arguments, named))

    def recording(
        self, inputs: Sequence[Tensor], given: Sequence[Tensor], result: Tensor
    ) -> Recording | None:
        if self.refused or _address(result) not in self.memory:
            return None
        self.memory[_address(result)].last = len(self.calls)
        numbers = {_address(each): number for number, each in enumerate(inputs)}
        outside: list[int] = []
        places: dict[int, int] = {}
        for number, each in enumerate(given):
            places.setdefault(_address(each), number)
        for _, arguments, named in self.calls:
            for tensor in _tensors((*arguments, *named.values())):
                address = _address(tensor)
                if address in places and address not in numbers:
                    numbers[address] = len(inputs) + len(outside)
                    outside.append(places[address])
        before = len(inputs) + len(outside)
        laid, sizes = _laid_out(self.memory)
        numbers |= {address: before + place for address, place in laid.items()}

        return Recording(
            [_described(each, numbers) for each in inputs],
            outside,
            sizes,
            [
                (
                    function,
                    tuple(_described(each, numbers) for each in arguments),
                    {name: _described(each, numbers) for name, each in named.items()},
                )
                for function, arguments, named in self.calls
            ],
            _described(result, numbers),
            shapes_of(given),
        )


# Functions of the module: one that calls itself from within another is part of a cycle, and weights
# and caches would stay until garbage is looked for.


def _described(value: Any, numbers: Mapping[int, int]) -> Any:
    """Tensors in numbered memory as views, also within lists."""
    if isinstance(value, Tensor):
        number = numbers.get(_address(value))
        return value if number is None else View.of(value, number)
    if isinstance(value, (tuple, list)):
        return [_described(each, numbers) for each in value]
    return value


def _there(value: Any, memory: Sequence[torch.UntypedStorage]) -> Any:
    """Views as tensors, also within lists."""
    if isinstance(value, View):
        return value.on(memory)
    return [_there(each, memory) for each in value] if isinstance(value, list) else value


def _laid_out(memory: Mapping[int, _Memory]) -> tuple[dict[int, int], list[int]]:
    """A place for each address, that of what is no longer used taken again; and their bytes."""
    laid: dict[int, int] = {}
    sizes: list[int] = []
    taken: dict[int, list[tuple[int, int]]] = {}  # by size: until which call, and which place
    for address, each in sorted(memory.items(), key=lambda item: item[1].first):
        busy = taken.setdefault(each.bytes, [])
        ended = next((index for index, (last, _) in enumerate(busy) if last < each.first), None)
        if ended is None:
            place = len(sizes)
            sizes.append(each.bytes)
        else:
            _, place = busy.pop(ended)
        busy.append((each.last, place))
        laid[address] = place
    return laid, sizes


def _bytes(view: View) -> int:
    last = view.offset + sum((n - 1) * step for n, step in zip(view.size, view.stride, strict=True))
    return (last + 1) * view.dtype.itemsize


def _storage(size: int) -> torch.UntypedStorage:
    return torch.empty(size, dtype=torch.uint8).untyped_storage()


def _tensors(values: Iterable[Any]) -> Iterable[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
