"""OSWorld's API without a screen: what is asked, done, answered and noted."""

import json
import time

import pytest

from hfr_bench.suites.osworld.client import Guest, GuestRefusedError, GuestTimeoutError


def test_a_command_says_what_it_says(guest: Guest):
    ran = guest.execute(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert ran == ("out\n", "err\n", 3)
    assert guest.execute("echo $((6 * 7))", shell=True).output == "42\n"
    assert guest.execute("echo 'two words'").output == "two words\n"
    assert guest.execute(["python", "-c", "print(1)"]).output == "1\n"


def test_a_list_for_a_shell_is_its_first_word(guest: Guest):
    assert guest.execute(["echo $0 $1", "a", "b"], shell=True).output == "a b\n"


def test_a_program_that_is_not_there_is_a_500(guest: Guest):
    with pytest.raises(GuestRefusedError, match="nowhere") as refused:
        guest.execute(["nowhere-to-be-found"])
    assert refused.value.reply.status == 500
    assert refused.value.reply.json()["status"] == "error"


@pytest.mark.parametrize("command", [[], [1], {"a": 1}, None])
def test_what_is_no_command_is_refused(guest: Guest, command):
    reply = guest.call("POST", "/execute", json={"command": command})
    assert (reply.status, reply.json()["status"]) == (500, "error")


def test_home_is_shown_where_tasks_say_it_is(guest: Guest):
    assert guest.execute("pwd; cd ~; pwd", shell=True).output == "/home/user\n/home/user\n"
    guest.execute(["sh", "-c", "echo in > /home/user/alias.txt"])
    assert guest.file("/home/user/alias.txt") == b"in\n" == guest.file("~/alias.txt")
    assert guest.execute(["cat", "~/alias.txt"]).output == "in\n"
    assert guest.execute(["echo", "/home/username/x"]).output == "/home/username/x\n"


def test_files_come_back_as_they_were(guest: Guest):
    data = bytes(range(256)) + b"\r\n/home/user\r\n"
    guest.upload("/home/user/deep/er/file.bin", data)
    assert guest.file("/home/user/deep/er/file.bin") == data
    assert guest.file("/home/user/none") is None
    assert guest.call("POST", "/file", form={}).status == 400
    assert guest.call("POST", "/file", form={"file_path": "/home/user"}).status == 500
    assert guest.list_directory("/home/user/deep") == {
        "type": "directory",
        "name": "deep",
        "children": [
            {
                "type": "directory",
                "name": "er",
                "children": [{"type": "file", "name": "file.bin"}],
            }
        ],
    }
    assert guest.call("POST", "/list_directory", json={"path": "/nowhere"}).status == 400
    assert guest.call("POST", "/list_directory", json={}).status == 400


def test_small_facts(guest: Guest):
    assert guest.platform() == "Linux"
    assert guest.terminal() is None
    told = guest.call("POST", "/desktop_path").json()
    assert told == {"desktop_path": "/home/user/Desktop"}


def test_scripts_and_code(guest: Guest):
    ran = guest.call("POST", "/run_python", json={"code": "print('x'); raise SystemExit(4)"}).json()
    assert (ran["status"], ran["output"], ran["return_code"]) == ("error", "x\n", 4)
    assert ran["error"] == "Process exited with code 4"
    body = {"script": "pwd; echo no >&2; exit 2", "working_dir": "/home/user/Desktop"}
    ran = guest.call("POST", "/run_bash_script", json=body).json()
    assert ran == {
        "status": "error",
        "output": "/home/user/Desktop\nno\n",
        "error": "",
        "returncode": 2,
    }
    late = guest.call("POST", "/run_bash_script", json={"script": "sleep 9", "timeout": 0.2})
    assert (late.status, late.json()["returncode"]) == (500, -1)
    assert guest.call("POST", "/run_bash_script", json={}).status == 400
    assert guest.call("POST", "/run_python", json={}).status == 400


def test_a_command_is_verified(guest: Guest):
    body = {
        "command": ["true"],
        "verification": {"command_success": "test -e /home/user/nothing"},
        "max_wait_time": 0.2,
        "check_interval": 0.05,
    }
    failed = guest.call("POST", "/setup/execute_with_verification", json=body)
    assert (failed.status, failed.json()["status"]) == (500, "verification_failed")
    body["verification"] = {"command_success": "true"}
    assert guest.call("POST", "/execute_with_verification", json=body).json()["returncode"] == 0
    body["verification"] = {"window_exists": "x"}
    assert guest.call("POST", "/execute_with_verification", json=body).status == 500


def test_a_program_is_launched_and_not_waited_for(guest: Guest):
    guest.launch(["sh", "-c", "sleep 0.05; echo there > ~/launched"], operation_id="launch")
    assert guest.recall("launch").state == "done"
    _until(lambda: guest.file("/home/user/launched") == b"there\n")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/screenshot"), ("GET", "/accessibility"), ("POST", "/setup/open_file")],
)
def test_what_needs_a_screen_says_so(guest: Guest, method, path):
    reply = guest.call(method, path, json={})
    assert reply.status == 501
    assert "no" in reply.json()["message"]
    assert "shell" in reply.json()["message"]


