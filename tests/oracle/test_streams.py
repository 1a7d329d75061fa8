"""The law tells every frame that is missing, foreign, repeated, out of order or wrong, and every end
that has no cause; of a session in which all is well it tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.api.pipeline.inputs import Close, Effect, Send
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Refusal
from sim.evidence.audit import Audit
from sim.run.client.client import RpcError, Stream
from sim.run.simulation import Simulation
from tests.kit import Desk, begin
from tests.kit import streams as kit
from tests.sessions import SESSIONS

SCENARIO = """
name: streams
world:
  base: empty
  instruments:
    - {symbol: one, state: OPEN}
    - {symbol: two, state: OPEN, fractional_qty_scale: 100, tick_size: "0.005"}
    - {symbol: three, start: 2026-09-08T18:00:20Z, created: 2026-09-01}
  firms:
    - name: firms/atlas
      key: atlas
      users: [{name: ann, balance: "1000"}, {name: bob, balance: "1000"}]
    - {name: firms/brook, key: borealis, users: [{name: dan, balance: "1000"}]}
  api_keys:
    - {key_id: 11111111-1111-4111-8111-111111111111, account: firms/atlas-fcm/accounts/ann}
limits: {exchange_rest: "off"}
maintenance: []
"""
KINDS = {
    "orders": "OrderEntryAPI.CreateOrderSubscription",
    "copies": "DropCopyAPI.CreateDropCopySubscription",
    "trades": "DropCopyAPI.CreateTradeCaptureReportSubscription",
    "changes": "DropCopyAPI.CreatePositionChangeSubscription",
    "positions": "PositionAPI.CreatePositionSubscription",
    "cash": "FundingAPI.CreateBalanceLedgerSubscription",
    "books": "MarketDataSubscriptionAPI.CreateMarketDataSubscription",
    "instruments": "DropCopyAPI.CreateInstrumentStateChangeSubscription",
}
Alter = Callable[[str, Send | Close], list[Effect]]


class DisturbedAudit(Audit):
    """An audit that gets other frames and ends of streams than were sent."""

    def __init__(self, simulation: Simulation, alter: Alter) -> None:
        self._alter = alter
        super().__init__(simulation)

    def after_input(self, engine: Any, input_: Any, outcome: Any, at: Any, out: bytes) -> None:
        """Judge an input whose effects are altered."""
        names = engine.hub.operations()
        effects: list[Effect] = []
        for effect in outcome.effects:
            is_frame = isinstance(effect, Send | Close)
            name = names.get(effect.stream, "") if is_frame else ""
            effects += self._alter(name, effect) if is_frame else [effect]
        disturbed = structs.replace(outcome, effects=effects)
        super().after_input(engine, input_, disturbed, at, out)

    @property
    def rules(self) -> set[str]:
        """The rules of all disagreements."""
        return {each.rule for each in self.verdict.disagreements}


def open_stream(desk: Desk, kind: str, user: int = 0, **fields: Any) -> Stream:
    operation = KINDS[kind]
    if kind == "cash":
        fields["account"] = desk.account(user)
    request = getattr(wire, f"{operation.rpartition('.')[2]}Request")(**fields)
    return desk.rpc(desk.firm, desk.user(user).name).stream(operation, request)


def everything(desk: Desk) -> None:
    """A stream of each kind, then trades, a cancel, changes of state, a payout, and time."""
    market = desk.instrument("one")
    for kind in KINDS:
        open_stream(desk, kind)
    private, markets = (kit.socket(desk, path) for path in (kit.PRIVATE, kit.MARKETS))
    for kind in ("ORDER", "POSITION", "ACCOUNT_BALANCE"):
        kit.subscribe(private, kind, kind)
    for kind in ("MARKET_DATA", "MARKET_DATA_LITE", "TRADE"):
        kit.subscribe(markets, kind, kind, ["one"])
    kept = desk.place(market, "sell", 60, 9, user=1)
    desk.place(market, "buy", 60, 2)
    desk.place(market, "buy", 65, 3)
    desk.cancel(kept, user=1)
    desk.advance("61s")
    desk.operate("instrument.state", "one", state="CLOSED")
    desk.operate("instrument.settle", "one", price="1")


# ---- what was disturbed is told


def altered(kind: str, nth: int, change: Callable[[list[Send]], list[Effect]]) -> Alter:
    """Change the nth frame of a kind of stream, knowing those before it."""
    frames: list[Send] = []

    def alter(name: str, effect: Send | Close) -> list[Effect]:
        if name != KINDS.get(kind, kind) or isinstance(effect, Close):
            return [effect]
        frames.append(effect)
        if len(frames) == nth + 1:
            return change(frames)
        return [] if len(frames) == nth and change is CHANGES["swapped"] else [effect]

    return alter


SOCKETS = {"RetailStreamsAPI.PrivateStream": 2, "RetailStreamsAPI.MarketsStream": 3}
EVERY = [*((kind, 1) for kind in KINDS), *SOCKETS.items()]
CHANGES: dict[str, Callable[[list[Send]], list[Effect]]] = {
    "missing": lambda frames: [],
    "twice": lambda frames: [frames[-1], frames[-1]],
    "swapped": lambda frames: [frames[-1], frames[-2]],
    "none": lambda frames: [frames[-1]],
    "one too many": lambda frames: [Send(frames[-1].stream, frames[0].frame), frames[-1]],
}


@pytest.mark.parametrize(
    ("kind", "nth", "change"),
    [
        *((*each, change) for each in EVERY for change in ("missing", "twice")),
        *(("orders", 3, "swapped"), ("copies", 2, "swapped"), ("changes", 1, "swapped")),
    ],
)
def test_a_frame_that_has_not_its_place_is_told(kind: str, nth: int, change: str) -> None:
    desk = begin(SCENARIO)
    audit = DisturbedAudit(desk.simulation, altered(kind, nth, CHANGES[change]))
    everything(desk)
    assert audit.rules


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("orders", "update.executions.0.order.leaves_qty"),
        ("copies", "executions.0.last_px"),
        ("trades", "trade_capture_reports.0.state"),
        ("changes", "position_changes.0.position.net_position"),
        ("changes", "position_changes.0.change_time"),
        ("positions", "update.positions.0.realized"),
        ("books", "update.offers.0.qty"),
        ("books", "update.state"),
        ("instruments", "instruments.0.state"),
    ],
)
def test_a_field_of_a_frame_that_is_wrong_by_one_is_told(kind: str, path: str) -> None:
    """The first frame that has the field is altered."""
    message, met = getattr(wire, f"{KINDS[kind].rpartition('.')[2]}Response"), [False]
    *parents, field = path.split(".")

    def alter(name: str, effect: Send | Close) -> list[Effect]:
        if name != KINDS[kind] or isinstance(effect, Close) or met[0]:
            return [effect]
        part: Any = (frame := protobuf_decoder(message)(effect.frame))
        for key in parents:
            part = next(iter(part), None) if key.isdigit() else getattr(part, key, None)
            if not part:
                return [effect]
        met[0] = True
        setattr(part, field, (getattr(part, field) or 0) + 1)
        return [Send(effect.stream, protobuf_encoder(message)(frame))]

    desk = begin(SCENARIO)
    audit = DisturbedAudit(desk.simulation, alter)
    everything(desk)
    assert met[0]
    assert audit.rules


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("PrivateStream", b'"cumQuantity":2', b'"cumQuantity":3'),
        ("PrivateStream", b'"netPositionDecimal":"2', b'"netPositionDecimal":"1'),
        ("MarketsStream", b'"bidDepth":0', b'"bidDepth":1'),
        ("MarketsStream", b'"qty":"9.0000"', b'"qty":"8.0000"'),
        ("MarketsStream", b'"requestId":"TRADE"', b'"requestId":"OTHER"'),
    ],
)
def test_a_text_of_a_retail_frame_that_is_wrong_is_told(kind: str, old: bytes, new: bytes) -> None:
    def alter(name: str, effect: Send | Close) -> list[Effect]:
        if name.endswith(kind) and isinstance(effect, Send):
            return [Send(effect.stream, effect.frame.replace(old, new))]
        return [effect]

    desk = begin(SCENARIO)
    audit = DisturbedAudit(desk.simulation, alter)
    everything(desk)
    assert "S16" in audit.rules


@pytest.mark.parametrize(("act", "rule"), [("again", "S6"), ("once", "S11"), ("pause", "W5")])
def test_an_end_that_is_missing_is_told(act: str, rule: str) -> None:
    desk = begin(SCENARIO)
    audit = DisturbedAudit(
        desk.simulation, lambda _, effect: [] if isinstance(effect, Close) else [effect]
    )
    open_stream(desk, "orders")
    if act == "again":
        open_stream(desk, "orders")
    elif act == "once":
        open_stream(desk, "books", snapshot_only=True)
    else:
        desk.operate("maintenance.add", begins="+2m", length="3m")
        desk.advance("2m")
    assert audit.rules == {rule}


@pytest.mark.parametrize("change", ["none", "missing", "twice", "one too many"])
def test_a_resumed_stream_that_begins_elsewhere_is_told(change: str) -> None:
    """After the token of the first of two rows the second one is sent, and no other."""
    desk = begin(SCENARIO)
    audit = DisturbedAudit(desk.simulation, altered("copies", 2, CHANGES[change]))
    stream = open_stream(desk, "copies")
    for cents in (40, 41):
        desk.place(desk.instrument("one"), "buy", cents, 1)
    token = stream.take()[0].resume_token
    assert audit.rules == set()
    open_stream(desk, "copies", resume_token=token)
    assert bool(audit.rules) == (change != "none")


# ---- a session in which all is well


TYPES = [
    ["ORDER", "ORDER_SNAPSHOT", "POSITION", "ACCOUNT_BALANCE"],
    ["MARKET_DATA", "MARKET_DATA_LITE", "TRADE"],
]
RESUMABLE = "copies", "trades", "changes"


def open_one(desk: Desk, rng: Random, symbol: str, tokens: list[bytes]) -> Stream:
    kind, fields = rng.choice(list(KINDS)), dict[str, Any]()
    if kind not in ("positions", "cash") and rng.random() < 0.4:
        fields["symbols"] = [symbol]
    if kind in RESUMABLE and tokens and rng.random() < 0.5:
        fields["resume_token"] = rng.choice(tokens)
    elif kind in (*RESUMABLE, "cash") and rng.random() < 0.5:
        fields["resume_time"] = rng.randrange(desk.simulation.start, desk.now + 1)
    return open_stream(desk, kind, rng.randrange(2), **fields)


def ask(stream: Stream, types: list[str], rng: Random, symbol: str) -> None:
    request: dict[str, Any] = {"requestId": f"r{rng.randrange(6)}", "marketSlugs": [symbol]}
    request["subscriptionType"] = f"SUBSCRIPTION_TYPE_{rng.choice(types)}"
    request["responsesDebounced"] = rng.random() < 0.3
    name = rng.choice(("subscribe", "subscribe", "unsubscribe"))
    stream.send(json.dumps({name: request}).encode())


def acts(desk: Desk, rng: Random) -> Iterator[None]:
    """Random acts of clients and operators, each of which may be refused."""
    streams, tokens, orders = list[Stream](), list[bytes](), list[str]()
    sockets = [kit.socket(desk, path) for path in (kit.PRIVATE, kit.MARKETS)]
    talker = desk.rpc_trader().stream(kit.BIDIRECTIONAL)
    while True:
        symbol, user = rng.choice(("one", "two")), rng.randrange(2)
        try:
            match rng.choice(("open", "place", "place", "place", "ask", "talk", "wait", "state")):
                case "open":
                    streams.append(open_one(desk, rng, symbol, tokens))
                case "place" if orders and rng.random() < 0.25:
                    desk.cancel(rng.choice(orders), user=user)
                case "place":
                    side, cents = rng.choice(("buy", "sell")), rng.randrange(40, 44)
                    orders.append(desk.place(desk.instrument(symbol), side, cents, 2, user=user))
                case "ask":
                    ask(*rng.choice(list(zip(sockets, TYPES, strict=True))), rng, symbol)
                case "talk" if rng.random() < 0.5:
                    kit.talk(talker, subscribe=wire.SubscribeCommand(symbols=[symbol, "three"]))
                case "talk":
                    symbols = rng.choice(([symbol], []))
                    kit.talk(talker, unsubscribe=wire.UnsubscribeCommand(symbols=symbols))
                case "wait":
                    desk.advance(rng.choice(("1ms", "250ms", "7s", "30s", "61s")))
                case _:
                    state = rng.choice(("OPEN", "OPEN", "SUSPENDED", "CLOSED"))
                    desk.operate("instrument.state", symbol, state=state)
        except (RpcError, Refusal, AssertionError):
            pass
        for stream in streams:
            tokens += filter(None, (getattr(each, "resume_token", b"") for each in stream.take()))
        yield


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_of_a_session_in_which_all_is_well_nothing_is_told(seed: int) -> None:
    desk = begin(SCENARIO)
    audit = Audit(desk.simulation)
    session = acts(desk, Random(seed))
    for _ in range(60):
        next(session)
    assert audit.verdict.disagreements == []
    assert not audit.verdict.undecided
