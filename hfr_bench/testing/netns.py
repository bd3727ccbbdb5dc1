"""Listening where a container engine can reach it: in the network namespace it lives in."""

import ctypes
import fcntl
import os
import socket
import struct
import threading
from pathlib import Path

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
DEFAULT = "unix:///var/run/docker.sock"


def listen_beside_the_engine() -> socket.socket:
    """A listening socket on 127.0.0.1 of the engine that DOCKER_HOST names.

    An engine with a network namespace of its own cannot reach ours; entering it takes root.
    Raises OSError where there is no way in, or no telling where the engine lives.
    """
    scheme, _, path = os.environ.get("DOCKER_HOST", DEFAULT).partition("://")
    if scheme != "unix":
        raise OSError(f"an engine at {scheme}:// cannot reach this machine's loopback")
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(path)
        size = struct.calcsize("3i")
        pid = struct.unpack("3i", asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0]
    theirs = Path(f"/proc/{pid}/ns/net")
    if not pid or theirs.readlink() == Path("/proc/self/ns/net").readlink():
        return socket.create_server(("127.0.0.1", 0))
    return _listen_in(theirs)


def _listen_in(namespace: Path) -> socket.socket:
    """A namespace is entered by a thread, and a socket stays where it was made."""
    made: list[socket.socket | OSError] = []

    def enter() -> None:
        try:
            with namespace.open() as file:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(file.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                up = struct.pack("16sh14x", b"lo", IFF_UP)  # a new namespace's is down
                fcntl.ioctl(any_socket, SIOCSIFFLAGS, up)
            made.append(socket.create_server(("127.0.0.1", 0)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    (found,) = made
    if isinstance(found, OSError):
        raise found
    return found
