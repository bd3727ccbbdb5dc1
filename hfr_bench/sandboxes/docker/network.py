"""Internal networks: what is on one reaches the others on it, and nothing else at all."""

import threading
from collections.abc import Mapping

from docker import APIClient

from hfr_bench.sandboxes.docker.container import RUN, new_name


class Networks:
    """The networks of one sandbox, made at first use; `reap.sweep` removes them by label."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        self._lock = threading.Lock()
        self._made: dict[str, str] = {}

    def get(self, client: APIClient, name: str) -> str:
        """The engine's name of the network that this sandbox's commands call `name`."""
        with self._lock:
            if name not in self._made:
                unique = new_name(self._labels[RUN])
                client.create_network(
                    unique,
                    driver="bridge",
                    internal=True,
                    # No address for the host on the bridge: not even the machine is reachable.
                    options={"com.docker.network.bridge.inhibit_ipv4": "true"},
                    labels={**self._labels},
                )
                self._made[name] = unique
            return self._made[name]
