"""What the boundary keeps between calls: held back calls, old answers, keys that run out."""

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.errors import InfrastructureError
from hfr_bench.faults.cursor import Cursor
from hfr_bench.faults.shape import CLOSED, TIMEOUT
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.injectors.tool_calls.boundary import Boundary, without_key
from hfr_bench.lab.clock import VirtualClock
from hfr_bench.model.attempt import Call, Intent, Observation
from hfr_bench.model.effects import Alter, Forget, Late, Stale
from hfr_bench.model.record import json_digest
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts, Rewrite, Wire
from hfr_bench.model.terms import Channel, Layer, SideEffect
from hfr_bench.model.trace import Body, FaultInjected
from hfr_bench.ports.injector import Scene
from hfr_bench.testing.fakes import FakePort, fine

WORK_US = 400_000
ARGS = {"item": "tea"}


class Edge:
    """A boundary with one event, over a world that says `answer(n-th call)`."""

    def __init__(
        self,
        effect: Wire,
        answer: Callable[[int], str] = lambda n: f'{{"n": {n}}}',
        n: int = 1,
        lands: bool | None = None,
    ) -> None:
        spec = KindSpec(kind="k", layer=Layer.TOOL, wire={"tool": effect})
        event = FaultEvent(
            injection_id="i", layer=Layer.TOOL, kind="k", point="tool:x", occurrence=2,
            lasts=Lasts(n=n), effect_lands=lands,
        )  # fmt: skip
        self.clock = VirtualClock()
        self.told: list[Body] = []
        self._answer = answer
        self.world = FakePort(self._work)
        self.injector = ToolCallInjector({"k": spec})
        scene = Scene("t", Cursor([event]), {"k": spec}, self.clock, self.told.append)
        self.port = self.injector.wrap(self.world, scene)

    def _work(self, call: Call) -> Observation:
        self.clock.wait(WORK_US)
        return fine(self._answer(len(self.world.asked)))

    def attempt(
        self,
        occurrence: int = 2,
        attempt: int = 1,
        *,
        key: str = "",
        args: Mapping[str, Any] = ARGS,
        write: str = "w",
    ) -> Observation:
        intent = Intent(
            "i", Channel.TOOL, "x", SideEffect.QUERYABLE, json_digest(dict(args)), key, write
        )
        payload = {**args, "idempotency_key": key} if key else args
        return self.port.attempt(
            Call(
                occurrence, "tool:x", occurrence, attempt, Channel.TOOL, "x", 10_000_000, payload,
                operation_id=f"{occurrence}.{attempt}", intent=intent,
            )
        )  # fmt: skip

    @property
    def ran(self) -> list[str]:
        return [call.operation_id for call in self.world.asked]


def test_a_held_back_call_lands_behind_the_next_attempt_of_its_write() -> None:
    edge = Edge(Late())
    assert edge.attempt() == Observation(answered=False, exception=TIMEOUT)
    assert (edge.ran, edge.clock.now_us()) == ([], 10_000_000)
    edge.attempt(3, write="another")
    assert edge.ran == ["3.1"]
    edge.attempt(2, 2)
    assert edge.ran == ["3.1", "2.2", "2.1"]
    assert edge.clock.now_us() == 10_000_000 + 2 * WORK_US
    edge.injector.heal()
    assert len(edge.ran) == 3


def test_what_is_still_held_back_lands_when_the_trial_is_healed_once() -> None:
    edge = Edge(Late(after_s=3600))
    edge.attempt()
    edge.attempt(2, 2)
    assert edge.ran == ["2.2"]
    edge.injector.heal()
    edge.injector.heal()
    assert edge.ran == ["2.2", "2.1"]


def test_a_late_call_lands_before_the_first_look_at_the_world_after_its_time() -> None:
    edge = Edge(Late(after_s=15))
    edge.attempt()
    edge.clock.wait(4_999_999)
    edge.attempt(3)
    assert edge.ran == ["3.1"]
    edge.attempt(4)
    assert edge.ran == ["3.1", "2.1", "4.1"]


