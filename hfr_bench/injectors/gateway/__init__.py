"""The model gateway: a reverse proxy that *is* the injector of the model layer."""

from hfr_bench.injectors.gateway.server import GatewayInjector

__all__ = ["GatewayInjector"]
