"""A host that takes more than its share ends, or is refused it; nobody else notices."""

from typing import Any

import pytest

from hfr_bench.ports.sandbox import HostDiedError

pytestmark = pytest.mark.docker


def test_a_memory_hog_dies_and_its_limit_is_named(make: Any, probe: Any, echo: Any) -> None:
    sandbox = make(memory_mib=512)
    host, other = sandbox.start(probe(memory_mib=64)), sandbox.start(echo())
    hog = "hoard = []\nwhile True: hoard.append(b'x' * (1 << 20))"
    with pytest.raises(HostDiedError, match="most likely by its memory limit of 64 MiB"):
        host.request("do", {"code": hog}, 60)
    assert other.request("echo", {"text": "x"}, 30)["said"] == "x"


def test_scratch_space_counts_as_memory(make: Any, probe: Any, do: Any) -> None:
    host = make(memory_mib=64, scratch_mib=256).start(probe())
    with pytest.raises(HostDiedError, match="memory limit of 64 MiB"):
        do(host, "file = open('/tmp/x', 'wb')\nwhile True: file.write(b'x' * (1 << 20))")


def test_full_scratch_space_is_an_error_inside(make: Any, probe: Any, do: Any) -> None:
    host = make(scratch_mib=2).start(probe())
    code = """
try:
    with open("/tmp/x", "wb", buffering=0) as file:
        while file.write(b"x" * 65536): pass
except OSError as error:
    said = errno.errorcode[error.errno]
"""
    assert do(host, code) == "ENOSPC"


def test_a_fork_bomb_stays_in_its_container(make: Any, probe: Any, echo: Any, left: Any) -> None:
    sandbox = make(pids=32)
    host, other = sandbox.start(probe()), sandbox.start(echo())
    bomb = """
while True:
    try:
        os.fork()
    except BlockingIOError:
        pass
"""
    with pytest.raises(HostDiedError):
        host.request("do", {"code": bomb}, 1)
    assert other.request("echo", {"text": "x"}, 30)["said"] == "x"
    assert sandbox.start(echo()).request("echo", {"text": "x"}, 30)["said"] == "x"
    other.close()
    assert len(left()) == 1  # the third; the bomb is gone


def test_processor_time_is_shared_out(make: Any, probe: Any, do: Any) -> None:
    host = make(cpus=0.1).start(probe())
    code = """
began, worked = time.monotonic(), time.process_time()
while time.monotonic() < began + 0.5: pass
said = (time.process_time() - worked) / (time.monotonic() - began)
"""
    assert do(host, code) < 0.5


def test_processor_seconds_end_a_host_that_runs_on(make: Any, probe: Any, do: Any) -> None:
    host = make().start(probe(cpu_s=1))
    with pytest.raises(HostDiedError, match="ended"):
        do(host, "while True: pass", 60)


def test_files_and_core_dumps_are_bounded(sandbox: Any, probe: Any, do: Any) -> None:
    code = (
        "import resource as r\nsaid = [r.getrlimit(r.RLIMIT_NOFILE)[1], r.getrlimit(r.RLIMIT_CORE)]"
    )
    assert do(sandbox.start(probe()), code) == [4096, [0, 0]]
