"""Tasks of a checkout from their steps to their verdict, in a guest that is a child process."""

import json
import subprocess
import sys

import pytest
from checkout import GOLD, RENAME, SORT, START, write

from hfr_bench.suites.osworld.cache import cached_name
from hfr_bench.suites.osworld.classify import Equipment, task_lacks
from hfr_bench.suites.osworld.grade import grade
from hfr_bench.suites.osworld.load import find_checkout, load
from hfr_bench.suites.osworld.setup import run_steps
from hfr_bench.suites.osworld.world import PlainWorld

client = pytest.importorskip("hfr_bench.suites.osworld.client", reason="no guest in this checkout")
image = pytest.importorskip("hfr_bench.suites.osworld.image", reason="no guest in this checkout")

HOME = "/home/user"


@pytest.fixture
def world(tmp_path):
    """A guest of the profile without a screen, whose home is a folder of the test's."""
    server = str(image.GUEST / "server.py")
    command = [sys.executable, "-B", server, "--port", "0", "--profile", "shell"]
    process = subprocess.Popen(
        [*command, "--home", str(tmp_path / "home")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        port = json.loads(process.stdout.readline())["port"]
        cache = tmp_path / "cache"
        cache.mkdir()
        yield PlainWorld(client.Guest.at(f"http://127.0.0.1:{port}"), cache, lambda _: None)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def did(world, command):
    """What an agent does: a command in the guest's home."""
    world.guest.execute(command, shell=True)


def test_a_task_of_commands(world, tmp_path):
    checkout = find_checkout(write(tmp_path))
    (record,) = load(checkout, ids=["rename"])
    assert record.sealed == RENAME["evaluator"]
    assert task_lacks(record, Equipment()) == ()
    did(world, "touch old")
    assert grade(record.sealed, world).score == 0.0
    did(world, "mv old new")
    assert grade(record.sealed, world).score == 1.0
    world.actions = ["FAIL"]
    assert grade(record.sealed, world).score == 0.0


def test_a_task_of_files_from_the_cache(world, tmp_path):
    checkout = find_checkout(write(tmp_path))
    (record,) = load(checkout, ids=["sort"])
    assert record.sealed == SORT["evaluator"]
    urls = {START: cached_name(START, f"{HOME}/a.txt"), GOLD: "gold.txt"}
    for url, text in ((START, "b\na\n"), (GOLD, "a\nb\n")):
        (world.cache / urls[url]).write_text(text)
    assert run_steps(record.config, world) == ()
    assert grade(record.sealed, world).score == 0.0
    did(world, "sort -o a.txt a.txt")
    assert grade(record.sealed, world).score == 1.0
    did(world, "rm a.txt")
    gone = grade(record.sealed, world)
    assert (gone.score, gone.checks[0].why) == (0.0, "the guest gave nothing")


def test_steps_and_getters_of_a_guest_without_a_screen(world, tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "rows.csv").write_text("a,1\nb,2\n")
    steps = [
        ("upload_file", {"files": [{"local_path": "rows.csv", "path": f"{HOME}/rows.csv"}]}),
        ("execute", {"command": "mkdir in && touch in/x in/y", "shell": True}),
        ("command", {"command": ["cat", "rows.csv"], "stdout": "said.csv"}),
        ("execute", {"command": ["true"], "until": {"returncode": 0}}),
        ("sleep", {"seconds": 1}),
    ]
    made = [{"type": kind, "parameters": parameters} for kind, parameters in steps]
    assert run_steps(made, world, tmp_path / "assets") == ()
    got = {
        "func": ["compare_csv", "check_moved_jpgs", "check_include_exclude"],
        "result": [
            {"type": "vm_file", "path": f"{HOME}/rows.csv", "dest": "rows.csv"},
            {"type": "list_directory", "path": f"{HOME}/in"},
            {"type": "vm_command_error", "command": "ls none", "shell": True},
        ],
        "expected": [
            {"type": "cache_file", "path": "said.csv"},
            {"type": "rule", "rules": {"expected": ["x", "y"]}},
            {"type": "rule", "rules": {"include": ["none"]}},
        ],
    }
    found = grade(got, world)
    assert [check.score for check in found.checks] == [1.0, 1.0, 1.0], found
    did(world, "echo a,1 >> rows.csv")
    assert grade(got, world).score == 0.0
