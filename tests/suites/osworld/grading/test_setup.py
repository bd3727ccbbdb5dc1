"""Steps before an episode, and before its grading."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.osworld.cache import cached_name
from hfr_bench.suites.osworld.errors import NotCachedError, UngradeableError
from hfr_bench.suites.osworld.setup import run_steps, steps_lacking
from hfr_bench.suites.osworld.tabs import OPEN_TABS

URL = "https://huggingface.co/x/start.txt"


def step(kind, **parameters):
    return {"type": kind, "parameters": parameters}


def test_a_download_is_uploaded_from_the_cache_and_never_fetched(world, guest):
    asked = [step("download", files=[{"url": URL, "path": "/home/user/a.txt"}])]
    with pytest.raises(NotCachedError, match=r"start\.txt is not in the cache as"):
        run_steps(asked, world)
    (world.cache / cached_name(URL, "/home/user/a.txt")).write_bytes(b"kept")
    assert run_steps(asked, world) == ()
    assert guest.files == {"/home/user/a.txt": b"kept"}


def test_a_file_of_the_pack_is_uploaded_and_no_other(world, guest, tmp_path):
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "a.txt").write_bytes(b"a")
    (tmp_path / "secret").write_bytes(b"b")
    run_steps([step("upload_file", files=[{"local_path": "a.txt", "path": "/a"}])], world, assets)
    assert guest.files == {"/a": b"a"}
    for outside in ("../secret", str(tmp_path / "secret"), "none"):
        asked = [step("upload_file", files=[{"local_path": outside, "path": "/b"}])]
        with pytest.raises(BadInputError, match="no file"):
            run_steps(asked, world, assets)
    with pytest.raises(BadInputError, match="no folder of assets"):
        run_steps(asked, world)


def test_a_command_is_told_password_and_screen_and_its_output_kept(world, guest):
    guest.run = lambda command, shell: (" ".join(command), "err", 0)
    marks = ["{CLIENT_PASSWORD}", "{SCREEN_WIDTH}", "{SCREEN_HEIGHT_HALF}"]
    run_steps([step("execute", command=marks, stdout="out.txt", stderr="err.txt")], world)
    assert (world.cache / "out.txt").read_text() == "password 1920 540"
    assert (world.cache / "err.txt").read_text() == "err"
    with pytest.raises(BadInputError, match="outside"):
        run_steps([step("command", command=["x"], stdout="../out.txt")], world)


def test_until_runs_a_command_again_by_the_trials_clock(world, guest):
    left, slept = ["wait", "wait", "ready"], []
    world.sleeping = slept.append
    guest.run = lambda command, shell: (left.pop(0), "", 1)
    run_steps([step("execute", command="x", shell=True, until={"stdout": "ready"})], world)
    assert slept == [0.3, 0.3]
    guest.run = lambda command, shell: ("", "never", 1)
    with pytest.raises(InfrastructureError, match=r"step 1 \(execute\): it does not come to"):
        run_steps([step("execute", command="x", until={"returncode": 0})], world)


def test_sleeping_is_the_trials_clock(world):
    slept = []
    world.sleeping = slept.append
    run_steps([step("sleep", seconds=2)], world)
    assert slept == [2.0]


def test_a_launch_in_one_text_is_split_as_upstream_does(world, guest):
    run_steps(
        [step("launch", command="app --new"), step("launch", command="a b", shell=True)], world
    )
    assert [sent for _, sent in guest.calls] == [
        {"command": ["app", "--new"], "shell": False},
        {"command": "a b", "shell": True},
    ]


def test_other_steps_ask_the_guest(world, guest):
    guest.windows = ["Files"]
    steps = [
        step("open", path="/x"),
        step("activate_window", window_name="Files", strict=True),
        step("close_window", window_name="Files"),
        step("change_wallpaper", path="/w"),
        step("execute_with_verification", command=["x"]),
    ]
    assert run_steps(steps, world) == ()
    assert guest.calls[1] == (
        "/setup/activate_window",
        {"window_name": "Files", "strict": True, "by_class": False},
    )


def test_before_an_episode_a_step_must_work_but_for_a_window(world, guest):
    assert len(run_steps([step("activate_window", window_name="none")], world)) == 1
    guest.broken = ["/setup/launch"]
    with pytest.raises(InfrastructureError, match=r"step 2 \(launch\): the guest answered 500"):
        run_steps([step("sleep", seconds=0), step("launch", command=["x"])], world)
    assert len(run_steps([step("launch", command=["x"])], world, lenient=True)) == 1


def test_what_cannot_be_carried_out_is_known_beforehand(world):
    steps = [step("login"), step("sleep", seconds=1), step("login"), step("googledrive")]
    assert steps_lacking(steps) == ("login", "googledrive")
    with pytest.raises(UngradeableError, match="no step 'login': there are download, launch"):
        run_steps(steps, world)


@pytest.mark.parametrize("wrong", [{}, {"type": "sleep"}, {"type": 1, "parameters": {}}])
def test_a_malformed_step_is_named(world, wrong):
    with pytest.raises(BadInputError, match="step 1: must have a type and parameters"):
        run_steps([wrong], world)


def test_tabs_are_opened_by_a_program_in_the_guest(world, guest):
    guest.run = lambda command, shell: ("", "no browser", 1)
    asked = [step("chrome_open_tabs", urls_to_open=["https://x.invalid/"])]
    with pytest.raises(InfrastructureError, match="no tab: no browser"):
        run_steps(asked, world, lenient=True)
    assert guest.calls[0][1]["command"][3] == '["https://x.invalid/"]'


def test_the_program_opens_tabs_and_closes_the_first():
    """Run as the guest runs it, against a browser's port that is a list."""
    tabs, asked = ["first"], []

    class Browser(BaseHTTPRequestHandler):
        """What a browser answers on its port for tools."""

        def _say(self):
            asked.append(f"{self.command} {self.path}")
            if self.path.startswith("/json/new"):
                tabs.append(self.path.partition("?")[2])
            if self.path.startswith("/json/close/"):
                tabs.remove(self.path.rpartition("/")[2])
            body = json.dumps([{"type": "page", "id": tab} for tab in tabs]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = _say  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Browser)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        urls = json.dumps(["https://a.invalid/b?c=d", "https://e.invalid/ü"])
        command = [sys.executable, "-c", OPEN_TABS, urls, str(server.server_port)]
        subprocess.run(command, check=True, timeout=60)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert tabs == ["https://a.invalid/b?c=d", "https://e.invalid/%C3%BC"]
    assert asked[0] == "GET /json"
