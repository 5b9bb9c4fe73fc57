"""What became of the texts of a file: how many were read, cut and dropped."""

from __future__ import annotations

import attrs


@attrs.define(kw_only=True)
class Counts:
    """Numbers of pairs, or of traces. ``read`` are all, dropped ones among them."""

    read: int = 0
    cut: int = 0  # had a response cut short
    dropped: int = 0  # left nothing to learn from
    held_out: int = 0

    def told(self, what: str, max_tokens: int, why: str) -> str:
        """One line for people. ``what`` they are; ``why`` some were dropped."""
        kept = self.read - self.dropped
        text = f"{kept:,} {what}, {self.held_out:,} of them held out"
        if self.cut:
            text += f"; {self.cut:,} cut to {max_tokens:,} tokens"
        if self.dropped:
            text += (
                f"; {self.dropped:,} of {self.read:,} dropped: within {max_tokens:,} tokens they "
                f"leave {why}"
            )
        return text
