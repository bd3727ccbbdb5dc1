"""The container images of suites: built by starting each suite's tool host once."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hfr_bench import plugins
from hfr_bench.lab.wire import Place, make_suite
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.owner import run_id, this_process
from hfr_bench.ports.sandbox import Sandbox, SandboxContext


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
    plug = plugins.find("sandboxes", place.sandbox or "docker")
    for name in suites or tuple(plugins.offered("suites")):
        selection = SuiteSelection(suite=name, pool="base")
        context = SandboxContext(run_id(place.folder, f"images {name}"), this_process(), place.tell)
        sandbox: Sandbox = plug(context)
        try:
            make_suite(selection, sandbox, place.data_dirs.get(name)).select(selection)
            yield SuiteImage(name, sandbox.name, sandbox.image_id)
        finally:
            sandbox.close()
