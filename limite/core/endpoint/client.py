"""Requests of JSON to a server over HTTP, made with patience.

What is passing (no connection, too many requests, a server in trouble, half a reply) is asked again
after a while, as far as ``Patience`` goes; all else is a failure that is told. Keys and addresses
stand in no message: the server is called by its host.
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
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import attrs

from limite.core.errors import LimiteError, RunFailed

AGAIN = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
"""States of a reply after which the same request may succeed."""

HOPELESS = frozenset((401, 403, 404))
"""States after which no request to the same place will: a wrong key, an unknown model."""

FORM = "response_format"
"""A field that many servers do not know. One that names it will not know it later either."""

LONGEST_WAIT_S = 120.0
REPLY_BYTES = 64 * 2**20
SAID_BYTES = 1 << 16
SAID_CHARACTERS = 300
LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))

T = TypeVar("T")


class Unanswered(RunFailed):
    """A request that got no reply of use; ``said`` is what the server has told of it, if it did."""

    def __init__(self, reason: str, said: str = "", *, passing: bool = False) -> None:
        super().__init__(f"{reason}: {said}" if said else reason)
        self.reason = reason
        self.said = said
        self.passing = passing
        """Whether the same request may succeed later, for all that is known."""


class Hopeless(Unanswered):
    """A refusal that no other request to the same server would be spared."""


class Passing(Exception):
    """A failure after which the same request may succeed. ``read`` of a request may raise it."""

    def __init__(
        self, reason: str, said: str = "", *, wait_s: float | None = None, for_all: bool = False
    ) -> None:
        super().__init__(reason)
        self.said = said
        self.wait_s = wait_s
        self.for_all = for_all


class Final(Exception):
    """A failure that another attempt would not change; a hopeless one, no other request either."""

    def __init__(self, reason: str, said: str = "", *, hopeless: bool = False) -> None:
        super().__init__(reason)
        self.said = said
        self.hopeless = hopeless


@attrs.frozen(kw_only=True)
class Patience:
    """What is asked again, and how often. A request that got no answer always is.

    Pauses begin with ``first_wait_s`` and double, each longer by up to ``jitter`` of it, at random.
    """

    retries: int = 6
    states: frozenset[int] = AGAIN
    """The states of a refusal after which the same request is made again."""
    replies: bool = True
    """Whether it is after a reply that will not do."""
    first_wait_s: float = 0.5
    jitter: float = 0.25


@attrs.frozen
class Address:
    """Where a server is: ``url`` ends without a slash, ``host`` is what messages may name."""

    url: str
    host: str

    @classmethod
    def of(cls, url: str, setting: str) -> Address:
        """A LimiteError says what is wrong with an address, and never repeats it: keys stand in
        some."""
        wrong = LimiteError(
            f"{setting}: expected an address like https://host/v1, without a name or a key in it"
        )
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise wrong
        host = parts.hostname if port is None else f"{parts.hostname}:{port}"
        path = parts.path.rstrip("/")
        return cls(urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), host)

    @property
    def loopback(self) -> bool:
        return urlsplit(self.url).hostname in LOOPBACK

    def at(self, path: str) -> str:
        """The address of a path, behind the one that there is unless that ends in it."""
        parts = urlsplit(self.url)
        whole = parts.path if parts.path.endswith(path) else parts.path + path
        return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))


class Client:
    """Asks one server. Safe to use from several threads.

    ``wait`` and ``clock`` are the time it lives in; left out, it waits until ``end`` at most.
    ``tell`` is told why it asks again, of each reason once.
    """

    def __init__(
        self,
        address: Address,
        key: str = "",
        *,
        timeout_s: float = 120.0,
        patience: Patience = Patience(),
        wait: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[str], object] | None = None,
    ) -> None:
        self.address = address
        self.host = address.host
        if any(character in key for character in "\r\n\0"):
            raise LimiteError("the key holds a line break, which no header can carry")
        self._key = key
        self._timeout_s = timeout_s
        self._patience = patience
        self._ended = threading.Event()
        self._wait = wait or self._ended.wait
        self._clock = clock
        self._tell = tell
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self._quiet_until = 0.0
        self._jitter = random.Random()
        # What is asked of this machine goes through no proxy of the environment.
        proxies = [urllib.request.ProxyHandler({})] if address.loopback else []
        self._opener = urllib.request.build_opener(_NoRedirect, *proxies)

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        read: Callable[[Any], T],
        *,
        timeout_s: float | None = None,
    ) -> T:
        """What ``read`` makes of the JSON that the server replies to ``body``; None: to a GET.

        ``read`` raises ``Passing`` or ``Final`` of a reply that will not do. Raises ``Unanswered``
        where it came to nothing, and ``Hopeless`` where no other request would fare better.
        """
        data = None if body is None else json.dumps(body).encode()
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        failure = said = ""
        retries = self._patience.retries
        for attempt in range(retries + 1):
            self._keep_quiet()
            if self._ended.is_set():
                raise Unanswered("not asked for any more")
            try:
                return self._understood(read, self._send(path, data, limit_s))
            except Passing as error:
                failure, said = str(error), self._without_key(error.said)
                if attempt < retries:
                    self._tell_once(f"{self.host}: {failure}; asking again")
                self._be_patient(attempt, error.wait_s, for_all=error.for_all)
            except Final as error:
                said = self._without_key(error.said)
                if error.hopeless:
                    self.end()
                    raise Hopeless(f"{self.host} refuses every request: {error}", said) from None
                raise Unanswered(str(error), said) from None
        often = f", {retries + 1} times" if retries else ""
        raise Unanswered(failure + often, said, passing=True)

    def end(self) -> None:
        """No request is made from here on, nor waited for."""
        self._ended.set()

    def _without_key(self, said: str) -> str:
        return said.replace(self._key, "***") if self._key else said

    def _tell_once(self, text: str) -> None:
        with self._lock:
            new = text not in self._told
            self._told.add(text)
        if new and self._tell is not None:
            self._tell(text)

    def _understood(self, read: Callable[[Any], T], data: bytes) -> T:
        """What ``read`` makes of a reply; without patience for replies no failure is passing."""
        try:
            return read(_json(data))
        except Passing as error:
            if self._patience.replies:
                raise
            raise Final(str(error), error.said) from None

    def _send(self, path: str, data: bytes | None, timeout_s: float) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(
            self.address.at(path), data=data, headers=headers, method="POST" if data else "GET"
        )
        until = self._clock() + timeout_s
        try:
            with self._opener.open(request, timeout=timeout_s) as response:
                return self._read(response, until)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error, self._patience.states) from None
        except TimeoutError:
            raise Passing("no reply in time") from None
        except urllib.error.URLError as error:
            late = isinstance(error.reason, TimeoutError)
            raise Passing("no reply in time" if late else "no connection") from None
        except (OSError, http.client.HTTPException):
            raise Passing("the connection broke") from None

    def _read(self, response: IO[bytes], until: float) -> bytes:
        """The whole reply; one that trickles in beyond its time is given up."""
        parts, size = [], 0
        while part := response.read(1 << 16):
            parts.append(part)
            size += len(part)
            if self._clock() > until:
                raise TimeoutError
            if size > REPLY_BYTES:
                raise Final("a reply of more than 64 MiB")
        return b"".join(parts)

    def _keep_quiet(self) -> None:
        """Waits while the server has asked everybody to."""
        with self._lock:
            left = self._quiet_until - self._clock()
        if left > 0:
            self._wait(left)

    def _be_patient(self, attempt: int, asked_s: float | None, *, for_all: bool) -> None:
        """Waits as long as the server asked, or twice as long each time, and a little at random."""
        patience = self._patience
        if attempt == patience.retries:
            return
        seconds = patience.first_wait_s * 2.0**attempt if asked_s is None else asked_s
        with self._lock:
            longer = 1 + patience.jitter * self._jitter.random()
            seconds = min(seconds * longer, LONGEST_WAIT_S)
            if for_all:
                self._quiet_until = max(self._quiet_until, self._clock() + seconds)
        if not for_all:
            self._wait(seconds)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a key is for the place it was given for."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _json(data: bytes) -> Any:
    """The value of a reply. Bare NaN and infinities are let through: ``read`` judges numbers."""
    try:
        return json.loads(data) if data.strip() else None
    except (ValueError, RecursionError):
        page = data.lstrip()[:1] == b"<"
        raise Passing(
            "a web page in place of JSON" if page else "a reply that is no JSON"
        ) from None


def _refusal(error: urllib.error.HTTPError, passing: frozenset[int]) -> Passing | Final:
    reason, said = f"status {error.code}", _said(error)
    if error.code in passing and FORM not in said:
        asked_s = _retry_after(error.headers.get("Retry-After", ""))
        return Passing(reason, said, wait_s=asked_s, for_all=error.code == 429)
    hopeless = error.code in HOPELESS or 300 <= error.code < 400
    return Final(reason, said, hopeless=hopeless)


def _said(error: urllib.error.HTTPError) -> str:
    """Why a server refuses a request, in its own words, on one line."""
    try:
        told = json.loads(error.read(SAID_BYTES))
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):
        if isinstance(told, dict) and name in told:
            told = told[name]
    if not isinstance(told, str):
        told = json.dumps(told)
    words = " ".join("".join(each if each.isprintable() else " " for each in told).split())
    return words if len(words) <= SAID_CHARACTERS else words[: SAID_CHARACTERS - 3] + "..."


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
