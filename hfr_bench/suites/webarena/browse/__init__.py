"""Browsing: the actions of WebArena, carried out by one of two drivers.

`driver` says what a driver is and what it shows, `actions` what it is told to do. `http` needs
nothing but a server and runs no scripts; `chromium` is a real browser (the extra `webarena`). Both
show the same words for the same page, so that one list of actions serves either.
"""
