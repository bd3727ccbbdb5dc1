"""Which container image an instance runs in, by name, and whether there is room for it.

Nothing is pulled here: the caller says which images an engine has and how much room is left.
"""

import re
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hfr_bench import content
from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.swe_bench.rows import Instance

ARCHITECTURES = ("x86_64", "arm64")
_SEPARATOR = "_1776_"  # upstream's stand-in for the __ that Docker forbids
_GIB = 1 << 30
_REFERENCE = re.compile(
    r"^(?:(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d+)?/)?"  # registry
    r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$"
)


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """The image of an instance. `source`: who named it; `present`: the engine has it."""

    name: str
    source: Literal["template", "row", "official"]
    present: bool


def official_image(instance_id: str, arch: str = "x86_64") -> str:
    """The name on Docker Hub: swebench/sweb.eval.x86_64.astropy_1776_astropy-12907:latest."""
    if arch not in ARCHITECTURES:
        raise BadInputError(
            f"no official images for {arch!r}; there are: {', '.join(ARCHITECTURES)}"
        )
    return f"swebench/sweb.eval.{arch}.{_spelt(instance_id)}:latest"


def from_template(template: str, instance: Instance, arch: str = "x86_64") -> str:
    """A name made by `image_template`, such as `registry.local/swe/{id}:v1`.

    Fields: {id} (lower case, __ as _1776_), {instance_id} (lower case), {owner}, {repo}, {version},
    {arch}. Raises BadInputError for another field, none at all that tells instances apart, or what
    is no image name.
    """
    owner, _, repo = instance.problem.repo.lower().partition("/")
    fields: dict[str, str] = {
        "id": _spelt(instance.id),
        "instance_id": instance.id.lower(),
        "owner": owner,
        "repo": repo,
        "version": instance.problem.version,
        "arch": arch,
    }
    used = _fields(template)
    unknown = [name for name in used if name not in fields]
    if unknown:
        raise BadInputError(
            f"image_template {template!r}: no field {unknown[0]!r}; there are: {', '.join(fields)}"
        )
    if not {"id", "instance_id"} & set(used):
        raise BadInputError(
            f"image_template {template!r} names one image for all instances: use {{id}}"
        )
    name = template.format_map(fields)
    if not _REFERENCE.match(name):
        raise BadInputError(f"image_template {template!r} makes {name!r}: no image name")
    return name


def choose_image(
    instance: Instance,
    has: Callable[[str], bool],
    template: str | None = None,
    arch: str = "x86_64",
) -> ImageChoice:
    """By the template if there is one, else what the row names, else the official one.

    `has`: whether the engine has an image by that name.
    """
    if template is not None:
        name = from_template(template, instance, arch)
        return ImageChoice(name, "template", has(name))
    if instance.baked is not None:
        return ImageChoice(instance.baked.image, "row", has(instance.baked.image))
    name = official_image(instance.id, arch)
    return ImageChoice(name, "official", has(name))


def room_needed(instances: Iterable[Instance]) -> int:
    """Bytes on the engine's disk for the images of these instances, estimated from above."""
    sizes = _sizes()
    pulled = sizes["pulled"]
    total = sum(pulled.get(i.problem.repo, pulled["other"]) for i in instances)
    return int(total * sizes["unpacked"] * _GIB)


def check_room(missing: Sequence[Instance], free: int) -> None:
    """Raises InfrastructureError unless `free` bytes hold the missing images and some to spare."""
    needed = room_needed(missing) + round(_sizes()["spare"] * _GIB) if missing else 0
    if needed > free:
        raise InfrastructureError(
            f"{len(missing)} images are missing and take about {needed / _GIB:.0f} GiB; the "
            f"engine's disk has {free / _GIB:.0f} left: free some, or choose fewer tasks"
        )


def _spelt(instance_id: str) -> str:
    return instance_id.lower().replace("__", _SEPARATOR)


def _fields(template: str) -> list[str]:
    try:
        return [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise BadInputError(f"image_template {template!r}: {error}") from error


def _sizes() -> dict[str, Any]:
    sizes: dict[str, Any] = content.read_yaml(
        content.root() / "suites" / "swe_bench" / "images.yaml"
    )
    return sizes
