"""The page: the run's claims first, then what backs them, then everything needed to repeat it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from limite.core.recipe.report import (
    ability,
    averages,
    canvas,
    curves,
    paired,
    parts,
    samples,
    seeds,
    shell,
    summary,
    words,
)
from limite.core.recipe.report.read import Run, StageRun
from limite.core.recipe.report.remarks import first_remarks
from limite.core.recipe.report.summary import Evaluation, Gate
from limite.core.recipe.report.words import escape

KINDS = {
    "pretrain": "pretraining",
    "sft": "supervised",
    "rl": "reinforcement",
    "fit-critic": "fitting a critic",
    "soup": "an average of models",
    "eval": "evaluation",
}


def render(run: Run) -> str:
    """The whole page as text."""
    found = summary.evaluations(run)
    table = summary.gates(run)
    alone = seeds.uncrowded(run)
    with canvas.drawing():
        sections = [
            ("stages", "Stages", _stages(run, found, table)),
            ("accuracy", "Held-out accuracy", ability.accuracy(run, found)),
            ("seeds", "Seeds together", seeds.section(run, found)),
            *((f"stage-{s.number}", f"Curves of {s.name}", _curves(s)) for s in alone.stages),
            *((f"soup-{s.number}", f"Models of {s.name}", averages.section(s)) for s in run.stages),
            ("families", "Accuracy by family", ability.families(alone, summary.evaluations(alone))),
            ("problems", "Problem by problem", paired.section(run)),
            ("gates", "Health gates", _gates(run, table)),
            ("samples", "Sample responses", _samples(alone)),
            ("recipe", "Recipe", _recipe(run)),
            ("receipt", "Receipt", _receipt(run)),
        ]
    return shell.document(
        f"{run.name} · limite report",
        _header(run, found, table),
        sections,
        "Written by limite from the files of the run folder.",
    )


def _header(run: Run, found: Sequence[Evaluation], table: Sequence[Gate]) -> str:
    sentence, claim = summary.headline(run, found)
    state = summary.state_of(run)
    scope = "Single run. "
    if covered := summary.scope_of(run):
        scope = f"Single run. The interval {covered}."
    times = [t for s in run.stages if (t := summary.stage_time(s)) is not None]
    tokens = [t for s in run.stages if (t := summary.stage_tokens(s)) is not None]
    facts = [
        ("Done", summary.stages_done(run)),
        ("Time in stages", words.duration(sum(times)) if times else "–"),
        ("Tokens", words.count(sum(tokens)) if tokens else "–"),
        ("Execution gates", _gate_count(run, table)),
    ]
    seed = run.recipe.get("seed")
    if seed is not None:
        facts.append(("Seed", str(seed)))
    rows = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)
    notes = ""
    if run.notes:
        items = "".join(f"<li>{escape(note)}</li>" for note in run.notes)
        notes = f'<div class="state" role="note">Not read whole:<ul>{items}</ul></div>'
    return (
        f'<p class="over">limite report</p><h1>{escape(run.name)}</h1>'
        f'<p class="headline {claim}">{_unbroken(sentence, run)}</p>'
        f'<p class="scope">{escape(scope.strip())}</p>'
        + (f'<p class="state" role="note">{escape(state)}</p>' if state else "")
        + notes
        + f'<dl class="facts-row">{rows}</dl>'
    )


def _unbroken(sentence: str, run: Run) -> str:
    """The sentence as HTML, with no line break inside a stage's name or an interval."""
    names = sorted((escape(stage.name) for stage in run.stages), key=len, reverse=True)
    whole = [rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in names if len(name) < 30]
    pattern = "|".join([*whole, r"\[[^\]]{1,30}\]", r"\([^)]{1,30}\)", r"[+−]?[\d.]+ points"])
    return re.sub(pattern, lambda found: f"<span>{found[0]}</span>", escape(sentence))


def _gate_count(run: Run, table: Sequence[Gate]) -> str:
    if not table:
        return "none measured"
    failed = sum(gate.failed > 0 for gate in table)
    text = f"{failed} of {len(table)} failed" if failed else f"all {len(table)} passed"
    untrained = summary.untrained_stages(run)
    return f"{text}; no update" if all(gate.stage in untrained for gate in table) else text


def _stages(run: Run, found: Sequence[Evaluation], table: Sequence[Gate]) -> str:
    if not run.stages:
        return ""
    by_stage = {evaluation.stage: evaluation for evaluation in found}
    rows = []
    for stage in run.stages:
        verdict, tone = summary.stage_verdict(stage, by_stage, table)
        if averaged := averages.verdict(stage):
            verdict = averaged
        planned = words.finite(stage.settings.get("steps"))
        steps = words.count(stage.steps or None)
        if planned is not None and stage.steps is not None and stage.steps < planned:
            steps = f"{steps} of {words.count(planned)}"
        rows.append(
            [
                parts.cell(stage.number, "n"),
                parts.cell(stage.name, "", head=True),
                parts.cell(verdict, f"w {tone}"),
                parts.cell(KINDS.get(stage.kind, stage.kind or "–")),
                parts.cell(stage.status, _status_tone(stage)),
                parts.cell(steps, "n"),
                parts.cell(words.duration(summary.stage_time(stage)), "n"),
                parts.cell(words.count(summary.stage_tokens(stage)), "n"),
            ]
        )
    columns = ("#:n", "Stage", "Verdict", "Kind", "Status", "Steps:n", "Time:n", "Tokens:n")
    table_of_stages = parts.table("Stages of the run, in order", columns, rows)
    told = "".join(f'<p class="note">{escape(text)}.</p>' for text in first_remarks(run))
    return f"<h2>Stages</h2>{table_of_stages}{told}"


