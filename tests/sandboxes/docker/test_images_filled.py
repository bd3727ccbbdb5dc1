"""Images that others make, too: taken by name; else built in stages, of which nothing is left."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from hfr_bench.ports.sandbox import Images, ImageSpec, SandboxUnavailableError
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.sandboxes.docker.images_build import build
from hfr_bench.sandboxes.docker.images_filled import LABEL_STAGE

STAGED = """\
FROM base AS made
LABEL hfr.stage="{role}"
COPY note /opt/note
FROM base
LABEL hfr.stage="{role}"
COPY --from=made /opt/note /opt/note
"""

pytestmark = pytest.mark.docker


def fill(folder: Path) -> None:
    """Another content each time: the name must not rest on it."""
    (folder / "note").write_text(uuid.uuid4().hex)


def broken(folder: Path) -> None:
    """What the Dockerfile asks for is not there."""


@pytest.fixture
def spec(engine: docker.APIClient) -> Iterator[ImageSpec]:
    role = f"filled-{uuid.uuid4().hex[:8]}"
    names = (f"hfr-bench.invalid/{role}:1",)
    yield ImageSpec(
        role, STAGED.format(role=role), names=names, identity="one", lacking="do this and that"
    )
    for image in engine.images(filters={"label": f"{LABEL_STAGE}={role}"}):
        engine.remove_image(image["Id"], force=True)


def dangling(engine: docker.APIClient, spec: ImageSpec) -> list[str]:
    label = {"label": f"{LABEL_STAGE}={spec.role}", "dangling": True}
    return [image["Id"] for image in engine.images(filters=label)]


def test_without_an_image_or_a_way_to_it_it_says_what_to_do(
    sandbox: DockerSandbox, spec: ImageSpec
) -> None:
    assert isinstance(sandbox, Images)
    assert sandbox.image_there(spec) is None
    with pytest.raises(SandboxUnavailableError, match=r"(?s)hfr-bench.invalid/.*do this and that"):
        sandbox.make_image(spec)


def test_it_is_built_once_and_its_stages_are_gone(
    make: Callable[..., DockerSandbox], spec: ImageSpec, engine: docker.APIClient
) -> None:
    built = make().make_image(replace(spec, fill=fill))
    assert dangling(engine, spec) == []
    assert make().image_there(spec) == built
    assert make().make_image(replace(spec, fill=fill)) == built
    assert make().image_there(replace(spec, identity="two")) is None


def test_a_build_that_fails_leaves_nothing(
    sandbox: DockerSandbox, spec: ImageSpec, engine: docker.APIClient
) -> None:
    with pytest.raises(SandboxUnavailableError, match=r"COPY failed"):
        sandbox.make_image(replace(spec, fill=broken))
    assert dangling(engine, spec) == []


def test_what_the_engine_has_by_a_name_is_taken_as_it_is(
    sandbox: DockerSandbox, spec: ImageSpec, engine: docker.APIClient
) -> None:
    label = {LABEL_STAGE: spec.role}
    brought = build(engine, spec.names[0], "FROM scratch\nLABEL a=b\n", label)
    assert sandbox.image_there(spec) == brought
    assert sandbox.make_image(replace(spec, fill=broken)) == brought


def test_room_is_asked_for_before_anything_is_made(sandbox: DockerSandbox, spec: ImageSpec) -> None:
    with pytest.raises(SandboxUnavailableError, match=r"an image needs 1000000000: free some"):
        sandbox.make_image(replace(spec, fill=fill, needs_mib=1_000_000_000))
