"""An experiment in each form: all trials that count, and errors that say what to do."""

import json
import shutil

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.exports.write import FORMS, export
from hfr_bench.lab.redact import Redactor
from hfr_bench.testing.bundled import ready


@pytest.mark.parametrize("form", FORMS)
def test_every_trial_that_counts_is_written(form, experiment, traces, folder):
    done = export(experiment, form, folder, Redactor())
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert (done.trials, done.files) == (len(traces), len(files))
    text = b"".join(path.read_bytes() for path in files)
    if form != "inspect":  # a zip
        assert all(trial.encode() in text for trial in traces)


def test_only_the_arms_asked_for(experiment, folder):
    export(experiment, "atif", folder, Redactor(), ["hfr"])
    assert [path.name for path in folder.iterdir()] == ["hfr"]
    one = next((folder / "hfr").iterdir())
    assert json.loads(one.read_text())["agent"]["name"] == "hfr"


def test_nothing_is_overwritten(experiment, folder):
    folder.mkdir()
    (folder / "mine").write_text("x")
    with pytest.raises(BadInputError, match="is in use: name a new folder"):
        export(experiment, "atif", folder, Redactor())
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_an_arm_that_is_not_there(experiment, folder):
    with pytest.raises(BadInputError, match="no arm 'x'; registered are"):
        export(experiment, "otel", folder, Redactor(), ["x"])
    assert not folder.exists()


def test_nothing_to_export_yet(tmp_path, folder):
    empty = ready(tmp_path / "e").experiment
    shutil.rmtree(empty.path / "trials")
    with pytest.raises(BadInputError, match="holds no graded trial"):
        export(empty, "otel", folder, Redactor())
    assert not folder.exists()
