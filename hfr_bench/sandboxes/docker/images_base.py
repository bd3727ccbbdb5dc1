"""The base image: Debian bookworm with Python 3.11, from a registry or made here.

What its name digests is what was *asked for* (the reference and the recipe below), not what came
of it: a base that is fetched anew after a security update keeps its name, and the images on it
theirs. What exactly a trial ran in is told by the image id in its trace; where the base came from
by its label `hfr.base`.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence

import docker
from docker.errors import DockerException

from hfr_bench.model.record import digest
from hfr_bench.ports.sandbox import SandboxUnavailableError
from hfr_bench.sandboxes.docker import images_cache as cache
from hfr_bench.sandboxes.docker.images_build import (
    LABEL_BASE,
    REPOSITORY,
    build,
    check_room,
    engine,
    find_image,
    follow,
    held_name,
    labels_of,
    machine,
    need_image,
)
from hfr_bench.sandboxes.docker.images_debian import RECIPE, debian_root

ROLE = "base"
FULL = "docker.io/library/python:3.11-bookworm"
"""What stands for the reference where packages are asked for: it has git, patch and a compiler."""
OVERRIDE = "HFR_BENCH_BASE_IMAGE"
REFERENCE = "docker.io/library/python:3.11-slim-bookworm"
_FULL_HOLDS = frozenset({"git", "patch"})
_ROLE_LENGTH = 60  # a name for many packages would be longer than an engine takes


def base_role(packages: Sequence[str] = ()) -> str:
    """The role of the base that holds these packages of Debian besides its own."""
    role = "-".join((ROLE, *sorted(packages)))
    if len(role) <= _ROLE_LENGTH:
        return role
    return f"{ROLE}-{len(packages)}-packages-{digest(sorted(packages))[:8]}"


def base_digest(packages: Sequence[str] = ()) -> str:
    """Names the base by what is asked for; see the module."""
    asked: dict[str, object] = {"reference": _reference(packages), "recipe": RECIPE}
    return digest(asked | ({"packages": sorted(packages)} if packages else {}))


def base_tag(packages: Sequence[str] = ()) -> str:
    """The base's name on any engine."""
    return f"{REPOSITORY}/{base_role(packages)}:{base_digest(packages)[:12]}"


def base(
    client: docker.APIClient, tell: Callable[[str], None], packages: Sequence[str] = ()
) -> str:
    """The id of the base image; where the engine lacks it, pulled or made (about a minute).

    `packages`: of Debian, besides its own; what is pulled for them, or named in their place in
    $HFR_BENCH_BASE_IMAGE, is taken to hold them. Raises SandboxUnavailableError if it can be had in
    no way.
    """
    tag, role, name = base_tag(packages), base_role(packages), base_digest(packages)
    with engine(f"cannot make {tag}"):
        cache.hold(held_name(role, name))
        if found := find_image(client, tag):
            return found
        with cache.alone(role):
            return find_image(client, tag) or _make(client, tag, tell, packages)


def _reference(packages: Sequence[str]) -> str:
    return os.environ.get(OVERRIDE) or (FULL if packages else REFERENCE)


def _make(
    client: docker.APIClient, tag: str, tell: Callable[[str], None], packages: Sequence[str]
) -> str:
    """Pull it, else make it; the caller is alone."""
    check_room(client)
    labels = labels_of(base_role(packages), base_digest(packages))
    wanted = os.environ.get(OVERRIDE)
    try:
        if not wanted and not _FULL_HOLDS.issuperset(packages):
            raise SandboxUnavailableError(f"no registry has an image with {' '.join(packages)}")
        source = fetched(client, _reference(packages), tell)
    except SandboxUnavailableError as error:
        if wanted:
            raise SandboxUnavailableError(
                f"{OVERRIDE}={wanted} is not to be had: {error}"
            ) from error
        tell(str(error))
        recipe = " ".join(map(str, (*RECIPE, *packages)))
        return _import(client, tag, {**labels, LABEL_BASE: recipe}, tell, packages)
    return build(client, tag, f"FROM {source}\n", {**labels, LABEL_BASE: source})


def fetched(
    client: docker.APIClient,
    reference: str,
    tell: Callable[[str], None],
    size: str = "some 50 MB",
) -> str:
    """The image on the engine, as name@sha256:... by what its registry says now.

    Without an answer, the id of what the engine has by that name. Raises SandboxUnavailableError.
    """
    pinned = reference
    if "@" not in reference:
        try:
            answer = client.inspect_distribution(reference)  # type: ignore[no-untyped-call]
        except (DockerException, OSError) as error:
            if local := find_image(client, reference):
                return local
            said = getattr(error, "explanation", None) or error
            raise SandboxUnavailableError(f"no registry answers for {reference}: {said}") from error
        pinned = f"{_name(reference)}@{answer['Descriptor']['digest']}"
    if find_image(client, pinned) is None:
        tell(f"pulling {pinned} ({size})")
        with engine(f"cannot pull {pinned}"):  # the engine checks what comes against the digest
            follow(client.pull(pinned, stream=True, decode=True), f"cannot pull {pinned}")
    return pinned


def _name(reference: str) -> str:
    """The reference without its tag (a colon after the last slash; before it is a port)."""
    path, slash, last = reference.rpartition("/")
    return path + slash + last.partition(":")[0]


def _import(
    client: docker.APIClient,
    tag: str,
    labels: Mapping[str, str],
    tell: Callable[[str], None],
    packages: Sequence[str],
) -> str:
    name = held_name(base_role(packages), base_digest(packages))
    packed = debian_root(machine(client), name, tell, packages)
    changes = [f"LABEL {json.dumps(key)}={json.dumps(value)}" for key, value in labels.items()]
    repository, _, version = tag.partition(":")
    answer = client.import_image(str(packed), repository, version, changes=changes)
    follow(map(json.loads, answer.splitlines()), f"importing {packed}")
    return need_image(client, tag)
