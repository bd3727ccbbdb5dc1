"""The tool host of the databases: a program of its own.

It needs Python's standard library alone; with MariaDB also PyMySQL and a server beside it.
"""
