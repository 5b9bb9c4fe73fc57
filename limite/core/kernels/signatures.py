"""Whether somebody's function can be called as an operation calls its implementations."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any


def misfit(op: str, function: Any) -> str | None:
    """Why a function cannot be called with the arguments of ``op``; None where it can."""
    if not callable(function):
        return f"{function!r} cannot be called"
    called = _parameters(op).values()
    places = [each.name for each in called if each.kind is not each.KEYWORD_ONLY]
    names = [each.name for each in called if each.kind is each.KEYWORD_ONLY]
    error = _refusal(function, *places, **dict.fromkeys(names))
    if error is None:
        return None
    form = ", ".join([*places, *(["*"] if names else []), *names])
    return f"it is called with ({form}): {error}"


def misfit_of_refuses(refuses: Any) -> str | None:
    """Why ``refuses`` cannot be asked about a case; None where it can."""
    if not callable(refuses):
        return f"refuses is {refuses!r}, which cannot be called"
    error = _refusal(refuses, "case")
    return None if error is None else f"refuses is called with (case): {error}"


def _parameters(op: str) -> Mapping[str, inspect.Parameter]:
    """Those of the public function, which hands them on as it gets them."""
    # By name: operations import the choice of implementations, which imports this.
    operations = importlib.import_module("limite.core.kernels.ops")
    return inspect.signature(getattr(operations, op)).parameters


def _refusal(function: Any, *places: Any, **names: Any) -> TypeError | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some that are written in C do not say
        return None
    try:
        signature.bind(*places, **names)
    except TypeError as error:
        return error
    return None
