"""What is told of a screen: digests and words; pictures and trees lie beside, once each."""

import hashlib
import json
from io import BytesIO
from pathlib import Path

import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.injectors._edits import altered, black
from hfr_bench.suites.osworld.observe import Observer
from hfr_bench.suites.osworld.screen import MOST_LINES, size_of, tree_told

TREE = """\
<desktop-frame xmlns:st="https://x/state" xmlns:cp="https://x/component">
  <application name="writer"><push-button name="Save" st:focused="true"
    cp:screencoord="(10, 20)" cp:size="(5, 6)"/><filler/><text name="">Dear  Noor</text>
  </application></desktop-frame>"""


class Screen:
    """Shows what it is given."""

    def __init__(self, png: bytes, xml: str = TREE) -> None:
        self.png, self.xml = png, xml

    def picture(self) -> bytes:
        return self.png

    def tree(self) -> str:
        return self.xml

    def rest(self) -> None:
        raise AssertionError("nobody waits here")

    def act(self, name: str, code: str, timeout_s: float, marked: str = "") -> object:
        raise AssertionError("nobody acts here")


def test_a_picture_is_told_by_its_digest_and_lies_beside(tmp_path: Path) -> None:
    png = black(30, 20)
    seen = Observer(tmp_path).screenshot(Screen(png))
    digest = hashlib.sha256(png).hexdigest()
    assert json.loads(seen) == {"screenshot": f"sha256:{digest}", "width": 30, "height": 20}
    assert (tmp_path / f"{digest}.png").read_bytes() == png
    assert Observer().screenshot(Screen(png)) == seen


def test_what_is_no_picture_voids_the_trial() -> None:
    with pytest.raises(InfrastructureError, match="no PNG"):
        Observer().screenshot(Screen(b"GIF89a"))
    with pytest.raises(InfrastructureError, match="no XML"):
        Observer().tree(Screen(b"", "<a"))


def test_a_tree_is_one_line_an_element(tmp_path: Path) -> None:
    told = json.loads(Observer(tmp_path).tree(Screen(b"")))
    assert told["accessibility_tree"].splitlines() == [
        'application "writer"',
        'push-button "Save" at 10 20 focused',
        'text "" = "Dear Noor"',
    ]
    assert told["elements"] == 3
    assert [path.read_text() for path in tmp_path.iterdir()] == [TREE]


def test_a_long_tree_is_cut_and_says_how_long_it_is() -> None:
    element = "<b name='x'/>"
    xml = f"<a>{element * (MOST_LINES + 5)}</a>"
    told = json.loads(tree_told(xml))
    assert told["elements"] == MOST_LINES + 5
    assert len(told["accessibility_tree"].splitlines()) == MOST_LINES


def test_a_black_picture_is_another_of_the_same_size() -> None:
    told = Observer().screenshot(Screen(black(31, 7) + b"not black"))
    made = json.loads(altered("black", told, "key"))
    assert (made["width"], made["height"]) == (31, 7)
    assert made["screenshot"] == f"sha256:{hashlib.sha256(black(31, 7)).hexdigest()}"
    assert altered("black", json.dumps(made), "key") != json.dumps(made)


def test_a_black_picture_is_a_picture() -> None:
    pillow = pytest.importorskip("PIL.Image")
    shown = pillow.open(BytesIO(black(1920, 1080)))
    assert shown.size == size_of(black(1920, 1080)) == (1920, 1080)
    assert shown.getextrema() == (0, 0)


def test_a_tree_without_elements_is_that_of_an_empty_screen() -> None:
    told = Observer().tree(Screen(b""))
    assert altered("no_elements", told, "key") == tree_told("")