def test_a_short_stall_ends_as_a_closed_connection() -> None:
    assert Edge(Late(stall_s=1)).attempt().exception == CLOSED


def test_each_thread_heals_its_own_trials() -> None:
    edge = Edge(Late())
    edge.attempt()
    other = threading.Thread(target=edge.injector.heal)
    other.start()
    other.join()
    assert edge.ran == []
    edge.injector.heal()
    assert edge.ran == ["2.1"]


def test_the_late_call_is_told_as_one_that_lands() -> None:
    edge = Edge(Late())
    edge.attempt()
    (told,) = edge.told
    assert isinstance(told, FaultInjected)
    assert told.effect_lands is True


def test_a_stale_answer_is_the_last_one_that_was_another() -> None:
    answers = {1: "a", 2: "b", 3: "c", 4: "c"}
    edge = Edge(Stale(), lambda n: answers[n], n=3)
    assert edge.attempt(1).body == "a"
    assert edge.attempt().body == "a"  # the world said b
    assert edge.attempt(2, 2).body == "b"  # the world said c
    assert edge.attempt(2, 3).body == "b"  # and c again
    assert len(edge.told) == 3


def test_other_arguments_have_other_answers() -> None:
    edge = Edge(Stale())
    edge.attempt(1, args={"item": "milk"})
    assert edge.attempt().body == '{"n": 2}'
    assert edge.told == []


def test_a_fresh_cache_is_no_fault() -> None:
    edge = Edge(Stale(), lands=False)
    edge.attempt(1)
    assert edge.attempt().body == '{"n": 2}'
    assert edge.told == []


def test_an_ignored_key_never_reaches_the_tool() -> None:
    edge = Edge(Forget(), n=8)
    assert edge.attempt(key="K").exception == TIMEOUT
    assert edge.attempt(2, 2, key="K").answered
    assert [dict(call.payload) for call in edge.world.asked] == [ARGS, ARGS]


def test_a_key_is_kept_until_it_expires() -> None:
    edge = Edge(Forget(ttl_s=15), n=8)
    edge.attempt(key="K")
    edge.attempt(2, 2, key="K")
    edge.clock.wait(10_000_000)
    edge.attempt(2, 3, key="K")
    keys = ["idempotency_key" in call.payload for call in edge.world.asked]
    assert keys == [True, True, False]


def test_a_call_without_a_key_goes_through_as_it_is() -> None:
    edge = Edge(Forget(), n=8)
    edge.attempt()
    assert dict(edge.world.asked[0].payload) == ARGS
    bare = Call(1, "reconcile:x", 1, 1, Channel.TOOL, "x", 1, ARGS, purpose="reconcile")
    assert without_key(bare) is bare


def test_a_parsed_answer_is_parsed_again() -> None:
    edge = Edge(Alter(edit="number"))
    found = edge.attempt()
    assert json.loads(found.body)["n"] != 1
    assert found.payload == found.body

    edge.world = FakePort(lambda _: Observation(True, 200, body='{"n": 1}', payload={"n": 1}))
    port = Boundary(edge.world, edge.port.scene)  # type: ignore[attr-defined]
    seen = port.attempt(Call(1, "tool:x", 2, 1, Channel.TOOL, "x", 1, ARGS))
    assert seen.payload == json.loads(seen.body)


def test_a_json_rpc_error_has_its_code() -> None:
    spec = content.kinds()["tool_invalid_params"]
    edge = Edge(spec.wire["tool"])
    seen = edge.attempt()
    assert (seen.answered, seen.status, seen.rpc_code) == (False, 200, -32602)


def test_an_effect_of_the_models_wire_is_refused() -> None:
    with pytest.raises(InfrastructureError, match="rewrite is no effect of the tool boundary"):
        Edge(Rewrite(edits=("cut",))).attempt()
