"""How providers word their errors and answers: rows of data, recognised by shape (paper §5.3).

A dialect is told by what a response looks like, never by a name that somebody gave, because
relays and proxies speak for others. Several can match at once (a relay that quotes its upstream);
their code rows are asked in the order of the table, before the general families. A code has a row
here only where the general families would misread it. Change `DIALECTS_VERSION` with any row.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hfr_bench.recovery.classifier.families import T1, T2, T3, T4, T6, T7, T8, V1, Means

DIALECTS_VERSION = "2026.11"

Path = tuple[str | int, ...]


class Shape(NamedTuple):
    """One way to tell a dialect: by `path` if it is given, else by `header`.

    `header`: the beginning of a header's name. `path`: keys that lead to something in the body,
    which is `is_` (a value, or the name of a JSON kind: str, int) if that is given.
    """

    header: str = ""
    path: Path = ()
    is_: str = ""


class Dialect(NamedTuple):
    """`codes`: normalised code -> meaning."""

    name: str
    shapes: tuple[Shape, ...]
    codes: Mapping[str, Means] = {}


class Answer(NamedTuple):
    """Where an answer of one shape keeps its parts; the first path that is there counts.

    `content`: a message, a list of blocks, or text. `finish`: why it ended. `policy`: what is
    there only if a policy stopped it.
    """

    name: str
    shape: Path
    content: tuple[Path, ...]
    finish: tuple[Path, ...]
    policy: tuple[Path, ...] = ()


_VAGUE_BAD = Means(T7, 0.9, repairable=True, vague=True)
_VAGUE_AUTH = Means(T7, vague=True)
_PASSING = Means(T1, vague=True)

DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "anthropic",
        (Shape(path=("type",), is_="error"), Shape("anthropic-")),
        {
            "overloadederror": Means(T4),
            "requesttoolarge": Means(T6),
            "timeouterror": Means(T3, 0.9, T1),
            "billingerror": Means(T7),
            "permissionerror": _VAGUE_AUTH,
            "notfounderror": Means(T7, vague=True),
            "apierror": _PASSING,
        },
    ),
    Dialect(
        "google",
        (
            Shape(path=("error", "status"), is_="str"),
            Shape(path=("candidates",)),
            Shape(path=("promptFeedback",)),
        ),
        {
            # Used for quotas and for capacity alike: words decide, and waiting suits both.
            "resourceexhausted": Means(T2, 0.9, vague=True),
            "unavailable": _PASSING,
            "internal": _PASSING,
            "unknown": _PASSING,
            "aborted": _PASSING,
            "dataloss": _PASSING,
            "cancelled": Means(T3, 0.6, T1, vague=True),
            "deadlineexceeded": Means(T3, 0.9, T1),
            "failedprecondition": Means(T7, 0.9, vague=True),
            "permissiondenied": _VAGUE_AUTH,
            "unauthenticated": _VAGUE_AUTH,
            "notfound": Means(T7, 0.9, vague=True),
            "invalidargument": _VAGUE_BAD,
            "outofrange": _VAGUE_BAD,
            "unimplemented": Means(T7, 0.9, vague=True),
            "apikeyinvalid": Means(T7),
            "apikeyserviceblocked": Means(T7),
            "billingdisabled": Means(T7),
            "badrequest": _VAGUE_BAD,
        },
    ),
    Dialect(
        "bedrock",
        (Shape("x-amzn-"), Shape("x-amz-"), Shape(path=("__type",))),
        {
            "throttlingexception": Means(T2),
            "toomanyrequestsexception": Means(T2),
            "servicequotaexceededexception": Means(T2, 0.7, T7),
            "modelnotreadyexception": Means(T4),
            "modeltimeoutexception": Means(T3, 0.9, T1),
            "modelerrorexception": _PASSING,
            "modelstreamerrorexception": _PASSING,
            "internalserverexception": _PASSING,
            "internalfailure": _PASSING,
            "serviceunavailableexception": _PASSING,
            "accessdeniedexception": _VAGUE_AUTH,
            "expiredtokenexception": Means(T7),
            "resourcenotfoundexception": Means(T7, vague=True),
            "conflictexception": _PASSING,
            "validationexception": _VAGUE_BAD,
        },
    ),
    Dialect(
        "azure",
        (
            Shape("x-ms-"),
            Shape("apim-"),
            Shape("azureml-"),
            Shape(path=("error", "innererror")),
        ),
        {
            "contentfilter": Means(T8),
            "responsibleaipolicyviolation": Means(T8),
            "deploymentnotfound": Means(T7),
            "operationnotsupported": Means(T7, 0.9),
            "nocapacity": Means(T4),
            "engineoverloaded": Means(T4),
            "ratelimitreached": Means(T2),
            "toomanyrequests": Means(T2),
        },
    ),
    Dialect(
        "openrouter",
        (
            Shape(path=("error", "metadata")),
            Shape(path=("choices", 0, "error")),
            Shape(path=("openrouter_metadata",)),
        ),
        {"flaggedinput": Means(T8), "reasons": Means(T8)},
    ),
    Dialect("litellm", (Shape("x-litellm-"),), {"budgetexceeded": Means(T7)}),
    Dialect(
        "vllm",
        (Shape(path=("object",), is_="error"),),
        {
            "badrequesterror": _VAGUE_BAD,
            "notfounderror": Means(T7, vague=True),
            "internalservererror": _PASSING,
            "enginedeaderror": _PASSING,
        },
    ),
    Dialect(
        "openai",
        (
            Shape(path=("error", "param")),
            Shape(path=("error", "code")),
            Shape(path=("error", "type")),
            Shape(path=("object",), is_="response"),
            Shape("openai-"),
        ),
        {
            "requests": Means(T2, vague=True),
            "tokens": Means(T2, vague=True),
            "insufficientquota": Means(T7),
            "billinghardlimitreached": Means(T7),
            "accountdeactivated": Means(T7),
            "ratelimitexceeded": Means(T2),
            "slowdown": Means(T2),
            "servererror": _PASSING,
            "invalidprompt": Means(T8, 0.8, T7),
            "invalidapikey": Means(T7),
            "modelnotfound": Means(T7),
            "unsupportedcountryregionterritory": Means(T7),
            "contextlengthexceeded": Means(T6),
            "stringabovemaxlength": Means(T6, 0.8, T7),
            "vectorstoretimeout": Means(T3, 0.8, T1),
        },
    ),
)

BY_CODE: Mapping[str, tuple[tuple[Dialect, Means], ...]] = {
    code: tuple((one, one.codes[code]) for one in DIALECTS if code in one.codes)
    for code in {code for one in DIALECTS for code in one.codes}
}
"""The rows by code, in the order of the table."""

ANSWERS: tuple[Answer, ...] = (
    Answer(
        "openai chat",
        ("choices",),
        (("choices", 0, "message"), ("choices", 0, "text"), ("choices", 0, "delta")),
        (("choices", 0, "finish_reason"),),
        (("choices", 0, "message", "refusal"),),
    ),
    Answer(
        "bedrock converse",
        ("output", "message"),
        (("output", "message", "content"),),
        (("stopReason",),),
    ),
    Answer(
        "openai responses",
        ("output",),
        (("output",),),
        (("incomplete_details", "reason"), ("status",)),
    ),
    Answer("anthropic messages", ("content",), (("content",),), (("stop_reason",),)),
    Answer(
        "gemini",
        ("candidates",),
        (("candidates", 0, "content", "parts"),),
        (("candidates", 0, "finishReason"), ("promptFeedback", "blockReason")),
        (("promptFeedback", "blockReason"),),
    ),
    Answer(
        "gemini, nothing let through",
        ("promptFeedback", "blockReason"),
        (),
        (),
        (("promptFeedback", "blockReason"),),
    ),
    Answer(
        "bedrock models",
        ("results",),
        (("results", 0, "outputText"),),
        (("results", 0, "completionReason"),),
    ),
    Answer("completion", ("completion",), (("completion",),), (("stop_reason",),)),
    Answer("bedrock llama", ("generation",), (("generation",),), (("stop_reason",),)),
    Answer(
        "bare message", ("message", "role"), (("message",),), (("finish_reason",), ("done_reason",))
    ),
)

_FINE = (
    "stop tool_calls function_call end_turn tool_use stop_sequence pause_turn completed complete"
    " eos eos_token STOP COMPLETE TOOL_CALL STOP_SEQUENCE FINISH FINISHED FINISH_REASON_UNSPECIFIED"
)
ORDINARY: frozenset[str | None] = frozenset((None, *_FINE.split(" ")))
"""Why an answer ends when nothing is wrong."""

_STOPPED, _CUT = Means(T8), Means(T6)
_GARBLED = Means(V1, 0.9, repairable=True)

FINISH: Mapping[str, Means] = {
    "contentfilter": _STOPPED,
    "contentfiltered": _STOPPED,
    "refusal": _STOPPED,
    "safety": _STOPPED,
    "imagesafety": _STOPPED,
    "recitation": _STOPPED,
    "imagerecitation": _STOPPED,
    "blocklist": _STOPPED,
    "prohibitedcontent": _STOPPED,
    "imageprohibitedcontent": _STOPPED,
    "spii": _STOPPED,
    "modelarmor": _STOPPED,
    "guardrailintervened": _STOPPED,
    "guardrails": _STOPPED,
    "sensitive": _STOPPED,
    "errortoxic": _STOPPED,
    "length": _CUT,
    "maxtokens": _CUT,
    "maxoutputtokens": _CUT,
    "maxlength": _CUT,
    "modellength": _CUT,
    "modelcontextwindowexceeded": _CUT,
    "contextlength": _CUT,
    "errorlimit": _CUT,
    "malformedfunctioncall": _GARBLED,
    "malformedmodeloutput": _GARBLED,
    "malformedtooluse": _GARBLED,
    "unexpectedtoolcall": _GARBLED,
    "toomanytoolcalls": _GARBLED,
    "missingthoughtsignature": _GARBLED,
    "insufficientsystemresource": Means(T4),
    "error": Means(T1, 0.8, vague=True),
    "failed": Means(T1, 0.7, vague=True),
    "networkerror": Means(T1, 0.9),
    "abort": Means(T1, 0.8),
    "aborted": Means(T1, 0.8),
    "cancelled": Means(T3, 0.6, T1),
    "incomplete": Means(T6, 0.6, T1),
    "timeout": Means(T3, 0.9, T1),
}
"""Why an answer ends, normalised, when something is."""
