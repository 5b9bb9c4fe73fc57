"""Attempts on files that are not the program's: reading, writing, changing, finding them."""

from __future__ import annotations

from limite.problems.sandbox.escapes.attempt import attempts

FILES = attempts(
    "files",
    [
        ("read a file", "return open(w['read']).read()"),
        ("read a file of the system", "return open('/etc/passwd').read()[:20]"),
        (
            "read a file by system calls",
            """
            found = call(257, 56, -100, w["read"].encode(), 0)
            return found >= 0 and os.read(found, 20).decode()
            """,
        ),
        ("list a folder", "return os.listdir(w['folder'])"),
        ("list the root folder", "return 'etc' in os.listdir('/') and 'the root folder'"),
        ("see a file's size", "return os.stat(w['read']).st_size"),
        ("read up from the scratch folder", "return open('../' * 30 + w['read'][1:]).read()"),
        (
            "read through a symbolic link",
            """
            link = w["folder"] + "/link"
            try:
                os.symlink(w["read"], "link")
                link = "link"
            except OSError:
                os.symlink(w["read"], link)
            return open(link).read()
            """,
        ),
        (
            "read through a hard link",
            """
            for place in ("hard", w["folder"] + "/hard"):
                try:
                    os.link(w["owned"], place)
                    return open(place).read()
                except OSError:
                    pass
            """,
        ),
        ("read through /proc/self/root", "return open('/proc/self/root' + w['read']).read()"),
        (
            "read through another's root",
            "return open(f'/proc/{w[\"victim\"]}/root' + w['read']).read()",
        ),
        (
            "use a descriptor that was left open",
            """
            found = []
            for number in range(4, 1024):
                try:
                    os.fstat(number)
                    found.append(number)
                except OSError:
                    pass
            return found
            """,
        ),
        (
            "open a file by its handle",
            """
            handle = ctypes.create_string_buffer(struct.pack("Ii", 120, 0), 136)
            mount = ctypes.c_int()
            made = call(303, 264, -100, b"/", handle, ctypes.byref(mount), 0)
            root = os.open("/", os.O_RDONLY) if made >= 0 else -1
            return made >= 0 and call(304, 265, root, handle, 0) >= 0
            """,
        ),
        (
            "get out of a root folder by making another",
            """
            for place in ("inner", w["folder"] + "/inner"):
                try:
                    os.mkdir(place)
                    os.chroot(place)
                    break
                except OSError:
                    pass
            for _ in range(30):
                os.chdir("..")
            os.chroot(".")
            return open(w["read"]).read()
            """,
        ),
        (
            "make a device",
            """
            import stat
            os.mknod(w["folder"] + "/device", stat.S_IFCHR | 0o666, os.makedev(1, 5))
            return "a device"
            """,
        ),
        ("read the kernel's log", "return os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)"),
        (
            "write to a file",
            """
            with open(w["write"], "a") as file:
                file.write("x")
            return "written"
            """,
        ),
        (
            "make a file",
            """
            with open(w["folder"] + "/made", "w") as file:
                file.write("x")
            return "made"
            """,
        ),
        ("remove a file", "os.unlink(w['remove']); return 'removed'"),
        ("rename a file", "os.rename(w['remove'], w['remove'] + 'd'); return 'renamed'"),
        ("change a file's mode", "os.chmod(w['owned'], 0o600); return 'changed'"),
        ("change a file's times", "os.utime(w['owned'], (1, 1)); return 'changed'"),
        ("cut a file short", "os.truncate(w['write'], 0); return 'cut'"),
        ("write to the library", "return open(os.__file__, 'r+').fileno()"),
        (
            "leave something in /dev/shm",
            """
            path = f"/dev/shm/limite-{os.getpid()}"
            with open(path, "w") as file:
                file.write("x")
            os.unlink(path)
            return "written"
            """,
        ),
        (
            "set a property of the kernel",
            "return os.open('/proc/sys/kernel/hostname', os.O_WRONLY)",
        ),
    ],
)

SECRETS = attempts(
    "secrets",
    [
        (
            "read the caller's environment",
            """
            libc.getenv.restype = ctypes.c_char_p
            found = os.environ.get("LIMITE_CANARY") or libc.getenv(b"LIMITE_CANARY")
            return found and str(found)
            """,
        ),
        (
            "read its own first environment",
            "return b'LIMITE_CANARY' in open('/proc/self/environ', 'rb').read()",
        ),
        (
            "read another's environment",
            "return b'CANARY' in open(f'/proc/{w[\"victim\"]}/environ', 'rb').read()",
        ),
        (
            "read another's command line",
            "return open(f'/proc/{w[\"victim\"]}/cmdline', 'rb').read()",
        ),
        (
            "read its parent's command line",
            "return open(f'/proc/{os.getppid()}/cmdline', 'rb').read()",
        ),
        (
            "list all processes",
            "return len([each for each in os.listdir('/proc') if each.isdigit()])",
        ),
        ("read another's memory", "return os.open(f'/proc/{w[\"victim\"]}/mem', os.O_RDONLY)"),
    ],
)

TRICKS = attempts(
    "tricks",
    [
        (
            "load a module from a file outside",
            """
            from importlib.machinery import SourceFileLoader
            return SourceFileLoader("canary", w["module"]).load_module().FOUND
            """,
        ),
        (
            "import a module from a folder outside",
            """
            sys.path.insert(0, os.path.dirname(w["module"]))
            import canary_module
            return canary_module.FOUND
            """,
        ),
        (
            "unpickle a reader of files",
            """
            import pickle
            class Reader:
                def __reduce__(self):
                    return open, (w["read"],)
            return pickle.loads(pickle.dumps(Reader())).read()
            """,
        ),
        (
            "unpickle a starter of programs",
            """
            import pickle, subprocess
            class Starter:
                def __reduce__(self):
                    return subprocess.getoutput, ("echo started",)
            found = pickle.loads(pickle.dumps(Starter()))
            return found if "started" in found else None
            """,
        ),
        (
            "find the class that opens files",
            """
            classes = [object]
            for each in classes:
                classes += type.__subclasses__(each)
            found = [each for each in classes if each.__name__ == "FileIO"]
            return found[0](w["read"]).read()
            """,
        ),
        (
            "walk up to who started it",
            """
            frame = sys._getframe()
            while frame.f_back:
                frame = frame.f_back
            words = repr(frame.f_globals) + repr(frame.f_locals)
            return "canary-secret" in words and words
            """,
        ),
    ],
)
