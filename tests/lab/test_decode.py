"""The fast decoders take nothing that pydantic refuses, and see in it what pydantic sees."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError, model_validator

from hfr_bench.lab import decode
from hfr_bench.lab.book import ScheduleBook
from hfr_bench.model.ledger import Checkpoint
from hfr_bench.model.record import Record, digest
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, Lasts
from hfr_bench.model.terms import VoidCause
from hfr_bench.model.trace import (
    Carried,
    Checkpointed,
    CohortPlace,
    TraceEvent,
    TrialEnded,
    TrialStarted,
)
from hfr_bench.model.trial import Outcome, TrialResult
from hfr_bench.testing.results import result

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
STATE = st.dictionaries(st.text(max_size=3), JSON, max_size=2)
OUTCOME = st.builds(Outcome)
RESULT = st.one_of(
    st.builds(TrialResult, outcome=OUTCOME, void=st.none()),
    st.builds(TrialResult, outcome=st.none(), void=st.sampled_from(VoidCause)),
)
SPECIAL = {
    TrialEnded: {"result": RESULT},
    TrialStarted: {"cohort": st.none() | st.builds(CohortPlace, shared=STATE)},
    Carried: {"shared": STATE},
    Checkpointed: {"checkpoint": st.builds(Checkpoint, strategy_state=STATE, agent_state=STATE)},
}


def of(model):
    default = model.model_fields["type"].default
    return st.builds(model, type=st.just(default), v=st.just(1), **SPECIAL.get(model, {}))


EVENTS = st.one_of([of(model) for model in decode.BODIES]).flatmap(
    lambda body: st.builds(TraceEvent, body=st.just(body))
)


def pydantic(line):
    try:
        return TraceEvent.loads(line)
    except ValidationError:
        return None


def agree(line: bytes) -> bool:
    """Whether the fast way took it; and then pydantic must, with the same values."""
    taken = decode.trace_events([line])
    if taken is None:
        return False
    slow = pydantic(line)
    assert slow is not None, line
    ours, theirs = json.loads(msgspec.json.encode(taken[0])), json.loads(slow.dumps())
    for unused in ours["body"].keys() - theirs["body"].keys():
        assert not ours["body"].pop(unused)  # a record does not write what is not used
    assert ours == theirs
    assert [type(value) for value in leaves(ours)] == [type(value) for value in leaves(theirs)]
    return True


def leaves(value):
    if isinstance(value, dict):
        for key in sorted(value):
            yield from leaves(value[key])
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


def places(value, path=()):
    """The path of every value in some JSON."""
    yield path
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from places(inner, (*path, key))


def spoil(value, path, what):
    """The JSON with `what` done to the holder and key of one place."""
    whole = [value]
    holder = whole
    for key in (0, *path)[:-1]:
        holder = holder[key]
    what(holder, (0, *path)[-1])
    return whole[0]


@settings(max_examples=150)
@given(EVENTS)
def test_every_line_that_is_written_is_taken_as_pydantic_takes_it(event):
    line = event.dumps().encode()
    finite = pydantic(line) == event  # NaN and infinity are written as null
    assert agree(line) is finite or pydantic(line) is not None


@settings(max_examples=250)
@given(EVENTS, st.data())
def test_a_spoilt_line_is_never_taken_against_pydantic(event, data):
    value = json.loads(event.dumps())
    path = data.draw(st.sampled_from(sorted(places(value), key=repr)))
    other = data.draw(JSON | st.sampled_from(["1", 1.0, "1.5 USD", -1, 2**63, 2**70, True]))

    def put(holder, key):
        holder[key] = other

    def drop(holder, key):
        del holder[key]

    def add(holder, key):
        if isinstance(holder[key], dict):
            holder[key]["stranger"] = other

    whole = spoil(value, path, data.draw(st.sampled_from([put, add, drop] if path else [put, add])))
    agree(json.dumps(whole).encode())


LINE = TraceEvent(
    trial_id="t", seq=1, t_us=2, body=TrialEnded(result=result(trial_id="t"))
).dumps().encode()  # fmt: skip


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (b'"seq":1', b'"seq":"1"'),
        (b'"seq":1', b'"seq":1.0'),
        (b'"seq":1', b'"seq":true'),
        (b'"cost_microusd":1000', b'"cost_microusd":"1.5 USD"'),
        (b'"cost_microusd":1000', b'"cost_microusd":1.5'),
        (b'"goal_met":true', b'"goal_met":1'),
        (b'"steps":2', b'"steps":2,"stranger":1'),
        (b'"seq":1', b'"seq":1,"stranger":1'),
        (b'"end":"accepted"', b'"end":"nowhere"'),
        (b'"void":null', b'"void":"sandbox"'),
        (b'"rate":0.1', b'"rate":NaN'),
        (b'"type":"trial_ended"', b'"type":"stranger"'),
        (b'"type":"trial_ended",', b""),
        (b'"steps":2', b'"steps":null'),
        (b'"arm":"a"', b'"arm":"\xff"'),
        (LINE, LINE + LINE),
        (LINE, LINE[:-20]),
        (LINE, b""),
        (LINE, b"\x00" * 20),
        (LINE, b"[]"),
    ],
)
def test_what_matters_for_a_number_is_refused(was, now):
    assert agree(LINE)
    assert was in LINE
    assert not agree(LINE.replace(was, now))


def test_one_line_that_is_not_taken_is_enough():
    assert decode.trace_events([LINE, b"{}"]) is None
    assert len(decode.trace_events([LINE, LINE])) == 2


def test_the_envelope_has_the_fields_of_an_event():
    fields = {field.name: field for field in msgspec.structs.fields(decode._Event)}
    assert fields.keys() == TraceEvent.model_fields.keys()
    for name, info in TraceEvent.model_fields.items():
        assert fields[name].required is info.is_required()
        assert name == "body" or info.is_required() or fields[name].default == info.default


def test_likes_have_the_properties_of_their_records():
    (event,) = decode.trace_events([LINE])
    record = TraceEvent.loads(LINE).body.result
    made = decode.full(TrialResult, event.body.result)
    assert made == record
    assert made.dumps() == record.dumps()
    assert made.model_copy(update={"steps": 9}) == record.model_copy(update={"steps": 9})
    assert event.body.result.outcome.harm == record.outcome.harm
    assert event.body.result.outcome.succeeded == record.outcome.succeeded


def test_a_record_with_a_check_that_is_not_said_again_is_refused():
    class Picky(Record):
        n: int = 0

        @model_validator(mode="after")
        def _check(self):
            return self

    with pytest.raises(TypeError, match="Picky has validators"):
        decode.struct_of(Picky)
    assert issubclass(Picky, BaseModel)


SCHEDULES = st.builds(
    FaultSchedule,
    events=st.lists(
        st.builds(FaultEvent, lasts=st.builds(Lasts, n=st.integers(1, 9))), max_size=3
    ).map(tuple),
)


@given(SCHEDULES)
def test_schedules_are_read_as_pydantic_reads_them(made):
    line = made.dumps()
    fast = decode.read(FaultSchedule, line)
    assert fast is None or (fast == FaultSchedule.loads(line) and fast.dumps() == line)


def test_bounds_of_a_field_hold():
    line = FaultEvent(
        injection_id="i", layer="tool", kind="k", point="p", occurrence=1
    ).dumps()  # fmt: skip
    assert decode.like(FaultEvent, line) is not None
    assert decode.like(FaultEvent, line.replace('"n":1', '"n":0')) is None


@given(st.lists(st.text(max_size=9).filter(lambda t: '"' not in t), max_size=4, unique=True))
def test_a_books_digest_is_that_of_canonical_json(names):
    ok = [n for n in names if n.encode("utf-8", "ignore").decode() == n and n]
    lines = [f'{{"v":1,"schedule_id":"{name}"}}' for name in ok]
    assert ScheduleBook(lines).digest == digest(
        [line for _, line in sorted(zip(ok, lines, strict=True))]
    )
