"""Options that several verbs share: what a registration does not fix, because machines differ."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from hfr_bench.errors import BadInputError

if TYPE_CHECKING:
    from hfr_bench.lab.wire import Place

Command = Callable[..., Any]


def place_options(command: Command) -> Command:
    """--sandbox and --data-dir; the verb takes `sandbox` and `data_dir`, for `place`."""
    sandbox = click.option(
        "--sandbox",
        metavar="NAME",
        envvar="HFR_BENCH_SANDBOX",
        help="Run the tools there instead of where it is registered (`list sandboxes`); "
        "every trace and the report say so.",
    )
    data_dir = click.option(
        "--data-dir",
        metavar="[SUITE=]PATH",
        multiple=True,
        help="An upstream checkout, or a file of tasks, that a suite takes its tasks from.",
    )
    return sandbox(data_dir(command))


def settings_option(command: Command) -> Command:
    """--set: a suite's settings; the verb takes `settings`, for `settings_of`."""
    return click.option(
        "--set",
        "settings",
        metavar="KEY=VALUE",
        multiple=True,
        help="A setting of the suite, as `config:` of a registration has it (YAML).",
    )(command)


def settings_of(texts: tuple[str, ...]) -> dict[str, Any]:
    """The settings by name. Raises BadInputError for what is no KEY=VALUE."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise BadInputError(f"--set {text}: say KEY=VALUE")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise BadInputError(f"--set {text}: {value!r} is no YAML value") from error
    return found


def min_valid_option(command: Command) -> Command:
    """--min-valid: what share of the plan exit code 0 asks for."""
    return click.option(
        "--min-valid",
        type=click.FloatRange(0, 1),
        default=1.0,
        show_default=True,
        help="Exit code 0 needs this share of the planned trials graded.",
    )(command)


def place(
    sandbox: str | None, data_dir: tuple[str, ...], suites: tuple[str, ...], folder: Path
) -> "Place":
    """The options as a Place. Raises BadInputError for a path that is not there."""
    # Half a second of loading, which a verification has for something better to do.
    from hfr_bench.lab.wire import Place  # noqa: PLC0415

    found: dict[str, Path] = {}
    for text in data_dir:
        suite, equals, path = text.partition("=")
        if not equals or suite not in suites:  # a path may hold an equals sign
            if len(suites) != 1:
                raise BadInputError(
                    f"--data-dir {text}: say which suite, SUITE=PATH; there are: "
                    + ", ".join(suites)
                )
            suite, path = suites[0], text
        if not Path(path).exists():
            raise BadInputError(f"--data-dir {text}: {path} is no directory, nor a file")
        found[suite] = Path(path).resolve()
    return Place(folder=folder, sandbox=sandbox or None, data_dirs=found, tell=tell)


def tell(line: str) -> None:
    """A line about long work, for whoever watches."""
    click.echo(line, err=True)
