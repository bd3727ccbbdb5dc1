"""How the environment of a repository's version is made, as data, and rows baked with it.

For where no registry gives an image, and for classic rows, which do not say how they are run.
"""

from dataclasses import replace
from pathlib import Path

from pydantic import field_validator

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.record import Record
from hfr_bench.suites.swe_bench.images import official_image
from hfr_bench.suites.swe_bench.parsers import PARSER_OF_REPO
from hfr_bench.suites.swe_bench.rows import Baked, Instance
from hfr_bench.suites.swe_bench.scripts import CONDA, Layout, eval_script, with_exit_code


class Recipe(Record):
    """An environment. `test`: the test command, to which the tests' files are added."""

    repo: str
    versions: tuple[str, ...]
    python: str
    requirements: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    install: str
    test: str

    @field_validator("python")
    @classmethod
    def _is_a_version(cls, python: str) -> str:
        if python.count(".") != 1 or not python.replace(".", "").isdigit():
            raise ValueError(f"a version such as '3.9', not {python!r}")
        return python


class Recipes(Record):
    """The file recipes.yaml."""

    recipes: tuple[Recipe, ...]


def recipes(path: Path | None = None) -> tuple[Recipe, ...]:
    """Those that are shipped, or those of a file of one's own. Raises BadInputError."""
    path = path or content.root() / "suites" / "swe_bench" / "recipes.yaml"
    found = content.read_record(path, Recipes).recipes
    seen: set[tuple[str, str]] = set()
    for recipe in found:
        for version in recipe.versions:
            if (recipe.repo, version) in seen:
                raise BadInputError(f"{path}: two recipes for {recipe.repo} {version}")
            seen.add((recipe.repo, version))
    return found


def find_recipe(instance: Instance, among: tuple[Recipe, ...]) -> Recipe | None:
    """The recipe for the instance's repository and version."""
    problem = instance.problem
    return next(
        (r for r in among if r.repo == problem.repo and problem.version in r.versions), None
    )


def baked(
    instance: Instance,
    among: tuple[Recipe, ...],
    image: str | None = None,
    layout: Layout = CONDA,
) -> Baked:
    """How the instance is run: as its row says (its tests' exit code noted, too), else by a recipe.

    `image`, `layout`: what a classic row is run in; by default the official image. Raises
    BadInputError for a classic row without a recipe, saying what it lacks and what there is.
    """
    if instance.baked is not None:
        script = with_exit_code(instance.baked.eval_script)
        return replace(instance.baked, eval_script=script)
    problem, recipe = instance.problem, find_recipe(instance, among)
    parser = PARSER_OF_REPO.get(problem.repo)
    if recipe is None or parser is None:
        offered = ", ".join(f"{r.repo} {v}" for r in among for v in r.versions)
        raise BadInputError(
            f"{instance.where} ({instance.id}): a classic row, without image, eval_script, "
            f"log_parser and eval_type, and there is no recipe for {problem.repo} "
            f"{problem.version}. Use baked rows (SWE-bench 5) or a task repository, or add a "
            f"recipe; there are recipes for {offered or 'nothing'}"
        )
    script = eval_script(
        problem, instance.gold, install=recipe.install, test=recipe.test, layout=layout
    )
    return Baked(image or official_image(instance.id), script, parser)
