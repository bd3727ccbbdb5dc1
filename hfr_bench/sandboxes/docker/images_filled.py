"""Images that others make, too: pulled by their names, or built here from what a suite writes.

Their builds have several stages (`FROM base AS made`), and the earlier ones are as large as the
image: whatever of them is left is removed once the build has ended, however it ended.
"""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import docker
from docker.errors import APIError

from hfr_bench.ports.sandbox import ImageSpec, SandboxUnavailableError
from hfr_bench.sandboxes.docker.images_base import fetched
from hfr_bench.sandboxes.docker.images_build import build, check_room, context_of, find_image

LABEL_STAGE = "hfr.stage"
"""A Dockerfile's earlier stages are known by it: `LABEL hfr.stage=<role>`."""


def pulled(client: docker.APIClient, spec: ImageSpec, tell: Callable[[str], None]) -> str | None:
    """The id of the spec's image by the first of its names that a registry gives.

    None where none does and it can be built; SandboxUnavailableError where it cannot.
    """
    check_room(client, spec.needs_mib)
    told = []
    for name in spec.names:
        try:
            source = fetched(client, name, tell, f"up to {spec.needs_mib} MiB")
        except SandboxUnavailableError as error:
            told.append(str(error))
        else:
            _name_it(client, source, name)
            return find_image(client, source)
    if spec.fill is None:
        raise SandboxUnavailableError("\n".join((*told, spec.lacking)))
    for line in told:
        tell(line)
    return None


def _name_it(client: docker.APIClient, source: str, name: str) -> None:
    """What is pulled by digest has no tag, and would not be found by its name."""
    if source != name and "@" not in name:
        path, _, tag = name.rpartition(":")
        repository, tag = (path, tag) if path and "/" not in tag else (name, "latest")
        client.tag(source, repository, tag)


def build_filled(
    client: docker.APIClient, spec: ImageSpec, tag: str, dockerfile: str, labels: dict[str, str]
) -> str:
    """Build the image of a spec that writes its own files. Raises SandboxUnavailableError."""
    assert spec.fill is not None
    try:
        with tempfile.TemporaryDirectory(prefix="hfr-image-") as made:
            folder = Path(made)
            spec.fill(folder)
            files = dict(spec.files) | {path.name: path for path in folder.iterdir()}
            return build(client, tag, dockerfile, labels, context_of(files))
    finally:
        drop_stages(client, spec.role)


def drop_stages(client: docker.APIClient, role: str) -> None:
    """Remove what builds of the role have left: the last layers first, they hold the others."""
    label = {"label": f"{LABEL_STAGE}={role}", "dangling": True}
    with suppress(APIError):
        left = client.images(filters=label)
        for image in sorted(left, key=lambda image: image["Created"], reverse=True):
            with suppress(APIError):
                client.remove_image(image["Id"])
