"""`hfr-bench verify`: whether a bundle's numbers follow from what is in it."""

from pathlib import Path

import click

from hfr_bench.lab.verify import LEVELS, verdict
from hfr_bench.lab.verify import verify as verify_bundle
from hfr_bench.model.bundle import Verification


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--level",
    type=click.IntRange(0, len(LEVELS) - 1),
    default=len(LEVELS) - 1,
    show_default=True,
    help=", ".join(f"{n} {name}" for n, name in enumerate(LEVELS)) + "; each includes those below.",
)
@click.option("--expect", metavar="SHA256", help="The digest of its manifest, as published.")
@click.option(
    "--timestamp-ca",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Certificates (PEM) trusted to sign timestamps; needs openssl.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def verify(
    bundle: Path, level: int, expect: str | None, timestamp_ca: Path | None, as_json: bool
) -> int:
    """Check BUNDLE, a zip or a directory: integrity, registration, faults, every number.

    Needs no engine, key or network. Exit code 0: verified; 1: not; 2: not a bundle.
    """
    found = verify_bundle(bundle, level, expect, timestamp_ca)
    click.echo(found.model_dump_json(indent=2) if as_json else _text(found))
    return 0 if found.verified else 1


def _text(found: Verification) -> str:
    """A line a check, what rests on the maker's word, and the verdict."""
    width = max(len(check.check) for check in found.checks)
    mark = {True: "yes", False: "NO", None: "-"}
    lines = [f"level  {'check':{width}}  ok   detail"]
    lines += [
        f"{check.level:5}  {check.check:{width}}  {mark[check.ok]:3}  {check.detail}"
        for check in found.checks
    ]
    lines += [f"on its maker's word: {text}" for text in found.word]
    return "\n".join([*lines, verdict(found)])
