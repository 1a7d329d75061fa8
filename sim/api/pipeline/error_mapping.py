"""From a refusal to HTTP status and body, or gRPC status, per surface (§7).

| Surface | Body |
|---|---|
| exchange, gateway | `{"code", "message", "details": []}` |
| retail | `{"status", "message"}`; so is 429 of the gateway; plain text without a key |
| token issuer | an OAuth error object |

Clients branch on status and code, never on the text (§7.2).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, json
from msgspec.structs import asdict

from sim.core.model import refusals
from sim.core.model.refusals import HTTP_OF_CODE, Refusal
from sim.kernel.instants import NS_PER_S, Instant, Span, format_instant, format_seconds

# Where §7.1 differs from the mapping of codes.
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
_RETAIL_MESSAGES = {429: "Too Many Requests", 503: "Service Unavailable"}


def grpc_code(refusal: Refusal) -> int:
    """Return the gRPC status code of a refusal."""
    return int(refusal.injected_code if isinstance(refusal, refusals.Injected) else refusal.code)


def http_status(refusal: Refusal) -> int:
    """Return the HTTP status of a refusal, the same on every plane."""
    return refusal.http or _HTTP_OF_CLASS.get(type(refusal)) or HTTP_OF_CODE[refusal.code]


def http_body(refusal: Refusal, plane: str) -> bytes:
    """Return the body of a refusal in the shape of its plane."""
    status = http_status(refusal)
    if http_content_type(refusal) == "text/plain":
        return refusal.message.encode()
    if plane == "auth":
        error = getattr(refusal, "error", "invalid_request" if status < 500 else "server_error")
        return json.encode({"error": error, "error_description": refusal.message})
    if plane == "retail" or (plane == "gateway" and status == 429):
        return json.encode(
            {"status": status, "message": _RETAIL_MESSAGES.get(status, refusal.message)}
        )
    message = refusal.message
    if isinstance(refusal, refusals.RateLimited) and refusal.rung == "global":
        message = "rate limit exceeded"
    return json.encode({"code": grpc_code(refusal), "message": message, "details": []})


def http_content_type(refusal: Refusal) -> str:
    """Return what kind of body a refusal has: JSON, but for a missing API key."""
    if isinstance(refusal, refusals.MissingKeyHeaders):
        return "text/plain"
    return "application/json"


def http_headers(refusal: Refusal) -> tuple[tuple[str, str], ...]:
    """Return Retry-After in whole seconds, at least 1 (rule R4), or Allow on 405 (RFC 9110)."""
    if refusal.retry_after is not None:
        return (("Retry-After", str(max(1, -(-refusal.retry_after // NS_PER_S)))),)
    if isinstance(refusal, refusals.MethodNotAllowed):
        return (("Allow", ", ".join(refusal.allowed)),)
    return ()


class Explanation(Struct, frozen=True, gc=False):
    """Why a call was refused, and what would have worked; `plain` is what people are shown.

    `stage` refused it. `answered_in` is the input that brought the refusal of a call which waited
    for `orders`; 0 for all others.
    """

    request_id: str
    operation: str
    refusal: str
    status: int
    code: int
    message: str
    rule: str
    section: str
    remedy: str
    retry: bool
    retry_after: Span | None
    now: Instant
    stage: str
    answered_in: int = 0
    orders: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As an object of JSON, with times in words."""
        retry_after = self.retry_after
        plain = {
            **asdict(self),
            "retry_after_s": None if retry_after is None else format_seconds(retry_after),
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
    """Explain to people why a call was refused; `code` is the gRPC status of its reply."""
    return Explanation(  # positional arguments: a Struct searches for each keyword
        request_id,
        operation,
        type(refusal).__name__,
        http_status(refusal),
        code,
        refusal.message,
        refusal.rule,
        refusal.section,
        refusal.remedy,
        refusal.retry,
        refusal.retry_after,
        now,
        stage.replace("_", " "),
    )
