"""Traces in the forms that other people's tools read.

    traces -> outline (a trial as a conversation) -> atif | inspect_log
    traces -> spans (lab.spans)                   -> otlp
    write: one folder for all of them

What a form has no place for (faults, decisions, effects, origin) goes where that form keeps what is
its user's own: `extra.hfr`, sample metadata, span attributes.
"""
