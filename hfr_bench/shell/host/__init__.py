"""The shell host: runs commands, ends them in time and remembers how they ended.

A program of its own: standard library alone, Python 3.8 or newer, nothing of ours. It need not lie
in the image: `client.command` hands it over with the environment.
"""
