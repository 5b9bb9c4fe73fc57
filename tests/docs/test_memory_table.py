"""The tables of memory on the page about scaling are what the plan of its recipe says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from limite.core.cli.plan import shown_seconds
from limite.core.cli.sizes import shown_bytes
from limite.core.discover import load_registry
from limite.core.recipe.check import memory_of_file, plans_of_file
from limite.core.recipe.exchange_plan import exchanges_of
from limite.core.recipe.gpus import GPUS
from limite.core.recipe.load import load_recipe
from limite.core.recipe.look import look_over
from limite.core.recipe.memory_plan import Machine, StageMemory
from tests.docs.blocks import ROOT, blocks

PAGE = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
ROWS = (2048, 8192, 32_768, 65_536, 131_072)
GPU = 80 * 1000**3
Planned = Callable[..., StageMemory]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """``planned(row, gpus=1)`` is the plan of the page's recipe for rows of so many tokens."""
    place = tmp_path_factory.mktemp("scale") / "scale.toml"
    (text,) = blocks(PAGE, "toml")
    place.write_text(text, encoding="utf-8")
    registry = load_registry()
    prompt = look_over(load_recipe(place, (), registry).recipe, registry).texts["rl"].longest_prompt

    def plan(row: int, gpus: int = 1, *, sharded: bool = True, recompute: bool = False):
        machine = Machine(gpus=gpus, gpu_bytes=GPU, sharded=sharded)
        changes = (
            f"stages.rl.max_tokens={row - prompt}",
            f"stages.rl.microbatch_tokens={row}",
            f"stages.rl.recompute={str(recompute).lower()}",
        )
        (stage,) = memory_of_file(Path(place), changes, registry, machine).stages
        return stage

    return plan


def parts(stage: StageMemory, *names: str) -> list[int]:
    return [sum(part.bytes for part in stage.parts if part.name == name) for name in names]


def test_what_is_always_there(planned: Planned) -> None:
    places = {
        "all of it, as `torchrun` does unless told otherwise (`--replicated`)": (1, False),
        "an eighth, shared out over 8 with `--shard`": (8, True),
        "a 48th, shared out over 48": (48, True),
    }
    for name, (gpus, sharded) in places.items():
        sizes = parts(
            planned(2048, gpus, sharded=sharded), "weights", "masters", "gradients", "optimizer"
        )
        row = " | ".join([name, *map(shown_bytes, sizes), shown_bytes(sum(sizes))])
        assert f"| {row} |\n" in PAGE, f"docs/scaling.md should say:\n| {row} |"


@pytest.mark.parametrize("tokens", ROWS)
def test_what_grows_with_a_row(planned: Planned, tokens: int) -> None:
    stage = planned(tokens)
    (cache,) = parts(stage, "cache")
    row = " | ".join(
        [
            f"{tokens:,}",
            shown_bytes(stage.activations_kept),
            shown_bytes(stage.activations_recomputed),
            shown_bytes(cache / max(stage.at_once, 1)),
            f"{stage.at_once:,}",
        ]
    )
    assert f"| {row} |\n" in PAGE, f"docs/scaling.md should say:\n| {row} |"


@pytest.mark.parametrize(
    ("name", "tokens", "sharded"),
    [
        ("8,192, with `--shard`", 8192, True),
        ("16,384, with `--shard`", 16_384, True),
        ("any, `--replicated`", 8192, False),
    ],
)
def test_what_travels(name: str, tokens: int, sharded: bool, tmp_path: Path) -> None:
    (text,) = blocks(PAGE, "toml")
    place = tmp_path / "scale.toml"
    place.write_text(text, encoding="utf-8")
    machine = Machine(gpus=8, gpu_bytes=GPU, sharded=sharded)
    changes = (f"stages.rl.microbatch_tokens={tokens}",)
    memory, cost = plans_of_file(place, changes, load_registry(), machine)
    (told,) = exchanges_of(memory, cost, GPUS["h100"])
    sizes = (shown_bytes(told.sent_bytes), shown_seconds(told.seconds or 0.0))
    row = " | ".join([name, f"{told.micro_batches:,}", *sizes])
    assert f"| {row} |\n" in PAGE, f"docs/scaling.md should say:\n| {row} |"


def test_the_longest_row_fits_only_where_layers_are_computed_again(planned: Planned) -> None:
    assert planned(ROWS[-1]).at("learning") > GPU
    assert planned(ROWS[-1], recompute=True).at("learning") <= GPU
