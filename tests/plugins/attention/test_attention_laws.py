"""Every attention keeps the laws, and each law notices what it is there for."""

from __future__ import annotations

import attrs
import pytest
import torch
from hypothesis import Phase, given, settings

from limite.core.model.attention import AttentionMixer
from limite.core.model.branches import Branches
from limite.plugins.attention import window
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.attention.simplicial import Simplicial
from limite.plugins.conformance import attention, attention_own
from limite.plugins.conformance.attention import attention_laws


@attrs.frozen(kw_only=True)
class Even:
    """Attention whose mixers take whole rows of one length only, as they say."""

    of: object = Global(rotary=True)
    sees_padding: bool = False

    def build(self, shape):
        mixer = self.of.build(shape)
        mixer.ragged = mixer.shares_prompts = False
        plain = mixer.forward

        def forward(queries, keys, values, inputs, layout):
            assert len(set(layout.lengths)) == 1, f"rows of {layout.lengths}"
            mixed = plain(queries, keys, values, inputs, layout)
            if self.sees_padding:
                last = torch.tensor(layout.lengths).cumsum(0) - 1
                mixed = mixed + values[last].mean()
            return mixed

        mixer.forward = forward
        return mixer


COMPONENTS = {
    "global": Global(),
    "local-16": Local(),
    "local-1": Local(window=1),
    "local-70": Local(window=70),
    "local-global": LocalGlobal(window=3, global_every=2),
    "simplicial": Simplicial(),
    "simplicial-3-5": Simplicial(window1=3, window2=5, every=1),
    "simplicial-70-2": Simplicial(window1=70, window2=2, layers=(0, 2), rotary=True, other=Local()),
    "determinant": Simplicial(window1=6, window2=4, every=1, form="determinant", rotary=True),
}
LAWS = [
    pytest.param(law, id=f"{name}-{title}")
    for name, component in COMPONENTS.items()
    for title, law in attention_laws(component).items()
]


@pytest.mark.parametrize("law", LAWS)
def test_the_law_holds(law):
    law()


@pytest.mark.parametrize("component", [Global(), Local(window=70)])
def test_branches_by_themselves_keep_it_too(component, monkeypatch):
    """Long prompts are not written out, and those of the law are short."""
    monkeypatch.setattr(window, "FEW_REPEATS", -1.0)
    attention_laws(component)["a_shared_prompt_is_as_good_as_its_copies"]()


EVEN = Even(of=Simplicial(window1=3, window2=5, every=1))
WHOLE_ROWS = (
    "rows_have_no_effect_on_each_other",
    "gradients_are_finite_and_stay_in_their_row",
    "own_parameters_learn",
)


@pytest.mark.parametrize("law", WHOLE_ROWS)
def test_a_mixer_of_rows_of_one_length_is_given_no_others(law):
    attention_laws(EVEN)[law]()


def test_what_fills_up_rows_must_not_be_seen(quick):
    assert "a_shared_prompt_is_as_good_as_its_copies" not in attention_laws(EVEN)
    with pytest.raises(AssertionError, match="rows together: off by"):
        attention_laws(Even(sees_padding=True))["rows_have_no_effect_on_each_other"]()


def test_windows_have_a_law_of_their_own():
    assert "a_wide_window_sees_everything" in attention_laws(Local())
    assert "a_wide_window_sees_everything" not in attention_laws(Global())
    assert "a_wide_window_sees_everything" in attention_laws(Simplicial())


def test_parameters_have_laws_of_their_own():
    own = {"own_parameters_come_from_their_seeds", "own_parameters_learn"}
    assert own <= set(attention_laws(Simplicial()))
    assert not own & set(attention_laws(Local()))


def test_grafts_have_a_law_of_their_own():
    assert "a_graft_starts_out_as_its_parent" in attention_laws(Simplicial())
    assert "a_graft_starts_out_as_its_parent" not in attention_laws(Local())


@pytest.fixture
def quick(monkeypatch):
    """Laws stop at the first example that breaks them, which is not made small."""

    def drawn(**strategies):
        once = settings(
            phases=[Phase.generate], deadline=None, database=None, derandomize=True, max_examples=50
        )
        return lambda check: once(given(**strategies)(check))

    monkeypatch.setattr(attention, "drawn", drawn)
    monkeypatch.setattr(attention_own, "drawn", drawn)


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


def _keeps_the_old_row(new_cache, *sizes):
    cache = new_cache(*sizes)
    cache.replace = lambda rows, source: None
    return cache


def _interleaves_groups(forward, queries, keys, values, inputs, layout):
    """Query head h with key/value head h % kv_heads."""
    order = torch.arange(queries.shape[1]).view(-1, keys.shape[1]).t().flatten()
    return forward(queries[:, order], keys, values, inputs, layout)[:, order.argsort()]


def _reads_one_token_less(branched, queries, keys, values, inputs, branches):
    taken = tuple(max(0, taken - 1) for taken in branches.taken)
    return branched(
        queries, keys, values, inputs, Branches(branches.layout, branches.parents, taken)
    )


