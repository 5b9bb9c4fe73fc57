"""A server that speaks the chat-completions protocol, asked with patience.

What is passing (no connection, too many requests, a server in trouble, half a reply) is asked again
after a while; all else is a failure that is told. Keys and addresses stand in no message: the
server is called by its host.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import IO, Any
from urllib.parse import urlsplit, urlunsplit

from limite.core.errors import LimiteError, RunFailed
from limite.problems.gen.policies import Reply

AGAIN = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
"""States of a reply after which the same request may succeed."""

HOPELESS = frozenset((401, 403, 404))
"""States after which no request to the same place will: a wrong key, an unknown model."""

LONGEST_WAIT_S = 120.0
FIRST_WAIT_S = 0.5
REPLY_BYTES = 64 * 2**20


class Endpoint:
    """One model of one server. Safe to use from several threads.

    ``wait`` and ``clock`` are the time it lives in; left out, it waits until ``end`` at most.
    ``tell`` is told why it asks again, of each reason once.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        *,
        timeout_s: float = 120.0,
        retries: int = 6,
        wait: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        self._url, self.host = _address(url)
        self.model = model
        if any(character in key for character in "\r\n\0"):
            raise LimiteError("the key holds a line break, which no header can carry")
        self._key = key
        self._timeout_s = timeout_s
        self._retries = retries
        self._ended = threading.Event()
        self._wait = wait or self._ended.wait
        self._clock = clock
        self._tell = tell
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self._quiet_until = 0.0
        self._jitter = random.Random()
        self._opener = urllib.request.build_opener(_NoRedirect)

    def chat(self, text: str, terms: Mapping[str, Any]) -> Reply:
        """The reply to one user's turn; ``terms`` are what else the request says.

        Raises RunFailed where no other request would fare better.
        """
        body = {"model": self.model, "messages": [{"role": "user", "content": text}], **terms}
        data = json.dumps(body).encode()
        failure = ""
        for attempt in range(self._retries + 1):
            self._keep_quiet()
            if self._ended.is_set():
                return Reply(failure="not asked for any more")
            try:
                return _reply_of(self._post(data))
            except _Passing as error:
                failure = str(error)
                if attempt < self._retries:
                    self._tell_once(f"{self.host}: {failure}; asking again")
                self._be_patient(attempt, error.wait_s, for_all=error.for_all)
            except _Final as error:
                if error.hopeless:
                    self.end()
                    raise RunFailed(f"{self.host} refuses every request: {error}") from None
                return Reply(failure=str(error))
        return Reply(failure=f"{failure}, {self._retries + 1} times")

    def _tell_once(self, text: str) -> None:
        with self._lock:
            new = text not in self._told
            self._told.add(text)
        if new and self._tell is not None:
            self._tell(text)

    def end(self) -> None:
        """No request is made from here on, nor waited for."""
        self._ended.set()

    def _post(self, data: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, data=data, headers=headers, method="POST")
        until = self._clock() + self._timeout_s
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return self._read(response, until)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None
        except TimeoutError:
            raise _Passing("no reply in time") from None
        except urllib.error.URLError as error:
            late = isinstance(error.reason, TimeoutError)
            raise _Passing("no reply in time" if late else "no connection") from None
        except (OSError, http.client.HTTPException):
            raise _Passing("the connection broke") from None

    def _read(self, response: IO[bytes], until: float) -> bytes:
        """The whole reply; one that trickles in beyond its time is given up."""
        parts, size = [], 0
        while part := response.read(1 << 16):
            parts.append(part)
            size += len(part)
            if self._clock() > until:
                raise TimeoutError
            if size > REPLY_BYTES:
                raise _Final("a reply of more than 64 MiB")
        return b"".join(parts)

    def _keep_quiet(self) -> None:
        """Waits while the server has asked everybody to."""
        with self._lock:
            left = self._quiet_until - self._clock()
        if left > 0:
            self._wait(left)

    def _be_patient(self, attempt: int, asked_s: float | None, *, for_all: bool) -> None:
        """Waits as long as the server asked, or twice as long each time, and a little at random."""
        if attempt == self._retries:
            return
        seconds = FIRST_WAIT_S * 2.0**attempt if asked_s is None else asked_s
        with self._lock:
            seconds = min(seconds * (1 + 0.25 * self._jitter.random()), LONGEST_WAIT_S)
            if for_all:
                self._quiet_until = max(self._quiet_until, self._clock() + seconds)
        if not for_all:
            self._wait(seconds)


class _Passing(Exception):
    """A failure after which the same request may succeed."""

    def __init__(self, reason: str, wait_s: float | None = None, *, for_all: bool = False) -> None:
        super().__init__(reason)
        self.wait_s = wait_s
        self.for_all = for_all


class _Final(Exception):
    """A failure that another attempt would not change; a hopeless one, no other request either."""

    def __init__(self, reason: str, *, hopeless: bool = False) -> None:
        super().__init__(reason)
        self.hopeless = hopeless


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a key is for the place it was given for."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _address(url: str) -> tuple[str, str]:
    """Where chat completions are asked for, and the host that messages may name."""
    wrong = LimiteError(
        "--endpoint: expected an address like https://host/v1, without a name or a key in it"
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise wrong
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    host = parts.hostname if port is None else f"{parts.hostname}:{port}"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), host


def _refusal(error: urllib.error.HTTPError) -> _Passing | _Final:
    reason = f"status {error.code}"
    if error.code in AGAIN:
        asked_s = _retry_after(error.headers.get("Retry-After", ""))
        return _Passing(reason, asked_s, for_all=error.code == 429)
    return _Final(reason, hopeless=error.code in HOPELESS or 300 <= error.code < 400)


def _retry_after(text: str) -> float | None:
    """The seconds that a server asks to wait, said as seconds or as a date."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_WAIT_S)
    try:
        until = email.utils.parsedate_to_datetime(text)
        return max(0.0, min(until.timestamp() - time.time(), LONGEST_WAIT_S))
    except (ValueError, TypeError, OverflowError):
        return None


def _reply_of(data: bytes) -> Reply:
    """The text of a completion, without what the model thought where that is told apart."""
    try:
        choice = json.loads(data)["choices"][0]
        text, ending = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise _Passing("a reply that is no chat completion") from None
    if ending == "content_filter":
        return Reply(failure="held back by a filter")
    if text is None and ending == "length":
        return Reply(text="")  # all of it was thought
    if not isinstance(text, str):
        raise _Passing("a reply without text")
    return Reply(text=text)
