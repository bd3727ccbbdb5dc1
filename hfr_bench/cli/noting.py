"""Whoever is shown results before the end is told so, and the experiment remembers it."""

import click

from hfr_bench import __version__
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.runlog import RUN_LOG, looked
from hfr_bench.model.report import Report
from hfr_bench.owner import this_process


def note_look(experiment: Experiment, made: Report) -> None:
    """Note in run.jsonl that results of registered claims are shown while trials lack.

    The report has it among the deviations from then on. Without claims there is nothing that
    looking could spoil.
    """
    trials = made.trials_analysed + made.control_trials
    if made.complete or not experiment.prereg.hypotheses or not trials:
        return
    wrong = looked(experiment.path, trials, __version__, this_process())
    noted = f"noted in {experiment.path / RUN_LOG} as a look before the end"
    click.echo(f"{trials} of {len(experiment.plan)} trials are in: {wrong or noted}", err=True)
