"""Policies made of other people's settings: what libraries and runners do today, as it is.

None of them imports its library: each is the library's rule written down, and a test holds it
against the real one, hit by hit and wait by wait. Only chance is ours: the draws are keyed.
"""
