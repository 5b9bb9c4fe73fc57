"""More attempts on files: by folders that are held open, newer calls, and what is not contents."""

from __future__ import annotations

from limite.problems.sandbox.escapes.attempt import attempts

PLACES = attempts(
    "files",
    [
        (
            "read from a folder that is held open",
            """
            folder = os.open(w["folder"], os.O_PATH)
            return os.read(os.open("read", os.O_RDONLY, dir_fd=folder), 40).decode()
            """,
        ),
        (
            "read from a folder that is gone into",
            """
            os.fchdir(os.open(w["folder"], os.O_PATH))
            return open("read").read()
            """,
        ),
        (
            "open a held file again",
            "held = os.open(w['read'], os.O_PATH); return open(f'/proc/self/fd/{held}').read()",
        ),
        (
            "read a file by the newest call",
            """
            how = ctypes.create_string_buffer(24)
            found = call(437, 437, -100, w["read"].encode(), how, 24)
            return found >= 0 and os.read(found, 20).decode()
            """,
        ),
        ("copy a file's line", "import linecache; return linecache.getline(w['read'], 1)"),
        ("make a pipe in a folder", "os.mkfifo(w['folder'] + '/pipe'); return 'made'"),
        ("link to elsewhere from a folder", "os.symlink('/', w['folder'] + '/way'); return 'made'"),
        (
            "make a file without a name in a folder",
            "return os.open(w['folder'], os.O_TMPFILE | os.O_RDWR) >= 0 and 'made'",
        ),
        (
            "cut a file short while opening it",
            "return os.open(w['owned'], os.O_RDONLY | os.O_TRUNC) >= 0 and 'cut'",
        ),
        ("change a file's owner", "os.chown(w['owned'], -1, -1); return 'changed'"),
        (
            "change a file's times by a held descriptor",
            """
            held = os.open(w["owned"], os.O_PATH)
            return granted(call(280, 88, held, b"", 0, 0x1000)) and "changed"
            """,
        ),
        (
            "give a file an attribute",
            """
            found = call(188, 5, w["owned"].encode(), b"user.left", b"x", 1, 0)
            return granted(found, errno.EOPNOTSUPP) and "let through"
            """,
        ),
        (
            "exchange two files",
            """
            names = w["read"].encode(), w["write"].encode()
            return granted(call(316, 276, -100, names[0], -100, names[1], 2)) and "exchanged"
            """,
        ),
    ],
)
