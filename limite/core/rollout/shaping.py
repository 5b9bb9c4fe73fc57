"""What a reward loses besides being wrong: a penalty that grows as a response nears its limit."""

from __future__ import annotations

import attrs
from attrs.validators import and_, ge, gt, le


@attrs.frozen(kw_only=True)
class OverlongPenalty:
    """A penalty on the last tokens before the longest response allowed (DAPO, arXiv:2503.14476).

    With ``M`` the longest response and ``C`` the buffer, in tokens: 0 up to ``M - C``, then falling
    evenly to ``-factor`` at ``M``. It is added to the reward that is trained on. Accuracy knows
    nothing of it, nor does any share of groups with contrast.
    """

    buffer_tokens: int = attrs.field(
        validator=and_(gt(0), le(2**24)),
        metadata={"help": "over which it grows", "unit": "tokens"},
    )
    factor: float = attrs.field(
        default=1.0,
        validator=and_(ge(0.0), le(1e6)),
        metadata={"help": "taken off the reward of the longest response"},
    )

    def __call__(self, tokens: int, longest: int) -> float:
        """What a response of so many tokens is given, at most 0."""
        if not 0 < self.buffer_tokens <= longest:
            raise ValueError(
                f"the buffer must be from 1 to {longest} tokens (the longest response), "
                f"got {self.buffer_tokens}"
            )
        over = min(tokens - (longest - self.buffer_tokens), self.buffer_tokens)
        return -self.factor * over / self.buffer_tokens if over > 0 else 0.0
