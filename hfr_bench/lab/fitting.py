"""Fits a registration to what plugs are made with: service settings, deployment, substitutes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hfr_bench import plugins
from hfr_bench.errors import BadInputError
from hfr_bench.lab.carry import CONTEXT_TOKENS
from hfr_bench.model.prereg import Lock, ModelPins, Preregistration
from hfr_bench.ports.strategy import Strategy
from hfr_bench.ports.tape import CASSETTES
from hfr_bench.recovery.deploy import deployed
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.settings import Deployment
from hfr_bench.recovery.strategies import ExpRetry


def of_service(models: ModelPins) -> dict[str, Any]:
    """The settings of the model service: all but the guard's own. Raises BadInputError."""
    settings = dict(models.config)
    most = settings.pop(CONTEXT_TOKENS, None)
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        raise BadInputError(f"model.config.{CONTEXT_TOKENS}: must be 1 or more, not {most!r}")
    return settings


def service(prereg: Preregistration, replay: Path | None) -> tuple[Callable[..., Any], Any]:
    """The plug that answers for the models, and its settings by name.

    `replay`: the folder of a live experiment, whose recorded responses are to play them.
    Raises BadInputError for a name that nobody offers, and for a folder of no frozen experiment.
    """
    if replay is None:
        return plugins.find("llms", prereg.model.llm), of_service(prereg.model)
    path = replay / "prereg.lock.json"
    try:
        lock = Lock.loads(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInputError(f"{path}: a replay needs the recorded run's lock: {error}") from error
    settings = {"folder": replay / CASSETTES, "prices_digest": lock.prices_digest}
    return plugins.find("llms", "cassette"), settings


def let_loose(strategy: Strategy, kit: Kit) -> Strategy:
    """The strategy as far as its `deployment` lets it act (paper §5.6).

    It acts beside, or instead of, what a careful user runs today, which is `exp_retry`.
    """
    deployment = getattr(strategy, "deployment", None)
    if deployment is None or deployment == Deployment():
        return strategy
    stable, key = ExpRetry({}, kit), "/".join(map(str, kit.chance_key))
    return deployed(deployment, stable, strategy, key=key, tenant=kit.tenant, task_id=kit.task_id)


def either_way(agent: str, backup: str | None) -> dict[str, tuple[str, ...]]:
    """Two equal models stand in for each other; without a backup there is nothing to turn to."""
    return {} if backup is None else {agent: (backup,), backup: (agent,)}
