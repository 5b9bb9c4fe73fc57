"""A chat-completions server on loopback that misbehaves as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Told = tuple[Any, Mapping[str, str], bytes]  # status, headers, body


def told(status: int, headers: Mapping[str, str] | None = None) -> Told:
    """A refusal, as servers write them."""
    return status, headers or {}, b'{"error": {"message": "no"}}'


class ChatServer:
    """Replies ``answers(text)`` to each turn, after what is ``planned`` for the first ones.

    ``always`` goes before both. A status of ``"cut"`` ends the connection without a reply,
    ``"half"`` in the middle of one.
    """

    def __init__(self) -> None:
        self.answers: Callable[[str], str] = lambda _text: "\\boxed{0}"
        self.planned: list[Told] = []
        self.always: Told | None = None
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self._lock = threading.Lock()
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, data = served.reply(body, self.headers.get("Authorization", ""))
                if status == "cut":
                    return
                self.send_response(200 if status == "half" else status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data) + 99 * (status == "half")))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/v1"

    def reply(self, body: dict[str, Any], key: str) -> Told:
        with self._lock:
            self.keys.add(key)
            if self.always is None and self.planned:
                return self.planned.pop(0)
            self.bodies.append(body)
        if self.always is not None:
            return self.always
        text = self.answers(body["messages"][0]["content"])
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return 200, {}, json.dumps({"choices": [choice]}).encode()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
