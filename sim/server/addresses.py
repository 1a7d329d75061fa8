"""The addresses of the surfaces of one instance."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from sim.server.listeners import SURFACES, BoundSockets, reachable


class Addresses(Struct, frozen=True, kw_only=True):
    """URLs by surface, "" for one that is not served; host:port for gRPC. `tls_ca` is
    the certificate that clients must trust, `listens_on` are the IP addresses or the
    host of the listeners.
    """

    gateway: str = ""
    retail: str = ""
    exchange: str = ""
    auth: str = ""
    grpc: str = ""
    control: str = ""
    docs: str = ""
    tls_ca: Path | None = None
    listens_on: tuple[str, ...] = ()

    @property
    def token_url(self) -> str:
        """The token endpoint."""
        return f"{self.auth}/oauth/token"

    def surfaces(self) -> list[tuple[str, str | None]]:
        """(surface, address) in the order of the ports; None for one that is not served."""
        return [(surface, getattr(self, surface) or None) for surface in SURFACES]


def addresses_of(
    bound: BoundSockets, *, tls_ca: Path | None = None, public_host: str = ""
) -> Addresses:
    """Addresses of bound sockets, with the public host name if one is set. The port of gRPC is the
    requested one: 0 until it is bound.
    """
    name = public_host or bound.host
    scheme = "http" if tls_ca is None else "https"
    urls = {
        surface: f"{scheme}://{reachable(name, bound.port(surface))}" for surface in bound.sockets
    }
    grpc = reachable(name, bound.grpc_port) if bound.serves_exchange else ""
    return Addresses(**urls, grpc=grpc, tls_ca=tls_ca, listens_on=bound.addresses)
