"""Metadata for machines, by hand: Croissant 1.1 (croissant.json) and RO-Crate 1.3.

Both name every file but the traces, each with its SHA-256; the traces are held by the bundle's
MANIFEST.sha256, which is one of the files named.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hfr_bench import __version__
from hfr_bench.lab.publishing.columns import Table

CROISSANT, CRATE = "croissant.json", "ro-crate-metadata.json"
_TYPES = {
    ".parquet": "application/x-parquet",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".md": "text/markdown",
    ".html": "text/html",
    ".yaml": "application/yaml",
}
_KINDS = {
    "VARCHAR": "sc:Text",
    "BIGINT": "sc:Integer",
    "BOOLEAN": "sc:Boolean",
    "DOUBLE": "sc:Float",
}
_FILES = {
    "README.md": "The dataset's card.",
    "CHECKLIST.md": "The paper's checklist of an experiment, filled in.",
    "data/": "A table made of the traces; croissant.json types its columns.",
    "data/records.jsonl": "The paper's record of a task, a line a trial.",
    "bundle/": "A file of the bundle that `hfr-bench verify` checks.",
    "bundle/MANIFEST.sha256": "The SHA-256 of every file of the bundle, its traces included.",
    "bundle/prereg.yaml": "The registration.",
    "bundle/prereg.lock.json": "What the registration was frozen to.",
    "bundle/plan.jsonl": "The plan, a line a trial.",
    "bundle/schedules/": "Fault schedules, drawn before the run; a line each.",
    "bundle/content/": "A suite's manifest or its tools' recovery levels, for readers.",
    "bundle/report.json": "Every number that came out.",
    "bundle/run.jsonl": "When it was run, and how that ended.",
    "twin/": "A synthetic experiment of the same shape.",
}
_SPDX = "https://spdx.org/licenses/"
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "arrayShape": "cr:arrayShape",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


class About(NamedTuple):
    """What both say of the whole. `licence`: an id.

    `date`, `ran`: when it was frozen, and when its first run began (or ""), ISO 8601.
    """

    name: str
    title: str
    description: str
    date: str
    licence: str
    repo: str = ""
    ran: str = ""

    @property
    def url(self) -> str:
        """Where it will be found, as far as that is known."""
        return f"https://huggingface.co/datasets/{self.repo}" if self.repo else "./"

    @property
    def licence_url(self) -> str:
        """The licence, as an address where it has one."""
        known = {"apache-2.0": "Apache-2.0", "mit": "MIT", "cc-by-4.0": "CC-BY-4.0"}
        name = known.get(self.licence)
        return f"{_SPDX}{name}" if name else self.licence


class Held(NamedTuple):
    """A file of the published folder."""

    name: str
    size: int
    sha256: str

    @property
    def kind(self) -> str:
        """Its media type."""
        return _TYPES.get(PurePosixPath(self.name).suffix, "text/plain")


def held(top: Path, path: Path) -> Held:
    """A file of the folder `top`, read."""
    data = path.read_bytes()
    return Held(path.relative_to(top).as_posix(), len(data), hashlib.sha256(data).hexdigest())


def croissant(about: About, files: Sequence[Held], tables: Sequence[Table]) -> dict[str, Any]:
    """The dataset as Croissant 1.1 has it: files with digests, tables with typed columns."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": about.name,
        "description": about.description,
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "license": about.licence_url,
        "url": about.url,
        "version": "1.0.0",
        "datePublished": about.date[:10],
        "creator": {"@type": "sc:Organization", "name": "whoever publishes it"},
        "citeAs": f"{about.title}. An experiment of HFR-Bench {__version__}.",
        "isLiveDataset": False,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": held.name,
                "name": held.name,
                "contentUrl": held.name,
                "contentSize": f"{held.size} B",
                "encodingFormat": held.kind,
                "sha256": held.sha256,
            }
            for held in files
        ],
        "recordSet": [_record_set(table) for table in tables],
    }


def _record_set(table: Table) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{table.name}/{column}",
                "name": column,
                "dataType": _KINDS.get(kind.removesuffix("[]"), "sc:Text"),
                **({"isArray": True, "arrayShape": "-1"} if kind.endswith("[]") else {}),
                "source": {
                    "fileObject": {"@id": f"data/{table.name}.parquet"},
                    "extract": {"column": column},
                },
            }
            for column, kind in table.columns.items()
        ],
    }


def crate(about: About, files: Sequence[Held]) -> dict[str, Any]:
    """The folder as RO-Crate 1.3 has it, and the run that made it (Process Run Crate)."""
    return {
        "@context": "https://w3id.org/ro/crate/1.3/context",
        "@graph": [*_root(about, files), *_run(about, files), *_files(files)],
    }


def _root(about: About, files: Sequence[Held]) -> Iterator[Mapping[str, Any]]:
    yield {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.3"},
    }
    yield {
        "@id": "./",
        "@type": "Dataset",
        "name": about.title,
        "description": about.description,
        "datePublished": about.date,
        "license": {"@id": about.licence_url},
        "publisher": {"@id": "#publisher"},
        "conformsTo": {"@id": "https://w3id.org/ro/wfrun/process/0.6"},
        "hasPart": [{"@id": held.name} for held in files] + [{"@id": "bundle/trials/"}],
        "mentions": {"@id": "#run"},
    }
    yield {
        "@id": about.licence_url,
        "@type": "CreativeWork",
        "name": about.licence,
        "description": f"The licence of this dataset: {about.licence}.",
    }
    yield {
        "@id": "https://w3id.org/ro/wfrun/process/0.6",
        "@type": ["CreativeWork", "Profile"],
        "name": "Process Run Crate",
        "version": "0.6",
    }


def _run(about: About, files: Sequence[Held]) -> Iterator[Mapping[str, Any]]:
    names = {held.name for held in files}
    parts = ("prereg.yaml", "prereg.lock.json", "prices.json", "plan.jsonl")
    frozen = [f"bundle/{name}" for name in parts]
    yield {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of {about.name}",
        "description": f"hfr-bench run, under the registration {about.name}",
        **({"startTime": about.ran} if about.ran else {}),
        "instrument": {"@id": "#hfr-bench"},
        "agent": {"@id": "#publisher"},
        "object": [{"@id": name} for name in frozen if name in names],
        "result": [{"@id": "bundle/report.json"}, {"@id": "bundle/trials/"}],
    }
    yield {
        "@id": "#hfr-bench",
        "@type": "SoftwareApplication",
        "name": "HFR-Bench",
        "softwareVersion": __version__,
        "version": __version__,
        "url": "https://pypi.org/project/hfr-bench/",
    }
    yield {"@id": "#publisher", "@type": "Organization", "name": "whoever publishes it"}


def _described(name: str) -> str:
    """What a file is: its own line, else that of the longest folder that it lies in."""
    parts = name.split("/")
    places = (name, *("/".join(parts[:n]) + "/" for n in range(len(parts) - 1, 0, -1)))
    return next((_FILES[place] for place in places if place in _FILES), "A file of this dataset.")


def _files(files: Sequence[Held]) -> Iterator[Mapping[str, Any]]:
    for held in files:
        yield {
            "@id": held.name,
            "@type": "File",
            "name": held.name,
            "description": _described(held.name),
            "contentSize": str(held.size),
            "encodingFormat": held.kind,
            "sha256": held.sha256,
        }
    yield {
        "@id": "bundle/trials/",
        "@type": "Dataset",
        "name": "traces",
        "description": "A file a trial, JSON lines; digests in bundle/MANIFEST.sha256.",
    }
