"""WebArena: tasks of a browser against web sites. Parts that know nothing of trials.

docs/webarena.md shows how they fit together.
"""
