"""What there is outside to reach: files, sockets and a process, all made to be attacked."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.problems.sandbox.identity import NOBODY

VARIABLE = "LIMITE_CANARY"


class World:
    """Canaries that a program would reach if it got out; everything is owned or open to anyone."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="limite-world-"))
        self.secret = f"canary-secret-{secrets.token_hex(8)}"
        self._root = os.geteuid() == 0
        os.chmod(self.folder, 0o777)
        os.environ[VARIABLE] = self.secret
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 0))
        self._unix = socket.socket(socket.AF_UNIX)
        self._unix.bind(str(self.folder / "socket"))
        os.chmod(self.folder / "socket", 0o777)
        self._abstract = socket.socket(socket.AF_UNIX)
        self._abstract_name = self.secret
        self._abstract.bind("\0" + self._abstract_name)
        self._listeners = [self._tcp, self._unix, self._abstract]
        for listener in self._listeners:
            listener.listen()
            listener.setblocking(False)
        self._udp.setblocking(False)
        self._victim: subprocess.Popen[bytes] | None = None
        self.renew()

    def told(self) -> dict[str, Any]:
        """What a program is told of it: where to look. The secret is not among it."""
        assert self._victim is not None
        return {
            "read": str(self.folder / "read"),
            "write": str(self.folder / "write"),
            "remove": str(self.folder / "remove"),
            "owned": str(self.folder / "owned"),
            "module": str(self.folder / "canary_module.py"),
            "folder": str(self.folder),
            "unix": str(self.folder / "socket"),
            "abstract": self._abstract_name,
            "tcp": self._tcp.getsockname()[1],
            "udp": self._udp.getsockname()[1],
            "victim": self._victim.pid,
        }

    def renew(self) -> None:
        """Puts everything back as it was."""
        for path in self.folder.iterdir():
            if path.name != "socket":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for name, text in self._texts().items():
            path = self.folder / name
            path.write_text(text, encoding="utf-8")
            os.chmod(path, 0o666)
            if self._root:
                os.chown(path, NOBODY, NOBODY)
            os.utime(path, (1_000_000_000, 1_000_000_000))
        if self._victim is None or self._victim.poll() is not None:
            sleep = shutil.which("sleep")
            if sleep is None:
                raise LimiteError("there is no 'sleep' to be attacked: install coreutils")
            # As whom the programs run as, so that nothing but the sandbox keeps them from it.
            them: dict[str, Any] = {}
            if self._root:
                them = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            self._victim = subprocess.Popen(
                [sleep, "3600"], env={"CANARY": self.secret}, start_new_session=True, **them
            )

    def harm(self) -> str:
        """What was done to it, or nothing."""
        assert self._victim is not None
        expected = self._texts()
        if self._victim.poll() is not None:
            return "the other process is dead"
        found = {path.name for path in self.folder.iterdir()} - {"socket", "__pycache__"}
        if found != set(expected):
            return f"files outside: {', '.join(sorted(found ^ set(expected)))}"
        for name, text in expected.items():
            path = self.folder / name
            about = path.stat()
            if path.read_text(encoding="utf-8") != text:
                return f"the file {name!r} was written to"
            if about.st_mode & 0o777 != 0o666 or about.st_mtime != 1_000_000_000:
                return f"the file {name!r} was changed"
        ready, _, _ = select.select([*self._listeners, self._udp], [], [], 0)
        for each in ready:
            with contextlib.suppress(OSError):
                if each is self._udp:
                    each.recv(1 << 16)
                else:
                    each.accept()[0].close()
                return "something came in by a socket"
        return ""

    def close(self) -> None:
        for each in (*self._listeners, self._udp):
            each.close()
        if self._victim is not None:
            self._victim.kill()
            self._victim.wait()
        os.environ.pop(VARIABLE, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _texts(self) -> dict[str, str]:
        return {
            "read": self.secret,
            "write": "untouched",
            "remove": "untouched",
            "owned": self.secret,
            "canary_module.py": "FOUND = 'a module of the outside'\n",
        }
