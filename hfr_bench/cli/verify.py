"""`hfr-bench verify`: whether a bundle's numbers follow from what is in it."""

import secrets
from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options
from hfr_bench.cli.plain import shown
from hfr_bench.errors import InfrastructureError
from hfr_bench.lab import seal, seeds
from hfr_bench.lab.verification.crew import PACKED, Crew
from hfr_bench.model.bundle import AGAIN, DEFAULT_LEVEL, LEVELS, SAMPLE, Verification
from hfr_bench.plugins import offered

_SEEDS = 1_000_000
_TOLD_AT = 3


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--level",
    type=click.IntRange(0, len(LEVELS) - 1),
    default=DEFAULT_LEVEL,
    show_default=True,
    help=", ".join(f"{n} {name}" for n, name in enumerate(LEVELS)) + "; each includes those below.",
)
@click.option("--expect", metavar="SHA256", help="The digest of its manifest, as published.")
@click.option(
    "--timestamp-ca",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Certificates (PEM) trusted to sign timestamps; needs openssl.",
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=SAMPLE,
    show_default=True,
    help="Level 4: so many trials are run again.",
)
@click.option(
    "--sample-seed",
    type=click.IntRange(0),
    help="Level 4: draws them; by default another one each time, which is told.",
)
@click.option(
    "--raw",
    type=click.Path(path_type=Path, exists=True),
    help="The raw bundle that a redacted BUNDLE was made of: compared line by line.",
)
@click.option(
    "--raw-key",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="With --raw: the owner's key, to check each original against its signature.",
)
@click.option(
    "--seeds",
    "told_later",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Seeds that the bundle keeps back and that were told later: YAML, SUITE: 'SEED'.",
)
@place_options
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def verify(
    bundle: Path,
    level: int,
    expect: str | None,
    timestamp_ca: Path | None,
    sample: int,
    sample_seed: int | None,
    raw: Path | None,
    raw_key: Path | None,
    told_later: Path | None,
    sandbox: str | None,
    data_dir: tuple[str, ...],
    as_json: bool,
) -> int:
    """Check BUNDLE, a zip, a directory or a published folder: from integrity to every number.

    Needs no engine, key or network, but for level 4, which needs the suites and a sandbox. Exit
    code 0: verified; 1: not; 2: not a bundle; 3: level 4 could not be gone through here.
    """
    if told_later is not None and level < _TOLD_AT:
        raise click.UsageError(f"--seeds: they are held to the registration from level {_TOLD_AT}")
    given = {} if told_later is None else seeds.read(told_later)
    whole, bundle = bundle, _inside(bundle)
    with Crew() as crew:
        if bundle.is_file() and bundle.stat().st_size >= PACKED:
            crew.expect()
        # Half a second of loading: a helper that is no fork loads the same meanwhile.
        from hfr_bench.lab.verification.verify import unfinished, verdict  # noqa: PLC0415
        from hfr_bench.lab.verification.verify import verify as verify_bundle  # noqa: PLC0415

        asked = None
        if level == AGAIN or data_dir:
            from hfr_bench.lab.verification.again import Sample  # noqa: PLC0415 - a run needs all

            seed = secrets.randbelow(_SEEDS) if sample_seed is None else sample_seed
            there = place(sandbox, data_dir, tuple(offered("suites")), Path())
            asked = Sample(sample, seed, there)
        found = verify_bundle(bundle, level, expect, timestamp_ca, asked, crew, given)
    if raw is not None:
        found = _compared(found, bundle, raw, raw_key)
    if whole != bundle:
        from hfr_bench.lab.publishing.check import with_derived  # noqa: PLC0415 - only here

        found = with_derived(found, whole)
    click.echo(found.model_dump_json(indent=2) if as_json else _text(found, verdict(found)))
    if not found.verified:
        return 1
    return InfrastructureError.exit_code if unfinished(found) else 0


def _inside(path: Path) -> Path:
    """The bundle of a folder that `publish` made, or the path itself."""
    inner = path / "bundle"
    there = (inner / seal.BUNDLE).is_file() and not (path / seal.BUNDLE).exists()
    return inner if there else path


def _compared(found: Verification, bundle: Path, raw: Path, key: Path | None) -> Verification:
    from hfr_bench.lab.verification.redacted import compared_by  # noqa: PLC0415 - only if asked

    return compared_by(found, bundle, raw, key)


def _text(found: Verification, verdict: str) -> str:
    """A line a check, what rests on the maker's word, and the verdict."""
    width = max(len(check.check) for check in found.checks)
    mark = {True: "yes", False: "NO", None: "-"}
    lines = [f"level  {'check':{width}}  ok   detail"]
    lines += [
        f"{check.level:5}  {check.check:{width}}  {mark[check.ok]:3}  {check.detail}"
        for check in found.checks
    ]
    lines += [f"on its maker's word: {text}" for text in found.word]
    return "\n".join(map(shown, [*lines, verdict]))
