"""Steps of decoding that are recorded where they recur, and played from then on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import attrs
import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.model.tape import Recording, Tape, record

if TYPE_CHECKING:
    from limite.core.model.attention import AttentionMixer, LayerCache
    from limite.core.model.cache import Cache
    from limite.core.model.decoder import Decoder

LIVE = 4
"""Steps of a kind that are taken before one is recorded, which takes as long as ten of them."""

MOST = 64
"""Kinds of steps of a decoder that are held; beyond, all are forgotten."""

Decided = Callable[[int, int], Hashable]
"""From the longest and the shortest row to what a mixer decides by them, not by tensors."""


@attrs.define
class _Kinds:
    """What is known of the steps of a decoder."""

    recordings: dict[Hashable, Recording | None] = attrs.field(factory=dict)  # None: not possible
    met: dict[Hashable, int] = attrs.field(factory=dict)


_KINDS: WeakKeyDictionary[Decoder, _Kinds] = WeakKeyDictionary()


class Steps:
    """The steps of one cache."""

    def __init__(self) -> None:
        self._kind: Hashable = None
        self._tape: Tape | None = None
        self._decided: tuple[Decided, ...] | None = None
        self._known = False
        self._numbers: tuple[Hashable, ...] = ()

    def take(self, decoder: Decoder, weights: Any, tokens: Tensor, cache: Cache) -> Tensor:
        """What ``decoder._step`` gives for these, to the same bits."""
        if not self._known:
            self._known, self._decided = True, _decided(decoder.mixers(), cache.layers)
            self._numbers = tuple(_numbers_of(weights))
        if self._decided is None:
            return decoder._step(weights, tokens, cache)
        longest, shortest = cache.longest + 1, cache.shortest + 1
        kind = (
            cache.rows,
            cache.capacity,
            tuple([each(longest, shortest) for each in self._decided]),
            self._numbers,
            dispatch.asked_for(),
            torch.is_inference_mode_enabled(),
            torch.get_num_threads(),
        )
        if kind != self._kind:
            self._tape, self._kind = None, kind
        if self._tape is not None:
            return self._tape.play(tokens, cache.lengths)
        return self._first(kind, decoder, weights, tokens, cache)

    def _first(
        self, kind: Hashable, decoder: Decoder, weights: Any, tokens: Tensor, cache: Cache
    ) -> Tensor:
        kinds = _KINDS.get(decoder)
        if kinds is None or len(kinds.met) > MOST:
            kinds = _KINDS[decoder] = _Kinds()
        if kind in kinds.recordings:
            found = kinds.recordings[kind]
            self._tape = None if found is None else found.tape(_given(decoder, weights, cache))
            if self._tape is not None:
                return self._tape.play(tokens, cache.lengths)
            return decoder._step(weights, tokens, cache)
        met = kinds.met[kind] = kinds.met.get(kind, 0) + 1
        if met <= LIVE:
            return decoder._step(weights, tokens, cache)

        def step(tokens: Tensor, lengths: Tensor) -> Tensor:
            own, cache.lengths = cache.lengths, lengths
            try:
                return decoder._step(weights, tokens, cache)
            finally:
                cache.lengths = own

        hidden, kinds.recordings[kind] = record(
            step, (tokens, cache.lengths), _given(decoder, weights, cache)
        )
        return hidden


def _decided(
    mixers: Iterator[AttentionMixer], layers: list[LayerCache]
) -> tuple[Decided, ...] | None:
    """What mixers decide on the host, each question once; None where one of them does not tell."""
    found: dict[Decided, None] = {}
    for mixer, layer in zip(mixers, layers, strict=True):
        each = mixer.decided(layer)
        if each is None or any(tensor.device.type != "cpu" for tensor in layer.tensors):
            return None
        found[each] = None
    return tuple(found)


def _given(decoder: Decoder, weights: Any, cache: Cache) -> list[Tensor]:
    """All tensors that belong to a decoder, to the weights taken from it, and to a cache."""
    own = [*decoder.parameters(), *decoder.buffers()]
    return own + list(_tensors_of(weights)) + list(_tensors_of(cache.layers))


def _numbers_of(value: Any) -> Iterator[Hashable]:
    """What weights hold beside tensors, which operators are given as it is: scales, for instance.

    An update changes it, and what was recorded before is then of another step.
    """
    if isinstance(value, (bool, int, float, str)) or value is None:
        yield value
    elif isinstance(value, (list, tuple)):
        yield len(value)
        for each in value:
            yield from _numbers_of(each)
    elif isinstance(value, Mapping):
        for key in value:
            yield from _numbers_of((key, value[key]))
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            if field.init:
                yield from _numbers_of(getattr(value, field.name))


def _tensors_of(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors_of(each)
    elif isinstance(value, Mapping):
        yield from _tensors_of(list(value.values()))
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from _tensors_of(getattr(value, field.name))
    elif hasattr(value, "tensors"):
        yield from value.tensors
