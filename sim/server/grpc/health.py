"""The standard health service of gRPC, for stock tools: no credentials, no place in the journal,
and what it says follows the maintenance window (rule W8).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, TypeAlias

import grpc
import grpc.aio

if TYPE_CHECKING:
    from sim.server.host import Host

HEALTH = "/grpc.health.v1.Health/"
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = 1, 2, 3

Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]


class Health:
    """grpc.health.v1.Health of a host. Service "" is the whole server."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def handler(self, method: str) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """What answers a full method name; None for one that health does not have."""
        if method == HEALTH + "Check":
            return grpc.unary_unary_rpc_method_handler(self._check)
        return (
            grpc.unary_stream_rpc_method_handler(self._watch)
            if method == HEALTH + "Watch"
            else None
        )

    async def _check(self, message: bytes, context: Context) -> bytes:
        status = self._status(await _service(message, context))
        if status == _SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return _response(status)

    async def _watch(self, message: bytes, context: Context) -> AsyncIterator[bytes]:
        """How a service stands, and again whenever that changes."""
        service, told = await _service(message, context), 0
        with self._host.news() as happened:
            while True:
                happened.clear()
                status = self._status(service)
                if status != told:
                    told = status
                    yield _response(status)
                else:
                    await happened.wait()

    def _status(self, service: str) -> int:
        serves = self._host.simulation.rpc_serves(service)
        return _SERVICE_UNKNOWN if serves is None else _SERVING if serves else _NOT_SERVING


async def _service(message: bytes, context: Context) -> str:
    # Late: these bring all of protobuf's Python with them, which a start need not wait for.
    from google.protobuf.message import DecodeError
    from google.protobuf.wrappers_pb2 import StringValue

    try:
        # HealthCheckRequest{string service = 1} has the shape of a StringValue, and its response,
        # {status = 1}, is two bytes.
        return StringValue.FromString(message).value
    except DecodeError:
        await context.abort(
            grpc.StatusCode.INVALID_ARGUMENT, "not a grpc.health.v1.HealthCheckRequest"
        )


def _response(status: int) -> bytes:
    return bytes((8, status))
