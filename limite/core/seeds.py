"""Named random streams: every random choice in limite comes from one of these.

A stream is addressed by names, never by its place in a sequence, so asking for one stream never
moves another, and resuming needs no generator state.
"""

from __future__ import annotations

import hashlib
import random
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    import torch

Name = str | int


@attrs.frozen
class Seeds:
    """A root seed and the path of names below it.

    ``Seeds(7).stream("rollout", 3)`` is the same stream in every process, on every machine.
    """

    root: int
    path: tuple[Name, ...] = ()

    def child(self, *names: Name) -> Seeds:
        """The same seed with ``names`` added to the path."""
        return Seeds(self.root, (*self.path, *names))

    def integer(self, *names: Name) -> int:
        """A 64-bit unsigned integer for this root, path and ``names``."""
        digest = _begun(self.root, *self.path).copy()
        for part in names:
            digest.update(_told(part))
        return int.from_bytes(digest.digest(), "little")

    def stream(self, *names: Name) -> random.Random:
        """A Python generator of its own; the global one is never touched."""
        return random.Random(self.integer(*names))

    def torch_stream(self, *names: Name, device: str = "cpu") -> torch.Generator:
        """A torch generator of its own; the global one is never touched."""
        import torch

        generator = torch.Generator(device=device)
        # torch takes seeds up to 2**63 - 1 on every device.
        generator.manual_seed(self.integer(*names) >> 1)
        return generator


@lru_cache(maxsize=256, typed=True)
def _begun(*parts: Name) -> Any:
    """The hash of a root and a path; more is added to a copy of it."""
    digest = hashlib.blake2b(digest_size=8, person=b"limite-seed")
    for part in parts:
        digest.update(_told(part))
    return digest


def _told(part: Name) -> bytes:
    """A name as it is hashed: ("ab", "c") and ("a", "bc") differ, and so do 1 and "1"."""
    text = str(part).encode()
    return f"{type(part).__name__}:{len(text)}:".encode() + text
