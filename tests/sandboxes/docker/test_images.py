"""Images: named by what they are made of, built once, pruned without hurting anybody."""

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.ports.sandbox import ImageSpec, SandboxUnavailableError
from hfr_bench.sandboxes.docker import images
from hfr_bench.sandboxes.docker.engine import Engine
from hfr_bench.sandboxes.docker.images_build import (
    check_free,
    context_of,
    find_image,
    unpack_wheels,
)

DOCKERFILE = "# a comment\nFROM base\nCOPY program /opt/program\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "main.py").write_text("print('hello')")
    return folder


@pytest.fixture
def spec(program: Path) -> ImageSpec:
    return ImageSpec(f"try-{uuid.uuid4().hex[:8]}", DOCKERFILE, {"program": program})


@pytest.fixture
def client(engine: docker.APIClient, spec: ImageSpec) -> Iterator[docker.APIClient]:
    """The engine; afterwards nothing of the test's role is left on it."""
    yield engine
    for image in engine.images(filters={"label": f"hfr.image={spec.role}"}):
        engine.remove_image(image["Id"], force=True)


def ignore(_line: str) -> None:
    pass


def test_the_name_follows_every_part_of_what_it_is_made_of(
    spec: ImageSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("toml==0.10.2")
    (tmp_path / "program" / "other.py").write_text("")
    other = spec.files["program"]
    seen = {
        images.spec_digest(spec),
        images.spec_digest(ImageSpec(spec.role, DOCKERFILE + "USER 1\n", spec.files)),
        images.spec_digest(ImageSpec(spec.role, DOCKERFILE, {"elsewhere": other})),
        images.spec_digest(ImageSpec(spec.role, DOCKERFILE, spec.files, pins)),
    }
    pins.write_text("toml==0.10.1")
    seen.add(images.spec_digest(ImageSpec(spec.role, DOCKERFILE, spec.files, pins)))
    (tmp_path / "program" / "main.py").write_text("print('hullo')")
    seen.add(images.spec_digest(spec))
    monkeypatch.setenv("HFR_BENCH_BASE_IMAGE", "another:1")
    seen.add(images.spec_digest(spec))
    assert len(seen) == 7


def test_times_permissions_and_caches_do_not_change_the_name(
    spec: ImageSpec, program: Path
) -> None:
    name = images.image_tag(spec)
    os.utime(program / "main.py", (1, 1))
    (program / "main.py").chmod(0o600)
    for hidden in ("__pycache__", ".git"):
        (program / hidden).mkdir()
        (program / hidden / "x").write_text("x")
    assert images.image_tag(spec) == name
    assert [path for path, _ in context_of(spec.files)] == ["program/main.py"]


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInputError, match="/no/such/folder: needed in a container image as x"):
        images.spec_digest(ImageSpec("r", DOCKERFILE, {"x": Path("/no/such/folder")}))


def test_a_full_disk_is_told_before_building() -> None:
    with pytest.raises(SandboxUnavailableError, match="/proc has 0 MiB left"):
        check_free(Path("/proc"))


def test_packages_that_cannot_be_fetched_are_told_with_what_pip_said(tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("lost @ file:///no/such/lost-1.0-py3-none-any.whl")
    with pytest.raises(SandboxUnavailableError, match=r"(?s)pins\.txt could not be.*lost-1\.0"):
        unpack_wheels(pins, "x86_64", tmp_path / "site")


@pytest.mark.docker
def test_an_image_is_built_once_and_found_again(client: docker.APIClient, spec: ImageSpec) -> None:
    told: list[str] = []
    made = images.ensure(client, spec, told.append)
    assert images.ensure(client, spec, told.append) == made
    assert sum("building the image" in line for line in told) == 1
    labels = client.inspect_image(made)["Config"]["Labels"]
    assert labels["hfr.image"] == spec.role
    assert labels["hfr.spec"] == images.spec_digest(spec)
    assert find_image(client, images.image_tag(spec)) == made


@pytest.mark.docker
def test_two_that_want_an_image_at_once_build_it_once(
    client: docker.APIClient, spec: ImageSpec
) -> None:
    told: list[str] = []
    made: list[str] = []
    engine = Engine()

    def want() -> None:
        with engine.client() as mine:
            made.append(images.ensure(mine, spec, told.append))

    threads = [threading.Thread(target=want) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    assert len(made) == 3
    assert len(set(made)) == 1
    assert sum("building the image" in line for line in told) == 1


@pytest.mark.docker
def test_what_a_builder_complains_of_is_told(client: docker.APIClient, spec: ImageSpec) -> None:
    wrong = ImageSpec(spec.role, DOCKERFILE + "COPY nothing /x\n", spec.files)
    with pytest.raises(SandboxUnavailableError, match=r"(?s)building hfr-bench/.*COPY nothing"):
        images.ensure(client, wrong, ignore)
    assert find_image(client, images.image_tag(wrong)) is None


@pytest.mark.docker
def test_an_image_must_stand_on_the_base(client: docker.APIClient, spec: ImageSpec) -> None:
    with pytest.raises(BadInputError, match="must say `FROM base`"):
        images.ensure(client, ImageSpec(spec.role, "FROM scratch\n"), ignore)


ELSEWHERE = """
import sys
from pathlib import Path
from hfr_bench.ports.sandbox import ImageSpec
from hfr_bench.sandboxes.docker import images
from hfr_bench.sandboxes.docker.engine import Engine
role, dockerfile, program = sys.argv[1:]
spec = ImageSpec(role, dockerfile, {"program": Path(program)})
with Engine().client() as client:
    print(images.ensure(client, spec, lambda line: None), flush=True)
sys.stdin.read()
"""


@pytest.mark.docker
def test_an_older_image_stays_while_a_process_lives_that_asked_for_it(
    client: docker.APIClient, spec: ImageSpec, program: Path
) -> None:
    asks = [sys.executable, "-c", ELSEWHERE, spec.role, DOCKERFILE, str(program)]
    with subprocess.Popen(asks, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        old = other.stdout.readline().strip()
        (program / "main.py").write_text("print('newer')")
        images.ensure(client, spec, ignore)
        assert find_image(client, old) == old
        other.kill()
    assert images.prune(client, spec.role, images.spec_digest(spec)) == (old,)
    assert find_image(client, old) is None


@pytest.mark.docker
def test_an_image_that_a_container_uses_is_not_pruned(
    client: docker.APIClient, spec: ImageSpec
) -> None:
    made = images.ensure(client, spec, ignore)
    container = client.create_container(made, ["true"])["Id"]
    try:
        assert images.prune(client, spec.role, "another") == ()
        assert find_image(client, made) == made
    finally:
        client.remove_container(container)
