"""`hfr-bench demo`: the embedded experiment end to end, by the very commands a user would give."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import click

from hfr_bench import content, plugins
from hfr_bench.errors import BadInputError, HfrError
from hfr_bench.lab.register import LOCK, PREREG

HALVES = ("sampled", "every-fault")
Verb = Callable[[Sequence[str]], int]
NO_ENGINE = """\
no container engine: tools run as plain processes of this machine, which isolates nothing.
`hfr-bench doctor` says how to get one. Results are the same."""


@click.command()
@click.argument(
    "folder", type=click.Path(path_type=Path, file_okay=False), default=Path("hfr-demo")
)
@click.option(
    "-n",
    "--workers",
    type=click.IntRange(1, 256),
    default=2,
    show_default=True,
    help="Trials side by side.",
)
@click.option(
    "--sandbox", envvar="HFR_BENCH_SANDBOX", help="Where tools run; docker where it can be had."
)
@click.pass_obj
def demo(verb: Verb, folder: Path, workers: int, sandbox: str | None) -> int:
    """Freeze, run, report, bundle and verify the embedded experiment in FOLDER.

    Twelve tasks of an order desk under sampled faults, then two of them under every single fault.
    Again: goes on where it was, or just reports.
    """
    chosen = sandbox or _sandbox()
    for half in HALVES:
        _place(half, folder / half)
        # The second half is quick and always in processes, as it is registered.
        where = chosen if half == HALVES[0] else "process"
        if not (folder / half / LOCK).is_file():
            _do(verb, "freeze", folder / half, "--sandbox", where)
        _do(verb, "run", folder / half, "-n", str(workers), "--sandbox", where)
    _do(verb, "report", folder / HALVES[0])
    for half in HALVES:
        page, bundle = folder / f"{half}.html", folder / f"{half}.zip"
        _do(verb, "report", folder / half, "--format", "html", "-o", page)
        _do(verb, "bundle", folder / half, "-o", bundle, "--sandbox", "process")
        _do(verb, "verify", bundle)
    click.echo(f"\nreports: {folder / HALVES[0]}.html, {folder / HALVES[1]}.html")
    click.echo(f"bundles, verified: {folder / HALVES[0]}.zip, {folder / HALVES[1]}.zip")
    return 0


class _StepFailedError(HfrError):
    """A command of the demo did not end well; it has told why."""

    def __init__(self, command: str, code: int) -> None:
        super().__init__(f"the demo ends here: `{command}` ended with {code}")
        self.exit_code = code


def _do(run: Verb, *words: object) -> None:
    """Tell a command and carry it out. Raises _StepFailedError with its exit code."""
    args = [str(word) for word in words]
    command = " ".join(["hfr-bench", *args])
    click.echo(click.style(f"\n$ {command}", bold=True))
    if code := run(args):
        raise _StepFailedError(command, code)


def _place(half: str, folder: Path) -> None:
    """Put the registration where it is to be run, unless one is there already."""
    if not (folder / PREREG).is_file():
        text = (content.root() / "suites" / "shopdesk" / "demo" / f"{half}.yaml").read_text("utf-8")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PREREG).write_text(text, encoding="utf-8")


def _sandbox() -> str:
    """Docker if it can be had; else processes, said loudly."""
    with suppress(BadInputError):  # its extra is not installed
        if plugins.find("sandboxes", "docker").diagnose().ok:
            return "docker"
    click.secho(NO_ENGINE, err=True, bold=True)
    return "process"
