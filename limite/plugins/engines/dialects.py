"""How servers are asked for tokens with their probabilities, and what they reply.

All ask for the whole distribution: no nucleus, no list, no penalties. Servers differ in where they
put ids and log-probabilities; what one leaves out is refused by name, never guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import attrs

from limite.core.endpoint.client import Passing

Listed = tuple[tuple[int, float], ...]
"""Ids with their log-probabilities in nats."""

NUMBERED = re.compile(r"token_id:(\d+)")
FEWEST_LISTED = 5
"""Always asked for, of which the likeliest tokens of a probe are compared."""


@attrs.frozen(kw_only=True)
class ServerCall:
    """One request that has a server take up new weights.

    ``{directory}`` and ``{version}`` in the texts of ``body`` stand for those of the policy.
    """

    path: str = attrs.field(metadata={"help": "behind the address of the server"})
    body: dict[str, Any] = attrs.field(factory=dict, metadata={"help": "the JSON it is sent"})


@attrs.frozen(kw_only=True)
class Ask:
    """One response that a server is asked for."""

    prompt_ids: Sequence[int]
    budget_tokens: int
    seed: int
    temperature: float
    eos_ids: Sequence[int]
    listed_tokens: int = FEWEST_LISTED


@attrs.frozen(kw_only=True)
class Told:
    """What a server says of one response. What is None it does not tell."""

    ids: tuple[int, ...]
    logprobs: tuple[float | None, ...]  # nats
    listed: tuple[Listed, ...]  # none, where a server lists nothing
    ending: str  # "eos", "length", or a word of the server's
    prompt_ids: tuple[int, ...] | None = None
    version: str | None = None
    text: str | None = None


class Lacks(Exception):
    """What a reply does not hold, without which nothing can be learned from it: all of it."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class Dialect(Protocol):
    """One way of asking."""

    path: ClassVar[str]
    calls: ClassVar[tuple[ServerCall, ...]]
    """What has it take up new weights, unless a recipe says otherwise."""
    needs_directory: ClassVar[bool]
    """Whether it reads weights from where it was started, whatever it is told."""

    def body(self, ask: Ask, model: str) -> dict[str, Any]: ...

    def read(self, data: Any) -> Told:
        """Raises ``Lacks`` of what it leaves out, and ``Passing`` of what is no reply at all."""
        ...


class VLLM:
    """``/v1/completions`` with prompts as ids; vLLM, and what follows it."""

    path: ClassVar[str] = "/v1/completions"
    calls: ClassVar[tuple[ServerCall, ...]] = (
        ServerCall(path="/collective_rpc", body={"method": "reload_weights"}),
        ServerCall(path="/reset_prefix_cache"),
    )
    needs_directory: ClassVar[bool] = True

    def body(self, ask: Ask, model: str) -> dict[str, Any]:
        return {
            "model": model,
            "prompt": list(ask.prompt_ids),
            "max_tokens": ask.budget_tokens,
            "temperature": ask.temperature,
            "seed": ask.seed,
            "n": 1,
            "stream": False,
            "logprobs": max(ask.listed_tokens, FEWEST_LISTED),
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            "stop_token_ids": list(ask.eos_ids),
            "ignore_eos": False,
            "skip_special_tokens": False,
            "add_special_tokens": False,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "repetition_penalty": 1.0,
        }

    def read(self, data: Any) -> Told:
        choice = _first(data, "choices")
        told = choice.get("logprobs") or {}
        nats, given = told.get("token_logprobs"), choice.get("token_ids")
        numbered = _numbered(told.get("tokens"))
        lacking = []
        if not isinstance(nats, list):
            lacking.append("it gives no log-probabilities (choices[0].logprobs.token_logprobs)")
        if given is None and numbered is None:
            lacking.append(
                "it gives tokens as texts, without their ids (choices[0].token_ids, or "
                "'token_id:N' in logprobs.tokens), and no text says for certain which they were"
            )
        if lacking:
            raise Lacks(*lacking)
        ids = numbered if given is None else _ids(given, "choices[0].token_ids")
        assert ids is not None
        assert nats is not None
        if numbered is not None and numbered != ids:
            raise Lacks("its choices[0].token_ids are other tokens than its logprobs.tokens")
        ending = str(choice.get("finish_reason"))
        prompt = choice.get("prompt_token_ids")
        return Told(
            ids=ids,
            logprobs=_nats(nats),
            listed=tuple(map(_by_name, told.get("top_logprobs") or ())),
            ending="eos" if ending == "stop" else ending,
            prompt_ids=None if prompt is None else _ids(prompt, "choices[0].prompt_token_ids"),
            text=_text(choice.get("text")),
        )


