"""The images that hosts run in: named by what they are made of, built where missing, pruned.

Several processes may do this at once: one of them builds, the others wait; nobody removes what a
living process asked for. Without a shared cache folder (another user, another machine on the same
engine) an image may be built twice under one name, which harms nobody; what others built is never
removed.
"""

import hashlib
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import docker
from docker.errors import APIError

from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest
from hfr_bench.ports.sandbox import ImageSpec
from hfr_bench.sandboxes.docker import images_cache as cache
from hfr_bench.sandboxes.docker.images_base import base, base_digest, base_role, base_tag
from hfr_bench.sandboxes.docker.images_build import (
    LABEL_CACHE,
    LABEL_IMAGE,
    LABEL_SPEC,
    REPOSITORY,
    build,
    check_room,
    context_of,
    engine,
    find_image,
    held_name,
    labels_of,
    machine,
    unpack_wheels,
)
from hfr_bench.sandboxes.docker.images_filled import build_filled, pulled

__all__ = ["base", "ensure", "image_tag", "prune", "spec_digest", "there"]

_FROM_BASE = re.compile(r"^FROM base(?= AS \w+$|$)", re.MULTILINE)


def spec_digest(spec: ImageSpec) -> str:
    """Of the Dockerfile, every file's path and bytes, the requirements and the base's digest.

    Times, permissions and caches do not count; where the spec has an identity, nor do bytes.
    Raises BadInputError for a file that is not there.
    """
    named = {"base": base_digest(spec.packages), "dockerfile": spec.dockerfile}
    if spec.identity:
        return digest(named | {"identity": spec.identity})
    return digest(
        named
        | {
            "files": {name: _sha256(path) for name, path in context_of(spec.files)},
            "requirements": spec.requirements and spec.requirements.read_text(encoding="utf-8"),
        }
    )


def image_tag(spec: ImageSpec) -> str:
    """The image's name on any engine."""
    return f"{REPOSITORY}/{spec.role}:{spec_digest(spec)[:12]}"


def there(client: docker.APIClient, spec: ImageSpec) -> str | None:
    """The id of the spec's image if the engine has it: by one of its names, else as built here."""
    with engine(f"cannot look for the image of {spec.role}"):
        for name in (*spec.names, image_tag(spec)):
            if found := find_image(client, name):
                return found
    return None


def ensure(client: docker.APIClient, spec: ImageSpec, tell: Callable[[str], None]) -> str:
    """The full id of the spec's image, pulled or built if the engine lacks it.

    Raises SandboxUnavailableError (no room, no packages, the builder's error), BadInputError (a
    file is missing, or the Dockerfile does not start from `base`), requests' ConnectionError or
    Timeout (the engine went away: ask again).
    """
    name = spec_digest(spec)
    tag = f"{REPOSITORY}/{spec.role}:{name[:12]}"
    with engine(f"cannot make {tag}"):
        cache.hold(held_name(spec.role, name))
        if found := there(client, spec):
            return found
        with cache.alone(spec.role):
            if found := there(client, spec):
                return found
            if spec.names and (found := pulled(client, spec, tell)):
                return found
            base(client, tell, spec.packages)
            made = _make(client, spec, tag, labels_of(spec.role, name), tell)
        prune(client, spec.role, name)
        # The last image on an older base may just have gone.
        prune(client, base_role(spec.packages), base_digest(spec.packages))
    return made


def prune(client: docker.APIClient, role: str, keep: str) -> tuple[str, ...]:
    """Remove our images of the role but those of the digest `keep`; returns the ids removed.

    What a container, another image or a living process needs stays, and so does what was built
    elsewhere.
    """
    ours = [f"{LABEL_IMAGE}={role}", f"{LABEL_CACHE}={cache.domain()}"]
    removed = []
    for image in client.images(filters={"label": ours}):
        other = image["Labels"].get(LABEL_SPEC, "")
        if other == keep:
            continue
        with cache.unheld(held_name(role, other)) as free, suppress(APIError):
            if free:
                client.remove_image(image["Id"])  # without force: refused while it is in use
                removed.append(str(image["Id"]))
    return tuple(removed)


def _make(
    client: docker.APIClient,
    spec: ImageSpec,
    tag: str,
    labels: dict[str, str],
    tell: Callable[[str], None],
) -> str:
    text, found = _FROM_BASE.subn(f"FROM {base_tag(spec.packages)}", spec.dockerfile)
    if not found:
        raise BadInputError(f"the Dockerfile of image {spec.role!r} must say `FROM base`")
    check_room(client, spec.needs_mib)
    tell(f"building the image of {spec.role} ({'minutes' if spec.fill else 'some 10 s'}; once)")
    if spec.fill is not None:
        return build_filled(client, spec, tag, text, labels)
    with tempfile.TemporaryDirectory(prefix="hfr-site-") as site:
        files = dict(spec.files)
        if spec.requirements is not None:
            unpack_wheels(spec.requirements, machine(client), Path(site))
            files["site"] = Path(site)
        return build(client, tag, text, labels, context_of(files))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
