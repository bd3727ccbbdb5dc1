"""Upstream's own metrics, run by a Python that has desktop-env: JSON lines in, JSON lines out."""
