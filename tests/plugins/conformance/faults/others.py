"""Mistakes in everything else: (file within limite, text, faulty text, component, law)."""

from __future__ import annotations

from typing import Any

GROUP_FILE = "advantages/group.py"
SCALED = ("advantages.group:GroupAdvantage", {"scale": "std"})
PLAIN = ("advantages.group:GroupAdvantage", {})
OTHERS = ("advantages.group:GroupAdvantage", {"baseline": "leave-one-out"})

GAE_FILE = "advantages/gae.py"
GAE = ("advantages.gae:GeneralisedAdvantage", {})

GROUPS_FILE = "rollout_schedules/groups.py"
OVERSAMPLE_FILE, DYNAMIC_FILE, BUFFER_FILE = (
    "rollout_schedules/oversample.py",
    "rollout_schedules/dynamic.py",
    "rollout_schedules/fill_buffer.py",
)
BUFFER = ("rollout_schedules.fill_buffer:FillBuffer", {})
EPISODES = ("rollout_schedules.complete_episodes:CompleteEpisodes", {})

RATE_FILE, UNIFORM_FILE = "curricula/pass_rate.py", "curricula/uniform.py"
RATE = ("curricula.pass_rate:PassRate", {})
TARGETED_FILE, ANNEALED_FILE = "curricula/targeted.py", "curricula/annealed.py"
TARGETED = ("curricula.targeted:Targeted", {})
ANNEALED = ("curricula.annealed:Annealed", {"pool": "pool.jsonl"})
UNIFORM = ("curricula.uniform:Uniform", {})

WINDOW_FILE, CACHE_FILE, CHUNKS_FILE = (
    "attention/window.py",
    "attention/keyvalue.py",
    "attention/chunks.py",
)
LOCAL = ("attention.local:Local", {"window": 3})
PATTERN = ("attention.local_global:LocalGlobal", {"window": 3})

ACCURACY_FILE = "rewards/accuracy.py"
ACCURACY = ("rewards.accuracy:Accuracy", {})

COSINE = ("schedules.cosine:Cosine", {})
STABLE = ("schedules.warmup_stable_decay:WarmupStableDecay", {})
MUON = ("optimizers.muon:Muon", {})
ADAMW = ("optimizers.adamw:AdamW", {"weight_decay": 0.1})
JSONL = ("loggers.jsonl:JSONL", {})
SEALED_FILE, SUMS = "benchmarks/sealed.py", ("benchmarks.limite_sums:LimiteSums", {})

EXACT_FILE = "../problems/verifiers/exact.py"
EXACT = ("../problems.verifiers.exact:Exact", {})

