"""Named random streams: every random choice in limite comes from one of these.

A stream is addressed by names, never by its place in a sequence, so asking for one stream never
moves another, and resuming needs no generator state.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

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
        digest = hashlib.blake2b(digest_size=8, person=b"limite-seed")
        for part in (self.root, *self.path, *names):
            # Kind and length go in too, so that ("ab", "c") and ("a", "bc") or 1 and "1" differ.
            text = str(part).encode()
            digest.update(f"{type(part).__name__}:{len(text)}:".encode() + text)
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
