"""Compiled kernels are launched on the device of their tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from limite.core.kernels import dispatch
from limite.core.kernels.triton import linear_scan, runtime


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """Of two devices, those that are current now."""
    current: list[torch.device] = []

    @contextmanager
    def device(wanted: torch.device) -> Iterator[None]:
        current.append(wanted)
        yield
        current.pop()

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "device", device)
    return current


def test_every_launch_is_where_the_first_tensor_is(
    entered: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[torch.device]] = []

    class Kernel:
        def __init__(self, kernel: Any) -> None:
            self.kernel = kernel

        def __getitem__(self, grid: Any) -> Any:
            seen.append(list(entered))
            return self.kernel[grid]

    monkeypatch.setattr(linear_scan, "_forward_kernel", Kernel(linear_scan._forward_kernel))
    function = dispatch._built_in("linear_scan", "triton").load()
    halves, ones = torch.full((1, 3), 0.5), torch.ones(1, 3)
    found = function(halves, ones, reverse=False, carry=None)
    assert found.tolist() == [[1.0, 1.5, 1.75]]
    assert seen == [[torch.device("cpu")]]
    assert not entered


@pytest.mark.parametrize("op", dispatch.MODULES)
def test_every_operation_cares(op: str, entered: list[torch.device]) -> None:
    function: Any = dispatch._built_in(op, "triton").load()
    assert function.__name__ == op
    assert function.__wrapped__ is dispatch._built_in(op, "interpret").load()


@pytest.mark.parametrize("devices", [0, 1])
def test_where_there_is_no_choice_nothing_stands_before_a_launch(
    devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)
    assert runtime.on_its_device(linear_scan.linear_scan) is linear_scan.linear_scan


@pytest.mark.gpu
def test_on_the_last_gpu_whichever_is_current() -> None:
    last = torch.device("cuda", torch.cuda.device_count() - 1)
    ones = torch.ones(1, 3, device=last, requires_grad=True)
    found = dispatch._built_in("linear_scan", "triton").load()(
        ones, ones, reverse=False, carry=None
    )
    found.sum().backward()
    assert found.tolist() == [[1.0, 2.0, 3.0]]
    assert ones.grad is not None
    assert ones.grad.isfinite().all()
