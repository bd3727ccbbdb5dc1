"""What is passed on of a request, who is asked, and how one knows that all is answered."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from hfr_bench.loopback import Handler, listen
from hfr_bench.passing import ERRORS, Said, UnderWay, ask, hang_up, passable, site_client


def test_what_is_meant_for_one_connection_is_not_passed() -> None:
    came = CIMultiDict(
        [
            ("Connection", "keep-alive, X-Once"),
            ("X-Once", "1"),
            ("Transfer-Encoding", "chunked"),
            ("Host", "a"),
            ("Cookie", "a=1"),
            ("Set-Cookie", "b"),
            ("Set-Cookie", "c"),
            ("X-Hfr-Point", "web"),
        ]
    )
    every = [("Cookie", "a=1"), ("Set-Cookie", "b"), ("Set-Cookie", "c"), ("X-Hfr-Point", "web")]
    assert list(passable(came).items()) == every
    assert list(passable(came, without="x-hfr-").items()) == every[:-1]


@contextlib.asynccontextmanager
async def at(handler: Handler) -> AsyncIterator[str]:
    """The address of a server with that handler, in this very loop."""
    runner, port = await listen(handler)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def passed(site: Handler, path: str) -> tuple[Said | Exception, str]:
    """What `ask` comes to between a caller and a site, and the site's address."""
    found: list[Said | Exception] = []
    async with site_client() as client, at(site) as origin:

        async def front(request: web.BaseRequest) -> web.StreamResponse:
            ours = f"http://{request.host}"
            headers = passable(request.headers)
            try:
                body = await request.read()
                found.append(await ask(client, request, body, headers, origin=origin, ours=ours))
            except ERRORS as error:
                found.append(error)
            return web.Response()

        async with at(front) as ours, aiohttp.ClientSession() as caller:
            told = {"Referer": f"{ours}/from?to={ours}", "X-Other": ours}
            async with caller.post(f"{ours}{path}", data=b"a=1", headers=told):
                pass
    (only,) = found
    return only, origin


def test_a_site_is_asked_for_the_same_and_told_of_its_own_address() -> None:
    seen: list[tuple[str, str, bytes, dict[str, str]]] = []

    async def site(request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        seen.append((request.method, request.raw_path, await request.read(), headers))
        return web.Response(status=302, headers={"Location": "/else"}, body=b"moved")

    said, origin = asyncio.run(passed(site, "/a%2Fb?q=%20"))
    assert isinstance(said, Said)
    assert (said.status, said.headers["location"], said.body) == (302, "/else", b"moved")
    ((method, path, body, headers),) = seen  # a redirect is told, not followed
    assert (method, path, body) == ("POST", "/a%2Fb?q=%20", b"a=1")
    assert headers["host"] == origin.removeprefix("http://")
    assert headers["referer"].startswith(f"{origin}/from?to=http://127.0.0.1:")
    assert headers["referer"].count(origin) == 1
    assert not headers["x-other"].startswith(origin)
    assert headers["accept-encoding"] == "identity"


def test_an_answer_that_never_comes_is_an_error_and_asked_for_once() -> None:
    asked: list[str] = []

    async def site(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.path)
        return hang_up(request)

    said, _ = asyncio.run(passed(site, "/x"))
    assert isinstance(said, aiohttp.ServerDisconnectedError)
    assert asked == ["/x"]


def test_what_is_under_way_is_waited_for_as_long_as_was_said() -> None:
    async def body() -> tuple[int, int, int]:
        flight, go = UnderWay(), asyncio.Event()

        async def one() -> None:
            with flight.one():
                await go.wait()

        waiting = asyncio.create_task(one())
        none = len(await flight.ended(0.0))  # it has not begun
        await asyncio.sleep(0)
        late = await flight.ended(0.01)
        go.set()
        after = await flight.ended(60.0)
        await waiting
        return none, len(late), len(after)

    assert asyncio.run(body()) == (0, 1, 0)
