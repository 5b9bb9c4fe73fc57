"""Laws that every component of a kind keeps, for whoever writes one.

``laws_for(kind, component)`` gives named functions that take nothing and raise when a law is
broken; a whole test file is::

    LAWS = objective_laws(SoftClip())

    @pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
    def test_softclip(law):
        law()
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from limite.core.errors import LimiteError, did_you_mean

if TYPE_CHECKING:
    from limite.plugins.conformance.advantage import advantage_laws as advantage_laws
    from limite.plugins.conformance.attention import attention_laws as attention_laws
    from limite.plugins.conformance.lr_schedule import lr_schedule_laws as lr_schedule_laws
    from limite.plugins.conformance.objective import objective_laws as objective_laws
    from limite.plugins.conformance.optimizer import optimizer_laws as optimizer_laws

LAWFUL_KINDS = (
    "objective",
    "advantage",
    "reward",
    "verifier",
    "generator",
    "attention",
    "lr_schedule",
    "curriculum",
    "rollout_schedule",
    "optimizer",
    "logger",
)


def laws_for(kind: str, component: Any) -> Mapping[str, Callable[[], None]]:
    """The laws of ``kind``, by name, for a component or for a class with its default settings."""
    if kind not in LAWFUL_KINDS:
        raise LimiteError(f"unknown kind {kind!r}{did_you_mean(kind, LAWFUL_KINDS)}")
    laws = _laws_of(kind)
    if isinstance(component, type):
        try:
            component = component()
        except TypeError as error:
            raise LimiteError(
                f"the laws of {component.__qualname__} need its settings: {error}"
            ) from error
    found: Mapping[str, Callable[[], None]] = laws(component)
    return found


def _laws_of(kind: str) -> Callable[..., Any]:
    module = importlib.import_module(f"limite.plugins.conformance.{kind}")
    laws: Callable[..., Any] = getattr(module, f"{kind}_laws")
    return laws


def __getattr__(name: str) -> Any:
    kind = name.removesuffix("_laws")
    if name.endswith("_laws") and kind in LAWFUL_KINDS:
        return _laws_of(kind)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
