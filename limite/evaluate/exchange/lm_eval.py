"""Files of lm-eval, read and written: ``samples_TASK_DATE.jsonl`` beside ``results_DATE.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import stdev
from typing import Any

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import NotJSON, read_json, read_numbered, write_atomic
from limite.evaluate.exchange.foreign import Answered, Foreign, whole_count

KEYS = ("doc_id", "resps", "filtered_resps", "metrics")
DATE = "1970-01-01T00-00-00.000000"
"""In names of files that are written: the same evaluation gives the same bytes, whenever."""


def is_lm_eval(record: Any) -> bool:
    """Whether a record is of this layout."""
    return isinstance(record, Mapping) and all(key in record for key in KEYS)


def read(path: Path, metric: str | None) -> Foreign:
    """The samples of a task. ``metric`` is ``NAME`` or ``NAME,FILTER``, as results spell it."""
    records = [(line, _checked(path, line, record)) for line, record in read_numbered(path)]
    if not records:
        raise LimiteError(f"{path}: holds no record of a response")
    name, wanted = _chosen(path, records[0][1], sorted({r["filter"] for _, r in records}), metric)
    mine = [(line, record) for line, record in records if record["filter"] == wanted]
    task, aggregated = _task(path), _results_beside(path)
    config = aggregated.get("configs", {}).get(task, {})
    counts = aggregated.get("n-samples", {}).get(task, {})
    answered = [_answered(path, line, record, name) for line, record in mine]
    left = max((len(_responses(record)) for _, record in mine), default=0)
    notes = []
    if answered and left > len(answered[0].texts):
        notes.append(
            f"the filter {wanted!r} takes the first of {left} responses; the others have no score"
        )
    return Foreign.of(
        layout="lm-eval",
        place=str(path),
        model=str(aggregated.get("model_name") or path.parent.name or "unknown"),
        task=task,
        terms={
            "metric": name,
            "filter": wanted,
            "sampling": mine[0][1]["arguments"].get("gen_args_0", {}).get("arg_1"),
            "shots": aggregated.get("n-shot", {}).get(task),
            "version": aggregated.get("versions", {}).get(task),
            "filters": config.get("filter_list"),
        },
        answered=answered,
        expected=counts.get("effective"),
        notes=notes,
    )


def _checked(path: Path, line: int, record: Any) -> Mapping[str, Any]:
    if isinstance(record, NotJSON):
        raise LimiteError(f"{path}:{line}: not JSON: {record}")
    if not is_lm_eval(record):
        missing = [key for key in KEYS if not isinstance(record, Mapping) or key not in record]
        raise LimiteError(f"{path}:{line}: no sample of lm-eval: it lacks {', '.join(missing)}")
    lists = ("resps", "filtered_resps", "metrics")
    if not all(isinstance(record[key], list) for key in lists) or len(record["resps"]) != 1:
        raise LimiteError(
            f"{path}:{line}: a sample of {len(record['resps'])} requests; only tasks that generate "
            "one text a request are read"
        )
    return {"filter": "none", "arguments": {}, "doc": {}, **record}


def _chosen(
    path: Path, first: Mapping[str, Any], filters: Sequence[str], metric: str | None
) -> tuple[str, str]:
    name, _, wanted = (metric or "").partition(",")
    metrics = [str(each) for each in first["metrics"]]
    for what, given, known in (("metric", name, metrics), ("filter", wanted, list(filters))):
        if given and given not in known:
            near = did_you_mean(given, known) or f"; there are {', '.join(known)}"
            raise LimiteError(f"--metric: {path} has no {what} {given!r}{near}")
        if not given and len(known) != 1:
            ways = ", ".join(f"{each},{one}" for each in metrics for one in filters)
            raise LimiteError(f"--metric: {path} has several; name one of {ways}")
    return name or metrics[0], wanted or filters[0]


def _responses(record: Mapping[str, Any]) -> list[str]:
    found = record["resps"][0]
    return [str(each) for each in found] if isinstance(found, list) else [str(found)]


def _answered(path: Path, line: int, record: Mapping[str, Any], metric: str) -> Answered:
    texts, stated = _responses(record), record["filtered_resps"]
    read_of = stated[0] if stated and isinstance(stated[0], list) else stated
    if len(read_of) == 1:
        texts = texts[:1]
    if len(read_of) != len(texts):
        raise LimiteError(
            f"{path}:{line}: {len(texts)} responses, of which {len(read_of)} are read"
        )
    doc = record["doc"]
    prompt = record["arguments"].get("gen_args_0", {}).get("arg_0")
    own = hashlib.sha256(json.dumps([record["doc_id"], doc], sort_keys=True).encode()).hexdigest()
    return Answered(
        line=line,
        id=str(record.get("doc_hash") or own),
        problem=str(prompt if prompt is not None else doc),
        gold=str(record.get("target", "")),
        texts=texts,
        stated=[None if each is None else str(each) for each in read_of],
        correct=whole_count(record.get(metric), len(texts), f"{path}:{line}", metric),
        told=[{} for _ in texts],
    )


def _task(path: Path) -> str:
    return path.name.removeprefix("samples_").rpartition("_")[0] or path.stem


def _results_beside(path: Path) -> Mapping[str, Any]:
    """The results of the same date; nothing where they are not there."""
    date = path.stem.rpartition("_")[2]
    beside = path.with_name(f"results_{date}.json")
    found = read_json(beside) if beside.is_file() else {}
    return found if isinstance(found, Mapping) else {}


def write(
    folder: Path, results: Mapping[str, Any], records: Sequence[Mapping[str, Any]], prompts: Any
) -> None:
    """Samples and results of one model; ``prompts`` are texts by the id of a problem."""
    task, model = str(results["benchmark"]["name"]), str(results["model"])
    terms = results["protocol"]
    samples = list(_samples(records, prompts, terms))
    place = folder / "".join("__" if mark in '"<>:/|\\?*[]' else mark for mark in model)
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in samples]
    place.mkdir(parents=True, exist_ok=True)
    write_atomic(place / f"samples_{task}_{DATE}.jsonl", "".join(lines))
    means = [float(each["exact_match"]) for each in samples]
    spread = stdev(means) / len(means) ** 0.5 if len(means) > 1 else "N/A"
    hashes = [each["doc_hash"] + each["prompt_hash"] + each["target_hash"] for each in samples]
    found = {
        "results": {
            task: {
                "alias": task,
                "sample_len": len(samples),
                "exact_match,none": sum(means) / len(means),
                "exact_match_stderr,none": spread,
            }
        },
        "group_subtasks": {task: []},
        "configs": {
            task: {
                "task": task,
                "num_fewshot": len(results["profile"]["shots"]),
                "output_type": "generate_until",
                "generation_kwargs": _sampling(terms),
                "repeats": terms["samples"],
                "metadata": {"version": 1.0, "limite_protocol_id": results["protocol_id"]},
            }
        },
        "versions": {task: 1.0},
        "n-shot": {task: len(results["profile"]["shots"])},
        "higher_is_better": {task: {"exact_match": True}},
        "n-samples": {task: {"original": len(samples), "effective": len(samples)}},
        "config": {"model": "limite", "model_args": f"pretrained={model}", "limit": None},
        "task_hashes": {task: _sha256("".join(hashes))},
        "model_source": "limite",
        "model_name": model,
        "model_name_sanitized": place.name,
    }
    text = json.dumps(found, indent=2, ensure_ascii=False)
    write_atomic(place / f"results_{DATE}.json", text)


def _samples(
    records: Sequence[Mapping[str, Any]], prompts: Mapping[str, str], terms: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    count = int(terms["samples"])
    for number, start in enumerate(range(0, len(records), count)):
        group = records[start : start + count]
        first = group[0]
        doc = {"id": first["problem_id"], "problem": first["problem"], "answer": first["answer"]}
        stated = [each["extracted_answer"] or "" for each in group]
        prompt, target = prompts[first["problem_id"]], str(first["answer"])
        yield {
            "doc_id": number,
            "doc": doc,
            "target": target,
            "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": _sampling(terms)}},
            "resps": [[each["text"] for each in group]],
            "filtered_resps": [stated] if count > 1 else stated,
            "filter": "none",
            "metrics": ["exact_match"],
            "doc_hash": _sha256(json.dumps(doc, indent=2, ensure_ascii=False)),
            "prompt_hash": _sha256(prompt),
            "target_hash": _sha256(target),
            "exact_match": sum(each["correct"] for each in group) / count,
        }


def _sampling(terms: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "until": list(terms["profile"]["stops"]),
        "max_gen_toks": terms["max_tokens"],
        "temperature": terms["temperature"],
        "do_sample": True,
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
