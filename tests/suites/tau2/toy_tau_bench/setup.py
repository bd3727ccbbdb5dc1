"""A toy of tau-bench's layout: our own code, the shapes the host reads. It is never installed."""

version = "0.0.7"
