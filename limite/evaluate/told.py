"""An evaluation as text: what was measured, a row for each model, differences and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from limite.core.recipe.report.words import p_value
from limite.evaluate.compare import SCOPE
from limite.evaluate.shares import share_text

Results = Mapping[str, Any]
HASH_DIGITS = 16
"""Of the hash of weights that ends the name of a model which is here."""


def lines(
    models: Sequence[Results], comparisons: Sequence[Mapping[str, Any]], mismatch: str
) -> Iterator[str]:
    """The whole page. ``mismatch`` is the sentence on protocols that differ, told first."""
    if mismatch:
        yield mismatch
        yield ""
    first = models[0]
    terms = first["protocol"]
    yield (
        f"{first['benchmark']['name']}: {first['problems']:,} problems x {first['samples']} "
        f"samples at temperature {terms['temperature']:g}, {_nucleus(terms)}"
        f"budget: {budget_text(terms)}, "
        f"seed {terms['seed']}"
    )
    yield f"sha256 {first['benchmark']['sha256']}"
    yield ""
    yield from table(
        (
            "MODEL",
            "SCORE",
            f"{100 * first['confidence']:g}% INTERVAL",
            "MAJORITY",
            *_pass_names(first),
        ),
        map(_score, models),
    )
    yield ""
    yield from table(
        ("ENDINGS", "NATURAL", "TRUNCATED", "RIGHT THOUGH CUT", "NO ANSWER", "TIMED OUT", "MIXED"),
        map(_endings, models),
    )
    yield ""
    yield from table(
        ("TOKENS", "MEAN", "MEDIAN", "P95", "RIGHT: MEAN", "MEDIAN", "P95"), map(_lengths, models)
    )
    if any("grading" in each for each in models):
        yield ""
        yield from table(
            ("GRADING", "REFERENCE", "EXACT", "LENIENT", "PERMISSIVE", "FORMAT", "TIMED OUT"),
            [_gradings(each) for each in models if "grading" in each],
        )
    for each in models:
        failed = each["grader"].get("error", 0)
        if failed:
            yield ""
            yield f"{short(each)}: the grader failed on {failed:,} responses, which count as wrong"
        if each["unreliable"]:
            yield ""
            yield f"{short(each)}: UNRELIABLE: the grader failed or was late on over 1%"
        early = each["cut_below_budget"]
        if early["count"]:
            first = early["first"]
            yield ""
            yield (
                f"{short(each)}: AUDIT: {early['count']} responses were cut off below their "
                f"budget, first sample {first['sample_index']} of problem {first['problem_id']} "
                f"after {first['generated_tokens']:,} of {first['completion_budget']:,} tokens"
            )
    for each in comparisons:
        yield ""
        yield f"{each['after']} against {each['stage']}: {each['text']}"
        yield (
            f"  {each['better_problems']} problems went better, {each['worse_problems']} worse; "
            "single run of training"
        )
        yield f"  {_p_values(each, len(comparisons))}"
    yield ""
    yield f"Every interval {SCOPE}."
    if not comparisons:
        yield from (f"{short(each)}: {each['power']['text']}" for each in models)
    for each in models:
        yield f"{short(each)}: {overlap_text(each['overlap'])}"
    yield from _protocols(models)


def budget_text(terms: Mapping[str, Any]) -> str:
    """How long a response may get."""
    known = {
        "native-context": "the context behind each prompt",
        "reserved-prompt": "the context without 4,096 tokens for the prompt",
    }
    return known.get(terms["budget"], f"{terms['max_tokens']:,} tokens")


def _nucleus(terms: Mapping[str, Any]) -> str:
    top_p = terms.get("top_p")
    return "" if top_p is None else f"top-p {top_p:g}, "


def _p_values(found: Mapping[str, Any], comparisons: int) -> str:
    """What the tests say, adjusted where several are made, and what could have been seen."""
    parts = [f"p {_equals(found['p_value'])}"]
    if comparisons > 1:
        parts.append(f"{p_value(found['p_value_holm'])} as one of {comparisons} comparisons (Holm)")
    if found["first_samples"] is not None:
        parts.append(f"first samples alone (McNemar) {p_value(found['first_samples']['p_value'])}")
    if found["power"] is not None:
        parts.append(str(found["power"]["text"]))
    return "; ".join(parts)


def _equals(value: float) -> str:
    told = p_value(value)
    return told if told.startswith("<") else f"= {told}"


def short(results: Results) -> str:
    """The name of a model without the hash of its weights."""
    name, _, digest = str(results["model"]).rpartition(":")
    return name if name and len(digest) == HASH_DIGITS else str(results["model"])


def overlap_text(found: Mapping[str, Any]) -> str:
    """The finding, and the score on what was found apart from the rest."""
    text = str(found["text"])
    if not found["problems"]:
        return text
    matches, others = found["score_of_matches"], found["score_of_others"]
    rest = f"; on the others {share_text(**_counts(others))}" if others["total"] else ""
    return f"{text}: on them {share_text(**_counts(matches))}{rest}"


def _counts(score: Mapping[str, int]) -> dict[str, int]:
    return {"count": score["correct"], "total": score["total"]}


def _protocols(models: Sequence[Results]) -> Iterator[str]:
    ids: dict[str, list[str]] = {}
    for each in models:
        ids.setdefault(f"{each['profile']['kind']}, protocol {each['protocol_id']}", []).append(
            short(each)
        )
    for text, names in ids.items():
        yield f"{', '.join(names)}: {text}"


def table(columns: Sequence[str], rows: Any) -> Iterator[str]:
    """Aligned plain columns."""
    cells = [list(columns), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _pass_names(results: Results) -> list[str]:
    return [f"PASS@{k}" for k in results["pass_at_k"] if k != "1"]


def _score(results: Results) -> list[str]:
    low, high = results["interval"]
    return [
        short(results),
        share_text(results["correct"], results["total"]),
        f"[{100 * low:.2f}%, {100 * high:.2f}%]",
        f"{100 * results['majority']['score']:.2f}%",
        *(f"{100 * share:.2f}%" for k, share in results["pass_at_k"].items() if k != "1"),
    ]


def _endings(results: Results) -> list[str]:
    total = results["total"]
    endings, grader, mixed = results["endings"], results["grader"], results["contrast"]
    natural = endings["eos"] + endings["stop"]
    return [
        short(results),
        *(f"{count} ({100 * count / total:.1f}%)" for count in (natural, endings["length"])),
        str(results["correct_but_truncated"]),
        str(grader["no_answer"]),
        str(grader["timeout"]),
        f"{mixed['count']}/{mixed['total']}",
    ]


def _gradings(results: Results) -> list[str]:
    found = results["grading"]
    scores = (found["protocols"][name] for name in ("reference", "exact", "lenient", "permissive"))
    formed = found["format_ok"]
    return [
        short(results),
        *("-" if "absent" in each else f"{100 * each['score']:.2f}%" for each in scores),
        f"{formed['count']}/{formed['total']}",
        str(found["timed_out"]["count"]),
    ]


def _lengths(results: Results) -> list[str]:
    figures = [results["tokens"][which] for which in ("all", "correct")]
    return [
        short(results),
        *(
            "-" if figure[name] is None else f"{figure[name]:,.0f}"
            for figure in figures
            for name in ("mean", "median", "p95")
        ),
    ]
