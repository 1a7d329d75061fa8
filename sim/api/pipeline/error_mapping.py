"""Maps a refusal to HTTP status and body, or to a gRPC status, for each surface (§7).

| Surface | Body |
|---|---|
| exchange, gateway, retail | `{"code", "message", "details": []}` |
| 429 of the gateway and of retail | `{"status", "message"}` |
| retail without a key | plain text |
| token issuer | an OAuth error object |

`Retry-After` is in whole seconds, at least 1 (rule R4); a 405 has `Allow` (RFC 9110). Clients must
depend on status and code, never on the text (§7.2).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct, UnsetType, json
from msgspec.structs import asdict

from sim.api.pipeline.inputs import Reply
from sim.core.model import refusals
from sim.core.model.refusals import HTTP_OF_CODE, Refusal
from sim.core.model.why import Facts
from sim.kernel.instants import NS_PER_S, Instant, Span, format_instant, format_seconds

# Refusals whose status in §7.1 differs from the mapping of codes.
_HTTP_OF_CLASS: dict[type[Refusal], int] = {
    refusals.MethodNotAllowed: 405,
    refusals.OrderDone: 409,
    refusals.Conflict: 409,
    refusals.IllegalTransition: 409,
    refusals.PayloadTooLarge: 413,
    refusals.OrderRefused: 422,
    refusals.InsufficientFunds: 422,
    refusals.InstrumentNotTradable: 422,
}
# Status and message of the refusals that the edge of the exchange host answers.
_AT_EDGE: dict[type[Refusal], tuple[int, str]] = {
    refusals.Unauthenticated: (401, "Unauthorized"),
    refusals.UnknownPath: (403, "Forbidden"),
}
EDGE_BODIES = [{"message": text} for _, text in _AT_EDGE.values()]
_TOO_MANY = json.encode({"status": 429, "message": "Too Many Requests"})


def grpc_code(refusal: Refusal) -> int:
    """Return the gRPC status code of a refusal."""
    return int(refusal.code)


def http_status(refusal: Refusal) -> int:
    """Return the HTTP status of a refusal, the same on every plane."""
    return refusal.http or _HTTP_OF_CLASS.get(type(refusal)) or HTTP_OF_CODE[refusal.code]


def refused(
    refusal: Refusal,
    plane: str,
    ready_at: Instant = 0,
    request_id: str = "",
    *,
    at_edge: bool = False,
) -> Reply:
    """Return the reply to clients of a plane; "grpc" counts as a plane here.

    `at_edge`: the exchange host answers 401 and unknown paths as recordings show.
    """
    code, message = grpc_code(refusal), refusal.message
    if plane in ("exchange", "grpc") and isinstance(refusal, refusals.UnknownSymbol):
        message = refusal.exchange_text
    reply = Reply(
        code=code,
        message=message,
        ready_at=ready_at,
        request_id=request_id,
        connection_fault=refusal.connection_fault,
        rule=refusal.rule,
        facts=refusal.facts,
    )
    if plane == "grpc":
        return reply
    reply.status = status = http_status(refusal)
    if refusal.retry_text:
        reply.headers = (("Retry-After", refusal.retry_text),)
    elif refusal.retry_after is not None:
        reply.headers = (("Retry-After", str(max(1, -(-refusal.retry_after // NS_PER_S)))),)
    elif isinstance(refusal, refusals.MethodNotAllowed):
        reply.headers = (("Allow", ", ".join(refusal.allowed)),)
    edge = _AT_EDGE.get(type(refusal)) if at_edge and plane == "exchange" else None
    if edge is not None:
        reply.status, text = edge
        reply.body = json.encode({"message": text})
    elif isinstance(refusal, refusals.MissingKeyHeaders):
        reply.content_type, reply.body = "text/plain", message.encode()
    elif plane == "auth":
        error = getattr(refusal, "error", "invalid_request" if status < 500 else "server_error")
        reply.body = json.encode({"error": error, "error_description": message})
    elif status == 429 and plane in ("retail", "gateway"):
        reply.body = _TOO_MANY
    else:
        if isinstance(refusal, refusals.RateLimited) and refusal.rung == "global":
            message = "rate limit exceeded"
        reply.body = _body(code, message)
    return reply


@lru_cache(maxsize=256)
def _body(code: int, message: str) -> bytes:
    return json.encode({"code": code, "message": message, "details": []})


class Explanation(Struct, frozen=True, gc=False):
    """Why a call was refused, and what would have worked.

    `stage` is the stage that refused it. `answered_in` is the input that brought the refusal of a
    call that waited for `orders`; 0 for all others.
    """

    request_id: str
    operation: str
    refusal: str
    status: int
    code: int
    message: str
    rule: str
    facts: Facts | UnsetType
    section: str
    remedy: str
    retry: bool
    retry_after: Span | None
    now: Instant
    stage: str
    answered_in: int = 0
    orders: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The explanation as a JSON object, with durations and instants as text."""
        retry_after = self.retry_after
        plain = {
            **asdict(self),
            "retry_after_s": None if retry_after is None else format_seconds(retry_after),
            "facts": self.facts or {},
            "now": format_instant(self.now),
            "orders": list(self.orders),
        }
        del plain["retry_after"]
        if not self.answered_in:
            del plain["answered_in"], plain["orders"]
        return plain


def explanation(
    refusal: Refusal, code: int, *, request_id: str, operation: str, now: Instant, stage: str
) -> Explanation:
    """Explain the refusal of a call; `code` is the gRPC status of its reply."""
    return Explanation(  # positional arguments, because keywords of a Struct cost time
        request_id,
        operation,
        type(refusal).__name__,
        http_status(refusal),
        code,
        refusal.message,
        refusal.rule,
        refusal.facts,
        refusal.section,
        refusal.remedy,
        refusal.retry,
        refusal.retry_after,
        now,
        stage.replace("_", " "),
    )
