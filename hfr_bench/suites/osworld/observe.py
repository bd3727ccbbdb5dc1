"""Observations of a screen: what is answered, and the pictures and trees kept beside.

An answer holds a picture's digest. Where a folder is registered (`keep`), the picture itself is
written there under that digest, once; so whoever reads a trace can look at what the agent saw.
"""

import hashlib
from pathlib import Path

from hfr_bench.errors import InfrastructureError
from hfr_bench.suites.osworld.screen import Screen, picture_told, tree_told


class Observer:
    """Looks at a screen. `keep`: the folder for pictures and trees; None: only digests."""

    def __init__(self, keep: Path | None = None) -> None:
        self._keep = keep

    def screenshot(self, screen: Screen) -> str:
        """The answer of `screenshot`. Raises InfrastructureError: what came is no picture."""
        png = screen.picture()
        digest = f"sha256:{hashlib.sha256(png).hexdigest()}"
        self._put(digest, "png", png)
        try:
            return picture_told(digest, png)
        except ValueError as error:
            raise InfrastructureError(str(error)) from error

    def tree(self, screen: Screen) -> str:
        """The answer of `accessibility_tree`. Raises InfrastructureError: what came is no tree."""
        xml = screen.tree()
        raw = xml.encode()
        self._put(f"sha256:{hashlib.sha256(raw).hexdigest()}", "xml", raw)
        try:
            return tree_told(xml)
        except ValueError as error:
            raise InfrastructureError(str(error)) from error

    def _put(self, digest: str, suffix: str, content: bytes) -> None:
        if self._keep is None:
            return
        path = self._keep / f"{digest.removeprefix('sha256:')}.{suffix}"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
