"""`hfr-bench publish`: a folder that is ready to be a dataset on the web; sent only if asked to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from hfr_bench.cli.options import place, place_options
from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal, seeds
from hfr_bench.lab.bundle import gather, this_machine
from hfr_bench.lab.publishing.layout import How, Published, Source, of_bundle
from hfr_bench.lab.publishing.layout import publish as make
from hfr_bench.lab.redacting.keys import KEY, owners_key
from hfr_bench.lab.register import LOCK, PREREG, load

EXTRA = "pip install 'hfr-bench[publish]'"
_SHOWN = 12


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="A new folder.",
)
@click.option("--repo", metavar="OWNER/NAME", help="The dataset repository it is to be.")
@click.option("--push", "pushed", is_flag=True, help="Send it there; else nothing leaves.")
@click.option("--licence", default="", help="Its licence's id; by default the suites', or other.")
@click.option("--key", type=click.Path(path_type=Path, dir_okay=False), help="As for `bundle`.")
@click.option(
    "--incomplete", is_flag=True, help="Even if trials lack or it is not valid; all pages say so."
)
@click.option("--twin", is_flag=True, help="With a synthetic twin that anybody can run.")
@click.option("--keep-seeds", is_flag=True, help="As for `bundle`.")
@place_options
def publish(
    source: Path,
    output: Path,
    repo: str | None,
    pushed: bool,
    licence: str,
    key: Path | None,
    incomplete: bool,
    twin: bool,
    keep_seeds: bool,
    sandbox: str | None,
    data_dir: tuple[str, ...],
) -> None:
    """Make a dataset's folder of SOURCE, an experiment or a bundle: redacted, with tables and card.

    Without --push it only says what would be sent: files, sizes, licence, origin.
    """
    if pushed and not repo:
        raise BadInputError("--push: say where, --repo OWNER/NAME")
    if repo is not None and (repo.count("/") != 1 or not all(repo.split("/"))):
        raise BadInputError(f"--repo {repo}: say OWNER/NAME")
    with _source(source, sandbox, data_dir) as there:
        found, kept = _kept(there, source) if keep_seeds else (there, {})
        owners = owners_key(key or _beside(source))
        scanner = this_machine(found.experiment, kept=kept)
        how = How(owners, os.environ, scanner, licence, repo or "", incomplete, twin)
        made = make(found, output, how)
    for suite, seed in found.content.seeds.items():
        click.echo(f"the seed of {suite} is told in it: {seed}")
    click.echo(_text(made))
    if not pushed or repo is None:
        click.echo("nothing was sent" + (f"; --push sends it to {repo}" if repo else ""))
        return
    try:
        from hfr_bench.lab.publishing.push import push  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise BadInputError(f"--push needs huggingface_hub: {EXTRA}") from error
    click.echo(f"sent: {push(made.folder, repo)}")


@contextmanager
def _source(source: Path, sandbox: str | None, data_dir: tuple[str, ...]) -> Iterator[Source]:
    """An experiment's folder, or a bundle."""
    if _is_experiment(source):
        experiment = load(source)
        suites = tuple(selection.suite for selection in experiment.prereg.suites)
        yield Source(experiment, gather(experiment, place(sandbox, data_dir, suites, source)))
        return
    with of_bundle(source) as found:
        yield found


def _kept(found: Source, path: Path) -> tuple[Source, dict[str, str]]:
    """The source without the seeds that it would tell, and those.

    Raises BadInputError for a redacted bundle that tells some: it goes out as it is.
    """
    made_of, kept = seeds.keep(found.content)
    if kept and found.redacted is not None:
        raise BadInputError(
            f"--keep-seeds: {path} tells the seed of {', '.join(kept)} and is redacted, so it is "
            "published as it is; make another with `bundle --redact --keep-seeds`"
        )
    return found._replace(content=made_of), kept


def _is_experiment(source: Path) -> bool:
    """Also one that is not frozen yet: `load` says so better than that it is no bundle."""
    frozen_or_not = (source / LOCK).is_file() or (source / PREREG).is_file()
    return frozen_or_not and not any((source / n).is_file() for n in (seal.BUNDLE, seal.MANIFEST))


def _beside(source: Path) -> Path:
    """Where the owner's key lies: in the experiment, or beside the bundle."""
    inside = source.is_dir() and not (source / seal.BUNDLE).is_file()
    return source / KEY if inside else source.with_name(KEY)


def _text(made: Published) -> str:
    """What lies there, the largest files first."""
    report = made.report
    largest = sorted(made.files, key=lambda held: -held.size)[:_SHOWN]
    width = max(len(held.name) for held in largest)
    lines = [
        f"{made.folder}: {len(made.files)} files, {made.size / 1e6:.1f} MB",
        f"  licence {made.licence}, origin {report.origin}, {report.trials_analysed} trials",
        f"  bundle {made.digest}",
        *(f"  {held.name:{width}}  {held.size:>10}" for held in largest),
    ]
    if len(made.files) > len(largest):
        lines.append(f"  and {len(made.files) - len(largest)} more")
    lines += ["checklist (paper, appendix F):"]
    lines += [f"  {item.answer:14}  {item.asked}: {item.fact}" for item in made.checklist]
    return "\n".join(lines)
