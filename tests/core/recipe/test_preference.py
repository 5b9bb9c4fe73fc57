"""The stage of preference pairs: from files and rollouts, resumed exactly, its files checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from limite.core.errors import LimiteError, SettingsError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.recipe.context import RunStopped, StageContext
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.runners import preference
from limite.core.recipe.runners.pair_data import drawn_pairs
from limite.core.rollout.store import read_groups
from limite.core.seeds import Seeds
from limite.core.separation import text_hash
from limite.plugins.conformance.strategies import group_of

RECIPE = Path(__file__).parent / "pairs.toml"


def quiet(_line: str) -> None:
    """Says nothing."""


def pair(number: int) -> dict[str, str]:
    """A question that no other number has, with a right and a wrong answer of unequal length."""
    right = str(number + 1)
    return {"prompt": f"{number}+1=?", "chosen": f"#{right}", "rejected": f"#{right}0"}


PAIRS = [pair(number) for number in range(40)]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pairs") / "pairs.jsonl.zst"
    write_jsonl(place, PAIRS)
    return place


def run(
    out: Path, pairs: Path, *sets: str, name: str | None = None, echo: Any = quiet
) -> RunResult:
    overrides = [f"stages.dpo.pairs={pairs}", *sets]
    return start(RECIPE, out=out, overrides=overrides, name=name, echo=echo)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, pairs: Path) -> RunResult:
    return run(tmp_path_factory.mktemp("whole"), pairs)


def lines_of(result: RunResult, stage: str = "02-dpo") -> list[dict[str, Any]]:
    log = result.path / f"stages/{stage}/metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_it_learns_to_prefer_and_measures_pairs_it_has_not_seen(whole: RunResult) -> None:
    lines = lines_of(whole)
    # At first the policy is its reference, but for rounding.
    assert lines[0]["loss"] == pytest.approx(0.693147, abs=1e-5)
    assert lines[-1]["pair/margin"] > 0.02 > abs(lines[0]["pair/margin"])
    assert lines[-1]["pair/accuracy"] > 0.8
    assert all(line["pair/dropped"] == 0 for line in lines)
    measured = [line["step"] for line in lines if "held_out/accuracy" in line]
    assert measured == [3, 6, 8]
    assert lines[-1]["held_out/margin"] > 0
    receipt = whole.stages["dpo"]
    assert receipt["pairs"] + receipt["held_out_pairs"] == len(PAIRS)
    assert receipt["held_out_pairs"] >= 2
    left = {path.name for path in (whole.path / "stages/02-dpo").iterdir()}
    assert left == {"metrics.jsonl", "receipt.json", "checkpoints"}


def test_any_cut_into_micro_batches_gives_the_same_update(
    whole: RunResult, pairs: Path, tmp_path: Path
) -> None:
    at_once = run(tmp_path, pairs, "stages.dpo.microbatch_tokens=9999")
    for ours, theirs in zip(lines_of(at_once), lines_of(whole), strict=True):
        for name in ("loss", "pair/margin", "optim/gradient_norm"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-3, abs=1e-5), name


def test_a_precomputed_reference_gives_the_same_bits(
    whole: RunResult, pairs: Path, tmp_path: Path, digest: Any
) -> None:
    stored = run(tmp_path, pairs, "stages.dpo.precompute_reference=true")
    assert digest(stored.path) == digest(whole.path)


def test_the_reference_may_be_any_earlier_stage(
    whole: RunResult, pairs: Path, tmp_path: Path, digest: Any
) -> None:
    named = run(tmp_path, pairs, "stages.dpo.reference=sft")
    assert digest(named.path) == digest(whole.path)


@pytest.mark.parametrize("precomputed", ["true", "false"])
def test_a_stopped_stage_goes_on_to_the_same_bits(
    whole: RunResult,
    pairs: Path,
    tmp_path: Path,
    digest: Any,
    monkeypatch: pytest.MonkeyPatch,
    precomputed: str,
) -> None:
    update = preference.update

    def stop_in_the_fifth(session: Any, *rest: Any) -> Any:
        if session.clocks.step == 4:
            raise KeyboardInterrupt
        return update(session, *rest)

    monkeypatch.setattr(preference, "update", stop_in_the_fifth)
    with pytest.raises(RunStopped):
        run(tmp_path, pairs, f"stages.dpo.precompute_reference={precomputed}", name="stopped")
    monkeypatch.undo()
    read = 0

    def reads_nothing_again(*_: Any) -> Any:
        nonlocal read
        read += 1
        return iter(())

    monkeypatch.setattr("limite.core.recipe.runners.pair_data.all_pairs", reads_nothing_again)
    go_on(tmp_path / "stopped", echo=quiet)
    assert digest(tmp_path / "stopped") == digest(whole.path)
    assert read == 0


def test_other_pairs_than_before_are_refused(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.jsonl"
    write_jsonl(own, PAIRS)

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(preference, "update", stop)
    with pytest.raises(RunStopped):
        run(tmp_path, own, name="stopped")
    write_jsonl(own, PAIRS[1:])
    with pytest.raises(LimiteError, match=r"files.*own\.jsonl"):
        go_on(tmp_path / "stopped", echo=quiet)


def test_texts_are_cut_and_dropped_as_told(pairs: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    # Prompts of 8 tokens: begin, text, newline.
    texts = [("#1", "#2"), ("#1234", "#2"), ("#1230", "#1234"), ("#12", "#3456")]
    lines = [
        {"prompt": f"{n:02d}+1=?", "chosen": chosen, "rejected": rejected}
        for n, (chosen, rejected) in enumerate(texts * 4)
    ]
    lines.append({"prompt": "1+1+1+1+1+1=?", "chosen": "#6", "rejected": "#7"})
    write_jsonl(own, lines)
    said: list[str] = []
    result = run(tmp_path, own, "stages.dpo.max_tokens=11", echo=said.append)
    receipt = result.stages["dpo"]
    # Three tokens are left: "#1" with its end fits, the others are cut; two come out alike.
    assert (receipt["cut_pairs"], receipt["dropped_pairs"]) == (8, 5)
    assert any("8 cut to 11 tokens; 5 of 17 dropped" in line for line in said)


def test_prompts_it_trains_on_are_known_to_evaluations(
    whole: RunResult, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []
    update = preference.update

    def look(session: Any, *rest: Any) -> Any:
        context: StageContext = session.context
        seen.append(preference.training_hashes(context))
        return update(session, *rest)

    monkeypatch.setattr(preference, "update", look)
    run(tmp_path, pairs, "stages.dpo.steps=1")
    everything = {text_hash(each["prompt"]) for each in PAIRS}
    assert seen[0] < everything
    assert len(seen[0]) == whole.stages["dpo"]["pairs"]


def test_pairs_of_rollouts_set_right_against_wrong(
    finished: RunResult, tmp_path: Path, digest: Any
) -> None:
    recipe = tmp_path / "again.toml"
    recipe.write_text(
        (finished.path / "recipe.toml").read_text()
        + '\n[stages.dpo]\ntype = "preference"\nrollouts = "rl"\nreference = "sft"\nsteps = 3\n'
        'batch = 4\npairs_per_group = 2\noptimizer = { type = "adamw", lr = 1e-3 }\n'
    )
    results = [start(recipe, out=tmp_path, echo=quiet, name=name) for name in ("one", "two")]
    lines = lines_of(results[0], "05-dpo")
    assert len(lines) == 3
    recorded = sorted((results[0].path / "stages/03-rl/rollouts").iterdir())
    groups = [group for path in recorded for group in read_groups(read_jsonl(path))]
    counts = [len(drawn_pairs(group, 2, Seeds(1))) for group in groups]
    receipt = results[0].stages["dpo"]
    assert receipt["pairs"] + receipt["held_out_pairs"] == sum(counts) > 0
    assert digest(results[0].path) == digest(results[1].path)


def test_a_pair_is_a_right_and_a_wrong_response_that_ended() -> None:
    group = group_of([1.0, 0.0, 1.0, 0.0, None, 0.0, 1.0])
    cut = attrs.evolve(group.responses[3], finish_reason="length")
    responses = [
        attrs.evolve(cut if index == 3 else response, sample_index=index)
        for index, response in enumerate(group.responses)
    ]
    group = attrs.evolve(group, responses=responses)
    drawn = [drawn_pairs(group, most, Seeds(seed)) for seed in range(20) for most in (1, 2, 9)]
    assert {len(pairs) for pairs in drawn} == {1, 2}  # as there are two wrong ones
    for pairs in drawn:
        right, wrong = ([each.sample_index for each in side] for side in zip(*pairs, strict=True))
        assert len(set(right)) == len(right)
        assert set(right) <= {0, 2, 6}
        assert len(set(wrong)) == len(wrong)
        assert set(wrong) <= {1, 5}
    assert drawn_pairs(group, 2, Seeds(3)) == drawn_pairs(group, 2, Seeds(3))
    firsts = [pairs[0][0].sample_index for pairs in drawn]
    assert set(firsts) == {0, 2, 6}


BAD = [
    ("", "the file has no line"),
    ('{"prompt": "1", "chosen": "2"\n', "own.jsonl:1: not JSON"),
    ('{}\n{"prompt": "1", "chosen": "2"', "own.jsonl:1: lacks the key 'prompt'"),
    ('{}\n{"prompt": "1", "chosen": "2"', "own.jsonl: line 2 is unfinished"),
    ("[1]", "own.jsonl:1: expected an object, got a list"),
    ('{"prompt": "1", "choosen": "2", "rejected": "3"}', "lacks the key 'chosen'; did you mean"),
    ('{"prompt": "1", "chosen": "2", "rejected": "2"}', "are the same text"),
    ('{"prompt": "1", "chosen": "2", "rejected": ""}', "rejected: the text is empty"),
    ('{"prompt": "1", "chosen": 2, "rejected": "3"}', "chosen: expected text, got the number 2"),
    ('{"prompt": "1", "prompt": "2", "chosen": "3", "rejected": "4"}', "is there twice"),
    ('{"prompt": "ä", "chosen": "2", "rejected": "3"}', "own.jsonl:1: the tokenizer's alphabet"),
    ('{"prompt": [], "chosen": "2", "rejected": "3"}', "the conversation is empty"),
    (
        '{"prompt": [{"role": "usr", "content": "1"}], "chosen": "2", "rejected": "3"}',
        "prompt[0]: the role must be one of",
    ),
    (
        '{"prompt": [{"role": "user", "content": "1"}], "chosen": "2", "rejected": "3"}',
        "has no chat template",
    ),
    (
        json.dumps({"prompt": "1" * 40, "chosen": "2", "rejected": "3"}),
        "stages.dpo.max_tokens",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_files_are_told_before_anything_runs(tmp_path: Path, text: str, message: str) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        run(tmp_path / "runs", own)
    assert message in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_every_bad_line_is_counted_and_the_first_are_told(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    good, bad = json.dumps(PAIRS[0]), json.dumps({"prompt": "1", "chosen": "2"})
    own.write_text("\n".join([good, bad] * 14), encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        run(tmp_path / "runs", own)
    told = [str(each) for each in caught.value.mistakes]
    assert [line.split(":")[1] for line in told[:10]] == [str(2 * n) for n in range(1, 11)]
    assert told[10].endswith("4 more lines are wrong")


SETS = [
    (["stages.dpo.pairs=nowhere.jsonl"], "stages.dpo.pairs: nowhere.jsonl: no such file"),
    (["stages.dpo.rollouts=sft"], "or are 'sampled'; pairs and rollouts are given"),
    (["stages.dpo.max_tokens=33"], "stages.dpo.max_tokens: must be at most the model's context"),
    (["stages.dpo.reference=sff"], "unknown stage 'sff'; did you mean 'sft'"),
    (["stages.dpo.objective=grpo"], "'grpo' compares no pairs of responses"),
    (["stages.dpo.optimizer.lr=-1"], "stages.dpo.optimizer.lr"),
]


@pytest.mark.parametrize(("sets", "message"), SETS, ids=[message for _, message in SETS])
def test_contradictions_are_told(
    pairs: Path, tmp_path: Path, sets: list[str], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        run(tmp_path / "runs", pairs, *sets)
    assert message in str(caught.value)


def test_rollouts_must_be_of_a_stage_that_samples(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the stage 'sft' does not record responses"):
        start(RECIPE, out=tmp_path, overrides=["stages.dpo.rollouts=sft"], echo=quiet)
    with pytest.raises(SettingsError, match="none is given"):
        start(RECIPE, out=tmp_path, echo=quiet)
