"""The MCP proxy: any MCP server under a schedule, for any client, over stdio or HTTP."""

from hfr_bench.injectors.mcp.proxy import Ended, McpProxy

__all__ = ["Ended", "McpProxy"]
