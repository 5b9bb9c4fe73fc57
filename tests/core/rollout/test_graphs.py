"""Captured decoding steps: the same bits as launched ones, in memory that stays where it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.model.decoder import Decoder
from limite.core.model.fixed_cache import FixedCache
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.settings import DecoderSpec
from limite.core.model.spec import ModelSpec
from limite.core.rollout.capture import CannotCapture, Watch
from limite.core.rollout.graphs import StepGraphs, step_graphs
from limite.core.rollout.repetition import RepetitionDetector
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request
from limite.core.types import Response
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.keyvalue import KeyValueCache
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.attention.simplicial import Simplicial
from tests.core.rollout.pretend_capture import PretendCapture
from tests.core.rollout.small_decoder import TOKENIZER, noisy, requests

SHAPE = {"width": 32, "heads": 2, "kv_heads": 1, "head_width": 16, "context": 160}
MODELS: dict[str, DecoderSpec] = {
    "limite": ModelSpec(attention=LocalGlobal(window=16), **SHAPE),
    "simplicial": ModelSpec(attention=Simplicial(window1=9, window2=3), **SHAPE),
    "determinant": ModelSpec(
        attention=Simplicial(window1=9, window2=3, form="determinant", rotary=True), **SHAPE
    ),
    "llama": LlamaSpec(attention=Global(rotary=True), **SHAPE),
}


@pytest.fixture(autouse=True)
def torch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph holds what torch launches; kernels in C, which run on a CPU alone, are none of it."""
    monkeypatch.setenv(dispatch.VARIABLE, "cpu")


def build(name: str = "limite", dtype: torch.dtype = torch.float32) -> Decoder:
    return noisy(MODELS[name], dtype)


MIXED = requests(9, [5, 17, 40, 63, 80], [16, 9, 30, 20, 50])
"""Three capacities of caches, and rows that end at many different positions."""


def graphs_of(capture: Any = None, **settings: Any) -> StepGraphs:
    return StepGraphs(capture or PretendCapture(), **({"kept_gib": 1.0} | settings))


def sample(
    decoder: Decoder, graphs: StepGraphs | None, asked: Sequence[Request] = MIXED, **options: Any
) -> list[Response]:
    settings = {"seed": 7, "eos_ids": (2, 20, 30)} | options
    version = settings.pop("version", 0)
    sampler = Sampler(decoder, TOKENIZER, graphs=graphs, **settings)
    got = dict(sampler.generate(asked, version))
    return [got[index] for index in range(len(asked))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_every_family_s_steps_are_captured_and_change_no_bit(name: str, dtype: torch.dtype) -> None:
    decoder, graphs = build(name, dtype), graphs_of()
    asked = requests(14, [5, 17, 60], [8, 12, 16])
    with dispatch.use("reference"):
        plain = sample(decoder, None, asked, compact_at=0.0)
        captured = sample(decoder, graphs, asked, compact_at=0.0)
    assert captured == plain
    assert graphs.reasons == {}
    assert graphs.counts["misses"] >= 2
    assert graphs.counts["replays"] > 25


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.7, "listed_tokens": 3},
        {"top_p": 0.8},
        {"slots": 40, "compact_at": 1.0},
        {"detector": RepetitionDetector(min_words=1, window_words=1, every_tokens=4, threshold=1)},
        {"prefill_once": False},
    ],
    ids=lambda options: " ".join(options),
)
def test_whatever_is_asked_of_a_sampler_is_the_same(options: dict[str, Any]) -> None:
    decoder, graphs = build(), graphs_of()
    assert sample(decoder, graphs, **options) == sample(decoder, None, **options)
    assert graphs.reasons == {}


def test_a_geometry_is_captured_once_and_found_again() -> None:
    decoder, capture = build(), PretendCapture()
    graphs = graphs_of(capture)
    first = sample(decoder, graphs, compact_at=0.0)
    misses, hits = graphs.counts["misses"], graphs.counts["hits"]
    assert misses == capture.captures >= 3
    assert sample(decoder, graphs, compact_at=0.0) == first
    assert graphs.counts["misses"] == misses
    # Every geometry that was met, captured or found then, is found now.
    assert graphs.counts["hits"] == hits + misses + hits
    told = graphs.metrics()
    assert told["graphs/hits"] == 2 * hits + misses
    assert told["graphs/misses"] == misses
    assert told["graphs/evicted"] == told["graphs/refused"] == 0
    assert set(graphs.metrics().values()) == {0.0}


