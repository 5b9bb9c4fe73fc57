"""Serves a GGUF model with llama-cpp-python until it is killed.

    python llama_server.py FILE PORT [ids | CONTEXT]

Without ``ids`` it is the server that comes with the package, for a context of 256 tokens or as many
as are said. With it, a small one over the same
library, which takes prompts as ids at ``/completion`` and gives ids with log-probabilities, in the
form of llama.cpp's own server: what it samples and how likely that was are llama.cpp's to say.
Runs in the environment of the package; nothing of limite is imported.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import llama_cpp
import numpy as np
from llama_cpp import llama_cpp as library

_defaults = library.llama_model_default_params


def _plain_buffers() -> Any:
    """Matrix tiles (AMX) need a permission that containers may not give, and end the process."""
    parameters = _defaults()
    parameters.use_extra_bufts = False
    return parameters


library.llama_model_default_params = _plain_buffers


def packaged(file: str, port: int, context: int = 256) -> None:
    import uvicorn
    from llama_cpp.server.app import create_app
    from llama_cpp.server.settings import ModelSettings, ServerSettings

    model = ModelSettings(
        model=file,
        n_ctx=context,
        logits_all=context == 256,  # of all tokens: for log-probabilities, which take memory
        n_threads=1,
        verbose=False,
        chat_format="chatml",
    )
    app = create_app(
        server_settings=ServerSettings(host="127.0.0.1", port=port), model_settings=[model]
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def with_ids(file: str, port: int) -> None:
    model = llama_cpp.Llama(file, n_ctx=256, n_threads=1, verbose=False, logits_all=True)

    def completion(body: dict[str, Any]) -> dict[str, Any]:
        rng = np.random.default_rng(body["seed"])
        model.reset()
        model.eval(body["prompt"])
        tokens, places, ending = [], [], "limit"
        while len(tokens) < body["n_predict"] and ending == "limit":
            logits = np.array(model.scores[model.n_tokens - 1], dtype=np.float64)
            logp = logits / body["temperature"]
            logp -= logp.max() + np.log(np.exp(logp - logp.max()).sum())
            token = int(rng.choice(len(logp), p=np.exp(logp)))
            top = np.argsort(-logp)[: body["n_probs"]].tolist()
            tokens.append(token)
            places.append(
                {
                    "id": token,
                    "logprob": float(logp[token]),
                    "top_logprobs": [{"id": each, "logprob": float(logp[each])} for each in top],
                }
            )
            if library.llama_vocab_is_eog(library.llama_model_get_vocab(model.model), token):
                ending = "eos"
            else:
                model.eval([token])
        return {
            "content": model.detokenize(tokens).decode(errors="replace"),
            "tokens": tokens,
            "stop_type": ending,
            "completion_probabilities": places,
        }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({"data": [{"id": "gguf"}]})

        def do_POST(self) -> None:
            self._send(completion(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))

        def _send(self, reply: Any) -> None:
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

    HTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    if sys.argv[3:] == ["ids"]:
        with_ids(sys.argv[1], int(sys.argv[2]))
    else:
        packaged(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:]))
