"""HTTP/1.1 messages as bytes: heads, and how bodies end. For requests and responses alike.

Nothing here knows a socket. What is no HTTP raises MalformedError; whoever reads says to whom.
"""

from collections import deque

from multidict import CIMultiDict

HEAD_LIMIT = 256 * 1024
Headers = CIMultiDict[str]

_SPACE = " \t"


class MalformedError(ValueError):
    """These bytes are no HTTP/1.1 message."""


class Body:
    """A body in pieces of any size: of a length, in chunks, or until the connection ends.

    `length`: None without one. `done` once the whole of it was read.
    """

    __slots__ = ("_chunked", "_left", "_seen", "_trailer", "done", "pieces")

    def __init__(self, *, length: int | None = None, chunked: bool = False) -> None:
        self.pieces: deque[bytes] = deque()
        self.done = length == 0 and not chunked
        self._left = 0 if chunked else length
        self._chunked = chunked
        self._trailer = False
        self._seen = b""

    @property
    def endless(self) -> bool:
        """Whether only the end of the connection ends it."""
        return self._left is None

    def feed(self, data: bytes) -> bytes:
        """The next bytes; returns those behind the body's end. Raises MalformedError."""
        if self.done or not data:
            return data
        if self._chunked:
            return self._chunks(data)
        if self._left is None:
            self.pieces.append(data)
            return b""
        piece = data[: self._left]
        self.pieces.append(piece)
        self._left -= len(piece)
        self.done = self._left == 0
        return data[len(piece) :]

    def end(self) -> bool:
        """The connection ended; returns whether the body is whole."""
        self.done = self.done or self.endless
        return self.done

    def _chunks(self, data: bytes) -> bytes:
        data, self._seen = self._seen + data, b""
        at = 0
        while not self.done:
            if self._left:
                piece = data[at : at + self._left]
                if not piece:
                    return b""
                self.pieces.append(piece)
                self._left -= len(piece)
                at += len(piece)
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                if len(data) - at > HEAD_LIMIT:
                    raise MalformedError("a line without an end")
                self._seen = data[at:]
                return b""
            line, at = data[at:end], end + 2
            self._line(line)
        return data[at:]

    def _line(self, line: bytes) -> None:
        """A line between chunks: the end of the last one, a size, or part of the trailer."""
        if self._trailer:
            self.done = not line
        elif line:
            size = line.partition(b";")[0].strip()
            try:
                self._left = int(size, 16)
            except ValueError as error:
                raise MalformedError("a chunk without a size") from error
            if self._left < 0:
                raise MalformedError("a chunk of a negative size")
            self._trailer = self._left == 0


def split_head(data: bytes, limit: int = HEAD_LIMIT) -> tuple[str, Headers, bytes] | None:
    """First line, headers, and the bytes behind the head; None while it is not whole.

    Raises MalformedError for a head beyond `limit`, and for a line that is no header.
    """
    head, found, rest = data.partition(b"\r\n\r\n")
    if len(head) > limit:
        raise MalformedError("a head without an end")
    if not found:
        return None
    first, *lines = head.decode(errors="surrogateescape").split("\r\n")
    fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name[0] in _SPACE or name[-1] in _SPACE:
            raise MalformedError("a header without a colon, or a folded one")
        fields.append((name, value.strip(_SPACE)))
    return first, Headers(fields), rest


def length_of(headers: Headers) -> int | None:
    """The stated length of a body. Raises MalformedError for one that is no number."""
    length = headers.get("content-length")
    if length is None:
        return None
    if not (length.isascii() and length.isdigit()):
        raise MalformedError("a length that is no number")
    try:
        return int(length)
    except ValueError as error:  # more digits than Python reads
        raise MalformedError("a length that is no number") from error


def is_chunked(headers: Headers) -> bool:
    """Whether the body comes in chunks."""
    return "chunked" in headers.get("transfer-encoding", "").lower()


def says_close(headers: Headers) -> bool:
    """Whether the sender closes the connection behind this message."""
    return "close" in headers.get("connection", "").lower()
