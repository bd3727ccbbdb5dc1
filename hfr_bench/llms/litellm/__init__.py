"""Live models through litellm: any provider it speaks to, behind a loopback relay of our own."""

from hfr_bench.llms.litellm.backend import LiteLlm

__all__ = ["LiteLlm"]
