"""Results of evaluations, counted and graded again from the responses that were kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from limite.core.errors import LimiteError
from limite.core.jsonl import read_json
from limite.core.kinds import Verifier
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.stages import Eval, Stage
from limite.core.recipe.verify.finding import Findings
from limite.core.recipe.verify.measured import measured_faults
from limite.core.recipe.verify.stage import check_left
from limite.core.recipe.verify.told import check_against, check_figures, check_tasks
from limite.core.rollout.budget import reasoning_is_closed
from limite.core.rollout.grading import verdicts_on
from limite.core.types import Answer, Problem

RESULTS, RESPONSES = "results.json", "responses.jsonl.zst"
STATUS = {"right": "ok", "wrong": "ok", "unreadable": "no_answer", "timed-out": "timeout"}
"""What records call the outcome of a verdict."""


def check_left_by_eval(folder: Path, findings: Findings) -> None:
    """A finished evaluation has results and responses, and so has every task of a suite."""
    check_left(folder / RESULTS, "an evaluation has results", True, findings)
    if not (folder / RESULTS).is_file():
        return
    with findings.around(folder / RESULTS):
        results = read_json(folder / RESULTS)
        if "suite" in results:
            for task in results["tasks"]:
                check_left(folder / task / RESULTS, "the suite has this task", True, findings)
                check_left(folder / task / RESPONSES, "the suite has this task", True, findings)
        else:
            why = f"{RESULTS} has {results['total']} responses"
            check_left(folder / RESPONSES, why, True, findings)


def check_results(
    folder: Path, name: str, recipe: Recipe | None, same_code: bool, findings: Findings
) -> None:
    """Results of an evaluation, or of each task of a suite, counted again from the responses.

    Texts and problems hash to what is said of them. Where a stage draws its own problems and has
    a verifier, every text is judged again; by protocols and within suites it is not.
    """
    for place in sorted(folder.glob(f"*/{RESULTS}")):
        check_results(place.parent, name, recipe, same_code, findings)
    if not (folder / RESULTS).is_file() or not (folder / RESPONSES).is_file():
        return
    place = folder / RESULTS
    with findings.around(place):
        results = read_json(place)
        correct = total = 0
        endings: dict[str, int] = {}
        must_end = results["protocol"]["natural_end"]
        lines: list[tuple[int, Mapping[str, Any]]] = []
        for number, line in findings.records(folder / RESPONSES):
            total += 1
            lines.append((number, line))
            correct += line["correct"] is True
            ending = line["finish_reason"]
            endings[ending] = endings.get(ending, 0) + 1
            if line["correct"] and must_end and ending not in ("eos", "stop"):
                findings.wrong(folder / RESPONSES, f"right, and its end is {ending!r}", number)
        findings.counts["responses"] += total
        told = {key: count for key, count in results["endings"].items() if count}
        for what, counted, stated in (
            ("right", correct, results["correct"]),
            ("responses", total, results["total"]),
            ("endings", endings, told),
        ):
            if counted != stated:
                findings.wrong(place, f"{what}: {stated}, and {RESPONSES} has {counted}")
        stage = recipe.stages[name] if recipe is not None else None
        before = len(findings.violations)
        _check_all_there(folder / RESPONSES, lines, results, stage, findings)
        if len(findings.violations) == before:  # figures of a part would all be others
            asked = stage if isinstance(stage, Eval) else None
            records = [line for _, line in lines]
            check_figures(place, records, results, asked, same_code, findings)
        for number, line in lines:
            for fault in measured_faults(line, results["protocol"], recipe):
                findings.wrong(folder / RESPONSES, fault, number)
        _check_again(folder / RESPONSES, lines, name, recipe, must_end, findings)


def check_changes(
    run: RunDirectory, name: str, recipe: Recipe, same_code: bool, findings: Findings
) -> None:
    """The change since the stage that one is compared with; of a suite, that of every task."""
    stage, folder = recipe.stages[name], run.stage(name)
    if not isinstance(stage, Eval) or not (folder / RESULTS).is_file():
        return
    tasks = [""]
    with findings.around(folder / RESULTS):
        whole = read_json(folder / RESULTS)
        if "suite" in whole:
            check_tasks(folder / RESULTS, whole, findings)
            tasks = [*whole["tasks"]]
    for task in tasks:
        place = folder / task / RESULTS
        if not place.is_file():
            continue
        earlier = run.path if stage.against is None else run.stage(stage.against)
        names = (f"{stage.against}/{task}".rstrip("/"), f"{name}/{task}".rstrip("/"))
        with findings.around(place):
            there = earlier / task / RESULTS
            check_against(place, read_json(place), stage, there, names, same_code, findings)


def _check_all_there(
    place: Path,
    lines: Sequence[tuple[int, Mapping[str, Any]]],
    results: Mapping[str, Any],
    stage: Stage | None,
    findings: Findings,
) -> None:
    """Every sample of every problem, once: as many as results, protocol and stage say."""
    seen: dict[tuple[str, int], int] = {}
    samples: dict[str, set[int]] = {}
    for number, line in lines:
        problem, index = line["problem_id"], line["sample_index"]
        first = seen.setdefault((problem, index), number)
        if first != number:
            message = f"sample {index} of problem {problem} a second time; line {first} has it"
            findings.wrong(place, message, number)
        samples.setdefault(problem, set()).add(index)
    told: dict[str, tuple[int | None, int | None]] = {
        RESULTS: (results["problems"], results["samples"]),
        "its protocol": (results["protocol"]["count"], results["protocol"]["samples"]),
    }
    if isinstance(stage, Eval) and stage.suite is None:
        told["its stage"] = (stage.count, stage.samples)
    for who, (problems, _) in told.items():
        if problems is not None and len(samples) != problems:
            findings.wrong(place, f"holds {len(samples)} problems; {who} says {problems}")
            break
    for who, (_, each) in told.items():
        other = [name for name, have in samples.items() if each and have != set(range(each))]
        if other:
            have = sorted(samples[other[0]])
            more = f"; so it is with {len(other)} problems" if len(other) > 1 else ""
            message = f"problem {other[0]} has the samples {have}; {who} says {each} each{more}"
            findings.wrong(place, message)
            break


def _check_again(
    place: Path,
    lines: Sequence[tuple[int, Mapping[str, Any]]],
    name: str,
    recipe: Recipe | None,
    must_end: bool,
    findings: Findings,
) -> None:
    asked = []
    for number, line in lines:
        text = hashlib.sha256(line["text"].encode("utf-8", "surrogatepass")).hexdigest()
        if text != line["text_sha256"]:
            findings.wrong(place, "its text is not what 'text_sha256' says", number)
        answer = Answer(
            type=line["answer_type"], value=line["answer"], params=line["answer_params"]
        )
        if Problem(problem=line["problem"], answer=answer).id != line["problem_id"]:
            findings.wrong(place, "problem and answer are not what 'problem_id' says", number)
        asked.append((answer, line["text"]))
    stage = recipe.stages[name] if recipe is not None else None
    if not isinstance(stage, Eval) or stage.suite is not None or stage.grading is not None:
        return
    try:
        verdicts = verdicts_on(cast(Verifier, stage.verifier), asked)
    except LimiteError as error:
        findings.unseen(f"the responses of stage {name!r} are not judged again", error)
        return
    for (number, line), verdict in zip(lines, verdicts, strict=True):
        was, now = line["grader_status"], STATUS[verdict.outcome]
        if was == "error" or (was != now and "timeout" in (was, now)):
            continue  # it may have been the machine's
        ended = not must_end or (
            line["finish_reason"] in ("eos", "stop") and reasoning_is_closed(line["text"])
        )
        said = [
            f"{what} {then}, not {here}"
            for what, then, here in (
                ("status", was, now),
                ("answer", line["extracted_answer"], verdict.extracted),
                # What a template has opened is not seen in a text: it may be less, never more.
                ("right", line["correct"] and not (verdict.correct and ended), False),
            )
            if then != here
        ]
        if not said and stage.profile is None and verdict.correct and ended and not line["correct"]:
            said = ["right False, not True"]
        if said:
            findings.wrong(place, "graded again it has " + ", ".join(said), number)
