"""Attempts on the network, and on sockets of this machine."""

from __future__ import annotations

from limite.problems.sandbox.escapes.attempt import attempts

NETWORK = attempts(
    "network",
    [
        (
            "connect by TCP",
            "socket.create_connection(('127.0.0.1', w['tcp']), 1); return 'connected'",
        ),
        (
            "connect by a system call",
            """
            held = call(41, 198, 2, 1, 0)
            place = struct.pack("!BB", 2, 0) + struct.pack("!H4s8x", w["tcp"], b"\\x7f\\0\\0\\1")
            place = b"\\2\\0" + place[2:]
            return held >= 0 and call(42, 203, held, place, 16) >= 0
            """,
        ),
        (
            "send by UDP",
            """
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            return sender.sendto(b"canary", ("127.0.0.1", w["udp"]))
            """,
        ),
        (
            "listen for others",
            """
            listener = socket.socket()
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            return "listening"
            """,
        ),
        (
            "connect to a socket in a folder",
            "socket.socket(socket.AF_UNIX).connect(w['unix']); return 'connected'",
        ),
        (
            "connect to a socket without a folder",
            "socket.socket(socket.AF_UNIX).connect(chr(0) + w['abstract']); return 'connected'",
        ),
        (
            "send what is no TCP and no UDP",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); return 'a raw socket'",
        ),
        (
            "listen to all packets",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768); return 'a packet socket'",
        ),
        (
            "ask the kernel for the network",
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); return 'a netlink socket'",
        ),
        (
            "use the network through io_uring",
            "return call(425, 425, 8, ctypes.create_string_buffer(120)) >= 0",
        ),
    ],
)
