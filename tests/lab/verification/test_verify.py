"""The verifier: what is true passes; what a forger made passes no further than it must.

Each lie fails at the level that is meant to see it. A forgery is made twice where it can be:
plainly, so that the manifest betrays it, and with manifest, chain ends and statement made anew.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.rendering.pages import pages
from hfr_bench.lab.store import Store
from hfr_bench.lab.verification.verify import differences, verdict, verify
from hfr_bench.model.bundle import Bundle
from hfr_bench.model.record import canonical
from hfr_bench.testing.bundled import failed, ready, rechain, replace, reseal, trace


def last_result(events):
    return events[-1]["body"]["result"]


def flip_goal(events):
    last_result(events)["outcome"]["goal_met"] ^= True


def report_anew(forged, toy, seed=None):
    """The report that the forged traces give, written over the old one."""
    experiment = toy.experiment
    lock = experiment.lock
    if seed is not None:
        lock = lock.model_copy(update={"prereg_digest": seed})
    report = analyse(experiment.prereg, lock, experiment.plan, Store(forged),
                     experiment.book.schedule, toy.content.kinds)  # fmt: skip
    report = report.model_copy(update={"prereg_digest": experiment.lock.prereg_digest})
    for name, data in pages(report, experiment, drawn=False).items():
        (forged / name).write_bytes(data)
    says = Bundle.loads((forged / "bundle.json").read_bytes())
    says = says.model_copy(update={"traces_digest": report.traces_digest})
    (forged / "bundle.json").write_bytes(canonical(says.model_dump(mode="json")) + b"\n")


# -- what is true -----------------------------------------------------------------------------


def test_a_true_bundle_is_verified(toy_bundle, toy, tmp_path):
    for path in (toy_bundle, toy.bundle(tmp_path / "b.zip")):
        found = verify(path)
        assert found.verified, [check for check in found.checks if not check.ok]
        assert {check.level for check in found.checks} == {0, 1, 2, 3}
        assert all(check.ok is True for check in found.checks)
        assert verdict(found).startswith("VERIFIED up to level 3 (re-derivation): test (rehearsal)")


def test_verifying_leaves_a_bundle_as_it_was(forged):
    before = {path: path.read_bytes() for path in forged.rglob("*") if path.is_file()}
    verify(forged)
    assert before == {path: path.read_bytes() for path in forged.rglob("*") if path.is_file()}


def test_a_lower_level_does_less(toy_bundle):
    for level in range(4):
        assert {check.level for check in verify(toy_bundle, level).checks} == set(range(level + 1))
    assert len(verify(toy_bundle, 3).word) > len(verify(toy_bundle, 0).word) > 0


def test_an_incomplete_bundle_is_verified_as_one(tmp_path):
    toy = ready(tmp_path / "e", tasks=3)
    trace(toy.experiment.path).unlink()
    path = trace(toy.experiment.path)
    path.write_bytes(path.read_bytes()[:-40])  # a damaged line, which the report names
    found = verify(toy.bundle(tmp_path / "b", incomplete=True, drawn=False))
    assert found.verified
    assert "; but the experiment is INCOMPLETE; run.jsonl tells" in verdict(found)
    assert any("INCOMPLETE, as the bundle says" in check.detail for check in found.checks)


def test_the_published_digest_tells_one_bundle_from_another(toy_bundle, forged):
    digest = verify(toy_bundle, 0).manifest_digest
    assert failed(toy_bundle, 0, expect=digest[:12].upper())[0] == []
    assert failed(toy_bundle, 0, expect=digest[:6])[0] == [0]
    (forged / "run.jsonl").unlink()
    reseal(forged)
    assert failed(forged, 0)[0] == []
    assert failed(forged, 0, expect=digest)[0] == [0]


# -- level 3 ----------------------------------------------------------------------------------


def test_an_outcome_edited_with_chain_and_manifest(forged):
    rechain(trace(forged), flip_goal)
    assert failed(forged, 0)[0] == [0]
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [3]
    assert "contrasts[" in said


def test_a_claim_that_does_not_follow_even_with_the_report_made_anew(forged, toy):
    def lie(events):
        last_result(events)["outcome"]["duplicates"] = 0

    doubled = re.compile('"duplicates":[1-9]')
    paths = forged.glob("trials/*/r1/blind_resend.jsonl")
    rechain(next(path for path in paths if doubled.search(path.read_text())), lie)
    report_anew(forged, toy)
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [3]
    assert "bundle.json follows from the traces: valid is true, the traces give false" in said


def test_what_no_level_can_see(forged, toy, toy_bundle):
    """The checker's verdict, chain, report and seals all made anew: only the digest betrays it."""
    rechain(trace(forged), flip_goal)
    report_anew(forged, toy)
    reseal(forged)
    assert failed(forged)[0] == []
    assert failed(forged, expect=verify(toy_bundle, 0).manifest_digest)[0] == [0]
    assert any("goal_met" in text for text in verify(forged).word)


def test_another_seed_of_the_bootstrap(tmp_path):
    many = ready(tmp_path / "e", tasks=12)  # of fewer than ten there are no resampled bounds
    forged = many.bundle(tmp_path / "b", drawn=False)
    report_anew(forged, many, seed="f" * 64)
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [3]
    assert "report.json follows from the traces: " in said


def test_an_edited_number(forged):
    report = json.loads((forged / "report.json").read_text())
    nth = next(n for n, row in enumerate(report["estimates"]) if row["metric"] == "dup_1000")
    report["estimates"][nth]["events"] = 99
    (forged / "report.json").write_text(json.dumps(report))
    assert failed(forged, 0)[0] == [0]
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [3]
    assert f"estimates[{nth}].events is 99, the traces give" in said


def test_a_number_that_nobody_registered(forged):
    report = json.loads((forged / "report.json").read_text())
    report["estimates"].append(report["estimates"][0] | {"metric": "best"})
    (forged / "report.json").write_text(json.dumps(report))
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [3]
    assert "estimates has" in said


@pytest.mark.parametrize("name", ["report.md", "README.md", "report.html"])
def test_a_page_that_shows_something_else(drawn_bundle, tmp_path, name):
    forged = Path(shutil.copytree(drawn_bundle, tmp_path / "b"))
    replace(forged / name, "rehearsal", "live")
    reseal(forged)
    levels, said = failed(forged)
    assert levels == [3]
    assert f"{name} shows that report: line" in said


def test_a_page_of_another_version_is_not_compared_and_the_verdict_says_so(forged):
    replace(forged / "report.md", "rehearsal", "live")
    replace(forged / "environment.json", '"harness_version":"', '"harness_version":"0.0.')
    reseal(forged)
    found = verify(forged)
    assert found.verified
    assert "report.md shows that report: cannot be told" in verdict(found)
    assert "numbers in it" not in verdict(found)
    with (forged / "report.md").open("a") as page:
        page.write("hfr succeeds in 99.87 %\n")
    reseal(forged)
    assert "not compared, and 1 numbers in it are not in the one made here (99.87)" in verdict(
        verify(forged)
    )


def test_numbers_are_compared_as_what_they_are():
    assert not list(differences({"a": [1, 0.1 + 0.2, None]}, {"a": [1, 0.3, None]}))
    assert list(differences({"a": 1}, {"a": True})) == ["a is 1, the traces give true"]
    assert list(differences({"a": 1}, {"a": 2})) == ["a is 1, the traces give 2"]
    assert list(differences(0.3, 0.3001, "x")) == ["x is 0.3, the traces give 0.3001"]
    assert list(differences({"a": 1}, {"b": 1})) == ["a should not be there", "b is not there"]
