"""Asks for matrix products whose rows do not depend, by a bit, on where in a matrix they lie."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

SETTING = "MKL_CBWR"
STRICT = "AUTO,STRICT"
INTEL = "GenuineIntel"


def processor_maker(information: Path = Path("/proc/cpuinfo")) -> str | None:
    """As the processor calls it, ``"GenuineIntel"`` or ``"AuthenticAMD"``; None: not told."""
    try:
        with information.open() as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == "vendor_id":
                    return value.strip()
                if not line.strip():  # the end of the first core
                    return None
    except OSError:
        return None
    return None


def ask_for_equal_rows(
    maker: str | None, environment: MutableMapping[str, str] = os.environ
) -> None:
    """MKL's strict mode, where products of few columns are not the same in every row without it.

    That is so on processors that are not Intel's, where it costs a few per cent of the time of
    large products; on Intel's nothing is asked. Whoever has set ``MKL_CBWR`` knows better. To be
    called before the first product.
    """
    if maker is not None and maker != INTEL:
        environment.setdefault(SETTING, STRICT)
