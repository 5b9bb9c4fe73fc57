"""What ``limite eval`` does once its options are read. Importing this module reaches torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.errors import Gathered, LimiteError, RunFailed
from limite.core.jsonl import read_json, read_jsonl, write_atomic, write_json
from limite.core.kinds import Verifier
from limite.evaluate import measured
from limite.evaluate.compare import paired_difference
from limite.evaluate.exchange.files import WRITERS
from limite.evaluate.journal import RESPONSES
from limite.evaluate.listed import overlap_of
from limite.evaluate.measured import Asked
from limite.evaluate.models import LocalModel, Model
from limite.evaluate.page import PAGE, render
from limite.evaluate.problem_sets import (
    ProblemSet,
)
from limite.evaluate.profiles import Profile
from limite.evaluate.protocol import refuse_other_protocol
from limite.evaluate.significance import holm
from limite.evaluate.stage import grader_of
from limite.evaluate.told import lines, short
from limite.evaluate.wanted import SUMMARY, Wanted, named_models, named_problems
from limite.problems.gen.policies import INSTRUCTION

TABLE = "table.txt"
SAMPLES = 4


Say = Callable[[str], object]


def evaluate(
    wanted: Wanted,
    more: Callable[[], Sequence[Model]],
    note: Say,
    tell: Say,
    read: Callable[[Verifier], ProblemSet] | None = None,
    wrong: Gathered | None = None,
) -> dict[str, Any]:
    """Measures all models that were named, and ``more``; gives the summary it has written.

    ``read`` gives the problems, where they are none that ``benchmark`` would be read as. What is
    ``wrong`` already is told together with what is found here, before anything is asked.
    """
    wrong = wrong or Gathered()
    wanted, earlier, local, served = named_models(wanted, more, wrong)
    models: list[Model] = [*local[: len(wanted.models)], *served, *local[len(wanted.models) :]]
    names = [each.name for each in models]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            wrong.add(f"{name} is named twice; a model is measured once")
    verifier, problems = named_problems(wanted, local, read, wrong)
    wrong.refuse()
    assert verifier is not None
    assert problems is not None
    for model in models:
        for text in model.notes:
            note(f"{model.name}: {text}")
    samples = wanted.terms.samples or problems.samples or SAMPLES
    wanted = attrs.evolve(wanted, terms=attrs.evolve(wanted.terms, samples=samples))
    if wanted.terms.temperature == 0 and samples > 1:
        raise LimiteError(f"--samples {samples}: at temperature 0 they would all be the same one")
    asked = _asked(wanted, models, local, problems, verifier)
    if wanted.expect is not None:
        for each in asked:
            _as_expected(each, wanted.expect)
    mismatch = _mismatch(wanted, asked, earlier)
    out = wanted.out
    if out is None:
        terms = measured.same_terms(asked[0].protocol)
        out = Path("evals") / f"{problems.name}-{terms[:8]}"
    results = []
    for each in asked:
        overlap = overlap_of(problems.problems, each.model.run, wanted.training)
        tell(f"{each.model.name}: {overlap['text']}")
        found = _measure(each, out, problems, verifier, overlap, wanted.confidence, tell)
        results.append(found)
        _export(each, out, found, wanted.exports)
    before = earlier or (results[-1] if wanted.against is not None else None)
    after = results[: len(wanted.models) + len(served)]
    comparisons = [] if before is None else [_compared(before, each, wanted) for each in after]
    adjusted = holm([each["p_value"] for each in comparisons])
    for found, p_value in zip(comparisons, adjusted, strict=True):
        found["p_value_holm"] = p_value
    shown = [
        (found, out / each.folder / RESPONSES) for each, found in zip(asked, results, strict=True)
    ]
    base = len(shown) - 1
    if earlier is not None and earlier["model"] in names:
        base = names.index(earlier["model"])
    elif earlier is not None:
        shown.append((earlier, Path(str(wanted.against)) / RESPONSES))
        base += 1
    table = "\n".join(lines([found for found, _ in shown], comparisons, mismatch)) + "\n"
    pairs = [(found, base, number) for number, found in enumerate(comparisons)]
    summary = {
        "out": str(out),
        "mismatch": mismatch or None,
        "models": results,
        "comparisons": comparisons,
    }
    write_json(out / SUMMARY, summary)
    write_atomic(out / TABLE, table)
    write_atomic(out / PAGE, render(shown, pairs, mismatch))
    return {**summary, "text": table}


def _asked(
    wanted: Wanted,
    models: Sequence[Model],
    local: Sequence[LocalModel],
    problems: ProblemSet,
    verifier: Verifier,
) -> list[Asked]:
    instruction = wanted.instruction
    if instruction is None:
        # A run is asked as it was trained, and so is what it is compared with.
        instruction = "" if any(each.run is not None for each in local) else INSTRUCTION
    grader = grader_of(verifier, load_registry())
    asked = []
    for model in models:
        profile = Profile.of(
            wanted.profile or model.default_profile,
            instruction=instruction,
            system=wanted.system,
            shots=wanted.shots,
            stops=wanted.stops,
            asked=problems.problems,
            questions=problems.questions if wanted.instruction is None else None,
            thinking=wanted.thinking,
        )
        asked.append(
            Asked.of(
                model,
                problems.problems,
                profile,
                wanted.terms,
                grader=grader,
                natural_end=wanted.natural_end,
            )
        )
    return asked


def _as_expected(asked: Asked, path: Path) -> None:
    """Refuses a prompt that is not, id for id, what an earlier evaluation has shown."""
    try:
        example = read_json(path)["profile"]["example"]
        problem, prompt = example["problem_id"], example["prompt"]
    except (KeyError, TypeError):
        raise LimiteError(f"--expect: {path} is no results.json of limite eval") from None
    shown = next((each.shown for each in asked.prompts if each.problem.id == problem), None)
    if shown is None:
        raise LimiteError(f"--expect: {path} shows problem {problem}, which is not asked here")
    ours = shown if isinstance(shown, str) else list(shown)
    if ours != prompt:
        pairs = zip(ours, prompt, strict=False)
        at = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
        where = f"from place {at}" if at is not None else f"in length: {len(prompt)}, {len(ours)}"
        raise LimiteError(
            f"--expect: {asked.model.name} is shown another prompt for problem {problem} than in "
            f"{path}: they differ {where}"
        )


def _mismatch(wanted: Wanted, asked: Sequence[Asked], earlier: Any) -> str:
    """Refuses a comparison under two protocols, or says what it is worth.

    Scores of two profiles are never subtracted, whatever is allowed.
    """
    if wanted.against is None:
        return ""
    base = earlier or {
        "protocol_id": asked[-1].protocol.id,
        "protocol": asked[-1].protocol.record(),
    }
    told = ""
    for each in asked if earlier else asked[:-1]:
        ours: dict[str, Any] = {"protocol_id": each.protocol.id, "protocol": each.protocol.record()}
        mine, other = each.profile.record, base["protocol"]["profile"]
        if mine["id"] != other["id"]:
            raise LimiteError(
                f"{each.model.name} would be asked by the profile {mine['kind']} and "
                f"{wanted.against} by {other['kind']}, or with other words around the question: "
                "scores of two profiles are never subtracted; --profile gives both the same one"
            )
        for term, what in (
            ("problems", "other problems"),
            ("samples", "another number of samples"),
        ):
            if ours["protocol"][term] != base["protocol"][term]:
                raise LimiteError(
                    f"{each.model.name} cannot be compared with {wanted.against}, which was asked "
                    f"{what}: nothing pairs them"
                )
        try:
            refuse_other_protocol(
                ours, base, our_name=each.model.name, their_name=str(wanted.against)
            )
        except LimiteError as error:
            if not wanted.allow_mismatch:
                raise LimiteError(
                    f"{error}; --allow-protocol-mismatch compares them all the same, and says so"
                ) from None
            told = f"PROTOCOL MISMATCH: {error}"
    return told


def _measure(
    asked: Asked,
    out: Path,
    problems: ProblemSet,
    verifier: Verifier,
    overlap: Mapping[str, Any],
    confidence: float,
    tell: Say,
) -> dict[str, Any]:
    journal = asked.journal(out)
    try:
        before = len(journal.known)
        total = asked.protocol.count * asked.protocol.samples
        if before and before < total:
            tell(f"{asked.model.name}: {before:,} of {total:,} responses are there already")
        try:
            measured.sample(asked, journal, lambda done: tell(f"{done:,} of {total:,} responses"))
        except KeyboardInterrupt:
            measured.write_unfinished(asked, journal)
            raise KeyboardInterrupt(
                f"stopped after {len(journal.known):,} of {total:,} responses of "
                f"{asked.model.name}; the same command goes on from them"
            ) from None
        except Exception:
            measured.write_unfinished(asked, journal)
            raise
        if not journal.complete:
            state = measured.write_unfinished(asked, journal)
            why = ", ".join(f"{count:,} {text}" for text, count in asked.model.failures.items())
            raise RunFailed(
                f"{asked.model.name}: {state['recorded_samples']:,} of "
                f"{state['expected_samples']:,} responses came ({why}), and a part has no score; "
                "the same command asks for the others"
            )
        graded = measured.grade(asked, journal, verifier)
        results = measured.results_of(asked, graded, problems, overlap, confidence, verifier)
        measured.write(asked, journal, graded, results)
        return results
    finally:
        journal.close()


def _export(asked: Asked, out: Path, results: Mapping[str, Any], layouts: Sequence[str]) -> None:
    """Writes one model's responses as other tools do."""
    if not layouts:
        return
    prompts = {each.problem.id: asked.profile.text(each.problem) for each in asked.prompts}
    responses = list(read_jsonl(out / asked.folder / RESPONSES))
    for layout in dict.fromkeys(layouts):
        WRITERS[layout](out / layout, results, responses, prompts)


def _compared(before: Mapping[str, Any], after: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    if wanted.allow_mismatch:  # told in the first line; see _mismatch
        before = {**before, "protocol_id": after["protocol_id"]}
    return {
        **paired_difference(
            before,
            after,
            before_name=short(before),
            after_name=short(after),
            confidence=wanted.confidence,
        ),
        "after": short(after),
    }
