"""mini-swe-agent from PyPI as a black box, in front of the stand-in model (rehearsal).

It is started as anybody starts it, and told by its own settings where the model is, how often to
try, and to run without asking. No number here is a model's: what is measured is what its runtime
(openai's SDK inside litellm inside tenacity) does about each fault.
"""

import pytest

from hfr_bench.testing import libraries

from .conftest import event

MASKED = (
    event("model_500", 1),
    event("model_429", 2),
    event("model_closed", 3),
    event("model_stream_cut", 4),
)


@pytest.fixture
def mini(run, tmp_path, monkeypatch):
    """Run it on the task. `retries`: of the SDK; `tries`: of tenacity, 4 s and more apart."""
    settings = {
        **libraries.QUIET,
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_GLOBAL_CONFIG_DIR": str(tmp_path / "settings"),
        "MSWEA_COST_TRACKING": "ignore_errors",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    def ran(*events, retries=2, tries=1, timeout_s=10):
        try:
            program = str(libraries.program("mini"))
        except libraries.MissingLibraryError as error:
            pytest.skip(str(error))
        monkeypatch.setenv("MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", str(tries))
        words = (
            *("--model", "openai/rehearsal-primary", "--task", "Mend add, and note it."),
            *("--agent-class", "default", "--environment-class", "local", "--yolo"),
            *("--exit-immediately", "--output", str(tmp_path / "trajectory.json")),
            *("--config", "mini.yaml", "--config", f"model.model_kwargs.max_retries={retries}"),
            *("--config", f"model.model_kwargs.timeout={timeout_s}"),
        )
        return run([program, *words], *events)

    return ran


@pytest.mark.slow
def test_its_retries_mask_what_they_can(mini, repo):
    summary = mini(*MASKED)
    assert (summary.ended, summary.exit_code, summary.valid) == ("command", 0, True)
    assert [one.fate for one in summary.fates] == ["masked"] * 4
    assert (summary.steps, summary.attempts, summary.repeated) == (5, 9, 4)
    assert summary.forwarded == 6, "only the answer that was cut off had reached the model server"
    waited = [one.waited_us / 1e6 for one in summary.fates]
    assert waited[1] >= 1, "what Retry-After asks for"
    assert (repo.solved, repo.notes) == (True, 1), "a lost answer of the model runs nothing twice"


@pytest.mark.slow
def test_without_faults_it_solves_the_task(mini, repo):
    summary = mini()
    assert (summary.exit_code, summary.attempts, repo.solved) == (0, 5, True)


@pytest.mark.slow
def test_without_retries_a_fault_surfaces_and_it_dies(mini, repo):
    summary = mini(*MASKED, retries=0)
    assert summary.exit_code not in (0, None)
    assert [one.fate for one in summary.fates] == ["surfaced"] + ["not_reached"] * 3
    assert (summary.attempts, repo.solved, repo.notes) == (1, False, 0)


@pytest.mark.slow
def test_above_the_sdk_tenacity_tries_again(mini, repo):
    """Three failures use up the SDK's retries; the program's own loop waits 4 s and goes on."""
    summary = mini(event("model_500", 2, n=4), tries=3)
    assert (summary.exit_code, repo.solved) == (0, True)
    (fate,) = summary.fates
    assert (fate.fate, fate.attempts, summary.attempts) == ("masked", 4, 9)
    assert summary.lasted_us > 4_000_000


@pytest.mark.slow
def test_an_answer_that_cannot_be_used_is_told_to_the_model(mini, repo):
    """Its own loop, not its retries: another request, so the fault surfaced."""
    summary = mini(event("model_malformed_tool_call", 3))
    (fate,) = summary.fates
    assert (fate.fate, summary.exit_code, summary.repeated) == ("surfaced", 0, 0)
    assert (summary.attempts, repo.solved) == (6, True)
