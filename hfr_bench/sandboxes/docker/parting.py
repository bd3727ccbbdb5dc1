"""Two containers parted: a rule in the network namespace of the one, made from outside.

The container itself may not touch its network (it has no NET_ADMIN). Whoever is root on the
engine's machine enters its namespace with nsenter and drops what goes to the peer with iptables.
Elsewhere (no root, another machine, no tools) nobody can, which `may_part` tells.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docker import APIClient

from hfr_bench.errors import InfrastructureError

_TOOLS = ("nsenter", "iptables")
_WAIT_S = 20
_RULE = re.compile(r"^-A OUTPUT -d (?P<to>[\d.]+)/32.*?(?:--dport (?P<port>\d+) )?-j DROP$", re.M)


def may_part(container: Mapping[str, Any]) -> bool:
    """Whether rules can be made for an inspected container: it is seen to run on this machine."""
    if os.geteuid() != 0 or not all(map(shutil.which, _TOOLS)):
        return False
    # Its number might be another process's here: only its own control group bears its id.
    try:
        return container["Id"] in Path(f"/proc/{_pid(container)}/cgroup").read_text("ascii")
    except OSError:
        return False


def part(container: Mapping[str, Any], address: str, port: int) -> list[str]:
    """Drop what goes to an address; returns the rule, to be undone with `join`."""
    only = ["-p", "tcp", "--dport", str(port)] if port else []
    rule = ["OUTPUT", "-d", address, *only, "-j", "DROP"]
    _iptables(container, "-I", *rule)
    return rule


def join(container: Mapping[str, Any], rule: list[str]) -> None:
    """Take a rule of `part` away; one that is gone with its container is fine."""
    if may_part(container):
        _iptables(container, "-D", *rule)


def parted(container: Mapping[str, Any]) -> tuple[str, ...]:
    """Who is out of reach by such rules: `address:port`, or `address` altogether."""
    said = _iptables(container, "-S", "OUTPUT") if may_part(container) else ""
    return tuple(
        f"{found['to']}:{found['port']}" if found["port"] else found["to"]
        for found in _RULE.finditer(said)
    )


def address_of(client: APIClient, container: Mapping[str, Any], peer: str) -> str | None:
    """Where the peer is that a container calls by a name on one of its networks."""
    for network in container["NetworkSettings"]["Networks"]:
        for other in client.inspect_network(network)["Containers"] or ():
            at = client.inspect_container(other)["NetworkSettings"]["Networks"].get(network) or {}
            if peer in (at.get("Aliases") or ()) and at.get("IPAddress"):
                return str(at["IPAddress"])
    return None


def _pid(container: Mapping[str, Any]) -> int:
    return int(container["State"]["Pid"])


def _iptables(container: Mapping[str, Any], *arguments: str) -> str:
    """Raises InfrastructureError."""
    argv = ["nsenter", "-t", str(_pid(container)), "-n", "iptables", "-w", *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_WAIT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or error
        raise InfrastructureError(f"{' '.join(argv)}: {str(said).strip()}") from error
    return done.stdout
