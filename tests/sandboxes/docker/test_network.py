"""Hosts on an internal network reach each other, and nothing else."""

from typing import Any

import pytest
from docker import APIClient

from hfr_bench.owner import this_process

pytestmark = pytest.mark.docker

SERVE = """
import threading
server = socket.create_server(("0.0.0.0", 8025))
def serve():
    while True: server.accept()[0].sendall(b"mail")
threading.Thread(target=serve, daemon=True).start()
said = socket.gethostbyname(socket.gethostname())
"""
REACHED_S, CUT_S = 20, 1
CALL = """
try:
    said = socket.create_connection(({!r}, 8025), timeout={}).recv(4).decode()
except OSError as error:
    said = type(error).__name__
"""


def test_hosts_on_one_network_reach_each_other_by_alias(
    sandbox: Any, probe: Any, do: Any, engine: APIClient, run: str
) -> None:
    server = sandbox.start(probe(network="office", alias="mail"))
    client = sandbox.start(probe(network="office", alias="client"))
    address = do(server, SERVE)
    assert do(client, CALL.format("mail", REACHED_S)) == "mail"
    assert do(client, CALL.format(address, REACHED_S)) == "mail"
    found = engine.networks(filters={"label": f"hfr.run={run}"})
    assert [(net["Internal"], net["Labels"]["hfr.owner"]) for net in found] == [
        (True, this_process())
    ]
    assert found[0]["Name"].startswith(f"hfr-{run}-")


def test_hosts_on_other_networks_do_not(make: Any, probe: Any, do: Any) -> None:
    one, other = make(), make()
    server = one.start(probe(network="office", alias="mail"))
    address = do(server, SERVE)
    strangers = (
        one.start(probe(network="street", alias="client")),  # another network of its own sandbox
        other.start(probe(network="office", alias="client")),  # another sandbox's of that name
    )
    for host in strangers:
        assert do(host, CALL.format("mail", CUT_S)) == "gaierror"
        assert do(host, CALL.format(address, CUT_S)) in ("OSError", "TimeoutError")
