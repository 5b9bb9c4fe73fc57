"""What every engine must obey, as tests to run over any one of them.

An engine that has a ``url`` is told that of a server which samples with the laws' own model, in the
ways that vLLM, SGLang and llama.cpp are asked.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import torch

from limite.core.health.limits import HealthLimits
from limite.core.model.decoder import Decoder
from limite.core.model.llama.spec import LlamaSpec
from limite.core.pretrained.character_files import character_files
from limite.core.pretrained.save import save_pretrained
from limite.core.rollout.budget import check_response
from limite.core.rollout_kinds import Engine, EngineContext, EngineRun, Policy, Request
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer
from limite.core.train.replay import Row, replay
from limite.core.types import Answer, Problem, Response

SPEC = LlamaSpec(width=16, layers=1, heads=2, kv_heads=1, head_width=8, mlp_width=16, context=64)
TOKENIZER = CharacterTokenizer(alphabet="0123456789+=?\n")
BUDGET = 6
NATS = 2e-4
"""Between sampling and replay, in float32."""


def decoder_of(seed: int) -> Decoder:
    """A small model whose every token is about as likely as any other."""
    decoder = SPEC.decoder(TOKENIZER.vocabulary, Seeds(seed))
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.add_(torch.sin(torch.arange(parameter.numel()) + seed).view_as(parameter) / 4)
    return decoder.eval()


def requests_of(problems: int, samples: int) -> list[Request]:
    """Groups of requests: ``samples`` to each of so many problems."""
    found = []
    for number in range(problems):
        answer = Answer(type="integer", value="0")
        problem = Problem(problem=f"{number}+{number}=?", answer=answer)
        prompt = TOKENIZER.render_prompt(problem)
        found += [
            Request(problem=problem, sample_index=index, prompt_ids=prompt, budget_tokens=BUDGET)
            for index in range(samples)
        ]
    return found


def export(decoder: Decoder, target: Path, dtype: str | None) -> None:
    """The policy as a directory."""
    save_pretrained(decoder, target, dtype=dtype, synthetic=True)
    for name, content in character_files(TOKENIZER, SPEC.context).items():
        (target / name).write_bytes(content)


def replayed(
    temperature: float, decoder: Decoder, prompt: Sequence[int], completion: Sequence[int]
) -> list[float]:
    """What the model says of each token of a completion, in nats."""
    with torch.no_grad():
        said = replay(decoder, [Row(prompt=prompt, completion=completion)], temperature=temperature)
    return [float(each) for each in said.logp[0]]


def context_in(folder: Path, temperature: float = 1.0, **more: Any) -> EngineContext:
    """A stage of the laws."""
    known: dict[str, Any] = {
        "tokenizer": TOKENIZER,
        "temperature": temperature,
        "listed_tokens": None,
        "detector": None,
        "limits": HealthLimits(),
        "directory": folder / "engine",
        "export": export,
        "replay": functools.partial(replayed, temperature),
        "echo": lambda _line: None,
    }
    return EngineContext(**(known | more))


@contextlib.contextmanager
def at_work(engine: Engine, **more: Any) -> Iterator[EngineRun]:
    """The engine of a stage, with a server where it asks one."""
    from limite.plugins.conformance.model_server import ModelServer

    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        settings: Any = engine
        if hasattr(engine, "url"):
            own = {field.name for field in attrs.fields(type(settings))}
            weights = folder / "weights"
            server = stack.enter_context(ModelServer(TOKENIZER, decoder_of(1), directory=weights))
            wanted: dict[str, Any] = {"url": server.url, "directory": str(weights), "retries": 0}
            if getattr(engine, "server", None) == "llama-cpp":
                from limite.plugins.engines.dialects import SGLang

                calls = [
                    attrs.evolve(call, body={"model_path": "{directory}"}) for call in SGLang.calls
                ]
                wanted["calls"] = tuple(calls)  # in place of being started again
            settings = attrs.evolve(settings, **{k: v for k, v in wanted.items() if k in own})
        run = settings.build(context_in(folder, **more))
        yield run
        run.close()


def policy(seed: int, version: int = 1, step: int = 0) -> Policy:
    """Weights of their own for every seed."""
    return Policy(decoder=decoder_of(seed), version=version, step=step, seed=step)


def sampled(
    run: EngineRun, requests: Sequence[Request], by: Policy, slots: int | None = None
) -> list[Response]:
    """The responses in the order of their requests."""
    found = dict(run.generate(requests, by, slots=slots))
    assert sorted(found) == list(range(len(requests))), "not every request has one response"
    return [found[index] for index in range(len(requests))]


def engine_laws(engine: Engine) -> dict[str, Callable[[], None]]:
    """Laws by name; each is a test without arguments."""
    return {
        law.__name__: functools.partial(law, engine)
        for law in (
            every_request_has_its_response,
            records_are_sound,
            probabilities_are_those_of_the_policy,
            they_are_of_the_temperature,
            new_weights_are_sampled_from,
            samples_of_a_problem_differ,
            no_request_is_taken_too_early,
            nothing_is_asked_for_nothing,
        )
    }


def every_request_has_its_response(engine: Engine) -> None:
    """Whatever ends first, and however many are under way."""
    with at_work(engine) as run:
        requests = requests_of(2, 3)
        for slots in (1, None):
            for request, response in zip(
                requests, sampled(run, requests, policy(1), slots), strict=True
            ):
                assert response.problem_id == request.problem.id
                assert response.sample_index == request.sample_index


def records_are_sound(engine: Engine) -> None:
    """Prompt, budget, version, text and ending are what they must be."""
    with at_work(engine) as run:
        requests = requests_of(3, 4)
        for request, response in zip(requests, sampled(run, requests, policy(1, 7)), strict=True):
            check_response(response, eos_ids=TOKENIZER.eos_ids, context=SPEC.context)
            assert tuple(response.prompt_ids) == request.prompt_ids
            assert response.completion_budget == request.budget_tokens
            assert response.policy_version == 7
            assert response.text == TOKENIZER.decode(response.completion_ids)


def probabilities_are_those_of_the_policy(engine: Engine) -> None:
    """The learner, which replays the tokens, finds what was recorded."""
    _agree(engine, 1.0)


def they_are_of_the_temperature(engine: Engine) -> None:
    """Log-probabilities are those of the distribution that was sampled from."""
    _agree(engine, 0.5)


def _agree(engine: Engine, temperature: float) -> None:
    by = policy(2)
    with at_work(engine, temperature=temperature) as run:
        for response in sampled(run, requests_of(2, 4), by):
            said = replayed(temperature, by.decoder, response.prompt_ids, response.completion_ids)
            for ours, theirs in zip(said, response.logprobs, strict=True):
                assert abs(ours - theirs) < NATS, (ours, theirs)


def new_weights_are_sampled_from(engine: Engine) -> None:
    """After an update nothing is sampled with the weights of before."""
    with at_work(engine) as run:
        requests = requests_of(1, 2)
        sampled(run, requests, policy(1, 1, 0))
        after = policy(3, 2, 1)
        for response in sampled(run, requests, after):
            said = replayed(1.0, after.decoder, response.prompt_ids, response.completion_ids)
            for ours, theirs in zip(said, response.logprobs, strict=True):
                assert abs(ours - theirs) < NATS, (ours, theirs)
            assert response.policy_version == 2


def samples_of_a_problem_differ(engine: Engine) -> None:
    """A group is no response many times over."""
    with at_work(engine) as run:
        found = {tuple(each.completion_ids) for each in sampled(run, requests_of(1, 8), policy(1))}
        assert len(found) > 1


def no_request_is_taken_too_early(engine: Engine) -> None:
    """A request is taken when there is room to begin it, and closing abandons the rest."""
    taken = []

    def coming() -> Iterator[Request]:
        for request in requests_of(4, 4):
            taken.append(request)
            yield request

    with at_work(engine) as run:
        responses = run.generate(coming(), policy(1), slots=2)
        next(iter(responses))
        assert len(taken) <= 3
        getattr(responses, "close", lambda: None)()


def nothing_is_asked_for_nothing(engine: Engine) -> None:
    """No requests, no responses."""
    with at_work(engine) as run:
        assert list(run.generate([], policy(1))) == []
