"""Orders: markets that do not take them, scales and ticks (§2.6, §3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.analysis.conformance.recorded_run import Call, Run
from sim.analysis.conformance.rules import Finding, Rule
from sim.core.model.enums import InstrumentState, RejectReason
from sim.kernel.instants import Instant

_ENTRY = ("InsertOrder", "CreateOrder", "PreviewOrder", "CancelReplaceOrder", "ModifyOrder")
_TERMS = (
    "GetInstrument",
    "ListInstruments",
    "SearchInstruments",
    "GetMarketBySlug",
    "GetMarketById",
    "ListMarkets",
    "GetEventBySlug",
    "ListEvents",
)
_BY_TICK = (RejectReason.INCORRECT_QUANTITY, RejectReason.INVALID_PRICE_INCREMENT)
_SHUT = "Book is "


def symbol_of(call: Call) -> str:
    """The instrument an order call is about."""
    return str(
        getattr(call.request, "symbol", "") or getattr(call.request, "market_slug", "") or ""
    )


def _rejects(call: Call) -> Iterator[dict[str, Any]]:
    for event in call.events:
        if event["event"] == "Executed" and event["execution"].get("type") == 5:
            yield event["execution"]


def _shut(call: Call) -> bool:
    """Whether an order was refused, or rejected, because the instrument does not take any."""
    if call.status == 422 and call.message.startswith(_SHUT):
        return True
    return any(
        execution.get("reject_reason") == RejectReason.EXCHANGE_CLOSED
        for execution in _rejects(call)
    )


def _era(run: Run, symbol: str, now: Instant) -> int:
    """How often an instrument had changed its state up to an instant: two calls with the same
    number saw the same state.
    """
    return sum(1 for at, _ in run.states.get(symbol, ()) if at <= now)


def _market_state(run: Run) -> Iterator[Finding]:
    told: dict[tuple[str, str], tuple[int, Call]] = {}
    for call in run.calls:
        if call.rpc not in _ENTRY or not _shut(call):
            continue
        symbol = symbol_of(call)
        era = _era(run, symbol, call.at)
        before = told.get((call.caller, symbol))
        if before is not None and before[0] == era:
            yield call.found(
                f"{call.rpc} in {symbol}",
                "the market had refused an order in this state before",
                before[1],
            )
        else:
            yield call.found(f"{call.rpc} in {symbol}")
            told[call.caller, symbol] = era, call


def _gone(run: Run) -> Iterator[Finding]:
    """Orders into instruments that are over for good."""
    over = {InstrumentState.EXPIRED, InstrumentState.TERMINATED}
    for call in run.calls:
        symbol = symbol_of(call) if call.rpc in _ENTRY else ""
        ends = [at for at, state in run.states.get(symbol, ()) if state in over]
        if symbol and ends:
            late = call.at > ends[0]
            yield call.found(
                f"{call.rpc} in {symbol}", "the instrument had expired" if late else ""
            )


def _scales(run: Run) -> Iterator[Finding]:
    informed: set[str] = set()
    seen: set[tuple[str, str]] = set()
    for call in run.calls:
        if call.rpc in _TERMS and call.status < 400:
            informed.add(call.caller)
            informed.add(call.given.peer)  # the gateway does not know who asks
        if call.rpc not in _ENTRY or (call.caller, symbol_of(call)) in seen:
            continue
        seen.add((call.caller, symbol_of(call)))
        off = any(
            execution.get("reject_reason") in _BY_TICK for execution in _rejects(call)
        ) or _off_tick(call)
        read = call.caller in informed or call.given.peer in informed
        broken = (
            "refused for its tick or size, and the instrument's terms had never been read"
            if off and not read
            else ""
        )
        yield call.found(f"first {call.rpc} in {symbol_of(call)}", broken)


def _off_tick(call: Call) -> bool:
    return call.status in (400, 422) and any(
        part in call.message for part in ("Price must be a multiple", "Minimum trade quantity")
    )


MARKET_STATE = Rule(
    "market-state",
    "3.1",
    "Do not go on sending orders to a market that has refused them, until its state changes.",
    _market_state,
)
NOT_AFTER_EXPIRY = Rule(
    "not-after-expiry", "3.1", "Send no order to an instrument that has expired.", _gone
)
READ_SCALES = Rule(
    "scales-are-read",
    "2.6",
    "Read tick, scales and minimum of each instrument; do not infer them.",
    _scales,
)
