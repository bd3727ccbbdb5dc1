"""What tokens cost by a row of a price table."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.price import charged, priced, tokens
from hfr_bench.model.record import compact

PER_TOKEN = st.floats(0, 1e-3, allow_nan=False)
ROWS = st.fixed_dictionaries(
    {"input_cost_per_token": PER_TOKEN, "output_cost_per_token": PER_TOKEN},
    optional={"input_cost_per_token_above_128k_tokens": PER_TOKEN, "mode": st.just("chat")},
)
COUNT = st.integers(0, 10**6)


@given(row=ROWS, prompt=COUNT, completion=COUNT)
def test_a_row_that_went_through_a_file_costs_the_same(
    row: dict[str, Any], prompt: int, completion: int
) -> None:
    price, again = priced(row), priced(json.loads(compact(row)))
    assert price is not None
    assert again is not None
    assert price.microusd(prompt, completion) == again.microusd(prompt, completion)


@given(row=ROWS, prompt=st.integers(0, 128_000), completion=COUNT)
def test_an_answer_costs_what_the_dollars_as_written_make(
    row: dict[str, Any], prompt: int, completion: int
) -> None:
    price = priced(row)
    assert price is not None
    per_in, per_out = (Fraction(repr(row[f"{end}_cost_per_token"])) for end in ("input", "output"))
    due = (prompt * per_in + completion * per_out) * 1_000_000
    assert abs(price.microusd(prompt, completion) - due) <= Fraction(1, 2)


@pytest.mark.parametrize("per_in", [None, True, "1", -1])
def test_a_row_that_lacks_a_price_is_no_price(per_in: Any) -> None:
    assert priced({"input_cost_per_token": per_in, "output_cost_per_token": 1}) is None
    assert priced({"input_cost_per_token": 1}) is None
    assert priced(None) is None


def test_what_is_not_known_is_charged_as_unknown_never_as_nothing() -> None:
    price = priced({"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6})
    assert charged(price, (10, 5)) == 20
    assert charged(price, None) is None
    assert charged(None, (10, 5)) is None
    assert tokens(10, 0) == (10, 0)
    assert [tokens(0, 5), tokens(None, None), tokens(5, None)] == [None] * 3
