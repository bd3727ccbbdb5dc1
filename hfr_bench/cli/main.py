"""`hfr-bench`: the group, its lazily loaded verbs, and how errors end.

Exit codes: 0 all graded; 1 valid fraction below the gate, or an invalid experiment; 2 usage or
bad input; 3 infrastructure; 130 interrupted.
"""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from hfr_bench import __version__
from hfr_bench.cli.plain import shown
from hfr_bench.errors import HfrError, InfrastructureError

# Verb -> (module:attribute, what it does). Told here so that `--help` imports none of them.
VERBS = {
    "demo": ("demo:demo", "The embedded experiment, end to end."),
    "new": ("new:new", "Write a commented preregistration into a new directory."),
    "freeze": ("freeze:freeze", "Validate it, draw the schedules, lay out the plan, digest all."),
    "amend": ("amend:amend", "A registration that follows a frozen one; says what was seen."),
    "run": ("run:run", "Run what the plan still lacks (so it is also: resume)."),
    "stop": ("stop:stop", "The kill switch: stop all injection of a run, and end it."),
    "status": ("status:status", "Blinded progress and the delivery audit."),
    "look": ("look:look", "The interim look that is due, where looks are registered."),
    "report": ("report:report", "Tables, paired differences, audit and controls."),
    "compare": ("compare:compare", "Two arms side by side: where they differ, task by task."),
    "show": ("show:show", "One trial as a readable timeline."),
    "shrink": ("shrink:shrink", "The smallest schedule that still breaks a trial, as a case."),
    "telemetry": ("telemetry:telemetry", "Metrics, alerts, decision events and spans."),
    "export": ("export:export", "Trials as ATIF, Inspect logs or OTLP, for other tools."),
    "replay": ("replay:replay", "A live experiment again, from its recorded responses."),
    "inbox": ("inbox:inbox", "Escalations that wait for a person; --answer them."),
    "review": ("review:review", "A blinded spot check: people rate a keyed sample of trials."),
    "classify": ("classify:classify", "What recorded responses mean: class, evidence, action."),
    "bundle": ("bundle:bundle", "Pack an experiment so that a stranger can check it."),
    "verify": ("verify:verify", "Check a bundle: integrity, registration, schedules, numbers."),
    "publish": ("publish:publish", "A dataset's folder, redacted; sent only with --push."),
    "index": ("index:index", "Bring the SQL index up to date; --compact: Parquet, too."),
    "gateway": (
        "gateway:gateway",
        "The fault gateway alone, for agents with a runtime of their own.",
    ),
    "power": ("power:power", "How many tasks an effect takes; what so many tasks can show."),
    "dataset": ("dataset:dataset", "Trials that went badly as a new list of tasks to register."),
    "learn": ("learn:learn", "A table for hfr-learned, from traces in which chance chose."),
    "table17": ("table17:table17", "The paper's plan of real experiments; what was measured."),
    "simulate": ("simulate:simulate", "The paper's synthetic study, on the same strategies."),
    "validate": ("validate:validate", "Try a suite's tasks and tools before registering it."),
    "mcp": ("mcp:mcp", "Put an MCP server under a schedule of faults, for any client."),
    "images": ("images:images", "Build the container images of the suites."),
    "doctor": ("doctor:doctor", "What this machine can run, and how to get the rest."),
    "clean": ("clean:clean", "Remove what this experiment left running; nobody else's."),
    "list": ("list_:list_", "What there is: suites, strategies, faults, agents, ..."),
}


COUNTING = ("report", "compare", "look")
"""Verbs that multiply matrices and start no programs."""


def _one_thread() -> None:
    """Linear algebra in one thread, unless somebody has said otherwise; read as numpy is loaded.

    The matrices of a report are small: more threads mostly wait for each other, busily.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


class _Lazy(click.Group):
    """A group that imports a verb when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        if cmd_name in COUNTING:
            _one_thread()
        module, attribute = VERBS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(f"hfr_bench.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_, text) in VERBS.items()])


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hfr-bench")
def cli() -> None:
    """Measure how well an LLM agent's runtime survives failure.

    The road: new -> freeze -> run -> report.
    """


def main() -> None:
    """Run the command line; ends the process with the documented exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # not everywhere
            signal.signal(getattr(signal, name), _interrupt)
    sys.exit(run())


def _interrupt(_number: int, _frame: object) -> None:
    """Being told to end is like ^C: nothing is lost, and what was started is stopped."""
    raise KeyboardInterrupt


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line (None: the process's arguments); returns the exit code."""
    try:
        # `demo` carries out other verbs: it is handed this very function.
        code = cli.main(args, prog_name="hfr-bench", standalone_mode=False, obj=run)
    except HfrError as error:
        click.echo("\n".join(map(shown, f"error: {error}".split("\n"))), err=True)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted: what was finished is kept; run again to go on", err=True)
        return 130
    except (BrokenPipeError, SystemExit):  # click turns the first into the second
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away
        return 0
    except OSError as error:
        click.echo(f"error: {error}", err=True)
        return InfrastructureError.exit_code
    except Exception as error:  # noqa: BLE001 - the last place that can tell a user in words
        return _unexpected(error)
    return code if isinstance(code, int) else 0


def _unexpected(error: Exception) -> int:
    """A defect of ours: one line, and the traceback for whoever asks."""
    if os.environ.get("HFR_BENCH_TRACEBACK"):
        traceback.print_exc()
    click.echo(
        f"error: {type(error).__name__}: {error}\n"
        "This is a defect of hfr-bench. HFR_BENCH_TRACEBACK=1 shows where it happened.",
        err=True,
    )
    return 3
