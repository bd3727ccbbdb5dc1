"""A few lines run in a container by `docker exec`, as the host's user: small tools of its faults.

They are told from the host's own processes by the word HFR_MATCH, which only they contain.
"""

import json
import re
import struct
import time
from collections.abc import Mapping
from typing import Any

from docker import APIClient

from hfr_bench.errors import InfrastructureError

_EXEC_S = "30"
_WATCH_END_S = 30.0
_LOOK_S = 0.01
_HEADER = struct.Struct(">BxxxL")

# Prints what it hit. Who is stopped runs on until it is next given a processor: that is waited for.
SIGNAL = """\
hit=
for dir in /proc/[0-9]*; do
    pid=${dir#/proc/}
    line=$(tr '\\0' ' ' <"$dir/cmdline" 2>/dev/null) || continue
    case $pid:$line in 1:*|*HFR_MATCH*) continue ;; esac
    case $line in *"$HFR_MATCH"*) hit="$hit $pid"; echo "$pid"; kill -"$HFR_SIGNAL" "$pid" ;; esac
done
[ "$HFR_SIGNAL" = STOP ] || exit 0
for _ in $(seq 500); do
    running=
    for pid in $hit; do
        stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
        case ${stat##*) } in [TtXZ]*) ;; *) running=$pid ;; esac
    done
    [ -n "$running" ] || exit 0
    sleep 0.01
done
"""
CONTINUE = "kill -CONT $HFR_PIDS 2>/dev/null; true"
FILL = """\
free=$(df -kP "$HFR_PATH" | awk 'NR == 2 { print $4 }')
[ "$free" -le "$HFR_LEAVE_KIB" ] ||
    head -c $(((free - HFR_LEAVE_KIB) * 1024)) /dev/zero >>"$HFR_PATH/.hfr-fill"
"""
EMPTY = 'rm -f "$HFR_PATH/.hfr-fill"'
OWNER = 'stat -c %u:%g "$(dirname "$HFR_PATH")"'
LEAVE = ': >>"$HFR_PATH"'
REMOVE = 'rm -f "$HFR_PATH"'
# Prints: free KiB, processes the kernel has killed, processes that match, those that are stopped,
# whether the file is there that was left.
STATE = """\
free=$(df -kP "$HFR_PATH" | awk 'NR == 2 { print $4 }')
kills=0
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
    [ -r "$file" ] && kills=$(awk '$1 == "oom_kill" { print $2 }' "$file")
done
all=0 stopped=0
for dir in /proc/[0-9]*; do
    line=$(tr '\\0' ' ' <"$dir/cmdline" 2>/dev/null) || continue
    case ${dir#/proc/}:$line in 1:*|*HFR_MATCH*) continue ;; esac
    case $line in *"$HFR_MATCH"*) ;; *) continue ;; esac
    stat=$(cat "$dir/stat" 2>/dev/null) || continue
    all=$((all + 1))
    case ${stat##*) } in T*) stopped=$((stopped + 1)) ;; esac
done
left=0
[ -z "$HFR_LEFT" ] || ! [ -e "$HFR_LEFT" ] || left=1
echo "[$free, ${kills:-0}, $all, $stopped, $left]"
"""
# Ends when its stdin does; its exit code is how many processes it hit. Where they wait for it (a
# process that finds the file `hold` stops itself), it strikes as soon as one of them does.
_WATCH = """\
import os, select, signal, sys, time
match, number = os.environ["HFR_MATCH"].encode(), int(os.environ["HFR_SIGNAL"])
hold, after = os.environ["HFR_HOLD"], int(os.environ["HFR_AFTER_MS"]) / 1000
def found():
    here = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid()):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read().replace(b"\\0", b" ")
            except OSError:
                continue
            if match in line and b"HFR_MATCH" not in line:
                here.append(int(name))
    return here
def stopped(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] in "Tt"
    except OSError:
        return False
def strike(number):
    hit = 0
    for pid in found():
        try:
            os.kill(pid, number)
            hit += 1
        except ProcessLookupError:
            pass
    return hit
if hold:
    open(hold, "w").close()
print("watching", flush=True)
begun, over = None, False
while not over and (begun is None or time.monotonic() - begun < after):
    here = found()
    if here and begun is None:
        begun = time.monotonic()
    if hold and any(map(stopped, here)):
        break
    over = bool(select.select([0], [], [], 0.002)[0])
if hold:
    os.unlink(hold)
hit = 0 if over else strike(number)
if hold and over:
    strike(signal.SIGCONT)
sys.exit(min(hit, 100))
"""