FAULTS: list[tuple[str, str, str, tuple[str, dict[str, Any]], str]] = [
    # Advantages
    (
        GROUP_FILE,
        "(count - self.std_ddof)",
        "count",
        SCALED,
        "rewards_count_from_their_baseline",
    ),
    (
        GROUP_FILE,
        "result = result * (count / (count - 1))",
        "pass",
        OTHERS,
        "rewards_count_from_their_baseline",
    ),
    (
        GROUP_FILE,
        "if self.centred and is_flat(rewards):",
        "if False:",
        SCALED,
        "equal_rewards_give_nothing",
    ),
    (
        GROUP_FILE,
        "rewards - over.mean",
        "rewards - rewards[0]",
        PLAIN,
        "it_permutes_with_its_rows",
    ),
    (
        GROUP_FILE,
        "there = [reward for reward in rewards if reward is not None]",
        "there = [reward or 0.0 for reward in rewards]",
        PLAIN,
        "unscored_responses_get_nothing",
    ),
    (
        GROUP_FILE,
        "rewards = group.rewards\n",
        "rewards = group.rewards\n        rewards.append(rewards.pop(0))\n",
        PLAIN,
        "the_same_group_gives_the_same_bits",
    ),
    (
        GAE_FILE,
        "            after=after,\n",
        "            after=torch.tensor([row[-1] for row in group.values]),\n",  # no end has come
        GAE,
        "values_that_know_the_end_leave_no_credit",
    ),
    (
        GAE_FILE,
        "pad_rows(group.values, mask.shape[1], torch.float64),",
        "pad_rows([[*row[1:], 0.0] for row in group.values], mask.shape[1], torch.float64),",
        GAE,  # off by one: the value after a token in place of the one before it
        "values_that_know_the_end_leave_no_credit",
    ),
    (
        GAE_FILE,
        "pad_rows(group.values, mask.shape[1], torch.float64),",
        "pad_rows([row[:1] * len(row) for row in group.values], mask.shape[1], torch.float64),",
        GAE,
        "credit_knows_nothing_of_earlier_values",
    ),
    (
        GAE_FILE,
        "        0 if reward is None else",
        "        0 if False else",
        GAE,
        "unscored_responses_get_nothing",
    ),
    # Schedules of rollouts
    (
        GROUPS_FILE,
        "        responses[index] = response\n",
        "        responses[responses.index(None)] = response\n",  # as they finish
        EPISODES,
        "keeps_every_response_as_sampled",
    ),
    (
        GROUPS_FILE,
        "for at, group in enumerate(groups)\n",
        "for at, group in enumerate(groups[:-1])\n",
        EPISODES,
        "gives_whole_groups",
    ),
    (
        GROUPS_FILE,
        "for at, group in enumerate(groups)\n",
        "for at, group in reversed([*enumerate(groups)])\n",
        EPISODES,
        "keeps_the_order_of_asking",
    ),
    (
        OVERSAMPLE_FILE,
        "            dropped=[group for at, group in enumerate(groups) if at not in kept],\n",
        "",
        ("rollout_schedules.oversample:Oversample", {"factor": 2.0}),
        "accounts_for_all_it_asked_for",
    ),
    (
        OVERSAMPLE_FILE,
        'self._batches = int(state["batches"])',
        "self._batches = 0",
        ("rollout_schedules.oversample:Oversample", {"factor": 2.0}),
        "restored_equals_never_stopped",
    ),
    (
        OVERSAMPLE_FILE,
        "[group for at, group in enumerate(groups) if at in kept]",
        "[groups[at] for at in kept] + [groups[0]]",
        ("rollout_schedules.oversample:Oversample", {"factor": 2.0}),
        "gives_whole_groups",
    ),
    (
        DYNAMIC_FILE,
        "if len(kept) == self._groups:",
        "if len(kept) >= 1:",
        ("rollout_schedules.dynamic:Dynamic", {}),
        "gives_whole_groups",
    ),
    (
        DYNAMIC_FILE,
        "room and has_contrast(group)",
        "room and not has_contrast(group)",
        ("rollout_schedules.dynamic:Dynamic", {}),
        "keeps_groups_with_contrast",
    ),
    (
        BUFFER_FILE,
        "sorted(carried, key=lambda each: each.asked)",
        "carried",
        BUFFER,
        "keeps_the_order_of_asking",
    ),
    (
        BUFFER_FILE,
        "abandoned = (len(begun) - len(complete)) * self._rollouts",
        "abandoned = 0",
        BUFFER,
        "accounts_for_all_it_asked_for",
    ),
    (
        BUFFER_FILE,
        'self._carried = [Carried(**each) for each in state["carried"]]',
        "",
        ("rollout_schedules.fill_buffer:FillBuffer", {"discard": False}),
        "restored_equals_never_stopped",
    ),
    (
        BUFFER_FILE,
        "and len(begun) < most)",
        ")",
        ("rollout_schedules.fill_buffer:FillBuffer", {"discard": False, "ahead": 4.0}),
        "is_neither_later_nor_more_than_it_says",
    ),
    # Curricula
    (RATE_FILE, '        self._step = state["step"]\n', "", RATE, "restored_equals_never_stopped"),
    (
        RATE_FILE,
        "        self._attempts = [float(state",
        "        self._successes = [float(state",
        RATE,
        "restored_equals_never_stopped",
    ),
    (
        RATE_FILE,
        '        return {\n            "step"',
        '        self._attempts[0] += 1.0\n        return {\n            "step"',
        RATE,
        "saving_changes_nothing",
    ),
    (
        UNIFORM_FILE,
        "    for tooth in range(count):",
        "    for tooth in range(count - 1):",
        UNIFORM,
        "draws_what_is_asked",
    ),
    (
        UNIFORM_FILE,
        "    shift = rng.random()\n",
        "    shift = random.random()\n",
        UNIFORM,
        "the_same_seed_draws_the_same",
    ),
    (
        TARGETED_FILE,
        'self._step = state["step"]',
        "self._step = None",
        TARGETED,
        "restored_equals_never_stopped",
    ),
    (
        TARGETED_FILE,
        "stream, self._taken)",
        "stream, set())",
        TARGETED,
        "no_problem_comes_twice",
    ),
    (
        ANNEALED_FILE,
        "weighted_sample(self._pool, wanted, stream, self._taken)",
        "weighted_sample(self._pool, wanted, stream, set())",
        ANNEALED,
        "no_problem_comes_twice",
    ),
    (
        ANNEALED_FILE,
        "            self._step, self._taken, self._asked = step, set(), 0",
        "            self._step, self._asked = step, 0",
        ANNEALED,
        "restored_equals_never_stopped",
    ),
    # Attention
    (
        WINDOW_FILE,
        "            window=self.window,\n            segments=layout,\n",
        "            window=self.window and self.window + 1,\n            segments=layout,\n",
        LOCAL,
        "a_token_sees_its_window",
    ),
    (
        WINDOW_FILE,
        "            slots = min(slots, self.window)\n",
        "            slots = min(slots, max(1, self.window - 1))\n",
        LOCAL,
        "cached_equals_uncached",
    ),
    (WINDOW_FILE, "            segments=layout,\n", "", LOCAL, "rows_have_no_effect_on_each_other"),
    (
        CACHE_FILE,
        "            slot = moment.lengths - 1\n",
        "            slot = moment.lengths\n",
        LOCAL,
        "cached_equals_uncached",
    ),
    (
        CACHE_FILE,
        "self.values.index_select(0, rows),",
        "self.values[: len(rows)].clone(),",
        LOCAL,
        "a_cache_gives_and_repeats_rows",
    ),
    (
        CACHE_FILE,
        "        self.values.index_copy_(0, rows, source.values)\n",
        "",
        LOCAL,
        "a_cache_takes_rows_over",
    ),
    (
        CHUNKS_FILE,
        "held = position[:, :past].clamp(min=0) % slots",
        "held = (position[:, :past] + 1).clamp(min=0) % slots",
        PATTERN,
        "cached_equals_uncached",
    ),
    (CHUNKS_FILE, "there = (position >= 0) & (", "there = (", PATTERN, "cached_equals_uncached"),
    # Verifiers
    (
        EXACT_FILE,
        "        if gold != given:\n",
        "        if gold[-1] != given[-1]:\n",
        EXACT,
        "another_value_is_wrong",
    ),
    (
        EXACT_FILE,
        "        if gold != given:\n",
        "        if str(gold[-1]) not in str(given[-1]):\n",
        EXACT,
        "containing_the_gold_is_not_enough",
    ),
    (
        EXACT_FILE,
        '            return Verdict(outcome="wrong", reason="more than one answer marker")\n',
        "            pass\n",
        EXACT,
        "long_texts_get_a_verdict",
    ),
    (
        EXACT_FILE,
        '    return (match[1] not in ("", "+") and match[2] != "0", match[2])',
        "    return (int(match[1] + match[2]),)",
        EXACT,
        "long_texts_get_a_verdict",
    ),
    (
        EXACT_FILE,
        "        if gold is None:\n",
        '        if gold is given:\n            return Verdict(outcome="right")\n'
        "        if gold is None:\n",
        EXACT,
        "an_unreadable_gold_pays_nothing",
    ),
    # Rewards
    (
        ACCURACY_FILE,
        "            return None\n",
        '            return float("nan")\n',
        ACCURACY,
        "is_total",
    ),
    (
        ACCURACY_FILE,
        "        return 1.0 if verdict.correct else 0.0",
        "        return 1.0 if verdict.correct else float(id(response))",
        ACCURACY,
        "is_deterministic",
    ),
    # Learning rates
    (
        "schedules/cosine.py",
        "math.pi * min(done, 1.0)",
        "2.0 * math.pi * min(done, 1.0)) - (1.0",
        COSINE,
        "it_is_finite_and_not_negative",
    ),
    (
        "schedules/warmup_stable_decay.py",
        "if decay_steps else 1.0",
        "if total_steps > 3 else 1.0 / (decay_steps - 1)",
        STABLE,
        "it_is_finite_and_not_negative",
    ),
    # Optimizers
    (
        "optimizers/muon.py",
        "parameter.add_(update, alpha=-group",
        "parameter.add_(update, alpha=group",
        MUON,
        "the_first_step_goes_downhill",
    ),
    (
        "optimizers/muon.py",
        "        if others:\n",
        "        if not matrices:\n",
        MUON,
        "it_trains_every_parameter_once",
    ),
    (
        "optimizers/muon.py",
        "        self._adamw = self._inner_adamw()  # groups and state are new objects now\n",
        "        self.state.clear()\n",
        MUON,
        "its_state_goes_through_a_checkpoint",
    ),
    (
        "optimizers/adamw.py",
        '            group["initial_lr"] = group["lr"]\n',
        "            pass\n",
        ADAMW,
        "it_trains_every_parameter_once",
    ),
    # Loggers
    (
        "loggers/jsonl.py",
        "        append_jsonl(self.place,",
        "        append_jsonl(self.place.parent.parent / 'metrics.jsonl',",
        JSONL,
        "accepts_any_finite_metrics",
    ),
    (
        "loggers/jsonl.py",
        "        names = sorted(metrics,",
        "        metrics.pop('tokens', None)\n        names = sorted(metrics,",
        JSONL,
        "leaves_metrics_alone",
    ),
    # Benchmarks
    (
        SEALED_FILE,
        'self._told("file"), distinct=True)',
        'self._told("file"), distinct=True)[:-1]',
        SUMS,
        "they_are_what_the_seal_says",
    ),
    (
        SEALED_FILE,
        'self._told("file"), distinct=True)',
        'self._told("file"), distinct=True) * 2',
        SUMS,
        "no_problem_is_there_twice",
    ),
    (
        SEALED_FILE,
        'return files.read_problems(FOLDER / self._told("file"), distinct=True)',
        "import random\n\n"  # whose state others move
        "        found = files.read_problems(FOLDER / self._told('file'))\n"
        "        return random.sample(found, len(found))",
        SUMS,
        "they_are_the_same_every_time",
    ),
    (
        SEALED_FILE,
        'return files.read_problems(FOLDER / self._told("file"), distinct=True)',
        "return []",
        SUMS,
        "there_are_problems_with_answers",
    ),
]
