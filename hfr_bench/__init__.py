"""HFR-Bench: how well does an LLM agent's runtime survive failure?

Layers (DESIGN: cli -> lab -> ports <- plugs; ports -> core -> model; nobody imports a plug).
"""

__version__ = "0.1.0"