class SGLang:
    """``/generate`` of SGLang, which says with which weights it has sampled."""

    path: ClassVar[str] = "/generate"
    calls: ClassVar[tuple[ServerCall, ...]] = (
        ServerCall(
            path="/update_weights_from_disk",
            body={
                "model_path": "{directory}",
                "flush_cache": True,
                "weight_version": "{version}",
            },
        ),
    )
    needs_directory: ClassVar[bool] = False

    def body(self, ask: Ask, model: str) -> dict[str, Any]:
        return {
            "input_ids": list(ask.prompt_ids),
            "sampling_params": {
                "max_new_tokens": ask.budget_tokens,
                "temperature": ask.temperature,
                "sampling_seed": ask.seed,
                "stop_token_ids": list(ask.eos_ids),
                "ignore_eos": False,
                "no_stop_trim": True,
                "skip_special_tokens": False,
                "top_p": 1.0,
                "top_k": -1,
                "min_p": 0.0,
                "presence_penalty": 0.0,
                "frequency_penalty": 0.0,
                "repetition_penalty": 1.0,
            },
            "return_logprob": True,
            "top_logprobs_num": max(ask.listed_tokens, FEWEST_LISTED),
            "stream": False,
        }

    def read(self, data: Any) -> Told:
        about = data.get("meta_info") if isinstance(data, dict) else None
        if not isinstance(about, dict):
            raise Passing("a reply that is no completion")
        pairs = about.get("output_token_logprobs")
        if not isinstance(pairs, list):
            raise Lacks("it gives no log-probabilities (meta_info.output_token_logprobs)")
        try:
            ids = _ids([pair[1] for pair in pairs], "meta_info.output_token_logprobs")
            logprobs = _nats([pair[0] for pair in pairs])
            listed = tuple(
                tuple((int(pair[1]), float(pair[0])) for pair in place)
                for place in about.get("output_top_logprobs") or ()
            )
        except (TypeError, IndexError, KeyError, ValueError):
            raise Lacks("its meta_info.output_token_logprobs are no pairs of nats and id") from None
        given = data.get("output_ids")
        # The token that ended it may be left out of the ids, and has its probability all the same.
        if given is not None and tuple(given) not in (ids, ids[:-1]):
            raise Lacks("its output_ids are other tokens than its meta_info.output_token_logprobs")
        reason = about.get("finish_reason")
        ending = str(reason.get("type") if isinstance(reason, dict) else reason)
        version = about.get("weight_version")
        return Told(
            ids=ids,
            logprobs=logprobs,
            listed=listed,
            ending="eos" if ending == "stop" else ending,
            version=None if version is None else str(version),
            text=_text(data.get("text")),
        )