def _loses_gradients_of_prompts(branched, queries, keys, values, inputs, branches):
    branching = torch.tensor(branches.taken)[branches.layout.row_of] > 0
    return torch.where(
        branching[:, None, None],
        branched(queries, keys.detach(), values.detach(), inputs, branches),
        branched(queries, keys, values, inputs, branches),
    )


@pytest.mark.parametrize(
    ("method", "replacement", "law"),
    [
        ("forward", _sees_ahead, "later_tokens_have_no_effect"),
        ("forward", _mixes_rows, "rows_have_no_effect_on_each_other"),
        ("step", _forgets_scale, "cached_equals_uncached"),
        ("step", _takes_the_first, "a_cache_gives_and_repeats_rows"),
        ("new_cache", _keeps_the_old_row, "a_cache_takes_rows_over"),
        ("step", _knows_the_batch, "a_row_does_not_know_the_batch"),
        ("forward", _interleaves_groups, "grouped_equals_repeated_heads"),
        ("branched", _reads_one_token_less, "a_shared_prompt_is_as_good_as_its_copies"),
        ("branched", _loses_gradients_of_prompts, "a_shared_prompt_is_as_good_as_its_copies"),
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


@attrs.frozen
class SpoiltPairs:
    """2-simplicial attention in every layer, with something in it changed."""

    change: object

    def build(self, shape):
        mixer = Simplicial(window1=3, window2=2, every=1).build(shape)
        self.change(mixer)
        return mixer


def _stepping_with(**settings):
    """Steps, and nothing else, see other settings."""

    def change(mixer):
        right = {name: getattr(mixer, name) for name in settings}
        original = mixer.step

        def step(*given):
            vars(mixer).update(settings)
            try:
                return original(*given)
            finally:
                vars(mixer).update(right)

        mixer.step = step

    return change


def _forgets_second_values(mixer):
    original = mixer.new_cache

    def new_cache(*sizes):
        cache = original(*sizes)
        append = cache.second.append
        cache.second.append = lambda keys, values, *rest: append(keys, 1 + 0 * values, *rest)
        return cache

    mixer.new_cache = new_cache


def _takes_the_next_head(mixer):
    original = mixer._streams

    def streams(*given):
        q, k1, k2, v1, v2 = original(*given)
        return q, k1, k2.roll(1, 1), v1, v2

    mixer._streams = streams


def _averages_second_keys(mixer):
    original = mixer._streams

    def streams(*given):
        q, k1, k2, v1, v2 = original(*given)
        return q, k1, k2 - k2.mean(0), v1, v2

    mixer._streams = streams


def _second_projection_does_not_learn(mixer):
    original = mixer._streams

    def streams(*given):
        q, k1, k2, v1, v2 = original(*given)
        return q, k1, 2 * k2 - k2.detach(), v1, v2

    mixer._streams = streams


def _ignores_seeds(mixer):
    mixer.initialise = lambda seeds: [torch.nn.init.normal_(x) for x in mixer.parameters()]


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (_stepping_with(window2=1), "cached_equals_uncached"),
        (_stepping_with(window1=2), "cached_equals_uncached"),
        (_forgets_second_values, "cached_equals_uncached"),
        (_forgets_second_values, "a_cache_gives_and_repeats_rows"),
        (_forgets_second_values, "a_cache_takes_rows_over"),
        (_takes_the_next_head, "grouped_equals_repeated_heads"),
        (_averages_second_keys, "rows_have_no_effect_on_each_other"),
        (_second_projection_does_not_learn, "own_parameters_learn"),
        (_ignores_seeds, "own_parameters_come_from_their_seeds"),
    ],
)
def test_a_fault_in_pairs_is_noticed(change, law, quick):
    laws = attention_laws(SpoiltPairs(change))
    with pytest.raises(AssertionError):
        laws[law]()


@attrs.frozen(kw_only=True)
class BadGraft:
    """A graft with one thing wrong with it."""

    wrong: str

    def build(self, shape):
        return Simplicial().build(shape)

    def graft(self, parent, layers, context):
        class Grown:
            def build(_self, shape):
                seen = parent.build(shape)
                if shape.layer not in layers and self.wrong != "layers":
                    return seen
                window = (context if seen.window is None else seen.window) - (
                    self.wrong == "window"
                )
                rotary = seen.rotary != (self.wrong == "rotary")
                mixer = Simplicial(window1=window, every=1, rotary=rotary).build(shape)
                if self.wrong == "start":
                    mixer.start_as_parent = lambda: None
                return mixer

        return Grown()


@pytest.mark.parametrize("wrong", ["window", "rotary", "start", "layers"])
def test_a_bad_graft_is_noticed(wrong, quick):
    with pytest.raises(AssertionError):
        attention_laws(BadGraft(wrong=wrong))["a_graft_starts_out_as_its_parent"]()


def test_a_cache_without_a_size_is_noticed():
    def silent(new_cache, *sizes):
        cache = new_cache(*sizes)
        cache.__class__ = type("Silent", (type(cache),), {"bytes": 0})
        return cache

    with pytest.raises(AssertionError, match="nothing"):
        attention_laws(Spoilt("new_cache", silent))["a_cache_tells_its_size"]()
