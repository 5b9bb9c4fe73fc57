"""Fewer rows than 32: found only where every bit stays, whatever the model's sizes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.kernels.layout import Layout
from limite.core.model.decoder import Decoder
from limite.core.model.init import build_decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.spec import ModelSpec
from limite.core.rollout import fewer_rows
from limite.core.rollout.drawing import Drawing
from limite.core.rollout.fewer_rows import ROWS, fewest_rows
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Policy, Request
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Answer, Problem, Response
from limite.plugins.attention.local_global import LocalGlobal
from limite.plugins.engines.built_in import BuiltIn, BuiltInRun
from tests.core.rollout.conftest import FakeDecoder

TOKENIZER = CharacterTokenizer()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def llama(vocabulary: int = TOKENIZER.vocabulary, **sizes: int) -> Decoder:
    given: dict[str, Any] = {"width": 64, "heads": 4, "kv_heads": 2, "head_width": 16, "layers": 2}
    return build_decoder(LlamaSpec(**(given | sizes), context=160).filled(vocabulary), 5)


def limite() -> Decoder:
    spec = ModelSpec(attention=LocalGlobal(window=16), context=160, heads=4, kv_heads=2)
    return build_decoder(spec.filled(TOKENIZER.vocabulary), 5)


def drawing(vocabulary: int = TOKENIZER.vocabulary, **options: Any) -> Drawing:
    given = {"temperature": 1.0, "top_p": None, "unused_ids": (), "listed_tokens": None}
    return Drawing(**(given | options), forbid_from=vocabulary, device=torch.device("cpu"))


@attrs.define(eq=False)
class Touchy(FakeDecoder):
    """Changes a lot unless rows come in multiples of ``wanted``."""

    wanted: int = 16
    dtype: torch.dtype = torch.float32

    def _mood(self, count: int, cache: Any) -> float:
        return float(count % self.wanted > 0)

    def extend(self, tokens: Tensor, layout: Layout, cache: Any) -> Tensor:
        return self._folded(tokens, cache)

    def step(self, tokens: Tensor, cache: Any) -> Tensor:
        return self._folded(tokens, cache)

    def _folded(self, tokens: Tensor, cache: Any) -> Tensor:
        cache.states = cache.states * 0.5 + self.table[tokens]
        folded: Tensor = cache.states + self._mood(len(tokens), cache)
        return folded

    def logits(self, hidden: Tensor) -> Tensor:
        """No product: what this machine makes of one does not matter here."""
        return hidden[:, :1] * self.bias + hidden[:, 1:2]


@pytest.mark.parametrize(("wanted", "found"), [(3, 32), (8, 8), (16, 16), (32, 32)])
def test_rows_are_found_by_what_a_decoder_gives(wanted: int, found: int) -> None:
    # 16 ids: as many elements as 8 rows need for whole multiples of 32.
    decoder = Touchy(vocabulary=16, wanted=wanted)
    assert fewest_rows(decoder, drawing(16)) == found


def test_a_rounding_that_depends_on_the_place_is_found_where_it_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A projection that begins as zeros hides what was multiplied before it."""
    monkeypatch.setenv(dispatch.VARIABLE, "cpu")  # kernels in C keep to a row by themselves
    decoder = llama()
    for block in decoder.layers:
        for name, parameter in block.named_parameters():
            if "o_proj" in name:
                parameter.data.zero_()
    expected = fewest_rows(decoder, drawing())
    baddbmm = torch.baddbmm

    def touchy(*given: Any, **named: Any) -> Tensor:
        made = baddbmm(*given, **named)
        return made if len(made) >= 64 else made.mul(1 + 2e-7)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "baddbmm", touchy)
        assert fewest_rows(decoder, drawing()) == 32
    assert fewest_rows(decoder, drawing()) == expected


