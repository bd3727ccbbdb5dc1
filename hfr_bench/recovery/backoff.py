"""Full-jitter exponential back-off (paper §4.3), as a function: chance comes in as a number."""


def full_jitter_us(attempt: int, base_us: int, cap_us: int, u: float) -> int:
    """d_k = U(0, min(d_max, d_0 * 2^(k-1))), in microseconds.

    `attempt`: k, the retry's number from 1. `u`: a uniform number in [0, 1).
    """
    if attempt < 1:
        raise ValueError(f"retries count from 1, got {attempt}")
    ceiling = min(cap_us, base_us << min(attempt - 1, 40))
    return int(ceiling * u)


def effective_us(backoff_us: int, retry_after_us: int | None) -> int:
    """max(d_k, Retry-After): a stated wait is never undercut."""
    return max(backoff_us, retry_after_us or 0)
