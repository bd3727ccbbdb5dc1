"""A whole small live experiment on tau2, its provider a stand-in of our own on loopback."""

import hashlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from hfr_bench import plugins
from hfr_bench.cli.main import run
from hfr_bench.lab.register import load, load_prereg
from hfr_bench.lab.scan import Scanner
from hfr_bench.lab.verification.verify import verify
from hfr_bench.lab.wire import Bench
from hfr_bench.llms.rehearsal.answer import Desk
from hfr_bench.llms.rehearsal.prices import Tier
from hfr_bench.llms.rehearsal.script import cut
from hfr_bench.loopback import LoopThread, listen
from hfr_bench.model.terms import Origin
from hfr_bench.model.trace import AttemptEnded, TraceEvent, TrialEnded, TrialStarted, UpstreamHit

if importlib.util.find_spec("litellm") is None or "litellm" not in plugins.offered("llms"):
    pytest.skip("litellm is not installed (the extra `litellm`)", allow_module_level=True)

pytestmark = [pytest.mark.tau2, pytest.mark.filterwarnings("default")]

KEY = "sk-test-Key3141592653589793"
MODEL = "gpt-4o-mini"  # priced in litellm's table, as openai/gpt-4o-mini
TASKS = ("airline/2", "airline/14")
PREREG = """\
v: 1
name: live-small
title: A small live experiment against a stand-in provider
origin: live
clock: wall
suites:
  - {suite: tau2, tasks: [airline/2, airline/14]}
model:
  llm: litellm
  agent: openai/gpt-4o-mini
  backup: null
  config: {models: [openai/gpt-4o-mini], api_base: "URL", organic_wait_s: 0.01}
seeds: [1]
faults: {matrix: stress, rates: [0, 0.2]}
arms:
  - {name: no_retry, strategy: no_retry}
  - {name: hfr, strategy: hfr, equipment: {ledger: true, query: true}}
controls: {injector_removed: true, a_a: false}
limits: {model_timeout_s: 10, tool_timeout_s: 0.5}
human: {delay_s: 0}
analysis: {baseline: no_retry, resamples: 200}
"""


class Provider:
    """An OpenAI service that follows tau2's solutions, told apart by what the user says first.

    Every tenth request it answers 429 by itself: an organic error.
    """

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []
        self.refused = 0
        self.tasks: dict[str, str] = {}
        self.desk: Desk | None = None
        self._loop = LoopThread("provider")
        self._runner, port = self._loop.call(listen(self._handle), 10)
        self.url = f"http://127.0.0.1:{port}/v1"

    def learn(self, bench: Bench) -> None:
        sealed = {task: bench.sealed("tau2", task) for task in TASKS}
        self.tasks = {one.opening: task for task, one in sealed.items()}
        tier = Tier(model=MODEL, success_rate=1.0, cost_microusd=0, latency_us=0)
        self.desk = Desk({MODEL: tier}, {("tau2", t): cut(one) for t, one in sealed.items()})

    def close(self) -> None:
        self._loop.call(self._runner.cleanup(), 5)
        self._loop.close()

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        body = await request.content.read()
        self.seen.append({name.lower(): value for name, value in request.headers.items()})
        if len(self.seen) % 10 == 0:
            self.refused += 1
            return web.json_response({"error": {"message": f"slow down {KEY}"}}, status=429)
        opening = next(m["content"] for m in json.loads(body)["messages"] if m["role"] == "user")
        at = {"suite": "tau2", "task": self.tasks[opening], "seed": "1", "point": "model:agent"}
        at |= {"occurrence": "1", "attempt": "1"}
        assert self.desk is not None
        reply = self.desk.answer({f"x-hfr-{name}": value for name, value in at.items()}, body)
        return web.Response(
            status=reply.status, body=reply.body, headers={"content-type": "application/json"}
        )


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Path]:
    """The experiment, frozen and run to its end."""
    made = tmp_path_factory.mktemp("live")
    (made / "prereg.yaml").write_text(PREREG.replace("URL", provider.url))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        assert run(["freeze", str(made)]) == 0  # needs no key
        with Bench(load_prereg(made)) as bench:
            provider.learn(bench)
        assert not provider.seen
        patch.setenv("OPENAI_API_KEY", KEY)
        assert run(["run", str(made), "-n", "2"]) == 0
        yield made


