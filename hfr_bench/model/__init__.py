"""Nouns: what is written to a file or crosses a port.

pydantic records at file boundaries (frozen, unknown keys refused, tuples not sets); the values
that live inside the attempt loop are slotted dataclasses, ten times cheaper to make.
"""
