"""The page of an evaluation: scores and differences with intervals, then what they rest on.

It is one file that opens offline and holds nothing but text and drawings; see
``limite.core.recipe.report.shell``. The same results and responses give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limite.core.recipe.report import ability, canvas, paired, parts, words
from limite.core.recipe.report.asked import Side
from limite.core.recipe.report.curves import Panel
from limite.core.recipe.report.shell import document
from limite.core.recipe.report.words import escape
from limite.evaluate.compare import SCOPE
from limite.evaluate.told import budget_text, overlap_text, short

PAGE = "report.html"
MOST_PAIRS = 4
"""Comparisons whose problems are on the page, and models whose responses are."""

Results = Mapping[str, Any]


def render(
    models: Sequence[tuple[Results, Path]],
    comparisons: Sequence[tuple[Mapping[str, Any], int, int]],
    mismatch: str,
) -> str:
    """The whole page as text.

    ``models`` are results with the files of their responses; of a comparison the numbers say which
    of the models it is of, before and after. ``mismatch`` is the sentence on protocols that differ.
    """
    results = [each for each, _ in models]
    pairs = [found for found, _, _ in comparisons]
    sides = [Side(name=short(each), results=each, responses=path) for each, path in models]
    with canvas.drawing():
        sections = [
            ("scores", "Scores", _scores(results)),
            ("differences", "Paired differences", _differences(pairs)),
            ("endings", "Endings", _endings(results)),
            ("problems", "Problem by problem", _problems(sides, comparisons)),
            ("terms", "Terms", _terms(results)),
        ]
    first = results[0]
    return document(
        f"{first['benchmark']['name']} · limite eval",
        _header(results, pairs, mismatch),
        sections,
        "Written by limite from the results and responses of an evaluation.",
    )


def _header(
    models: Sequence[Results], comparisons: Sequence[Mapping[str, Any]], mismatch: str
) -> str:
    first = models[0]
    terms = first["protocol"]
    if comparisons:
        told = comparisons[0]
        sentence = f"{told['after']} against {told['stage']}: {told['text']}"
        claim = told["wording"] if told["wording"] in ("improved", "regressed") else ""
        more = len(comparisons) - 1
        sentence += f", and {words.plural(more, 'further comparison')}" if more else ""
    else:
        interval = words.percent_interval(_interval(first["interval"]))
        sentence, claim = (
            f"{short(first)}: {first['correct']:,} of {first['total']:,} right, "
            f"{words.percent(first['score'])}, {100 * first['confidence']:g}% interval {interval}",
            "",
        )
    facts = [
        ("Problems", f"{first['problems']:,}"),
        ("Responses to each", f"{first['samples']:,}"),
        ("Temperature", f"{terms['temperature']:g}"),
        *([] if terms.get("top_p") is None else [("Top-p", f"{terms['top_p']:g}")]),
        ("Budget", budget_text(terms)),
        ("Seed", str(terms["seed"])),
    ]
    rows = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)
    warnings = [mismatch] if mismatch else []
    for each in models:
        if each["unreliable"]:
            warnings.append(f"{short(each)}: unreliable, the grader failed or was late on over 1%")
        early = each.get("cut_below_budget", {}).get("count", 0)
        if early:
            cut = words.plural(early, "response was", "responses were")
            warnings.append(f"{short(each)}: {cut} cut off below the budget")
    told_warnings = "".join(f'<p class="warn" role="note">{escape(text)}</p>' for text in warnings)
    return (
        f'<p class="over">limite eval</p><h1>{escape(first["benchmark"]["name"])}</h1>'
        f'<p class="headline {claim}">{escape(sentence)}</p>'
        f'<p class="scope">Single run. Every interval {escape(SCOPE)}.</p>'
        f'{told_warnings}<dl class="facts-row">{rows}</dl>'
    )


def _interval(pair: Sequence[float]) -> tuple[float, float]:
    low, high = pair
    return low, high


def _scores(models: Sequence[Results]) -> str:
    first = models[0]
    ks = [k for k in first["pass_at_k"] if k != "1"]
    level = f"{100 * first['confidence']:g}%"
    rows = [
        [
            parts.cell(short(each), "", head=True),
            parts.cell(f"{each['correct']:,} / {each['total']:,}", "n"),
            parts.cell(words.percent(each["score"]), "n"),
            parts.cell(words.percent_interval(_interval(each["interval"])), "n"),
            parts.cell(words.percent(each["first_sample"]["score"]), "n"),
            parts.cell(words.percent_interval(_interval(each["first_sample"]["wilson"])), "n"),
            parts.cell(words.percent(each["majority"]["score"]), "n"),
            *(parts.cell(words.percent(each["pass_at_k"].get(k)), "n") for k in ks),
        ]
        for each in models
    ]
    columns = (
        "Model",
        "Right:n",
        "Accuracy:n",
        f"{level} interval:n",
        "First sample:n",
        "Wilson:n",
        "Majority:n",
        *(f"pass@{k}:n" for k in ks),
    )
    chart = parts.figure(
        Panel(
            title="Accuracy",
            note=f"Share right, with {level} intervals."
            + ability.cut_axis([(each["score"], _interval(each["interval"])) for each in models]),
            svg=ability.interval_chart(
                "accuracy-chart",
                "Accuracy",
                [
                    (short(each), each["score"], _interval(each["interval"]), "one")
                    for each in models
                ],
                zero=False,
            ),
        )
    )
    methods = "; ".join(f"{short(each)}: {each['method']}" for each in models)
    power = "" if len(models) > 1 else f" {_sentence(models[0]['power']['text'])}"
    note = f"How each interval was made: {methods}.{power}"
    return (
        f'<h2>Scores</h2><p class="note">{escape(note)}</p>'
        f'{parts.table("Score of each model", columns, rows)}<div class="pair">{chart}</div>'
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _differences(comparisons: Sequence[Mapping[str, Any]]) -> str:
    if not comparisons:
        return ""
    several = len(comparisons) > 1
    level = f"{100 * comparisons[0]['confidence']:g}%"
    rows = [
        [
            parts.cell(each["after"], "", head=True),
            parts.cell(each["stage"]),
            parts.cell(words.points(each["difference"]), "n"),
            parts.cell(words.points_interval(_interval(each["interval"])), "n"),
            parts.cell(
                each["wording"], {"improved": "good", "regressed": "bad"}.get(each["wording"], "")
            ),
            parts.cell(words.p_value(each["p_value"]), "n"),
            *([parts.cell(words.p_value(each["p_value_holm"]), "n")] if several else []),
            parts.cell(f"{each['better_problems']:,}", "n"),
            parts.cell(f"{each['worse_problems']:,}", "n"),
        ]
        for each in comparisons
    ]
    columns = (
        "Model",
        "Against",
        "Points:n",
        f"{level} paired interval:n",
        "Verdict",
        "p:n",
        *(["p, Holm:n"] if several else []),
        "Better:n",
        "Worse:n",
    )
    chart = parts.figure(
        Panel(
            title="Paired differences",
            note=f"Percentage points on the same problems, with {level} intervals. "
            "Only one that leaves out 0 is a difference.",
            svg=ability.interval_chart(
                "difference-chart",
                "Paired differences in points",
                [
                    (each["after"], each["difference"], _interval(each["interval"]), "two")
                    for each in comparisons
                ],
                zero=True,
            ),
        )
    )
    powers = [each["power"]["text"] for each in comparisons if each["power"] is not None]
    note = ability.detectable(powers[0]) if powers else ""
    return (
        f'<h2>Paired differences</h2><p class="note">{escape(note)}</p>'
        + parts.table("Paired differences between models", columns, rows)
        + f'<div class="pair">{chart}</div>'
    )


def _endings(models: Sequence[Results]) -> str:
    rows = []
    for each in models:
        total, endings, lengths = each["total"], each["endings"], each["tokens"]
        natural = endings["eos"] + endings.get("stop", 0)
        rows.append(
            [
                parts.cell(short(each), "", head=True),
                parts.cell(words.percent(natural / total), "n"),
                parts.cell(words.percent(endings["length"] / total), "n"),
                parts.cell(f"{each['correct_but_truncated']:,}", "n"),
                parts.cell(f"{each['grader']['no_answer']:,}", "n"),
                parts.cell(f"{each['grader']['timeout']:,}", "n"),
                *(
                    parts.cell(words.count(lengths[which][name]), "n")
                    for which in ("all", "correct")
                    for name in ("mean", "median", "p95")
                ),
            ]
        )
    columns = (
        "Model", "Ended:n", "Cut:n", "Right though cut:n", "No answer:n", "Timed out:n",
        "Mean tokens:n", "Median:n", "p95:n", "Right, mean:n", "Median:n", "p95:n",
    )  # fmt: skip
    table = parts.table("How responses ended and how long they were", columns, rows)
    found = "".join(
        f'<p class="note">{escape(short(each))}: {escape(overlap_text(each["overlap"]))}.</p>'
        for each in models
        if "overlap" in each
    )
    return f"<h2>Endings and lengths</h2>{table}{found}"


def _problems(
    sides: Sequence[Side], comparisons: Sequence[tuple[Mapping[str, Any], int, int]]
) -> str:
    title = "<h2>Problem by problem</h2>"
    if not comparisons:
        shown = list(sides[:MOST_PAIRS])
        left = len(sides) - len(shown)
        more = (
            f'<p class="note">{words.plural(left, "further model")} left out.</p>' if left else ""
        )
        return f"{title}{paired.of_one(shown)}{more}"
    shown_pairs = comparisons[:MOST_PAIRS]
    text = "".join(
        paired.of_pair(
            sides[before], sides[after], slug=f"problem-{number}", among=len(shown_pairs)
        )
        for number, (_, before, after) in enumerate(shown_pairs)
    )
    left = len(comparisons) - len(shown_pairs)
    more = (
        f'<p class="note">{words.plural(left, "further comparison")} left out.</p>' if left else ""
    )
    return f"{title}{text}{more}"


def _terms(models: Sequence[Results]) -> str:
    first = models[0]["benchmark"]
    facts = [("benchmark", first["name"]), ("sha256", first["sha256"])]
    facts += [(f"protocol of {short(each)}", str(each["protocol_id"])) for each in models]
    rows = "".join(
        f'<dt>{escape(parts.brief(name))}</dt><dd class="mono">{escape(value)}</dd>'
        for name, value in facts
    )
    seen: dict[str, Any] = {str(each["protocol_id"]): each["protocol"] for each in models}
    whole = "".join(
        f"<details><summary>Protocol <small>{escape(name[:12])}</small></summary>"
        f'<pre tabindex="0">{escape(json.dumps(terms, indent=2, ensure_ascii=False))}</pre>'
        "</details>"
        for name, terms in seen.items()
    )
    return (
        '<h2>Terms</h2><p class="note">Two results can be compared where their protocols are the '
        f'same.</p><div class="box"><dl class="receipt">{rows}</dl></div>{whole}'
    )
