"""The rehearsal backend: server, client and prices under one name."""

from collections.abc import Mapping, Sequence

from hfr_bench.errors import InfrastructureError
from hfr_bench.llms.openai_wire import ClientPool
from hfr_bench.llms.rehearsal import prices, script
from hfr_bench.llms.rehearsal.answer import Desk
from hfr_bench.llms.rehearsal.server import Server
from hfr_bench.model.task import SealedTask
from hfr_bench.model.terms import Origin
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.llm import ModelScope


class Rehearsal:
    """An LlmBackend that needs no model. `rates`: other success rates by model, for tests."""

    def __init__(self, rates: Mapping[str, float] | None = None) -> None:
        self._table = prices.load(rates)
        self._scripts: dict[tuple[str, str], script.Script] = {}
        self._server: Server | None = None
        self._clients = ClientPool({tier.model: tier.cost_microusd for tier in self._table.tiers})

    @property
    def origin(self) -> Origin:
        return Origin.REHEARSAL

    @property
    def prices_digest(self) -> str:
        """Digest of the whole table; success rates and latencies are part of it."""
        return self._table.digest()

    def start(self, sealed: Sequence[SealedTask]) -> str:
        """Start the server, or give the running one more tasks; returns its base URL.

        Raises InfrastructureError if it cannot bind on loopback.
        """
        self._scripts.update({(task.suite, task.task_id): script.cut(task) for task in sealed})
        if self._server is None:
            try:
                self._server = Server(Desk(self._table.by_model(), self._scripts))
            except (OSError, TimeoutError) as error:
                raise InfrastructureError(
                    f"the rehearsal server could not bind on loopback: {error}"
                ) from error
        return f"http://127.0.0.1:{self._server.port}/v1"

    def client(self, base_url: str, scope: ModelScope) -> CallPort:
        """A client for one trial and the calling thread; connections outlive the trial."""
        return self._clients.client(base_url, scope)

    def stop(self) -> None:
        """Close clients and server. Idempotent."""
        self._clients.close()
        server, self._server = self._server, None
        if server is not None:
            server.close()
