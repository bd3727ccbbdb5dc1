"""What a tool host's container is made with: as little as will do."""

import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hfr_bench.ports.sandbox import HostCommand

RUN, OWNER, SANDBOX, TRIAL = "hfr.run", "hfr.owner", "hfr.sandbox", "hfr.trial"
POOL = "pool"  # the label `hfr.trial` of a host that is not started for one trial
WORK_DIR = "/sandbox"
_MIB = 1024 * 1024
_NOTES_MIB = 64  # of a folder that is for root alone
# A documentation address (RFC 5737), where nobody answers: some engines would otherwise look up
# names of the outside from outside the container (CVE-2024-29018).
_NO_DNS = "192.0.2.1"


class Settings(BaseModel):
    """What an experiment may set: limits of each host, and how many wait in the warm pool.

    `scratch_mib` is the size of each of /tmp and /sandbox, which count as memory. `patience_s`:
    how long to wait for an engine that goes away.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    memory_mib: int = Field(1024, ge=16)
    cpus: float = Field(1.0, ge=0.01)
    pids: int = Field(128, ge=8)
    scratch_mib: int = Field(256, ge=1)
    warm: int = Field(0, ge=0)
    patience_s: float = Field(60.0, ge=0)


def new_name(run: str) -> str:
    """A name for a container or a network that nobody else has."""
    return f"hfr-{run}-{secrets.token_hex(6)}"


def recipe(
    command: HostCommand,
    settings: Settings,
    image_id: str,
    labels: Mapping[str, str],
    network: str | None,
) -> dict[str, Any]:
    """The body of the engine's /containers/create. `network`: the engine's name of it."""
    body: dict[str, Any] = {
        "Image": image_id,
        "Entrypoint": [],  # the image's own must not come before the command
        "Cmd": list(command.argv),
        "Healthcheck": {"Test": ["NONE"]},
        "Env": [f"{name}={value}" for name, value in command.env.items()],
        "User": command.user,
        "Hostname": "sandbox",
        "WorkingDir": WORK_DIR,
        "Labels": {**labels, TRIAL: command.trial or POOL},
        "OpenStdin": True,
        "StdinOnce": True,  # stdin ends with our connection: a host ends by itself if we are killed
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": _host_config(command, settings, network),
    }
    if command.persists:
        body["HostConfig"]["Mounts"] = _volumes(
            command.persists, command.user, settings.scratch_mib, labels
        )
    if network is not None:
        aliases = [command.alias] if command.alias else []
        body["NetworkingConfig"] = {"EndpointsConfig": {network: {"Aliases": aliases}}}
    return body


def _host_config(command: HostCommand, settings: Settings, network: str | None) -> dict[str, Any]:
    memory = (command.memory_mib or settings.memory_mib) * _MIB
    # Owned by the host's user: the mode of a mount point that exists would win over one given here.
    uid, _, gid = command.user.partition(":")
    scratch = f"rw,nosuid,nodev,exec,size={settings.scratch_mib}m,uid={uid},gid={gid or uid}"
    tmpfs = {"/tmp": scratch, WORK_DIR: scratch}  # noqa: S108 - inside the container
    if uid == "0":  # a host that is root keeps there what its commands may not touch
        tmpfs["/run"] = "rw,nosuid,nodev,noexec,mode=755,size=64m"
    for kept in command.persists:
        tmpfs.pop(kept, None)
    ulimits = {"core": 0, "nofile": 4096, **({"cpu": command.cpu_s} if command.cpu_s else {})}
    return {
        # With its anonymous volumes. One that may be stopped and started is removed by who made it.
        "AutoRemove": not command.persists,
        "Init": True,
        "ReadonlyRootfs": not command.writable,
        "Tmpfs": tmpfs,
        "CapDrop": ["ALL"],
        "CapAdd": list(command.keeps),
        "SecurityOpt": ["no-new-privileges:true"],
        "Memory": memory,
        "MemorySwap": memory,  # memory and swap together: no swap
        "NanoCpus": round((command.cpus or settings.cpus) * 1e9),
        "PidsLimit": command.pids or settings.pids,
        "Ulimits": [{"Name": name, "Soft": n, "Hard": n} for name, n in ulimits.items()],
        "OomScoreAdj": 500,  # when the machine runs out of memory, rather a host than the harness
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "LogConfig": {"Type": "none", "Config": {}},
        "RestartPolicy": {"Name": "no"},
        "NetworkMode": network or "none",
        **({"Dns": [_NO_DNS], "DnsOptions": ["timeout:1", "attempts:1"]} if network else {}),
    }


def _volumes(
    persists: tuple[str, ...], user: str, scratch_mib: int, labels: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Anonymous volumes, gone with their container: the last of several is for root alone.

    In memory: one on the engine's disk has no size, and whoever fills it fills the machine.
    """
    uid, _, gid = user.partition(":")
    found = []
    for number, target in enumerate(persists):
        private = number > 0 and number == len(persists) - 1
        size = _NOTES_MIB if private else scratch_mib
        owner = "uid=0,gid=0,mode=700" if private else f"uid={uid},gid={gid or uid},mode=1777"
        options = {"type": "tmpfs", "device": "tmpfs", "o": f"size={size}m,nosuid,nodev,{owner}"}
        made = {"DriverConfig": {"Name": "local", "Options": options}, "Labels": dict(labels)}
        found.append(
            {"Type": "volume", "Target": target, "VolumeOptions": {"NoCopy": True, **made}}
        )
    return found
