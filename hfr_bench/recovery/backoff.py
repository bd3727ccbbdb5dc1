"""Exponential back-off (paper §4.3), as functions: chance comes in as a number."""


def ceiling_us(attempt: int, base_us: int, cap_us: int, multiplier: float = 2) -> float:
    """min(d_max, d_0 * multiplier^(k-1)), in microseconds: the wait before any jitter.

    `attempt`: k, the retry's number from 1. Raises ValueError below that.
    """
    if attempt < 1:
        raise ValueError(f"retries count from 1, got {attempt}")
    ceiling: float = min(cap_us, base_us)
    if attempt == 1:
        return ceiling
    for _ in range(min(attempt - 1, 40)):  # step by step: a large power would overflow
        ceiling = min(cap_us, ceiling * multiplier)
    return ceiling


def full_jitter_us(attempt: int, base_us: int, cap_us: int, u: float, multiplier: float = 2) -> int:
    """d_k = U(0, min(d_max, d_0 * multiplier^(k-1))), in microseconds.

    `attempt`: k, the retry's number from 1. `u`: a uniform number in [0, 1).
    """
    return int(ceiling_us(attempt, base_us, cap_us, multiplier) * u)


def effective_us(backoff_us: int, retry_after_us: int | None) -> int:
    """max(d_k, Retry-After): a stated wait is never undercut."""
    return max(backoff_us, retry_after_us or 0)
