"""An arm's trials as a log of Inspect AI (`.eval`): `inspect view` opens it, `samples_df` reads it.

A sample is a task under a fault profile and rate; its epochs are the seeds. What was seen is told
by model and tool events, decisions and faults by info events. Scores are the checker's.

An `.eval` is a zip of JSON: a header, a summary of all samples, and a file a sample.
"""

import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from hfr_bench import __version__
from hfr_bench.lab.exports.outline import Call, Message, Outline, Step
from hfr_bench.model.task import task_name
from hfr_bench.model.terms import Channel

SCORES: Final = ("goal_met", "official", "succeeded", "escalated", "duplicates", "harm")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # what a zip calls no date: the same trials, the same bytes


def write(path: Path, name: str, trials: Sequence[Outline]) -> None:
    """Write an arm's trials.

    Args:
        path: of the new file; it ends in `.eval`.
        name: of the experiment.
        trials: of one arm, graded, at least one.
    """
    placed = list(_placed(trials))
    summaries = [_summary(id_, epoch, trial) for id_, epoch, trial in placed]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:

        def put(inner: str, value: Any) -> None:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
            member = zipfile.ZipInfo(inner, _EPOCH)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(member, text)

        header = _header(name, trials, [id_ for id_, _, _ in placed])
        start = {key: header[key] for key in ("version", "eval", "plan")}
        put("_journal/start.json", start)
        for id_, epoch, trial in placed:
            put(f"samples/{id_}_epoch_{epoch}.json", _sample(id_, epoch, trial))
        put("_journal/summaries/1.json", summaries)
        put("summaries.json", summaries)
        put("header.json", header)


def _placed(trials: Sequence[Outline]) -> Iterable[tuple[str, int, Outline]]:
    """Every trial with its sample's id and its epoch, which is its seed's place among all."""
    seeds = sorted({trial.started.seed for trial in trials})
    for trial in trials:
        one = trial.started
        id_ = f"{task_name(one.suite, one.task_id)}@{one.profile}"
        yield id_.replace("/", "_"), seeds.index(one.seed) + 1, trial


def _model(trials: Sequence[Outline]) -> str:
    """The first model that was called, with the origin before it: a stand-in is not a model."""
    for trial in trials:
        for step in trial.steps:
            if step.channel == Channel.MODEL:
                return f"{trial.started.origin}/{step.last.target}"
    return f"{trials[0].started.origin}/none"


def _header(name: str, trials: Sequence[Outline], ids: Sequence[str]) -> dict[str, Any]:
    first = trials[0]
    began = min(trial.when(0) for trial in trials)
    ended = max(trial.when(trial.end_us) for trial in trials)
    samples = list(dict.fromkeys(ids))
    epochs = len({trial.started.seed for trial in trials})
    hfr = {
        "origin": str(first.started.origin),
        "prereg_digest": first.started.prereg_digest,
        "arm": first.started.arm,
        "arm_digest": first.started.arm_digest,
        "harness_version": __version__,
    }
    suites = ", ".join(sorted({trial.started.suite for trial in trials}))
    scores = [_mean(score, trials) for score in SCORES]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": f"{first.started.prereg_digest[:12]}-{first.started.arm_digest[:9]}",
            "run_id": first.started.prereg_digest[:22],
            "created": began,
            "task": name,
            "task_id": first.started.prereg_digest[:22],
            "task_version": 0,
            "solver": first.started.arm,
            "dataset": {"name": suites, "samples": len(samples), "sample_ids": samples},
            "model": _model(trials),
            "config": {"epochs": epochs},
            "packages": {"hfr-bench": __version__},
            "metadata": {"hfr": hfr},
            "tags": [str(first.started.origin), first.started.arm],
        },
        "plan": {"name": first.started.arm, "steps": [], "config": {}},
        "results": {
            "total_samples": len(trials),
            "completed_samples": len(trials),
            "scores": scores,
        },
        "stats": {"started_at": began, "completed_at": ended},
    }


def _mean(score: str, trials: Sequence[Outline]) -> dict[str, Any]:
    values = [float(trial.ending()[score]) for trial in trials]
    metric = {"name": "mean", "value": sum(values) / len(values)}
    return {"name": score, "scorer": score, "params": {}, "metrics": {"mean": metric}}


def _scores(trial: Outline) -> dict[str, Any]:
    graded = trial.ending()
    return {score: {"value": float(graded[score])} for score in SCORES}