def test_elements_beyond_whole_multiples_forbid_fewer_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exponentials of 16 rows of 53 ids end in the middle of 32; those of 54 do not.

    Kernels in C compute every element alike.
    """
    with torch.inference_mode():
        assert not fewer_rows.Trial(llama(53), drawing(53), torch.arange(16)).partial
    monkeypatch.setenv(dispatch.VARIABLE, "cpu")
    decoder = llama(53)
    assert fewest_rows(decoder, drawing(53)) == 32
    with torch.inference_mode():
        trial = fewer_rows.Trial(decoder, drawing(53), torch.arange(16))
        assert trial.partial == {"exp"}
        assert not fewer_rows.Trial(decoder, drawing(53), torch.arange(32)).partial
        assert not fewer_rows.Trial(llama(54), drawing(54), torch.arange(16)).partial
        # Some of a row's ids: rows do not adjoin, and each is gone through by itself.
        assert not fewer_rows.Trial(llama(54), drawing(53), torch.arange(16)).partial


def test_gates_of_few_elements_want_more_rows() -> None:
    with torch.inference_mode():
        trial = fewer_rows.Trial(limite(), drawing(), torch.arange(8))
    assert "sigmoid" in trial.partial
    assert fewest_rows(limite(), drawing()) in (16, 32)


def test_there_is_no_trial_where_nothing_could_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*given: Any) -> None:
        raise AssertionError("a trial")

    monkeypatch.setattr(fewer_rows, "Trial", unexpected)
    half = build_decoder(llama().spec, 5, dtype=torch.bfloat16)
    assert fewest_rows(half, drawing()) == ROWS
    torch.set_num_threads(4)
    assert fewest_rows(llama(), drawing()) == ROWS


def requests(rollouts: int, prompts: list[int], budgets: list[int]) -> list[Request]:
    made = []
    for length, budget in zip(prompts, budgets, strict=True):
        text = ("34+56*7-(8/9)=x," * 8)[: length - 2]
        problem = Problem(problem=text, answer=Answer(type="integer", value="1"))
        prompt = TOKENIZER.render_prompt(problem)
        made += [
            Request(problem=problem, sample_index=i, prompt_ids=prompt, budget_tokens=budget)
            for i in range(rollouts)
        ]
    return made


def sample(decoder: Decoder, asked: list[Request], multiple: int, **options: Any) -> list[Response]:
    sampler = Sampler(decoder, TOKENIZER, seed=7, eos_ids=(2, 20, 30), **options)
    sampler.multiple = multiple
    got = dict(sampler.generate(asked, 0))
    return [got[index] for index in range(len(asked))]


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_bits_owe_nothing_to_company_at_what_was_found(data: st.DataObject) -> None:
    """The sampler's law with the rows found for a model of drawn sizes, against 32."""
    if data.draw(st.booleans(), "limite"):
        decoder = limite()
    else:
        heads = data.draw(st.sampled_from([2, 4, 6]), "heads")
        decoder = llama(
            width=data.draw(st.sampled_from([32, 72, 96, 192]), "width"),
            heads=heads,
            kv_heads=data.draw(st.sampled_from([1, 2]), "kv_heads"),
            head_width=data.draw(st.sampled_from([8, 16, 32]), "head_width"),
            mlp_width=data.draw(st.sampled_from([36, 100, 256]), "mlp_width"),
        )
    found = fewest_rows(decoder, drawing())
    prompts = data.draw(st.lists(st.integers(3, 90), min_size=1, max_size=4, unique=True))
    budgets = [data.draw(st.sampled_from([1, 7, 30, 50])) for _ in prompts]
    asked = requests(data.draw(st.sampled_from([1, 3, 9])), prompts, budgets)
    expected = sample(decoder, asked, ROWS)
    assert sample(decoder, asked, found) == expected
    order = data.draw(st.permutations(range(len(asked))), "order")
    order = order[: data.draw(st.integers(1, len(order)), "subset")]
    again = sample(
        decoder,
        [asked[index] for index in order],
        found,
        slots=data.draw(st.sampled_from([3, 20, 512]), "slots"),
        compact_at=data.draw(st.sampled_from([0.0, 0.25, 1.0]), "compact_at"),
    )
    assert again == [expected[index] for index in order]


def test_many_rows_come_in_multiples_of_32() -> None:
    sampler = Sampler(llama(), TOKENIZER, seed=7)
    assert [sampler.spare(count) for count in (1, 32, 40, 65)] == [31, 0, 24, 31]
    sampler.multiple = 8
    assert [sampler.spare(count) for count in (1, 32, 41, 60, 64, 65)] == [7, 0, 7, 4, 0, 31]


def engine(**options: Any) -> BuiltInRun:
    context: Any = SimpleNamespace(
        tokenizer=TOKENIZER, temperature=1.0, listed_tokens=None, detector=None
    )
    return BuiltIn(**options).build(context)


def test_the_engine_finds_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, asked = llama(), requests(3, [5, 9], [20, 20])
    rows: list[int] = []
    step = Decoder.step

    def counted(self: Decoder, tokens: Tensor, cache: Any) -> Tensor:
        rows.append(len(tokens))
        return step(self, tokens, cache)

    monkeypatch.setattr(Decoder, "step", counted)

    def run(built: BuiltInRun) -> tuple[list[Any], list[int]]:
        rows.clear()
        policy = Policy(decoder=decoder, seed=7, version=0, step=1)
        found = sorted(built.generate(asked, policy), key=lambda each: each[0])
        return found, list(rows)

    built = engine()
    found, first = run(built)
    again, second = run(built)
    multiple = fewest_rows(decoder, drawing())
    assert set(second) == {multiple}  # 6 rows
    assert first[-len(second) :] == second
    assert len(first) > len(second)  # the trial is the first batch's
    plain, all_rows = run(engine(fewer_rows=False))
    assert set(all_rows) == {32}
    assert found == again == plain
