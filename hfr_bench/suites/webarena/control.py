"""Bringing real sites to their initial state, and asking whether they live.

Two kinds of control are known. A *reset server* (`WA_FULL_RESET`) restores all sites: `GET /reset`,
then `/status` until it says "Ready for duty!"; a control of one site with the same two is used
likewise. An *env-ctrl* (`POST /start`, `/restart`, `GET /status`) runs in each official image: it
starts a site's services, and **does not restore its data**, so it is never taken for a reset.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.webarena.places import RESET, Places, shipped

READY = "Ready for duty!"
RESET_S, START_S = 600.0, 300.0
_EVERY_S = 2.0
_ANSWER_S = 30.0


@dataclass(slots=True)
class Control:
    """The controls of some sites. `pause` waits between two questions; `now` tells seconds."""

    places: Places
    pause: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    client: httpx.Client = field(
        default_factory=lambda: httpx.Client(timeout=_ANSWER_S, follow_redirects=True)
    )

    def start(self, sites: Iterable[str]) -> None:
        """Start these sites' services and wait until they live. Needs each one's control."""
        for site in sites:
            control = self.places.controls.get(site)
            if not control:
                raise BadInputError(
                    f"{site} is not ours to start: set WA_{site.upper()}_CTRL to its env-ctrl URL"
                )
            self._ask("POST", f"{control}/start?wait=1")
            self._wait(control, START_S)

    def reset(self, sites: Iterable[str]) -> None:
        """Restore these sites' data, all by the reset server if there is one.

        Raises BadInputError where nothing could restore a site, InfrastructureError if it fails.
        """
        if self.places.reset:
            servers = [self.places.reset]
        else:
            servers = [self._own_reset(site) for site in sites]
        for server in servers:
            answer = self._ask("GET", f"{server}/reset")
            if READY not in answer.text:
                self._wait(server, RESET_S)

    def restorable(self, sites: Iterable[str]) -> None:
        """Raises BadInputError naming the sites that nothing could restore; asks nobody."""
        lacking = [site for site in sites if site not in self.places.controls]
        if lacking and not self.places.reset:
            raise BadInputError(
                f"nothing restores {', '.join(lacking)}: set {RESET} to the reset "
                "server of your sites, or register `resets: false` to use them "
                "as they are until something is written"
            )

    def ailing(self, sites: Iterable[str]) -> dict[str, str]:
        """What is wrong with sites that do not answer their health page; empty if nothing is."""
        found = {}
        for site in sites:
            url = self.places.sites.render(f"__{site.upper()}__") + shipped().of(site).health
            try:
                answer = self.client.get(url)
            except httpx.HTTPError as error:
                found[site] = f"{url}: {type(error).__name__}: {error}"
                continue
            if answer.status_code >= 400:
                found[site] = f"{url}: HTTP {answer.status_code}"
        return found

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def _own_reset(self, site: str) -> str:
        """The control of a site that can restore it."""
        control = self.places.controls.get(site, "")
        offered = control and self._ask("GET", f"{control}/status", fine=range(200, 600)).text
        if not control or READY not in offered:
            raise BadInputError(
                f"nothing restores {site} between trials: set {RESET} to the reset server of your "
                "sites (an env-ctrl restarts services and keeps the data)"
            )
        return control

    def _wait(self, server: str, limit_s: float) -> None:
        deadline = self.now() + limit_s
        said = ""
        while True:
            answer = self._ask("GET", f"{server}/status", fine=range(200, 600))
            said = answer.text[:200]
            if _ready(answer):
                return
            if self.now() >= deadline:
                raise InfrastructureError(
                    f"{server} is not ready after {limit_s:g} s; its /status says: {said}"
                )
            self.pause(_EVERY_S)

    def _ask(self, method: str, url: str, fine: range = range(200, 300)) -> httpx.Response:
        try:
            answer = self.client.request(method, url, timeout=RESET_S)
        except httpx.HTTPError as error:
            raise InfrastructureError(
                f"{method} {url}: {type(error).__name__}: {error}; is the control running?"
            ) from error
        if answer.status_code not in fine:
            raise InfrastructureError(
                f"{method} {url}: HTTP {answer.status_code}: {answer.text[:200]}"
            )
        return answer


def _ready(answer: httpx.Response) -> bool:
    """Whether a status says so: in words (a reset server) or by `success` (an env-ctrl)."""
    if READY in answer.text:
        return True
    try:
        said: Any = json.loads(answer.text)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("success") is True
