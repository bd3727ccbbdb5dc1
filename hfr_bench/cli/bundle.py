"""`hfr-bench bundle`: an experiment as one archive that others can verify."""

import os
from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options
from hfr_bench.lab import seeds
from hfr_bench.lab.bundle import Made, gather, this_machine
from hfr_bench.lab.bundle import bundle as make_bundle
from hfr_bench.lab.redacting.experiment import bundle_redacted
from hfr_bench.lab.redacting.keys import KEY, owners_key
from hfr_bench.lab.register import load


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="A zip if it ends in .zip, else a new directory.",
)
@click.option(
    "--incomplete", is_flag=True, help="Even if trials lack or it is not valid; the bundle says so."
)
@click.option("--with-places", is_flag=True, help="Even with paths or the name of this machine.")
@click.option(
    "--with-named",
    is_flag=True,
    help="Even with text like `password=...`, as a benchmark's own code and pages have.",
)
@click.option(
    "--redact",
    "redacted",
    is_flag=True,
    help="Without secrets and texts that may not leave (docs/bundle.md); listed, line by line.",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"With --redact: your key, made there if it is not there yet [default: FOLDER/{KEY}].",
)
@click.option(
    "--with-cassettes",
    is_flag=True,
    help="With a live model's recorded responses: its texts, for replay and `verify --level 4`.",
)
@click.option(
    "--keep-seeds",
    is_flag=True,
    help="Without the seeds that are registered by digest: the tasks stay secret; it says so.",
)
@place_options
def bundle(
    folder: Path,
    output: Path,
    incomplete: bool,
    with_places: bool,
    with_named: bool,
    redacted: bool,
    key: Path | None,
    with_cassettes: bool,
    keep_seeds: bool,
    sandbox: str | None,
    data_dir: tuple[str, ...],
) -> None:
    """Put all that FOLDER's numbers rest on into one archive, scanned for secrets."""
    experiment = load(folder)
    suites = tuple(selection.suite for selection in experiment.prereg.suites)
    made_of = gather(experiment, place(sandbox, data_dir, suites, folder))
    made_of, kept = seeds.keep(made_of) if keep_seeds else (made_of, {})
    scanner = this_machine(experiment, places=not with_places, named=not with_named, kept=kept)
    if redacted and with_cassettes:
        raise click.UsageError(
            "--with-cassettes would bring the texts along that --redact leaves out"
        )
    if redacted:
        made = bundle_redacted(
            experiment,
            made_of,
            output,
            key=owners_key(key or folder / KEY),
            scanner=scanner,
            environ=os.environ,
            incomplete=incomplete,
        )
    else:
        made = make_bundle(
            experiment,
            made_of,
            output,
            incomplete=incomplete,
            scanner=scanner,
            cassettes=with_cassettes,
        )
    for suite, text in made_of.seeds.items():
        click.echo(f"the seed of {suite} is told in it: {text}")
    _say(made, output)


def _say(made: Made, output: Path) -> None:
    """What was written, and what it is worth."""
    says = made.bundle
    click.echo(f"wrote {output}: {made.files} files, {made.size / 1e6:.1f} MB unpacked")
    click.echo(
        f"  {says.name} ({says.origin}), {says.trials_analysed} of {says.trials_planned} trials "
        f"and {says.control_trials} of controls; {len(says.archived)} interrupted traces kept"
    )
    if not says.valid:
        click.echo("  NOT VALID: believe none of its numbers; the bundle says so")
    if not says.complete:
        click.echo("  INCOMPLETE; the bundle says so")
    click.echo(
        f"  manifest {made.digest}: publish it, and others can tell this bundle from another"
    )
    click.echo(f"next: hfr-bench verify {output}")
