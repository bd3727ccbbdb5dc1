"""Injectors: faults at a call boundary in-process, or on the wire. Each a plug of its own."""
