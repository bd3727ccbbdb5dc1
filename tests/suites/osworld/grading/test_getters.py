"""What metrics are handed."""

import io

import openpyxl
import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.osworld.errors import NotCachedError, UngradeableError
from hfr_bench.suites.osworld.getters import GETTERS


@pytest.fixture
def get(world):
    return lambda kind, **config: GETTERS[kind].get(world, config)


def test_every_getter_can_be_loaded():
    assert all(callable(getter.get) for getter in GETTERS.values())


def test_a_file_is_copied_into_the_cache(get, world, guest):
    guest.files = {"/a": b"one"}
    path = get("vm_file", path="/a", dest="sub/copy")
    assert path == str(world.cache / "sub" / "copy")
    assert (world.cache / "sub" / "copy").read_bytes() == b"one"
    assert get("vm_file", path="/none", dest="x") is None


def test_of_several_files_those_are_given_that_are_asked_for(get, world, guest):
    guest.files = {"/a": b"a", "/b": b"b"}
    both = {"path": ["/a", "/b"], "dest": ["a", "b"], "multi": True}
    a, b = str(world.cache / "a"), str(world.cache / "b")
    assert get("vm_file", **both) == a
    assert get("vm_file", **both, gives=[1]) == b
    assert get("vm_file", **both, gives=[0, 1]) == [a, b]
    assert (world.cache / "b").exists()
    gone = both | {"path": ["/a", "/none"]}
    assert get("vm_file", **gone, gives=[0, 1]) == [a, None]


def test_a_file_of_the_network_comes_from_the_cache_alone(get, world):
    (world.cache / "gold").write_text("1")
    assert get("cloud_file", path="https://x.invalid", dest="gold") == str(world.cache / "gold")
    with pytest.raises(NotCachedError, match=r"https://y\.invalid is not in the cache"):
        get(
            "cloud_file",
            path=["https://x.invalid", "https://y.invalid"],
            dest=["gold", "no"],
            multi=True,
        )


def test_nothing_is_written_outside_the_cache(get, guest):
    guest.files = {"/a": b"one"}
    for dest in ("../out", "/tmp/out"):
        with pytest.raises(BadInputError, match="outside the task's cache"):
            get("vm_file", path="/a", dest=dest)


def test_a_file_that_a_step_has_left(get, world):
    (world.cache / "out").write_text("1")
    assert get("cache_file", path="out") == str(world.cache / "out")
    with pytest.raises(FileNotFoundError, match="none is not in the task's cache"):
        get("cache_file", path="none")


def test_what_a_command_says(get, guest):
    guest.run = lambda command, shell: (f"out {command}", f"err {shell}", 3)
    assert get("vm_command_line", command="ls") == "out ls"
    assert get("vm_command_error", command="ls", shell=True) == "err True"
    guest.broken = ["/execute"]
    assert get("vm_command_line", command="ls") is None


def test_what_the_guest_shows(get, guest, world):
    guest.terminal, guest.tree, guest.wallpaper = "$ ls", "<tree/>", b"png"
    guest.files = {"/home/a": b"", "/home/b": b"", "/etc/c": b""}
    assert get("vm_terminal_output") == "$ ls"
    assert get("accessibility_tree") == "<tree/>"
    assert get("vm_screen_size") == {"width": 1920, "height": 1080}
    assert get("vm_window_size", app_class_name="x") == {"width": 800, "height": 600}
    names = [child["name"] for child in get("list_directory", path="/home")["children"]]
    assert names == ["a", "b"]
    assert get("vm_wallpaper", dest="w") == str(world.cache / "w")
    assert (world.cache / "w").read_bytes() == b"png"
    guest.broken = ["/wallpaper", "/terminal"]
    assert (world.cache / "w").samefile(get("vm_wallpaper", dest="w"))
    assert (world.cache / "w").read_bytes() == b""
    assert get("vm_terminal_output") is None


@pytest.mark.parametrize(
    ("kind", "config", "path"),
    [
        ("vlc_config", {}, "/home/user/.config/vlc/vlcrc"),
        ("gimp_config_file", {"file_name": "gimprc"}, "/home/user/.config/GIMP/2.10/gimprc"),
    ],
)
def test_settings_lie_under_the_guests_home(get, guest, world, kind, config, path):
    guest.run = lambda command, shell: (f"{path}\n", "", 0)
    assert get(kind, dest="kept", **config) is None
    guest.files = {path: b"settings"}
    assert get(kind, dest="kept", **config) == str(world.cache / "kept")
    assert path.removeprefix("/home/user/") in guest.calls[0][1]["command"][2]
    guest.files = {path: b""}
    assert get(kind, dest="kept", **config) is None


def test_the_last_row_of_a_workbook(get, guest):
    book, kept = openpyxl.Workbook(), io.BytesIO()
    for row in (["a", "b"], ["x", 1], ["y", 2]):
        book.active.append(row)
    book.save(kept)
    guest.files = {"/t.xlsx": kept.getvalue()}
    asked = {"path": "/t.xlsx", "file_type": "xlsx", "file_content": "last_row"}
    assert get("content_from_vm_file", **asked) == ["y", "2"]
    with pytest.raises(UngradeableError, match="no content 'all'"):
        get("content_from_vm_file", **asked | {"file_content": "all"})
    with pytest.raises(FileNotFoundError, match="gives no /none"):
        get("content_from_vm_file", **asked | {"path": "/none"})
