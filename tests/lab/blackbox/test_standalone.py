"""The gateway alone: what a foreign agent meets, what is written of it, and how it ends."""

import hashlib
import os
import queue
import socket
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.clock import WallClock
from hfr_bench.lab.standalone import GatewayLog, Sampled, Setup, Standing, stand
from hfr_bench.model.gateway import GatewayLine, SwitchedOff
from hfr_bench.model.record import text_digest
from hfr_bench.model.schedule import Lasts
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import UpstreamHit
from hfr_bench.testing.ports import reserved_port

from .conftest import TASK, agent, event, schedule

ASK = {"model": "rehearsal-primary", "messages": [{"role": "user", "content": "go"}]}


def lines(path: Path) -> list[GatewayLine]:
    return [GatewayLine.loads(line) for line in path.read_text().splitlines()]


def hits(path: Path) -> list[UpstreamHit]:
    return [line.body for line in lines(path) if isinstance(line.body, UpstreamHit)]


def test_without_faults_the_task_is_solved(run, repo):
    summary = run(agent(0))
    assert (summary.ended, summary.exit_code, summary.valid) == ("command", 0, True)
    assert (summary.attempts, summary.steps, summary.forwarded, summary.told) == (5, 5, 5, 0)
    assert (summary.fates, summary.repeated, repo.solved) == ((), 0, True)


FAULTS = (
    event("model_500", 1),
    event("model_closed", 2, n=2),
    event("model_stream_cut", 3),
    event("model_429", 9),
)


def test_retries_below_the_agent_mask_faults_and_that_is_named(run, repo, tmp_path):
    summary = run(agent(2), *FAULTS)
    assert repo.solved
    assert [one.fate for one in summary.fates] == ["masked"] * 3 + ["not_reached"]
    assert [one.attempts for one in summary.fates] == [1, 2, 1, 0]
    assert (summary.reached, summary.count("masked"), summary.valid) == (3, 3, True)
    # The lost answer of step 3 was a real one: the model server worked for it twice.
    assert (summary.attempts, summary.steps, summary.repeated) == (9, 5, 4)
    assert summary.forwarded == 6
    found = [(h.occurrence, h.attempt, h.kind) for h in hits(tmp_path / "log.jsonl")]
    assert found[:6] == [
        (1, 1, "model_500"),
        (1, 2, None),
        (2, 1, "model_closed"),
        (2, 2, "model_closed"),
        (2, 3, None),
        (3, 1, "model_stream_cut"),
    ]


def test_without_retries_the_same_faults_surface(run, repo):
    summary = run(agent(0), *FAULTS)
    assert (summary.exit_code, repo.solved, repo.notes) == (7, False, 0)
    assert [one.fate for one in summary.fates] == ["surfaced"] + ["not_reached"] * 3
    assert summary.valid, "an agent that fails is a result"


def test_an_agent_that_is_started_over_writes_its_note_twice(run, repo):
    """The measure that sees a shell's side effect happen twice: the state of the repository."""
    summary = run(agent(0, "--again"), event("model_500", 4))
    assert (summary.exit_code, repo.notes, repo.solved) == (0, 2, False)
    (fate,) = summary.fates
    assert fate.fate == "surfaced", "what came next was another request"


def test_an_altered_answer_is_no_masked_fault(run):
    summary = run(agent(2), event("model_refusal", 1, lasts=Lasts(unit="trial")), timeout_s=5.0)
    (fate,) = summary.fates
    assert fate.fate == "surfaced"
    assert (summary.ended, summary.exit_code) == ("timeout", None)


def test_events_of_other_layers_have_no_place_here(run):
    other = event("tool_5xx", 1, point="tool:bash", layer=Layer.TOOL)
    summary = run(agent(0), other)
    assert (summary.elsewhere, summary.fates, summary.exit_code) == (1, (), 0)


def test_the_log_is_a_chain_from_opened_to_closed(run, tmp_path):
    plan = schedule(*FAULTS)
    summary = run(agent(2), *FAULTS)
    log = tmp_path / "log.jsonl"
    found = lines(log)
    assert [line.body.type for line in found] == ["opened"] + ["upstream_hit"] * 9 + ["closed"]
    assert [line.seq for line in found] == list(range(1, 12))
    before = ["", *(hashlib.sha256(text).hexdigest() for text in log.read_bytes().splitlines())]
    assert [line.prev for line in found] == before[:-1]
    opened, closed = found[0].body, found[-1].body
    assert opened.schedule_digest == text_digest(plan.dumps())
    assert (opened.origin, opened.suite, opened.task_id) == ("rehearsal", TASK.suite, TASK.task_id)
    assert opened.program == Path(sys.executable).name
    assert closed.summary == summary
    assert "git commit" not in log.read_text(), "a conversation's text stays out"


