"""limite: interchangeable parts for post-training small models that reason in mathematics.

Every public name can be imported from here; its module is imported when the name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from limite.core.matrix_products import ask_for_equal_rows, processor_maker

__version__ = "0.1.0"

ask_for_equal_rows(processor_maker())

if TYPE_CHECKING:
    from limite.core.errors import LimiteError as LimiteError
    from limite.core.errors import Mistake as Mistake
    from limite.core.errors import RunFailed as RunFailed
    from limite.core.errors import SettingsError as SettingsError
    from limite.core.explained_variance import ExplainedVariance as ExplainedVariance
    from limite.core.health.limits import HealthLimits as HealthLimits
    from limite.core.hookspecs import Registrar as Registrar
    from limite.core.hookspecs import hookimpl as hookimpl
    from limite.core.kinds import Advantage as Advantage
    from limite.core.kinds import Arm as Arm
    from limite.core.kinds import Attention as Attention
    from limite.core.kinds import Benchmark as Benchmark
    from limite.core.kinds import Curriculum as Curriculum
    from limite.core.kinds import Generator as Generator
    from limite.core.kinds import Kernel as Kernel
    from limite.core.kinds import Logger as Logger
    from limite.core.kinds import LoggerContext as LoggerContext
    from limite.core.kinds import LRSchedule as LRSchedule
    from limite.core.kinds import Objective as Objective
    from limite.core.kinds import Optimizer as Optimizer
    from limite.core.kinds import Reward as Reward
    from limite.core.kinds import Verifier as Verifier
    from limite.core.model.llama.scaling import LinearScaling as LinearScaling
    from limite.core.model.llama.scaling import Llama3Scaling as Llama3Scaling
    from limite.core.model.llama.scaling import YarnScaling as YarnScaling
    from limite.core.model.llama.spec import LlamaSpec as LlamaSpec
    from limite.core.model.spec import AttentionShape as AttentionShape
    from limite.core.model.spec import ModelSpec as ModelSpec
    from limite.core.pretrained.tokenizer import PretrainedTokenizer as PretrainedTokenizer
    from limite.core.recipe.matched.settings import Matched as Matched
    from limite.core.recipe.recipe import Recipe as Recipe
    from limite.core.recipe.stages import RL as RL
    from limite.core.recipe.stages import SFT as SFT
    from limite.core.recipe.stages import CriticSettings as CriticSettings
    from limite.core.recipe.stages import Distill as Distill
    from limite.core.recipe.stages import Eval as Eval
    from limite.core.recipe.stages import FitCritic as FitCritic
    from limite.core.recipe.stages import Greedy as Greedy
    from limite.core.recipe.stages import MadeTexts as MadeTexts
    from limite.core.recipe.stages import Mix as Mix
    from limite.core.recipe.stages import OwnSolutions as OwnSolutions
    from limite.core.recipe.stages import Preference as Preference
    from limite.core.recipe.stages import Pretrain as Pretrain
    from limite.core.recipe.stages import Probe as Probe
    from limite.core.recipe.stages import Soup as Soup
    from limite.core.recipe.stages import Source as Source
    from limite.core.recipe.stages import StrongWeak as StrongWeak
    from limite.core.recipe.stages import Taught as Taught
    from limite.core.recipe.stages import Unstable as Unstable
    from limite.core.rollout.shaping import OverlongPenalty as OverlongPenalty
    from limite.core.rollout_kinds import Engine as Engine
    from limite.core.rollout_kinds import EngineContext as EngineContext
    from limite.core.rollout_kinds import Policy as Policy
    from limite.core.rollout_kinds import Request as Request
    from limite.core.rollout_kinds import RolloutSchedule as RolloutSchedule
    from limite.core.seeds import Seeds as Seeds
    from limite.core.tokenizer import CharacterTokenizer as CharacterTokenizer
    from limite.core.train.correction import Correction as Correction
    from limite.core.train.data.windows import Windows as Windows
    from limite.core.types import Answer as Answer
    from limite.core.types import Group as Group
    from limite.core.types import Loss as Loss
    from limite.core.types import Metric as Metric
    from limite.core.types import Problem as Problem
    from limite.core.types import Response as Response
    from limite.core.types import TokenBatch as TokenBatch
    from limite.core.types import Verdict as Verdict
    from limite.plugins.advantages.gae import GeneralisedAdvantage as GeneralisedAdvantage
    from limite.plugins.advantages.group import GroupAdvantage as GroupAdvantage
    from limite.plugins.attention.everywhere import Global as Global
    from limite.plugins.attention.local import Local as Local
    from limite.plugins.attention.local_global import LocalGlobal as LocalGlobal
    from limite.plugins.attention.simplicial import Simplicial as Simplicial
    from limite.plugins.benchmarks.limite_easy import LimiteEasy as LimiteEasy
    from limite.plugins.benchmarks.limite_hard import LimiteHard as LimiteHard
    from limite.plugins.benchmarks.limite_middle import LimiteMiddle as LimiteMiddle
    from limite.plugins.benchmarks.limite_sums import LimiteSums as LimiteSums
    from limite.plugins.curricula.annealed import Annealed as Annealed
    from limite.plugins.curricula.pass_rate import PassRate as PassRate
    from limite.plugins.curricula.targeted import Targeted as Targeted
    from limite.plugins.curricula.uniform import Uniform as Uniform
    from limite.plugins.engines.built_in import BuiltIn as BuiltIn
    from limite.plugins.engines.dialects import ServerCall as ServerCall
    from limite.plugins.engines.openai_server import OpenAIServer as OpenAIServer
    from limite.plugins.loggers.console import Console as Console
    from limite.plugins.loggers.jsonl import JSONL as JSONL
    from limite.plugins.objectives.cispo import CISPO as CISPO
    from limite.plugins.objectives.dapo import DAPO as DAPO
    from limite.plugins.objectives.dpo import DPO as DPO
    from limite.plugins.objectives.dppo import DPPO as DPPO
    from limite.plugins.objectives.dppo_critic import DPPOCritic as DPPOCritic
    from limite.plugins.objectives.dr_grpo import DrGRPO as DrGRPO
    from limite.plugins.objectives.grpo import GRPO as GRPO
    from limite.plugins.objectives.gspo import GSPO as GSPO
    from limite.plugins.objectives.ppo_critic import PPOCritic as PPOCritic
    from limite.plugins.objectives.reinforce import Reinforce as Reinforce
    from limite.plugins.objectives.sft import CrossEntropy as CrossEntropy
    from limite.plugins.objectives.topk_kd import TopKDistill as TopKDistill
    from limite.plugins.objectives.value_regression import ValueRegression as ValueRegression
    from limite.plugins.optimizers.adamw import AdamW as AdamW
    from limite.plugins.optimizers.muon import Muon as Muon
    from limite.plugins.rewards.accuracy import Accuracy as Accuracy
    from limite.plugins.rollout_schedules.complete_episodes import (
        CompleteEpisodes as CompleteEpisodes,
    )
    from limite.plugins.rollout_schedules.dynamic import Dynamic as Dynamic
    from limite.plugins.rollout_schedules.fill_buffer import FillBuffer as FillBuffer
    from limite.plugins.rollout_schedules.oversample import Oversample as Oversample
    from limite.plugins.schedules.constant import Constant as Constant
    from limite.plugins.schedules.cosine import Cosine as Cosine
    from limite.plugins.schedules.warmup_stable_decay import WarmupStableDecay as WarmupStableDecay
    from limite.problems.procedural.gcd import Gcd as Gcd
    from limite.problems.procedural.linear_equation import LinearEquation as LinearEquation
    from limite.problems.procedural.linear_system import LinearSystem as LinearSystem
    from limite.problems.procedural.mean import Mean as Mean
    from limite.problems.procedural.modular_expression import ModularExpression as ModularExpression
    from limite.problems.procedural.product import Product as Product
    from limite.problems.procedural.progression import Progression as Progression
    from limite.problems.procedural.quotient import Quotient as Quotient
    from limite.problems.procedural.sum_chain import SumChain as SumChain
    from limite.problems.verifiers.exact import Exact as Exact
    from limite.problems.verifiers.mathematics import Mathematics as Mathematics

# Module to the names it gives, in the order of the imports above.
_MODULES = {
    "limite.core.errors": "LimiteError Mistake RunFailed SettingsError",
    "limite.core.explained_variance": "ExplainedVariance",
    "limite.core.health.limits": "HealthLimits",
    "limite.core.hookspecs": "Registrar hookimpl",
    "limite.core.kinds": (
        "Advantage Arm Attention Benchmark Curriculum Generator Kernel LRSchedule Logger "
        "LoggerContext Objective Optimizer Reward Verifier"
    ),
    "limite.core.model.llama.scaling": "LinearScaling Llama3Scaling YarnScaling",
    "limite.core.model.llama.spec": "LlamaSpec",
    "limite.core.model.spec": "AttentionShape ModelSpec",
    "limite.core.pretrained.tokenizer": "PretrainedTokenizer",
    "limite.core.recipe.matched.settings": "Matched",
    "limite.core.recipe.recipe": "Recipe",
    "limite.core.recipe.stages": (
        "CriticSettings Distill Eval FitCritic Greedy MadeTexts Mix OwnSolutions Preference "
        "Pretrain Probe RL SFT Soup Source StrongWeak Taught Unstable"
    ),
    "limite.core.rollout.shaping": "OverlongPenalty",
    "limite.core.rollout_kinds": "Engine EngineContext Policy Request RolloutSchedule",
    "limite.core.seeds": "Seeds",
    "limite.core.tokenizer": "CharacterTokenizer",
    "limite.core.train.correction": "Correction",
    "limite.core.train.data.windows": "Windows",
    "limite.core.types": "Answer Group Loss Metric Problem Response TokenBatch Verdict",
    "limite.plugins.advantages.gae": "GeneralisedAdvantage",
    "limite.plugins.advantages.group": "GroupAdvantage",
    "limite.plugins.attention.everywhere": "Global",
    "limite.plugins.attention.local": "Local",
    "limite.plugins.attention.local_global": "LocalGlobal",
    "limite.plugins.attention.simplicial": "Simplicial",
    "limite.plugins.benchmarks.limite_easy": "LimiteEasy",
    "limite.plugins.benchmarks.limite_hard": "LimiteHard",
    "limite.plugins.benchmarks.limite_middle": "LimiteMiddle",
    "limite.plugins.benchmarks.limite_sums": "LimiteSums",
    "limite.plugins.curricula.annealed": "Annealed",
    "limite.plugins.curricula.pass_rate": "PassRate",
    "limite.plugins.curricula.targeted": "Targeted",
    "limite.plugins.curricula.uniform": "Uniform",
    "limite.plugins.engines.built_in": "BuiltIn",
    "limite.plugins.engines.dialects": "ServerCall",
    "limite.plugins.engines.openai_server": "OpenAIServer",
    "limite.plugins.loggers.console": "Console",
    "limite.plugins.loggers.jsonl": "JSONL",
    "limite.plugins.objectives.cispo": "CISPO",
    "limite.plugins.objectives.dapo": "DAPO",
    "limite.plugins.objectives.dpo": "DPO",
    "limite.plugins.objectives.dppo": "DPPO",
    "limite.plugins.objectives.dppo_critic": "DPPOCritic",
    "limite.plugins.objectives.dr_grpo": "DrGRPO",
    "limite.plugins.objectives.grpo": "GRPO",
    "limite.plugins.objectives.gspo": "GSPO",
    "limite.plugins.objectives.ppo_critic": "PPOCritic",
    "limite.plugins.objectives.reinforce": "Reinforce",
    "limite.plugins.objectives.sft": "CrossEntropy",
    "limite.plugins.objectives.topk_kd": "TopKDistill",
    "limite.plugins.objectives.value_regression": "ValueRegression",
    "limite.plugins.optimizers.adamw": "AdamW",
    "limite.plugins.optimizers.muon": "Muon",
    "limite.plugins.rewards.accuracy": "Accuracy",
    "limite.plugins.rollout_schedules.complete_episodes": "CompleteEpisodes",
    "limite.plugins.rollout_schedules.dynamic": "Dynamic",
    "limite.plugins.rollout_schedules.fill_buffer": "FillBuffer",
    "limite.plugins.rollout_schedules.oversample": "Oversample",
    "limite.plugins.schedules.constant": "Constant",
    "limite.plugins.schedules.cosine": "Cosine",
    "limite.plugins.schedules.warmup_stable_decay": "WarmupStableDecay",
    "limite.problems.procedural.gcd": "Gcd",
    "limite.problems.procedural.linear_equation": "LinearEquation",
    "limite.problems.procedural.linear_system": "LinearSystem",
    "limite.problems.procedural.mean": "Mean",
    "limite.problems.procedural.modular_expression": "ModularExpression",
    "limite.problems.procedural.product": "Product",
    "limite.problems.procedural.progression": "Progression",
    "limite.problems.procedural.quotient": "Quotient",
    "limite.problems.procedural.sum_chain": "SumChain",
    "limite.problems.verifiers.exact": "Exact",
    "limite.problems.verifiers.mathematics": "Mathematics",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

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
