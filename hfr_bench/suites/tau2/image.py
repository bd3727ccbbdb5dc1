"""What the container image of tau2's tool host is made of, and how the host is started in it."""

from pathlib import Path

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.ports.sandbox import ImageSpec
from hfr_bench.suites.tau2.catalog import SUITE, read_content

HOST_ARGV = ("python3", "-B", "/opt/hfr/host/main.py")
DATA_DIR = "/opt/hfr/checkout"
_WITH_CHECKOUT = f"COPY checkout {DATA_DIR}\nENV HFR_TAU2_DATA_DIR={DATA_DIR}\n"


def image_spec(data_dir: Path | None = None) -> ImageSpec:
    """The image: our host and the pinned packages; with `data_dir`, an upstream checkout as well.

    Raises BadInputError if the folder is no checkout of tau2-bench or tau-bench.
    """
    folder = content.root() / "suites" / SUITE
    dockerfile = (folder / "Dockerfile").read_text(encoding="utf-8")
    files = {"host": Path(__file__).parent / "host"}
    if data_dir is not None:
        dockerfile += _WITH_CHECKOUT
        files |= {f"checkout/{name}": data_dir / name for name in _needed(data_dir)}
    return ImageSpec(SUITE, dockerfile, files, folder / "requirements.txt")


def _needed(data_dir: Path) -> list[str]:
    """What the host reads of a checkout: code, and the data of our domains; no results or logs."""
    if all((data_dir / part / "domains").is_dir() for part in ("src/tau2", "data/tau2")):
        domains = [f"data/tau2/domains/{name}" for name in read_content("suite")["domains"]]
        wanted = ["pyproject.toml", "src/tau2", *domains]
    elif (data_dir / "tau_bench" / "envs").is_dir():
        wanted = ["setup.py", "tau_bench"]
    else:
        raise BadInputError(
            f"{data_dir}: neither a checkout of tau2-bench (src/tau2, data/tau2) "
            "nor one of tau-bench (tau_bench)"
        )
    return [name for name in wanted if (data_dir / name).exists()]
