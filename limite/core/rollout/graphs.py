"""Decoding steps captured once for each geometry, and played again for every token.

On a GPU a small model's step is launched slower than it runs. A geometry is the number of rows, the
capacity of their caches, and what is drawn how; what changes from step to step within one (tokens,
uniforms, caches, lengths) lies in memory of the geometry's own and is copied there.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any
from weakref import ReferenceType, ref

import attrs
import torch
from torch import Tensor

from limite.core.model.cache import Cache
from limite.core.model.decoder import Decoder
from limite.core.model.fixed_cache import FixedCache
from limite.core.rollout.capture import CannotCapture, Capture, CudaCapture, Watch
from limite.core.rollout.drawing import Drawing, Drawn
from limite.core.rollout.steps import PlainSteps, StepDecoder, Steps

GEOMETRIES = 64
"""Kept at most; the one unused for longest goes first."""

FEWEST_TOKENS = 8
"""Capacity that the steps before a capture need."""


@attrs.define(eq=False)
class Memory:
    """The cache of as many rows as were ever asked for at a capacity; fewer rows are its first."""

    cache: FixedCache
    user: ReferenceType[CapturedSteps] | None = None

    @property
    def used(self) -> bool:
        return self.user is not None and self.user() is not None


class Geometry:
    """One captured step, and the memory that it reads and writes."""

    def __init__(self, decoder: Decoder, drawing: Drawing, memory: Memory, cache: FixedCache):
        self.decoder, self.drawing = decoder, drawing
        self.memory, self.cache = memory, cache
        device = cache.lengths.device
        self.token = torch.zeros(cache.rows, dtype=torch.int64, device=device)  # [R]
        self.uniform = torch.zeros(cache.rows, 1, dtype=torch.float64, device=device)  # [R, 1]
        self.drawn: Drawn | None = None
        self.reads: dict[int, torch.UntypedStorage] = {}
        self.replay: Callable[[], None] | None = None

    def run(self) -> None:
        """The step itself: everything it takes and gives lies in this geometry's memory."""
        hidden = self.decoder.step(self.token, self.cache)  # [R, width]
        drawn = self.drawing(self.decoder.logits(hidden), self.uniform)
        if self.drawn is None:
            self.drawn = drawn.copied()
        for mine, new in zip(self.drawn, drawn, strict=True):
            if mine is not None:
                assert new is not None
                mine.copy_(new)

    def capture(self, capture: Capture) -> None:
        """Before any row is loaded: what the steps meanwhile leave in the cache is overwritten."""
        if self.cache.capacity < FEWEST_TOKENS:
            raise CannotCapture(f"a cache of {self.cache.capacity} tokens is too short to try in")
        places = self.cache.places()
        self.cache.blank()
        self.run()
        self.cache.blank()
        with Watch() as watch:
            self.run()
        if watch.forbidden is not None:
            raise CannotCapture(watch.forbidden)
        if self.cache.places() != places:
            raise CannotCapture("a layer's cache moves at a step")
        self.reads = watch.reads
        self.cache.blank()
        self.replay = capture(self.run)


class CapturedSteps:
    """Rows whose steps are a captured one, played again: see ``Steps``."""

    def __init__(self, graphs: StepGraphs, geometry: Geometry, version: int) -> None:
        self._graphs, self._geometry, self._version = graphs, geometry, version
        geometry.memory.user = ref(self)

    def next(self, token: Tensor, uniform: Tensor) -> Drawn:
        geometry = self._geometry
        if geometry.decoder.before_step is not None:
            geometry.decoder.before_step()
        geometry.cache.require_room()
        geometry.token.copy_(token)
        geometry.uniform.copy_(uniform)
        assert geometry.replay is not None
        geometry.replay()
        geometry.cache.replayed()
        self._graphs.counts["replays"] += 1
        assert geometry.drawn is not None
        return geometry.drawn.copied()

    def select(self, rows: Tensor) -> Steps:
        geometry = self._geometry
        kept = geometry.cache.select(rows)
        self.close()
        everyone = torch.arange(kept.rows)
        return self._graphs.steps(geometry.decoder, geometry.drawing, kept, everyone, self._version)

    def close(self) -> None:
        self._geometry.memory.user = None


