"""Attempts on the kernel: more rights, other namespaces, what outlives the program."""

from __future__ import annotations

from limite.problems.sandbox.escapes.attempt import attempts

SYSTEM = attempts(
    "system",
    [
        ("become root", "os.setuid(0); os.setgid(0); return os.getuid() == 0 and 'root'"),
        (
            "mount a file system",
            """
            place = w["folder"].encode()
            made = libc.mount(b"tmpfs", place, b"tmpfs", 0, None) == 0
            return made and libc.umount2(place, 2) == 0
            """,
        ),
        ("make a user namespace", "return call(272, 97, 0x10000000) >= 0"),
        ("make a namespace of mounts", "return call(272, 97, 0x20000) >= 0"),
        ("make a network namespace", "return call(272, 97, 0x40000000) >= 0"),
        (
            "fork into a user namespace",
            """
            child = call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
            if child == 0:
                os._exit(0)
            return child > 0
            """,
        ),
        (
            "enter another's namespace",
            "return call(308, 268, os.open(f'/proc/{w[\"victim\"]}/ns/net', 0), 0) >= 0",
        ),
        ("rename the machine", "socket.sethostname(os.uname().nodename); return 'renamed'"),
        (
            "load a program into the kernel",
            """
            what = ctypes.create_string_buffer(struct.pack("IIIIII", 2, 4, 4, 1, 0, 0), 120)
            return call(321, 280, 0, what, 120) >= 0
            """,
        ),
        (
            "load a module into the kernel",
            "return granted(call(175, 105, b'', 0, b''), errno.ENOEXEC, errno.EINVAL)",
        ),
        (
            "restart the machine, with a wrong word",
            "return granted(call(169, 142, 1, 2, 3, 0), errno.EINVAL)",
        ),
        (
            "watch the processor's counters",
            """
            what = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0), 112)
            return call(298, 241, what, 0, -1, -1, 0) >= 0
            """,
        ),
        (
            "keep a key in the kernel",
            "return call(248, 217, b'user', b'canary', b'x', 1, -2) >= 0",
        ),
        ("handle page faults", "return call(323, 282, 1) >= 0"),
        ("become another kind of program", "return call(135, 92, 0x40000) >= 0"),
        (
            "make shared memory that outlives it",
            """
            made = call(29, 194, 0, 4096, 0o1600)
            return made >= 0 and call(31, 195, made, 0, 0) == 0
            """,
        ),
        (
            "make a semaphore that outlives it",
            """
            made = call(64, 190, 0, 1, 0o1600)
            return made >= 0 and call(66, 191, made, 0, 0, 0) == 0
            """,
        ),
        (
            "make a message queue that outlives it",
            """
            made = call(68, 186, 0, 0o1600)
            return made >= 0 and call(71, 187, made, 0, 0) == 0
            """,
        ),
        ("make a file without a name", "return os.memfd_create('canary')"),
        ("watch files", "return call(294, 26, 0) >= 0"),
        (
            "raise its own limits",
            "import resource as r; r.setrlimit(r.RLIMIT_AS, (-1, -1)); return 1",
        ),
        (
            "call the kernel as a 32-bit program",
            """
            import mmap
            if arm:
                return None
            page = mmap.mmap(-1, 4096, prot=7)
            page.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))
            where = ctypes.addressof(ctypes.c_char.from_buffer(page))
            return ctypes.CFUNCTYPE(ctypes.c_int)(where)() > 0
            """,
        ),
        ("call the kernel as an x32 program", "return not arm and call(0x40000027, 172) > 0"),
        (
            "gain a capability",
            """
            administer = 1 << 21
            wanted = struct.pack("IIIIII", administer, administer, 0, 0, 0, 0)
            return call(126, 91, struct.pack("Ii", 0x20080522, 0), wanted) >= 0
            """,
        ),
    ],
)
