"""Puts a process behind the layers, in the one order in which each still works."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any

from limite.problems.sandbox import identity, kernel, landlock, rlimits, seccomp

ORDER = (
    "rlimits",
    "empty-root",
    "uid-drop",
    "no-capabilities",
    "no-new-privileges",
    "landlock",
    "seccomp",
)
"""The layers that a program is put behind in its own process."""


class Confinement:
    """What a program's process does before the program: ``layers`` in order, or an OSError."""

    def __init__(self, layers: tuple[str, ...], place: Mapping[str, Any]) -> None:
        self.layers = layers
        self.place = place
        self._rules = -1

    def __call__(self, limits: Mapping[str, Any]) -> None:
        for layer in ORDER:
            if layer in self.layers:
                self.apply(layer, limits)

    def apply(self, layer: str, limits: Mapping[str, Any]) -> None:
        if layer == "rlimits":
            rlimits.restrict(limits)
        elif layer == "empty-root":
            os.chroot(".")
            os.chdir("/")
        elif layer == "uid-drop":
            identity.become_nobody(self.place["user"])
        elif layer == "no-capabilities":
            identity.drop_capabilities()
        elif layer == "no-new-privileges":
            identity.gain_nothing()
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        elif layer == "landlock":
            landlock.restrict(self.rules())
            os.close(self.rules())
        elif layer == "seccomp":
            seccomp.restrict(os.getpid(), self._refused())

    def rules(self) -> int:
        """The rules of Landlock, made once: restricting many processes to them costs little."""
        if self._rules < 0:
            self._rules = landlock.ruleset(self.place["readable"], self.place["writable"])
        return self._rules

    def rules_are(self, descriptor: int) -> None:
        """Says where the rules are, after descriptors were moved."""
        self._rules = descriptor

    def renew(self) -> None:
        """Forgets rules that name a folder which is another one now."""
        if self._rules >= 0:
            os.close(self._rules)
            self._rules = -1
        self.prepare()

    def prepare(self) -> None:
        """Makes once what every program's process then has."""
        if "landlock" in self.layers:
            self.rules()
        if "seccomp" in self.layers:
            seccomp.prepare(self._refused())
        if "no-capabilities" in self.layers:
            with contextlib.suppress(OSError):  # nothing is ever started that could use them
                identity.drop_bounding()

    def _refused(self) -> tuple[str, ...]:
        return () if "private-root" in self.place["layers"] else seccomp.CHANGES_OF_FILES


def tried(layers: tuple[str, ...], place: Mapping[str, Any], limits: Mapping[str, Any]) -> Any:
    """Each layer with "" or the reason why it cannot be had, found in a process that then ends."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        os.chdir(place["scratch"])
        lines = []
        confinement = Confinement(layers, place)
        # Landlock's rules need paths that are out of sight later.
        if "landlock" in layers:
            with contextlib.suppress(OSError):
                confinement.rules()
        for layer in ORDER:
            if layer not in layers:
                continue
            try:
                confinement.apply(layer, limits)
                lines.append(f"{layer}\t")
            except (OSError, ValueError) as error:
                lines.append(f"{layer}\t{error}")
        try:
            with open(os.__file__, "rb"):
                lines.append("library\t")
        except OSError as error:
            lines.append(f"library\t{error}")
        os.write(sink, "\n".join(lines).encode())
        os._exit(0)
    os.close(sink)
    with open(source, encoding="utf-8") as file:
        text = file.read()
    os.waitpid(child, 0)
    return dict(line.split("\t", 1) for line in text.splitlines())
