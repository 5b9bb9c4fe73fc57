"""Every attention keeps the laws, and each law notices what it is there for."""

from __future__ import annotations

import attrs
import pytest
import torch
from hypothesis import Phase, given, settings

from limite.core.model.attention import AttentionMixer
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.conformance import attention
from limite.plugins.conformance.attention import attention_laws

COMPONENTS = {
    "global": Global(),
    "local-16": Local(),
    "local-1": Local(window=1),
    "local-70": Local(window=70),
    "local-global": LocalGlobal(window=3, global_every=2),
}
LAWS = [
    pytest.param(law, id=f"{name}-{title}")
    for name, component in COMPONENTS.items()
    for title, law in attention_laws(component).items()
]


@pytest.mark.parametrize("law", LAWS)
def test_the_law_holds(law):
    law()


def test_windows_have_a_law_of_their_own():
    assert "a_wide_window_sees_everything" in attention_laws(Local())
    assert "a_wide_window_sees_everything" not in attention_laws(Global())


@pytest.fixture
def quick(monkeypatch):
    """Laws stop at the first example that breaks them, which is not made small."""

    def drawn(**strategies):
        once = settings(
            phases=[Phase.generate], deadline=None, database=None, derandomize=True, max_examples=50
        )
        return lambda check: once(given(**strategies)(check))

    monkeypatch.setattr(attention, "drawn", drawn)


@attrs.frozen
class Spoilt:
    """An attention with one method of its mixer replaced."""

    method: str
    replacement: object
    window: int = 3

    def build(self, shape):
        mixer = Local(window=self.window).build(shape)
        original = getattr(mixer, self.method)
        setattr(mixer, self.method, lambda *given: self.replacement(original, *given))
        return mixer


def _sees_ahead(forward, queries, keys, values, inputs, layout):
    return forward(queries, keys, values + values.roll(-1, 0), inputs, layout)


def _mixes_rows(forward, queries, keys, values, inputs, layout):
    return forward(queries, keys, values, inputs, layout) + values.sum()


def _forgets_scale(step, queries, keys, values, inputs, cache, moment):
    return step(queries * 1.001, keys, values, inputs, cache, moment)


def _takes_the_first(step, queries, keys, values, inputs, cache, moment):
    return step(queries, keys, values[:1].expand_as(values), inputs, cache, moment)


def _knows_the_batch(step, queries, keys, values, inputs, cache, moment):
    return step(queries, keys, values, inputs, cache, moment) * (1 + 1e-15 * len(queries))


def _interleaves_groups(forward, queries, keys, values, inputs, layout):
    """Query head h with key/value head h % kv_heads."""
    order = torch.arange(queries.shape[1]).view(-1, keys.shape[1]).t().flatten()
    return forward(queries[:, order], keys, values, inputs, layout)[:, order.argsort()]


@pytest.mark.parametrize(
    ("method", "replacement", "law"),
    [
        ("forward", _sees_ahead, "later_tokens_have_no_effect"),
        ("forward", _mixes_rows, "rows_have_no_effect_on_each_other"),
        ("step", _forgets_scale, "cached_equals_uncached"),
        ("step", _takes_the_first, "a_cache_gives_and_repeats_rows"),
        ("step", _knows_the_batch, "a_row_does_not_know_the_batch"),
        ("forward", _interleaves_groups, "grouped_equals_repeated_heads"),
    ],
)
def test_a_fault_is_noticed(method, replacement, law, quick):
    laws = attention_laws(Spoilt(method, replacement))
    with pytest.raises(AssertionError):
        laws[law]()


@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_window_off_by_one_is_noticed(wrong, quick):
    @attrs.frozen
    class OffByOne:
        def build(self, shape):
            mixer = Local(window=3).build(shape)
            mixer.window = 3 + wrong
            shown = Local(window=3).build(shape)
            shown.forward = mixer.forward
            return shown

    with pytest.raises(AssertionError):
        attention_laws(OffByOne())["a_token_sees_its_window"]()


def test_what_build_gives_must_be_a_mixer():
    class Wrong:
        def build(self, shape):
            return torch.nn.Linear(2, 2)

    assert not issubclass(torch.nn.Linear, AttentionMixer)
    with pytest.raises(AssertionError, match="Linear"):
        attention_laws(attrs.define(Wrong)())
