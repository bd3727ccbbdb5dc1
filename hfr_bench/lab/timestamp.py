"""RFC 3161: a third party's word that a lock was there at a time.

Asked for over HTTP, checked offline. Request and status need no library; whether a signature holds
is asked of `openssl ts`, where that is installed. The token lies beside the lock.
"""

import hashlib
import re
import secrets
import shutil
import subprocess
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.register import TOKEN

_TIMEOUT_S = 30
_MOST = 1_000_000  # bytes of an answer; a token with its certificates has some thousands
_SHA256 = bytes.fromhex("0609608648016503040201")  # the object identifier, encoded
_GRANTED = (0, 1)  # granted, granted with modifications
_TIME = re.compile(r"^Time stamp: (.+)$", re.MULTILINE)


class Token(NamedTuple):
    """What a token says. `trusted`: None where nobody's certificate could be held against it."""

    imprint: bool
    at: str
    trusted: bool | None
    detail: str


def ask(url: str, lock: Path) -> Path:
    """Ask a time-stamping authority for a token over a lock; returns where it lies.

    Raises BadInputError for an address that is none, InfrastructureError if no token is given.
    """
    if not url.startswith(("http://", "https://")):
        raise BadInputError(f"--timestamp-url {url}: give an address that begins with http(s)://")
    nonce, data = secrets.token_bytes(8), lock.read_bytes()
    headers = {"Content-Type": "application/timestamp-query"}
    again = f"frozen it is: `hfr-bench freeze {lock.parent} --timestamp-url` asks again"
    query = Request(url, request(data, nonce), headers)  # noqa: S310 - HTTP alone, see above
    try:
        with urlopen(query, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            token = answer.read(_MOST)
    except (OSError, HTTPException, ValueError) as error:
        raise InfrastructureError(f"{url}: no timestamp: {error}; {again}") from error
    if wrong := _refused(token, data, nonce):
        raise InfrastructureError(f"{url}: no timestamp: {wrong}; {again}")
    path = lock.with_name(TOKEN)
    path.write_bytes(token)
    return path


def request(data: bytes, nonce: bytes) -> bytes:
    """A TimeStampReq (DER) over SHA-256 of the data that asks for the signer's certificate."""
    algorithm = _der(0x30, _SHA256 + b"\x05\x00")
    imprint = _der(0x30, algorithm + _der(0x04, hashlib.sha256(data).digest()))
    return _der(0x30, _der(0x02, b"\x01") + imprint + _integer(nonce) + _der(0x01, b"\xff"))


def _integer(value: bytes) -> bytes:
    """A positive INTEGER in as few bytes as it takes."""
    bare = value.lstrip(b"\x00") or b"\x00"
    return _der(0x02, b"\x00" + bare if bare[0] & 0x80 else bare)


def _der(tag: int, body: bytes) -> bytes:
    if len(body) < 0x80:
        return bytes((tag, len(body))) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(size))) + size + body


def _refused(answer: bytes, data: bytes, nonce: bytes) -> str:
    """Why an answer is no token over the data, in answer to this request; "" if it is one."""
    granted = _status(answer)
    if granted is None:
        return "the answer is no TimeStampResp"
    if granted not in _GRANTED:
        return f"refused with status {granted}"
    if hashlib.sha256(data).digest() not in answer:
        return "the token is over something else"
    return "" if _integer(nonce) in answer else "the token answers another request"


def _status(answer: bytes) -> int | None:
    """PKIStatus of a TimeStampResp; None if it is none."""
    whole = _inside(answer, 0x30)
    info = None if whole is None else _inside(whole, 0x30)
    number = None if info is None else _inside(info, 0x02)
    return None if not number else int.from_bytes(number, "big")


def _inside(data: bytes, tag: int) -> bytes | None:
    """The body of the DER value that the data begins with, if it has that tag."""
    if len(data) < 2 or data[0] != tag:
        return None
    size, start = data[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(data[2:start], "big")
    return data[start : start + size] if len(data) >= start + size else None


def check(lock: Path, authority: Path | None = None) -> Token:
    """Hold the token beside a lock against it.

    Args:
        lock: the frozen lock; TOKEN lies beside it.
        authority: certificates that are trusted to sign timestamps (PEM); None trusts nobody, and
            tells what the token says.
    """
    token = lock.with_name(TOKEN)
    data = token.read_bytes()
    if _status(data) not in _GRANTED:
        return Token(False, "", False, "it is no granted TimeStampResp")
    if hashlib.sha256(lock.read_bytes()).digest() not in data:
        return Token(False, "", False, "it is over something else than this lock")
    program = shutil.which("openssl")
    if program is None:
        return Token(True, "", None, "over this lock; its signature needs openssl: none here")
    text = _run(program, "-reply", "-in", str(token), "-text")
    found = _TIME.search(text[1])
    at = found.group(1) if found else ""
    if authority is None:
        detail = f"{at}, over this lock; whose certificate, nobody checked: --timestamp-ca FILE"
        return Token(True, at, None, detail)
    files = ("-in", str(token), "-data", str(lock), "-CAfile", str(authority))
    code, said = _run(program, "-verify", *files)
    reason = said.strip().splitlines()[-1:] or [""]
    return Token(True, at, code == 0, at if code == 0 else f"{at}: openssl ts: {reason[0]}")


def _run(program: str, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [program, "ts", *arguments], capture_output=True, text=True, errors="replace", check=False
    )
    return done.returncode, done.stdout + done.stderr
