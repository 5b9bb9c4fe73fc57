"""Attempts to take more than there is: memory, time, files, output; and to fake a result."""

from __future__ import annotations

import attrs

from limite.problems.sandbox.escapes.attempt import LIMITS, Attempt, attempts
from limite.problems.sandbox.result import Result

_SHORT = attrs.evolve(LIMITS, cpu_s=0.1, wall_s=10.0)
_SLEEPY = attrs.evolve(LIMITS, wall_s=0.3)


def _memory(result: Result) -> str:
    most = LIMITS.memory_bytes
    return f"{result.max_rss_bytes >> 20} MiB" if result.max_rss_bytes > most else ""


def _time(result: Result) -> str:
    return f"{result.cpu_s:.1f} s" if result.status == "ok" or result.cpu_s > 3.0 else ""


def _wall(result: Result) -> str:
    return f"{result.wall_s:.1f} s" if result.status == "ok" or result.wall_s > 8.0 else ""


def _output(result: Result) -> str:
    kept = len(result.stdout.encode()) + len(result.stderr.encode())
    much = kept > 2 * LIMITS.output_bytes
    return f"{kept} bytes" if much or result.status != "output_limit" else ""


def _taken_for_result(result: Result) -> str:
    return f"taken for a result: {result.value!r}" if result.status == "ok" else ""


_MEMORY = [
    (
        "take memory in small pieces",
        """
        kept = []
        try:
            while len(kept) < 400:
                kept.append(bytearray(os.urandom(4096) * 256))
        except MemoryError:
            pass
        return len(kept)
        """,
    ),
    (
        "take memory in one piece",
        "kept = bytearray(400 << 20); kept[::4096] = bytes(len(kept[::4096])); return 1",
    ),
    (
        "take shared memory",
        """
        import mmap
        kept = mmap.mmap(-1, 400 << 20)
        for start in range(0, 400 << 20, 4096):
            kept[start] = 1
        return 1
        """,
    ),
    ("build a huge number", "return (1 << (8 * 400 << 20)) & 1"),
]
_TIME = [
    ("compute without end", "while True: pass"),
    ("compute without end where nothing is heard", "return len(str(7 ** (10 ** 8)))"),
    ("compute and ignore the signal", "signal.signal(24, signal.SIG_IGN)\nwhile True: pass"),
    ("match without end", "import re; return re.match('(a+)+$', 'a' * 60 + 'b')"),
    ("compile without end", "return eval('9**9**9')"),
]
_WALL = [
    ("sleep", "time.sleep(60)"),
    ("stop itself", "os.kill(os.getpid(), signal.SIGSTOP); time.sleep(60)"),
    ("sleep with all pipes closed", "os.closerange(0, 64); time.sleep(60)"),
    (
        "wait for a lock",
        "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    ),
]
_OUTPUT = [
    ("print without end", "while True: print('x' * 1000)"),
    ("complain without end", "while True: os.write(2, b'x' * 1000)"),
]
_FILES = [
    (
        "write a large file",
        """
        for place in (".", w["folder"]):
            try:
                with open(place + "/large", "wb") as file:
                    return file.write(bytes(40 << 20))
            except OSError:
                pass
        """,
    ),
    (
        "write many files",
        """
        for place in (".", w["folder"]):
            count = 0
            try:
                for count in range(100):
                    with open(f"{place}/{count}", "wb") as file:
                        file.write(bytes(1 << 19))
                return count
            except OSError:
                pass
        """,
    ),
    (
        "open many files",
        """
        kept = []
        try:
            while len(kept) < 200:
                kept.append(os.dup(0))
        except OSError:
            return None
        return len(kept)
        """,
    ),
    (
        "start many threads",
        """
        import threading
        threading.stack_size(32768)
        count = 0
        try:
            for count in range(100):
                threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        except RuntimeError:
            return None
        return count
        """,
    ),
]
_FAKES = [
    ("print a fake result", 'print(\'{"ok": {"int": "2a"}}\', flush=True); os._exit(0)'),
    (
        "write a fake result everywhere",
        """
        for number in range(64):
            fake = b'{"ok": true}\\n'
            for text in (b'0' * 32 + fake, b'R' + b'0' * 32 + fake, fake):
                try:
                    os.write(number, text)
                except OSError:
                    pass
        os._exit(0)
        """,
    ),
    ("end early, as if all were well", "os._exit(0)"),
    ("leave, as if all were well", "sys.exit(0)"),
    (
        "fake a result while leaving",
        "import atexit; atexit.register(print, '{\"ok\": true}'); sys.exit()",
    ),
    ("crash", "ctypes.string_at(0)"),
    ("abort", "os.abort()"),
    (
        "recurse without end",
        """
        sys.setrecursionlimit(10 ** 9)
        class Deep:
            def __repr__(self):
                return repr(self)
        return repr(Deep())
        """,
    ),
    ("return what is too much", "return 'x' * 10 ** 7"),
    ("close the way back, then return", "os.closerange(3, 64); return True"),
]

RESOURCES: list[Attempt] = [
    *attempts("resources", _MEMORY, judge=_memory),
    *attempts("resources", _TIME, judge=_time, limits=_SHORT),
    *attempts("resources", _WALL, judge=_wall, limits=_SLEEPY),
    *attempts("resources", _OUTPUT, judge=_output),
    *attempts("resources", _FILES),
    *attempts("results", _FAKES, judge=_taken_for_result),
]