def test_the_child_and_what_it_started_end_in_time(run, tmp_path):
    os.mkfifo(tmp_path / "alive")
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    script = f"exec 3>{tmp_path}/alive; echo x >&3; (trap '' TERM; sleep 120) & sleep 120"
    summary = run(["bash", "-c", script], timeout_s=3.0)
    assert (summary.ended, summary.exit_code) == ("timeout", None)
    assert summary.lasted_us < 90_000_000
    said = os.read(reader, 9), os.read(reader, 9)  # would raise if anybody still held it open
    os.close(reader)
    assert said == (b"x\n", b"")


# -- by hand --------------------------------------------------------------------------------------


@pytest.fixture
def standing(tmp_path):
    made = []

    def stand_up(*events, **fields):
        values = {"schedule": schedule(*events), "log": tmp_path / "l.jsonl", "rehearse": TASK}
        made.append(Standing(Setup(**(values | fields))))
        return made[-1].__enter__()

    yield stand_up
    for one in made:
        one.__exit__(None, None, None)


def ask(base_url: str) -> httpx.Response:
    return httpx.post(f"{base_url}/chat/completions", json=ASK, timeout=30)


def test_once_switched_off_stalls_end_and_requests_go_through(standing, tmp_path):
    up = standing(event("model_timeout", 1, n=8))
    ended = []

    def stalled():
        with pytest.raises(httpx.HTTPError):
            ask(up.base_url)
        ended.append(time.monotonic())

    thread = threading.Thread(target=stalled)
    thread.start()
    log = tmp_path / "l.jsonl"
    while not hits(log):  # told before it stalls
        thread.join(0.01)
    up.switch_off()
    up.switch_off()
    thread.join(20)
    assert ended
    assert ask(up.base_url).status_code == 200
    summary = up.close("asked")
    assert (summary.switched_off, summary.valid, summary.attempts) == (True, False, 2)
    assert sum(isinstance(line.body, SwitchedOff) for line in lines(log)) == 1


def test_it_listens_where_it_is_told_and_says_if_it_cannot(standing, tmp_path):
    with reserved_port() as port:
        with (
            socket.create_server(("127.0.0.1", port)),
            pytest.raises(InfrastructureError, match="could not bind"),
        ):
            standing(port=port)
        assert not (tmp_path / "l.jsonl").exists(), "so that it can be tried again"
        up = standing(port=port)
        assert up.base_url == f"http://127.0.0.1:{port}/t/agent/v1"
        assert ask(up.base_url).status_code == 200


def test_a_model_server_that_is_not_there_makes_the_trial_invalid(standing):
    up = standing(rehearse=None, upstream="http://127.0.0.1:9/v1")
    assert ask(up.base_url).status_code == 502
    summary = up.close("asked")
    assert (summary.organic, summary.valid) == (1, False)


@pytest.mark.parametrize(
    "upstream", ["https://api.openai.com/v1", "http://10.0.0.1/v1", "nonsense"]
)
def test_it_stands_in_front_of_loopback_only(standing, upstream, tmp_path):
    with pytest.raises(BadInputError, match=r"not ours.*relay"):
        standing(rehearse=None, upstream=upstream)
    assert not (tmp_path / "l.jsonl").exists()


def test_a_fault_that_nobody_plays_is_refused_before_anything_starts(standing, tmp_path):
    unknown = event("model_500", 1).model_copy(update={"kind": "model_gone"})
    with pytest.raises(BadInputError, match=r"'model_gone' is not played.*model_429"):
        standing(unknown)
    assert not (tmp_path / "l.jsonl").exists()


def test_a_log_that_is_there_is_not_touched(standing, tmp_path):
    (tmp_path / "l.jsonl").write_text("mine")
    with pytest.raises(BadInputError, match="name another"):
        standing()
    assert (tmp_path / "l.jsonl").read_text() == "mine"


def test_a_log_that_cannot_be_written_ends_it(tmp_path):
    told = queue.SimpleQueue()
    log = GatewayLog(tmp_path / "l", WallClock(), lambda: told.put("log"))
    log.close()
    log.write(SwitchedOff())
    assert (told.get(timeout=5), log.error is None) == ("log", False)


def test_the_same_draw_gives_the_same_schedule():
    one, two = Sampled(seed=4).schedule(), Sampled(seed=4).schedule()
    assert one.dumps() == two.dumps() != Sampled(seed=5).schedule().dumps()
    assert {e.point for e in one.events} == {"model:agent"}


def test_a_command_that_is_not_there_is_named(tmp_path):
    setup = Setup(schedule(), tmp_path / "l", rehearse=TASK, command=("no-such-agent",))
    with pytest.raises(BadInputError, match="no-such-agent"):
        stand(setup, lambda _: None)
