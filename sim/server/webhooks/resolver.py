"""Names of webhook receivers: loopback names mean this machine (RFC 6761, section 6.3), whatever a
name server says about them. Everything else is looked up.
"""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

_ADDRESSES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


class LoopbackByName(AbstractResolver):
    """Resolves `localhost` and `*.localhost` itself, and the rest with the system's resolver."""

    def __init__(self) -> None:
        self._others = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name."""
        if host != "localhost" and not host.endswith(".localhost"):
            return await self._others.resolve(host, port, family)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=kind,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, address in _ADDRESSES
            if family in (kind, socket.AF_UNSPEC)
        ]

    async def close(self) -> None:
        """Nothing to release."""
        await self._others.close()
