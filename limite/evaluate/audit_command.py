"""What ``limite eval --audit`` does once its options are read. This module reaches torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, read_jsonl, write_json, write_jsonl
from limite.core.kinds import Verifier
from limite.core.recipe.context import model_of
from limite.core.recipe.load import load_recipe
from limite.core.recipe.run_plugins import naming_plugins
from limite.core.recipe.rundir import RECIPE, RESULTS, RunDirectory
from limite.core.recipe.stages import Eval
from limite.core.rollout.budget import completion_budget
from limite.evaluate.audit import audit
from limite.evaluate.correction import both_results, corrected
from limite.evaluate.exchange.files import is_foreign, read
from limite.evaluate.models import FIXED, NATIVE, RESERVED, LocalModel, Terms
from limite.evaluate.stage_asked import judge_of


@attrs.frozen(kw_only=True)
class Known:
    """What is known of how a file was sampled."""

    eos_ids: tuple[int, ...] = ()
    context: int | None = None
    budget: int | None = None
    decode: Callable[[Sequence[int]], str] | None = None
    verifier: Verifier | None = None
    natural_end: bool = False
    asked: Mapping[str, int] | None = None
    """The problems, and how many responses each has."""


def audited(
    path: Path,
    *,
    models: Sequence[str],
    stage: str | None,
    eos_ids: Sequence[int],
    context: int | None,
    budget: int | None,
    correct_eos: Sequence[int],
    verifier: str | None,
    natural_end: bool,
    out: Path | None,
    metric: str | None = None,
) -> dict[str, Any]:
    """The findings as plain data; with ``correct_eos`` also both results, which ``out`` keeps."""
    if len(models) > 1:
        raise LimiteError("--audit: one file has one model; name at most one")
    if correct_eos and out is None:
        raise LimiteError("--correct-eos: --out DIR says where the corrected responses go")
    foreign = read(path, metric) if path.is_dir() or is_foreign(path) else None
    if foreign is not None and correct_eos:
        raise LimiteError(
            "--correct-eos: corrects responses as limite records them; --import reads this file"
        )
    known = _of_model(models[0], stage) if models else _of_results_beside(path)
    if budget is not None:
        known = attrs.evolve(known, budget=budget, context=None)
    elif context is not None:
        known = attrs.evolve(known, context=context, budget=None)
    if eos_ids:
        known = attrs.evolve(known, eos_ids=tuple(eos_ids))
    found = audit(
        path,
        eos_ids=known.eos_ids,
        context=known.context,
        budget=known.budget,
        asked=known.asked,
        records=None if foreign is None else foreign.records(),
    )
    told = {
        "file": str(path),
        "responses": found.responses,
        "clean": found.clean,
        "native": found.native and known.context is not None,
        "eos_ids": sorted(known.eos_ids),
        "context": known.context,
        "budget": known.budget,
        "endings": dict(found.endings),
        "violations": [attrs.asdict(each) for each in found.violations],
        "unseen": list(found.unseen),
        "missing": found.missing or None,
        "imported": None if foreign is None else foreign.layout,
    }
    if correct_eos:
        assert out is not None
        told["correction"] = _correct(path, known, correct_eos, verifier, natural_end, out)
    return told


def _correct(
    path: Path,
    known: Known,
    eos_ids: Sequence[int],
    named: str | None,
    natural_end: bool,
    out: Path,
) -> dict[str, Any]:
    if known.decode is None:
        raise LimiteError("--correct-eos: name the MODEL whose tokenizer reads the tokens")
    if out.exists():
        raise LimiteError(f"--out: {out} exists and is never overwritten")
    judge: Verifier | None = known.verifier
    if named is not None or judge is None:
        judge = load_registry().get("verifier", named or "mathematics").load()()
    assert judge is not None
    records = list(read_jsonl(path, allow_unfinished=True))
    again = corrected(
        records,
        eos_ids,
        decode=known.decode,
        verifier=judge,
        natural_end=natural_end or known.natural_end,
    )
    results = {"eos_ids": sorted(set(eos_ids)), **both_results(again)}
    out.mkdir(parents=True)
    write_jsonl(out / "responses.jsonl.zst", again)
    write_json(out / "results.json", results)
    return {**results, "out": str(out)}


def _of_model(named: str, stage: str | None) -> Known:
    terms = Terms(samples=1, temperature=1.0, seed=0, max_tokens=None, slots=1)
    model = LocalModel(named, stage=stage, terms=terms)
    tokenizer = model.tokenizer
    return Known(
        eos_ids=tuple(sorted({tokenizer.eos_id, *tokenizer.eos_ids})),
        context=model.context,
        decode=tokenizer.decode,
        verifier=model.verifier,
    )


def _of_results_beside(path: Path) -> Known:
    """What the results beside a file say of how it was sampled, and the recipe of a run around it.

    Of a file that has none beside it nothing is known.
    """
    folder = path.absolute().parent
    if not (folder / RESULTS).is_file():
        return Known()
    results = read_json(folder / RESULTS)
    terms = results.get("protocol") if isinstance(results, dict) else None
    if not isinstance(terms, dict) or "eos_ids" not in terms:
        return Known()
    rows = results.get("per_problem") or ()
    known = Known(
        eos_ids=tuple(terms["eos_ids"]),
        # Where the context is the budget, that is what there is at most.
        context=terms["max_tokens"] if terms["budget"] == NATIVE else None,
        budget=terms["max_tokens"] if terms["budget"] == FIXED else None,
        natural_end=terms["natural_end"],
        asked={str(row["id"]): terms["samples"] for row in rows} or None,
    )
    place = next((up for up in folder.parents if (up / RECIPE).is_file()), None)
    return known if place is None else _of_run(place, folder, terms, known)


def _of_run(place: Path, folder: Path, terms: Mapping[str, Any], known: Known) -> Known:
    """What the recipe of a run adds, of a stage of its own or of a task that one has asked."""
    run = RunDirectory.open(place)
    with naming_plugins(run):
        recipe = load_recipe(place / RECIPE).recipe
    stages = recipe.stages.items()
    within = (folder, folder.parent)
    stage = next((each for name, each in stages if run.stage(name) in within), None)
    if not isinstance(stage, Eval):
        return known
    if terms["budget"] == RESERVED:
        context = model_of(recipe).context
        most = completion_budget(
            RESERVED, prompt_tokens=1, max_tokens=terms["max_tokens"], context=context
        )
        known = attrs.evolve(known, budget=most)
    judge = judge_of(stage, load_registry())
    return attrs.evolve(known, decode=recipe.tokenizer.decode, verifier=judge)