def test_code_behind_upstreams_own_import_runs_without_a_screen(guest: Guest):
    before = "import pyautogui; import time; pyautogui.FAILSAFE = False; "
    assert guest.execute(["python", "-c", f"{before}print(1)"]).output == "1\n"
    ran = guest.execute(["python", "-c", f"{before}pyautogui.click(1, 2)"])
    assert ran.returncode == 1
    assert "needs a screen" in ran.error


def test_other_paths_and_methods(guest: Guest):
    assert guest.call("GET", "/nowhere").status == 404
    assert guest.call("GET", "/execute").status == 405
    assert guest.call("POST", "/execute").status == 400


def test_an_operation_is_noted_each_time_it_runs(guest: Guest):
    assert guest.recall("note/1") == ("absent", 0, None)
    guest.execute("echo x >> ~/twice; exit 5", shell=True, operation_id="note/1")
    assert guest.recall("note/1") == ("done", 1, 5)
    guest.execute("echo x >> ~/twice", shell=True, operation_id="note/1")
    assert guest.recall("note/1") == ("done", 2, 0)
    assert guest.file("~/twice") == b"x\nx\n"
    told = guest.call("GET", "/hfr/operations").json()["operations"]
    assert [row["what"] for row in told if row["id"] == "note/1"] == ["/execute"]
    guest.call("POST", "/execute", json={"command": ["true"], "operation_id": "body"})
    assert guest.recall("body").state == "done"


def test_what_is_given_up_goes_on_and_its_end_is_noted(guest: Guest):
    command = "while ! test -e ~/go; do sleep 0.01; done; echo late >> ~/late"
    with pytest.raises(GuestTimeoutError):
        guest.execute(command, shell=True, timeout_s=0.1, operation_id="late")
    _until(lambda: guest.recall("late") == ("started", 1, None))
    assert guest.file("~/late") is None
    guest.execute("touch ~/go", shell=True)  # another request is not held up by it
    _until(lambda: guest.recall("late").state == "done")
    assert guest.file("~/late") == b"late\n"


def test_a_call_has_its_mark_in_its_command_line(guest: Guest):
    told = guest.execute("cat /proc/$$/cmdline", shell=True, operation_id="m1").output
    assert "hfr-call=m1;" in told
    parent = ["sh", "-c", "cat /proc/$PPID/cmdline; exit 6"]
    ran = guest.execute(parent, operation_id="m2")
    assert "hfr-call=m2;" in ran.output
    assert ran.returncode == 6


def test_answers_are_json_whatever_a_command_prints(guest: Guest):
    ran = guest.execute(["printf", r"\377\n"])
    assert json.loads(json.dumps(ran.output)) == "\ufffd\n"


def _until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
