"""What statuses, exit codes and exceptions mean (paper tables 2, 4 and 11): data only."""

import re
from collections.abc import Mapping

from hfr_bench.recovery.classifier.families import (
    T1,
    T2,
    T3,
    T4,
    T5,
    T6,
    T7,
    T8,
    V1,
    Family,
    Means,
    family,
)

STATUSES: Mapping[int, Means] = {
    400: Means(T7, 0.9, repairable=True),
    401: Means(T7),
    402: Means(T7),
    403: Means(T7),
    404: Means(T7, 0.9),
    405: Means(T7, 0.8),
    407: Means(T7),
    408: Means(T3, 0.9, T1),
    409: Means(T1, 0.6),
    410: Means(T7, 0.8),
    413: Means(T6, 0.9),
    414: Means(T6, 0.7, T7),
    420: Means(T2, 0.8),
    421: Means(T1, 0.6),
    422: Means(T7, 0.9, repairable=True),
    423: Means(T1, 0.6),
    424: Means(T1, 0.7),
    425: Means(T1, 0.8),
    428: Means(T7, 0.8, repairable=True),
    429: Means(T2),
    431: Means(T7, 0.7, T6),
    451: Means(T8, 0.8),
    498: Means(T4, 0.6, T7),
    499: Means(T3, 0.6, T1),
    501: Means(T7, 0.8),
    504: Means(T1, 0.9, T3),
    505: Means(T7, 0.7),
    511: Means(T7, 0.8),
    522: Means(T1, 0.9, T3),
    524: Means(T3, 0.9, T1),
    529: Means(T4),
    598: Means(T3, 0.8, T1),
    599: Means(T3, 0.8, T1),
}
CLIENT_ERROR = Means(T7, 0.8)
SERVER_ERROR = Means(T1)
NOT_BUILT = 501
TOOL_DOWN = 0.6
"""How sure a tool's 5xx is one of the tool (table 4), and not a passing one (T1)."""

# JSON-RPC 2.0, 5.1, and what MCP's SDKs add. A code without a row is a tool's failure.
RPC: Mapping[int, Means] = {
    -32700: Means(T5, 0.7, T1, repairable=True),
    -32600: Means(T5, 0.9, repairable=True),
    -32601: Means(T5),
    -32602: Means(T5, repairable=True),
    -32603: Means(T5, 0.6, T1),
    -32000: Means(T1, 0.6, T5),  # MCP: connection closed; elsewhere any server error
    -32001: Means(T3, 0.8, T1),  # MCP: request timed out
    -32002: Means(T5, 0.8),
}
RPC_OTHER = Means(T5, 0.6, T1)

# As a POSIX shell and coreutils' `timeout` tell it; anything else is a command's own verdict.
EXITS: Mapping[int, Means] = {
    124: Means(T3, 0.9),
    126: Means(T5, 0.8),
    127: Means(T5, 0.9),
    137: Means(T1, 0.6, T3),
    143: Means(T1, 0.6, T3),
}
EXIT_OTHER = Means(V1, 0.9)

# Names of exceptions without case and punctuation, the most telling first.
EXCEPTIONS: tuple[Family, ...] = (
    family("certificate refused", "certif certver", r"certificate|certverif", Means(T7, 0.8)),
    family("no answer in time", "timeout timedout deadline",
           r"timeout|timedout|deadlineexceeded", Means(T3)),
    family(
        "never connected",
        "connect refused newconn gai name dns unreach nohost proxy maxretry enotfound getaddr",
        r"connecterror|connectionrefused|newconnection|gaierror|nameresolution|dns|hostunreach"
        r"|networkunreach|nohostname|proxyerror|clientconnector|maxretry|econnrefused|^enotfound"
        r"|getaddrinfo",
        Means(T1, 0.95),
    ),
    family(
        "connection ended",
        "connect pipe remote incomplete readerror writeerror network chunked protocol eof stream"
        " closed payload clientos transport econn ssl tls socket",
        r"connection(?:closed|reset|aborted|error|lost)|brokenpipe|remoteprotocol|incompleteread"
        r"|readerror|writeerror|networkerror|disconnected|chunkedencoding|protocolerror|eoferror"
        r"|streamclosed|closedresource|clientpayload|apiconnection|clientoserror|transporterror"
        r"|econnreset|epipe|remotedisconnected|^ssl|tlserror|socketerror|endofstream",
        Means(T1, 0.9, T3),
    ),
)  # fmt: skip

UNPARSED = re.compile(r"jsondecode|decodingerror|responsevalidation|parseerror|unicodedecode")
"""Exceptions of a client that could not read what came."""
