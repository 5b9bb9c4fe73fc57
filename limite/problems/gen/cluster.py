"""Candidates made by the machines of a Ray cluster, or by this one as a cluster of its own.

A task says all that its candidates depend on, so that Ray may run it on any machine, and again on
another when a process or a machine is lost: its result is the same. Ray is imported when asked for.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

import limite
from limite.core.errors import LimiteError, RunFailed, sentence
from limite.problems.gen.candidate import Made, Maker
from limite.problems.gen.request import Request
from limite.problems.gen.workers import WorkerLost

RETRIES = 20
"""How often a task is run again whose process, or whose result, was lost."""

ANSWER_S = 15.0
"""How long a cluster may take to answer at all: Ray itself asks for minutes."""

Sent = Mapping[str, Any]
"""A request as ``Request.plain`` gives it, with the version of limite that asks."""


def installed() -> Any:
    """The package ray; where it is lacking, what to install is told."""
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise _lacking(str(error)) from error
    if not hasattr(ray, "init"):  # a mere folder of that name, such as the one Ray leaves in /tmp
        raise _lacking(f"{next(iter(ray.__path__))} is another thing of that name")
    return ray


def _lacking(why: str) -> LimiteError:
    return LimiteError(
        f"--executor ray needs the package ray ({why}); pip install 'limite[ray]' brings it"
    )


@attrs.define(eq=False)
class Ticket:
    """A task that was sent to the cluster."""

    reference: Any


class Cluster:
    """Makes batches of candidates on the cluster that Ray finds, else on this machine.

    Ray finds the cluster that ``RAY_ADDRESS`` names, or one that runs here. ``count`` is how many
    processes are meant to be busy at once: by itself, as many as the cluster has processors.
    """

    def __init__(self, request: Request, count: int | None) -> None:
        self._ray = installed()
        self._began = not self._ray.is_initialized()
        if self._began:
            self._connect()
        try:
            self.count = self._processors() if count is None else count
            self._make = self._ray.remote(num_cpus=1, max_retries=RETRIES)(made)
            self._request = self._ray.put({**request.plain(), "limite": limite.__version__})
        except BaseException:
            self.close()
            raise
        self._open: dict[Any, None] = {}

    def _connect(self) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster begun here tells nobody
        address = _address()
        try:
            self._ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise RunFailed(f"no Ray cluster: {sentence(error)}") from error

    def _processors(self) -> int:
        count = int(self._ray.cluster_resources().get("CPU", 0))
        if count < 1:
            raise RunFailed(
                "the Ray cluster has no processors; where machines join it only once there is "
                "work, say with --workers how many are to be busy"
            )
        return count

    def send(self, share: int, first: int, count: int) -> Ticket:
        """Asks for ``count`` candidates of a share, from index ``first`` on."""
        reference = self._make.remote(self._request, share, first, count)
        self._open[reference] = None
        return Ticket(reference)

    def result(self, ticket: Ticket) -> list[Made]:
        """The candidates of a ticket.

        RunFailed says why the cluster cannot make them; WorkerLost, that too many processes or
        machines were lost over one task.
        """
        errors = self._ray.exceptions
        try:
            found: list[Made] | str = self._ray.get(ticket.reference)
        except errors.RayTaskError as error:
            raise _unable(sentence(error.cause or error)) from error
        except errors.RayError as error:
            raise WorkerLost(sentence(error)) from error
        del self._open[ticket.reference]
        if isinstance(found, str):
            raise _unable(found)
        return found

    def receive(self) -> None:
        """Nothing waits here: Ray keeps what comes."""

    def close(self) -> None:
        """Takes back what is not done, and ends a cluster that was begun here."""
        if self._began:
            self._ray.shutdown()
            return
        for reference in getattr(self, "_open", ()):
            self._ray.cancel(reference, force=True)


def _address() -> str | None:
    """``local`` where a new cluster is to be begun, else None: Ray finds the one there is.

    RunFailed says that nobody answers where ``RAY_ADDRESS`` says.
    """
    if address := os.environ.get("RAY_ADDRESS"):
        _look_for(address)
        return None
    note = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
    try:
        _look_for(note.read_text().strip())
    except OSError:
        return None  # no cluster was begun here
    except RunFailed:
        return "local"  # the one that was begun here was killed
    return None


def _look_for(address: str) -> None:
    """Refuses an address, such as ``host:6379``, where nobody answers."""
    found = re.fullmatch(r"(?:ray://)?\[?([^/\[\]]+)\]?:([0-9]{1,5})", address)
    if found is None:
        return  # a word of Ray's own
    try:
        socket.create_connection((found[1], int(found[2])), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise RunFailed(f"no Ray cluster answers at {address} (RAY_ADDRESS): {error}") from error


def _unable(why: str) -> RunFailed:
    return RunFailed(
        f"a machine of the Ray cluster cannot make these problems: {why}; all need the same "
        "limite and the same plugins. The same command goes on from what is there"
    )


def made(request: Sent, share: int, first: int, count: int) -> list[Made] | str:
    """What a task gives: the candidates, whole but for what repeats another of the batch.

    Where this machine would make other ones, a text says why.
    """
    try:
        maker = _maker(request, share)
    except LimiteError as error:
        return str(error)
    return maker.make(range(first, first + count))


_makers: dict[tuple[str, int], Maker] = {}


def _maker(sent: Sent, share: int) -> Maker:
    """The maker of a share, kept for the next task of the same request."""
    key = repr(sent), share
    if key not in _makers:
        request = Request.of_plain(sent)
        here = {**request.plain(), "limite": limite.__version__}
        for name in here:
            if here[name] != sent[name]:
                raise LimiteError(f"{name}: {here[name]!r} there, {sent[name]!r} here")
        if _makers and key[0] not in {text for text, _ in _makers}:
            _makers.clear()
        _makers[key] = Maker(request.shares[share], request.seed, request.verifier)
    return _makers[key]
