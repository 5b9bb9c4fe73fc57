"""One way to every benchmark.

    python -m benchmarks NAME ... [--against PEER] [--json]

Without a name it lists them. What else a benchmark takes, ``python -m benchmarks NAME --help``
says.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from benchmarks.jobs import JOBS

PEERS = ("trl", "transformers", "reasoning-gym", "math-verify")

MODULES = {
    "attention_steps": ("what a step of attention costs as rows grow", ()),
    "evaluations": ("responses graded and reported, from their file to the page", ()),
    "generators": ("problems a second of every family", ()),
    "kernels": ("every operation of the kernel core beside its rivals", ()),
    "memory": ("the most memory an update over a large vocabulary, and loading 1B, hold", ()),
    "models": ("loading, reading and writing of whole models", ("transformers",)),
    "objectives": ("every objective beside a hand-written expression", ()),
    "problems": ("problems made and judged a second", ("reasoning-gym", "math-verify")),
    "sandbox": ("short programs a second through the sandbox", ()),
    "scaling": ("the learner's step on two ranks beside two processes apart", ()),
    "updates": ("one update as limite makes it, and naively", ()),
}


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help"):
        print("\n".join(listed()))
        return 0 if words else 2
    name, rest = words[0].replace("-", "_"), words[1:]
    if name in JOBS:
        from benchmarks import training

        return training.main([name, *rest])
    if name not in MODULES:
        print(f"there is no benchmark {words[0]!r}\n" + "\n".join(listed()), file=sys.stderr)
        return 2
    rest, peer = without_peer(rest)
    offered = MODULES[name][1]
    if peer is not None and peer not in offered:
        known = ", ".join(offered) or "no peer"
        print(f"{name} is measured against {known}, not {peer!r}", file=sys.stderr)
        return 2
    if peer is not None:
        try:
            version(peer)
        except PackageNotFoundError:
            print(f"{peer} is not installed: pip install -e '.[peers]'", file=sys.stderr)
            return 2
    if offered and peer is None:
        rest.append("--alone")
    return int(importlib.import_module(f"benchmarks.{name}").main(rest) or 0)


def without_peer(words: Sequence[str]) -> tuple[list[str], str | None]:
    """The arguments without ``--against PEER``, and the peer."""
    rest, peer, coming = [], None, iter(words)
    for word in coming:
        if word == "--against":
            peer = next(coming, "")
        elif word.startswith("--against="):
            peer = word.partition("=")[2]
        else:
            rest.append(word)
    return rest, peer


def listed() -> list[str]:
    lines = ["python -m benchmarks NAME ... [--against PEER] [--json]", ""]
    lines += [f"  {name:16} {job.about}  (trl)" for name, job in JOBS.items()]
    for name, (about, peers) in MODULES.items():
        lines.append(f"  {name:16} {about}" + (f"  ({', '.join(peers)})" if peers else ""))
    return lines


if __name__ == "__main__":
    sys.exit(main())
