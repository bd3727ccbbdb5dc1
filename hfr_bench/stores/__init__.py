"""Ledgers and checkpoints that outlive the runtime: a file a backend (paper §4.5, §5.4)."""
