"""Upstream's catalog and our content, joined into public tasks and sealed ones."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.task import (
    ExpectedEffect,
    OracleStep,
    SealedTask,
    TaskSpec,
    ToolSpec,
)
from hfr_bench.suites._tools import fault_points

SUITE = "tau2"


def read_content(name: str) -> dict[str, Any]:
    """One of the suite's YAML files by name."""
    data: dict[str, Any] = content.read_yaml(content.root() / "suites" / SUITE / f"{name}.yaml")
    return data


class Content(NamedTuple):
    """Our content for one source: the YAML files, with what checkouts.yaml lays over them.

    `tools`: rows by domain and tool; `pools`: ids by pool and domain; `probes`: calls by domain;
    `files`: all that was read, for a digest. Each row or list of the overlay replaces ours whole.
    """

    tools: dict[str, dict[str, Any]]
    pools: dict[str, dict[str, Any]]
    probes: dict[str, list[Any]]
    files: list[dict[str, Any]]

    @classmethod
    def of(cls, source: str) -> "Content":
        """For the source of that name; only checkouts have an overlay."""
        files = [read_content(name) for name in ("suite", "tools", "pools", "probes")]
        _, tools, pools, probes = files
        over = read_content("checkouts").get(source, {})
        domains = files[0]["domains"]
        return cls(
            tools={d: tools[d]["assistant"] | over.get("tools", {}).get(d, {}) for d in domains},
            pools={n: row | over.get("pools", {}).get(n, {}) for n, row in pools["pools"].items()},
            probes={d: probes[d] + over.get("probes", {}).get(d, []) for d in domains},
            files=[*files, over] if over else files,
        )


def tool_specs(
    domain: str, catalog: Mapping[str, Any], rows: Mapping[str, dict[str, Any]]
) -> tuple[ToolSpec, ...]:
    """The agent's tools with their recovery contracts.

    Raises BadInputError if upstream offers a tool that our content does not know.
    """
    rows = rows[domain]
    specs = []
    for tool in catalog["tools"]:
        name = tool["name"]
        if name not in rows:
            raise BadInputError(
                f"suites/tau2/tools.yaml, checkouts.yaml: {domain} has no entry for {name!r}"
            )
        specs.append(_spec(domain, tool, rows[name]))
    return tuple(specs)


def _spec(domain: str, tool: Mapping[str, Any], row: Mapping[str, Any]) -> ToolSpec:
    """Upstream's description and our row, joined. Raises BadInputError naming each wrong key."""
    ours = {key: value for key, value in row.items() if key != "why"}
    upstream = {key: tool[key] for key in ("name", "description", "parameters")}
    try:
        return ToolSpec.model_validate(upstream | ours)
    except ValidationError as error:
        where = f"suites/tau2/tools.yaml: {domain}.{tool['name']}"
        raise BadInputError(f"{where}: {content.explain(error)}") from error


def public_task(
    domain: str, row: Mapping[str, Any], policy: str, tools: tuple[ToolSpec, ...]
) -> TaskSpec:
    """What agent, strategy and verifier may see of a task."""
    manifest = read_content("suite")
    return TaskSpec(
        task_id=f"{domain}/{row['task_id']}",
        suite=SUITE,
        domain=domain,
        prompt=policy,
        stratum=domain,
        deadline_s=float(manifest["deadline_s"]),
        tools=tools,
        fault_points=fault_points(tools, checked=False),
        source_digest=row["digest"],
    )


def sealed_task(domain: str, row: Mapping[str, Any], tools: tuple[ToolSpec, ...]) -> SealedTask:
    """The gold calls as oracle, and the effects they want. Raises KeyError for an odd row."""
    oracle = tuple(
        OracleStep(
            actor="user" if step["requestor"] == "user" else "agent",
            tool=step["name"],
            arguments=step["arguments"],
        )
        for step in row["gold"]
    )
    user = row["user"]
    return SealedTask(
        task_id=f"{domain}/{row['task_id']}",
        suite=SUITE,
        opening=str(user.get("reason_for_call") or user["text"]),
        oracle=oracle,
        say=tuple(row["communicate"]),
        expected=_expected(oracle, tools),
    )


def _expected(
    oracle: tuple[OracleStep, ...], tools: tuple[ToolSpec, ...]
) -> tuple[ExpectedEffect, ...]:
    """Gold writes of the agent by natural key. What a gold call fails to do is never missed."""
    by_name = {tool.name: tool for tool in tools}
    counts: Counter[tuple[str, str]] = Counter()
    for step in oracle:
        spec = by_name.get(step.tool) if step.actor == "agent" else None
        if spec is not None and spec.level.writes:
            counts[spec.natural_key(step.arguments), spec.name] += 1
    return tuple(
        ExpectedEffect(natural_key=key, tool=tool, count=count)
        for (key, tool), count in counts.items()
    )
