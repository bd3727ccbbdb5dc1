"""What the makers of numbers and the tables that show them both say; the latter need no numpy."""

FEW = 10
"""Below this many events (or tasks with one) an interval is exact."""

SAME = "no pair differs"
TOO_FEW = "too few differ"
"""Fewer than FEW tasks make a difference of what is no share (`stats.bounds.too_few_differ`)."""

SPENT = ("cost_mean", "p95")
"""What success is held against on the Pareto fronts, besides harm."""


def keyed(kind: str, lands: bool | None) -> str:
    """The name of a kind, or of those of its faults that landed, or did not."""
    return kind if lands is None else f"{kind}/{'landed' if lands else 'lost'}"
