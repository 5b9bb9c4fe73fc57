"""The components limite ships: kind, name, and the class as a string, imported when used."""

from __future__ import annotations

from limite.core.hookspecs import Registrar, hookimpl
from limite.problems import gym
from limite.problems.procedural.areas import families

plugins = "limite.plugins"
problems = "limite.problems"


@hookimpl
def limite_register(registry: Registrar) -> None:
    """Every built-in, by kind."""
    objectives = f"{plugins}.objectives"
    registry.objective("cispo", f"{objectives}.cispo:CISPO")
    registry.objective("dapo", f"{objectives}.dapo:DAPO")
    registry.objective("dpo", f"{objectives}.dpo:DPO")
    registry.objective("dppo", f"{objectives}.dppo:DPPO")
    registry.objective("dppo-critic", f"{objectives}.dppo_critic:DPPOCritic")
    registry.objective("dr-grpo", f"{objectives}.dr_grpo:DrGRPO")
    registry.objective("grpo", f"{objectives}.grpo:GRPO")
    registry.objective("gspo", f"{objectives}.gspo:GSPO")
    registry.objective("ppo-critic", f"{objectives}.ppo_critic:PPOCritic")
    registry.objective("reinforce", f"{objectives}.reinforce:Reinforce")
    registry.objective("sft", f"{objectives}.sft:CrossEntropy")
    registry.objective("topk-kd", f"{objectives}.topk_kd:TopKDistill")
    registry.objective("value-regression", f"{objectives}.value_regression:ValueRegression")

    registry.advantage("gae", f"{plugins}.advantages.gae:GeneralisedAdvantage")
    registry.advantage("group", f"{plugins}.advantages.group:GroupAdvantage")

    registry.reward("accuracy", f"{plugins}.rewards.accuracy:Accuracy")

    registry.verifier("exact", f"{problems}.verifiers.exact:Exact")
    registry.verifier("mathematics", f"{problems}.verifiers.mathematics:Mathematics")

    procedural = f"{problems}.procedural"
    registry.generator("gcd", f"{procedural}.gcd:Gcd")
    registry.generator("linear-equation", f"{procedural}.linear_equation:LinearEquation")
    registry.generator("linear-system", f"{procedural}.linear_system:LinearSystem")
    registry.generator("mean", f"{procedural}.mean:Mean")
    registry.generator("modular-expression", f"{procedural}.modular_expression:ModularExpression")
    registry.generator("product", f"{procedural}.product:Product")
    registry.generator("progression", f"{procedural}.progression:Progression")
    registry.generator("quotient", f"{procedural}.quotient:Quotient")
    registry.generator("sum-chain", f"{procedural}.sum_chain:SumChain")
    for name, target in (*families(), *gym.families()):
        registry.generator(name, target)
    for name, reason in gym.absences():
        registry.absent("generator", name, reason)

    registry.attention("global", f"{plugins}.attention.everywhere:Global")
    registry.attention("local", f"{plugins}.attention.local:Local")
    registry.attention("local-global", f"{plugins}.attention.local_global:LocalGlobal")
    registry.attention("simplicial", f"{plugins}.attention.simplicial:Simplicial")

    schedules = f"{plugins}.schedules"
    registry.lr_schedule("constant", f"{schedules}.constant:Constant")
    registry.lr_schedule("cosine", f"{schedules}.cosine:Cosine")
    registry.lr_schedule(
        "warmup-stable-decay", f"{schedules}.warmup_stable_decay:WarmupStableDecay"
    )

    registry.curriculum("annealed", f"{plugins}.curricula.annealed:Annealed")
    registry.curriculum("pass-rate", f"{plugins}.curricula.pass_rate:PassRate")
    registry.curriculum("targeted", f"{plugins}.curricula.targeted:Targeted")
    registry.curriculum("uniform", f"{plugins}.curricula.uniform:Uniform")

    rollouts = f"{plugins}.rollout_schedules"
    registry.rollout_schedule("complete-episodes", f"{rollouts}.complete_episodes:CompleteEpisodes")
    registry.rollout_schedule("dynamic", f"{rollouts}.dynamic:Dynamic")
    registry.rollout_schedule("fill-buffer", f"{rollouts}.fill_buffer:FillBuffer")
    registry.rollout_schedule("oversample", f"{rollouts}.oversample:Oversample")

    engines = f"{plugins}.engines"
    registry.engine("built-in", f"{engines}.built_in:BuiltIn")
    registry.engine("openai-server", f"{engines}.openai_server:OpenAIServer")

    registry.optimizer("adamw", f"{plugins}.optimizers.adamw:AdamW")
    registry.optimizer("muon", f"{plugins}.optimizers.muon:Muon")

    registry.logger("console", f"{plugins}.loggers.console:Console")
    registry.logger("jsonl", f"{plugins}.loggers.jsonl:JSONL")

    benchmarks = f"{plugins}.benchmarks"
    registry.benchmark("limite-easy", f"{benchmarks}.limite_easy:LimiteEasy")
    registry.benchmark("limite-hard", f"{benchmarks}.limite_hard:LimiteHard")
    registry.benchmark("limite-middle", f"{benchmarks}.limite_middle:LimiteMiddle")
    registry.benchmark("limite-sums", f"{benchmarks}.limite_sums:LimiteSums")
