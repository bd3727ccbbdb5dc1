"""Agents: each one screen. Add a variant rather than complicate one."""
