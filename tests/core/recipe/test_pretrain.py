"""The stage that learns from streamed texts, and continuations of it that feed a soup."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.jsonl import write_jsonl
from limite.core.recipe import pretrain_checks
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.load import load_recipe
from limite.core.recipe.pretrain_checks import look_at_source
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import evaluation_seeds
from limite.core.recipe.runners import pretrain
from limite.core.recipe.runners.pretrain_data import Forbidden, measured_pieces
from limite.core.recipe.verify import verify_run
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.data.token_documents import document_of

RECIPE = Path(__file__).parent / "pretrain.toml"
STAGES = ("base", "slow", "fast")
TOKENIZER = CharacterTokenizer()


def quiet(_line: str) -> None:
    """Says nothing."""


def text_of(number: int) -> str:
    """A text of a small language: words that follow each other by a rule."""
    stream = Seeds(number).stream("text")
    words = {"ab": ["cd", "ef"], "cd": ["ab"], "ef": ["gh"], "gh": ["ab", "ab"]}
    said = [stream.choice(sorted(words))]
    while len(said) < 4 + number % 5:
        said.append(stream.choice(words[said[-1]]))
    return " ".join([str(number), *said])


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts in two sources, some to be measured, and in one a problem that is asked later."""
    folder = tmp_path_factory.mktemp("texts")
    write_jsonl(folder / "a.jsonl", [{"text": text_of(number)} for number in range(60)])
    ids = [list(TOKENIZER.encode(text_of(number))) for number in range(60, 80)]
    asked = f"here\n{asked_problems()[0]}\nfollows"
    write_jsonl(folder / "b.jsonl.zst", [*({"ids": each} for each in ids), {"text": asked}])
    write_jsonl(folder / "v.jsonl", [{"text": text_of(number)} for number in range(55, 70)])
    return folder


def asked_problems() -> list[str]:
    """What the last stage asks."""
    stages = [f"stages.{name}.sources={{ 'a.jsonl' = 1 }}" for name in STAGES]
    recipe = load_recipe(RECIPE, stages, load_registry()).recipe
    stage: Any = recipe.stages["after"]
    found = held_out_problems(stage, load_registry(), evaluation_seeds(recipe, "after"))
    return [problem.problem for problem in found]


def sets(texts: Path) -> list[str]:
    sources = f'{{ "{texts}/a.jsonl" = 3, "{texts}/b.jsonl.zst" = 1 }}'
    return [
        *(f"stages.{name}.sources={sources}" for name in STAGES),
        f"stages.base.validation={texts}/v.jsonl",
    ]


def run(out: Path, texts: Path, *more: str, **options: Any) -> RunResult:
    return start(RECIPE, out=out, overrides=[*sets(texts), *more], echo=quiet, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, texts: Path) -> RunResult:
    return run(tmp_path_factory.mktemp("whole"), texts)


def lines_of(result: RunResult, stage: str = "01-base") -> list[dict[str, Any]]:
    log = result.path / "stages" / stage / "metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


def unigram_entropy() -> float:
    """Of the targets of all texts, in nats: what a model that reads no context comes down to."""
    counts: Counter[str] = Counter()
    for number in range(80):
        counts.update([*text_of(number), "<end>"])
    total = sum(counts.values())
    return -sum(each / total * math.log(each / total) for each in counts.values())


def test_it_learns_more_than_how_often_tokens_come(whole: RunResult) -> None:
    lines = lines_of(whole)
    assert [line["tokens"] for line in lines] == [600 * each for each in range(1, 13)]
    assert lines[0]["loss"] > 3.5  # of 55 ids, nearly all alike: ln 55 is 4.0
    assert [line["step"] for line in lines if "held_out/loss" in line] == [5, 10, 12]
    assert lines[-1]["held_out/loss"] < lines[4]["held_out/loss"] < lines[0]["loss"]
    assert lines[-1]["held_out/loss"] < unigram_entropy()


