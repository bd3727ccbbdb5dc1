"""Where tool hosts run."""
