"""The client of a guest: OSWorld's API, one attempt a call, nothing hidden.

OSWorld's own client tries three times, five seconds apart, whatever it was that failed, and so
does twice what was done and not answered. Whoever measures recovery must not: here a call is sent
once, and what became of it is told. A guest is reached through its tool host (ours, in a container
without a network) or over HTTP (a user's own machine).
"""

import base64
import http.client
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlencode, urlsplit

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.ports.sandbox import ToolHost

TIMEOUT_S = 150.0
"""Of a call, where its caller says nothing: longer than the guest gives a command (120 s)."""
OPERATION = "X-HFR-Operation"
CALL = "X-HFR-Call"
SLICE_S = 0.25
"""How long one question to a tool host may hold up the others."""
_GRACE_S = 30.0


class GuestError(InfrastructureError):
    """A call had no answer: whether it was carried out is not known. `sent`: it may have been."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class GuestTimeoutError(GuestError, TimeoutError):
    """A call was given up. The guest goes on with it."""


class GuestRefusedError(GuestError):
    """A call was answered otherwise than by 200. `reply`: what was said."""

    def __init__(self, what: str, reply: "Reply") -> None:
        super().__init__(f"the guest answered {what} by {reply.status}: {reply.text[:500]}")
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `headers` by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Raises InfrastructureError for what is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise InfrastructureError(
                f"the guest's answer is no JSON: {self.text[:200]}"
            ) from error


class Executed(NamedTuple):
    """How a command ended; `returncode` is -n after signal n."""

    output: str
    error: str
    returncode: int


class Recalled(NamedTuple):
    """What the guest has noted of an operation.

    `state`: absent, started (its last run has no end yet), done. `runs`: how often it was begun.
    """

    state: str
    runs: int
    returncode: int | None


class Transport(Protocol):
    """One request to a guest, one answer. Raises GuestError, GuestTimeoutError."""

    def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply: ...


class OverHost:
    """Through a tool host's stdio. Implements `Transport`; any thread may send."""

    def __init__(self, host: ToolHost) -> None:
        self._host = host

    def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply:
        deadline = time.monotonic() + timeout_s
        found = self.begin(method, target, headers, body, min(SLICE_S, timeout_s))
        while not isinstance(found, Reply):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise GuestTimeoutError(f"{method} {target}: no answer in {timeout_s:g} s")
            found = self.more(found, min(SLICE_S, left_s))
        return found

    def begin(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, wait_s: float
    ) -> Reply | int:
        """Send it: its answer, or by which number to ask after it."""
        fields: dict[str, Any] = {
            "method": method,
            "target": target,
            "headers": list(headers.items()),
            "body": base64.b64encode(body).decode(),
        }
        return self._asked("http", fields, wait_s)

    def more(self, call: int, wait_s: float) -> Reply | int:
        """Ask after one that was sent."""
        return self._asked("more", {"call": call}, wait_s)

    def _asked(self, op: str, fields: Mapping[str, Any], wait_s: float) -> Reply | int:
        done = self._host.request(op, {**fields, "wait_s": wait_s}, wait_s + _GRACE_S)
        if not done["done"]:
            return int(done["call"])
        told = {str(name).lower(): str(value) for name, value in done["headers"]}
        return Reply(int(done["status"]), told, base64.b64decode(done["body"]))