def test_fewer_rows_are_the_first_of_the_same_memory() -> None:
    decoder, graphs = build(), graphs_of()
    sample(decoder, graphs, requests(80, [5], [50]), compact_at=0.0)
    (memory,) = graphs._memories.values()
    assert memory.cache.rows == 96
    starts = {each.cache.places()[0][0] for each in graphs._geometries.values()}
    assert {each.cache.rows for each in graphs._geometries.values()} == {32, 64, 96}
    assert len(starts) == 1


def test_more_rows_take_memory_of_their_own_and_let_the_smaller_go() -> None:
    decoder, graphs = build(), graphs_of()
    asked = requests(80, [5], [50])
    sample(decoder, graphs, asked[:20], compact_at=1.0)
    assert graphs.counts["evicted"] == 0
    assert sample(decoder, graphs, asked) == sample(decoder, None, asked)
    assert graphs.counts["evicted"] == 1


def test_the_geometry_unused_for_longest_goes() -> None:
    decoder = build()
    graphs = graphs_of(geometries=1)
    plain = sample(decoder, None)
    assert sample(decoder, graphs) == plain
    assert sample(decoder, graphs) == plain
    assert graphs.counts["hits"] == 0
    assert graphs.counts["evicted"] == graphs.counts["misses"] - 1


def test_memory_of_other_capacities_is_kept_within_bounds() -> None:
    decoder = build()
    graphs = graphs_of(kept_gib=0.0)
    assert sample(decoder, graphs) == sample(decoder, None)
    assert graphs._memories == {}
    assert graphs.counts["evicted"] == graphs.counts["misses"] > 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_an_update_is_seen(dtype: torch.dtype) -> None:
    """In float32 steps read weights that were taken; in half precision those of the decoder."""
    decoder, graphs = build(dtype=dtype), graphs_of()
    asked = requests(9, [17], [30])
    before = sample(decoder, graphs, asked, compact_at=1.0)
    optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for parameter in decoder.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    after = sample(decoder, graphs, asked, compact_at=1.0)
    assert after != before
    assert after == sample(decoder, None, asked)
    assert graphs.counts["misses"] == (2 if dtype == torch.float32 else 1)


def test_another_version_of_taken_weights_is_captured_anew() -> None:
    decoder, graphs = build(), graphs_of()
    asked = requests(2, [17], [9])
    for version in (0, 0, 1):
        sample(decoder, graphs, asked, version=version)
    assert (graphs.counts["misses"], graphs.counts["hits"]) == (2, 1)


def test_another_decoder_is_captured_anew() -> None:
    graphs, asked = graphs_of(), requests(2, [17], [9])
    for name in ("limite", "llama", "limite"):
        decoder = build(name)
        assert sample(decoder, graphs, asked) == sample(decoder, None, asked)
    assert graphs.counts["misses"] == 3


def test_weights_are_taken_once_for_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, graphs = build(), graphs_of()
    asked = requests(2, [17], [9])
    sample(decoder, graphs, asked)
    taken: list[Any] = []
    take = decoder.step_weights

    def noted() -> Any:
        taken.append(take())
        return taken[-1]

    monkeypatch.setitem(vars(decoder), "step_weights", noted)
    sample(decoder, graphs, asked)
    assert graphs.counts["hits"] == 1
    assert taken == []


def test_a_decoder_that_changes_its_dtype_is_captured_anew() -> None:
    decoder, graphs = build(), graphs_of()
    asked = requests(2, [17], [9])
    for dtype in (torch.float32, torch.bfloat16, torch.float32):
        decoder.to(dtype)
        assert sample(decoder, graphs, asked) == sample(decoder, None, asked)
    assert graphs.counts["misses"] == 3


