"""How alike two texts are."""

from rapidfuzz import fuzz

from hfr_bench.suites.osworld.metrics.text import Rules


def likeness(one: str, other: str) -> float:
    """How alike two texts are, 0 to 1."""
    return float(fuzz.ratio(one, other)) / 100.0


def fuzzy_match(result: str, rules: Rules) -> float:
    """How alike a text and `expected` are."""
    return likeness(result, rules["expected"])
