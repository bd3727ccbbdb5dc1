"""Fakes and fixtures that ship with the package, for our tests and for plugin authors.

- `fakes`, `hosts`: one for every port, driven by plain lists and functions
- `shop`: a suite with a living world in memory, one tool of every side-effect level
- `rig`: an agent under guard in that shop, faults and all, without files or servers
- `conformance` (with `walk`): what a plug must do, as functions that raise
- `laws`: what must hold of any careful strategy's trace
- `results`, `experiments`: synthetic results, traces and folders, for what reads them
"""
