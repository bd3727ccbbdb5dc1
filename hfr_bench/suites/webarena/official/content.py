"""The suite's content as it lies in `suites/webarena`: what the sites offer, and how it is told."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hfr_bench import content
from hfr_bench.model.record import digest, text_digest
from hfr_bench.model.task import ToolSpec
from hfr_bench.suites.webarena.acting.offer import Offer, read_buttons, read_routes, read_tools
from hfr_bench.suites.webarena.rows import Shape

SUITE = "webarena"
TOOLS = "web_mini"
"""Whose tools.yaml the agent is offered."""


def folder() -> Path:
    """Where the content lies."""
    return content.root() / "suites" / SUITE


@cache
def settings() -> Mapping[str, Any]:
    """suite.yaml."""
    found: Mapping[str, Any] = content.read_yaml(folder() / "suite.yaml")
    return found


def offer(roots: Mapping[str, str]) -> Offer:
    """What the sites offer. `roots`: the path of each site's URL, such as `/admin`.

    A route holds with a slash at its end and without.
    """
    made = []
    for route in read_routes(folder() / "routes.yaml"):
        path = roots.get(route.site, "") + route.path.rstrip("/")
        made += [replace(route, path=f"{path}/"), *([replace(route, path=path)] if path else [])]
    return Offer(
        addresses=settings()["addresses"],
        buttons=read_buttons(folder() / "buttons.yaml"),
        routes=tuple(made),
        roots=roots,
    )


@cache
def tool_specs(shape: Shape) -> tuple[ToolSpec, ...]:
    """The agent's tools for tasks of a shape: an original one is answered in words."""
    tools = read_tools(content.root() / "suites" / TOOLS / "tools.yaml")
    if shape == "verified":
        return tools
    words = {"description": settings()["stop_in_words"]}
    return tuple(one.model_copy(update=words) if one.name == "stop" else one for one in tools)


@cache
def content_digest() -> str:
    """Of every file of the content, and of the tools."""
    files = [*sorted(folder().iterdir()), content.root() / "suites" / TOOLS / "tools.yaml"]
    return digest({p.parent.name + "/" + p.name: text_digest(p.read_text("utf-8")) for p in files})
