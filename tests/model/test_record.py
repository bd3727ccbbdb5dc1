"""Records and digests: frozen, canonical, the same in any order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hfr_bench.model.attempt import Observation
from hfr_bench.model.record import Record, canonical, digest, json_digest, short_id, text_digest
from hfr_bench.model.schedule import FaultEvent, Lasts, Respond
from hfr_bench.model.terms import Layer

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


class Pair(Record):
    left: int
    right: tuple[str, ...] = ()


def test_a_record_is_frozen_and_refuses_unknown_keys() -> None:
    pair = Pair(left=1)
    with pytest.raises(ValidationError):
        pair.left = 2
    with pytest.raises(ValidationError, match="extra"):
        Pair.model_validate({"left": 1, "wrong": 2})


def test_a_line_read_back_is_the_same_record_and_digest() -> None:
    pair = Pair(left=1, right=("ünï", "\u2028"))
    assert Pair.loads(pair.dumps()) == pair
    assert "\n" not in pair.dumps()
    assert Pair.loads(pair.dumps()).digest() == pair.digest() != Pair(left=2).digest()


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=4), json_values, max_size=5))
def test_digests_do_not_depend_on_key_order(value: dict[str, object]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical(value) == canonical(turned)
    assert digest(value) == digest(turned)
    assert json_digest(value) == json_digest(turned)
    assert short_id(value) == digest(turned)[:16]


def test_canonical_json_knows_one_way_to_write_a_number() -> None:
    assert canonical({"b": 1.0, "a": 1e21}) == b'{"a":1e+21,"b":1}'
    with pytest.raises(ValueError, match="safe integer"):
        canonical(2**60)


def test_text_digest_takes_text_and_bytes() -> None:
    assert text_digest("é") == text_digest("é".encode()) != text_digest("e")


def test_a_wire_effect_is_told_by_its_type() -> None:
    event = FaultEvent(
        injection_id="i", layer=Layer.TOOL, kind="k", point="p", occurrence=1, lasts=Lasts(n=2)
    )
    assert FaultEvent.loads(event.dumps()) == event
    with pytest.raises(ValidationError):
        Respond.model_validate({"type": "stall", "status": 500})


def test_observations_do_not_share_their_headers() -> None:
    one, two = Observation(answered=True), Observation(answered=True)
    assert one.headers == {}
    assert one.headers is not two.headers
