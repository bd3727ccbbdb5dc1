"""A small real MCP server: a shop whose writes are counted in a file, one line each.

`python server.py WORLD` serves over stdio; tests also have it in-process, and over HTTP.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import SamplingMessage, TextContent, ToolAnnotations

READ = ToolAnnotations(read_only_hint=True)
MOTTO = "48 hours to your door"


def make(world: Path) -> MCPServer:
    """A shop whose world is a file."""
    server = MCPServer("shop", log_level="CRITICAL")

    @server.tool(annotations=READ)
    def order(order_id: str) -> dict[str, Any]:
        return {"order_id": order_id, "total": 120, "note": "by noon", "writes": count(world)}

    @server.tool(annotations=READ)
    def motto() -> str:
        return MOTTO

    @server.tool()
    def buy(item: str) -> str:
        with world.open("a", encoding="utf-8") as file:
            file.write(f"{item}\n")
        return f"bought {item}"

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True))
    def set_note(text: str) -> str:
        return text

    @server.tool(annotations=ToolAnnotations(destructive_hint=True))
    def drop() -> str:
        raise ToolError("nothing to drop")

    @server.tool()
    async def slow(item: str, context: Context) -> str:
        await context.report_progress(1, 2, "half")
        await anyio.sleep(0.01)
        return buy(item)

    @server.tool()
    async def ask_model(question: str, context: Context) -> str:
        said = SamplingMessage(role="user", content=TextContent(type="text", text=question))
        with warnings.catch_warnings(action="ignore"):  # deprecated, and what clients still use
            answer = await context.session.create_message([said], max_tokens=10)
        return str(getattr(answer.content, "text", ""))

    @server.resource("shop://motto")
    def resource() -> str:
        return MOTTO

    @server.prompt()
    def greet(name: str) -> str:
        return f"Greet {name}."

    return server


def count(world: Path) -> int:
    """How many writes there were."""
    return len(world.read_text(encoding="utf-8").splitlines()) if world.exists() else 0


if __name__ == "__main__":
    make(Path(sys.argv[1])).run("stdio")
