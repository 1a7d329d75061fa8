"""Moves that need the state of the exchange: markets along each edge of the lifecycle, and the
actions of an operator on what exists.

Each edge is a move, so that every edge is tried for certain: a market is created and brought to a
state, with orders in its book; then an operator, its schedule or its dates move it along the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from sim.core.lifecycle.states import EDGES, LEGAL_EDGES
from sim.core.model.enums import InstrumentState
from sim.kernel.entropy import Choices
from sim.kernel.instants import (
    EASTERN,
    NS_PER_S,
    Instant,
    days,
    format_instant,
    from_datetime,
    hours,
    minutes,
    to_datetime,
)
from sim.search.hunt.live_view import OWN, LiveView
from sim.search.moves.streams import BIDIRECTIONAL, BOOKS, open_stream
from sim.search.moves.view import (
    SCRIPTED,
    STATES,
    Act,
    Document,
    Steps,
    call,
    insert,
    scripted,
    trade,
)

LiveDraw: TypeAlias = Callable[[Choices, LiveView], Steps]

_S = InstrumentState
_SOON = 90 * NS_PER_S
_LIFETIMES = (30 * NS_PER_S, minutes(5), hours(2), days(1), days(30))
_ENDED = (_S.EXPIRED, _S.TERMINATED)
_ORDERS_MAX = 4
# The steps that lead to a state in which no market can be created.
_PATHS: dict[InstrumentState, tuple[str, ...]] = {
    _S.EXPIRED: ("CLOSED", "EXPIRED"),
    _S.TERMINATED: ("CLOSED", "EXPIRED", "TERMINATED"),
}


# ---- edges of the lifecycle


def edge(start: InstrumentState, end: InstrumentState, choices: Choices, view: LiveView) -> Steps:
    """Create a market and move it along an edge."""
    symbol = f"{OWN}{choices.below(24)}-{choices.below(1 << 16):04x}"
    view.vocabulary.add("symbol", symbol)
    yield from choices.choice([*_agents(start, end)])(choices, view, symbol, start, end)


def _agents(start: InstrumentState, end: InstrumentState) -> Iterator[Callable[..., Steps]]:
    """Yield what can take a market along an edge. Rule L10 lists the edges of an operator."""
    if end in LEGAL_EDGES[start]:
        yield _by_operator
    if end in _ENDED:
        yield _by_date
    elif start not in _ENDED:
        yield _by_schedule


def _by_operator(
    choices: Choices, view: LiveView, symbol: str, start: InstrumentState, end: InstrumentState
) -> Steps:
    yield from _created_market(choices, view, symbol, start, {})
    yield Act("instrument.state", symbol, {"state": end.name})


def _by_date(
    choices: Choices, view: LiveView, symbol: str, start: InstrumentState, end: InstrumentState
) -> Steps:
    """Let the expiration or termination date pass, sometimes without the states in between."""
    at = view.now + _SOON
    dates = {"expiration": format_instant(at), "termination": format_instant(at + days(1))}
    if end is _S.TERMINATED:
        dates = {"expiration": format_instant(at - NS_PER_S), "termination": format_instant(at)}
    if start is not _S.CLOSED and end is _S.EXPIRED:
        collapse = {"value": choices.choice(("false", "false", "true"))}
        yield Act("assumption.set", "lifecycle.collapse_to_expired", collapse)
    yield from _created_market(choices, view, symbol, start, dates)
    yield {"advance": "90s"}


def _by_schedule(
    choices: Choices, view: LiveView, symbol: str, start: InstrumentState, end: InstrumentState
) -> Steps:
    """Let one segment of the schedule end and another begin. CLOSED is outside every segment."""
    first, second = _day(view, 2, start.name, end.name)
    if choices.chance(1, 3):
        second |= {"expire_all_orders": True, "hide_market_data": choices.chance(1, 2)}
    terms: Document = {"start": format_instant(view.now - days(2))}
    if start is _S.PENDING:
        second = {"start": "00:00", "length": "24h", "state": end.name}
        terms = {"start": format_instant(view.now + minutes(1))}
    closed = ("CLOSED", "PENDING")
    segments = [segment for segment in (first, second) if segment["state"] not in closed]
    if not segments:  # CLOSED all day
        weekday = (to_datetime(view.now, EASTERN).weekday() + 3) % 7
        segments = [{"start": "00:00", "length": "1m", "days": [weekday]}]
    yield Act("instrument.create", "", {"symbol": symbol, **terms, "schedule": segments})
    yield from _orders(choices, symbol)
    yield {"advance": "3m"}


def _day(view: LiveView, after: int, first: str, second: str) -> tuple[Document, Document]:
    """Return a day in two segments, of which the second begins some minutes from now."""
    clock = to_datetime(view.now, EASTERN)
    cut = min(clock.hour * 60 + clock.minute + after, 24 * 60 - 1)
    return (
        {"start": "00:00", "length": f"{cut}m", "state": first},
        {"start": f"{cut // 60:02}:{cut % 60:02}", "length": f"{24 * 60 - cut}m", "state": second},
    )


def _created_market(
    choices: Choices, view: LiveView, symbol: str, state: InstrumentState, dates: Document
) -> Steps:
    """Create a market in a state, with orders if that state accepts them."""
    body: Document = {"symbol": symbol, "tick_size": "0.01", **dates}
    if state is _S.PENDING:
        body["start"] = format_instant(view.now + days(3))
        yield Act("instrument.create", "", body)
        return
    path = _PATHS.get(state, (state.name,))
    first = path[0]
    if state not in _ENDED and choices.chance(1, 2):
        first = "OPEN"
    yield Act("instrument.create", "", body | {"state": first})
    yield from _orders(choices, symbol)
    if first != state.name:
        rest = path if first == "OPEN" else path[1:]
        if state is _S.PREOPEN and first == "OPEN":
            rest = ("CLOSED", "PREOPEN")
        for name in rest:
            yield Act("instrument.state", symbol, {"state": name})
        yield from _orders(choices, symbol)


def _orders(choices: Choices, symbol: str) -> Steps:
    for _ in range(choices.below(_ORDERS_MAX + 1)):
        yield scripted(
            choices.choice(SCRIPTED),
            symbol,
            choices.choice(("buy", "sell")),
            f"0.{choices.between(45, 55)}",
            str(choices.between(1, 20)),
            tif=choices.choice(("day", "gtc", "gtc", "ioc")),
        )


# ---- actions of an operator


def create(choices: Choices, view: LiveView) -> Steps:
    now = view.now
    tick, scale = choices.choice((("0.01", 1), ("0.01", 1), ("0.0025", 100), ("0.001", 1)))
    symbol = f"{OWN}{choices.below(24)}"
    body: Document = {"symbol": symbol, "tick_size": tick, "fractional_qty_scale": scale}
    if choices.chance(2, 3):
        states = ("OPEN", "OPEN", "OPEN", "PREOPEN", "MATCH_AND_CLOSE_AUCTION", "SUSPENDED")
        body["state"] = choices.choice(states)
    if choices.chance(1, 3):
        ends = now + choices.choice(_LIFETIMES)
        body["expiration"] = format_instant(ends)
        body["termination"] = format_instant(ends + choices.choice(_LIFETIMES))
    if choices.chance(1, 4):
        body["start"] = format_instant(now + choices.choice(_LIFETIMES[:3]))
        body.pop("state", None)
    if choices.chance(1, 4):
        first, second = (choices.choice((*STATES[11:17], "OPEN")) for _ in range(2))
        body["schedule"] = _day(view, choices.choice((1, 1, 10)), first, second)
    view.vocabulary.add("symbol", symbol)
    yield Act("instrument.create", "", body)


def bust(choices: Choices, view: LiveView) -> Steps:
    """Bust a trade, usually one of the last, sometimes twice."""
    trades = view.simulation.exchange.trading.trades
    most = choices.choice((1, 4, 40))
    ids = [trade.id for trade, _ in zip(reversed(trades), range(most), strict=False)]
    for _ in range(choices.choice((1, 1, 2))):
        yield Act("trade.bust", choices.choice(ids or ["nope"]), {})


def at_edge(choices: Choices, view: LiveView) -> Steps:
    """Trade a nanosecond before the edge of a day or the next deadline, at it, and after it. An
    order is good till then.
    """
    at = choices.choice([each for each in _edges(view) if each > view.now + 1])
    terms, user = view.market(choices), view.user(choices)
    ends = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": format_instant(at)}
    yield insert(choices, terms, user, "BUY", 40, **ends)
    yield insert(choices, terms, user, "SELL", 60, timeInForce="TIME_IN_FORCE_DAY")
    yield {"advance": f"{at - 1 - view.now}ns"}
    for _ in range(3):
        yield from trade(choices, view, terms)
        yield {"advance": "1ns"}


def _edges(view: LiveView) -> Iterator[Instant]:
    """Yield changes of the trade date and of the clocks, both midnights, and what is due next."""
    here = to_datetime(view.now, EASTERN)
    roll = here.replace(hour=17, minute=0, second=0, microsecond=0)
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    for moment in (roll, roll + timedelta(days=1), midnight):
        yield from_datetime(moment)
    yield view.now - view.now % days(1) + days(1)
    offset = here.utcoffset()
    day = next(n for n in range(1, 300) if (midnight + timedelta(days=n)).utcoffset() != offset)
    yield from_datetime((midnight + timedelta(days=day - 1)).replace(hour=2))
    due = view.simulation.next_due()
    yield from () if due is None else (due, due)


def participant_token(choices: Choices, view: LiveView) -> Steps:
    """Request the token of a participant, which speaks for it alone (rule E5)."""
    user = view.user(choices)
    body = {"participantId": user.name, "ttlSeconds": choices.choice((0, 0, 60, 10**9))}
    firm = user.name.partition("/users/")[0]
    yield call(choices, "ParticipantAPI.CreateParticipantAPIToken", body, firm)


def long_silence(choices: Choices, view: LiveView) -> Steps:
    """Let the load balancer end streams on which nobody says anything (rule S13)."""
    yield Act("assumption.set", "stream.heartbeat", {"value": choices.choice(("0s", "30s"))})
    yield from open_stream(choices, view)
    yield {"advance": choices.choice(("10m", "11m", "61m"))}


def chatter(choices: Choices, view: LiveView) -> Steps:
    """Send more frames on a stream than a tight limit allows (rule S15)."""
    stream = {"name": view.label("chatter"), "rpc": BIDIRECTIONAL, "as": view.user(choices).name}
    yield {"subscribe": {**stream, "send": [{"subscribe": {"symbols": [view.symbol(choices)]}}]}}
    yield {
        "send": {"stream": stream["name"], "frames": [{"keepalive": {}}] * choices.between(3, 6)}
    }


def many_symbols(choices: Choices, view: LiveView) -> Steps:
    """Subscribe to as many markets as a stream takes, or one more (rule S8)."""
    symbols = [f"none-{number}" for number in range(choices.choice((1_000, 1_001)))]
    stream = {"name": view.label("wide"), "rpc": BOOKS, "as": view.user(choices).name}
    yield {"subscribe": {**stream, "json": {"symbols": symbols}}}


def decide_funding(choices: Choices, view: LiveView) -> Steps:
    states = ("completed", "cancelled", "refunded", "processing", "acknowledged")
    body: Document = {"state": choices.choice(states)}
    if body["state"] == "refunded" and choices.chance(1, 2):
        body["amount"] = choices.choice(("0.50", "2.50", "100000"))
    changes = view.simulation.exchange.funding.changes
    ids = (change.transaction.id for change in changes[-6:])
    yield Act("funding.decide", view.recent(choices, ids), body)


def decide_verification(choices: Choices, view: LiveView) -> Steps:
    cases = (case.external_id for case in view.simulation.exchange.kyc.cases())
    decision = choices.choice(("approve", "reject", "review", "resubmit", "nope"))
    yield Act("kyc.decide", view.recent(choices, cases), {"decision": decision})


def remove_fault(choices: Choices, view: LiveView) -> Steps:
    faults = (fault.id for fault in view.simulation.exchange.faults.all())
    yield Act("fault.remove", view.recent(choices, faults), {})


def cancel_maintenance(choices: Choices, view: LiveView) -> Steps:
    windows = (window.name for window in view.simulation.exchange.maintenance_calendar.save())
    yield Act("maintenance.cancel", view.recent(choices, windows), {})


def switch_trader(choices: Choices, view: LiveView) -> Steps:
    traders = (trader.name for trader in view.simulation.scenario.participants.traders)
    active = choices.chance(1, 2)
    yield Act("participant.switch", view.recent(choices, traders), {"active": active})


def update_event(choices: Choices, view: LiveView) -> Steps:
    body: Document = {"live": True, "period": choices.choice(("Q1", "Q4", "HT", "FT"))}
    body["home_score"], body["away_score"] = choices.below(4), choices.below(4)
    if choices.chance(1, 3):
        body |= {"ended": True, "live": False}
    yield Act("event.update", str(view.vocabulary.draw(choices, "event_slug", "")), body)


def change_receiver(choices: Choices, view: LiveView) -> Steps:
    names = (receiver.name for receiver in view.simulation.scenario.world.receivers)
    answers = [{"status": choices.choice((200, 500))}]
    yield Act("receiver.change", view.recent(choices, names), {"answers": answers})


def redeliver(choices: Choices, view: LiveView) -> Steps:
    yield Act("webhook.redeliver", view.recent(choices, (firm.name for firm in view.firms)), {})


def close_stream(choices: Choices, view: LiveView) -> Steps:
    streams = view.simulation.engine.hub.operations()
    yield Act("stream.close", view.recent(choices, streams), {})


LIVE_MOVES: dict[str, LiveDraw] = {
    "at edge": at_edge,
    "participant token": participant_token,
    "long silence": long_silence,
    "many symbols": many_symbols,
    "chatter": chatter,
    "instrument.create": create,
    "trade.bust": bust,
    "funding.decide": decide_funding,
    "kyc.decide": decide_verification,
    "fault.remove": remove_fault,
    "maintenance.cancel": cancel_maintenance,
    "participant.switch": switch_trader,
    "event.update": update_event,
    "receiver.change": change_receiver,
    "webhook.redeliver": redeliver,
    "stream.close": close_stream,
    **{f"edge {start.name} {end.name}": partial(edge, start, end) for start, end in EDGES},
}
