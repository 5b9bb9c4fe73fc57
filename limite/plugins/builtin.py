"""The components limite ships: kind, name, and the class as a string, imported when used."""

from __future__ import annotations

from limite.core.hookspecs import Registrar, hookimpl


@hookimpl
def limite_register(registry: Registrar) -> None:
    """Every built-in, by kind."""

    registry.verifier("exact", "limite.problems.verify.exact:Exact")
    procedural = "limite.problems.procedural"
    registry.generator("sum-chain", f"{procedural}.sum_chain:SumChain")
    registry.generator("linear-equation", f"{procedural}.linear_equation:LinearEquation")
    registry.generator("modular-expression", f"{procedural}.modular_expression:ModularExpression")
    registry.generator("gcd", f"{procedural}.gcd:Gcd")
    registry.generator("linear-system", f"{procedural}.linear_system:LinearSystem")

    objectives = "limite.plugins.objectives"
    registry.objective("grpo", f"{objectives}.grpo:GRPO")
    registry.objective("dr-grpo", f"{objectives}.dr_grpo:DrGRPO")
    registry.objective("dppo", f"{objectives}.dppo:DPPO")
    registry.advantage("group", "limite.plugins.advantages.group:GroupAdvantage")
    registry.optimizer("adamw", "limite.plugins.optimizers.adamw:AdamW")
    registry.optimizer("muon", "limite.plugins.optimizers.muon:Muon")
    schedules = "limite.plugins.schedules"
    registry.lr_schedule("constant", f"{schedules}.constant:Constant")
    registry.lr_schedule(
        "warmup-stable-decay", f"{schedules}.warmup_stable_decay:WarmupStableDecay"
    )
    registry.lr_schedule("cosine", f"{schedules}.cosine:Cosine")

    registry.logger("console", "limite.plugins.loggers.console:Console")
    registry.logger("jsonl", "limite.plugins.loggers.jsonl:JSONL")

    attention = "limite.plugins.attention"
    registry.attention("global", f"{attention}.everywhere:Global")
    registry.attention("local", f"{attention}.local:Local")
    registry.attention("local-global", f"{attention}.local_global:LocalGlobal")
    registry.reward("accuracy", "limite.plugins.rewards.accuracy:Accuracy")
    registry.curriculum("uniform", "limite.plugins.curricula.uniform:Uniform")
    registry.curriculum("pass-rate", "limite.plugins.curricula.pass_rate:PassRate")
    registry.rollout_schedule(
        "complete-episodes",
        "limite.plugins.rollout_schedules.complete_episodes:CompleteEpisodes",
    )
