"""`hfr-bench freeze`: from here on the experiment may not change."""

import hashlib
from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options
from hfr_bench.lab import tagging, timestamp
from hfr_bench.lab.powered import told
from hfr_bench.lab.register import LOCK, load_prereg
from hfr_bench.lab.register import freeze as freeze_experiment
from hfr_bench.model.prereg import Lock, Preregistration


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@place_options
@click.option(
    "--tag",
    is_flag=True,
    help="Also make an annotated git tag that holds the digests; it is never pushed.",
)
@click.option(
    "--timestamp-url",
    metavar="URL",
    help="Also ask an RFC 3161 authority for a timestamp; only the lock's SHA-256 is sent.",
)
def freeze(
    folder: Path, sandbox: str | None, data_dir: tuple[str, ...], tag: bool, timestamp_url: str
) -> None:
    """Validate FOLDER/prereg.yaml; write its lock, fault schedules and plan."""
    prereg = load_prereg(folder)
    suites = tuple(selection.suite for selection in prereg.suites)
    git = _git(folder, prereg) if tag else ""
    lock = freeze_experiment(folder, place(sandbox, data_dir, suites, folder), git)
    for line in _lines(lock):
        click.echo(line)
    if tag:
        sha256 = hashlib.sha256((folder / LOCK).read_bytes()).hexdigest()
        made = tagging.tag(folder, lock.name, lock.prereg_digest, sha256)
        click.echo(f"  tagged: {made}; publish it with `git push ORIGIN {made}`")
    if timestamp_url:
        token = timestamp.ask(timestamp_url, folder / LOCK)
        click.echo(f"  timestamp: {timestamp.check(folder / LOCK).at or 'granted'} ({token.name})")
    click.echo(f"next: hfr-bench run {folder}")


def _git(folder: Path, prereg: Preregistration) -> str:
    """What the lock says of the commit and tag, which must be known before it is written."""
    name = tagging.name_of(prereg.name, prereg.digest())
    commit = tagging.commit_of(folder)
    tagging.check_tag(folder, name)
    return f"commit {commit}, tag {name}"


def _lines(lock: Lock) -> list[str]:
    """What was frozen, and what so much can show."""
    tasks = sum(len(source.tasks) for source in lock.sources)
    lines = [f"frozen {lock.name} ({lock.origin}) as {lock.prereg_digest[:12]}"]
    lines += [
        f"  suite {source.suite}: {len(source.tasks)} tasks of "
        f"{source.distribution} {source.version}"
        for source in lock.sources
    ]
    for sample in lock.samples:
        whole = sum(row.of for row in sample.strata)
        lines.append(f"  drawn: {sample.n} of {whole} tasks of {sample.suite}, seed {sample.seed}")
        lines += [f"    {row.drawn:4} of {row.of:4}  {row.stratum}" for row in sample.strata]
    lines.append(f"  {lock.trials} trials of {tasks} tasks, {lock.schedules} fault schedules")
    lines.append(f"  date: {lock.frozen_at} ({lock.timestamp_evidence})")
    lines += [f"  {told(claim)}" for claim in lock.claims]
    return lines + [f"  note: {note}" for note in lock.notes]
