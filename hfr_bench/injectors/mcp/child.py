"""A real MCP server, started by a command: a process group of its own that never outlives us."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol, Self

from hfr_bench.errors import BadInputError

_GUARD = Path(__file__).parent / "guard.py"
_GRACE_S = 0.7  # clients kill us two seconds after they closed our stdin
_TERM_S = 0.5
_PIECE = 64 * 1024


class Lines(Protocol):
    """One end of a connection: lines of JSON-RPC, without what ends them."""

    def lines(self) -> AsyncIterator[bytes]:
        """The lines as they come, until the other side ends."""
        ...

    async def send(self, line: bytes) -> None:
        """Raises OSError (ConnectionError) where nobody reads any more."""
        ...

    async def close(self) -> None: ...


async def split(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of a stream, however long; empty ones are left out."""
    rest = b""
    while piece := await reader.read(_PIECE):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if line.strip():
                yield line.removesuffix(b"\r")
    if rest.strip():
        yield rest


class Child:
    """The server's process and its stdio. `start` raises BadInputError if it cannot be started.

    Its stderr is ours; its environment, too: it stands where the client thinks that we stand.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARD), str(process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @classmethod
    async def start(cls, argv: Sequence[str]) -> Self:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise BadInputError(f"cannot start the MCP server {argv[0]!r}: {error}") from error
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How it ended; None while it lives."""
        return self._process.returncode

    def lines(self) -> AsyncIterator[bytes]:
        assert self._process.stdout is not None
        return split(self._process.stdout)

    async def send(self, line: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(line + b"\n")
        await stdin.drain()

    async def close(self) -> None:
        """As the protocol has it: its stdin ends; then it is asked; then its group is killed."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):
            stdin.close()
        if not await self._ends_within(_GRACE_S):
            self._signal(signal.SIGTERM)
            await self._ends_within(_TERM_S)
        self._signal(signal.SIGKILL)  # and whatever of its group is left
        await self._process.wait()
        with contextlib.suppress(OSError):
            self._guard.communicate(b"done")

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _writing() -> asyncio.StreamReaderProtocol:
    """What a pipe that is only written to is driven by."""
    return asyncio.StreamReaderProtocol(asyncio.StreamReader())


class Stdio:
    """Our own stdin and stdout, as a client's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls) -> Self:
        """Takes both over; what the process prints from then on goes to stderr.

        Raises BadInputError where they are no pipes (a file, say).
        """
        loop = asyncio.get_running_loop()
        sys.stdout.flush()
        out = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        reader = asyncio.StreamReader()
        try:
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            made = await loop.connect_write_pipe(_writing, out)
        except (OSError, ValueError) as error:
            raise BadInputError(
                f"stdin and stdout must be an MCP client's pipes ({error}); to listen for clients "
                "over HTTP instead, give --listen 127.0.0.1:0"
            ) from error
        transport, protocol = made
        return cls(reader, asyncio.StreamWriter(transport, protocol, None, loop))

    def lines(self) -> AsyncIterator[bytes]:
        return split(self._reader)

    async def send(self, line: bytes) -> None:
        self._writer.write(line + b"\n")
        await self._writer.drain()

    async def close(self) -> None:
        with contextlib.suppress(OSError):
            self._writer.close()
            await self._writer.wait_closed()
