"""An instance's image, and the room that a container of it is: /testbed, a new one every time."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from hfr_bench.errors import InfrastructureError
from hfr_bench.ports.sandbox import HostCommand, ImageSpec, Sandbox
from hfr_bench.shell import client
from hfr_bench.suites.swe_bench.building import (
    PACKAGES,
    Ingredients,
    dockerfile,
    identity,
    write_ingredients,
)
from hfr_bench.suites.swe_bench.images import choose_image, official_image, room_needed
from hfr_bench.suites.swe_bench.recipes import find_recipe, recipes
from hfr_bench.suites.swe_bench.room import FIXED, Room
from hfr_bench.suites.swe_bench.rows import Instance

TESTBED = "/testbed"
RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""What root is left with in its container. The images are root's, and which tests must pass was
found out by one with all of Docker's own: without these, some fail that did not."""
AGENT = {
    **FIXED,
    "BASH_ENV": "/root/.bashrc",  # enters conda's environment in official images
    "PIP_PROGRESS_BAR": "off",
    "TQDM_DISABLE": "1",
}
"""What an agent's commands find; the tests are run without, as upstream runs them."""
_MIB = 1 << 20
_START = "export GIT_INDEX_FILE={index}; git read-tree HEAD && git add --all . && git write-tree"
_HASH = re.compile(r"[0-9a-f]{40}")
_FINDS_PYTHON = "/usr/bin/python3"  # not the repository's own, which may be too old


def image_spec(
    instance: Instance,
    template: str | None = None,
    arch: str = "x86_64",
    given: Ingredients | None = None,
) -> ImageSpec:
    """The image of an instance: by the template's name, the row's, the official one; else built.

    `given`: what to build it with; without, what is missing stays so. Raises BadInputError for a
    template that names no image.
    """
    first = choose_image(instance, lambda _: False, template, arch).name
    official = () if template else (official_image(instance.id, arch),)
    names = tuple(dict.fromkeys((first, *official)))
    recipe = find_recipe(instance, recipes())
    role = f"swe_bench-{instance.id.lower()}"
    fill = None
    if recipe is not None and given is not None:
        fill = partial(write_ingredients, instance=instance, recipe=recipe, given=given)
    return ImageSpec(
        role,
        dockerfile(role),
        packages=PACKAGES,
        names=names,
        identity=identity(instance, recipe) if recipe else f"no recipe for {instance.id}",
        fill=fill,
        lacking=lacking(instance),
        needs_mib=room_needed([instance]) // _MIB,
    )


def lacking(instance: Instance) -> str:
    """What to do where there is no image of an instance."""
    problem = instance.problem
    if find_recipe(instance, recipes()) is None:
        return (
            f"{instance.id}: bring the image to the engine (docker pull, docker load), or name "
            f"another by `image_template`; there is no recipe for {problem.repo} {problem.version}"
        )
    return (
        f"{instance.id}: hfr-bench images swe_bench --task {instance.id} pulls it, or builds it "
        "with --repos DIR (git mirrors) and --python DIR (Pythons by version)"
    )


def command(
    spec: ImageSpec, env: Mapping[str, str], memory_mib: int, *, persists: bool = False
) -> HostCommand:
    """How to start a shell host in a container of the image, which is thrown away after it.

    `persists`: it may be started anew meanwhile; its own disk, with /testbed, is kept in any case.
    """
    made = client.command(spec, user="0:0", env=env, memory_mib=memory_mib, persists=persists)
    return replace(made, argv=(_FINDS_PYTHON, *made.argv[1:]), keeps=RIGHTS, writable=True)


class TestbedRoom(Room):
    """A container of an instance's image. `base`: the tree that is in it, as git names it.

    Not the commit: making an image may leave files that nobody has told git of, and these are no
    part of anybody's patch.
    """

    __test__ = False  # no test, whatever its name

    def __init__(
        self,
        sandbox: Sandbox,
        spec: ImageSpec,
        env: Mapping[str, str],
        memory_mib: int,
        *,
        persists: bool = False,
    ) -> None:
        started = sandbox.start(command(spec, env, memory_mib, persists=persists))
        super().__init__(started, TESTBED, {"HOME": "/root"})
        try:
            code, said = self.try_command(_START.format(index=f"{self.scratch}/index"))
            if code or not _HASH.fullmatch(said.strip()):
                raise InfrastructureError(
                    f"{spec.role}: {TESTBED} is no git repository: {said.strip()[-300:]}"
                )
            self.base = said.strip()
        except BaseException:
            self.close()
            raise
