"""An address for a guest that has none; and OSWorld's own client, which comes by it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.suites.osworld.client import Guest, GuestTimeoutError
from hfr_bench.suites.osworld.desktop import Desktop
from hfr_bench.suites.osworld.image import Profile
from hfr_bench.suites.osworld.tunnel import Tunnel

UPSTREAM = "HFR_BENCH_DESKTOP_ENV"
"""Names an environment with desktop-env 1.0.2 (`pip install --no-deps`), requests,
requests-toolbelt and python-dotenv."""


def upstream(url: str, profile: Profile, scratch: Path) -> dict[str, Any]:
    """What OSWorld's own client gets. Skips the test where its environment is not named."""
    where = os.environ.get(UPSTREAM)
    if not where:
        pytest.skip(f"{UPSTREAM} names no environment with desktop-env 1.0.2 in it")
    script = Path(__file__).with_name("upstream.py")
    done = subprocess.run(
        [str(Path(where) / "bin" / "python"), str(script), url, str(profile), str(scratch)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def check_upstream(found: dict[str, Any]) -> None:
    """What it gets of every guest."""
    assert found["setup"]
    assert found["said"] == "once\n"
    assert found["verified"]["verification"] == "passed"
    assert found["platform"] == "Linux"
    assert found["file"] == "a,b\r\n1,é\r\n"
    assert {"type": "file", "name": "table.csv"} in found["tree"]["children"]
    assert found["desktop"] == "/home/user/Desktop"
    assert found["python"]["output"] == "42\n"
    assert found["bash"] == {
        "status": "error",
        "output": "out\nerr\n",
        "error": "",
        "returncode": 3,
    }
    assert found["terminal"] is None


def test_requests_pass_through_it_as_they_are(shared: Desktop):
    assert shared.host is not None
    tunnel = Tunnel(shared.host)
    try:
        guest = Guest.at(tunnel.url)
        data = b"\0\xff\r\n--x"
        guest.upload("/home/user/through", data)
        assert guest.file("/home/user/through") == data == shared.guest.file("/home/user/through")
        assert guest.call("GET", "/nowhere").status == 404
        guest.execute(["true"], operation_id="through/it")
        assert shared.guest.recall("through/it").state == "done"
        with pytest.raises(GuestTimeoutError):
            guest.execute(["sleep", "2"], timeout_s=0.1)
        assert guest.platform() == "Linux"  # nobody is held up
    finally:
        tunnel.close()
        tunnel.close()


def test_upstreams_client_drives_a_guest_without_a_screen(here: Sandbox, tmp_path):
    desktop = Desktop.start(here, Profile.SHELL)
    assert desktop.host is not None
    tunnel = Tunnel(desktop.host)
    try:
        check_upstream(upstream(tunnel.url, Profile.SHELL, tmp_path))
    finally:
        tunnel.close()
        desktop.close()
