"""A server that speaks the chat-completions protocol, as something that replies to questions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from limite.core.endpoint.client import Address, Client, Hopeless, Passing, Unanswered
from limite.core.errors import LimiteError, RunFailed
from limite.problems.gen.policies import Reply

PATH = "/chat/completions"


class Endpoint:
    """One model of one server. Safe to use from several threads.

    ``more`` are the client's: how long it waits, how often it asks again, whom it tells.
    """

    def __init__(self, url: str, model: str, key: str = "", **more: Any) -> None:
        address = Address.of(url, "--endpoint")
        self._client = Client(address, key, **more)
        self.host = address.host
        self.model = model

    def chat(self, text: str, terms: Mapping[str, Any]) -> Reply:
        """The reply to one user's turn; ``terms`` are what else the request says.

        Raises RunFailed where no other request would fare better.
        """
        body = {"model": self.model, "messages": [{"role": "user", "content": text}], **terms}
        try:
            return self._client.ask(PATH, body, _reply_of)
        except Hopeless as error:
            raise RunFailed(error.reason) from None
        except Unanswered as error:
            return Reply(failure=error.reason)

    def end(self) -> None:
        """No request is made from here on, nor waited for."""
        self._client.end()


def key_in(variable: str | None) -> str:
    """The key that a variable of the environment holds; none without a variable."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "")
    if not key:
        raise LimiteError(f"--key-env: the environment has no {variable}, or it is empty")
    return key


def _reply_of(data: Any) -> Reply:
    """The text of a completion, without what the model thought where that is told apart."""
    try:
        choice = data["choices"][0]
        text, ending = choice["message"]["content"], choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Passing("a reply that is no chat completion") from None
    if ending == "content_filter":
        return Reply(failure="held back by a filter")
    if text is None and ending == "length":
        return Reply(text="")  # all of it was thought
    if not isinstance(text, str):
        raise Passing("a reply without text")
    return Reply(text=text)
