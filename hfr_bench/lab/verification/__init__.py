"""From a stranger's bundle to a verdict: levels 0 to 4, each of which trusts only those before it.

    bundle -read-> files (0) -> frozen, registered (1, 2) -> traces, bills, prices, seeds (3)
           -> again (4);  sense: what holds whoever sealed it;  redacted: what of it was taken out
    crew, ahead, help: a second process that begins what will be needed

`verify.verify` calls them in this order.
"""
