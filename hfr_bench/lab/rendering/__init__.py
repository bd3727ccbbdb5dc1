"""A report's numbers as something to look at; no number is made here.

report -> cells -> tables, rows, figures (drawing), pairs (disagree, sides)
-> render (words, Markdown, CSV) | html | latex -> pages (files, and their bytes)
"""
