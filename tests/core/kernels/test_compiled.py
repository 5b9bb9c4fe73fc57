"""Operations within ``torch.compile``: in its graph on the CPU, chosen anew on request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.core.kernels.moment import Moment
from limite.core.kernels.rotation import Rotation

pytestmark = [  # what the compiler says of its own doings
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*call to a `functools.lru_cache`:UserWarning"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning"),
]

Case = tuple[Callable[..., Any], tuple[Tensor, ...]]

ROTATION = Rotation(torch.rand(2, 5, 8), torch.rand(2, 5, 8))
MOMENT = Moment(torch.tensor([3, 5]), 5)


def wide(*shape: int) -> Tensor:
    """Float64: the compiler takes fused operators apart, which rounds otherwise."""
    numbers = torch.linspace(-1.0, 1.0, torch.Size(shape).numel(), dtype=torch.float64)
    return (numbers * 7).sin().view(shape)


def heads(number: int, count: int, tokens: int = 5) -> tuple[Tensor, ...]:
    return tuple(wide(2, number, tokens, 16) + at / 9 for at in range(count))


WHOLE: dict[str, Case] = {
    "rms_norm": (ops.rms_norm, (wide(3, 16), wide(16))),
    "add_rms_norm": (
        lambda a, b, keep, add: ops.add_rms_norm(a, b, keep=keep, add=add),
        (wide(3, 16), wide(3, 16) + 1, wide(1), wide(1) + 1),
    ),
    "qk_norm_rope": (lambda qk: ops.qk_norm_rope(qk, ROTATION), (wide(2, 5, 4, 16),)),
    "rope": (lambda x: ops.rope(x, ROTATION), (wide(2, 5, 4, 16),)),
    "swiglu": (ops.swiglu, (wide(3, 16), wide(3, 16) + 1)),
    "head_mix": (ops.head_mix, (wide(2, 5, 4, 16), wide(2, 5, 2, 16), wide(4), wide(2, 5, 4))),
    "attention": (
        lambda q, k, v: ops.attention(q, k, v, scale=0.25, window=3),
        (*heads(4, 1), *heads(2, 2)),
    ),
    "simplicial_attention": (
        lambda *x: ops.simplicial_attention(*x, scale=0.25, window1=3, window2=2),
        (*heads(4, 1), *heads(2, 4)),
    ),
}
ALONE: dict[str, Case] = {  # without gradients
    "attention_decode": (
        lambda q, k, v: ops.attention_decode(q, k, v, MOMENT, scale=0.25),
        (*heads(4, 1, 1), *heads(2, 2)),
    ),
    "simplicial_attention_decode": (
        lambda q, k1, k2, v1, v2: ops.simplicial_attention_decode(
            q, k1, k2, v1, v2, MOMENT, scale=0.25, window1=3, window2=2
        ),
        (*heads(4, 1, 1), *heads(2, 4)),
    ),
}
BROKEN: dict[str, Case] = {  # into several graphs
    "indexed_logprob": (
        lambda hidden, weight: ops.indexed_logprob(hidden, weight, torch.tensor([[3], [0], [-1]])),
        (wide(3, 16), wide(11, 16) + 1),
    ),
    "linear_scan": (ops.linear_scan, (wide(2, 9), wide(2, 9) + 1)),
}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def results(function: Callable[..., Any], inputs: tuple[Tensor, ...], learn: bool) -> list[Tensor]:
    given = [each.clone().requires_grad_(learn) for each in inputs]
    found = function(*given)
    found = [found] if isinstance(found, Tensor) else [each for each in found if each is not None]
    if not learn:
        return found
    upstream = [torch.full_like(each, 0.5) for each in found]
    return [*found, *torch.autograd.grad(found, given, upstream)]


def same(case: Case, learn: bool, **options: Any) -> None:
    function, inputs = case
    expected = results(function, inputs, learn)  # first: it fills the memos of what layers share
    got = results(torch.compile(function, **options), inputs, learn)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", WHOLE)
def test_one_graph(name: str) -> None:
    with ops.use("cpu"):
        same(WHOLE[name], learn=True, backend="aot_eager", fullgraph=True)


@pytest.mark.parametrize("name", WHOLE | ALONE)
def test_one_graph_without_gradients(name: str) -> None:
    with ops.use("cpu"), torch.no_grad():
        same((WHOLE | ALONE)[name], learn=False, backend="aot_eager", fullgraph=True)


@pytest.mark.parametrize("name", BROKEN)
def test_several_graphs(name: str) -> None:
    with ops.use("cpu"):
        same(BROKEN[name], learn=True, backend="eager")


def test_lengths_that_the_host_has_to_read_break_the_graph() -> None:
    def decode(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
        return ops.attention_decode(q, k, v, lengths, scale=0.25)[0]

    inputs = (*heads(4, 1, 1), *heads(2, 2, 8), torch.tensor([3, 5]))
    with torch.no_grad():
        compiled = torch.compile(decode, backend="eager")
        assert torch.equal(compiled(*inputs), decode(*inputs))


def test_empty() -> None:
    compiled = torch.compile(ops.swiglu, backend="eager", fullgraph=True)
    assert compiled(torch.zeros(0, 4), torch.zeros(0, 4)).shape == (0, 4)


@pytest.fixture
def graphs() -> Iterator[tuple[list[int], Callable[..., Any]]]:
    """The graphs made, and a compiled ``swiglu``, for which there is a ``double`` as well."""
    dispatch.register(dispatch.Implementation("swiglu", "double", lambda: lambda a, b: 2 * a * b))
    made: list[int] = []

    def backend(graph: torch.fx.GraphModule, _inputs: list[Tensor]) -> Callable[..., Any]:
        made.append(1)
        return graph.forward

    yield made, torch.compile(ops.swiglu, backend=backend, fullgraph=True)
    dispatch.forget("swiglu", "double")


def test_chosen_anew_within_use(graphs: tuple[list[int], Callable[..., Any]]) -> None:
    made, call = graphs
    a, b = wide(3), wide(3) + 1
    usual = call(a, b)
    with ops.use("swiglu=double"):
        torch.testing.assert_close(call(a, b), 2 * a * b)
    torch.testing.assert_close(call(a, b), usual)
    with ops.use("swiglu=double"):
        torch.testing.assert_close(call(a, b), 2 * a * b)
    assert len(made) == 2


def test_chosen_anew_when_the_variable_changes(
    graphs: tuple[list[int], Callable[..., Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, call = graphs
    a, b = wide(3), wide(3) + 1
    usual = call(a, b)
    monkeypatch.setenv(dispatch.VARIABLE, "swiglu=double")
    torch.testing.assert_close(call(a, b), 2 * a * b)
    monkeypatch.setenv(dispatch.VARIABLE, "cpu")
    torch.testing.assert_close(call(a, b), usual)
    assert len(made) == 3


def test_chosen_anew_when_another_is_registered(
    graphs: tuple[list[int], Callable[..., Any]],
) -> None:
    _, call = graphs
    a, b = wide(3), wide(3) + 1
    with ops.use("swiglu=double"):
        call(a, b)
        dispatch.forget("swiglu", "double")
        triple = dispatch.Implementation("swiglu", "double", lambda: lambda a, b: 3 * a * b)
        dispatch.register(triple)
        torch.testing.assert_close(call(a, b), 3 * a * b)


def test_interpreted_kernels_break_the_graph() -> None:
    with ops.use("interpret"):
        narrow = tuple(each.float() for each in WHOLE["swiglu"][1])
        function = WHOLE["swiglu"][0]
        compiled = torch.compile(function, backend="eager")
        for one, other in zip(
            results(compiled, narrow, True), results(function, narrow, True), strict=True
        ):
            assert torch.equal(one, other)


def test_operations_do_not_import_the_compiler() -> None:
    program = "import sys, limite.core.kernels.ops; assert 'torch._dynamo' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
