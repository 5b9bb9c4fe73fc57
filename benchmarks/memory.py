"""Measures the most memory that an update over a large vocabulary, and loading a large model, hold.

    python -m benchmarks memory --json

An update of a small Llama with 151,680 ids by 4,096 tokens: the head's log-probabilities as limite
has them, and with all logits at once. A checkpoint of the Limite 1B shape, whose values are one and
the same, read as limite does and in the plain way: all tensors of the file, and from there into the
model. Each in a process of its own, which says how far its most memory rose, and to what.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import torch
import torch.nn.functional as F

from benchmarks import pages
from benchmarks.turns import ONE_THREAD, ROOT, peak_mib
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder, unset_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import PRESETS
from limite.core.model.resolve import attention_component
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.directory import ModelDirectory
from limite.core.pretrained.save import save_pretrained
from limite.plugins.optimizers.uncompiled import FusedAdamW

TOKENS, ROW_TOKENS = 4096, 512
UPDATED = LlamaSpec(
    width=128, layers=2, heads=4, kv_heads=2, head_width=32, mlp_width=352, context=512,
    vocabulary=151_680,
)  # fmt: skip
TINY_TOKENS, TINY_VOCABULARY = 1024, 512


@attrs.frozen(kw_only=True)
class Held:
    """One way of doing one thing."""

    what: str
    way: str
    before_mib: float  # with everything imported, and for an update with the model made
    peak_mib: float
    tensors_mib: float  # of an update all logits once; of loading the weights
    cpu_s: float


def new_decoder(vocabulary: int) -> Decoder:
    return build_decoder(attrs.evolve(UPDATED, vocabulary=vocabulary).filled(), 1)


def update(way: str, decoder: Decoder, tokens: int) -> Callable[[], object]:
    """One update of the model by a cross entropy, ready to be made."""
    optimizer = FusedAdamW(list(decoder.parameters()), lr=1e-3)
    vocabulary = decoder.vocabulary
    ids = torch.randint(0, vocabulary, (tokens,), generator=torch.Generator().manual_seed(1))
    layout = Layout.from_lengths([min(ROW_TOKENS, tokens)] * -(-tokens // ROW_TOKENS), "cpu")

    def made() -> None:
        hidden = decoder(ids, layout)
        if way == "limite":
            loss = -decoder.log_probabilities(hidden, ids.roll(-1))[0].mean()
        else:
            loss = F.cross_entropy(F.linear(hidden, decoder.head_weight), ids.roll(-1))
        loss.backward()
        optimizer.step()

    return made


def spec_1b(*, small: bool) -> ModelSpec:
    settings = dict(PRESETS["limite-tiny" if small else "limite-1b"])
    settings["attention"] = attention_component(settings["attention"])
    return ModelSpec(**settings).filled(TINY_VOCABULARY if small else None)


def write_model(target: Path, *, small: bool) -> float:
    """A checkpoint in bfloat16; what its weights take, in MiB."""
    decoder = unset_decoder(spec_1b(small=small), dtype=torch.bfloat16)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.fill_(0.01)
    save_pretrained(decoder, target)
    return sum(each.nbytes for each in decoder.parameters()) / 2**20


def loading(way: str, path: Path) -> Callable[[], object]:
    directory = ModelDirectory.open(path)
    if way == "limite":
        return lambda: directory.load("bfloat16")

    def plain() -> Decoder:
        from safetensors.torch import load_file

        decoder = unset_decoder(directory.spec, dtype=torch.bfloat16)
        with torch.no_grad():
            for parameter in decoder.parameters():
                parameter.zero_()  # as initial values would, it touches all of the model
        state: dict[str, torch.Tensor] = {}
        for file in sorted(path.glob("*.safetensors")):
            state |= load_file(file)
        held = {name: each.clone() for name, each in state.items()}  # read, not merely mapped
        decoder.load_state_dict({k.removeprefix("model."): v for k, v in held.items()})
        return decoder

    return plain


def measured(what: str, way: str, *, small: bool, path: Path | None) -> dict[str, float]:
    """In this process: what is held before, and at most."""
    if what == "update":
        tokens, vocabulary = (TINY_TOKENS, TINY_VOCABULARY) if small else (TOKENS, 151_680)
        work = update(way, new_decoder(vocabulary), tokens)
    else:
        assert path is not None
        work = loading(way, path)
    before, started = peak_mib(), time.process_time()
    work()
    cpu_s, peak = time.process_time() - started, peak_mib()
    if before is None or peak is None:
        raise SystemExit("only Linux tells a process how much memory it has held")
    return {"before_mib": before, "peak_mib": peak, "cpu_s": cpu_s}


def apart(what: str, way: str, *, small: bool, path: Path | None) -> dict[str, float]:
    """The same in a process of its own."""
    words = [what, way, "tiny" if small else "full", str(path or "")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", "--one", *words],
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows(*, small: bool) -> list[Held]:
    found = []
    tokens, vocabulary = (TINY_TOKENS, TINY_VOCABULARY) if small else (TOKENS, 151_680)
    for way in ("limite", "all logits"):
        told = apart("update", way, small=small, path=None)
        logits_mib = tokens * vocabulary * 4 / 2**20
        found.append(Held(what="update", way=way, tensors_mib=logits_mib, **told))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        weights_mib = write_model(path, small=small)
        for way in ("limite", "all tensors"):
            told = apart("load", way, small=small, path=path)
            found.append(Held(what="load", way=way, tensors_mib=weights_mib, **told))
    return found


def shown(found: Sequence[Held]) -> list[str]:
    return [
        f"{each.what:7} {each.way:12} {each.peak_mib - each.before_mib:7.0f} MiB more, "
        f"{each.peak_mib:.0f} MiB at most, {each.cpu_s:.1f} s of processor time; "
        f"{'logits' if each.what == 'update' else 'weights'} alone {each.tensors_mib:.0f} MiB"
        for each in found
    ]


def settings() -> Mapping[str, Any]:
    names = ("width", "layers", "heads", "kv_heads", "head_width", "mlp_width", "vocabulary")
    updated = {name: getattr(UPDATED, name) for name in names}
    return {"tokens": TOKENS, "row_tokens": ROW_TOKENS, "updated": updated}


def main(argv: Sequence[str] | None = None) -> int:
    made = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    made.add_argument("--tiny", action="store_true", help="sizes that take no time")
    made.add_argument(
        "--json", metavar="PATH", nargs="?", const="-", help="a file, a folder for one named, or -"
    )
    made.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    asked = made.parse_args(argv)
    if asked.one:
        what, way, size, path = asked.one
        told = measured(what, way, small=size == "tiny", path=Path(path) if path else None)
        print(json.dumps(told))
        return 0
    found = rows(small=asked.tiny)
    if asked.json != "-":
        print("\n".join(shown(found)))
    if asked.json is not None:
        page = pages.page_of(found, environment=ONE_THREAD, settings=settings())
        pages.write(page, asked.json, "memory")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
