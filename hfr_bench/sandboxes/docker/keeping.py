"""Who holds a container's volumes while it is started anew.

They are in memory: the engine mounts them for the first container that uses them and unmounts them
behind the last, and then they are empty.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from docker import APIClient

from hfr_bench.sandboxes.docker.engine import post
from hfr_bench.sandboxes.docker.reap import remove_container

_HELD_S = "600"


@contextmanager
def keeping_volumes(client: APIClient, container: str) -> Iterator[None]:
    """Hold a container's volumes by another one, which is removed in the end."""
    seen = client.inspect_container(container)
    held = [one["Name"] for one in seen["Mounts"] if one["Type"] == "volume"]
    if not held:
        yield
        return
    body = {
        "Image": seen["Image"],
        "Entrypoint": [],
        "Cmd": ["sleep", _HELD_S],
        "Labels": seen["Config"]["Labels"],
        "HostConfig": {
            "AutoRemove": True,
            "NetworkMode": "none",
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "Mounts": [
                {"Type": "volume", "Source": name, "Target": f"/held/{number}"}
                for number, name in enumerate(held)
            ],
        },
    }
    keeper = post(client, "/containers/create", json=body).json()["Id"]
    try:
        client.start(keeper)
        yield
    finally:
        remove_container(client, keeper)
