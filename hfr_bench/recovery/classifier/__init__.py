"""What the classifier reads and knows (paper §4.2): signals, dialects, words, statuses, hints.

Mostly rows of data. What is asked from outside is `recovery.classify`.
"""
