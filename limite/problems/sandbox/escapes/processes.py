"""Attempts on other processes, and to start some."""

from __future__ import annotations

from limite.problems.sandbox.escapes.attempt import LIMITS, Attempt, attempts
from limite.problems.sandbox.result import Result


def _printed(result: Result) -> str:
    return result.stdout.strip() if "started" in result.stdout else ""


PROCESSES = attempts(
    "processes",
    [
        ("kill another", "os.kill(w['victim'], signal.SIGKILL); return 'killed'"),
        ("see whether another is there", "os.kill(w['victim'], 0); return 'it is'"),
        ("signal all there are", "os.kill(-1, 0); return 'some'"),
        ("signal its parent", "os.kill(os.getppid(), 0); return 'signalled'"),
        ("signal another's group", "os.killpg(w['victim'], 0); return 'signalled'"),
        ("signal another's thread", "return granted(call(200, 130, w['victim'], 0))"),
        (
            "signal by a descriptor of a process",
            """
            held = call(434, 434, w["victim"], 0)
            return held >= 0 and granted(call(424, 424, held, 0, 0, 0))
            """,
        ),
        (
            "queue a signal",
            """
            what = ctypes.create_string_buffer(struct.pack("iii", 0, 0, -1), 128)
            return granted(call(129, 138, w["victim"], 0, what))
            """,
        ),
        (
            "have a file signal another",
            """
            import fcntl
            source, _ = os.pipe()
            fcntl.fcntl(source, 8, w["victim"])
            return "it is the owner"
            """,
        ),
        (
            "trace another",
            """
            result = call(101, 117, 16, w["victim"], 0, 0)
            if result >= 0:
                os.waitpid(w["victim"], 0x40000000)
                call(101, 117, 17, w["victim"], 0, 0)
            return result >= 0
            """,
        ),
        ("let itself be traced", "return call(101, 117, 0, 0, 0, 0) >= 0"),
        (
            "read another's memory by a call",
            """
            text = ctypes.create_string_buffer(8)
            mine = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(text), 8))
            theirs = ctypes.create_string_buffer(struct.pack("PN", 4096, 8))
            return granted(call(310, 270, w["victim"], mine, 1, theirs, 1, 0), errno.EFAULT)
            """,
        ),
        (
            "take another's descriptor",
            """
            held = call(434, 434, w["victim"], 0)
            return held >= 0 and call(438, 438, held, 0, 0) >= 0
            """,
        ),
        ("read another's limits", "import resource; return resource.prlimit(w['victim'], 7)"),
        ("make another slower", "os.setpriority(os.PRIO_PROCESS, w['victim'], 5); return 'slower'"),
        ("bind another to a core", "os.sched_setaffinity(w['victim'], {0}); return 'bound'"),
        (
            "fork",
            """
            child = os.fork()
            if not child:
                os._exit(5)
            return os.waitpid(child, 0)[1]
            """,
        ),
        (
            "fork by a system call",
            """
            child = call(56, 220, signal.SIGCHLD, 0, 0, 0, 0)
            if child == 0:
                os._exit(5)
            return child > 0
            """,
        ),
        (
            "fork by the newest system call",
            """
            how = ctypes.create_string_buffer(struct.pack("QQQQQQQQ", 0, 0, 0, 0, 17, 0, 0, 0))
            child = call(435, 435, how, 64)
            if child == 0:
                os._exit(5)
            return child > 0
            """,
        ),
        (
            "fork without end",
            """
            count = 0
            try:
                for _ in range(100):
                    if not os.fork():
                        time.sleep(30)
                        os._exit(0)
                    count += 1
            except OSError:
                pass
            return count if count > 64 else None
            """,
        ),
        (
            "start a shell",
            "import subprocess; return subprocess.check_output(['sh', '-c', 'echo 1'])",
        ),
        (
            "start a program by posix_spawn",
            """
            child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 5"], {})
            return os.waitpid(child, 0)[1] == 5 << 8
            """,
        ),
    ],
)

BECOMING = attempts(
    "processes",
    [
        ("become a shell", "os.execv('/bin/sh', ['sh', '-c', 'echo started'])"),
        (
            "become another interpreter",
            "os.execv(sys.executable, [sys.executable, '-S', '-c', 'print(\"started\")'])",
        ),
        (
            "become a program made in memory",
            """
            held = os.memfd_create("program", 0)
            os.write(held, b"#!/bin/sh\\necho started\\n")
            os.execve(held, ["program"], {})
            """,
        ),
    ],
    judge=_printed,
)

LEAVING = [
    *attempts(
        "processes",
        [
            (
                "leave a daemon behind",
                """
                if not os.fork():
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                    os.closerange(0, 64)
                    time.sleep(0.5)
                    with open(w["write"], "a") as file:
                        file.write("still here")
                    time.sleep(30)
                return None
                """,
            )
        ],
        limits=LIMITS,
        wait_s=0.8,
    )
]

ALL: list[Attempt] = [*PROCESSES, *BECOMING, *LEAVING]
