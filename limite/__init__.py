"""limite: interchangeable parts for post-training small models that reason in mathematics.

Every public name can be imported from here; its module is imported when the name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from limite.core.errors import LimiteError as LimiteError
    from limite.core.errors import RunFailed as RunFailed
    from limite.core.errors import SettingsError as SettingsError
    from limite.core.health.limits import HealthLimits as HealthLimits
    from limite.core.hookspecs import Registrar as Registrar
    from limite.core.hookspecs import hookimpl as hookimpl
    from limite.core.kinds import Advantage as Advantage
    from limite.core.kinds import Attention as Attention
    from limite.core.kinds import Curriculum as Curriculum
    from limite.core.kinds import Generator as Generator
    from limite.core.kinds import Logger as Logger
    from limite.core.kinds import LRSchedule as LRSchedule
    from limite.core.kinds import Objective as Objective
    from limite.core.kinds import Optimizer as Optimizer
    from limite.core.kinds import Reward as Reward
    from limite.core.kinds import RolloutSchedule as RolloutSchedule
    from limite.core.kinds import Verifier as Verifier
    from limite.core.model.spec import ModelSpec as ModelSpec
    from limite.core.recipe.recipe import Recipe as Recipe
    from limite.core.recipe.stages import RL as RL
    from limite.core.recipe.stages import SFT as SFT
    from limite.core.recipe.stages import Eval as Eval
    from limite.core.recipe.stages import Mix as Mix
    from limite.core.seeds import Seeds as Seeds
    from limite.core.tokenizer import CharacterTokenizer as CharacterTokenizer
    from limite.core.types import Answer as Answer
    from limite.core.types import Group as Group
    from limite.core.types import Loss as Loss
    from limite.core.types import Metric as Metric
    from limite.core.types import Problem as Problem
    from limite.core.types import Response as Response
    from limite.core.types import TokenBatch as TokenBatch
    from limite.core.types import Verdict as Verdict

_MODULES = {
    "limite.core.errors": ("LimiteError", "RunFailed", "SettingsError"),
    "limite.core.health.limits": ("HealthLimits",),
    "limite.core.hookspecs": ("Registrar", "hookimpl"),
    "limite.core.kinds": (
        "Advantage",
        "Attention",
        "Curriculum",
        "Generator",
        "LRSchedule",
        "Logger",
        "Objective",
        "Optimizer",
        "Reward",
        "RolloutSchedule",
        "Verifier",
    ),
    "limite.core.model.spec": ("ModelSpec",),
    "limite.core.recipe.recipe": ("Recipe",),
    "limite.core.recipe.stages": ("Eval", "Mix", "RL", "SFT"),
    "limite.core.seeds": ("Seeds",),
    "limite.core.tokenizer": ("CharacterTokenizer",),
    "limite.core.types": (
        "Answer",
        "Group",
        "Loss",
        "Metric",
        "Problem",
        "Response",
        "TokenBatch",
        "Verdict",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from limite.core.errors import did_you_mean

        near = "" if name.startswith("_") else did_you_mean(name, _HOME)
        raise AttributeError(f"module 'limite' has no attribute {name!r}{near}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
