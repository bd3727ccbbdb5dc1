"""SWE-bench: real issues of real repositories, and what swe_mini (`mini`) shares with it.

```
source, load, rows ─→ catalog, tasks, steps          the user's rows as public and sealed halves
images, recipes, contexts, building ─→ testbed       an instance's image, and containers of it
room, world, contracts, levels, verifier             commands in a repository, and checks
apply, scripts ─→ grading ─→ parsers, grade          a patch in a fresh container, the official rule
```

`adapter` is the suite; `checks` are of a patch, `patches` tells what one touches.
docs/swe-bench.md shows how they fit together.
"""
