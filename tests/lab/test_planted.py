"""Ten shapes of secrets, planted wherever a run can put words: none ever reaches a bundle.

What goes into a bundle as it was frozen stops it, whole; what is redacted is gone; what has no
place in a bundle is not in it.
"""

import base64
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from hfr_bench.errors import InvalidExperimentError
from hfr_bench.lab.redacting.experiment import bundle_redacted
from hfr_bench.lab.scan import Scanner
from hfr_bench.testing.bundled import Ready, ready, rechain, trace

# Put together here, so that no scanner of repositories takes them for real ones.
KNOWN = "pass/wörd-" + "of-the-harness"
ENVIRON = {"MY_API_KEY": KNOWN}
SHAPES = {
    "a known value": KNOWN,
    "a known value in a URL": quote(KNOWN, safe=""),
    "a known value in base64": base64.b64encode(KNOWN.encode()).decode(),
    "a known value in basic auth": base64.b64encode(f"me:{KNOWN}".encode()).decode(),
    "OpenAI": "sk-" + "proj-" + "a1B2" * 8,
    "GitHub": "ghp" + "_" + "a1B2" * 9,
    "AWS": "AK" + "IA" + "A1B2" * 4,
    "Hugging Face": "hf" + "_" + "a1B2" * 9,
    "JWT": "eyJ" + "hbGciOiJIUzI1.eyJ" + "zdWIiOiIxMjM0.abcdefghijk",
    "header": "Authorization: Bearer " + "a1B2" * 8,
}


def in_reasons(folder: Path) -> None:
    """A shape a trace, in what a decision gives as its reason."""
    for nth, text in enumerate(SHAPES.values()):

        def say(events, text=text):
            decided = [e["body"] for e in events if e["body"]["type"] == "decided"]
            decided[-1]["reason"] = f"the tool said {text} to me"

        rechain(trace(folder, nth=nth), say)


def in_notes(folder: Path) -> None:
    """In the notes of a rater."""
    (folder / "reviews").mkdir()
    lines = (f'{{"note":"saw {text}"}}\n' for text in SHAPES.values())
    (folder / "reviews" / "ann.jsonl").write_text("".join(lines))


def in_the_registration(folder: Path) -> None:
    """In comments of the registration."""
    path = folder / "prereg.yaml"
    path.write_text(path.read_text() + "".join(f"# {text}\n" for text in SHAPES.values()))


def in_an_own_kind(folder: Path) -> None:
    """In a fault kind of the experiment's own."""
    kind = 'kind: mine\nlayer: tool\nwire: {tool: {stall_s: 1}}\npoints: ["tool:*"]\n'
    (folder / "kinds").mkdir()
    (folder / "kinds" / "mine.yaml").write_text(
        kind + "".join(f"# {text}\n" for text in SHAPES.values())
    )


def in_the_inbox(folder: Path) -> None:
    """In answers to escalations, which no bundle has a place for."""
    (folder / "inbox.jsonl").write_text("".join(f"{text}\n" for text in SHAPES.values()))


STOPS, LEAVES = True, False
PLACES = {
    # place -> whether it stops a plain bundle, and a redacted one
    in_reasons: (STOPS, LEAVES),
    in_notes: (STOPS, LEAVES),
    in_the_registration: (STOPS, STOPS),
    in_an_own_kind: (STOPS, STOPS),
    in_the_inbox: (LEAVES, LEAVES),
}


def bundled(toy: Ready, out: Path, *, redacted: bool) -> None:
    scanner = Scanner(ENVIRON)
    if redacted:
        bundle_redacted(
            toy.experiment, toy.content, out, key=b"k" * 32, scanner=scanner, environ=ENVIRON
        )
    else:
        toy.bundle(out, scanner=scanner)


@pytest.mark.parametrize("redacted", [False, True], ids=["plain", "redacted"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_shape_in_any_place_reaches_a_bundle(place, redacted, tmp_path):
    toy = ready(tmp_path / "e", tasks=5)
    place(toy.experiment.path)
    out = tmp_path / "b"
    if PLACES[place][redacted] is STOPS:
        with pytest.raises(InvalidExperimentError) as error:
            bundled(toy, out, redacted=redacted)
        told = str(error.value)
        more = re.search(r"and (\d+) more", told)  # the page may quote one of them, too
        hits = len(re.findall(r"(?:jsonl|yaml|html):\d", told)) + int(more[1] if more else 0)
        assert hits >= len(SHAPES), told
        assert not out.exists()
        assert not any(text in told for text in SHAPES.values())
        return
    bundled(toy, out, redacted=redacted)
    everything = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    found = [name for name, text in SHAPES.items() if text.encode() in everything]
    assert not found