def test_rows_that_are_not_done_keep_their_memory() -> None:
    """A batch of rows that waits half-way, and one sampled meanwhile."""
    decoder, graphs = build(), graphs_of()
    asked = requests(40, [17], [30])
    plain = sample(decoder, None, asked)
    sampler = Sampler(decoder, TOKENIZER, seed=7, eos_ids=(2, 20, 30), graphs=graphs)
    waiting = sampler.generate(asked, 0)
    got = [next(waiting)]
    assert sample(decoder, graphs, asked) == plain
    assert list(graphs.reasons) == ["other rows are not done with the memory"]
    got += waiting
    assert [response for _, response in sorted(got, key=lambda each: each[0])] == plain
    graphs.reasons.clear()
    abandoned = sampler.generate(asked, 0)
    next(abandoned)
    abandoned.close()
    del abandoned
    assert sample(decoder, graphs, asked) == plain
    assert graphs.reasons == {}


def test_a_stop_is_heard_before_a_step_is_played() -> None:
    decoder, graphs = build(), graphs_of()
    asked = requests(9, [17], [30])
    sample(decoder, graphs, asked)
    replays = graphs.counts["replays"]

    class Stopped(Exception): ...

    def stop() -> None:
        raise Stopped

    decoder.before_step = stop
    with pytest.raises(Stopped):
        sample(decoder, graphs, asked)
    assert graphs.counts["replays"] == replays


# What cannot be captured

APPEND = KeyValueCache.append_one


def asks_the_host(cache: KeyValueCache, keys: Tensor, values: Tensor, moment: Any) -> None:
    int(moment.lengths.max())
    APPEND(cache, keys, values, moment)


def moves(cache: KeyValueCache, keys: Tensor, values: Tensor, moment: Any) -> None:
    APPEND(cache, keys, values, moment)
    copies = (cache.stored_keys.clone(), cache.values.clone())
    vars(cache).update(vars(KeyValueCache(*copies, by_channel=cache.by_channel)))


def takes_numbers(cache: KeyValueCache, keys: Tensor, values: Tensor, moment: Any) -> None:
    APPEND(cache, keys + torch.tensor([0.0]), values, moment)


def chooses(cache: KeyValueCache, keys: Tensor, values: Tensor, moment: Any) -> None:
    keys[moment.lengths > 10_000].sum()
    APPEND(cache, keys, values, moment)


@pytest.mark.parametrize(
    ("append", "reason"),
    [
        (asks_the_host, "a step waits for the device (item)"),
        (moves, "a layer's cache moves at a step"),
        (takes_numbers, "a step makes a tensor of the host's numbers"),
        (chooses, "a step waits for the device (an index that is a mask)"),
    ],
)
def test_a_step_that_cannot_be_captured_is_launched_and_the_reason_kept(
    append: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = requests(9, [17], [30])
    decoder, graphs, capture = build(), graphs_of(), PretendCapture()
    plain = sample(decoder, None, asked)
    monkeypatch.setattr(KeyValueCache, "append_one", append)
    graphs = graphs_of(capture)
    assert sample(decoder, graphs, asked) == plain
    assert sample(decoder, graphs, asked) == plain
    assert graphs.reasons == {reason: graphs.counts["refused"]}
    assert graphs.counts["refused"] >= 2
    assert capture.captures == graphs.counts["misses"] == graphs.counts["replays"] == 0


def test_a_cache_without_views_is_not_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyValueCache, "leading", lambda _cache, _rows: None)
    decoder, graphs = build(), graphs_of()
    assert sample(decoder, graphs) == sample(decoder, None)
    assert list(graphs.reasons) == ["the cache of a layer has no view of its first rows"]


def test_what_a_capture_itself_refuses_is_launched() -> None:
    def refuses(run: Callable[[], None]) -> Callable[[], None]:
        run()
        raise CannotCapture("operation not permitted when stream is capturing")

    decoder, graphs = build(), graphs_of(refuses)
    assert sample(decoder, graphs) == sample(decoder, None)
    assert list(graphs.reasons) == ["operation not permitted when stream is capturing"]
    assert graphs.metrics()["graphs/refused"] > 0


def test_too_little_memory_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_cache: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    decoder, graphs = build(), graphs_of()
    monkeypatch.setattr(FixedCache, "over", full)
    assert sample(decoder, graphs) == sample(decoder, None)
    assert list(graphs.reasons) == ["there is not memory enough"]