@pytest.fixture(scope="module")
def events(folder: Path) -> list[TraceEvent]:
    lines = [
        line
        for path in sorted(folder.glob("trials/*/*/*.jsonl"))
        for line in path.read_bytes().split(b"\n")
        if line
    ]
    return [TraceEvent.loads(line) for line in lines]


def bodies(events: list[TraceEvent], kind: type[Any]) -> list[Any]:
    return [event.body for event in events if isinstance(event.body, kind)]


def test_every_trial_is_live_valid_and_priced(folder: Path, events: list[TraceEvent]) -> None:
    assert load(folder).lock.origin is Origin.LIVE
    assert {body.origin for body in bodies(events, TrialStarted)} == {Origin.LIVE}
    results = [body.result for body in bodies(events, TrialEnded)]
    assert len(results) == load(folder).lock.trials
    assert [result.void for result in results] == [None] * len(results)
    assert all(result.cost_microusd for result in results)
    assert all(result.outcome.goal_met for result in results if result.rate == 0)


def test_what_was_injected_reached_the_arms_and_what_was_organic_did_not(
    events: list[TraceEvent], provider: Provider
) -> None:
    hits = bodies(events, UpstreamHit)
    injected = [hit for hit in hits if hit.injection_id]
    assert injected
    assert provider.refused > 0
    assert {hit.upstream_status for hit in hits if not hit.injection_id} == {200}
    # The control without a gateway has no hits that could tell of its own.
    assert 0 < sum(hit.absorbed for hit in hits) <= provider.refused
    seen = [body for body in bodies(events, AttemptEnded) if body.status == 429]
    assert len(seen) == sum(hit.kind == "model_429" for hit in injected)


def test_the_provider_sees_a_key_and_no_coordinate(provider: Provider) -> None:
    assert {headers["authorization"] for headers in provider.seen} == {f"Bearer {KEY}"}
    assert not [name for headers in provider.seen for name in headers if name.startswith("x-hfr")]


def test_no_file_of_the_experiment_holds_the_key(folder: Path) -> None:
    scanner = Scanner({"OPENAI_API_KEY": KEY})
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [hit for path in files for hit in scanner.scan(path.name, path.read_bytes())] == []


def test_the_report_says_live(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(folder)]) == 0
    assert "live" in capsys.readouterr().out


def test_report_and_status_count_organic_errors_by_arm(
    folder: Path, provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("report", "status"):
        assert run([verb, str(folder), "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["organic"]
        assert {row["arm"] for row in rows} == {"no_retry", "hfr"}
        assert 0 < sum(row["absorbed"] for row in rows) <= provider.refused
        assert sum(row["exhausted"] for row in rows) == 0
    assert run(["status", str(folder)]) == 0
    assert "organic, hfr: " in capsys.readouterr().out


def test_it_is_replayed_without_key_and_provider(
    folder: Path, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    asked = len(provider.seen)
    assert run(["replay", str(folder), "-o", str(tmp_path / "out")]) == 0
    assert len(provider.seen) == asked


def test_a_live_model_is_not_registered_as_a_rehearsal(tmp_path: Path) -> None:
    text = PREREG.replace("origin: live", "origin: rehearsal")
    (tmp_path / "prereg.yaml").write_text(text)
    assert run(["freeze", str(tmp_path)]) == 2
    (tmp_path / "prereg.yaml").write_text(PREREG.replace("clock: wall", "clock: virtual"))
    assert run(["freeze", str(tmp_path)]) == 2


def test_every_attempt_is_worked_out_again_from_the_price_rows_of_its_bundle(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = folder / "prices.json"
    assert hashlib.sha256(rows.read_bytes()).hexdigest() == load(folder).lock.prices_digest
    out = tmp_path / "b"
    assert run(["bundle", str(folder), "-o", str(out), "--with-places"]) == 0
    assert (out / "prices.json").read_bytes() == rows.read_bytes()
    checks = {check.check: check for check in verify(out).checks}
    assert checks["the model prices are those of the lock"].ok is True
    told = checks["a live model's tokens cost their price"]
    assert told.ok is True, told.detail
    capsys.readouterr()
