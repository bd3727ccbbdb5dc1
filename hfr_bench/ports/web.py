"""A world with web sites behind a proxy: their addresses and routes, and the browser's word."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from hfr_bench.model.web import Route, WebSeen


@runtime_checkable
class Fronted(Protocol):
    """A world whose browser can be sent to its sites by way of a proxy."""

    @property
    def sites(self) -> Mapping[str, str]:
        """Each site's own base URL: scheme, host, port; by name."""
        ...

    @property
    def routes(self) -> Sequence[Route]:
        """The routes at which faults may be planned; the first that fits counts."""
        ...

    def behind(self, addresses: Mapping[str, str]) -> None:
        """From now on, and in every trial to come, the browser reaches the sites at these.

        Called between `reset` and a trial's first call: the session begins anew, on the same
        pages. What the world shows and grades must not depend on the addresses.
        """
        ...

    def browsed(self) -> Sequence[WebSeen]:
        """What the browser says of its requests since this was last asked, in their order."""
        ...


@runtime_checkable
class Meddled(Protocol):
    """A world in which somebody else can change something while a trial goes on."""

    def meddle(self, what: str) -> str:
        """Change something at the sites; what was changed, "" if there was nothing to change.

        Called from the proxy's thread, while the trial's waits for an answer. What is changed here
        is no effect of the call that is under way. Raises ValueError for a name it does not know.
        """
        ...
