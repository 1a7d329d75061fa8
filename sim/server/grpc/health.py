"""The standard gRPC health service, for standard tools. It needs no credentials, is not journalled,
and follows the maintenance window (rule W8).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeAlias

import grpc
import grpc.aio

from sim.server.host import Host

HEALTH = "/grpc.health.v1.Health/"
_SERVING, _NOT_SERVING, _SERVICE_UNKNOWN = 1, 2, 3

Context: TypeAlias = grpc.aio.ServicerContext[bytes, bytes]


class Health:
    """grpc.health.v1.Health of a host. The service "" is the whole server."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def handler(self, method: str) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """The handler of a full method name; None for an unknown one."""
        if method == HEALTH + "Check":
            return grpc.unary_unary_rpc_method_handler(self._check)
        if method == HEALTH + "Watch":
            return grpc.unary_stream_rpc_method_handler(self._watch)
        return None

    async def _check(self, message: bytes, context: Context) -> bytes:
        status = self._status(await _service(message, context))
        if status == _SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return _response(status)

    async def _watch(self, message: bytes, context: Context) -> AsyncIterator[bytes]:
        """The status of a service, and again whenever it changes."""
        service, sent = await _service(message, context), 0
        with self._host.watchers.watch() as changed:
            while True:
                changed.clear()
                status = self._status(service)
                if status != sent:
                    sent = status
                    yield _response(status)
                else:
                    await changed.wait()

    def _status(self, service: str) -> int:
        serves = self._host.simulation.rpc_serves(service)
        return _SERVICE_UNKNOWN if serves is None else _SERVING if serves else _NOT_SERVING


async def _service(message: bytes, context: Context) -> str:
    # Imported late, because they load all of protobuf's Python code, which would delay the start.
    from google.protobuf.message import DecodeError
    from google.protobuf.wrappers_pb2 import StringValue

    try:
        # HealthCheckRequest{string service = 1} has the form of a StringValue.
        return StringValue.FromString(message).value
    except DecodeError:
        await context.abort(
            grpc.StatusCode.INVALID_ARGUMENT, "not a grpc.health.v1.HealthCheckRequest"
        )


def _response(status: int) -> bytes:
    return bytes((8, status))  # HealthCheckResponse{status = 1}
