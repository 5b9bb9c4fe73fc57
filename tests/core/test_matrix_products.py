"""Rows of a matrix product are the same wherever they lie, on every maker's processors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from limite.core.matrix_products import ask_for_equal_rows, processor_maker


@pytest.mark.parametrize(
    ("text", "maker"),
    [
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\n\nprocessor: 1\n", "AuthenticAMD"),
        ("processor\t: 0\nvendor_id\t: GenuineIntel\n", "GenuineIntel"),
        ("processor\t: 0\nCPU implementer\t: 0x41\n\nvendor_id: later\n", None),
        ("", None),
    ],
)
def test_the_maker_is_read(tmp_path: Path, text: str, maker: str | None) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert processor_maker(tmp_path / "cpuinfo") == maker


def test_a_processor_that_tells_nothing_is_nobody_s(tmp_path: Path) -> None:
    assert processor_maker(tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("maker", "before", "after"),
    [
        ("AuthenticAMD", {}, {"MKL_CBWR": "AUTO,STRICT"}),
        ("AuthenticAMD", {"MKL_CBWR": "AVX2"}, {"MKL_CBWR": "AVX2"}),
        ("GenuineIntel", {}, {}),
        (None, {}, {}),
    ],
)
def test_strict_products_are_asked_for_where_they_are_not_the_rule(
    maker: str | None, before: dict[str, str], after: dict[str, str]
) -> None:
    environment = dict(before)
    ask_for_equal_rows(maker, environment)
    assert environment == after


@pytest.mark.parametrize(("inputs", "columns"), [(48, 7), (64, 97), (64, 12), (192, 512)])
@pytest.mark.parametrize("rows", [32, 64, 96, 512])
def test_rows_owe_nothing_to_their_place(inputs: int, columns: int, rows: int) -> None:
    generator = torch.Generator().manual_seed(3)
    left = torch.randn(rows, inputs, generator=generator)
    right = torch.randn(inputs, columns, generator=generator)
    order = torch.randperm(rows, generator=generator)
    product = left.mm(right)
    assert torch.equal(left[order].mm(right), product[order])
    assert torch.equal(left[:32].clone().mm(right), product[:32])
