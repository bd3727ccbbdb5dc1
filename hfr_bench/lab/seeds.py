"""Seeds that a registration commits to by their digest alone, and what becomes of them.

prereg: seed_digest -> freeze and run: the seed, which only the suite is given
  -> bundle: told in content.json, or kept and told later, in a file of its own
  -> verify: held to the digest, its tasks made again
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab import seal
from hfr_bench.lab.scan import Hit, Scanner
from hfr_bench.model.bundle import Content
from hfr_bench.model.prereg import SEED, SEED_DIGEST, SuiteSelection
from hfr_bench.ports.suite import Committed, Suite


def committed(suites: Iterable[SuiteSelection]) -> dict[str, SuiteSelection]:
    """The selections, by suite, whose tasks are made of a seed that a digest commits to."""
    return {chosen.suite: chosen for chosen in suites if chosen.config.get(SEED_DIGEST) is not None}


def revealed(chosen: Iterable[SuiteSelection], suite_of: Callable[[str], Suite]) -> dict[str, str]:
    """Suite -> its seed's text, of those that were committed to.

    A suite that has the setting but cannot tell its seed is left out, and `verify` says so. Raises
    BadInputError where a seed is not at hand.
    """
    suites = {name: suite_of(name) for name in committed(chosen)}
    return {name: suite.seed for name, suite in suites.items() if isinstance(suite, Committed)}


def told(selection: SuiteSelection, seeds: Mapping[str, str]) -> SuiteSelection:
    """A selection with its seed beside the digest, if it is among those that are told."""
    if selection.suite not in committed((selection,)) or selection.suite not in seeds:
        return selection
    config = selection.config | {SEED: seeds[selection.suite]}
    return selection.model_copy(update={"config": config})


def read(path: Path) -> dict[str, str]:
    """Seeds by suite out of a file that tells them after the bundle: YAML (or JSON), SUITE: SEED.

    Raises BadInputError for anything else; a seed is text, and `007` and `1e5` are not without
    quotes. No message holds a seed.
    """
    try:
        found = content.read_yaml(path)
    except BadInputError as error:  # a parser quotes the line at fault, and with it the seed
        raise BadInputError(f"{path}: not readable as YAML, lines of SUITE: SEED") from error
    if not isinstance(found, dict) or not found:
        raise BadInputError(f"{path}: tells no seeds; write lines of SUITE: 'SEED'")
    for suite, seed in found.items():
        if not isinstance(suite, str) or not isinstance(seed, str):
            kind = type(seed).__name__
            raise BadInputError(
                f"{path}: {suite}: its seed is read as {kind}, not as text; put it in quotes"
            )
    return found


def belong(seeds: Mapping[str, str], suites: Iterable[SuiteSelection]) -> None:
    """Raises BadInputError if one of them is of a suite that commits to none."""
    chosen = committed(suites)
    if strange := sorted(seeds.keys() - chosen.keys()):
        there = ", ".join(sorted(chosen)) or "none"
        raise BadInputError(
            f"a seed is given for {', '.join(strange)}; the suites that commit to one: {there}"
        )


def keep(made_of: Content) -> tuple[Content, dict[str, str]]:
    """What a bundle is made of without the seeds it would tell, and those, by suite."""
    return made_of.model_copy(update={"seeds": {}}), dict(made_of.seeds)


def secrets(seeds: Mapping[str, str]) -> dict[str, str]:
    """Seeds that are kept, as a scanner is told of secrets: by a name, and the text."""
    return {f"SEED_OF_{suite.upper()}_SECRET": text for suite, text in seeds.items()}


def scan(scanner: Scanner, name: str, data: bytes) -> Iterator[Hit]:
    """All hits in a bundle's file, but for a seed that is told: it was a secret, up to now.

    Whatever looks like a key is none to be told, and is found in a seed as well.
    """
    made_of = Content.loads(data) if name == seal.CONTENT else None
    if made_of is None or not made_of.seeds:
        yield from scanner.scan(name, data)
        return
    yield from scanner.scan(name, written(made_of.model_copy(update={"seeds": {}})))
    yield from Scanner({}).scan(name, data)


def written(made_of: Content) -> bytes:
    """content.json."""
    return made_of.model_dump_json(indent=1).encode() + b"\n"
