"""A server on loopback that samples with a limite model, in the ways that engines ask for it.

What it replies has the form that vLLM, SGLang and llama.cpp give it, and the probabilities are
right. It takes up new weights from a directory when it is told to. Tests make it misbehave with
``spoil``, which sees every reply before it is sent, and ``planned``, which is sent instead.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import attrs
import torch

from limite.core.model.decoder import Decoder
from limite.core.pretrained.settings import at
from limite.core.rollout.sampler import Sampler
from limite.core.rollout_kinds import Request
from limite.core.seeds import Seeds
from limite.core.tokenizer import Tokenizer
from limite.core.train.replay import Row, replay
from limite.core.types import Answer, Problem, Response

PROBLEM = Problem(problem="?", answer=Answer(type="integer", value="0"))
Planned = tuple[int | str, dict[str, str], bytes]
"""A status, headers and a body. Of the statuses ``"cut"`` sends nothing, ``"half"`` a part."""


class ModelServer:
    """Serves one model to several threads, one response at a time.

    ``directory`` is read again at ``/collective_rpc``; another may be named to
    ``/update_weights_from_disk``. ``asked`` holds the path and body of every request. With ``raw``
    it gives log-probabilities at temperature 1 whatever it samples at, as vLLM does unless told.
    """

    def __init__(
        self, tokenizer: Tokenizer, decoder: Decoder | None = None, directory: Path | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.decoder = decoder
        self.directory = directory
        self.version = "default"
        self.raw = False
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.planned: list[Planned] = []
        self.spoil: Callable[[str, dict[str, Any]], Any] = lambda _path, reply: reply
        self._lock = threading.Lock()
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(served.reply(self.path, {}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._reply(served.reply(self.path, body))

            def _reply(self, planned: Planned) -> None:
                status, headers, data = planned
                if status == "cut":
                    return
                self.send_response(200 if isinstance(status, str) else status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data) + 99 * (status == "half")))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, path: str, body: dict[str, Any]) -> Planned:
        """What is sent for a request."""
        with self._lock:
            self.asked.append((path, body))
            if self.planned:
                return self.planned.pop(0)
            found = {
                "/v1/models": self._models,
                "/v1/completions": self._completion,
                "/generate": self._generated,
                "/completion": self._completed,
                "/collective_rpc": self._read_again,
                "/reset_prefix_cache": lambda _body: {},
                "/update_weights_from_disk": self._update,
            }.get(path)
            if found is None:
                return 404, {}, b'{"error": "no such path"}'
            reply = self.spoil(path, found(body))
        return 200, {}, reply if isinstance(reply, bytes) else json.dumps(reply).encode()

    def _models(self, _body: dict[str, Any]) -> dict[str, Any]:
        return {"data": [{"id": "policy"}]}

    def _read_again(self, _body: dict[str, Any]) -> dict[str, Any]:
        assert self.directory is not None, "the server was started without a directory"
        self._load(self.directory)
        return {"results": [None]}

    def _update(self, body: dict[str, Any]) -> dict[str, Any]:
        self._load(Path(body["model_path"]))
        self.version = body.get("weight_version", self.version)
        return {"success": True, "message": ""}

    def _load(self, directory: Path) -> None:
        model = at(directory)
        self.decoder = model.decoder(self.tokenizer.vocabulary, Seeds(0)).eval()

    def sample(
        self, prompt: list[int], budget: int, temperature: float, seed: int, listed: int
    ) -> Response:
        """A response; the same request and weights give the same one."""
        assert self.decoder is not None, "the server was started without weights"
        sampler = Sampler(
            self.decoder,
            self.tokenizer,
            seed=seed,
            temperature=temperature,
            listed_tokens=listed,
        )
        request = Request(
            problem=PROBLEM, sample_index=0, prompt_ids=tuple(prompt), budget_tokens=budget
        )
        ((_, response),) = sampler.generate([request], policy_version=0)
        return response

    def _at_temperature_1(self, response: Response) -> Response:
        """The same tokens with what the model says of them before any temperature."""
        assert self.decoder is not None
        row = Row(
            prompt=response.prompt_ids,
            completion=response.completion_ids,
            listed=response.topk_ids,
        )
        with torch.no_grad():
            said = replay(self.decoder, [row])
        assert said.listed_logp is not None
        return attrs.evolve(
            response,
            logprobs=said.logp[0].tolist(),
            topk_logprobs=said.listed_logp[0].tolist(),
        )

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        response = self.sample(
            body["prompt"], body["max_tokens"], body["temperature"], body["seed"], body["logprobs"]
        )
        if self.raw:
            response = self._at_temperature_1(response)
        names = [f"token_id:{token}" for token in response.completion_ids]
        choice = {
            "index": 0,
            "text": response.text,
            "finish_reason": "stop" if response.finish_reason == "eos" else "length",
            "token_ids": list(response.completion_ids),
            "prompt_token_ids": list(response.prompt_ids),
            "logprobs": {
                "tokens": names,
                "token_logprobs": list(response.logprobs),
                "top_logprobs": [
                    {f"token_id:{token}": value for token, value in place}
                    for place in _listed(response)
                ],
            },
        }
        return {"object": "text_completion", "model": body["model"], "choices": [choice]}

    def _generated(self, body: dict[str, Any]) -> dict[str, Any]:
        terms = body["sampling_params"]
        response = self.sample(
            body["input_ids"],
            terms["max_new_tokens"],
            terms["temperature"],
            terms["sampling_seed"],
            body["top_logprobs_num"],
        )
        pairs = zip(response.completion_ids, response.logprobs, strict=True)
        ended = response.finish_reason == "eos"
        return {
            "text": response.text,
            "output_ids": list(response.completion_ids),
            "meta_info": {
                "finish_reason": {"type": "stop" if ended else "length"},
                "output_token_logprobs": [[nats, token, None] for token, nats in pairs],
                "output_top_logprobs": [
                    [[nats, token, None] for token, nats in place] for place in _listed(response)
                ],
                "weight_version": self.version,
            },
        }

    def _completed(self, body: dict[str, Any]) -> dict[str, Any]:
        response = self.sample(
            body["prompt"], body["n_predict"], body["temperature"], body["seed"], body["n_probs"]
        )
        after = body["post_sampling_probs"]
        if not after:
            response = self._at_temperature_1(response)

        def place(token: int, nats: float) -> dict[str, Any]:
            said = {"prob": math.exp(nats)} if after else {"logprob": nats}
            return {"id": token, "token": "", **said}

        return {
            "content": response.text,
            "tokens": list(response.completion_ids),
            "stop_type": "eos" if response.finish_reason == "eos" else "limit",
            "completion_probabilities": [
                {
                    **place(token, nats),
                    "top_probs" if after else "top_logprobs": [place(*row) for row in rows],
                }
                for token, nats, rows in zip(
                    response.completion_ids, response.logprobs, _listed(response), strict=True
                )
            ],
        }


def _listed(response: Response) -> list[list[tuple[int, float]]]:
    return [
        list(zip(ids, nats, strict=True))
        for ids, nats in zip(response.topk_ids, response.topk_logprobs, strict=True)
    ]
