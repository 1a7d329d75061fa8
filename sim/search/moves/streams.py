"""Streams of partners and retail users: opened, followed, crowded, resumed, closed.

Names of streams are few, so that sessions replace each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sim.contract.contract import load_contract
from sim.kernel.entropy import Choices
from sim.kernel.instants import format_instant
from sim.search.moves.view import Act, Document, Steps, View, retail_limit_order, trade

BOOKS = "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
_SERVER = (
    "OrderEntryAPI.CreateOrderSubscription",
    "DropCopyAPI.CreateDropCopySubscription",
    "DropCopyAPI.CreateTradeCaptureReportSubscription",
    "DropCopyAPI.CreatePositionChangeSubscription",
    "PositionAPI.CreatePositionSubscription",
    "FundingAPI.CreateFundingTransactionSubscription",
    "FundingAPI.CreateBalanceLedgerSubscription",
    BOOKS,
    "DropCopyAPI.CreateInstrumentStateChangeSubscription",
)
BIDIRECTIONAL = "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
SOCKETS = {
    "/v1/ws/markets": ("MARKET_DATA", "MARKET_DATA_LITE", "TRADE"),
    "/v1/ws/private": ("ORDER", "ORDER_SNAPSHOT", "POSITION", "ACCOUNT_BALANCE", "RFQ"),
}
RESUMABLE = (*(_SERVER[1],) * 3, _SERVER[2], _SERVER[3], _SERVER[8])
_NAMES = 12
_STREAMS_MAX = 21  # one more than the limit of a firm (rule S7)


def open_stream(choices: Choices, view: View) -> Steps:
    """Open a stream over gRPC or on a WebSocket."""
    stream: Document = {"name": f"stream-{choices.below(_NAMES)}"}
    view.streams[stream["name"]] = None
    if not view.users or (view.keys and choices.chance(2, 5)):
        path = choices.choice(list(SOCKETS))
        frames = [socket_request(choices, view, SOCKETS[path])]
        stream |= {"web_socket": path, "as": choices.choice(view.keys), "send": frames}
    else:
        user = view.user(choices)
        stream |= {"rpc": choices.choice((*_SERVER, BIDIRECTIONAL)), "as": user.name}
        if stream["rpc"] == BIDIRECTIONAL:
            stream["send"] = [{"subscribe": {"symbols": _symbols(choices, view)}}]
        else:
            keys = {"account": user.account, "symbols": _symbols(choices, view)}
            fields = _fields(stream["rpc"])
            stream["json"] = {key: value for key, value in keys.items() if key in fields}
    yield {"subscribe": stream}


def send_frame(choices: Choices, view: View) -> Steps:
    """Send a frame on a stream, which may not accept frames or may have ended.

    Opens a stream if there is none.
    """
    if not view.streams:
        yield from open_stream(choices, view)
        return
    frames: Sequence[Document] = (
        {"keepalive": {}},
        {"ping": {}},
        {"subscribe": {"symbols": _symbols(choices, view)}},
        {"unsubscribe": {"symbols": _symbols(choices, view)}},
        {"unsubscribe": {"requestId": f"r{choices.below(4)}"}},
        *(socket_request(choices, view, kinds) for kinds in SOCKETS.values()),
    )
    stream = choices.choice(list(view.streams))
    yield {"send": {"stream": stream, "frames": [choices.choice(frames)]}}


def hang_up(choices: Choices, view: View) -> Steps:
    """Close a stream. Opens one if there is none."""
    if view.streams:
        yield {"disconnect": choices.choice(list(view.streams))}
    else:
        yield from open_stream(choices, view)


def crowd(choices: Choices, view: View) -> Steps:
    """Open more streams than a firm may have."""
    body = {"symbols": [view.symbol(choices)], "snapshotOnly": choices.chance(1, 4)}
    user = view.user(choices)
    for _ in range(_STREAMS_MAX):
        name = view.label("crowd")
        yield {"subscribe": {"name": name, "rpc": _SERVER[7], "as": user.name, "json": body}}


def follow(choices: Choices, view: View) -> Steps:
    """Follow a traded market on a retail socket, and exceed the socket's limits."""
    name, path = view.label("socket"), choices.choice(list(SOCKETS))
    terms, kinds = view.market(choices), SOCKETS[path]
    requests = [
        {"requestId": f"r{number}", "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}"}
        for number, kind in enumerate((*kinds[-2:], kinds[0]))
    ]
    many = [f"none-{number}" for number in range(101)]
    slugs = [[terms.symbol], [terms.symbol], many]
    frames = [
        {"subscribe": {**request, "marketSlugs": each}}
        for request, each in zip(requests, slugs, strict=True)
    ]
    key = choices.choice(view.keys[:2])
    yield {"subscribe": {"name": name, "web_socket": path, "as": key, "send": frames}}
    yield from trade(choices, view, terms)
    for intent in ("BUY_LONG", "SELL_LONG"):
        yield retail_limit_order(choices, terms, key, "0.50", choices.between(1, 9), intent)


def resume(choices: Choices, view: View) -> Steps:
    """Open a stream, let something happen on it, disconnect, and resume it after its last message.

    Then resume it again from the instant at which it began.
    """
    began, name, user = format_instant(view.now), view.label("resumed"), view.user(choices)
    terms = view.market(choices)
    stream = {"name": name, "rpc": choices.choice(RESUMABLE), "as": user.name}
    yield {"subscribe": stream}
    for _ in range(choices.between(1, 2)):
        yield from trade(choices, view, terms)
    if choices.chance(1, 2):
        yield Act("instrument.settle", terms.symbol, {"price": choices.choice(("0", "1"))})
    token = view.resume_token(name)
    yield {"disconnect": name}
    for _ in range(choices.between(1, 2)):
        yield {"advance": "1s"}
        yield from trade(choices, view, view.market(choices))
    if choices.chance(1, 3):
        yield Act("maintenance.add", "", {"begins": "+1s", "length": "30s", "lead": "1s"})
        yield {"advance": "2m"}
    yield {"subscribe": {**stream, "json": {"resumeToken": token}}}
    if choices.chance(3, 4):
        yield {"disconnect": name}
        yield {"subscribe": {**stream, "json": {"resumeTime": began}}}


def socket_request(choices: Choices, view: View, kinds: Sequence[str]) -> Document:
    """Return a subscription on a retail socket."""
    request: Document = {
        "requestId": f"r{choices.below(4)}",
        "subscriptionType": f"SUBSCRIPTION_TYPE_{choices.choice(kinds)}",
    }
    if choices.chance(2, 3):
        request["marketSlugs"] = _symbols(choices, view)
    if choices.chance(1, 4):
        request["responsesDebounced"] = choices.chance(1, 2)
    return {"subscribe": request}


def _symbols(choices: Choices, view: View) -> list[str]:
    return [view.symbol(choices) for _ in range(choices.between(1, 2))]


@cache
def _fields(operation: str) -> tuple[str, ...]:
    """Return the fields of the request of a stream."""
    return load_contract().by_name(operation).request.__struct_fields__