class StepGraphs:
    """The captured steps of one decoder at a time, for as long as its weights stay what they are.

    A decoder that reads its parameters where they lie keeps them through updates; one that takes
    its weights for a cache (float32) is captured anew after each. Caches that no rows use, and with
    them what was captured over them, are kept up to ``kept_gib``.
    """

    def __init__(self, capture: Capture, *, kept_gib: float, geometries: int = GEOMETRIES) -> None:
        self.counts: Counter[str] = Counter()
        """``hits`` and ``misses`` of geometries, those ``evicted`` and ``refused``, ``replays``."""
        self.reasons: dict[str, int] = {}
        """Why steps ran operation by operation, and of how many batches of rows."""
        self._capture = capture
        self._kept_bytes = kept_gib * 2**30
        self._most = geometries
        self._decoder: Decoder | None = None
        self._dtype: torch.dtype | None = None
        self._takes = False  # whether the decoder takes its weights for a cache
        self._weights: Hashable = None
        self._memories: OrderedDict[int, Memory] = OrderedDict()  # by capacity
        self._geometries: OrderedDict[Hashable, Geometry] = OrderedDict()
        self._refused: dict[Hashable, str] = {}

    @torch.inference_mode()
    def steps(
        self, decoder: StepDecoder, drawing: Drawing, cache: Any, rows: Tensor, version: int
    ) -> Steps:
        """The steps of the given rows of ``cache``, in that order, of the policy ``version``.

        Captured where that can be; the tokens are the same.
        """
        try:
            return self._captured(decoder, drawing, cache, rows, version)
        except CannotCapture as error:
            self.counts["refused"] += 1
            self.reasons[str(error)] = self.reasons.get(str(error), 0) + 1
        return PlainSteps(decoder, drawing, cache.select(rows))

    def metrics(self) -> dict[str, float]:
        """The counts since the last call, by the names of metrics."""
        names = ("hits", "misses", "evicted", "refused", "replays")
        told = {f"graphs/{name}": float(self.counts[name]) for name in names}
        self.counts.clear()
        return told

    def _captured(
        self, decoder: StepDecoder, drawing: Drawing, cache: Any, rows: Tensor, version: int
    ) -> CapturedSteps:
        if not isinstance(decoder, Decoder) or not isinstance(cache, Cache):
            raise CannotCapture(f"a {type(decoder).__name__} is no decoder of limite's")
        self._belong_to(decoder, cache, version)
        name = (len(rows), cache.capacity, drawing.identity)
        if name in self._refused:
            raise CannotCapture(self._refused[name])
        geometry = self._geometries.get(name)
        if geometry is not None and geometry.memory.used:
            raise CannotCapture("other rows are not done with the memory")
        if geometry is not None:
            self.counts["hits"] += 1
            self._geometries.move_to_end(name)
            self._memories.move_to_end(cache.capacity)
        else:
            try:
                geometry = self._new(decoder, drawing, len(rows), cache.capacity)
            except CannotCapture as error:
                self._refused[name] = str(error)
                raise
            self.counts["misses"] += 1
            self._geometries[name] = geometry
            while len(self._geometries) > self._most:
                self._geometries.popitem(last=False)
                self.counts["evicted"] += 1
        geometry.cache.load(rows, cache)
        return CapturedSteps(self, geometry, version)

    def _new(self, decoder: Decoder, drawing: Drawing, rows: int, capacity: int) -> Geometry:
        memory = self._memory(decoder, rows, capacity)
        cache = memory.cache.leading(rows)
        if cache is None:
            raise CannotCapture("the cache of a layer has no view of its first rows")
        geometry = Geometry(decoder, drawing, memory, cache)
        try:
            geometry.capture(self._capture)
        except torch.OutOfMemoryError as error:
            raise CannotCapture("there is not memory enough") from error
        return geometry

    def _memory(self, decoder: Decoder, rows: int, capacity: int) -> Memory:
        """Memory of ``capacity`` that holds ``rows`` rows and that nobody uses."""
        found = self._memories.get(capacity)
        if found is not None and found.used:
            raise CannotCapture("other rows are not done with the memory")
        if found is None or found.cache.rows < rows:
            if found is not None:
                self._drop(capacity)
            try:
                found = Memory(FixedCache.over(decoder.new_cache(rows, capacity)))
            except torch.OutOfMemoryError as error:
                raise CannotCapture("there is not memory enough") from error
            self._memories[capacity] = found
        self._memories.move_to_end(capacity)
        self._keep([each for each in self._memories if each != capacity])
        return found

    def rest(self) -> None:
        """No rows are under way: lets go of what is more than may be kept."""
        self._keep(list(self._memories))

    def _keep(self, capacities: list[int]) -> None:
        """Of memory of these capacities, those unused for longest first, what may be kept."""
        held = sum(self._memories[each].cache.bytes for each in capacities)
        for each in capacities:
            if held <= self._kept_bytes:
                break
            held -= self._memories[each].cache.bytes
            self._drop(each)

    def _drop(self, capacity: int) -> None:
        gone = self._memories.pop(capacity)
        for name in [key for key, each in self._geometries.items() if each.memory is gone]:
            del self._geometries[name]
            self.counts["evicted"] += 1

    def _belong_to(self, decoder: Decoder, cache: Cache, version: int) -> None:
        """Lets go of all that was captured of another decoder, or of weights that have changed."""
        if self._decoder is not decoder or self._dtype != decoder.dtype:
            self._takes, self._dtype = cache.weights.get() is not None, decoder.dtype
        weights = tuple(_identity(decoder, version if self._takes else None))
        if self._decoder is decoder and self._weights == weights:
            return
        self.counts["evicted"] += len(self._geometries)
        self._geometries.clear()
        self._memories.clear()
        self._refused.clear()
        self._decoder, self._weights = decoder, weights


def step_graphs(device: torch.device, *, kept_gib: float = 4.0) -> StepGraphs | None:
    """Captured steps where the device has them: CUDA graphs, or None."""
    if device.type != "cuda":
        return None
    return StepGraphs(CudaCapture(device), kept_gib=kept_gib)


def _identity(decoder: Decoder, version: int | None) -> Iterator[Hashable]:
    """Where the weights lie and, for a policy ``version``, what was written to them how often."""
    yield decoder.recompute
    for tensors in (decoder.parameters(), decoder.buffers()):
        for tensor in tensors:
            yield tensor.data_ptr(), tensor.dtype
            if version is not None:
                yield -1 if tensor.is_inference() else tensor._version
    yield version
