"""Faults in a running container, made from outside: frozen, killed, tightened, cut off, full."""

import signal
import threading
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
    HostState,
    Kill,
    KillApp,
    LeaveFile,
    Limit,
    Partition,
    Pause,
    Protect,
    Restart,
    ShowModal,
    SkewClock,
    StopApp,
)
from hfr_bench.sandboxes.docker import inside, parting
from hfr_bench.sandboxes.docker.desk import Desk, Undo
from hfr_bench.sandboxes.docker.engine import Engine, explanation, post

_GONE = (404, 409)  # no such container; it is not running, or not paused
_MIB = 1024 * 1024


class Faults:
    """The faults of one container: what is in force, and how to undo it, last one first.

    `restart`: starts the container anew, its stdio attached.
    """

    def __init__(
        self, engine: Engine, container: str, restart: Callable[[APIClient], object]
    ) -> None:
        self._engine = engine
        self._container = container
        self._restart = restart
        self._turn = threading.RLock()  # a timed fault is undone by a thread of its own
        self._undo: list[Undo] = []
        self._watch: inside.Watch | None = None
        self._born = ""  # when it was last started, before the restart that stands
        self._left = ""  # the file that was left
        self._desk = Desk(container)

    @property
    def standing(self) -> bool:
        """Whether a fault is in force."""
        return bool(self._undo)

    def inflict(self, fault: HostFault) -> bool:
        """Make the fault; whether it may have killed the host itself.

        Raises HostDiedError if the container is gone, InfrastructureError if it cannot be made.
        """
        make: Mapping[type, Callable[[APIClient, Any], Undo | None]] = {
            Pause: self._pause,
            Kill: self._kill,
            Limit: self._limit,
            Disconnect: self._disconnect,
            Partition: self._part,
            FillDisk: self._fill,
            Restart: self._start_anew,
            LeaveFile: self._leave,
            Protect: self._desk.protect,
            KillApp: self._desk.kill_app,
            StopApp: self._desk.stop_app,
            ShowModal: self._desk.show_modal,
            SkewClock: self._desk.skew_clock,
        }
        try:
            with self._turn, self._engine.client() as client:
                if (undo := make[type(fault)](client, fault)) is not None:
                    self._undo.append(undo)
        except APIError as error:
            kind = HostDiedError if error.status_code in _GONE else InfrastructureError
            raise kind(f"{fault} cannot be made: {explanation(error)}") from error
        return isinstance(fault, Kill)

    def heal(self, *, everything: bool) -> None:
        with self._turn:
            if everything and self._left:
                self._undo.insert(0, self._remove)
            if everything and self._desk.dialog:
                self._undo.insert(0, self._desk.dismiss)
            self._heal()

    def _heal(self) -> None:
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

    def look(self, path: str, match: str) -> HostState:
        """Raises HostDiedError if the container is gone."""
        try:
            with self._engine.client() as client:
                return self._state(client, path, match)
        except APIError as error:
            kind = HostDiedError if error.status_code in _GONE else InfrastructureError
            raise kind(f"the host cannot be looked at: {explanation(error)}") from error

    def _state(self, client: APIClient, path: str, match: str) -> HostState:
        seen = client.inspect_container(self._container)
        paused = bool(seen["State"]["Paused"])
        mode, networks = seen["HostConfig"]["NetworkMode"], seen["NetworkSettings"]["Networks"]
        cut = ("*",) if mode != "none" and not networks else parting.parted(seen)
        watch = self._watch if self._watch and self._watch.match == match else None
        free: int | None = None
        kills: int | None = None
        at_work = stopped = left = 0
        if not paused:
            free, kills, at_work, stopped, left = inside.state(
                client, self._container, path, match, self._left
            )
        return HostState(
            paused=paused,
            watched=watch is not None,
            struck=0 if watch is None else watch.struck(client),
            at_work=at_work,
            stopped=stopped,
            memory_mib=seen["HostConfig"]["Memory"] // _MIB,
            free_kib=free,
            oom_kills=kills,
            cut=cut,
            restarted=bool(self._born) and seen["State"]["StartedAt"] != self._born,
            left=bool(left),
            **({} if paused else self._desk.state(client)),
        )

    def _pause(self, client: APIClient, fault: Pause) -> Undo:
        if fault.after_ms is not None:
            end = self._set_watch(client, fault, (signal.SIGSTOP, fault.after_ms, fault.hold))

            def let_go(client: APIClient) -> None:
                end(client)
                self._run(client, inside.SIGNAL, {"HFR_SIGNAL": "CONT", "HFR_MATCH": fault.match})

            return let_go
        if not fault.match:
            self._freeze(client)
            return lambda client: client.unpause(self._container)
        pids = self._signal(client, "STOP", fault.match)
        return lambda client: self._run(client, inside.CONTINUE, {"HFR_PIDS": pids})

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

    def _kill(self, client: APIClient, fault: Kill) -> Undo | None:
        if fault.after_ms is not None:
            return self._set_watch(client, fault, (signal.SIGKILL, fault.after_ms, fault.hold))
        if fault.match:
            self._signal(client, "KILL", fault.match)
        else:
            client.kill(self._container)
        return None

    def _set_watch(
        self, client: APIClient, fault: Pause | Kill, strike: tuple[int, int, str]
    ) -> Undo:
        watch = self._watch = inside.Watch(client, self._container, fault.match, strike)
        return watch.end

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

    def _part(self, client: APIClient, fault: Partition) -> Undo:
        seen = client.inspect_container(self._container)
        address = parting.address_of(client, seen, fault.peer)
        if address is None:
            raise InfrastructureError(f"the host has no peer {fault.peer!r} on its network")
        if not parting.may_part(seen):
            return self._disconnect(client, Disconnect())
        rule = parting.part(seen, address, fault.port)
        return lambda _client: parting.join(seen, rule)

    def _fill(self, client: APIClient, fault: FillDisk) -> Undo:
        where = {"HFR_PATH": fault.path, "HFR_LEAVE_KIB": str(fault.leave_kib)}
        self._undo.append(lambda client: self._run(client, inside.EMPTY, where))
        self._run(client, inside.FILL, where)
        return self._undo.pop()

    def _start_anew(self, client: APIClient, _fault: Restart) -> Undo:
        self._born = client.inspect_container(self._container)["State"]["StartedAt"]
        self._restart(client)

        def forget(_client: APIClient) -> None:
            self._born = ""

        return forget

    def _leave(self, client: APIClient, fault: LeaveFile) -> None:
        """Its owner may remove it, so it must be the folder's."""
        where = {"HFR_PATH": fault.path}
        owner = self._run(client, inside.OWNER, where)
        inside.run(client, self._container, inside.LEAVE, where, user=owner)
        self._left = fault.path

    def _remove(self, client: APIClient) -> None:
        """What was left, if its folder is still there."""
        where = {"HFR_PATH": self._left}
        owner = self._run(client, f"{inside.OWNER} 2>/dev/null || true", where)
        if owner:
            inside.run(client, self._container, inside.REMOVE, where, user=owner)
        self._left = ""

    def _signal(self, client: APIClient, signal: str, match: str) -> str:
        env = {"HFR_SIGNAL": signal, "HFR_MATCH": match}
        pids = self._run(client, inside.SIGNAL, env, may_end=signal == "KILL")
        if not pids and signal == "STOP":  # what was said may be lost, and who is stopped stays so
            pids = self._run(client, inside.SIGNAL, env)
        if not pids:
            raise InfrastructureError(f"no process in the container matches {match!r}")
        return pids

    def _run(
        self, client: APIClient, script: str, env: Mapping[str, str], may_end: bool = False
    ) -> str:
        return inside.run(client, self._container, script, env, may_end=may_end)
