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
