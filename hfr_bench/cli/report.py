"""`hfr-bench report`: everything that follows from the traces."""

from pathlib import Path

import click

from hfr_bench import content
from hfr_bench.cli.noting import note_look
from hfr_bench.cli.options import min_valid_option
from hfr_bench.errors import BadInputError
from hfr_bench.lab.analyse import analyse
from hfr_bench.lab.execute import check_owner
from hfr_bench.lab.ingest import collector_paused
from hfr_bench.lab.mixes import check
from hfr_bench.lab.register import Experiment, check_content, load
from hfr_bench.lab.rendering.sides import sides
from hfr_bench.lab.review.summary import with_review
from hfr_bench.lab.store import Store
from hfr_bench.model.mix import FaultMix
from hfr_bench.model.report import Report


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "md", "html", "csv", "json", "latex"]),
    default="text",
    show_default=True,
    help="What to write; a file named .html, .csv, .json or .tex says it by itself.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file instead."
)
@click.option(
    "--mix",
    "mixes",
    multiple=True,
    metavar="FILE|NAME",
    help="Reweight single faults by a mix: a YAML file, or one of `hfr-bench list mixes`.",
)
@min_valid_option
@click.option("--full", is_flag=True, help="Text: every rate, metric and interval (132 columns).")
@collector_paused()
def report(
    folder: Path,
    form: str,
    as_json: bool,
    output: Path | None,
    mixes: tuple[str, ...],
    min_valid: float,
    full: bool,
) -> int:
    """What FOLDER's experiment found: headline, paired differences, audit, controls, hypotheses.

    Text is one page, or all of it with --full; md, html, csv and json are always
    complete; latex has the claims, tables A, B and C and the paired differences, for a paper.
    """
    experiment = load(folder)
    check_owner(experiment)
    faults = check_content(experiment)
    chosen = [_mix(name) for name in mixes]
    store = Store(folder, indexed=True)
    made = analyse(
        experiment.prereg,
        experiment.lock,
        experiment.plan,
        store,
        experiment.book.like,
        faults.kinds,
        chosen,
        outlines=experiment.book.outline,
    )
    made = with_review(made, experiment)
    for line in store.said:
        click.echo(line, err=True)
    note_look(experiment, made)
    form = _form(form, as_json, output)
    if form == "text":
        from hfr_bench.cli.report_text import print_report  # noqa: PLC0415

        print_report(made, full=full)
    else:
        text = _written(made, form, experiment, store)
        if output is None:
            click.echo(text, nl=not text.endswith("\n"))
        else:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(text, encoding="utf-8")
            click.echo(f"wrote {output}")
    planned = made.look.trials if made.look is not None else len(experiment.plan)
    share = (made.trials_analysed + made.control_trials) / max(1, planned)
    return 0 if made.valid and share >= min_valid else 1


def _mix(name: str) -> FaultMix:
    """A mix by file or name, held against the kinds that there are."""
    found = content.mix(name)
    check(found, content.kinds(), name)
    return found


def _form(form: str, as_json: bool, output: Path | None) -> str:
    """The format: as asked for, else as a file's name says, else text; a file's is Markdown."""
    if as_json or form != "text" or output is None:
        return "json" if as_json else form
    suffix = output.suffix.removeprefix(".").lower()
    return {"html": "html", "csv": "csv", "json": "json", "tex": "latex"}.get(suffix, "md")


def _written(made: Report, form: str, experiment: Experiment, store: Store) -> str:
    """The report in one of the formats that are files."""
    if form == "html":
        try:
            from hfr_bench.lab.rendering import html  # noqa: PLC0415 - needs an optional extra
        except ModuleNotFoundError as error:
            raise BadInputError(
                f"--format html needs {error.name}: pip install 'hfr-bench[report]'; "
                "text, md, csv and json need nothing"
            ) from error
        plan, schedules = experiment.plan, experiment.book.schedule
        return html.to_html(made, sides(made, plan, store, schedules))
    from hfr_bench.lab.rendering import latex, render  # noqa: PLC0415 - only where asked for

    writers = {"md": render.to_markdown, "csv": render.to_csv, "json": render.to_json}
    writers["latex"] = latex.to_latex
    return writers[form](made)
