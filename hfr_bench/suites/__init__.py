"""Suites: what is asked, in which world, and who judges it. Each a plug of its own."""
