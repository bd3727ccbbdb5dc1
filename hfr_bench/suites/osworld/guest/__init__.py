"""The guest: a server with OSWorld's HTTP API, in a container or beside us.

Runs by itself, in whatever Python 3.11 is there, and imports nothing else of this project.
"""
