"""SWE-bench: real issues of real repositories. The parts that need no container.

Reading tasks (`load`, `rows`), grading a log by the official rule (`grade`, `parsers`), applying a
patch (`apply`), levels of shell commands (`levels`), names and recipes of images (`images`,
`recipes`), the scripts that make and judge a repository (`scripts`), and checks for a strategy that
never sees the hidden tests (`checks`). docs/swe-bench.md shows how they fit together.
"""