class LlamaCpp:
    """``/completion`` of the server of llama.cpp."""

    path: ClassVar[str] = "/completion"
    calls: ClassVar[tuple[ServerCall, ...]] = ()
    needs_directory: ClassVar[bool] = False

    def body(self, ask: Ask, model: str) -> dict[str, Any]:
        return {
            **({"model": model} if model else {}),
            "prompt": list(ask.prompt_ids),
            "n_predict": ask.budget_tokens,
            "temperature": ask.temperature,
            "seed": ask.seed,
            "stream": False,
            "n_probs": max(ask.listed_tokens, FEWEST_LISTED),
            # Before sampling, it tells the distribution at temperature 1 whatever it samples at.
            "post_sampling_probs": ask.temperature != 1.0,
            "return_tokens": True,
            "ignore_eos": False,
            "samplers": ["temperature"],
            "top_k": 0,
            "top_p": 1.0,
            "min_p": 0.0,
            "typical_p": 1.0,
            "repeat_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "dry_multiplier": 0.0,
            "xtc_probability": 0.0,
            "mirostat": 0,
        }

    def read(self, data: Any) -> Told:
        if not isinstance(data, dict) or "content" not in data:
            raise Passing("a reply that is no completion")
        places = data.get("completion_probabilities")
        lacking = []
        if not data.get("tokens"):
            lacking.append("it gives no ids of tokens (tokens)")
        if not isinstance(places, list):
            lacking.append("it gives no log-probabilities (completion_probabilities)")
        if lacking:
            raise Lacks(*lacking)
        assert places is not None
        ids = _ids(data["tokens"], "tokens")
        try:
            said = [int(place["id"]) for place in places]
            logprobs = _nats([_nats_of(place) for place in places])
            listed = tuple(
                tuple(
                    (int(each["id"]), nats)
                    for each in place.get("top_logprobs", place.get("top_probs", ()))
                    if (nats := _nats_of(each)) is not None
                )
                for place in places
            )
        except (TypeError, KeyError, ValueError):
            raise Lacks("its completion_probabilities hold no ids with probabilities") from None
        if len(said) == len(ids) and tuple(said) != ids:
            raise Lacks("its completion_probabilities are of other tokens than its tokens")
        ending = {"eos": "eos", "limit": "length"}.get(
            str(data.get("stop_type")), str(data.get("stop_type"))
        )
        return Told(
            ids=ids,
            logprobs=logprobs,
            listed=listed,
            ending=ending,
            text=_text(data["content"]),
        )


DIALECTS: Mapping[str, Dialect] = {"vllm": VLLM(), "sglang": SGLang(), "llama-cpp": LlamaCpp()}


def _first(data: Any, name: str) -> dict[str, Any]:
    try:
        found = data[name][0]
    except (KeyError, IndexError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise Passing("a reply that is no completion")
    return found


def _ids(given: Any, where: str) -> tuple[int, ...]:
    if not isinstance(given, list) or not all(type(each) is int for each in given):
        raise Lacks(f"its {where} are no ids of tokens")
    return tuple(given)


def _numbered(tokens: Any) -> tuple[int, ...] | None:
    """The ids in names like ``token_id:17``; None where the names are anything else."""
    if not isinstance(tokens, list):
        return None
    found = [NUMBERED.fullmatch(each) if isinstance(each, str) else None for each in tokens]
    return tuple(int(each[1]) for each in found if each) if all(found) else None


def _by_name(place: Any) -> Listed:
    """The list of one position, by names like ``token_id:17``; empty where it has none."""
    if not isinstance(place, dict):
        return ()
    names = _numbered(list(place))
    if names is None:
        return ()
    return tuple(
        (token, float(nats))
        for token, nats in zip(names, place.values(), strict=True)
        if isinstance(nats, (int, float))
    )


def _nats(given: Sequence[Any]) -> tuple[float | None, ...]:
    return tuple(
        float(each) if isinstance(each, (int, float)) and not isinstance(each, bool) else None
        for each in given
    )


def _nats_of(place: Mapping[str, Any]) -> float | None:
    """The log-probability of a place, from its probability where it tells that."""
    if "logprob" in place:
        return float(place["logprob"])
    share = float(place["prob"])
    return math.log(share) if share > 0 else None


def _text(given: Any) -> str | None:
    return given if isinstance(given, str) else None
