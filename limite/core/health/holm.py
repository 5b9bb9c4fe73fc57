"""What several p-values mean together."""

from __future__ import annotations

from collections.abc import Sequence

from limite.core.errors import LimiteError


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: below a level, all such claims hold at once.

    The smallest is multiplied by their number, the next by one less, and so on; none is below the
    one before it, or above 1.
    """
    for value in p_values:
        if not 0.0 <= value <= 1.0:
            raise LimiteError(f"a p-value lies between 0 and 1, got {value}")
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = reached
    return adjusted
