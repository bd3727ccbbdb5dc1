"""Faults in a running container, made from outside: frozen, killed, tightened, cut off, full."""

from collections.abc import Callable, Mapping
from typing import Any

from docker import APIClient
from docker.errors import APIError

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import (
    Disconnect,
    FillDisk,
    HostDiedError,
    HostFault,
    Kill,
    Limit,
    Pause,
)
from hfr_bench.sandboxes.docker.engine import Engine, explanation, post

_GONE = (404, 409)  # no such container; it is not running, or not paused
_MIB = 1024 * 1024
_EXEC_S = "30"

# Processes are told from these helpers by the word HFR_MATCH, which only helpers contain.
# Prints what it hit.
_SIGNAL = """\
for dir in /proc/[0-9]*; do
    pid=${dir#/proc/}
    line=$(tr '\\0' ' ' <"$dir/cmdline" 2>/dev/null) || continue
    case $pid:$line in 1:*|*HFR_MATCH*) continue ;; esac
    case $line in *"$HFR_MATCH"*) echo "$pid"; kill -"$HFR_SIGNAL" "$pid" ;; esac
done
true
"""
_CONTINUE = "kill -CONT $HFR_PIDS 2>/dev/null; true"
_FILL = """\
free=$(df -kP "$HFR_PATH" | awk 'NR == 2 { print $4 }')
[ "$free" -le "$HFR_LEAVE_KIB" ] ||
    head -c $(((free - HFR_LEAVE_KIB) * 1024)) /dev/zero >>"$HFR_PATH/.hfr-fill"
"""
_EMPTY = 'rm -f "$HFR_PATH/.hfr-fill"'

Undo = Callable[[APIClient], object]


class Faults:
    """The faults of one container: what is in force, and how to undo it, last one first."""

    def __init__(self, engine: Engine, container: str) -> None:
        self._engine = engine
        self._container = container
        self._undo: list[Undo] = []

    def inflict(self, fault: HostFault) -> bool:
        """Make the fault; whether it may have killed the host itself.

        Raises HostDiedError if the container is gone, InfrastructureError if it cannot be made.
        """
        make: Mapping[type, Callable[[APIClient, Any], Undo | None]] = {
            Pause: self._pause,
            Kill: self._kill,
            Limit: self._limit,
            Disconnect: self._disconnect,
            FillDisk: self._fill,
        }
        try:
            with self._engine.client() as client:
                undo = make[type(fault)](client, fault)
        except APIError as error:
            kind = HostDiedError if error.status_code in _GONE else InfrastructureError
            raise kind(f"{fault} cannot be made: {explanation(error)}") from error
        if undo is not None:
            self._undo.append(undo)
        return isinstance(fault, Kill)

    def heal(self) -> None:
        while self._undo:
            try:
                with self._engine.client() as client:
                    self._undo[-1](client)
            except APIError as error:
                if error.status_code not in _GONE:
                    raise InfrastructureError(
                        f"a fault of container {self._container} cannot be undone: "
                        f"{explanation(error)}"
                    ) from error
            self._undo.pop()

    def _pause(self, client: APIClient, fault: Pause) -> Undo:
        if not fault.match:
            self._freeze(client)
            return lambda client: client.unpause(self._container)
        pids = self._signal(client, "STOP", fault.match)
        return lambda client: self._run(client, _CONTINUE, {"HFR_PIDS": pids})

    def _freeze(self, client: APIClient) -> None:
        for last in (False, False, True):
            try:
                client.pause(self._container)
            except APIError as error:
                # With cgroup v1 a busy machine may not get all processes to stop at once.
                if last or "unable to freeze" not in explanation(error):
                    raise
            else:
                return

    def _kill(self, client: APIClient, fault: Kill) -> None:
        if fault.match:
            self._signal(client, "KILL", fault.match)
        else:
            client.kill(self._container)

    def _limit(self, client: APIClient, fault: Limit) -> Undo:
        asked: dict[str, int] = {}
        if fault.memory_mib is not None:
            asked["Memory"] = asked["MemorySwap"] = fault.memory_mib * _MIB
        if fault.cpus is not None:
            asked["NanoCpus"] = round(fault.cpus * 1e9)
        if fault.pids is not None:
            asked["PidsLimit"] = fault.pids
        was = client.inspect_container(self._container)["HostConfig"]
        before = {name: was[name] for name in asked}

        def update(client: APIClient, limits: Mapping[str, int]) -> None:
            post(client, f"/containers/{self._container}/update", json=limits).close()

        update(client, asked)
        return lambda client: update(client, before)

    def _disconnect(self, client: APIClient, _fault: Disconnect) -> Undo:
        inspected = client.inspect_container(self._container)["NetworkSettings"]["Networks"]
        networks = {name: at["Aliases"] for name, at in inspected.items() if name != "none"}
        if not networks:
            raise InfrastructureError("the host cannot be disconnected: it is on no network")
        for name in networks:
            client.disconnect_container_from_network(self._container, name, force=True)

        def connect(client: APIClient) -> None:
            for name, aliases in networks.items():
                client.connect_container_to_network(self._container, name, aliases=aliases)

        return connect

    def _fill(self, client: APIClient, fault: FillDisk) -> Undo:
        where = {"HFR_PATH": fault.path, "HFR_LEAVE_KIB": str(fault.leave_kib)}
        self._undo.append(lambda client: self._run(client, _EMPTY, where))
        self._run(client, _FILL, where)
        return self._undo.pop()

    def _signal(self, client: APIClient, signal: str, match: str) -> str:
        env = {"HFR_SIGNAL": signal, "HFR_MATCH": match}
        pids = self._run(client, _SIGNAL, env, may_end=signal == "KILL")
        if not pids:
            raise InfrastructureError(f"no process in the container matches {match!r}")
        return pids

    def _run(
        self, client: APIClient, script: str, env: Mapping[str, str], may_end: bool = False
    ) -> str:
        """What a few lines of sh say, run inside, as the host's user, for a bounded time.

        `may_end`: they may have killed the host, and then they ended with its container.
        """
        argv = ["timeout", "-s", "KILL", _EXEC_S, "sh", "-c", script]
        made = client.exec_create(self._container, argv, environment=dict(env))["Id"]
        said = " ".join(client.exec_start(made).decode(errors="replace").split())
        if may_end and said:
            return said
        if code := client.exec_inspect(made)["ExitCode"]:
            raise InfrastructureError(f"in the container, exit code {code}: {said}")
        return said
