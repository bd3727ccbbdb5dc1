"""The playing backend: deck, clients and recordings under one name."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from weakref import WeakValueDictionary

from pydantic import ValidationError

from hfr_bench.errors import BadInputError, CassetteMissError, InfrastructureError
from hfr_bench.llms.cassette.deck import Deck
from hfr_bench.llms.cassette.player import Player
from hfr_bench.llms.openai_wire import ClientPool, OpenAiClient
from hfr_bench.model.attempt import Call, Observation
from hfr_bench.model.cassette import Taped
from hfr_bench.model.record import text_digest
from hfr_bench.model.task import SealedTask
from hfr_bench.model.terms import Origin
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.llm import ModelScope, request_body
from hfr_bench.ports.tape import TAPE


class Cassette:
    """An LlmBackend that answers from a live run's recorded responses. It needs no key.

    `folder`: that holds the cassettes. `prices_digest`: of the prices that the recorded costs were
    reckoned with. It is what `hfr-bench replay` takes in the registered service's place, and is
    not registered itself: BadInputError without a folder.
    """

    origin = Origin.LIVE

    def __init__(self, folder: Path | None = None, prices_digest: str = "") -> None:
        if folder is None:
            raise BadInputError(
                "model.llm: `cassette` plays the recorded responses of a live run and is not "
                "registered; `hfr-bench replay DIR -o OUT` plays those of DIR"
            )
        self.prices_digest = prices_digest
        self._folder = Path(folder)
        # A trial's agent and its user have a player each; it lives as long as its client.
        self._players: WeakValueDictionary[str, Player] = WeakValueDictionary()
        self._count = itertools.count(1)
        self._pool = ClientPool({})
        self._deck: Deck | None = None

    def start(self, sealed: Sequence[SealedTask]) -> str:
        """Start the deck; returns its base URL. Raises InfrastructureError if it cannot bind."""
        if sealed:
            raise InfrastructureError(
                "recorded responses are never given the sealed half of a task"
            )
        if self._deck is not None:
            raise InfrastructureError(f"the deck runs already, on port {self._deck.port}")
        try:
            self._deck = Deck(self._players)
        except OSError as error:
            raise InfrastructureError(f"the deck could not bind on loopback: {error}") from error
        return f"http://127.0.0.1:{self._deck.port}/v1"

    def client(self, base_url: str, scope: ModelScope) -> CallPort:
        """A client for one trial, whose recording begins anew. Raises CassetteMissError for none.

        InfrastructureError for a recording that cannot be read.
        """
        if not scope.tape:
            raise CassetteMissError(
                f"{scope.suite} {scope.task_id}: a model is asked outside the recorded calls (a "
                "user played by one, say); such calls are not recorded"
            )
        player = Player(read(self._folder / f"{scope.tape}.jsonl"))
        name = f"{scope.tape}#{next(self._count)}"
        self._players[name] = player
        return CassetteClient(self._pool.client(base_url, scope), player, name)

    def stop(self) -> None:
        """Close clients and deck. Idempotent."""
        self._pool.close()
        deck, self._deck = self._deck, None
        if deck is not None:
            deck.close()


class CassetteClient:
    """The thin client, plus the recorded cost; a miss is raised before its caller sees anything."""

    def __init__(self, inner: OpenAiClient, player: Player, tape: str) -> None:
        self._inner = inner
        self._player = player
        self._tape = tape

    def attempt(self, call: Call) -> Observation:
        """One attempt. Raises CassetteMissError for a request that was not recorded."""
        seen = self._inner.attempt(call, {TAPE: self._tape})
        if self._player.miss:
            tape = self._tape.partition("#")[0]
            raise CassetteMissError(f"not recorded in {tape}: {self._player.miss}")
        digest = text_digest(request_body(call))
        cost = self._player.cost(call.point, call.occurrence, call.attempt, digest)
        return replace(seen, cost_microusd=cost)


def read(path: Path) -> list[Taped]:
    """A cassette's lines. Raises CassetteMissError if there is none, or it cannot be read."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        name = "/".join((*path.parts[-3:-1], path.stem))
        raise CassetteMissError(f"no responses are recorded for {name}") from None
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be read: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found.append(Taped.loads(line))
        except ValidationError as error:
            raise CassetteMissError(f"{path.name}:{number}: is no recorded attempt") from error
    return found
