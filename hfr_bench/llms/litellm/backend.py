"""The live backend: relay, clients and prices under one name."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, runtime_checkable

from hfr_bench.errors import BadInputError, InfrastructureError, ProviderError
from hfr_bench.llms.litellm import prices
from hfr_bench.llms.litellm.passage import REQUEST_ID, Passages
from hfr_bench.llms.litellm.provider import PARAMETERS, Provider
from hfr_bench.llms.litellm.relay import Bounds, Relay
from hfr_bench.llms.openai_wire import ClientPool, OpenAiClient
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.price import Row
from hfr_bench.model.record import json_digest
from hfr_bench.model.task import SealedTask
from hfr_bench.model.terms import Origin
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.clock import Clock
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.llm import ModelScope

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class ProviderLostError(ProviderError):
    """The provider did not answer, and nobody injected it: the trial measures nothing."""


@runtime_checkable
class Forgiving(Protocol):
    """A trial clock that can leave out time which was not the trial's."""

    def forgive(self, us: int) -> None: ...


class LiteLlm:
    """An LlmBackend over every provider that litellm speaks to.

    `models`: all that may be called, as litellm names them; the registered `agent` and `backup`
    among them. `api_base`: another address than the provider's. `key_env`: the *name* of the
    variable that holds the key; default litellm's own. `parameters`: fixed for every call
    (temperature, seed, max_tokens, ...). `organic_*`: bounds of absorbing, see `Bounds`.
    Raises BadInputError for a setting that is wrong.
    """

    origin = Origin.LIVE

    @staticmethod
    def diagnose() -> Diagnosis:
        """Whether litellm is installed; keys are looked for when a run starts."""
        try:
            found = version("litellm")
        except PackageNotFoundError:
            return Diagnosis(False, "litellm is not installed", "pip install 'hfr-bench[litellm]'")
        return Diagnosis(True, f"litellm {found}; keys are read from the environment by a run")

    def __init__(
        self,
        models: Sequence[str] = (),
        api_base: str | None = None,
        key_env: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        organic_retries: int = 4,
        organic_wait_s: float = 1.0,
        organic_wait_max_s: float = 30.0,
    ) -> None:
        self._models = tuple(dict.fromkeys(models))
        self._api_base = api_base
        self._key_env = key_env
        self._parameters = dict(parameters or {})
        self._bounds = Bounds(organic_retries, organic_wait_s, organic_wait_max_s)
        self._check()
        self._prices = prices.load(self._models)
        self._passages = Passages()
        self._pool = ClientPool({})
        self._relay: Relay | None = None

    @property
    def prices_digest(self) -> str:
        """Of the used models' rows of litellm's table, as it is installed now."""
        return json_digest(self.price_rows)

    @property
    def price_rows(self) -> dict[str, Row | None]:
        """Those rows by model; None = no price known."""
        return {model: price.row if price else None for model, price in self._prices.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What freezing should tell of the models."""
        return tuple(
            f"the price of {model} is not known: its costs are null, and no bound on money holds"
            for model, price in self._prices.items()
            if price is None
        )

    @property
    def organic(self) -> tuple[int, int]:
        """Errors of the provider met so far, and attempts lost to them."""
        return self._passages.organic, self._passages.exhausted

    def start(self, sealed: Sequence[SealedTask]) -> str:
        """Start the relay; returns its base URL.

        Raises BadInputError for a missing key, InfrastructureError if no port can be bound.
        """
        if sealed:
            raise InfrastructureError("a live model is never given the sealed half of a task")
        if self._relay is not None:
            raise InfrastructureError(f"the relay runs already, on port {self._relay.port}")
        provider = Provider(self._fixed())
        provider.check(self._models)
        try:
            self._relay = Relay(provider.complete, self._prices, self._passages, self._bounds)
        except OSError as error:
            raise InfrastructureError(f"the relay could not bind on loopback: {error}") from error
        return f"http://127.0.0.1:{self._relay.port}/v1"

    def client(self, base_url: str, scope: ModelScope) -> CallPort:
        """A client for one trial, used by one thread."""
        return LiveClient(self._pool.client(base_url, scope), self._passages, scope.clock)

    def stop(self) -> None:
        """Close clients and relay. Idempotent."""
        self._pool.close()
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.close()

    def _check(self) -> None:
        """What can be known to be wrong before anything is started; never repeats a value."""
        where = "model.config"
        if not self._models or not all(isinstance(model, str) for model in self._models):
            raise BadInputError(f"{where}.models: list the models that may be called")
        if self._key_env is not None and not _VARIABLE.fullmatch(self._key_env):
            raise BadInputError(
                f"{where}.key_env: must be the name of an environment variable, never a key itself"
            )
        if self._api_base is not None and "@" in self._api_base:
            raise BadInputError(f"{where}.api_base: must hold no user or password")
        if unknown := sorted(set(self._parameters) - PARAMETERS):
            offered = ", ".join(sorted(PARAMETERS))
            raise BadInputError(f"{where}.parameters: no {unknown[0]!r}; there are: {offered}")

    def _fixed(self) -> dict[str, Any]:
        """What every call is made with. Raises BadInputError for what nobody registered."""
        fixed = dict(self._parameters)
        if self._key_env is not None:
            if not os.environ.get(self._key_env):
                raise BadInputError(f"set {self._key_env} in the environment: it holds the key")
            fixed["api_key"] = os.environ[self._key_env]
        if self._api_base is not None:
            return fixed | {"api_base": self._api_base}
        for model in self._models:
            for end in ("API_BASE", "BASE_URL"):
                name = f"{model.partition('/')[0].upper()}_{end}"
                if os.environ.get(name):
                    raise BadInputError(
                        f"{name} is set and would redirect {model}: register the address as "
                        "model.config.api_base, or unset it"
                    )
        return fixed


class LiveClient:
    """The thin client, plus what only the relay knows: real cost, and time that was not ours."""

    def __init__(self, inner: OpenAiClient, passages: Passages, clock: Clock) -> None:
        self._inner = inner
        self._passages = passages
        self._clock = clock

    def attempt(self, call: Call) -> Observation:
        """One attempt. Raises ProviderLostError if the provider did not answer in time.

        A stall injected while the provider was still at work cannot be told from a slow provider,
        and voids the trial too.
        """
        with self._passages.open(call.timeout_us / 1e6) as passage:
            seen = self._inner.attempt(call, {REQUEST_ID: passage.id})
        if passage.reached and not passage.answered:
            why = passage.why or "slower than the attempt's timeout"
            raise ProviderLostError(
                f"{call.target} did not answer at {call.point}: an organic error ({why}; "
                f"{passage.organic} absorbed)"
            )
        waited_us = min(passage.organic_us, seen.latency_us)
        if waited_us and isinstance(self._clock, Forgiving):
            self._clock.forgive(waited_us)
        return replace(
            seen, cost_microusd=passage.cost_microusd, latency_us=seen.latency_us - waited_us
        )
