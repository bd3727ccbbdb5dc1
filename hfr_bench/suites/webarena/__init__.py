"""WebArena: tasks of a browser against web sites.

`official` and `mini` are suites; all else are parts that know nothing of trials.
docs/webarena.md shows how they fit together.
"""
