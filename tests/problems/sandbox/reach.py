"""Prints which attempts succeed where nothing confines a program but the one who watches it.

For ``private.py``: without layers most attempts are real.
"""

from __future__ import annotations

import json
import sys
import warnings

from limite.problems.sandbox.backends import Setup
from limite.problems.sandbox.escapes.trial import ATTEMPTS, trial
from limite.problems.sandbox.pool import Pool

warnings.simplefilter("ignore")
KINDS = ("files", "secrets", "tricks", "processes", "network", "system")
SOME = [
    each
    for each in ATTEMPTS
    if each.group in KINDS or each.judge.__name__ in ("_memory", "reached")
]
SETUP = Setup(without=frozenset(sys.argv[1:]), own_user=False)
with Pool(backend="rlimits", size=1, allow_weak=True, setup=SETUP) as pool:
    print(json.dumps([each.attempt.name for each in trial(pool, SOME) if each.escaped]))
