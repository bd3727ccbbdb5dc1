"""RFC 3161 tokens of a real authority (openssl, on the loopback), and what is none."""

import shutil
import subprocess

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.timestamp import ask, check, request
from hfr_bench.testing.authority import authority

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
pytestmark = needs_openssl


@pytest.fixture(scope="module")
def stamped(tmp_path_factory):
    """A lock, its token, and the certificate that signed it; never changed by a test."""
    folder = tmp_path_factory.mktemp("stamped")
    lock = folder / "prereg.lock.json"
    lock.write_text('{"v": 1}\n')
    with authority(tmp_path_factory.mktemp("tsa")) as here:
        assert ask(here.url, lock) == folder / "prereg.lock.json.tsr"
    return folder, here.certificate


@pytest.fixture
def lock(stamped, tmp_path):
    """A copy of them, free to be spoiled."""
    return shutil.copytree(stamped[0], tmp_path / "copy") / "prereg.lock.json"


def test_a_token_is_over_its_lock_and_trusted_by_who_knows_the_signer(stamped, lock):
    found = check(lock, stamped[1])
    assert (found.imprint, found.trusted) == (True, True)
    assert "GMT" in found.at


def test_without_a_certificate_nobody_is_trusted(lock):
    found = check(lock)
    assert (found.imprint, found.trusted) == (True, None)
    assert "--timestamp-ca" in found.detail


def test_a_lock_that_changed_is_not_what_was_stamped(stamped, lock):
    lock.write_text('{"v": 2}\n')
    found = check(lock, stamped[1])
    assert (found.imprint, found.trusted) == (False, False)


def test_another_signer_is_not_trusted(lock, tmp_path):
    (tmp_path / "other").mkdir()
    with authority(tmp_path / "other") as other:
        pass
    assert check(lock, other.certificate).trusted is False


def test_a_token_that_was_edited_is_not_trusted(stamped, lock):
    token = lock.with_name("prereg.lock.json.tsr")
    data = bytearray(token.read_bytes())
    data[-5] ^= 1  # within the signature
    token.write_bytes(data)
    assert check(lock, stamped[1]).trusted is False
    token.write_bytes(b"no token")
    assert check(lock).trusted is False


def test_the_request_is_one_that_openssl_reads(tmp_path):
    for nonce in (b"\x00" * 8, b"\xff" * 8, b"\x00\x81" + b"\x01" * 6):
        (tmp_path / "q").write_bytes(request(b"data", nonce))
        done = subprocess.run(["openssl", "ts", "-query", "-in", "q", "-text"], cwd=tmp_path,
                              capture_output=True, text=True, check=True)  # fmt: skip
        assert "Hash Algorithm: sha256" in done.stdout
        assert "Certificate required: yes" in done.stdout


@pytest.mark.parametrize(
    ("altered", "words"),
    [
        (lambda _: b"", "no TimeStampResp"),
        (lambda _: bytes.fromhex("30053003020102"), "refused with status 2"),
        (lambda _: bytes.fromhex("30053003020100"), "over something else"),
    ],
)
def test_an_answer_that_is_no_token_over_this_lock_is_not_kept(tmp_path, altered, words):
    lock = tmp_path / "prereg.lock.json"
    lock.write_text("{}")
    with (
        authority(tmp_path, altered) as here,
        pytest.raises(InfrastructureError, match=f"no timestamp: .*{words}.*frozen it is"),
    ):
        ask(here.url, lock)
    assert not lock.with_name("prereg.lock.json.tsr").exists()


def test_an_answer_to_another_request_is_refused(tmp_path, stamped):
    lock = shutil.copy(stamped[0] / "prereg.lock.json", tmp_path)
    replayed = (stamped[0] / "prereg.lock.json.tsr").read_bytes()
    with (
        authority(tmp_path, lambda _: replayed) as here,
        pytest.raises(InfrastructureError, match="answers another request"),
    ):
        ask(here.url, tmp_path / "prereg.lock.json")
    assert lock


def test_addresses_that_do_not_answer(tmp_path):
    lock = tmp_path / "prereg.lock.json"
    lock.write_text("{}")
    with pytest.raises(BadInputError, match=r"begins with http\(s\)"):
        ask("file:///etc/passwd", lock)
    with pytest.raises(InfrastructureError, match="no timestamp"):
        ask("http://127.0.0.1:1/tsa", lock)
