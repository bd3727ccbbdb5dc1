"""A time-stamping authority on the loopback: a real one, of openssl, with a key of its own."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

_CONFIG = """\
[req]
distinguished_name = name
prompt = no
x509_extensions = signer
[name]
CN = A time of our own
[signer]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = critical, timeStamping
[tsa]
default_tsa = ours
[ours]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/cert.pem
signer_key = {folder}/key.pem
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
"""

Altered = Callable[[bytes], bytes]


class Authority(NamedTuple):
    """Where it answers, and the certificate that it signs with."""

    url: str
    certificate: Path


@contextmanager
def authority(folder: Path, altered: Altered = lambda answer: answer) -> Iterator[Authority]:
    """Serve timestamps from a folder for its key, until the end of the block.

    `altered`: what becomes of each answer on its way.
    """
    config = folder / "tsa.cnf"
    config.write_text(_CONFIG.format(folder=folder))
    (folder / "serial").write_text("01\n")
    keys = ("-keyout", "key.pem", "-out", "cert.pem", "-newkey", "ec", "-nodes")
    curve = ("-pkeyopt", "ec_paramgen_curve:prime256v1")  # made at once, where RSA takes a second
    _openssl(folder, "req", "-x509", "-config", "tsa.cnf", *keys, *curve, "-days", "2")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            (folder / "query.tsq").write_bytes(query)
            files = ("-queryfile", "query.tsq", "-out", "answer.tsr")
            _openssl(folder, "ts", "-reply", "-config", "tsa.cnf", *files)
            answer = altered((folder / "answer.tsr").read_bytes())
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Authority(f"http://127.0.0.1:{server.server_port}/tsa", folder / "cert.pem")
        finally:
            server.shutdown()
            thread.join()


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments],  # noqa: S607 - the test's own machine
        cwd=folder,
        capture_output=True,
        check=True,
    )
