"""Tools that act on an exchange: call, order, advance, fault."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import quote, urlencode

from sim.agents.answers import ToolError, answer, quoted
from sim.agents.session import RunningExchange, Session
from sim.testing.control import ControlError

_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SIDES = {"buy": "SIDE_BUY", "sell": "SIDE_SELL"}
_FIRED_SHOWN = 20


def call(
    session: Session,
    plane: str,
    path: str,
    verb: str = "GET",
    body: Any = None,
    who: str = "",
    exchange: str = "",
) -> str:
    """Make one call in the way a client would."""
    running = session.find(exchange)
    if verb not in _VERBS or not path.startswith("/"):
        raise ToolError(
            f"verb must be one of {', '.join(_VERBS)}, and path must begin with a slash."
        )
    reply = running.caller.call(plane, verb, path, body, who)
    headline = f"{reply.status} for {verb} {quoted(path)} on the {plane} plane."
    then = "`history` shows how the exchange handled it."
    if reply.status >= 400:
        subject = f" {reply.request_id}" if reply.request_id else ""
        then = f"`explain` with subject{subject} says which rule refused it and what would work."
    return answer(headline, reply.body, then=then)


def order(
    session: Session,
    symbol: str,
    side: str,
    qty: str,
    price: str = "",
    tif: str = "DAY",
    who: str = "",
    clord_id: str = "",
    exchange: str = "",
) -> str:
    """Place an order as a partner's participant; a market order if there is no price."""
    running = session.find(exchange)
    scales = _scales(running, symbol)
    body: dict[str, Any] = {
        "symbol": symbol,
        "side": _SIDES[side],
        "type": "ORDER_TYPE_LIMIT" if price else "ORDER_TYPE_MARKET",
        "orderQty": _scaled("qty", qty, scales[1]),
        "timeInForce": f"TIME_IN_FORCE_{tif}",
    }
    body |= {"price": _scaled("price", price, scales[0])} if price else {}
    body |= {"clordId": clord_id} if clord_id else {}
    reply = running.caller.call("exchange", "POST", "/v1/trading/orders", body, who)
    if reply.status != 200:
        return answer(
            f"The order was refused with {reply.status}.",
            reply.body,
            then=f"`explain` with subject {reply.request_id} says why and what would work.",
        )
    number = str(reply.body.get("orderId", ""))
    rows = running.served.control("GET", f"/state/orders?{urlencode({'symbol': symbol})}")["orders"]
    state = next((row for row in rows if row["id"] == number), reply.body)
    return answer(
        f"Order {quoted(number)} was accepted; this is its state now.",
        state,
        then=f"`explain` with subject {number} explains its state; `advance` lets timers fire.",
    )


def _scales(running: RunningExchange, symbol: str) -> tuple[int, int]:
    try:
        instrument = running.served.control(
            "GET", f"/instruments?{urlencode({'text': symbol, 'limit': 1_000})}"
        )
    except (ControlError, ValueError) as error:
        raise ToolError(f"symbol: {quoted(error)}.") from None
    row = next((one for one in instrument["instruments"] if one["symbol"] == symbol), None)
    if row is None:
        near = ", ".join(one["symbol"] for one in instrument["instruments"][:5])
        examples = near or ", ".join(running.served.symbols["open"][:5])
        raise ToolError(f"No instrument is called {quoted(symbol)}. Try one of: {examples}.")
    rows = running.served.control("GET", f"/state/instruments?{urlencode({'symbol': symbol})}")[
        "instruments"
    ]
    return rows[0]["price_scale"], rows[0]["fractional_qty_scale"]


def _scaled(name: str, text: str, scale: int) -> str:
    try:
        exact = Decimal(text) * scale
    except InvalidOperation:
        raise ToolError(
            f"{name} must be a decimal number such as 0.45, not {quoted(text)}."
        ) from None
    if exact != exact.to_integral_value():
        raise ToolError(
            f"{name} {quoted(text)} is finer than 1/{scale}, the finest this market takes."
        )
    return str(int(exact))


def advance(session: Session, by: str = "", to: str = "", exchange: str = "") -> str:
    """Move time forward."""
    if bool(by) is bool(to):
        raise ToolError("Give either by (a duration such as 5m) or to (an instant, RFC 3339).")
    running = session.find(exchange)
    moved = _control(running, "POST", "/clock/advance", {"by": by} if by else {"to": to})
    fired = moved["fired"]
    return answer(
        f"It is {moved['now']} now; {len(fired)} timers fired."
        + (f" The last {_FIRED_SHOWN} of them:" if len(fired) > _FIRED_SHOWN else ""),
        fired[-_FIRED_SHOWN:] or None,
        then="`history` shows what they did; `status` when the next is due.",
    )


def fault(
    session: Session,
    operation: str = "",
    act: dict[str, Any] | None = None,
    times: int | None = None,
    remove: str = "",
    exchange: str = "",
) -> str:
    """Inject a fault, remove one, or list the active ones."""
    running = session.find(exchange)
    if remove:
        _control(running, "DELETE", f"/faults/{quote(remove, safe='')}")
        return answer(f"Fault {quoted(remove)} ended.", then="run the client again.")
    if act is None:
        rows = _control(running, "GET", "/faults")["faults"]
        headline = f"Active faults: {len(rows)}." if rows else "No fault is active."
        return answer(headline, rows or None, then="`fault` with operation and act injects one.")
    body: dict[str, Any] = {"match": {"operation": operation} if operation else {}, "act": act}
    body |= {} if times is None else {"times": times}
    created = _control(running, "POST", "/faults", body)
    return answer(
        f"Fault `{created['id']}` is active for {quoted(operation or 'every operation')}.",
        then=f"run the client, look at `history`, then end it with remove={created['id']}.",
    )


def _control(
    running: RunningExchange, verb: str, path: str, body: dict[str, Any] | None = None
) -> Any:
    try:
        return running.served.control(verb, path, body)
    except ControlError as error:
        raise ToolError(f"{quoted(error)}.") from None
