from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limite.core.errors import LimiteError, RunFailed
from limite.core.rollout.budget import check_response
from limite.core.rollout.repetition import RepetitionDetector
from limite.core.rollout.sampler import Sampler
from limite.core.rollout.uniforms import row_keys, uniforms
from limite.core.rollout_kinds import Request
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Response

Ask = Callable[..., list[Request]]
# The fixtures hold no state that one example could leave to the next.
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXTS = st.lists(st.text("01+=?#", max_size=40), min_size=1, max_size=6, unique=True)


def sample(
    decoder: Any, tokenizer: CharacterTokenizer, requests: Sequence[Request], **options: Any
) -> list[Response]:
    """Responses in the order of their requests."""
    sampler = Sampler(decoder, tokenizer, **({"seed": 7} | options))
    got = dict(sampler.generate(requests, policy_version=3))
    assert sorted(got) == list(range(len(requests)))
    return [got[index] for index in range(len(requests))]


@SHARED
@given(texts=TEXTS, data=st.data())
def test_a_response_owes_nothing_to_its_company(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask, texts: list[str], data: st.DataObject
) -> None:
    budgets = data.draw(
        st.lists(st.integers(1, 40), min_size=len(texts), max_size=len(texts)), "budgets"
    )
    if data.draw(st.booleans(), "native context"):
        # Every row may go on to the very end of the context, and none may step over it.
        budgets = [decoder.spec.context - 2 - len(text) for text in texts]
    requests = ask(texts, data.draw(st.integers(1, 4), "rollouts"), budgets)
    expected = sample(decoder, tokenizer, requests)
    order = data.draw(st.permutations(range(len(requests))), "order")
    order = order[: data.draw(st.integers(1, len(order)), "subset")]
    again = sample(
        decoder,
        tokenizer,
        [requests[index] for index in order],
        slots=data.draw(st.integers(1, 30), "slots"),
        compact_at=data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]), "compact_at"),
    )
    assert again == [expected[index] for index in order]


