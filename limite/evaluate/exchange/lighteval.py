"""Files of lighteval (``details_TASK|SHOTS_DATE.parquet``, ``results_DATE.json``): read, written.

Parquet needs pyarrow, which the extra ``data`` brings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import stdev
from typing import Any

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import write_atomic
from limite.evaluate.exchange.foreign import Answered, Foreign, whole_count
from limite.evaluate.exchange.lm_eval import DATE
from limite.problems.gen.parquet import read_parquet, write_parquet

COLUMNS = ("doc", "metric", "model_response")


def read(path: Path, metric: str | None) -> Foreign:
    """The details of a task; ``metric`` names one of its metrics."""
    rows = list(enumerate(read_parquet(path), start=1))
    for line, row in rows:
        lacks = [name for name in COLUMNS if not isinstance(row.get(name), Mapping)]
        if lacks:
            raise LimiteError(f"{path}:{line}: no detail of lighteval: it lacks {', '.join(lacks)}")
    if not rows:
        raise LimiteError(f"{path}: holds no record of a response")
    name = _chosen(path, [str(each) for each in rows[0][1]["metric"]], metric)
    first = rows[0][1]["doc"]
    task, _, shots = _task(path).partition("|")
    return Foreign.of(
        layout="lighteval",
        place=str(path),
        model=_model(path),
        task=task,
        terms={
            "metric": name,
            "shots": shots or None,
            "budget": first.get("generation_size"),
            "stops": first.get("stop_sequences"),
        },
        answered=[_answered(path, line, row, name) for line, row in rows],
    )


def _chosen(path: Path, known: Sequence[str], metric: str | None) -> str:
    if metric is None:
        if len(known) == 1:
            return known[0]
        raise LimiteError(f"--metric: {path} has several; name one of {', '.join(known)}")
    if metric not in known:
        near = did_you_mean(metric, known) or f"; there are {', '.join(known)}"
        raise LimiteError(f"--metric: {path} has no metric {metric!r}{near}")
    return metric


def _answered(path: Path, line: int, row: Mapping[str, Any], metric: str) -> Answered:
    doc, said = row["doc"], row["model_response"]
    texts = [str(each) for each in said.get("text") or []]
    if not texts:
        raise LimiteError(f"{path}:{line}: it holds no text of a response")
    golds = doc.get("choices") or []
    index = doc.get("gold_index")
    wanted = index if isinstance(index, list) else [index]
    gold = [str(golds[each]) for each in wanted if isinstance(each, int) and each < len(golds)]
    ids = said.get("output_tokens") or []
    prompt = said.get("input_tokens") or []
    told: list[dict[str, Any]] = []
    for number in range(len(texts)):
        tokens = list(ids[number]) if number < len(ids) and ids[number] else None
        facts: dict[str, Any] = {}
        if tokens is not None:
            facts |= {"generated_tokens": len(tokens), "completion_ids": tokens}
        if prompt:
            facts["prompt_tokens"] = len(prompt)
        if isinstance(doc.get("generation_size"), int):
            facts["completion_budget"] = doc["generation_size"]
        told.append(facts)
    query = str(doc.get("query", ""))
    own = hashlib.sha256(json.dumps([query, golds]).encode()).hexdigest()
    return Answered(
        line=line,
        id=own,
        problem=query,
        gold="; ".join(gold),
        texts=texts,
        stated=[None] * len(texts),
        correct=whole_count(row["metric"].get(metric), len(texts), f"{path}:{line}", metric),
        told=told,
    )


def _task(path: Path) -> str:
    return path.stem.removeprefix("details_").rpartition("_")[0] or path.stem


def _model(path: Path) -> str:
    """``details/ORG/MODEL/DATE/details_...``: what stands between is the model."""
    parts = path.resolve().parts[:-2]
    if "details" in parts:
        return "/".join(parts[len(parts) - parts[::-1].index("details") :]) or "unknown"
    return path.resolve().parent.name


def write(
    folder: Path, results: Mapping[str, Any], records: Sequence[Mapping[str, Any]], prompts: Any
) -> None:
    """Details and results of one model; ``prompts`` are texts by the id of a problem."""
    model = str(results["model"]).replace(":", "-").strip("/")
    task = f"{results['benchmark']['name']}|{len(results['profile']['shots'])}"
    terms = results["protocol"]
    count = int(terms["samples"])
    metric = f"avg@n:n={count}"
    groups = [records[start : start + count] for start in range(0, len(records), count)]
    rows = [_row(group, prompts[group[0]["problem_id"]], terms, task, metric) for group in groups]
    details = folder / "details" / model / DATE
    details.mkdir(parents=True, exist_ok=True)
    write_parquet(details / f"details_{task}_{DATE}.parquet", rows)
    means = [float(row["metric"][metric]) for row in rows]
    score = {metric: sum(means) / len(means)}
    if len(means) > 1:
        score[f"{metric}_stderr"] = stdev(means) / len(means) ** 0.5
    found = {
        "config_general": {
            "lighteval_sha": "?",
            "model_name": model,
            "model_config": {"model_name": model},
            "limite_protocol_id": results["protocol_id"],
        },
        "results": {task: score, "all": score},
        "versions": {},
        "config_tasks": {task: {"name": task.partition("|")[0], "num_samples": [count]}},
        "summary_tasks": {},
        "summary_general": {},
    }
    place = folder / "results" / model
    place.mkdir(parents=True, exist_ok=True)
    write_atomic(place / f"results_{DATE}.json", json.dumps(found, indent=2, ensure_ascii=False))


def _row(
    group: Sequence[Mapping[str, Any]],
    prompt: str,
    terms: Mapping[str, Any],
    task: str,
    metric: str,
) -> dict[str, Any]:
    first, count = group[0], len(group)
    ids = [list(each.get("completion_ids") or []) for each in group]
    return {
        "doc": {
            "query": prompt,
            "choices": [str(first["answer"])],
            "gold_index": [0],
            "id": str(first["problem_id"]),
            "task_name": task,
            "generation_size": int(terms["max_tokens"]),
            "stop_sequences": [str(each) for each in terms["profile"]["stops"]],
            "num_samples": count,
            "specific": {"problem": first["problem"], "answer_type": first["answer_type"]},
        },
        "metric": {metric: sum(each["correct"] for each in group) / count},
        "model_response": {
            "input": prompt,
            "input_tokens": [],
            "text": [each["text"] for each in group],
            "output_tokens": ids,
            "text_post_processed": [each["extracted_answer"] or "" for each in group],
            "reasonings": [None] * count,
            "logprobs": [],
            "argmax_logits_eq_gold": [],
            "logits": None,
            "unconditioned_logprobs": None,
            "truncated_tokens_count": 0,
            "padded_tokens_count": 0,
        },
    }