class OverHttp:
    """Over HTTP. Implements `Transport`; a connection a request, never a second one.

    `timeout_s` of a request is that of each wait, as everywhere with sockets.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path.strip("/") or parts.query:
            raise BadInputError(f"{url!r} is no guest's address: say http://HOST:PORT")
        self._address = (parts.hostname, parts.port or 80)

    def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply:
        connection = http.client.HTTPConnection(*self._address, timeout=timeout_s)
        sent = False
        try:
            connection.connect()
            sent = True
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, told, response.read())
        except TimeoutError as error:
            message = f"{method} {target}: no answer in {timeout_s:g} s"
            raise GuestTimeoutError(message, sent=sent) from error
        except (OSError, http.client.HTTPException) as error:
            where = "{}:{}".format(*self._address)
            what = "broke off" if sent else "is not reached"
            message = f"{method} {target}: the guest at {where} {what}: {error!r}"
            raise GuestError(message, sent=sent) from error
        finally:
            connection.close()


class Guest:
    """A guest's API. `call` takes any path; the others raise GuestRefusedError for what is not 200.

    Every method may raise GuestError and GuestTimeoutError. `operation_id` names what a call is
    part of, in the guest's log; `recall` reads that log and changes nothing.
    """

    def __init__(self, transport: Transport, timeout_s: float = TIMEOUT_S) -> None:
        self._transport = transport
        self._timeout_s = timeout_s

    @classmethod
    def over(cls, host: ToolHost, timeout_s: float = TIMEOUT_S) -> "Guest":
        """One of ours, through its tool host."""
        return cls(OverHost(host), timeout_s)

    @classmethod
    def at(cls, url: str, timeout_s: float = TIMEOUT_S) -> "Guest":
        """One that is reached over HTTP: http://HOST:PORT. Raises BadInputError."""
        return cls(OverHttp(url), timeout_s)

    def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_s: float | None = None,
        operation_id: str = "",
        call_id: str = "",
    ) -> Reply:
        """Send one request, once; whatever its status, it is the answer.

        `json`, or `form` (urlencoded), or `form` with `files` (multipart): by field. `call_id`:
        what its processes are known by, where that is not `operation_id`.
        """
        headers, body = _body(json, form, files)
        headers |= {OPERATION: operation_id} if operation_id else {}
        headers |= {CALL: call_id} if call_id else {}
        within_s = self._timeout_s if timeout_s is None else timeout_s
        return self._transport.send(method, quote(path, safe="/?=&%"), headers, body, within_s)

    def execute(
        self,
        command: str | Sequence[str],
        *,
        shell: bool = False,
        timeout_s: float | None = None,
        operation_id: str = "",
        call_id: str = "",
        setup: bool = False,
    ) -> Executed:
        """Run a command to its end. `setup`: by the path that OSWorld's setup uses."""
        reply = self._good(
            "POST",
            "/setup/execute" if setup else "/execute",
            json={"command": _words(command), "shell": shell},
            timeout_s=timeout_s,
            operation_id=operation_id,
            call_id=call_id,
        )
        told = reply.json()
        return Executed(told["output"], told["error"], told["returncode"])

    def launch(
        self, command: str | Sequence[str], *, shell: bool = False, operation_id: str = ""
    ) -> None:
        """Start a program that stays."""
        body = {"command": _words(command), "shell": shell}
        self._good("POST", "/setup/launch", json=body, operation_id=operation_id)

    def open(self, path: str, *, timeout_s: float | None = None) -> None:
        """Open a file by the program for it, and wait for its window. Takes a screen."""
        self._good("POST", "/setup/open_file", json={"path": path}, timeout_s=timeout_s)

    def upload(self, path: str, data: bytes, *, operation_id: str = "") -> None:
        """Write a file; folders above it are made."""
        files = {"file_data": data}
        form = {"file_path": path}
        self._good("POST", "/setup/upload", form=form, files=files, operation_id=operation_id)

    def file(self, path: str) -> bytes | None:
        """A file's content; None if there is none."""
        reply = self.call("POST", "/file", form={"file_path": path})
        if reply.status == 404:
            return None
        return _checked("POST /file", reply).body

    def list_directory(self, path: str) -> Mapping[str, Any]:
        """A folder: {type, name, children}, and so on in it."""
        told = self._good("POST", "/list_directory", json={"path": path}).json()
        return dict(told["directory_tree"])

    def screenshot(self) -> bytes:
        """A PNG of the screen, with the pointer."""
        return self._good("GET", "/screenshot").body

    def accessibility(self) -> str:
        """The accessibility tree, as XML in OSWorld's namespaces."""
        return str(self._good("GET", "/accessibility").json()["AT"])

    def terminal(self) -> str | None:
        """The text of the terminal that has the focus; None if none has."""
        told = self._good("GET", "/terminal").json()["output"]
        return None if told is None else str(told)

    def platform(self) -> str:
        """The guest's system: Linux."""
        return self._good("GET", "/platform").text

    def recall(self, operation_id: str) -> Recalled:
        """What is noted of an operation. A guest that is not ours has no log: GuestRefusedError."""
        path = f"/hfr/operations/{quote(operation_id, safe='')}"
        told = self._good("GET", path).json()
        return Recalled(told["state"], told["runs"], told.get("returncode"))

    def _good(self, method: str, path: str, **given: Any) -> Reply:
        return _checked(f"{method} {path}", self.call(method, path, **given))


def _checked(what: str, reply: Reply) -> Reply:
    if reply.status != 200:
        raise GuestRefusedError(what, reply)
    return reply


def _words(command: str | Sequence[str]) -> str | list[str]:
    return command if isinstance(command, str) else list(command)


def _body(
    given: Any, form: Mapping[str, str] | None, files: Mapping[str, bytes] | None
) -> tuple[dict[str, str], bytes]:
    """Headers and body of a request."""
    if files is not None:
        return _multipart(form or {}, files)
    if form is not None:
        kind = "application/x-www-form-urlencoded"
        return {"Content-Type": kind}, urlencode(form).encode()
    if given is not None:
        return {"Content-Type": "application/json"}, json.dumps(given).encode()
    return {}, b""


def _multipart(form: Mapping[str, str], files: Mapping[str, bytes]) -> tuple[dict[str, str], bytes]:
    boundary = f"hfr{secrets.token_hex(16)}"
    body = bytearray()
    parts = [(f'name="{name}"', value.encode()) for name, value in form.items()]
    parts += [(f'name="{name}"; filename="{name}"', data) for name, data in files.items()]
    for told, data in parts:
        head = f"--{boundary}\r\nContent-Disposition: form-data; {told}\r\n\r\n"
        body += head.encode() + data + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return {"Content-Type": f"multipart/form-data; boundary={boundary}"}, bytes(body)
