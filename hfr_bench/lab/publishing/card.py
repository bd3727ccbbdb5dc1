"""README.md of a published dataset: the card that Hugging Face reads, and the checklist."""

from collections.abc import Mapping, Sequence

import yaml

from hfr_bench import __version__
from hfr_bench.lab.publishing.checklist import Item, table
from hfr_bench.lab.publishing.columns import Table
from hfr_bench.lab.rendering import render
from hfr_bench.model.report import Report

RECORDS = "data/records.jsonl"
_ABOUT = {
    "trials": "a row a trial: result, sums, flaws",
    "attempts": "a row an attempt: what went out, what came back",
    "effects": "a row a call that a tool really ran",
    "decisions": "a row a decision of the strategy, with what it believed",
    "faults": "a row an injected fault",
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))


def card(
    report: Report,
    tables: Sequence[Table],
    items: Sequence[Item],
    *,
    licence: str,
    manifest: str,
    texts: Mapping[str, str],
) -> str:
    """The page. `manifest`: the bundle's digest. `texts`: suite -> what became of its words."""
    rows = "\n".join(
        f"| `{one.name}` | `data/{one.name}.parquet` | {one.rows} | {_ABOUT[one.name]} |"
        for one in tables
    )
    words = ", ".join(f"{suite}: {rule}" for suite, rule in texts.items())
    doubt = "" if report.valid and report.complete else f"\n**{render.verdict(report)}**\n"
    return f"""\
---
{_head(report, tables, licence)}---
# {report.title}

Traces and results of the experiment `{report.name}` of HFR-Bench {__version__}, which measures how
well the runtime of an LLM agent survives failure. Origin: **{report.origin}**{_origin(report)}.
{doubt}
| config | file | rows | |
|---|---|---|---|
{rows}
| | `{RECORDS}` | {report.trials_analysed + report.control_trials} | a record a trial (JSON lines) |

`data/` is derived. The truth is `bundle/`: registration, schedules, raw traces (JSON lines) and the
report, in which every number follows from the traces. To check all of it:

    hfr-bench verify bundle --expect {manifest}

Texts that traces quote, by suite: {words} (see `bundle/redaction.json`; each change is listed in
`bundle/redactions.jsonl`). Benchmark texts and solutions are not in here: tasks are named by id.

## Checklist

{chr(10).join(table(items))}
"""


def _origin(report: Report) -> str:
    if report.origin == "live":
        return ": a real model"
    return ": a scripted stand-in for the model, so that nothing here is a model's result"


def _head(report: Report, tables: Sequence[Table], licence: str) -> str:
    """The YAML that says what there is.

    Tables only: `datasets` reads all configs of a repository by one format.
    """
    trials = next((one.rows for one in tables if one.name == "trials"), 0)
    size = next((name for bound, name in _SIZES if trials < bound), "n>1M")
    configs = [
        {"config_name": one.name, "data_files": f"data/{one.name}.parquet"} for one in tables
    ]
    configs[0]["default"] = True  # type: ignore[assignment]
    head = {
        "pretty_name": report.title,
        "license": licence,
        "tags": ["hfr-bench", "agents", "fault-injection", str(report.origin)],
        "size_categories": [size],
        "configs": configs,
    }
    return yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
