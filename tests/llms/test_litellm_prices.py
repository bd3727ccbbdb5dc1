"""Rows of litellm's table as prices; the table here is ours."""

from fractions import Fraction

from hfr_bench.llms.litellm.prices import _price
from hfr_bench.llms.litellm.relay import Bounds

ROW = {
    "litellm_provider": "openai",
    "input_cost_per_token": 1.5e-07,
    "output_cost_per_token": 6e-07,
    "input_cost_per_token_above_200k_tokens": 3e-07,
}


def test_a_model_is_found_under_its_own_provider_only() -> None:
    table = {"m": ROW}
    assert _price(table, "openai/m") is not None
    assert _price(table, "m") is not None
    assert _price(table, "azure/m") is None
    assert _price(table, "openai/other") is None


def test_a_row_without_a_price_a_token_is_unknown_and_a_free_one_is_not() -> None:
    assert _price({"m": {"input_cost_per_second": 1}}, "m") is None
    free = _price({"m": {"input_cost_per_token": 0, "output_cost_per_token": 0}}, "m")
    assert free is not None
    assert free.microusd(10, 10) == 0


def test_long_prompts_cost_what_the_row_says_of_them() -> None:
    price = _price({"m": ROW}, "m")
    assert price is not None
    assert price.tiers[0] == (0, Fraction(15, 100), Fraction(6, 10))
    assert price.microusd(200_000, 0) == 30_000
    assert price.microusd(200_001, 0) == 60_000


def test_organic_waits_grow_to_their_bound_and_end() -> None:
    bounds = Bounds(retries=3, wait_s=1, wait_max_s=3)
    assert [bounds.wait(failed, 0) for failed in (1, 2, 3, 4)] == [1, 2, 3, None]
    assert bounds.wait(1, 2.5) == 2.5
    assert bounds.wait(1, 3.5) is None
