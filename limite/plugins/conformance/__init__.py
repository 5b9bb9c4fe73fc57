"""Laws that every component of a kind keeps, for whoever writes one.

``laws_for(kind, component)`` gives named functions that take nothing and raise when a law is
broken; a whole test file is::

    LAWS = objective_laws(SoftClip())

    @pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
    def test_softclip(law):
        law()
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from limite.core.errors import LimiteError, did_you_mean
from limite.core.kinds import KINDS

if TYPE_CHECKING:
    from limite.plugins.conformance.advantage import advantage_laws as advantage_laws
    from limite.plugins.conformance.attention import attention_laws as attention_laws
    from limite.plugins.conformance.author_step import author_step_laws as author_step_laws
    from limite.plugins.conformance.benchmark import benchmark_laws as benchmark_laws
    from limite.plugins.conformance.curriculum import curriculum_laws as curriculum_laws
    from limite.plugins.conformance.engine import engine_laws as engine_laws
    from limite.plugins.conformance.generator import generator_laws as generator_laws
    from limite.plugins.conformance.kernel import kernel_laws as kernel_laws
    from limite.plugins.conformance.logger import logger_laws as logger_laws
    from limite.plugins.conformance.lr_schedule import lr_schedule_laws as lr_schedule_laws
    from limite.plugins.conformance.objective import objective_laws as objective_laws
    from limite.plugins.conformance.optimizer import optimizer_laws as optimizer_laws
    from limite.plugins.conformance.reward import reward_laws as reward_laws
    from limite.plugins.conformance.rollout_schedule import (
        rollout_schedule_laws as rollout_schedule_laws,
    )
    from limite.plugins.conformance.verifier import verifier_laws as verifier_laws


def laws_for(kind: str, component: Any) -> Mapping[str, Callable[[], None]]:
    """The laws of ``kind``, by name, for a component or for a class with its default settings."""
    if kind not in KINDS:
        raise LimiteError(f"unknown kind {kind!r}{did_you_mean(kind, KINDS)}")
    laws = _laws_of(kind)
    if isinstance(component, type):
        try:
            component = component()
        except TypeError as error:
            raise LimiteError(
                f"the laws of {component.__qualname__} need its settings: {error}"
            ) from error
    with _quiet():
        found: Mapping[str, Callable[[], None]] = laws(component)
    return {name: functools.partial(_run_quietly, law) for name, law in found.items()}


def _run_quietly(law: Callable[[], None]) -> None:
    with _quiet():
        law()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hypothesis without deadline, database or chance: a verdict is about the component alone."""
    from hypothesis import settings

    before = settings.get_current_profile_name()
    settings.register_profile(
        "limite-laws",
        settings(),
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,  # one law, one failure: a group of them hides what it is
    )
    settings.load_profile("limite-laws")
    try:
        yield
    finally:
        settings.load_profile(before)


def _laws_of(kind: str) -> Callable[..., Any]:
    module = importlib.import_module(f"limite.plugins.conformance.{kind}")
    laws: Callable[..., Any] = getattr(module, f"{kind}_laws")
    return laws


def __getattr__(name: str) -> Any:
    kind = name.removesuffix("_laws")
    if name.endswith("_laws") and kind in KINDS:
        return _laws_of(kind)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
