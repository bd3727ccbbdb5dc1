"""The providers' own SDKs, and litellm, against the gateway: each raises its own typed error.

The SDKs are large and not ours to depend on, so that they run in an interpreter of their own
(`make libraries`, `testing/libraries.py`). The slower of them are run by `make test-slow`.
"""

from pathlib import Path

import pytest

from hfr_bench import content
from hfr_bench.injectors.gateway import edits
from hfr_bench.model.terms import ClockKind, Layer
from hfr_bench.testing.fakes import FakeClock

from .answers import ModelServer
from .conftest import made_up_kinds

CALLER = Path(__file__).with_name("sdk_caller.py")
TIMEOUT_S = 3.0
# A drip of ten minutes is longer than a test may take: no SDK limits the time of a whole answer.
SLOW = {"model_slow_drip": "made_drip"}
KINDS = sorted(
    SLOW.get(name, name) for name, kind in content.kinds().items() if kind.layer is Layer.MODEL
)
LIMITS = ("model_429", "model_429_bare", "model_429_ms")
SERVER = ("model_500", "model_502", "model_502_html", "model_503", "model_529", "model_outage")
LOST = ("model_closed", "model_stream_cut", "made_drip")


def typed(*, limit, server, bad, late, lost, **others):
    """The class that must be among those of what is raised, by kind."""
    return {
        **dict.fromkeys(LIMITS, limit),
        **dict.fromkeys(SERVER, server),
        **dict.fromkeys(LOST, lost),
        "model_context_overflow": bad,
        "model_content_filter": bad,
        "model_timeout": late,
        **others,
    }


_LIKE_OPENAI = typed(
    limit="RateLimitError",
    server="InternalServerError",
    bad="BadRequestError",
    late="APITimeoutError",
    lost="APIConnectionError",
)
_LITELLM = typed(
    limit="RateLimitError",
    server="APIError",
    bad="BadRequestError",
    late="Timeout",
    lost="APIError",
    model_500="InternalServerError",
    model_503="ServiceUnavailableError",
    model_outage="ServiceUnavailableError",
    model_context_overflow="ContextWindowExceededError",
)
TYPED = {
    "openai_chat": _LIKE_OPENAI,
    "openai_responses": _LIKE_OPENAI,
    "anthropic": {**_LIKE_OPENAI, "model_529": "OverloadedError"},
    "gemini": typed(
        limit="ClientError",
        server="ServerError",
        bad="ClientError",
        late="TimeoutException",
        lost="RemoteProtocolError",
        model_content_filter=None,  # an answer without candidates
    ),
    "litellm_openai": _LITELLM,
    "litellm_anthropic": {**_LITELLM, "model_content_filter": "ContentPolicyViolationError"},
    "litellm_gemini": {**_LITELLM, "model_content_filter": None},
}
"""None: it raises nothing."""

OWN = ("openai_chat", "openai_responses", "anthropic", "gemini")
MIDWAY = {"anthropic": "RemoteProtocolError"}
"""What a broken stream raises, where that is none of the SDK's own classes."""

SAID = {
    "model_unknown_tool": ("order_v2",),
    "model_refusal": (edits.REFUSAL, "I'm sorry", "refusal", "SAFETY", "content_filter"),
}
"""What an altered answer holds in any SDK: one of these."""


@pytest.fixture
def heard(stages, event, upstream, call_library):
    """Let an SDK meet kinds, each in a trial of its own; what it made of them, and the hits."""
    upstream.answer = ModelServer(upstream)

    def call(sdk, kinds, *, streamed=False):
        cases, trials = {}, {}
        for name in kinds:
            params = {key: values[0] for key, values in made_up_kinds()[name].params.items()}
            stage = stages(event(name, params=params), clock=FakeClock(ClockKind.WALL))
            trials[name] = stage
            cases[name] = {"url": stage.url.removesuffix("/v1"), "streamed": streamed}
        asked = {"sdk": sdk, "cases": cases, "timeout_s": TIMEOUT_S}
        told = call_library(CALLER, asked, 250)
        return told, {name: len(stage.hits) for name, stage in trials.items()}

    return call


def check(sdk, told, hits, wanted):
    assert set(hits.values()) == {1}, "an SDK tried again, or did not call"
    wrong = {}
    for kind, name in wanted.items():
        raised = told[kind].get("raised", [None])
        if name not in raised:
            wrong[kind] = f"{raised[0]}, not {name}: {told[kind].get('text')}"
    assert not wrong
    for kind, words in SAID.items():
        assert any(word in told[kind]["answer"] for word in words), (sdk, kind)
    assert '\\"count\\": 2' not in told["model_malformed_tool_call"]["answer"]


QUICK = ("openai_chat", "anthropic")


def params(sdks, quick=QUICK):
    """Importing litellm takes seconds, and each SDK waits for its timeout."""
    marks = [() if sdk in quick else pytest.mark.slow for sdk in sdks]
    return [pytest.param(sdk, marks=mark) for sdk, mark in zip(sdks, marks, strict=True)]


@pytest.mark.parametrize("sdk", params(TYPED))
def test_an_sdk_raises_its_own_typed_error(sdk, heard):
    told, hits = heard(sdk, KINDS)
    check(sdk, told, hits, TYPED[sdk])
    for kind in ("model_truncated_body", "model_200_html"):
        assert "raised" in told[kind], kind


@pytest.mark.parametrize("sdk", params(OWN, QUICK[:1]))
def test_so_it_does_where_the_answer_is_streamed(sdk, heard):
    told, hits = heard(sdk, KINDS, streamed=True)
    midway = dict.fromkeys(("model_stream_cut", "made_drip"), MIDWAY.get(sdk))
    wanted = {**TYPED[sdk], **{kind: name for kind, name in midway.items() if name}}
    check(sdk, told, hits, wanted)
    assert "raised" in told["model_200_error"]
