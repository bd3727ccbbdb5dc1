"""The sites on loopback ports of their own, for people who come with a browser or an agent.

No part of an experiment: there, requests reach the sites through the host's stdio. The server is
the standard library's; whoever wants another serves the ASGI callables by it.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TextIO

from .app import CONTROL, SITES, App, Asgi, call


def serve_sites(app: App, port: int, told: TextIO) -> None:
    """Serve the sites on `port` and the ports after it, the control last; until interrupted.

    One JSON line with the address of each is written to `told` first.
    """
    lock = threading.Lock()  # one request at a time: there is one database
    servers = []
    for number, name in enumerate((*SITES, CONTROL)):
        handler = _handler(app.site(name), lock)
        servers.append(HTTPServer(("127.0.0.1", port + number if port else 0), handler))
    names = (*SITES, CONTROL)
    ports = {n: s.server_port for n, s in zip(names, servers, strict=True)}
    told.write(json.dumps({n: f"http://127.0.0.1:{at}" for n, at in ports.items()}) + "\n")
    told.flush()
    for server in servers[:-1]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    servers[-1].serve_forever()


def _handler(asgi: Asgi, lock: threading.Lock) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"  # a connection a request: nobody waits for an idle one

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            with lock:
                done = call(asgi, self.command, self.path, list(self.headers.items()), body)
            self.send_response(done["status"])
            for name, value in done["headers"]:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(done["body"].encode())

        do_POST = do_GET  # noqa: N815 - the server's own names

        def log_message(self, *_told: object) -> None:
            """Says nothing."""

    return Handler