def run(
    client: APIClient,
    container: str,
    script: str,
    env: Mapping[str, str],
    *,
    may_end: bool = False,
    user: str = "",
) -> str:
    """What a script says, run for a bounded time. Raises InfrastructureError.

    `may_end`: it may have killed the host, and then it ended with its container. `user`: whose
    rights it has, uid:gid; "" = the host's.
    """
    argv = ["timeout", "-s", "KILL", _EXEC_S, "sh", "-c", script]
    made = client.exec_create(container, argv, environment=dict(env), user=user)["Id"]
    said = " ".join(client.exec_start(made).decode(errors="replace").split())
    if may_end and said:
        return said
    if code := client.exec_inspect(made)["ExitCode"]:
        raise InfrastructureError(f"in the container, exit code {code}: {said}")
    return said


def state(client: APIClient, container: str, path: str, match: str, left: str) -> tuple[int, ...]:
    """Free KiB at a path, kills for lack of memory, processes that match, and those stopped.

    And 1 if the file `left` is there.
    """
    # An empty pattern would match everybody; no command line holds this one.
    env = {"HFR_PATH": path, "HFR_MATCH": match or "\x01", "HFR_LEFT": left}
    return told(client, container, STATE, env)


def told(client: APIClient, container: str, script: str, env: Mapping[str, str]) -> tuple[int, ...]:
    """The numbers that a script prints as a list, one that changes nothing.

    Raises InfrastructureError.
    """
    for _ in range(3):  # under load an engine can lose what a short command said; asking is free
        said = run(client, container, script, env)
        if found := re.search(r"\[[-\d, ]+\]", said):
            return tuple(json.loads(found[0]))
    raise InfrastructureError(f"the container does not tell its state, but: {said}")


class Watch:
    """A process in the container that waits for another one and signals it. Made: it watches.

    `strike`: signal, milliseconds, and the file by which the other one holds, "" = it does not.
    Raises InfrastructureError if it does not begin to.
    """

    def __init__(
        self, client: APIClient, container: str, match: str, strike: tuple[int, int, str]
    ) -> None:
        self.match = match
        names = ("HFR_SIGNAL", "HFR_AFTER_MS", "HFR_HOLD")
        env = {"HFR_MATCH": match, **dict(zip(names, map(str, strike), strict=True))}
        argv = ["python3", "-I", "-S", "-c", _WATCH]
        self._id = client.exec_create(container, argv, stdin=True, environment=env)["Id"]
        self._attached: Any = client.exec_start(self._id, socket=True)
        try:
            said = self._first_words()
        except OSError as error:
            said = str(error)
        if said != b"watching":
            self.end(client)
            raise InfrastructureError(f"no watch can be set in the container: {said!r}")

    def struck(self, client: APIClient) -> int:
        """How many processes it has hit so far."""
        told = client.exec_inspect(self._id)
        return 0 if told["Running"] else int(told["ExitCode"] or 0)

    def end(self, client: APIClient) -> None:
        """It watches no more. Idempotent. Raises InfrastructureError if it does not end."""
        if self._attached is not None:
            response = getattr(self._attached, "_response", None)
            if response is not None:  # docker-py keeps the connection alive by it
                response.close()
            self._attached.close()
            self._attached = None
        deadline = time.monotonic() + _WATCH_END_S
        while client.exec_inspect(self._id)["Running"]:
            if time.monotonic() > deadline:
                raise InfrastructureError(f"the watch for {self.match!r} does not end")
            time.sleep(_LOOK_S)

    def _first_words(self) -> Any:
        """What the first frame holds. Raises OSError if nothing comes."""
        sock: Any = getattr(self._attached, "_sock", self._attached)
        sock.settimeout(float(_EXEC_S))
        data = b""
        while len(data) < _HEADER.size or len(data) < _HEADER.size + _HEADER.unpack_from(data)[1]:
            more = sock.recv(1 << 12)
            if not more:
                break
            data += more
        return data[_HEADER.size :].strip()
