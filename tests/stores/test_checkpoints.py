"""Checkpoints as files: whole or not at all, and the one before where the last is damaged."""

from pathlib import Path

import pytest

from hfr_bench.errors import InfrastructureError
from hfr_bench.model.ledger import Checkpoint
from hfr_bench.recovery.checkpoint import CheckpointCorruptError
from hfr_bench.stores.checkpoints import KEPT, CheckpointFiles


def made(seq: int, trial_id: str = "trial-1") -> Checkpoint:
    return Checkpoint(trial_id=trial_id, seq=seq, at_us=seq * 10, strategy_state={"left": 10 - seq})


@pytest.mark.parametrize("durability", ["process", "power"])
def test_the_last_one_comes_back_to_whoever_opens_the_folder_next(
    tmp_path: Path, durability: str
) -> None:
    store = CheckpointFiles(tmp_path / "kept", durability)
    assert store.last("trial-1") is None
    for seq in range(1, 13):
        store.save(made(seq))
    store.save(made(3, "trial-2"))
    again = CheckpointFiles(tmp_path / "kept")
    assert again.last("trial-1") == made(12)
    assert again.last("trial-2") == made(3, "trial-2")
    assert again.damaged == ()
    assert len(list((tmp_path / "kept" / "trial-1").iterdir())) == KEPT


@pytest.mark.parametrize(
    "harm",
    [lambda text: text[:-9], lambda text: text.replace('"left":7', '"left":9'), lambda _: ""],
)
def test_a_damaged_one_is_named_and_the_one_before_is_taken(tmp_path: Path, harm) -> None:
    store = CheckpointFiles(tmp_path)
    for seq in (1, 2, 3):
        store.save(made(seq))
    last = tmp_path / "trial-1" / "000003.json"
    last.write_text(harm(last.read_text()))
    assert store.last("trial-1") == made(2)
    (told,) = store.damaged
    assert told.startswith(f"{last}: ")
    store.save(made(4))
    assert store.last("trial-1") == made(4)
    assert store.damaged == ()


def test_when_none_is_whole_that_is_not_the_same_as_none(tmp_path: Path) -> None:
    store = CheckpointFiles(tmp_path)
    for seq in (1, 2):
        store.save(made(seq))
        (tmp_path / "trial-1" / f"{seq:06d}.json").write_text("{")
    with pytest.raises(CheckpointCorruptError, match=r"no checkpoint is whole: .*2\.json.*1\.json"):
        store.last("trial-1")


def test_what_a_dying_writer_leaves_is_not_read(tmp_path: Path) -> None:
    store = CheckpointFiles(tmp_path)
    store.save(made(1))
    (tmp_path / "trial-1" / "000002.part").write_text("{half")
    (tmp_path / "trial-1" / "notes.json").write_text("mine")
    assert store.last("trial-1") == made(1)
    assert store.damaged == ()
    store.save(made(2))
    assert store.last("trial-1") == made(2)


def test_a_trial_that_starts_over_forgets_what_it_had(tmp_path: Path) -> None:
    store = CheckpointFiles(tmp_path)
    for seq in (1, 2, 3, 4, 5, 1, 2):
        store.save(made(seq))
        assert store.last("trial-1") == made(seq)
    assert len(list((tmp_path / "trial-1").iterdir())) == 2


def test_a_checkpoint_of_another_trial_is_none_of_this_one(tmp_path: Path) -> None:
    store = CheckpointFiles(tmp_path)
    store.save(made(1))
    store.save(made(2, "other"))
    (tmp_path / "other" / "000002.json").replace(tmp_path / "trial-1" / "000002.json")
    assert store.last("trial-1") == made(1)
    assert "it is of trial other" in store.damaged[0]


@pytest.mark.parametrize("trial_id", ["../escape", "a/b", ".", "", "ü" * 300, "con\x00"])
def test_an_id_that_is_no_file_name_stays_in_the_folder(tmp_path: Path, trial_id: str) -> None:
    store = CheckpointFiles(tmp_path / "kept")
    store.save(made(1, trial_id))
    assert store.last(trial_id) == made(1, trial_id)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match=r"file/trial-1/000001\.json: the checkpoint"):
        CheckpointFiles(tmp_path / "file").save(made(1))


def test_a_state_that_is_not_json_leaves_what_was_there(tmp_path: Path) -> None:
    store = CheckpointFiles(tmp_path)
    store.save(made(1))
    with pytest.raises(ValueError, match="its state is not JSON"):
        store.save(made(2).model_copy(update={"strategy_state": {"x": float("inf")}}))
    assert store.last("trial-1") == made(1)
