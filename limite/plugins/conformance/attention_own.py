"""Laws of attention with parameters of its own."""

from __future__ import annotations

from typing import cast

import attrs
import torch
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.kernels.layout import Layout
from limite.core.kinds import Attention, Graftable
from limite.core.model.attention import AttentionMixer
from limite.core.seeds import Seeds
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.conformance.attention_cases import (
    LAYERS,
    STREAM_NAMES,
    Case,
    build,
    cases,
    close,
    fill,
    mix,
    tensors,
    whole_rows,
)
from limite.plugins.conformance.strategies import drawn

# Of central differences in float64: their error is near its square.
STEP = 1e-5
# An epsilon of 2^-23 in a norm of second keys shortens scores, of 20 at most, by half as much.
GRAFT_TOLERANCE = 1e-5


def repeatable(mixer: AttentionMixer, case: Case) -> bool:
    """Whether rows of its own parameters belong to key/value heads, one head after the other."""
    rows = case.kv_heads * case.head_width
    return all(parameter.shape[0] == rows for parameter in mixer.parameters())


def repeat_heads(grouped: AttentionMixer, single: AttentionMixer, case: Case) -> None:
    """Gives each head of ``single`` the own parameters that its group shared."""
    for mine, shared in zip(single.parameters(), grouped.parameters(), strict=True):
        heads = shared.detach().unflatten(0, (case.kv_heads, -1))
        mine.data = heads.repeat_interleave(case.groups, 0).flatten(0, 1)


def own_parameters_come_from_their_seeds(component: Attention) -> None:
    """First values are those of the seeds given, and move no other random stream."""
    for layer in range(LAYERS):
        mixers = [build(component, Case(layer=layer)) for _ in range(3)]
        before = torch.get_rng_state()
        for mixer, seed in zip(mixers, (7, 7, 8), strict=True):
            mixer.initialise(Seeds(seed))
        assert torch.equal(torch.get_rng_state(), before), "the global generator was used"
        first, again, other = (list(mixer.parameters()) for mixer in mixers)
        assert all(map(torch.equal, first, again)), "the same seeds gave other values"
        if first and any(parameter.std() > 0 for parameter in first):
            assert not all(map(torch.equal, first, other)), "the seeds play no part"


def own_parameters_learn(component: Attention) -> None:
    """Every parameter of the mixer's own gets a gradient: as large as differences say it is."""

    @drawn(case=cases, seed=st.integers(0, 2**16))
    def law(case: Case, seed: int) -> None:
        mixer = build(component, case)
        parameters = list(mixer.parameters())
        layout = Layout.from_lengths([length + 3 for length in case.lengths])
        kinds = {name: ("normal", seed + i) for i, name in enumerate(STREAM_NAMES)}
        streams = tensors(case, kinds, layout.tokens)
        for parameter in parameters:
            upstream = fill((layout.tokens, case.heads, case.head_width), "normal", seed + 5)
            way = fill(tuple(parameter.shape), "normal", seed + 6)
            out = whole_rows(mixer, streams, layout.lengths)
            (gradient,) = torch.autograd.grad((out * upstream).sum(), parameter)
            assert gradient.isfinite().all(), "a gradient is not finite"
            ends = []
            for sign in (-1.0, 1.0):
                with torch.no_grad():
                    parameter.add_(way, alpha=sign * STEP)
                    out = whole_rows(mixer, streams, layout.lengths)
                    ends.append((out * upstream).sum())
                    parameter.sub_(way, alpha=sign * STEP)
            slope = (ends[1] - ends[0]) / (2 * STEP)
            told = (gradient * way).sum()
            assert (told - slope).abs() <= 1e-5 * (1 + upstream.norm()), (
                f"a gradient says {told}, differences {slope}"
            )

    law()


def a_graft_starts_out_as_its_parent(component: Attention) -> None:
    """In place of attention over a window or everything it gives what that gave, and can learn.

    What it refuses with a LimiteError, settings of its own among that, it is not asked for.
    """
    parents = [Global(rotary=True), Global(), Local(window=3), Local(window=17, rotary=False)]

    @drawn(case=cases, seed=st.integers(0, 2**16), parent=st.sampled_from(parents))
    def law(case: Case, seed: int, parent: Attention) -> None:
        theirs = build(parent, case)
        try:
            grown = cast(Graftable, component).graft(parent, {case.layer: theirs}, 30)
        except LimiteError:
            return
        mixer, layout = build(grown, case), Layout.from_lengths(case.lengths)
        mixer.start_as_parent()
        assert mixer.rotary == theirs.rotary, "queries and keys would turn otherwise"
        kinds = {name: ("normal", seed + i) for i, name in enumerate(STREAM_NAMES)}
        values = tensors(case, kinds, layout.tokens)
        before = mix(theirs, values, case.lengths)
        close(mix(mixer, values, case.lengths), before, "a graft", tolerance=GRAFT_TOLERANCE)
        upstream = fill(tuple(before.shape), "normal", seed + 5)
        own = list(mixer.parameters())
        out = whole_rows(mixer, values, case.lengths)
        found = torch.autograd.grad((out * upstream).sum(), own)
        assert not own or any(gradient.any() for gradient in found), "it can never learn"
        other = attrs.evolve(case, layer=(case.layer + 1) % LAYERS)
        was, now = build(parent, other), build(grown, other)
        assert torch.equal(mix(now, values, case.lengths), mix(was, values, case.lengths)), (
            "a layer that was not asked for has changed"
        )

    law()
