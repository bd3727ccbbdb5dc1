"""JSON Schemas of every record that reaches a file, made from the records themselves.

`python -m hfr_bench.model.schemas FOLDER` writes them; `docs/schema/` holds what was written last.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from hfr_bench.model.bundle import Bundle, Content, Environment, Verification
from hfr_bench.model.cassette import Taped
from hfr_bench.model.comparison import Comparison
from hfr_bench.model.dataset import Dataset
from hfr_bench.model.gateway import GatewayLine
from hfr_bench.model.inbox import Answer
from hfr_bench.model.invocation import Invocation
from hfr_bench.model.looks import Look
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.mix import FaultMix
from hfr_bench.model.prereg import Lock, Preregistration
from hfr_bench.model.record import Record
from hfr_bench.model.redaction import Redacted, Redaction
from hfr_bench.model.report import Report
from hfr_bench.model.review import Rating, Review
from hfr_bench.model.schedule import FaultSchedule, KindSpec
from hfr_bench.model.trace import TraceEvent
from hfr_bench.model.trial import PlanRow

DIALECT = "https://json-schema.org/draft/2020-12/schema"

RECORDS: Mapping[str, tuple[str, type[Record]]] = {
    "prereg": ("prereg.yaml", Preregistration),
    "lock": ("prereg.lock.json", Lock),
    "kind": ("injectors/kinds/*.yaml", KindSpec),
    "matrix": ("injectors/matrices/*.yaml", FaultMatrix),
    "mix": ("injectors/mixes/*.yaml, report --mix FILE", FaultMix),
    "schedule": ("a line of schedules/*.jsonl", FaultSchedule),
    "plan": ("a line of plan.jsonl", PlanRow),
    "trace": ("a line of trials/*/*/*.jsonl", TraceEvent),
    "cassette": ("a line of cassettes/*/*/*.jsonl", Taped),
    "run": ("a line of run.jsonl", Invocation),
    "dataset": ("dataset.json of `hfr-bench dataset`", Dataset),
    "look": ("a line of looks.jsonl", Look),
    "inbox": ("a line of inbox.jsonl", Answer),
    "rating": ("a line of reviews/*.jsonl", Rating),
    "review": ("review --summary --json", Review),
    "report": ("report.json, report --format json", Report),
    "comparison": ("compare --json", Comparison),
    "bundle": ("bundle.json of a bundle", Bundle),
    "content": ("content.json of a bundle", Content),
    "environment": ("environment.json of a bundle", Environment),
    "redacted": ("redaction.json of a redacted bundle", Redacted),
    "redaction": ("a line of redactions.jsonl of a redacted bundle", Redaction),
    "verification": ("verify --json", Verification),
    "gateway": ("a line of the log of a gateway of its own", GatewayLine),
}
"""File stem -> where the record is found, and the record. Fields with defaults may be missing."""


def rendered() -> dict[str, str]:
    """File name -> schema, as text."""
    made = {}
    for stem, (where, record) in RECORDS.items():
        schema = {"$schema": DIALECT, "$comment": f"HFR-Bench: {where}"}
        schema |= record.model_json_schema()
        made[f"{stem}.schema.json"] = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
    return made


def write(folder: Path) -> None:
    """Write them all, and remove what is no longer made."""
    folder.mkdir(parents=True, exist_ok=True)
    made = rendered()
    for stale in {path.name for path in folder.glob("*.schema.json")} - made.keys():
        (folder / stale).unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
