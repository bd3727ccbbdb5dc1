"""Finding what a run has left on an engine, by label, and removing it; nobody else's."""

from collections.abc import Callable, Mapping
from typing import Any

from docker import APIClient
from docker.errors import APIError, NotFound

from hfr_bench.owner import is_gone
from hfr_bench.sandboxes.docker.container import OWNER, RUN

_CONFLICT = 409  # its removal is under way, or it is in use


def remove_container(client: APIClient, container: str) -> None:
    """Kill and remove a container with its volumes; one that is gone or going is fine."""
    try:
        client.remove_container(container, v=True, force=True)
    except NotFound:
        pass
    except APIError as error:
        if error.status_code != _CONFLICT:
            raise


def reap(client: APIClient, run: str) -> tuple[str, ...]:
    """Remove everything of this run whose owner is no more; the names of what is gone."""
    return sweep(client, (RUN, run), lambda labels: is_gone(labels.get(OWNER, "")))


def sweep(
    client: APIClient, label: tuple[str, str], wanted: Callable[[Mapping[str, str]], bool]
) -> tuple[str, ...]:
    """Remove the containers, then networks and volumes, with this label that are `wanted`.

    Returns the names of what was found, which is gone but for what is in use.
    """
    filters = {"label": "=".join(label)}
    found: list[str] = []
    for item in client.containers(all=True, filters=filters):
        if wanted(item["Labels"]):
            remove_container(client, item["Id"])
            found.append(item["Names"][0].lstrip("/") if item["Names"] else item["Id"])
    for item in client.networks(filters=filters):
        if wanted(item["Labels"]):
            _remove(client.remove_network, item["Id"])
            found.append(item["Name"])
    for item in client.volumes(filters=filters)["Volumes"] or ():
        if wanted(item["Labels"]):
            _remove(client.remove_volume, item["Name"])
            found.append(item["Name"])
    return tuple(found)


def _remove(remove: Callable[[str], Any], name: str) -> None:
    try:
        remove(name)
    except NotFound:
        pass
    except APIError as error:
        # A network or volume is in use until the container on it has gone altogether.
        if error.status_code not in (403, _CONFLICT):
            raise
