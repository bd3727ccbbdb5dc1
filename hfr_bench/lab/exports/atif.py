"""A trial as an ATIF 1.8 trajectory: Harbor's Agent Trajectory Interchange Format.

One agent step a model call, with the tool calls that follow it and what they gave. Retries are one
step and one tool call: their attempts, decisions, faults and effects are in `extra.hfr`.
"""

from typing import Any, Final

from hfr_bench import __version__
from hfr_bench.lab.exports.outline import Message, Outline, Step
from hfr_bench.model.task import task_name
from hfr_bench.model.terms import Channel

VERSION: Final = "ATIF-v1.8"
NOTES: Final = (
    "Made by HFR-Bench from a trace of a trial under injected faults. Texts are not in traces; "
    "digests stand for them. Times are of the trial's clock."
)


def trajectory(trial: Outline) -> dict[str, Any]:
    """The trajectory as a JSON object; keys without a value are left out."""
    steps = [_opening(trial)]
    for one in trial.moments:
        if isinstance(one, Message):
            _message(steps, one, trial)
        elif one.channel == Channel.MODEL:
            steps.append(_thought(one, trial))
        else:
            _deed(steps, one, trial)
    for number, step in enumerate(steps, 1):
        step["step_id"] = number
    started = trial.started
    models = [one.last.target for one in trial.steps if one.channel == Channel.MODEL]
    agent: dict[str, Any] = {
        "name": started.arm,
        "version": __version__,
        "model_name": next(iter(models), None),
    }
    agent["extra"] = {"hfr": {"arm_digest": started.arm_digest}}
    hfr: dict[str, Any] = {**trial.identity(), "outcome": trial.ending(), "packet": trial.packet}
    hfr["decisions"] = list(trial.decisions)
    return _bare(
        {
            "schema_version": VERSION,
            "session_id": trial.trial_id,
            "trajectory_id": f"{trial.trial_id}.r{started.round}",
            "agent": _bare(agent),
            "steps": steps,
            "notes": f"origin: {started.origin}. {NOTES}",
            "final_metrics": _totals(trial, len(steps)),
            "extra": {"hfr": _bare(hfr)},
        }
    )


def _opening(trial: Outline) -> dict[str, Any]:
    name = task_name(trial.started.suite, trial.started.task_id)
    text = f"[task {name}: its text is not in the trace]"
    return {"source": "system", "timestamp": trial.when(0), "message": text}


def _message(steps: list[dict[str, Any]], one: Message, trial: Outline) -> None:
    """What the agent says is the text of its last model call, if nothing came between."""
    last = steps[-1]
    if one.who == "agent" and last["source"] == "agent" and not last["message"]:
        last["message"] = one.text
        return
    source = "agent" if one.who == "agent" else "user"
    step: dict[str, Any] = {"source": source, "timestamp": trial.when(one.at_us)}
    step["message"] = one.text
    if source == "agent":
        step["llm_call_count"] = 0
    steps.append(step)


def _thought(one: Step, trial: Outline) -> dict[str, Any]:
    """A model call."""
    ended = [call.ended for call in one.calls if call.ended is not None]
    costs = [back.cost_microusd for back in ended]
    metrics = {
        "prompt_tokens": sum(back.tokens_in for back in ended),
        "completion_tokens": sum(back.tokens_out for back in ended),
        "cost_usd": None if None in costs else sum(costs) / 1e6,
    }
    return {
        "source": "agent",
        "timestamp": trial.when(one.at_us),
        "model_name": one.last.target,
        "message": "",
        "llm_call_count": len(one.calls),
        "metrics": _bare(metrics),
        "extra": {"hfr": _told(one)},
    }


def _deed(steps: list[dict[str, Any]], one: Step, trial: Outline) -> None:
    """A tool call: it belongs to the model call before it, or to a step of its own."""
    if steps[-1]["source"] != "agent":
        own = {"source": "agent", "timestamp": trial.when(one.at_us), "message": ""}
        steps.append({**own, "llm_call_count": 0})
    last, name = steps[-1], one.last.started.operation_id or f"step-{one.number}"
    call: dict[str, Any] = {"tool_call_id": name, "function_name": one.target, "arguments": {}}
    call["extra"] = {"hfr": {"arguments_digest": one.last.started.request_digest, **_told(one)}}
    last.setdefault("tool_calls", []).append(call)
    error, back = one.last.error, one.last.ended
    content = f"[no answer: {error}]" if error else f"[answered: sha256 {back.response_digest}]"
    results = last.setdefault("observation", {"results": []})["results"]
    results.append({"source_call_id": name, "content": content})


def _told(one: Step) -> dict[str, Any]:
    return {
        "step": one.number,
        "attempts": [call.plain() for call in one.calls],
        "decisions": list(one.decisions),
    }


def _totals(trial: Outline, steps: int) -> dict[str, Any]:
    result = trial.result
    if result is None:
        return {"total_steps": steps}
    cost = result.cost_microusd
    return _bare(
        {
            "total_prompt_tokens": result.tokens_in,
            "total_completion_tokens": result.tokens_out,
            "total_cost_usd": None if cost is None else cost / 1e6,
            "total_steps": steps,
            "extra": {
                "hfr": {
                    "attempts": result.attempts,
                    "reads": result.reads,
                    "latency_us": result.latency_us,
                    "injected_wait_us": result.injected_wait_us,
                    "human_us": result.human_us,
                }
            },
        }
    )


def _bare(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