def test_the_receipt_tells_what_was_read_and_left_out(whole: RunResult) -> None:
    told = whole.stages["base"]
    first, second = told["sources"]
    assert first["targets"] + second["targets"] >= told["tokens"] == 7200
    assert abs(first["targets"] - 3 * second["targets"]) < 300
    # Five of the first source are measured, and so are five of the second, which has a problem
    # that is asked as well.
    assert first["left_out_documents"] >= 5 * first["passes"] > 0
    assert second["left_out_documents"] >= 6 * second["passes"] > 0
    assert told["held_out_tokens"] == 200
    assert whole.results["after"]["problems"] == 4
    assert verify_run(whole.path).violations == []


def test_nothing_that_is_measured_or_asked_is_trained_on(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    rows_of = pretrain.rows_of

    def look(pieces: Any) -> Any:
        said.extend(TOKENIZER.decode(piece.tolist()) for piece in pieces)
        return rows_of(pieces)

    monkeypatch.setattr(pretrain, "rows_of", look)
    run(tmp_path, texts, "stages.base.steps=3", "stages.base.eval_tokens=9999", only=["base"])
    measured = [text_of(number) for number in range(55, 70)]
    assert said[: len(measured)] == measured  # rows that are measured are made once, at first
    trained = said[len(measured) :]
    assert len(trained) > 60
    assert not set(trained) & set(measured)
    assert not any("=" in each for each in trained)


def test_continuations_differ_and_their_average_goes_on(whole: RunResult) -> None:
    def weights(stage: str, step: int) -> dict[str, torch.Tensor]:
        place = whole.path / "stages" / stage / "checkpoints" / f"step-{step:06d}"
        return dict(read_checkpoint(place).payloads["model"])

    parts = [weights("01-base", 12), weights("02-slow", 2), weights("03-fast", 2)]
    soup = weights("04-soup", 1)
    for name, mean in soup.items():
        wanted = sum(part[name].double() for part in parts) / 3
        torch.testing.assert_close(mean, wanted.float(), rtol=1.2e-7, atol=1e-9)
    assert [whole.stages[name]["start"]["stage"] for name in ("slow", "fast")] == ["base"] * 2
    assert whole.stages["after"]["start"]["stage"] == "soup"
    slow, fast = (lines_of(whole, stage)[0] for stage in ("02-slow", "03-fast"))
    assert slow["loss"] != fast["loss"]  # other seeds, other texts
    assert fast["optim/lr"] == pytest.approx(4 * slow["optim/lr"])


def test_a_stopped_stage_goes_on_to_the_same_bits(
    whole: RunResult,
    texts: Path,
    tmp_path: Path,
    digest: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    applied = pretrain.update

    def stop(session: Any, *rest: Any) -> Any:
        if session.clocks.step == 7:
            raise KeyboardInterrupt
        return applied(session, *rest)

    monkeypatch.setattr(pretrain, "update", stop)
    with pytest.raises(RunStopped):
        run(tmp_path, texts, name="stopped", only=["base"])
    monkeypatch.setattr(pretrain, "update", applied)
    go_on(tmp_path / "stopped", echo=quiet)
    ours = digest(tmp_path / "stopped")
    assert ours == {name: each for name, each in digest(whole.path).items() if "/01-" in name}
    assert any(name.endswith("stream.safetensors") for name in ours)


def test_any_cut_into_micro_batches_gives_the_same_update(
    whole: RunResult, texts: Path, tmp_path: Path
) -> None:
    more = ("stages.base.microbatch_tokens=9999", "stages.base.steps=2")
    at_once = run(tmp_path, texts, *more, only=["base"])
    for ours, theirs in zip(lines_of(at_once)[:1], lines_of(whole)[:1], strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-5)
        assert ours["optim/gradient_norm"] == pytest.approx(theirs["optim/gradient_norm"], rel=1e-3)


def test_the_plan_tells_tokens_updates_and_passes(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(*more: str) -> Any:
        return check_file(RECIPE, [*sets(texts), *more], load_registry())[1].stages[0]

    found = plan()
    assert (found.updates, found.trained_tokens) == (12, 7200)
    assert "12 updates of 600 targets, 7,200 in all" in found.notes[0]
    assert "a.jsonl: 55 documents, " in found.notes[1]
    assert "5 documents left out" in found.notes[1]
    assert "b.jsonl.zst: 15 documents, " in found.notes[2]
    assert "25.0% of the stream" in found.notes[2]
    assert plan("stages.base.microbatch_tokens=60").memory_bytes < found.memory_bytes
    assert "524,288 targets" in plan("stages.base.batch_tokens=524288").notes[0]


def test_of_large_sources_a_part_is_read(texts: Path) -> None:
    everything = look_at_source(str(texts / "a.jsonl"), TOKENIZER, Forbidden(tokenizer=TOKENIZER))
    assert (everything.exact, everything.documents, everything.share) == (True, 60, 1.0)
    part = look_at_source(
        str(texts / "a.jsonl"), TOKENIZER, Forbidden(tokenizer=TOKENIZER), checked=20
    )
    assert (part.exact, part.documents) == (False, 20)
    assert part.targets == pytest.approx(everything.targets, rel=0.2)


def test_what_is_measured_is_as_much_as_was_asked_for(texts: Path) -> None:
    pieces, hashes = measured_pieces(str(texts / "v.jsonl"), TOKENIZER, targets=60, longest=7)
    assert sum(len(piece) - 1 for piece in pieces) == 60
    assert max(map(len, pieces)) == 8
    assert len(hashes) == 4
    first = document_of({"ids": list(TOKENIZER.encode(text_of(55)))}, TOKENIZER)
    assert first.content_hash(TOKENIZER) in hashes  # a begin token makes no difference


def test_mistakes_of_files_are_told_all_at_once(texts: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"text": "fine"}\n{"txt": "a"}\nnope\n{"ids": [999]}\n', encoding="utf-8")
    more = [f'stages.slow.sources={{ "{wrong}" = 1, "{tmp_path}/gone.jsonl" = 1 }}']
    more += [f"stages.fast.validation={texts}/a.jsonl", f"stages.base.validation={wrong}"]
    more += ["stages.fast.objective=dpo"]
    with pytest.raises(SettingsError) as refused:
        check_file(RECIPE, [*sets(texts), *more], load_registry())
    told = str(refused.value)
    for each in (
        f"{wrong}:2: lacks the key 'text'; did you mean 'txt'",
        f"{wrong}:3: not JSON",
        f"{wrong}:4: ids: the id 999 is outside the vocabulary",
        "there is no file or folder",
        "stages.fast.validation: is a source as well",
        "'dpo' compares pairs of responses, which a pretrain stage does not make",
    ):
        assert each in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("sources={}", "texts come from 'sources', are 'made', or both"),
        ("batch_tokens=0", "batch_tokens"),
        ("shuffle_document=3", "did you mean 'shuffle_documents'"),
    ],
)
def test_mistakes_of_settings_are_told(texts: Path, change: str, told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_file(RECIPE, [*sets(texts), f"stages.base.{change}"], load_registry())
    assert told in str(refused.value)


def test_a_mistake_that_was_not_looked_at_ends_the_run_at_its_line(
    tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / "late.jsonl"
    late.write_text('{"text": "fine"}\n' * 9 + '{"text": 1}\n', encoding="utf-8")
    monkeypatch.setattr(pretrain_checks, "CHECKED", 5)
    look = pretrain_checks.look_at_source
    monkeypatch.setattr(pretrain_checks, "look_at_source", lambda *given: look(*given, checked=5))
    with pytest.raises(LimiteError, match=r"late\.jsonl:10: text: expected text, got the number 1"):
        run(
            tmp_path,
            texts,
            f'stages.base.sources={{ "{late}" = 1 }}',
            "stages.base.shuffle_documents=20",
            only=["base"],
        )
