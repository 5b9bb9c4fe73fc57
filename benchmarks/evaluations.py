"""What it costs to grade and report many responses, from a file of problems to the page.

``python -m benchmarks.evaluations`` runs all that ``limite eval`` does, but for the sampling: it
reads the problems, writes down every response as it comes, grades it, computes the figures, and
writes results, responses, table and page. Responses are made here, of the length of real ones: some
right, some wrong, some without an answer. ``--again`` measures too what the same command costs once
all responses are there.

Time is counted as the processor's, of this process and of those that judge answers, so that other
work on the machine does not show; beside it stands the time that passed.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

import limite
from benchmarks.sandbox import children_s
from limite.core.jsonl import write_jsonl
from limite.core.types import Problem
from limite.evaluate.command import evaluate
from limite.evaluate.journal import Recorded
from limite.evaluate.models import Prompted, Terms
from limite.evaluate.profiles import Profile
from limite.evaluate.wanted import Wanted
from limite.problems.gen.candidate import Maker
from limite.problems.gen.families import Share
from limite.problems.verifiers.batch import worker

FAMILIES = (
    "linear-system", "gcd", "quadratic-equation", "derivative-rules", "modular-inverse",
    "urn-draws", "polygon-area", "arithmetic-sequence", "fraction-sum", "quadratic-inequality",
)  # fmt: skip
BUDGET = 4096
CHARACTERS = (600, 4000)
"""Of a response, from a short one to a long one."""
TARGET_S = 240.0
"""Of the processor for 100,000 responses: two minutes on two cores."""
THINKING = (
    "Let me work through this one step at a time. ",
    "First I write down what is given: $x = 3$ and $y = 2x + 1$. ",
    "That gives \\frac{7}{3}, which I should check again. ",
    "Wait, the sign may be wrong here, so I start once more. ",
)


class Canned:
    """A model whose responses are there already."""

    run = None
    notes: Sequence[str] = ()
    failures: Mapping[str, int] = {}
    default_profile = "base-zero-shot"

    def __init__(self, name: str, skill: float) -> None:
        self.name, self.skill = name, skill

    def prompts(self, problems: Sequence[Problem], profile: Profile) -> list[Prompted]:
        return [
            Prompted(problem=each, shown=each.problem, budget_tokens=BUDGET) for each in problems
        ]

    def facts(self, profile: Profile) -> Mapping[str, Any]:
        return {"eos_ids": (2,), "max_tokens": BUDGET, "template": None, "rendering": None}

    def sample(
        self, wanted: Sequence[tuple[Prompted, int]], profile: Profile, protocol_id: str
    ) -> Iterator[Recorded]:
        for each, number in wanted:
            draws = random.Random(f"{self.name} {each.problem.id} {number}")
            yield self._response(each, number, protocol_id, draws)

    def _response(
        self, asked: Prompted, number: int, protocol_id: str, draws: random.Random
    ) -> Recorded:
        text = "<think>" + "".join(
            draws.choice(THINKING) for _ in range(draws.randint(*CHARACTERS) // 40)
        )
        cut = draws.random() < 0.02
        if not cut:
            stated = asked.problem.answer.value
            if draws.random() > self.skill:
                stated = f"{stated}+1" if draws.random() < 0.5 else str(draws.randint(-99, 99))
            worked = next(iter(asked.problem.solutions.values()), "")
            text += f"</think>\n{worked}\nSo it is\n\\[ \\boxed{{{stated}}} \\]"
        tokens = BUDGET if cut else max(1, len(text) // 4)
        return Recorded(
            model=self.name,
            protocol_id=protocol_id,
            problem_id=asked.problem.id,
            sample_index=number,
            seed=str(number),
            prompt_tokens=len(asked.problem.problem) // 3,
            completion_budget=BUDGET,
            generated_tokens=tokens,
            finish_reason="length" if cut else "eos",
            reasoning_closed=not cut,
            text=text,
            completion_ids=None,
        )

    def close(self) -> None:
        pass


def make_problems(path: Path, count: int) -> None:
    """Problems of several types of answer, with worked solutions, no two alike."""
    makers = [Maker(Share(name=name, difficulty=(0.3, 0.9)), 1, "mathematics") for name in FAMILIES]
    seen: set[str] = set()
    records: list[dict[str, Any]] = []
    index = 0
    while len(records) < count:
        name, line, refused = makers[index % len(makers)](index // len(makers))
        index += 1
        if not refused and name not in seen:
            seen.add(name)
            records.append(json.loads(line))
    write_jsonl(path, records)


def nothing(kind: str) -> Any:
    """What an option of such a type is when it is left out."""
    if "Sequence" in kind:
        return ()
    return False if kind == "bool" else None


def wanted(place: Path, samples: int) -> Wanted:
    """The command that is measured; every other option is left out."""
    given: dict[str, Any] = {
        "benchmark": str(place / "problems.jsonl"),
        "terms": Terms(samples=samples, temperature=0.6, seed=1, max_tokens=BUDGET),
        "verifier": "mathematics",
        "confidence": 0.95,
        "out": place / "out",
    }
    absent = {
        field.name: ()
        if "Sequence" in str(field.type)
        else False
        if str(field.type) == "bool"
        else None
        for field in attrs.fields(Wanted)
    }
    return Wanted(**{**absent, **given})


def spent_s() -> tuple[float, float]:
    """The processor's seconds so far, of this process and of all that it started; and the clock."""
    worker().close()
    return time.process_time() + children_s(), time.monotonic()


def _canned() -> list[Canned]:
    return [Canned("canned", 0.6)]


def measure(problems: int, samples: int, *, again: bool) -> dict[str, Any]:
    """One evaluation of ``problems`` times ``samples`` responses."""
    quiet = lambda _text: None  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_problems(place / "problems.jsonl", problems)
        rows = []
        for name in ("first", "again")[: 2 if again else 1]:
            cpu_s, clock_s = spent_s()
            found = evaluate(wanted(place, samples), _canned, quiet, quiet)
            cpu_after_s, clock_after_s = spent_s()
            rows.append(
                {
                    "run": name,
                    "cpu_s": round(cpu_after_s - cpu_s, 2),
                    "clock_s": round(clock_after_s - clock_s, 2),
                }
            )
        [model] = found["models"]
        sizes = {
            str(path.relative_to(place / "out")): path.stat().st_size
            for path in sorted((place / "out").rglob("*"))
            if path.is_file()
        }
    responses = problems * samples
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "limite": limite.__version__,
        "problems": problems,
        "samples": samples,
        "responses": responses,
        "score": model["score"],
        "rows": rows,
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "bytes": sizes,
        "target_cpu_s": TARGET_S * responses / 100_000,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints, and with ``--json`` keeps what was found."""
    parser = argparse.ArgumentParser(description="Responses graded and reported.")
    parser.add_argument("--problems", type=int, default=12_500)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--again", action="store_true", help="the same command a second time, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the results as JSON")
    asked = parser.parse_args(arguments)
    found = measure(asked.problems, asked.samples, again=asked.again)
    for row in found["rows"]:
        print(
            f"{row['run']}: {found['responses']:,} responses: {row['cpu_s']:.1f} s of the "
            f"processor (target {found['target_cpu_s']:.1f}), {row['clock_s']:.1f} s passed"
        )
    print(f"peak memory {found['peak_mib']:,} MiB, {sum(found['bytes'].values()):,} bytes written")
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
