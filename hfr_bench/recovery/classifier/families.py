"""What codes and words mean, whoever says them (paper tables 2, 4 and 11): data only.

Codes are compared without case and punctuation (`insufficient_quota` = `InsufficientQuota`), so
that one row serves every spelling. A row is written for a family of codes or a way of saying it,
never for one recorded response. What one provider alone means by a code is in `dialects`, what a
number means in `statuses`.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from hfr_bench.model.terms import FaultClass

T1, T2, T3, T4 = (FaultClass(code) for code in ("T1", "T2", "T3", "T4"))
T5, T6, T7, T8 = (FaultClass(code) for code in ("T5", "T6", "T7", "T8"))
V1 = FaultClass.SEMANTIC

# Where two classes match, the more dangerous one is the primary (paper §4.2): first what forbids
# an automatic resend (a refusal, a permanent error, an unknown outcome), then what a resend must
# change first (the context), then what it must wait for, then what it must be sent around.
DANGER = (T8, T7, T3, T6, T2, T4, T5, V1, T1)
RANK: Mapping[FaultClass, int] = {one: place for place, one in enumerate(DANGER)}


class Means(NamedTuple):
    """What a signal stands for. `vague`: it says no more than the status, and words beat it."""

    fault_class: FaultClass
    confidence: float = 1.0
    secondary: FaultClass | None = None
    repairable: bool = False
    vague: bool = False


class Family(NamedTuple):
    """A way of saying something. `name` becomes the evidence.

    `stems`: without one of them the pattern cannot match; asking for them first is a tenth of the
    work. `only`: statuses at which it counts (None = no status); empty = at any.
    """

    name: str
    stems: tuple[str, ...]
    pattern: re.Pattern[str]
    means: Means
    only: frozenset[int | None] = frozenset()

    def says(self, text: str) -> bool:
        """Is it said in `text` (lower case)?"""
        for stem in self.stems:
            if stem in text:
                return self.pattern.search(text) is not None
        return False


def family(name: str, stems: str, pattern: str, means: Means, *only: int | None) -> Family:
    """A row, its stems as words of one text (`_` for a blank in them)."""
    split = tuple(stem.replace("_", " ") for stem in stems.split())
    return Family(name, split, re.compile(pattern), means, frozenset(only))


CODES: tuple[Family, ...] = (
    family(
        "policy code",
        "filter contentpolicy responsibleai policyviol policyerror violates moderation guardrail"
        " prohibited unsafe sensitive harmful flagged inspection safety cyberpolicy refusal"
        " usagepolic",
        r"contentfilter(?!error|off)|contentpolicy|responsibleai|policyviolation|violatespolicy"
        r"|moderation(?!model)|guardrail(?!config|notfound|validation)|prohibitedcontent"
        r"|(?:unsafe|sensitive|harmful|flagged)(?:content|input|output|prompt)"
        r"|inspectionfailed|safety(?:block|violation|filter|error|refusal|system)|cyberpolicy"
        r"|^refusal|usagepolic",
        Means(T8),
    ),
    family(
        "billing code",
        "insufficient billing payment arrear credit budget spend hardlimit prepaid account"
        " organi subscription",
        r"insufficient(?:quota|credit|balance|fund|user)|billing|paymentrequired|arrear"
        r"|outofcredit|nocredit|creditbalance|(?:exceeded|over)budget|budgetexceeded"
        r"|spend(?:ing)?(?:limit|cap)|hardlimit|prepaid"
        r"|(?:account|organi[sz]ation|subscription)(?:not|un|de|in|is|has|was)?"
        r"(?:active|activated|suspended|disabled|expired|overdue)",
        Means(T7),
    ),
    family(
        "model unknown",
        "model deployment engine",
        r"(?:model|deployment|engine)(?:name)?notfound"
        r"|(?:no|unknown|invalid)(?:such)?model(?!output)"
        r"|modelnot(?:exist|supported|available)",
        Means(T7),
    ),
    family(
        "auth code",
        "apikey credential signature token unrecognized unauth authenticat authori permission"
        " forbidden denied invalidgrant scope notconfigured",
        r"(?:invalid|incorrect|missing|expired|revoked|wrong|no|bad)[a-z]*(?:apikey|credential"
        r"|signature)|apikey(?:invalid|expired|missing|service|http)|(?:invalid|expired)"
        r"(?:access|auth|client|security)?token(?:exception|error)?$|unrecognizedclient"
        r"|unauthori[sz]ed|unauthenticated|authenticat|authori[sz]ation|permission|forbidden"
        r"|accessdenied|notauthori[sz]ed|invalidgrant|insufficientscope|accessnotconfigured"
        r"|signaturedoesnotmatch",
        Means(T7, vague=True),
    ),
    family("timeout code", "timeout timedout deadline", r"timeout|timedout|deadlineexceeded",
           Means(T3, 0.9, T1)),
    family(
        "context code",
        "context too exceed tokens stringabove modellength",
        r"context(?:length|window|limit|size|overflow)|(?:request|payload|entity|prompt|input"
        r"|message|content|body)(?:is|are)?too(?:large|long|big)|(?:prompt|input)tokens?"
        r"(?:limit)?exceed|exceed[a-z]*(?:max|context)[a-z]*tokens?|max(?:imum)?tokensexceeded"
        r"|tokenlimitexceeded|stringabovemax|modellength",
        Means(T6),
    ),
    # What SDKs call any 429: it says no more than the status does.
    family("limit code", "ratelimit toomany",
           r"^(?:ratelimit|toomanyrequests)(?:error|exception)?$", Means(T2, vague=True)),
    family(
        "limit code",
        "limit throttl toomany quota slowdown exhausted",
        r"ratelimit|throttl|toomanyrequest|quotaexceeded|exceededquota|quotaexhausted"
        r"|quotafailure|slowdown|servicequota|resourceexhausted|limitexceeded|exceededlimit"
        r"|limitburst|(?:request|usage|concurren\w*|daily|hourly|user|tpm|rpm|tpd|rpd)limit"
        r"(?:exceeded|reached)?",
        Means(T2),
    ),
    family(
        "capacity code",
        "overload capacity model busy queue demand insufficient noinstance noreplica noworker",
        r"overload|(?:no|insufficient|out|low|at|over|exceeded)[a-z]*capacity|capacity(?:exceeded"
        r"|limit|reached|error|unavailable)|modelnotready|modelloading|modelbusy|serverbusy"
        r"|enginebusy|toobusy|queue(?:is)?full|highdemand|insufficientsystemresource"
        r"|no(?:instance|replica|worker)",
        Means(T4),
    ),
    family(
        "tool code",
        "tool method function schema contract outputvalid",
        r"(?:unknown|nosuch|invalid|missing|unregistered)tool|tool(?:is)?not(?:found|registered"
        r"|available|exist|supported)|toolunavailable|methodnotfound|unknown(?:method|function)"
        r"|schema(?:mismatch|violation|validation)|contractmismatch|outputvalidation",
        Means(T5),
    ),
    family(
        "passing code",
        "error internal unavailable badgateway unknown dataloss aborted connection upstream"
        " provider conflict temporar engine",
        r"servererror|apierror|internal|unavailable|badgateway|^unknown|dataloss|aborted"
        r"|apiconnection|modelerror|streamerror|upstream|provider(?:error|returned)|conflict"
        r"|temporar|engine(?:core|dead)",
        Means(T1, vague=True),
    ),
    family(
        "request code",
        "invalid badrequest validation unprocessable unknown unsupport missing required not"
        " failedpre outofrange unimpl malformed illegal forbidden typeerror nosuch",
        r"invalid|badrequest|validation|unprocessable|unknownparam|unsupported|missing|required"
        r"|notfound|failedprecondition|outofrange|unimplemented|notallowed|notsupported"
        r"|malformed|illegal|extraforbidden|typeerror|nosuch",
        Means(T7, 0.9, repairable=True, vague=True),
    ),
)  # fmt: skip

_SERVER = (None, 200, 408, 424, 500, 502, 503, 504, 520, 524, 529)
_TOPIC = (
    r"(?:content|usage|safety|moderation|acceptable[ -]use|prohibited use|responsible ai|cyber\w*"
    r"|security and safety|safety and security|community|trust and safety|compliance)"
)

WORDS: tuple[Family, ...] = (
    family(
        "policy words",
        "polic guideline safety flag block filter refus moderat guardrail harm sensitive"
        " inappropriate unsafe disallow prohibit withheld terms risk",
        # A topic and its rule, but not a parameter or a service of that name.
        rf"{_TOPIC}[\w ]{{0,20}} (?:polic(?:y|ies)|guidelines?|system|filters?|filtering|terms)"
        r"(?! (?:\w+ )?(?:param|setting|config|is not (?:a|supported)|not found|service|timed"
        r"|error|backend))"
        r"|(?:violat\w+|against|breach\w*|non-?complian\w*|prohibited by)"
        r"(?! (?:your |the )?organi[sz]ation)[\w ',]{0,40} (?:polic(?:y|ies)|guidelines|terms of)"
        r"|(?:prompt|input|output|content|request|response|message|generation)s?\b[\w ',]{0,40}"
        r" (?:flagged|moderat|blocked|filtered|refused|withheld)|flagged (?:as|by|for)"
        r"|(?:blocked|stopped|rejected|refused|intervened|filtered)[\w ',]{0,40} (?:guardrails?"
        r"|safety|moderation|content filter|harm|sensitive|compliance|polic(?:y|ies) reasons)"
        r"|guardrail[\w ]{0,20} (?:intervened|blocked|triggered)|prohibited_content"
        r"|exists? risk"
        r"|(?:sensitive|harmful|inappropriate|unsafe|disallowed|prohibited)"
        r" (?:content|words?|material|information)"
        r"|(?:content|safety)[ _]filter[\w ]{0,20} (?:triggered|blocked)",
        Means(T8, 0.9),
        None, 200, 400, 403, 406, 409, 422, 429, 451, 500, 502, 503,
    ),
    family(
        "billing words",
        "insufficient credit billing spend budget prepaid hard cost usage_limits payment unpaid"
        " overdue arrears top_up account organi limit:_0 extra_usage",
        r"insufficient[_ -](?:quota|credits?|balance|funds?)|credit balance|out of credits?"
        r"|(?:no|not enough|requires? more|exhausted\w*|used up|ran out)[\w ']{0,30} credits?\b"
        r"|(?:billing|spend(?:ing)?|budget|credit|prepaid|cost|hard)[\w ]{0,20}"
        r" (?:limit|cap|quota|balance)[\w ]{0,20} (?:reach|exceed|exhaust|hit|deplet|been)"
        r"|(?:reach|exceed|exhaust|hit|cross|deplet)\w*[\w ']{0,40} (?:spend\w*|budget|billing"
        r"|hard limit)|budget has been exceeded|specified (?:api|workspace) usage limits"
        r"|payment (?:is )?(?:required|overdue|failed|past due)|(?:unpaid|overdue)[\w ]{0,20}"
        r" (?:invoice|bill|payment|account)|extra usage is required"
        r"|in arrears|overdue|top up|purchase (?:more )?credits"
        r"|billing (?:is )?(?:not active|disabled|not enabled|account|details (?:is|are) "
        r"(?:missing|not))|(?:account|organi[sz]ation)[\w ]{0,30} (?:deactivated|suspended"
        r"|disabled|not active|inactive)|(?<![a-z])limit: 0(?![\d.])",
        Means(T7, 0.9),
        None, 200, 400, 402, 403, 429, 500, 503,
    ),
    family(
        "plan words",  # said of a free tier's passing limit, too: `classify` looks further
        "plan",
        r"current quota[\w ,]{0,20} (?:check|please check)[\w ]{0,20} (?:plan|billing)"
        r"|(?:check|see|update|upgrade)[\w ]{0,20} plan and billing|quota exceeded[;,.] check plan",
        Means(T7, 0.8, T2),
        None, 200, 400, 403, 429, 500,
    ),
    family(
        "timeout words",
        "time deadline too_long did_not no_response",
        r"time[ds]?[ -]?out|deadline exceeded|took too long|did not (?:respond|answer|complete"
        r"|finish) (?:in time|within)|no response (?:in time|within|from)",
        Means(T3, 0.8, T1),
        None, 200, 408, 424, 500, 502, 503, 520, 524,
    ),
    family(
        "context words",
        "context too token max reduce shorten truncat decreas exceed length",
        r"context[ _-](?:length|window|limit|size)|(?:prompt|input|request|conversation|messages?"
        r"|history|text|content|payload|body|query|document)s?\b[\w ()'`]{0,40} "
        r"too (?:long|large|big|many tokens)|too many (?:input )?tokens? (?:in|for|were)"
        r"|(?:exceed\w*|over|above|beyond|greater than|longer than|larger than|more than)"
        r"[\w ()':,`]{0,50} (?:max(?:imum)?|allowed|limit|supported|available|model'?s?)"
        r"[\w ()'`:]{0,40} (?:tokens?\b(?! per)|context|(?:input|sequence|prompt) length)"
        r"|(?:tokens?|length|input|prompt)[\w ()'`:=>,.]{0,50} (?:exceeds?|exceeded|is over"
        r"|surpass\w*)[\w ()'`:,]{0,40} (?:max\w*|limit of \d|context|model|allowed|supported)"
        r"|(?:less|fewer) than \d+ (?:input )?tokens|tokens?[` ]{0,3}\+.{0,30}tokens"
        r"|(?:reduce|shorten|truncate|decrease)[\w ]{0,20} (?:length|prompt|input|messages"
        r"|context|size of)|tokens must be reduced|tokens? > \d+ max|max(?:imum)?[_ ]"
        r"(?:model[_ ]len|prompt|sequence|input|request|allowed)[_ ]?(?:length|tokens?|size)"
        r"|too many results|(?:payload|request|body|prompt|input)[\w ]{0,20} size exceeds",
        Means(T6, 0.9),
        None, 200, 400, 413, 414, 422, 500, 502, 503,
    ),
    family(
        "size words",  # a limit per minute speaks of tokens as well: only what cannot be one
        "too context reduce",
        r"(?:request|entity|payload|body|prompt|input|messages?)s?(?: is| was| are)?"
        r" too (?:large|long|big)|context[ _-](?:length|window)|tokens must be reduced"
        r"|reduce the (?:length|size) of",
        Means(T6, 0.9),
        429,
    ),
    family(
        "limit words",
        "limit too_many too_f throttl quota exceed per_ slow_down reduce",
        r"rate[ -]?limit(?!er (?:is )?unavail)"
        r"|(?<!processing )too many (?:concurrent |simultaneous |api )?"
        r"(?:request|call|connection|tokens(?! (?:in|for|were)))|throttl|quota[\w ']{0,30}"
        r" (?:exceed|exhaust|reach|hit|used)|exceed\w*[\w ']{0,60} (?:quota|rate|(?:request|token"
        r"|call|concurrency|usage|daily|hourly)s? limit|per (?:minute|hour|day|second))"
        r"|(?:requests?|tokens?|calls?|queries) per (?:minute|min|hour|day|second|sec)\b"
        r"|slow down|(?:daily|hourly|usage|request|concurrency|concurrent requests?|api call) limit"
        r"|limit (?:has been )?(?:reached|exceeded)|too fast|too frequent|reduce (?:your|the)"
        r" (?:request )?(?:rate|frequency)",
        Means(T2, 0.9),
        *_SERVER, 400, 403, 413, 422, 429, 498,
    ),
    family(
        "capacity words",
        "load capacity no_ demand traffic usage volume busy queue model many_requests insufficient"
        " exhausted",
        r"over-?load|(?:over|at|out of|insufficient|not enough|no|limited|exceed\w*|lack of|lacks"
        r"|reached)[\w ]{0,20} capacity|capacity[\w ]{0,25} (?:exceeded|constraint|reached|issue"
        r"|unavailable|exhausted|limit|full|shortage|error)|(?:unavailable|due to|currently at)"
        r"[\w ]{0,20} capacity|no (?:available |healthy |free |ready |running )?(?:instances?"
        r"|replicas?|workers?|gpus?|nodes?|slots?)\b|(?:high|heavy|unusual\w*|peak|increased"
        r"|excessive) (?:demand|load|traffic|usage|volume)|too busy|(?:server|model|engine|system"
        r"|service)s? (?:is |are )?(?:currently |temporarily )?(?:very |too )?busy|queue (?:is "
        r"|was )?(?:at )?(?:full|limit|too long|capacity)|queue (?:depth|size|length) (?:exceed"
        r"|limit)|model[\w ./'`:-]{0,80} (?:loading|warming|starting up|not ready|scaling)"
        r"|too many requests in queue|processing too many requests"
        r"|no (?:available|allowed) (?:model )?providers?"
        r"|resources? (?:(?:is|are|being) )?(?:temporarily )?insufficient",
        Means(T4, 0.9),
        *_SERVER, 420, 421, 425, 429, 498,
    ),
    family(
        "capacity words",
        "no_",
        r"no (?:deployments?|endpoints?|backends?|models?)[\w ]{0,15} available",
        Means(T4, 0.8),
        500, 503,
    ),
    family(
        "tool words",
        "tool function method schema",
        r"(?:unknown|no such|unregistered|unrecogni[sz]ed|undefined|non-?existent|invalid) (?:tool"
        r"|function|method)\b(?! (?:argument|param|call|choice|input))"
        r"|(?:tool|function|method)[\w '`\":.-]{0,60} (?:not found|does not exist|not registered"
        r"|is not (?:available|defined|registered|a known)|isn't available|unavailable"
        r"|(?:is )?no longer)|could not find (?:the )?(?:tool|function)"
        r"|schema (?:mismatch|changed|drift)",
        Means(T5, 0.9),
        None, 200, 404, 405, 410, 500, 501, 502, 503,
    ),
)  # fmt: skip

PLAN = next(one for one in WORDS if one.name == "plan words")
PER_TIME = re.compile(r"per ?(?:minute|min|hour|day|second)|free_tier|quota exceeded for")
"""A limit that fills up again, which some tell in the words of a billing stop."""

AUTH = family(
    "auth words",
    "key credential signature unauth not_a authenticat permission access forbidden log token",
    r"api[ _-]?key[\w ]{0,20} (?:not valid|invalid|incorrect|expired|missing|required|revoked"
    r"|disabled)|(?:invalid|incorrect|missing|no|expired|revoked|wrong)[\w ]{0,15}"
    r" (?:api[ _-]?key|credentials?|signature)|unauthori[sz]ed|unauthenticated|not authori[sz]ed"
    r"|authentication|permission|access denied|forbidden|not allowed to|no access"
    r"|log ?in required|token (?:has |is )?expired",
    Means(T7, 0.9),
)
"""A missing right, which no repair of the request brings."""

FIELDS = re.compile(
    r"\brequired\b|\bmissing\b|field|propert(?:y|ies)|parameter|argument|schema|validation"
    r"|not of type|expected (?:a |an )?(?:str|int|num|bool|obj|arr|list|dict)|must be"
    r"|type[_ ]error|invalid (?:value|type|input|format)|not (?:a )?valid|unexpected|malformed"
)
"""Arguments that do not fit the contract (table 11: missing or invalid field)."""

OUTPUT_LIMIT = re.compile(
    r"^(?!.*(?:context|input|prompt)).*max_(?:tokens|completion_tokens|output_tokens|new_tokens)\b"
    r"[^.]{0,80}(?:too large|>|greater|exceed|at most|must be|less than|maximum)",
    re.S,
)
"""A request for more output than the model writes at once: a bad number, not a long context."""

LIMIT_AND_REQUEST = re.compile(
    r"limit:? ?([\d,.]{1,15})\D[^\d]{0,40}(?:used:? ?[\d,.]{1,15}\D[^\d]{0,20})?"
    r"requested:? ?([\d,]{1,15})"
)
"""A limit on tokens and what one request asks of it: if that alone is more, waiting never helps."""