def _status_tone(stage: StageRun) -> str:
    if stage.status == "finished":
        return ""
    return "soft" if stage.status in ("not reached", "left out") else "bad"


def _curves(stage: StageRun) -> str:
    if not stage.metrics:
        return ""
    panels, others = curves.stage_panels(stage)
    if not panels and not others:
        return ""
    kind = KINDS.get(stage.kind, stage.kind)
    text = f"<h2>Curves of {escape(stage.name)} "
    text += f"<small>{escape(kind)} · {_progress(stage)}</small></h2>"
    if stage.kind == "rl":
        text += (
            '<p class="note">Measured while training, on training problems. These curves tell of '
            f"execution; ability is told by held-out accuracy alone.{_now_and_then(stage)}</p>"
        )
    notes = stage.receipt.get("notes")
    for note in notes if isinstance(notes, list) else ():
        text += f'<p class="note">{escape(str(note))}</p>'
    text += parts.grid(panels)
    if others:
        text += (
            f"<details><summary>Other numbers of this stage <small>{len(others)}</small></summary>"
            f"{parts.grid(others)}</details>"
        )
    return text


def _now_and_then(stage: StageRun) -> str:
    health = stage.settings.get("health")
    every = words.finite(health.get("every")) if isinstance(health, Mapping) else None
    if every is None or every <= 1:
        return ""
    return f" Gates and importance weights are measured once in {words.count(every)} batches."


def _progress(stage: StageRun) -> str:
    steps = words.plural(len(stage.metrics), "step")
    if stage.updates is None or stage.updates == len(stage.metrics):
        return steps
    return f"{steps}, {words.count(stage.updates)} applied updates"


def _gates(run: Run, table: Sequence[Gate]) -> str:
    if not table:
        return ""
    untrained = summary.untrained_stages(run)
    rows = []
    for gate in table:
        verdict = gate.verdict
        if gate.stage in untrained:
            verdict += "; no update was made"
        if gate.first_failed_step is not None:
            verdict += f", first at step {words.number(gate.first_failed_step)}"
        mark = "✗ " if gate.failed else "✓ "
        rows.append(
            [
                parts.cell(gate.gate, "mono", head=True),
                parts.cell(gate.stage),
                parts.cell(words.count(gate.measured), "n"),
                parts.cell(words.number(gate.lowest), "n"),
                parts.cell(words.number(gate.highest), "n"),
                parts.cell(gate.limit, "n"),
                parts.cell(mark + verdict, "w bad" if gate.failed else "w"),
            ]
        )
    columns = ("Gate", "Stage", "Measured:n", "Lowest:n", "Highest:n", "Limit:n", "Verdict")
    return (
        "<h2>Health gates <small>execution, not capability</small></h2>"
        '<p class="note">A gate says whether training ran soundly. Passing all of them is no sign '
        "that the model got better.</p>"
        + parts.table("Health gates with their figures, limits and verdicts", columns, rows)
    )


def _samples(run: Run) -> str:
    shown = samples.of_run(run)
    if not shown:
        return ""
    return (
        '<h2>Sample responses</h2><p class="note">The first right and the first wrong ones in the '
        "order of their file, one to a problem; none is picked for its looks.</p>"
        + "".join(f"<h3>{escape(name)}</h3>{samples.render(found)}" for name, found in shown)
    )


def _recipe(run: Run) -> str:
    if not run.recipe_text:
        return ""
    lines = words.plural(run.recipe_text.count("\n"), "line")
    return (
        "<h2>Recipe</h2><details><summary>Every setting, resolved "
        f"<small>recipe.toml, {lines}</small></summary>"
        f'<pre tabindex="0">{escape(run.recipe_text)}</pre></details>'
    )


def _receipt(run: Run) -> str:
    if not run.receipt:
        return ""
    rows = "".join(
        f'<dt>{escape(name)}</dt><dd class="mono">{escape(words.shorten(value, 400)[0])}</dd>'
        for name, value in _flat(run.receipt)
    )
    whole = json.dumps(run.receipt, indent=2, ensure_ascii=False)
    return (
        '<h2>Receipt</h2><p class="note">What ran: versions, seeds, hashes.</p>'
        f'<div class="box"><dl class="receipt">{rows}</dl></div>'
        "<details><summary>The whole receipt <small>receipt.json</small></summary>"
        f'<pre tabindex="0">{escape(whole)}</pre></details>'
    )


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Scalars of a receipt by dotted name; long lists stay in the whole receipt."""
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _flat(item, f"{prefix}{name}.")
        elif isinstance(item, list):
            scalars = all(isinstance(part, str | int | float) for part in item)
            if scalars and 0 < len(item) <= 8:
                yield f"{prefix}{name}", ", ".join(str(part) for part in item)
        elif item is not None and item != "":
            yield f"{prefix}{name}", str(item).lower() if isinstance(item, bool) else str(item)
