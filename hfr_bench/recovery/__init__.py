"""The system under test, pure: no clock, no I/O, no randomness of its own (paper §4).

A strategy is `decide(state, event) -> (state, decision)`; state is JSON-serialisable.
"""
