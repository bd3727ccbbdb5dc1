"""The blinded spot check (paper §6.6.5): draw, view, session, page, server, book, summary."""