def test_a_decoder_of_somebody_else_s_is_stepped_as_ever() -> None:
    decoder, graphs = build(), graphs_of()

    class Other:
        spec, device = decoder.spec, decoder.device
        new_cache, extend = decoder.new_cache, decoder.extend
        step, logits = decoder.step, decoder.logits

    sampler = Sampler(Other(), TOKENIZER, seed=7, eos_ids=(2, 20, 30), graphs=graphs)
    got = dict(sampler.generate(MIXED, 0))
    assert [got[index] for index in range(len(MIXED))] == sample(decoder, None)
    assert list(graphs.reasons) == ["a Other is no decoder of limite's"]


# The pretended capture itself: it must find what a GPU would


@torch.inference_mode()
def test_a_capture_runs_on_the_memory_it_was_given() -> None:
    given, result = torch.zeros(3), torch.zeros(3)
    factor = 2

    def run() -> None:
        result.copy_(given * factor + len(seen))

    seen: list[int] = []
    replay = PretendCapture()(run)
    given.fill_(5)
    factor, seen = 7, [1, 2]
    replay()
    assert result.tolist() == [10, 10, 10]  # the new input, the old numbers of the host


@torch.inference_mode()
def test_a_caller_who_does_not_copy_its_input_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = build()
    plain = sample(decoder, None)
    copy = Tensor.copy_

    def lazy(target: Tensor, source: Tensor, *rest: Any) -> Tensor:
        whole = target.dtype == torch.float64 and target.shape[1:] == (1,)  # the uniforms
        return target if whole else copy(target, source, *rest)

    monkeypatch.setattr(Tensor, "copy_", lazy)
    assert sample(decoder, graphs_of()) != plain


def test_a_graph_keeps_alive_what_it_reads() -> None:
    """The turns of triples are made anew for longer rows; a graph of shorter ones needs its own."""
    decoder, graphs = build("determinant"), graphs_of()
    sample(decoder, graphs, requests(2, [5], [30]))
    (geometry,) = graphs._geometries.values()
    turns = next(each.turns for each in decoder.mixers() if getattr(each, "turns", None))
    ((cos, sin),) = turns._tables.values()
    read = {each.untyped_storage().data_ptr() for each in (cos, sin)}
    sample(decoder, None, requests(2, [80], [50]))
    assert all(table[0] is not cos for table in turns._tables.values())
    assert read <= set(geometry.reads)


def test_a_watch_tells_what_was_there_before_from_what_is_made() -> None:
    before = torch.ones(4)
    with Watch() as watch:
        view = (before * 2)[1:]
        view.add_(before[:3])
    assert list(watch.reads) == [before.untyped_storage().data_ptr()]
    assert watch.forbidden is None


def test_there_are_no_graphs_on_a_host() -> None:
    assert step_graphs(torch.device("cpu")) is None


# On a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_graphs_on_a_gpu_give_the_bits_of_launched_steps(name: str, dtype: torch.dtype) -> None:
    decoder = build(name, dtype).to("cuda")
    graphs = step_graphs(decoder.device)
    assert graphs is not None
    plain = sample(decoder, None, compact_at=0.0)
    assert sample(decoder, graphs, compact_at=0.0) == plain
    misses = graphs.counts["misses"]
    assert sample(decoder, graphs, compact_at=0.0) == plain
    assert graphs.reasons == {}
    assert misses > 0
    assert graphs.counts["misses"] == misses


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_graphs_on_a_gpu_see_an_update(dtype: torch.dtype) -> None:
    decoder = build(dtype=dtype).to("cuda")
    graphs = step_graphs(decoder.device)
    sample(decoder, graphs)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(0.01)
    assert sample(decoder, graphs, version=1) == sample(decoder, None, version=1)


@pytest.mark.gpu
def test_a_step_that_asks_a_gpu_s_host_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = build().to("cuda")
    graphs = step_graphs(decoder.device)
    assert graphs is not None
    plain = sample(decoder, None)
    monkeypatch.setattr(KeyValueCache, "append_one", asks_the_host)
    assert sample(decoder, graphs) == plain
    assert list(graphs.reasons) == ["a step waits for the device (item)"]
