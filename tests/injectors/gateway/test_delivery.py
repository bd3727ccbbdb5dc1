"""Delivered = reached, kind by kind: our client, the recorder, the gateway, and the audit."""

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import audit
from hfr_bench.faults.dialects import CHAT
from hfr_bench.faults.shape import answers, wire
from hfr_bench.injectors.gateway import edits
from hfr_bench.lab.recorder import Seen, Sums, TruthQueue
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.schedule import Lasts, Rewrite
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.ports.calls import CallPort
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.fakes import ListSink
from hfr_bench.testing.results import schedule, started

from .answers import REQUESTS, ModelServer

KINDS = sorted(name for name, kind in content.kinds().items() if kind.layer is Layer.MODEL)
EVENTS = 25  # of one trial: the audit looks at all attempts of a trial at once
TIMEOUT_US = 60_000_000
PAYLOAD = {key: value for key, value in REQUESTS[CHAT].items() if key != "model"}


def call(occurrence, attempt):
    return Call(
        occurrence, "model:agent", occurrence, attempt, Channel.MODEL, "m", TIMEOUT_US, PAYLOAD
    )


class Watched:
    """A port that keeps what came back, or spoils it first."""

    def __init__(self, inner: CallPort, spoil=lambda seen, call: seen) -> None:
        self.inner, self.spoil = inner, spoil
        self.seen: list[Observation] = []

    def attempt(self, asked: Call) -> Observation:
        self.seen.append(self.spoil(self.inner.attempt(asked), asked))
        return self.seen[-1]


def play(name, stages, event, number=0, spoil=None, events=EVENTS):
    """A trial of so many faults of a kind, each met once and followed by a good attempt."""
    values = content.kinds()[name].params
    plan = [
        event(
            name,
            n,
            injection_id=f"{number}/{n}",
            lasts=Lasts(),
            params={key: found[n % len(found)] for key, found in values.items()},
        )
        for n in range(1, events + 1)
    ]
    truth = TruthQueue({one.injection_id: one for one in plan})
    stage = stages(*plan, tell=truth.tell)
    sink = ListSink(stage.clock)
    trial = planned().rows[0].trial
    sink.write(started(trial).body)
    port = Watched(stage.client(truth.take_announced_us), spoil or (lambda seen, _: seen))
    seen = Seen(port, sink, truth, stage.clock, Sums(), 0)
    for n in range(1, events + 1):
        seen.attempt(call(n, 1))
        assert seen.attempt(call(n, 2)).answered
    found = audit(sink.events, schedule(trial, plan), content.kinds())
    return found, plan, port.seen[::2]


@pytest.fixture
def server(upstream):
    upstream.answer = ModelServer(upstream)
    return upstream.answer


def check(name, stages, event, server, trials):
    """Plays trials; returns how many events were delivered, which is how many were reached."""
    kind = content.kinds()[name]
    reached = delivered = 0
    for number in range(trials):
        server.sent.clear()
        found, plan, seen = play(name, stages, event, number)
        assert (found.failed, found.untrue) == ((), ())
        (sums,) = found.sums.values()
        assert sums.mismatched == ()
        reached += sums.reached
        delivered += sums.delivered
        for planned_, observation in zip(plan, seen, strict=True):
            effect = wire(planned_, kind, CHAT)
            assert observation.answered is answers(effect)
            if isinstance(effect, Rewrite):  # what the audit cannot know: the very words
                named = effect.edits
                wanted = edits.edited(named, server.sent[0], CHAT, ["order"], streamed=False)
                assert observation.body.encode() == wanted
    assert reached == delivered == trials * EVENTS
    return delivered


@pytest.mark.parametrize("name", KINDS)
def test_every_event_that_is_reached_is_delivered(name, stages, event, server):
    assert check(name, stages, event, server, 4) == 100


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_ten_thousand_events_are_delivered(name, stages, event, server):
    assert check(name, stages, event, server, 400) == 10_000


def another(observation, _):
    """Somebody alters the answer on its way."""
    changes = {"body": observation.body + " "}
    if observation.exception:
        changes = {"exception": "Odd"}
    return _replaced(observation, **changes)


def healed(_, asked):
    """Somebody between us and the fault has another try, and keeps it to himself."""
    return Observation(answered=True, status=200, body="hello")


def _replaced(observation, **changes):
    names = ("answered", "status", "exception", "sent", "headers", "body", "latency_us")
    return Observation(**{name: getattr(observation, name) for name in names} | changes)


@pytest.mark.parametrize("name", KINDS)
def test_what_another_layer_does_to_a_fault_is_seen(name, stages, event, server):
    def only_first(change):
        return lambda seen, asked: change(seen, asked) if asked.attempt == 1 else seen

    for change in (healed, another):
        found, *_ = play(name, stages, event, spoil=only_first(change), events=5)
        (sums,) = found.sums.values()
        assert (sums.reached, sums.delivered) == (5, 0)


@pytest.mark.parametrize("name", [n for n in KINDS if "edits" in str(content.kinds()[n].wire)])
def test_an_answer_that_was_not_altered_is_not_delivered(name, stages, event, server):
    def true(observation, asked):
        if asked.attempt > 1:
            return observation
        body = server.sent[-1].decode()
        return _replaced(observation, body=body, answered=True)

    found, *_ = play(name, stages, event, spoil=true, events=5)
    (sums,) = found.sums.values()
    assert (sums.reached, sums.delivered) == (5, 0)
    assert "altered" in sums.mismatched[0]
