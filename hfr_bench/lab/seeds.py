"""Seeds that a registration commits to by their digest alone, and what becomes of them.

prereg: seed_digest -> freeze and run: the seed, which only the suite is given
  -> bundle: told in content.json, or kept -> verify: held to the digest, its tasks made again
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

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