def test_a_response_alone_equals_one_among_many(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    requests = ask([f"{i:b}+1=?" for i in range(30)], rollouts=4)
    expected = sample(decoder, tokenizer, requests)
    for index in (0, 17, 119):
        assert sample(decoder, tokenizer, [requests[index]]) == [expected[index]]


def reference(
    decoder: Any, tokenizer: CharacterTokenizer, request: Request, seed: int, temperature: float
) -> tuple[list[int], list[float]]:
    """Tokens and log-probabilities by the definition, one token after another, in float64."""
    key = row_keys(seed, [(request.problem.id, request.sample_index)])
    table = decoder.table.double().numpy()
    state = np.zeros(table.shape[1])
    for token in request.prompt_ids:
        state = np.tanh(0.7 * state + table[token])
    tokens: list[int] = []
    logprobs: list[float] = []
    for position in range(request.budget_tokens):
        logits = (np.sin(state) @ table.T + decoder.bias.double().numpy()) / temperature
        probabilities = np.exp(logits - logits.max())
        probabilities /= probabilities.sum()
        drawn = uniforms(key, position, 1).item()
        token = int(np.searchsorted(np.cumsum(probabilities), drawn, side="right"))
        tokens.append(token)
        logprobs.append(float(np.log(probabilities[token])))
        if token == tokenizer.eos_id:
            break
        state = np.tanh(0.7 * state + table[token])
    return tokens, logprobs


@pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
def test_tokens_and_probabilities_follow_the_definition(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask, temperature: float
) -> None:
    requests = ask([f"{i:b}+1=?" for i in range(12)], rollouts=3, budgets=20)
    responses = sample(decoder, tokenizer, requests, temperature=temperature)
    for request, response in zip(requests, responses, strict=True):
        tokens, logprobs = reference(decoder, tokenizer, request, 7, temperature)
        assert list(response.completion_ids) == tokens
        # Float32 logits up to about 10 carry 1e-6 of rounding; states pass it on over 20 steps.
        assert response.logprobs == pytest.approx(logprobs, abs=2e-5)


def test_records_say_what_was_asked_and_pass_their_checks(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    requests = ask(["0+1=?", "1+1=?"], rollouts=20, budgets=[3, 9])
    reasons = Counter()
    for request, response in zip(requests, sample(decoder, tokenizer, requests), strict=True):
        check_response(response, eos_ids={tokenizer.eos_id}, context=100)
        assert response.problem_id == request.problem.id
        assert response.sample_index == request.sample_index
        assert response.prompt_ids == request.prompt_ids
        assert response.completion_budget == request.budget_tokens
        assert response.policy_version == 3
        assert response.text == tokenizer.decode(response.completion_ids)
        assert all(isinstance(value, float) for value in response.logprobs)
        reasons[response.finish_reason] += 1
    assert set(reasons) == {"eos", "length"}


class Scripted:
    """A decoder that wants one given token at each position, whatever came before."""

    def __init__(self, decoder: Any, script: Sequence[int]) -> None:
        self._decoder = decoder
        self._script = list(script)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        logits = torch.full((len(hidden), self._decoder.vocabulary), -1e9)
        logits[:, self._script.pop(0)] = 0.0
        return logits


@pytest.mark.parametrize(
    ("script", "kept", "reason"),
    [
        ([2], [2], "eos"),
        ([5, 2, 6, 6], [5, 2], "eos"),
        ([5, 6, 7, 2], [5, 6, 7, 2], "eos"),
        ([5, 6, 7, 8], [5, 6, 7, 8], "length"),
        ([5, 6, 7, 8, 2], [5, 6, 7, 8], "length"),
        ([5, 9, 7, 8], [5, 9], "eos"),
        ([0, 1, 0, 1], [0, 1, 0, 1], "length"),
    ],
)
def test_endings(
    decoder: Any,
    tokenizer: CharacterTokenizer,
    ask: Ask,
    script: list[int],
    kept: list[int],
    reason: str,
) -> None:
    # The second request goes on longer, so that the first is looked at late.
    requests = ask(["0+1=?", "1+1=?"], budgets=[4, 6])
    responses = sample(
        Scripted(decoder, [*script, *[5] * 6]), tokenizer, requests, eos_ids=(2, 9), compact_at=1.0
    )
    assert list(responses[0].completion_ids) == kept
    assert responses[0].finish_reason == reason
    assert responses[0].logprobs == (0.0,) * len(kept)


def test_an_end_token_is_no_text_but_a_visible_one_ends_too(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    hash_id = tokenizer.encode("#")[0]
    script = Scripted(decoder, [*tokenizer.encode("01"), hash_id])
    (response,) = sample(script, tokenizer, ask(["0+1=?"]), eos_ids=(hash_id,))
    assert response.text == "01"
    assert response.completion_ids[-1] == hash_id


def test_padding_of_the_head_keeps_its_mass_and_is_never_drawn(
    tokenizer: CharacterTokenizer, decoder: Any, ask: Ask
) -> None:
    wide = attrs.evolve(decoder, vocabulary=tokenizer.vocabulary + 30)
    requests = ask([f"{i:b}=?" for i in range(40)], rollouts=2)
    responses = sample(wide, tokenizer, requests)
    everywhere = sample(wide, tokenizer, requests, forbid_from=5)
    assert all(max(each.completion_ids) < tokenizer.vocabulary for each in responses)
    assert all(max(each.completion_ids) < 5 for each in everywhere)
    # The first token's probability is that of the whole head, padding included.
    for request, response in zip(requests, responses, strict=True):
        state = torch.zeros(6)
        for token in request.prompt_ids:
            state = torch.tanh(0.7 * state + wide.table[token])
        logp = wide.logits(state[None])[0].double().log_softmax(-1)
        first = response.completion_ids[0]
        assert response.logprobs[0] == pytest.approx(logp[first].item(), abs=2e-5)


class Gapped(CharacterTokenizer):
    """One without a meaning for two of its ids."""

    unused_ids = (0, 7)


def test_unused_ids_keep_their_mass_and_are_never_drawn(
    tokenizer: CharacterTokenizer, decoder: Any, ask: Ask
) -> None:
    gapped = Gapped(alphabet=tokenizer.alphabet)
    wide = attrs.evolve(decoder, vocabulary=tokenizer.vocabulary + 3)
    wide.bias[list(gapped.unused_ids)] = 3.0
    requests = ask(["0+1=?"], rollouts=2000, budgets=1)
    responses = sample(wide, gapped, requests)
    counts = Counter(response.completion_ids[0] for response in responses)
    state = torch.zeros(6)
    for token in requests[0].prompt_ids:
        state = torch.tanh(0.7 * state + wide.table[token])
    logp = wide.logits(state[None])[0].double().log_softmax(-1)
    allowed = [i for i in range(gapped.vocabulary) if i not in gapped.unused_ids]
    mass = logp[allowed].exp().sum().item()
    assert mass < 0.8
    for token in allowed:
        p = logp[token].exp().item() / mass
        # Four and a half standard errors of a binomial share.
        assert abs(counts[token] / 2000 - p) < 4.5 * (p * (1 - p) / 2000) ** 0.5 + 1e-9
    assert sum(counts[token] for token in allowed) == 2000
    for response in responses[:50]:
        told = logp[response.completion_ids[0]].item()
        assert response.logprobs[0] == pytest.approx(told, abs=2e-5)


def test_frequencies_follow_the_probabilities(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    requests = ask(["0+1=?"], rollouts=4000, budgets=1)
    responses = sample(decoder, tokenizer, requests)
    counts = Counter(response.completion_ids[0] for response in responses)
    for response in responses[:200]:
        token, p = response.completion_ids[0], float(np.exp(response.logprobs[0]))
        # Four standard errors of a binomial share.
        assert abs(counts[token] / 4000 - p) < 4 * (p * (1 - p) / 4000) ** 0.5


def test_each_prompt_is_read_once_and_finished_rows_leave(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    requests = ask([f"{i:07b}=?" for i in range(64)], rollouts=4, budgets=30)
    compact = attrs.evolve(decoder, steps=[], prefilled=[])
    responses = sample(compact, tokenizer, requests)
    # 64 prompts of 11 tokens are a multiple of 32 tokens, 256 responses a multiple of 32 rows.
    assert compact.prefilled == [64]
    assert compact.steps[0] == 256
    assert compact.steps == sorted(compact.steps, reverse=True)
    assert compact.steps[-1] <= 96
    whole = attrs.evolve(decoder, steps=[], prefilled=[])
    assert sample(whole, tokenizer, requests, compact_at=1.0) == responses
    assert set(whole.steps) == {256}
    assert sum(compact.steps) < 0.7 * sum(whole.steps)


def test_rows_come_in_multiples_of_32(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    sample(decoder, tokenizer, ask(["0=?", "1=?"], rollouts=50, budgets=30), slots=35)
    assert set(decoder.steps) == {64, 32}


def test_responses_come_as_they_finish(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    requests = ask([f"{i:b}=?" for i in range(128)], budgets=30)
    sampler = Sampler(decoder, tokenizer, seed=7, compact_at=0.0)
    lengths = [len(each.completion_ids) for _, each in sampler.generate(requests, 0)]
    # The first 32 to finish are handed out first, then the next.
    assert max(lengths[:32]) <= min(lengths[40:])
    assert len(set(lengths)) > 5


def test_generating_leaves_the_callers_gradient_mode_alone(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    for _ in Sampler(decoder, tokenizer, seed=7).generate(ask(["0=?", "1=?"], 4), 0):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_other_seeds_and_samples_differ(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    requests = ask(["0+1=?"], rollouts=8, budgets=30)
    first = sample(decoder, tokenizer, requests)
    other = sample(decoder, tokenizer, requests, seed=8)
    assert len({each.completion_ids for each in [*first, *other]}) > 12


def test_no_requests_no_responses(decoder: Any, tokenizer: CharacterTokenizer) -> None:
    assert list(Sampler(decoder, tokenizer, seed=1).generate([], 0)) == []


def test_a_model_that_has_diverged_is_reported(
    decoder: Any, tokenizer: CharacterTokenizer, ask: Ask
) -> None:
    decoder.table.fill_(float("nan"))
    with pytest.raises(RunFailed, match="not finite"):
        sample(decoder, tokenizer, ask(["0=?"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"slots": 0}, "slots must be at least 1"),
        ({"eos_ids": ()}, "could end"),
    ],
)
def test_impossible_settings_are_refused(
    decoder: Any, tokenizer: CharacterTokenizer, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(LimiteError, match=message):
        Sampler(decoder, tokenizer, seed=1, **options)


@pytest.mark.parametrize("compact_at", [0.0, 0.25, 1.0])
def test_a_response_that_repeats_itself_ends_where_that_is_found(
    decoder: Any, ask: Ask, compact_at: float
) -> None:
    """What it says until then, and every other response, is as without the detector."""

    class Spaced(CharacterTokenizer):
        """Every token is a word."""

        def decode(self, ids: Any) -> str:
            return "".join(f"{super(Spaced, self).decode([each])} " for each in ids)

    tokenizer = Spaced(alphabet="01+=?#\n")
    detector = RepetitionDetector(min_words=4, window_words=2, threshold=0.7, every_tokens=8)
    requests = ask(["1+1=?", "1", "0+0"], 20, [40, 24, 61])
    plain = sample(decoder, tokenizer, requests)
    found = sample(decoder, tokenizer, requests, detector=detector, compact_at=compact_at)
    endings = Counter(response.finish_reason for response in found)
    assert endings["repetition"] > 5
    assert endings["eos"] + endings["length"] > 5
    for one, other in zip(plain, found, strict=True):
        length = len(one.completion_ids)
        stops = [
            end
            for end in range(8, length, 8)
            if detector.repetitive(tokenizer.decode(one.completion_ids[:end]))
        ]
        if not stops:
            assert other == one
            continue
        ids = one.completion_ids[: stops[0]]
        assert other == attrs.evolve(
            one,
            completion_ids=ids,
            logprobs=one.logprobs[: stops[0]],
            finish_reason="repetition",
            text=tokenizer.decode(ids),
        )