def _head(id_: str, epoch: int, trial: Outline) -> dict[str, Any]:
    """What sample and summary have in common."""
    started = trial.started
    usage, name = _usage(trial), task_name(started.suite, started.task_id)
    working = trial.end_us / 1e6
    waited = (trial.result.injected_wait_us if trial.result else 0) / 1e6
    return {
        "id": id_,
        "epoch": epoch,
        "uuid": trial.trial_id,
        "input": f"[task {name}: its text is not in the trace]",
        "target": "",
        "scores": _scores(trial),
        "model_usage": usage,
        "started_at": trial.when(0),
        "completed_at": trial.when(trial.end_us),
        "total_time": working,
        "working_time": max(0.0, working - waited),
    }


def _usage(trial: Outline) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for step in trial.steps:
        for call in step.calls:
            if step.channel == Channel.MODEL and call.ended is not None:
                used = found.setdefault(
                    call.target,
                    {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
                )
                used["input_tokens"] += call.ended.tokens_in
                used["output_tokens"] += call.ended.tokens_out
                used["total_tokens"] += call.ended.tokens_in + call.ended.tokens_out
    return found


def _summary(id_: str, epoch: int, trial: Outline) -> dict[str, Any]:
    flat = {key: value for key, value in trial.identity().items() if value is not None}
    return {**_head(id_, epoch, trial), "metadata": flat, "completed": True}


def _sample(id_: str, epoch: int, trial: Outline) -> dict[str, Any]:
    messages = [
        {"role": "assistant" if one.who == "agent" else "user", "content": one.text}
        for one in trial.moments
        if isinstance(one, Message)
    ]
    events = [_info(trial, 0, one) for one in trial.decisions]
    for step in trial.steps:
        events += _events(step, trial)
    events.sort(key=lambda event: str(event["timestamp"]))  # stable: ties stay as they stood
    metadata = {**trial.identity(), "outcome": trial.ending(), "packet": trial.packet}
    return {
        **_head(id_, epoch, trial),
        "messages": messages,
        "output": {"model": "", "choices": []},
        "metadata": {"hfr": metadata, **trial.identity()},
        "store": {},
        "events": events,
        "attachments": {},
    }


def _events(step: Step, trial: Outline) -> list[dict[str, Any]]:
    made = [
        (_chat if step.channel == Channel.MODEL else _tool)(call, step, trial)
        for call in step.calls
    ]
    made += [_info(trial, step.number, one) for one in step.decisions]
    for call in step.calls:
        if call.fault:
            met = {"t_us": call.at_us, "attempt": call.number, "fault": call.fault}
            made.append(_info(trial, step.number, met))
    return made


def _when(call: Call, trial: Outline) -> dict[str, Any]:
    return {
        "uuid": f"{trial.trial_id}.{call.started.operation_id}.{call.number}",
        "timestamp": trial.when(call.at_us),
        "working_start": call.at_us / 1e6,
        "completed": trial.when(call.until_us),
        "working_time": (call.until_us - call.at_us) / 1e6,
        "metadata": {"hfr": call.plain()},
    }


def _chat(call: Call, _step: Step, trial: Outline) -> dict[str, Any]:
    back = call.ended
    output: dict[str, Any] = {"model": call.target, "choices": []}
    if back is not None:
        tokens = {"input_tokens": back.tokens_in, "output_tokens": back.tokens_out}
        output["usage"] = {**tokens, "total_tokens": back.tokens_in + back.tokens_out}
    if call.error:
        output["error"] = call.error
    else:
        text = f"[not in the trace: sha256 {back.response_digest}]"
        stop = {"stop": "stop", "length": "max_tokens", "tool_calls": "tool_calls"}
        output["choices"] = [
            {
                "message": {"role": "assistant", "content": text, "model": call.target},
                "stop_reason": stop.get(back.finish_reason or "", "unknown"),
            }
        ]
    made = {
        **_when(call, trial),
        "event": "model",
        "model": call.target,
        "input": [],
        "tools": [],
        "tool_choice": "auto",
        "config": {},
        "output": output,
    }
    return made | ({"error": call.error} if call.error else {})


def _tool(call: Call, step: Step, trial: Outline) -> dict[str, Any]:
    made = {
        **_when(call, trial),
        "event": "tool",
        "type": "function",
        "id": call.started.operation_id or f"{step.number}.{call.number}",
        "function": call.target,
        "arguments": {},
        "result": "",
        "events": [],
    }
    if call.error:
        return made | {"error": {"type": "unknown", "message": call.error}, "failed": True}
    return made | {"result": f"[not in the trace: sha256 {call.ended.response_digest}]"}


def _info(trial: Outline, step: int, told: dict[str, Any]) -> dict[str, Any]:
    return {
        "event": "info",
        "source": "hfr",
        "timestamp": trial.when(told["t_us"]),
        "working_start": told["t_us"] / 1e6,
        "data": {"step": step, **told},
    }
