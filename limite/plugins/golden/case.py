"""One case of a golden file while it runs: what it gives, what it expects, what was compared.

A case that says something nobody reads has failed: a misspelt setting or expectation must not look
like one that was met.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.errors import LimiteError, did_you_mean

TELLING_NAMES = 4  # mistakes of a case that are told; the rest are counted


@attrs.frozen(kw_only=True)
class Outcome:
    """How one case went in one dtype.

    ``worst`` is the largest difference as a share of what its tolerance allows: at most 1 passes.
    It is None where no number was compared. ``failures`` says what was not met.
    """

    id: str
    kind: str
    dtype: str
    compared: int
    worst: float | None
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the case could be run and everything it expects was found."""
        return not self.failures


@attrs.define(kw_only=True, eq=False)
class Case:
    """A case in one dtype: ask it for its parts, and tell it what was found."""

    id: str
    kind: str
    params: Mapping[str, Any]
    inputs: Mapping[str, Any]
    expected: Mapping[str, Any]
    dtype: torch.dtype
    tolerances: Mapping[str, Mapping[str, float]]
    _read: set[str] = attrs.field(factory=set, init=False)
    _compared: int = attrs.field(default=0, init=False)
    _worst: float | None = attrs.field(default=None, init=False)
    _failures: list[str] = attrs.field(factory=list, init=False)

    def param(self, name: str, *default: Any) -> Any:
        """A setting of the case, or the default; a LimiteError where there is neither."""
        return self._part("params", name, *default)

    def given(self, name: str, *default: Any) -> Any:
        """An input of the case, or the default; a LimiteError where there is neither."""
        return self._part("inputs", name, *default)

    def tensor(self, name: str, dtype: torch.dtype | None = None) -> Tensor:
        """An input as a tensor of the case's dtype, or of the one asked for."""
        return tensor_of(self.given(name), name).to(dtype or self.dtype)

    def expects(self, name: str) -> bool:
        """Whether the case expects something under this name."""
        return name in self.expected

    def check(self, name: str, found: Any, *, exact: bool = False) -> None:
        """Holds what was found to what the case expects under ``name``, if it does.

        Numbers are held to the tolerance of the dtype, or to that of float64 where ``exact``.
        """
        if name in self.expected:
            self._read.add(f"expected.{name}")
            self.compare(name, found, self.expected[name], exact=exact)

    def compare(self, name: str, found: Any, wanted: Any, *, exact: bool = False) -> None:
        """Holds ``found`` to ``wanted``; None means undefined and equals nothing else."""
        self._compared += 1
        if isinstance(wanted, str) and wanted not in SPELLED:
            self._tell(found == wanted, f"{name}: expected {wanted!r}, got {found!r}")
        elif wanted is None or found is None:
            self._tell(wanted is found, f"{name}: expected {_shown(wanted)}, got {_shown(found)}")
        elif isinstance(wanted, bool):
            same = not isinstance(found, Tensor) and bool(found) is wanted
            self._tell(same, f"{name}: expected {wanted}, got {found}")
        else:
            self._numbers(name, found, tensor_of(wanted, name), exact=exact)

    def reads(self, name: str, part: str = "inputs") -> bool:
        """Whether the case has it; asking counts as reading it."""
        if name not in getattr(self, part):
            return False
        self._read.add(f"{part}.{name}")
        return True

    def fail(self, why: str) -> None:
        """Records that the case was not met."""
        self._failures.append(why)

    def outcome(self, *, unread: bool = True) -> Outcome:
        """How it went; parts that nobody has read are mistakes unless ``unread`` is False."""
        if unread and not self._failures:
            for part in ("params", "inputs", "expected"):
                for name in getattr(self, part):
                    if f"{part}.{name}" not in self._read:
                        read = [each.partition(".")[2] for each in self._read]
                        self.fail(f"nothing reads {part}.{name}{did_you_mean(name, read)}")
        if not self._compared and not self._failures:
            self.fail("it expects nothing")
        told = self._failures[:TELLING_NAMES]
        if len(self._failures) > TELLING_NAMES:
            told.append(f"and {len(self._failures) - TELLING_NAMES} more")
        return Outcome(
            id=self.id,
            kind=self.kind,
            dtype=str(self.dtype).removeprefix("torch."),
            compared=self._compared,
            worst=self._worst,
            failures=tuple(told),
        )

    def _part(self, part: str, name: str, *default: Any) -> Any:
        values = getattr(self, part)
        self._read.add(f"{part}.{name}")
        if name in values:
            return values[name]
        if default:
            return default[0]
        have = ", ".join(values) or "nothing"
        raise LimiteError(f"a case of kind {self.kind!r} needs {part}.{name}; it has {have}")

    def _numbers(self, name: str, found: Any, wanted: Tensor, *, exact: bool) -> None:
        held = tensor_of(found, name) if not isinstance(found, Tensor) else found.detach()
        if held.shape != wanted.shape:
            shapes = f"{list(wanted.shape)}, got {list(held.shape)}"
            self.fail(f"{name}: expected numbers of shape {shapes}")
            return
        held = held.double()
        limits = self.tolerances["float64" if exact else str(self.dtype).removeprefix("torch.")]
        allowed = limits["atol"] + limits["rtol"] * wanted.abs()
        same = (held == wanted) | (held.isnan() & wanted.isnan())
        shares = ((held - wanted).abs() / allowed).masked_fill(same, 0.0)
        shares = shares.nan_to_num(nan=math.inf, posinf=math.inf)
        if not shares.numel():
            return
        worst = float(shares.max())
        self._worst = max(worst, self._worst or 0.0)
        if worst > 1.0:
            place = tuple(int(at) for at in (shares == shares.max()).nonzero()[0])
            where = f" at {list(place)}" if place else ""
            numbers = f"expected {float(wanted[place]):.12g}{where}, got {float(held[place]):.12g}"
            self.fail(f"{name}: {numbers}")

    def _tell(self, met: bool, why: str) -> None:
        if not met:
            self.fail(why)


SPELLED = ("NaN", "Infinity", "-Infinity")
"""Numbers that JSON lacks, as a golden file spells them."""


def tensor_of(values: Any, name: str) -> Tensor:
    """Nested lists of a golden file as float64; a LimiteError where they are no numbers."""

    def number(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [number(item) for item in value]
        if isinstance(value, str) and value not in SPELLED:
            raise LimiteError(
                f"{name}: {value!r} is no number; there are also {', '.join(SPELLED)}"
            )
        return float(value)

    try:
        return torch.tensor(number(values), dtype=torch.float64)
    except (TypeError, ValueError) as error:
        raise LimiteError(f"{name}: expected numbers in lists of equal lengths: {error}") from error


def _shown(value: Any) -> str:
    return "undefined" if value is None else f"{value}"
