"""The container images of suites: built by starting each suite's tool host once."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hfr_bench import plugins
from hfr_bench.lab.wire import Place, open_suite
from hfr_bench.model.prereg import SuiteSelection


class SuiteImage(NamedTuple):
    """What a suite's hosts run in; `image_id` is None in a sandbox that needs no image."""

    suite: str
    sandbox: str
    image_id: str | None


def build_images(suites: Sequence[str], place: Place) -> Iterator[SuiteImage]:
    """Each named suite's image (none named: all suites'), told as soon as it is there.

    Built in `place.sandbox`, by default `docker`. Raises BadInputError for an unknown suite,
    SandboxUnavailableError if an image cannot be made.
    """
    for name in suites or tuple(plugins.offered("suites")):
        with open_suite(name, place, default="docker") as (suite, sandbox):
            suite.select(SuiteSelection(suite=name, pool="base"))  # asks a host, in its image
            yield SuiteImage(name, sandbox.name, sandbox.image_id)
