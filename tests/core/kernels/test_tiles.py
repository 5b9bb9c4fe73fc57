"""The table of tiles: which line holds, and what stands in for it for a while."""

from __future__ import annotations

import pytest

from limite.core.kernels import tiles
from limite.core.kernels.tiles import Row, Tile

PLAIN, WIDE, NEW = Tile({"BM": 16}), Tile({"BM": 32}), Tile({"BM": 64})
LINES = (
    Row("k", "half", PLAIN),
    Row("k", "half", WIDE, width=256),
    Row("k", "half", NEW, architecture=90),
)


@pytest.fixture(autouse=True)
def _lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "TABLE", LINES)


@pytest.mark.parametrize(
    ("width", "architecture", "expected"),
    [(None, None, PLAIN), (128, 80, PLAIN), (256, None, WIDE), (256, 90, NEW), (None, 90, NEW)],
)
def test_the_line_that_says_most_holds(
    width: int | None, architecture: int | None, expected: Tile
) -> None:
    for _ in range(2):
        found = tiles.tile("k", kind="half", width=width, architecture=architecture)
        assert found is expected


def test_another_tile_holds_within_the_block_only() -> None:
    for _ in range(2):
        assert tiles.tile("k", kind="half") is PLAIN
        with tiles.use(k=NEW):
            assert tiles.tile("k", kind="half") is NEW
            with tiles.use(other=WIDE):
                assert tiles.tile("k", kind="half") is NEW
    assert tiles.tile("k", kind="half") is PLAIN


def test_what_is_remembered_is_that_of_the_table_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tiles.tile("k", kind="half") is PLAIN
    monkeypatch.setattr(tiles, "TABLE", (Row("k", "half", WIDE),))
    assert tiles.tile("k", kind="half") is WIDE


def test_a_kernel_without_a_line_is_an_error() -> None:
    with pytest.raises(KeyError, match="no tile for k, float32, width None, sm_90"):
        tiles.tile("k", kind="float32", architecture=90)
