"""`hfr-bench new`: a commented preregistration to start from."""

import re
from pathlib import Path

import click

from hfr_bench import content, plugins
from hfr_bench.errors import BadInputError

TEMPLATE = """\
# A preregistration: everything that is fixed before the first trial.
# Edit it, then: hfr-bench freeze DIR    (after that it may not change)
v: 1
name: {name}
title: One line that a reader will see on every table
origin: rehearsal        # rehearsal (scripted stand-in model) | live (a real model)

suites:
  - suite: {suite}
    pool: base           # a pool of the suite, or `tasks: [id, ...]` instead
    # Draw some of them, stratified and keyed, so that anybody can draw them again:
    # sample: {{n: 200, seed: 1, strata: [difficulty, tools, level]}}
    # success: official  # what decides success: the suite's own verdict; checked when freezing

agent: {agent}
model:
  llm: rehearsal
  agent: rehearsal-primary
  backup: rehearsal-backup     # the equal rung (L2) for arms with a ladder; null = none
sandbox: docker          # docker: tools in containers | process: trusted suites, no engine needed
clock: virtual           # virtual: announced waits advance trial time | wall (live runs)
seeds: [1, 2, 3]         # the protocol asks for three

faults:
  matrix: {matrix}         # {meant}; hfr-bench list faults
  # sampled: faults drawn at the rates below | none: no faults | exhaustive-1: every step of the
  # suite's own solution x every tool kind x landed or lost, one fault a trial, no sampling error:
  # where duplicates are measured. It needs `agent: oracle` (no model calls), and no rates.
  # fork: all arms meet one first fault in the same state, and what comes after it is drawn several
  # times (`fork: {{points: 2, continuations: 3, rate: 0.1}}`); rehearsal only, no rates.
  design: sampled
  coupling: nested       # nested: what is faulty at 5 % is faulty at 10 % | independent
  rates: [0, 0.05, 0.10, 0.20]     # the paper's stress: 5, 10 and 20 %, beside no faults
  # Windows of the task order in which the same tool or provider fails again and again (sampled):
  # bursts: [{{start: 0.4, end: 0.5, points: ["tool:*"], kinds: {{tool_5xx: 1}}, rate: 0.9}}]
  # takes_backup: 0.5    # matrix `outage`: how often the provider's backup model is down, too

# arm = name + strategy + config + equipment. `hfr-bench list strategies` lists strategies.
# equipment: ledger (record of side effects), query (the tools' reconcile reads), ladder (backup
# model), verifier (checks of answers, where the suite ships some), truth (yardsticks only).
arms:
  - name: no_retry
    strategy: no_retry
  - name: fixed_retry
    strategy: fixed_retry
    config: {{retries: 3, delay_s: 1.0}}
  - name: hfr
    strategy: hfr
    equipment: {{ledger: true, query: true, ladder: true{checks}}}
  - name: blind_resend         # known bad: must be caught duplicating
    strategy: blind_resend
  - name: oracle_recovery      # upper bound: is told what really happened
    strategy: oracle_recovery
    equipment: {{query: true, ladder: true, truth: true}}

limits:
  max_steps: 60          # also how many occurrences of each point the schedules cover
  model_timeout_s: 60
  tool_timeout_s: 10
  # max_turns, max_tokens, max_cost_usd, max_time_s: further bounds of one trial
human: {{cost_usd: 0.02, delay_s: 10}}          # what an escalation is charged
tool_price: {{cost_usd: 0.001, latency_s: 0.4}}  # what one tool attempt is charged

# Cohorts: trials of an arm that run one after the other on one clock and hand breakers and tenant
# budgets on, so that these can bind. The cohort is then the unit of all intervals: n is smaller.
# cohorts: {{size: 10, tenants: [a, b], every_s: 20, shares: [breaker, tenant_budget]}}

controls: {{injector_removed: true, a_a: true}}  # checks on the harness itself

# Confirmatory claims. In a rehearsal, SR and CSR only restate the stand-in's script and are
# refused here; side-effect and delivery claims are fine. Freezing tells what can be shown of each.
# A negative margin claims non-inferiority; families are tested in order.
hypotheses: []
#  - {{id: H1, metric: dup_1000, arm: hfr, against: fixed_retry, direction: less}}
#  - {{id: H2, metric: scr_strict, arm: hfr, against: fixed_retry, direction: greater,
#     margin: -0.03, family: 2}}
# What those effects are worked out with; `hfr-bench power --from PILOT` tells a pilot's.
# power:
#   target: 0.8
#   variances:
#     - {{metric: scr_strict, discordant: [0.10, 0.06], icc: 0.3, source: "pilot of 40 tasks"}}
#     - {{metric: dup_1000, chances: [0.001, 0.02], icc: 0.3, source: "guess"}}

# How it is carried out and judged (docs/preregistration.md lists every field). What the harness
# does in one way only need not be written.
method:
  study: confirmatory    # confirmatory | exploratory (then without hypotheses)
  data_seen: none of these tasks was run with these arms before
  sample_size: all tasks of the pool, three seeds
  data_collection: one run on one machine, arms interleaved in the order of the plan
  cost_basis: modelled by the rehearsal's price table; tools and people as above
  # exploratory: ["cost per success by domain"]       # what will be looked at beyond the claims
  # harm: {{duplicate_usd: 5, unwanted_usd: 5, partial_usd: 2}}
  # spot_check: {{share: 0.05, raters: 2}}              # hfr-bench review
  # tools: {{curl: "8.5"}}                              # versions beside the suite's own
  # models:              # live: of each model above; answers are held against `snapshot`
  #   - {{name: gpt-x, provider: example, snapshot: gpt-x-2026-05-01, training_cutoff: 2026-01}}

analysis:
  baseline: no_retry     # the arm that all others are paired with
  resamples: 10000
  level: 0.95
"""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--suite", default="tau2", show_default=True, help="The benchmark suite to use.")
@click.option(
    "--table17",
    is_flag=True,
    help="The suite's row of the paper's table 17 instead, to be completed and run live.",
)
def new(folder: Path, suite: str, table17: bool) -> None:
    """Write a commented prereg.yaml into FOLDER."""
    if table17:
        write(folder, content.table17_text(suite))
        return
    plug = plugins.find("suites", suite)
    checks = ", verifier: true" if hasattr(plug, "verifier") else ""
    agent = getattr(plug, "agent", "tool_calling")  # a suite may be meant for another one
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "experiment"
    matrix = getattr(plug, "matrix", "stress")
    meant = "the paper's mix" if matrix == "stress" else f"the mix for {suite}"
    text = TEMPLATE.format(
        name=name[:64], suite=suite, checks=checks, agent=agent, matrix=matrix, meant=meant
    )
    write(folder, text)
    said = plug.diagnose() if hasattr(plug, "diagnose") else None
    if said is not None and said.ok is not True:  # freezing it may need what is not here
        told = "\n  ".join([*said.found.splitlines(), *([said.advice] if said.advice else [])])
        click.echo(f"of suite {suite}, on this machine: {told}", err=True)


def write(folder: Path, text: str) -> None:
    """Write FOLDER/prereg.yaml. Raises BadInputError where there is one."""
    path = folder / "prereg.yaml"
    if path.exists():
        raise BadInputError(f"{path}: is there already; nothing was changed")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path}\nnext: edit it, then `hfr-bench freeze {folder}`")
