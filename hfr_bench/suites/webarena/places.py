"""Where the sites are, as the environment says, and what is to be done about those that are not.

`SHOPPING`, `SHOPPING_ADMIN`, `REDDIT`, `GITLAB`, `WIKIPEDIA`, `MAP`, `HOMEPAGE`, each also with
`WA_` before it. `WA_FULL_RESET`: the reset server of all; `WA_<SITE>_CTRL`: the control of one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import Record as FileRecord
from hfr_bench.suites.webarena.rows import SITES
from hfr_bench.suites.webarena.urls import Sites, sites_at

RESET = "WA_FULL_RESET"
_NOTHING = ("", "todo", "none")
"""What people write for a site that they do not have."""


class LoginPage(FileRecord):
    """A page with a form, and the account that the benchmark publishes for it."""

    path: str
    username: str
    password: str


class SiteFacts(FileRecord):
    """A site as it is shipped: image and sizes (GB; None: unknown or none), port, pages."""

    image: str = ""
    image_gb: float | None = None
    original_gb: float | None = None
    data_gb: float | None = None
    port: int | None = None
    health: str = "/"
    login: LoginPage | None = None


class SitesFile(FileRecord):
    """suites/webarena/sites.yaml."""

    shopping: SiteFacts
    shopping_admin: SiteFacts
    reddit: SiteFacts
    gitlab: SiteFacts
    wikipedia: SiteFacts
    map: SiteFacts
    homepage: SiteFacts

    def of(self, site: str) -> SiteFacts:
        """The facts of a site."""
        found: SiteFacts = getattr(self, site)
        return found


@cache
def shipped() -> SitesFile:
    """The sites as their makers ship them."""
    return content.read_record(content.root() / "suites" / "webarena" / "sites.yaml", SitesFile)


@dataclass(frozen=True, slots=True)
class Places:
    """Where the sites are. `controls`: URLs by site; `reset`: of the reset server, "" if none."""

    sites: Sites
    controls: Mapping[str, str]
    reset: str = ""

    @property
    def there(self) -> frozenset[str]:
        """The sites whose URL is known."""
        return frozenset(self.sites.urls)

    def need(self, sites: Iterable[str]) -> None:
        """Raises BadInputError naming each absent site, its variable, image and size."""
        wanted = set(sites)
        absent = [site for site in SITES if site in wanted and site not in self.there]
        if absent:
            raise BadInputError(
                "these tasks need sites whose URL is not known:\n" + "\n".join(map(lack_of, absent))
            )


def places_in(environ: Mapping[str, str]) -> Places:
    """The sites that an environment names.

    Raises BadInputError: a value that is no URL, or `MAP` and `WA_MAP` that differ.
    """
    found, controls = {}, {}
    for site in SITES:
        name = site.upper()
        given = {key: environ.get(key, "").strip() for key in (name, f"WA_{name}")}
        urls = {url for url in given.values() if url.lower() not in _NOTHING}
        if len({url.rstrip("/") for url in urls}) > 1:
            raise BadInputError(
                f"{name} and WA_{name} differ: {', '.join(sorted(urls))}; unset one"
            )
        if urls:
            found[site] = min(urls)
        control = environ.get(f"WA_{name}_CTRL", "").strip()
        if control.lower() not in _NOTHING:
            controls[site] = _url(f"WA_{name}_CTRL", control)
    reset = environ.get(RESET, "").strip()
    return Places(
        sites_at(found),
        MappingProxyType(controls),
        "" if reset.lower() in _NOTHING else _url(RESET, reset),
    )


def _url(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise BadInputError(f"{name} must begin with http:// or https://: {value!r}")
    return value.rstrip("/")


def lack_of(site: str) -> str:
    """What to do about a site that is not there: its variable, image and sizes; a line."""
    facts = shipped().of(site)
    if not facts.image:
        return f"  {site}: set {site.upper()}=http://..."
    sizes = [
        f"{size:g} GB {what}"
        for size, what in (
            (facts.image_gb, "to pull"),
            (facts.original_gb, "in its original form"),
            (facts.data_gb, "of data beside it"),
        )
        if size
    ]
    return (
        f"  {site}: set {site.upper()}=http://HOST:{facts.port} to a running copy, such as of the "
        f"image {facts.image} ({', '.join(sizes)})"
    )
