"""Prints what programs leave behind for the next one in the same worker. For ``private.py``.

The first argument is the backend. Each line is a program's name, its status, and what the next
program then finds.
"""

from __future__ import annotations

import json
import sys
import warnings

from limite.problems.sandbox.limits import Limits
from limite.problems.sandbox.pool import Pool

LEAVERS = {
    "nothing": "pass",
    "close the scratch folder": "os.chmod('/tmp', 0)",
    "open it to others": "os.chmod('/tmp', 0o7777)",
    "set its times": "os.utime('/tmp', (0, 0))",
    "close it under another name": "os.chmod('.', 0)",
    "make a file and remove it": "open('/tmp/a', 'w').close(); os.remove('/tmp/a')",
    "close a folder in it": "os.mkdir('/tmp/d'); open('/tmp/d/e', 'w'); os.chmod('/tmp/d', 0)",
}
FINDS = """
import os, stat
def f():
    about = os.stat("/tmp")
    open("/tmp/mine", "w").close()
    os.remove("/tmp/mine")
    return [about.st_mode, about.st_mtime > 1, sorted(os.listdir("/tmp"))]
"""


def main() -> None:
    warnings.simplefilter("ignore")
    found = {}
    with Pool(backend=sys.argv[1], size=1, allow_weak=True) as pool:
        for name, body in LEAVERS.items():
            source = f"import os, threading, time\ndef f():\n    if True:\n        {body}\n"
            left = pool.run(source, "f", limits=Limits(wall_s=5.0))
            finds = pool.run(FINDS, "f")
            found[name] = [left.status, finds.value or finds.error]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
