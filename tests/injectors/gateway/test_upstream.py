"""The way to the model server: any response, in any pieces, over connections that are kept."""

import asyncio
import gzip
import threading
import zlib

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.injectors.gateway.upstream import BrokenAnswerError, Parser, Upstream

from .answers import PATHS, request
from .conftest import completion

OK = b"HTTP/1.1 200 OK\r\n"


def parsed(data, cuts=(), *, bodiless=False, ends=False):
    parser = Parser(bodiless=bodiless)
    places = sorted({min(cut, len(data)) for cut in cuts})
    for begin, end in zip([0, *places], [*places, len(data)], strict=True):
        parser.feed(data[begin:end])
    if ends:
        parser.end()
    return parser


RESPONSES = {
    "a length": (OK + b"Content-Length: 5\r\nX-A: 1\r\n\r\nhello", b"hello", True, False),
    "no body": (OK + b"content-length: 0\r\n\r\n", b"", True, False),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True, False),
    "chunks": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n1\r\n!\r\n0\r\n\r\n",
        b"hello!", True, False,
    ),
    "a trailer": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n",
        b"hi", True, False,
    ),
    "until it ends": (OK + b"X-A: 1\r\n\r\nhello", b"hello", False, True),
    "after a 100": (
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi", b"hi", True, False,
    ),
    "an old one": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"hi", False, False),
    "a last one": (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi", b"hi", False, False),
    "more than it should": (OK + b"Content-Length: 2\r\n\r\nhiho", b"hi", False, False),
}  # fmt: skip


@pytest.mark.parametrize("name", RESPONSES)
@given(st.lists(st.integers(0, 120), max_size=12))
def test_a_response_is_the_same_in_any_pieces(name, cuts):
    data, body, keep, ends = RESPONSES[name]
    parser = parsed(data, [] if name == "more than it should" else cuts, ends=ends)
    assert (parser.status, parser.done) == (204 if "204" in data.decode() else 200, True)
    assert b"".join(parser.pieces) == body
    assert parser.keep is keep


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 1e3\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"x" * 300_000,
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 300_000,
    ],
)
def test_what_is_no_response_is_told(data):
    with pytest.raises(BrokenAnswerError):
        parsed(data)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_no_bytes_break_it(tail, cuts):
    for head in (
        b"",
        OK,
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
        OK + b"Content-Length: 9\r\n\r\n",
    ):
        try:
            parsed(head + tail, cuts, ends=True)
        except BrokenAnswerError:
            continue


def test_an_answer_that_ends_early_is_not_whole():
    assert not parsed(OK + b"Content-Length: 5\r\n\r\nhe", ends=True).done
    assert not parsed(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe", ends=True).done
    assert not parsed(OK, ends=True).done
    assert parsed(OK + b"Content-Length: 5\r\n\r\n", bodiless=True).done


def test_only_a_web_address_is_one():
    for url in ("ftp://x/v1", "/v1", "http://", ""):
        with pytest.raises(ValueError, match="the base URL of a model server"):
            Upstream(url)
    assert Upstream("http://h:8/a/v1/").path == "/a/v1"


async def asked(upstream, times=1):
    way = Upstream(upstream.url)
    found = []
    for _ in range(times):
        async with await way.ask("POST", "/v1/x", [("x-a", "1")], b"{}") as answer:
            found.append((answer.status, await answer.read()))
    way.close()
    return found


def test_one_connection_serves_many_requests(upstream):
    ports = set()

    def remember(handler, _):
        ports.add(handler.client_address[1])
        upstream.send(handler)

    upstream.answer = remember
    found = asyncio.run(asked(upstream, 5))
    assert found == [(200, completion())] * 5
    assert len(ports) == 1
    assert upstream.seen[0][1]["x-a"] == "1"


def test_a_connection_that_was_closed_is_not_used_again(upstream):
    def once(handler, _):
        upstream.send(handler, connection="close")
        handler.close_connection = True

    upstream.answer = once
    assert asyncio.run(asked(upstream, 3)) == [(200, completion())] * 3


def test_an_answer_left_before_its_end_closes_the_connection(upstream):
    go_on = threading.Event()

    def half(handler, _):
        handler.send_response(200)
        handler.send_header("content-length", "100")
        handler.end_headers()
        handler.wfile.write(b"half")
        handler.wfile.flush()
        go_on.wait(20)
        handler.close_connection = True

    async def leave():
        way = Upstream(upstream.url)
        upstream.answer = half
        async with await way.ask("POST", "/v1/x", [], b"{}") as answer:
            async for piece in answer.pieces():
                assert piece == b"half"
                break
        upstream.answer = lambda handler, _: upstream.send(handler)
        async with await way.ask("POST", "/v1/x", [], b"{}") as answer:
            assert await answer.read() == completion()
        way.close()

    asyncio.run(leave())
    go_on.set()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_an_answer_that_is_packed_unasked(encoding, stages, upstream):
    body = completion("packed")
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    upstream.answer = lambda handler, _: upstream.send(
        handler, 200, packed, content_encoding=encoding
    )
    seen = stages().attempt()
    assert (seen.status, seen.answered) == ((502, False) if encoding == "br" else (200, True))
    if seen.answered:
        assert seen.payload["content"] == "packed"


def test_a_great_answer_does_not_pile_up(stages, upstream):
    great = completion("x" * 5_000_000)
    upstream.answer = lambda handler, _: upstream.send(handler, 200, great)
    with httpx.Client(trust_env=False, timeout=20) as http:
        answer = http.post(f"{stages().url}{PATHS['openai_chat'][2:]}", json=request("openai_chat"))
    assert answer.content == great
