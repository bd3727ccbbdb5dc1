"""Tool hosts in containers of a Docker engine: no network, no host files, no capabilities, limits.

Speaks the Engine API (1.41, Docker 20.10, and newer) through docker-py, the extra `docker`.
"""

from hfr_bench.errors import BadInputError

try:
    from hfr_bench.sandboxes.docker.sandbox import DockerSandbox
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("docker", "requests"):
        raise
    raise BadInputError(
        "the sandbox docker needs the extra of that name: pip install 'hfr-bench[docker]'"
    ) from error

__all__ = ["DockerSandbox"]
