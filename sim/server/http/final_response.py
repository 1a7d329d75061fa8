"""Responses of other servers: a receiver of webhooks, a service that is recorded."""

from __future__ import annotations

import asyncio

from aiohttp import ClientResponse, ServerDisconnectedError
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

# Informational responses (1xx) before the final one. A server may send several, not without end.
INFORMATIONAL_MAX = 16


class FinalResponse(ClientResponse):
    """A response that gives up on a server which sends only informational ones. aiohttp would read
    them for ever, and without yielding to anybody else, not even to its own time-out.
    """

    async def start(self, connection: Connection) -> ClientResponse:
        """Read the head of the final response."""
        protocol = connection.protocol
        if protocol is None:
            raise ServerDisconnectedError
        protocol.__dict__["read"] = _counted(protocol)
        try:
            return await super().start(connection)
        finally:
            del protocol.__dict__["read"]


def _counted(protocol: ResponseHandler) -> object:
    read, left = protocol.read, INFORMATIONAL_MAX + 1

    async def counted() -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise ServerDisconnectedError("only informational responses")
        await asyncio.sleep(0)
        return await read()

    return counted
