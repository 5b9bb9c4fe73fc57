"""Which implementation of an operation runs, and why.

Five come with limite. ``reference`` is plain torch, as close to the formula as it gets, in any
floating dtype on any device. ``cpu`` is plain torch made fast, the default without a GPU, except
where ``native`` can run: kernels in C for float32, compiled for the processor at hand if there is a
C compiler. ``triton`` are compiled kernels, the default on a GPU. ``interpret`` runs the same
kernels, line by line and slowly, on CPU tensors, under Triton's interpreter.

``LIMITE_KERNELS`` forces one for every operation, or for single ones, by name:
``LIMITE_KERNELS=reference``, ``LIMITE_KERNELS=cpu,attention=my-attention``. So does
``with use("reference"): ...``. What was asked for by name and cannot run is an error.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.errors import LimiteError, did_you_mean, sentence
from limite.core.kernels.backends import BUILT_IN as BUILT_IN
from limite.core.kernels.backends import NATIVE, built_in_refusal
from limite.core.kernels.backends import Case as Case
from limite.core.kernels.signatures import misfit, misfit_of_refuses
from limite.core.kernels.wishes import VARIABLE as VARIABLE
from limite.core.kernels.wishes import encoded, environment, forced, thread

if TYPE_CHECKING:
    from torch import Tensor

MODULES: Mapping[str, str] = {
    "rms_norm": "rms_norm",
    "add_rms_norm": "rms_norm",
    "qk_norm_rope": "qk_norm_rope",
    "rope": "rope",
    "swiglu": "swiglu",
    "head_mix": "head_mix",
    "attention": "attention",
    "attention_decode": "attention_decode",
    "simplicial_attention": "simplicial_attention",
    "simplicial_attention_decode": "simplicial_decode",
    "indexed_logprob": "indexed_logprob",
    "linear_scan": "linear_scan",
}
"""Every operation, and the file (of ``reference``, ``cpu`` and ``triton``) that holds it."""


COMPILED = "compiled for this processor"
"""Why kernels in C are chosen where nothing was asked for."""


class KernelError(LimiteError, ValueError):
    """An implementation was asked for by name and cannot run, or there is none of that name."""


class CannotRun(KernelError):
    """An implementation that was asked for refuses a case."""

    def __init__(self, source: str, name: str, case: Case, why: str) -> None:
        super().__init__(f"{source}: {name!r} cannot run {case}: {why}")
        self.source, self.name, self.case, self.why = source, name, case, why


@attrs.frozen
class Implementation:
    """One way to run an operation: a differentiable function with the operation's own arguments.

    ``refuses(case)`` says why it cannot run a case, or None where it can.
    """

    op: str
    name: str
    load: Callable[[], Callable[..., Any]]
    refuses: Callable[[Case], str | None] = attrs.field(default=lambda _case: None)


@attrs.frozen
class Choice:
    """The implementation of a case, and why it is that one."""

    name: str
    reason: str
    function: Callable[..., Any]

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


_registered: dict[tuple[str, str], Implementation] = {}
_chosen: dict[tuple[Any, ...], Choice] = {}
_times = 0  # that these were emptied
traced: dict[tuple[Any, ...], Callable[..., Any]] = {}  # the same, for compiled code


def register(implementation: Implementation) -> None:
    """Adds somebody's own implementation of an operation, to be asked for by its name.

    Nothing uses it until it is named: installing a package never changes anyone's numbers.
    """
    op, name = implementation.op, implementation.name
    if op not in MODULES:
        raise KernelError(f"there is no operation {op!r}{did_you_mean(op, MODULES)}")
    if name in BUILT_IN:
        raise KernelError(f"{name!r} is the name of one of limite's own; choose another")
    if not name or set(name) & set("=, "):
        raise KernelError(f"an implementation's name has no space, comma or '=', got {name!r}")
    if _registered.setdefault((op, name), implementation) != implementation:
        raise KernelError(f"{op} has an implementation {name!r} already; forget it first")
    _start_over()


def forget(op: str, name: str) -> None:
    """Takes a registered implementation away."""
    _registered.pop((op, name), None)
    _start_over()


def _start_over() -> None:
    # A new dict, not an emptied one: a thread in the midst of choosing still writes to the old.
    global _chosen, traced, _times
    _chosen, traced, _times = {}, {}, _times + 1


@contextmanager
def use(names: str) -> Iterator[None]:
    """Within the block, forces implementations: what ``LIMITE_KERNELS`` would hold.

    In this thread, or asynchronous task, alone. Blocks nest; the innermost counts, all of it.
    """
    given: Any = names
    if not isinstance(given, str):
        raise KernelError(f"use: names: expected text as 'reference,attention=cpu', got {given!r}")
    _wish(names, _by_use(names))
    token = forced.set(names)
    thread.names = names
    try:
        yield
    finally:
        forced.reset(token)
        thread.names = forced.get()


def asked_for() -> tuple[object, int]:
    """What decides choices at this moment: as long as this is the same, so are they."""
    asked = forced.get()
    return (environment.get(encoded) if asked is None else asked), _times


def select(
    op: str, tensor: Tensor, width: int | None = None, option: str | None = None
) -> Callable[..., Any]:
    """The function that runs ``op`` for tensors like ``tensor``.

    Where that is empty it is always the reference: nobody else needs to think of such cases.
    """
    return selected(op, tensor, width, option).function


def selected(
    op: str, tensor: Tensor, width: int | None = None, option: str | None = None
) -> Choice:
    """The same, with its name."""
    if not tensor.numel():
        return Choice("reference", "nothing to compute", _built_in(op, "reference").load())
    asked = forced.get()
    if asked is None:
        asked = environment.get(encoded)
    key = (op, tensor.device, tensor.dtype, width, option, asked)
    chosen = _chosen
    choice = chosen.get(key)
    if choice is None:
        case = Case(op, tensor.device.type, tensor.dtype, width, option)
        choice = chosen[key] = choose(case)
    return choice


def choose(case: Case, asked: str | None = None, *, traced: bool = False) -> Choice:
    """The implementation of a case, with the reason.

    ``asked`` is what ``LIMITE_KERNELS`` holds; None stands for ``use``, or else that variable.
    ``traced`` says that ``torch.compile`` is to see into it.
    """
    wish = _asked() if asked is None else _wish(asked, _by_variable(asked))
    name = wish.single.get(case.op, wish.everywhere)
    if name is not None:
        found = _implementation(case.op, name, wish.source)
        refusal = misfit_of_refuses(found.refuses) or found.refuses(case)
        if refusal is None:
            function = found.load()
            refusal = misfit(case.op, function)
            if refusal is None:
                return Choice(name, wish.source, function)
        raise CannotRun(wish.source, name, case, refusal)
    if case.device == "cuda":
        refusal = _built_in(case.op, "triton").refuses(case)
        if refusal is None:
            return Choice("triton", "there is a GPU", _built_in(case.op, "triton").load())
        reason = f"not triton: {refusal}"
    else:
        reason = f"tensors on {case.device}"
        if case.device == "cpu" and case.op in NATIVE and not traced:
            found = _built_in(case.op, "native")
            refusal = found.refuses(case)
            if refusal is None:
                return Choice("native", COMPILED, found.load())
            reason += f"; not native: {refusal}"
    for name in ("cpu", "reference"):
        found = _built_in(case.op, name)
        refusal = found.refuses(case)
        if refusal is None:
            return Choice(name, reason, found.load())
        reason += f"; not {name}: {refusal}"
    raise KernelError(f"nothing can run {case}: {reason}")


@attrs.frozen
class Survey:
    """The choices for several cases, by operation, and what stands against the others."""

    choices: Mapping[str, Choice]
    faults: Sequence[str]

    def __str__(self) -> str:
        """``cpu (tensors on cpu)``, or with the operations before each where there are several."""
        groups: dict[str, list[str]] = {}
        for op, choice in self.choices.items():
            groups.setdefault(str(choice), []).append(op)
        if len(groups) == 1:
            return next(iter(groups))
        few_first = sorted(groups.items(), key=lambda group: len(group[1]))
        return "; ".join(f"{', '.join(ops)}: {told}" for told, ops in few_first)


def survey(cases: Iterable[Case], asked: str | None = None) -> Survey:
    """What runs each case, as ``choose`` says it, and everything that is wrong, each once.

    A name that was given for an operation without a case must be one as well.
    """
    choices: dict[str, Choice] = {}
    refused: dict[tuple[str, str, str], list[str]] = {}
    faults: dict[str, None] = {}
    cases = list(cases)
    try:
        wish = _asked() if asked is None else _wish(asked, _by_variable(asked))
        for op in wish.single.keys() - {case.op for case in cases}:
            _implementation(op, wish.single[op], wish.source)
    except KernelError as error:
        faults[str(error)] = None
    for case in cases:
        try:
            choices[case.op] = choose(case, asked)
        except CannotRun as error:
            refused.setdefault((error.source, error.name, error.why), []).append(case.op)
        except KernelError as error:
            faults[str(error)] = None
    for (source, name, why), ops in refused.items():
        faults[f"{source}: {name!r} cannot run {', '.join(dict.fromkeys(ops))}: {why}"] = None
    return Survey(choices, tuple(faults))


def compiled(tensor: Tensor) -> bool:
    """Whether what is no operation, as products of decoding steps and sums over all weights, is
    left to kernels in C, for tensors like this.

    It goes with ``rms_norm``, which every model calls and every receipt tells of.
    """
    return selected("rms_norm", tensor).name == "native"


def _library() -> Any:
    """Compiles kernels in C where that was not done before, so it is imported when needed."""
    return importlib.import_module("limite.core.kernels.native.library")


def names(op: str) -> tuple[str, ...]:
    """Every implementation of an operation, beside those of plugins."""
    return (*BUILT_IN, *(name for of, name in list(_registered) if of == op))


@attrs.frozen
class _Wish:
    """What was asked for by name: for every operation, and for single ones."""

    source: str
    everywhere: str | None
    single: Mapping[str, str]


def _asked() -> _Wish:
    names = forced.get()
    if names is not None:
        return _wish(names, _by_use(names))
    variable = os.environ.get(VARIABLE, "")
    return _wish(variable, _by_variable(variable))


def _by_use(names: str) -> str:
    return f"use({names!r})"


def _by_variable(value: str) -> str:
    return f"{VARIABLE}={value}"


@cache
def _wish(text: str, source: str) -> _Wish:
    """Reads ``cpu,attention=mine``."""
    everywhere: str | None = None
    single: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        op, equals, name = (piece.strip() for piece in part.partition("="))
        if not equals:
            if part not in BUILT_IN:
                raise KernelError(
                    f"{source}: no such backend {part!r}{did_you_mean(part, BUILT_IN)}; there are "
                    f"{', '.join(BUILT_IN)}, and OPERATION=NAME for one of a plugin's"
                )
            if everywhere is not None:
                raise KernelError(f"{source}: both {everywhere!r} and {part!r} for every operation")
            everywhere = part
            continue
        if op not in MODULES:
            raise KernelError(
                f"{source}: no operation {op!r}{did_you_mean(op, MODULES)}; "
                f"there are {', '.join(MODULES)}"
            )
        if not name:
            raise KernelError(f"{source}: {op}= names no implementation")
        if op in single:
            raise KernelError(f"{source}: both {single[op]!r} and {name!r} for {op}")
        single[op] = name
    return _Wish(source, everywhere, single)


def _implementation(op: str, name: str, source: str) -> Implementation:
    if name in BUILT_IN:
        return _built_in(op, name)
    found = _registered.get((op, name))
    return _of_plugin(op, name, source) if found is None else found


def _of_plugin(op: str, name: str, source: str) -> Implementation:
    """The plugins' ``kernel`` of that name, with its default settings."""
    # The registry stands above the kernels: it is reached by name, and only when asked for one.
    registry = importlib.import_module("limite.core.discover").load_registry()
    try:
        component = registry.get("kernel", name).load()()
    except LimiteError as error:
        message = f"{source}: {error}"
        if str(error).startswith("unknown"):
            near = "" if "did you mean" in message else did_you_mean(name, names(op))
            message += f"{near}; beside those of plugins {op} has {', '.join(names(op))}"
        raise KernelError(message) from error
    except Exception as error:  # a default that is missing, or that its own validator refuses
        raise KernelError(
            f"{source}: kernel {name!r} cannot be made without settings: {sentence(error)}"
        ) from error
    if component.op != op:
        raise KernelError(f"{source}: kernel {name!r} runs {component.op}, not {op}")
    return Implementation(op, name, lambda: component, getattr(component, "refuses", _never))


@cache
def _built_in(op: str, name: str) -> Implementation:
    folder = "triton" if name == "interpret" else name
    path = f"limite.core.kernels.{folder}.{MODULES[op]}"

    def refuses(case: Case) -> str | None:
        refusal = built_in_refusal(name, case)
        if refusal is not None:
            return refusal
        if name == "interpret":
            os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when it is first imported
        if name == "native":
            missing: str | None = _library().refusal()
            return missing
        own = getattr(importlib.import_module(path), "refuses", _never)
        return own(case)

    def load() -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(importlib.import_module(path), op)
        if name == "triton":
            runtime = importlib.import_module("limite.core.kernels.triton.runtime")
            function = runtime.on_its_device(function)
        return function

    return Implementation(op, name, load, refuses)


def _never(_case: Case) -> None:
    return None
