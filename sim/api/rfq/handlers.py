"""Operations that both APIs have: named differently, and with another way to find the account."""

from __future__ import annotations

from collections.abc import Callable

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import Answer, Handler, Request, handles
from sim.core.exchange import Exchange


def for_account(
    operation: str,
    account_of: Callable[[Caller], str],
    function: Callable[[Exchange, str, Request], Answer],
) -> Handler[Request, Answer]:
    """Serve an operation with `function(exchange, account, request)`."""

    @handles(operation)
    def serve(exchange: Exchange, caller: Caller, request: Request) -> Answer:
        return function(exchange, account_of(caller), request)

    return serve
