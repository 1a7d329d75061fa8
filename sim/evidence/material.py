"""The sandbox held against public material: what published answers, refusals, relations, frames,
orders of events and times show, each on its own axis.

`fixtures/observed/` has the published shapes. Each form names the request that brings it (`ask`);
the sandbox is asked the same in process, and its answer has to have the listed forms. Nothing is
added up over axes. An item that cannot be asked is left out, and never counts as agreement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import json
from msgspec.structs import replace

from sim.contract.contract import load_contract
from sim.core.catalogue.observations import OBSERVED
from sim.core.model.enums import InstrumentState
from sim.evidence.shapes import Form, Shapes, forms_of, read_shapes
from sim.kernel import resources
from sim.read.errors import UsageError
from sim.read.relations import RELATIONS, applied
from sim.run.client.client import Http, Stream, connect
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation

AXES = {
    "stated": "the specification says something about it, and a test shows that",
    "driven": "the sandbox was asked for it as a published client asks",
    "answer": "an answer of the service was published",
    "refusal": "a refusal of the service was published",
    "stream": "frames of the service were published",
    "lifecycle": "an order of events of the service was published",
    "relation": "a relation between fields was checked on published answers",
    "timing": "a time or a rate of the service was published",
}
_GAME = "aec-nfl-dal-phi-2026-09-10"
_SOCKET = "/v1/ws/markets"


class Item(NamedTuple):
    """Whether the sandbox does what one piece of public material shows."""

    axis: str
    operation: str
    name: str
    agrees: bool


@cache
def published() -> dict[str, Shapes]:
    """Return the published shapes by the name of their file. UsageError if there are none."""
    files = sorted(resources.path("fixtures", "observed").glob("*.json"))
    if not files:
        raise UsageError("fixtures/observed has no shapes: nothing was published?")
    return {file.stem: read_shapes(Path(str(file))) for file in files}


@cache
def measured(reading: str) -> tuple[Item, ...]:
    """Return every item for one reading, measured once."""
    return tuple(measure(reading))


def measure(reading: str) -> Iterator[Item]:
    """Ask the sandbox for all that was published, in a reading."""
    for shapes in published().values():
        for form in shapes.forms:
            yield from _form_items(Session(reading), form)
    session = Session(reading)
    yield from _relation_items(session)
    for name, (axis, operation, check) in _CHECKS.items():
        yield Item(axis, operation, name, check(Session(reading)))


class Session:
    """A run of the quickstart with two accounts that traded 19 contracts at 0.05."""

    def __init__(self, reading: str) -> None:
        scenario = replace(load_scenario("quickstart"), reading=reading)
        self.simulation = Simulation(scenario)
        self.observed = reading == OBSERVED
        self.client = connect(self.simulation)
        exchange = self.simulation.exchange
        keys = {key.account: key for key in exchange.firms.api_keys()}
        self.key, other = islice(keys.values(), 2)
        self.taker, self.maker = self.client.retail(self.key), self.client.retail(other)
        self.firm = next(row for row in exchange.firms.all() if len(row.scopes) >= 14)
        self.user = self.firm.users[0]
        self.trader = self.client.exchange(self.firm, self.user.name)
        quiet = self._quiet()
        self.traded = next(quiet)
        other_market = next(quiet)
        self.place(self.maker, "BUY_SHORT", "0.05", 24)
        self.place(self.taker, "BUY_LONG", "0.05", 19)
        self.place(self.maker, "BUY_LONG", "0.02", 3)
        self.order = self.place(self.taker, "BUY_LONG", "0.01", 1)
        self.expired = other_market
        for client, intent in ((self.maker, "BUY_SHORT"), (self.taker, "BUY_LONG")):
            self.place(client, intent, "0.40", 1, slug=other_market)
        self.control("instrument.settle", other_market, {"price": "1"})
        self.control("instrument.state", other_market, {"state": "EXPIRED"})

    def _quiet(self) -> Iterator[str]:
        """Yield open markets of cents and whole cents that nobody quotes."""
        trading = self.simulation.exchange.trading
        for instrument in self.simulation.exchange.instruments:
            book = trading.books.touched(instrument.symbol)
            unquoted = book is None or not (book.bids.best or book.offers.best)
            is_open = trading.state(instrument.symbol) is InstrumentState.OPEN
            if is_open and unquoted and instrument.price_scale == 100 and instrument.min_qty == 1:
                yield instrument.symbol

    def control(self, action: str, subject: str, body: dict[str, Any]) -> None:
        """Do what an operator does."""
        self.client.absorb(self.simulation.control(action, subject, body))

    def body(self, intent: str, price: str, quantity: float, **more: Any) -> dict[str, Any]:
        """Return the body of a retail order in the traded market."""
        amount = {"value": price, "currency": "USD"}
        order = {"marketSlug": self.traded, "intent": f"ORDER_INTENT_{intent}", "price": amount}
        order |= {"type": "ORDER_TYPE_LIMIT", "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL"}
        return order | {"quantity": quantity} | more

    def place(self, client: Http, intent: str, price: str, quantity: float, slug: str = "") -> str:
        """Place a retail order and return its id."""
        body = self.body(intent, price, quantity, marketSlug=slug or self.traded)
        return str(client.post("/v1/orders", json=body).json()["id"])

    def socket(self, kind: str, **more: Any) -> Stream:
        """Return a socket that follows the traded market."""
        stream = self.client.web_socket(self.key, _SOCKET)
        asked = {"requestId": "1", "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}"}
        asked |= {"marketSlugs": [self.traded]} | more
        stream.send(json.encode({"subscribe": asked}))
        return stream

    @property
    def bodies(self) -> dict[str, Any]:
        """The bodies that forms name."""
        preview = {"symbol": self.traded, "side": "SIDE_BUY", "type": "ORDER_TYPE_LIMIT"}
        preview |= {"price": "1", "orderQty": "100", "timeInForce": "TIME_IN_FORCE_DAY"}
        market = self.body("BUY_LONG", "0.05", 1, type="ORDER_TYPE_MARKET")
        return {
            "new": self.body("BUY_LONG", "0.01", 1),
            "filling": self.body("BUY_LONG", "0.05", 1, synchronousExecution=True),
            "preview": {"request": self.body("BUY_LONG", "0.01", 1)},
            "bare_market": {"request": market},
            "nowhere": self.body("BUY_LONG", "0.01", 1, marketSlug="no-such"),
            "account": {"account": self.user.account, "currency": "USD"},
            "exchange_preview": {"request": preview},
            "sized": {"symbol": self.expired, "pageSize": 10},
            "one": {"symbols": [_GAME]},
            "": {},
        }

    def ask(self, form: Form) -> tuple[int, Any]:
        """Make the request of a form; return status and body."""
        client = self._client(form.plane)
        verb, _, rest = form.ask.partition(" ")
        series = self.simulation.exchange.reference.series[0].id
        names = {"traded": self.traded, "expired": self.expired, "order": self.order}
        names |= {"game": _GAME, "series": str(series)}
        path, _, named = rest.partition(" ")
        path = re.sub(r"\{(\w+)\}", lambda match: names[match[1]], path)
        path, _, query = path.partition("?")
        params = dict(pair.split("=") for pair in query.split("&")) if query else {}
        if verb == "TOKEN":
            answer = self.client.token(self.firm)
        elif verb == "POST":
            answer = client.post(path, json=self.bodies[named.strip("{}")])
        elif verb in ("UNSIGNED", "FORGED"):
            headers = {"x-pm-access-key": "x"} if verb == "FORGED" else {}
            plane: Any = form.plane
            answer = Http(self.client, plane, lambda *_: headers).get(path)
        else:
            for _ in range(24 if verb == "BUSY" else 0):
                client.get(path)
            answer = client.get(path, params=params)
        try:
            return answer.status, answer.json()
        except ValueError:
            return answer.status, None

    def _client(self, plane: str) -> Http:
        clients = {"retail": self.taker, "gateway": self.client.gateway, "auth": self.client.auth}
        return clients.get(plane, self.trader)


def _form_items(session: Session, form: Form) -> Iterator[Item]:
    name, refused = f"{form.plane} {form.ask}", form.status >= 400
    status, body = session.ask(form)
    if not refused:
        yield Item("driven", form.operation, name, status == form.status)
        if status != form.status:
            return
    agrees = status == form.status and _fits(form, body, refused=refused)
    if refused and agrees and form.code is not None:
        agrees = body.get("code") == form.code
    yield Item("refusal" if refused else "answer", form.operation, name, agrees)


def _fits(form: Form, body: Any, *, refused: bool) -> bool:
    if not form.fields:
        return body is None
    operation = load_contract().by_name(form.operation)
    own = forms_of(operation, body, refused=refused)
    return all(_same(forms, own.get(path, ["absent"])) for path, forms in form.fields.items())


def _same(published: list[str], own: list[str]) -> bool:
    """Return whether the sandbox shows nothing but published forms, and one of them."""
    return set(own) - {"absent", "null"} <= set(published) and not set(own).isdisjoint(published)


def _relation_items(session: Session) -> Iterator[Item]:
    """Yield one item for each relation of the table that public material shows."""
    holds: dict[str, list[bool]] = {}
    for shapes in published().values():
        for form in shapes.forms:
            if form.status == 200 and form.plane != "auth":
                _, body = session.ask(form)
                for row in applied(form.operation, body):
                    holds.setdefault(row.relation.name, []).append(row.holds)
    for name, relation in RELATIONS.items():
        if name in holds and not relation.source.startswith("S"):
            for operation in relation.operations:
                yield Item("relation", operation, name, all(holds[name]))


# ---- streams, orders of events, times


def _wrapped(session: Session) -> bool:
    frames = session.socket("MARKET_DATA").take()
    return any("marketSlug" in frame.get("marketData", {}) for frame in frames)


def _lite_shares(session: Session) -> bool:
    frames = [
        frame.get("marketDataLite", {}) for frame in session.socket("MARKET_DATA_LITE").take()
    ]
    return any("bidShares" in frame for frame in frames)


def _every_market(session: Session) -> bool:
    return len(session.socket("MARKET_DATA_LITE", marketSlugs=[]).take()) > 10


def _unsubscribed(session: Session) -> bool:
    stream = session.socket("TRADE")
    stream.take()
    stream.send(b'{"unsubscribe":{"requestId":"1"}}')
    return {"requestId": "1", "unsubscribed": True} in stream.take()


def _executions(session: Session, price: str = "0.05", **more: Any) -> list[str]:
    body = session.body("BUY_LONG", price, 1, synchronousExecution=True, **more)
    answer = session.taker.post("/v1/orders", json=body).json()
    return [str(row["type"]).removeprefix("EXECUTION_TYPE_") for row in answer["executions"]]


def _new_then_fill(session: Session) -> bool:
    return _executions(session) == ["NEW", "FILL"]


def _unfilled_expires(session: Session) -> bool:
    tif = "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"
    return _executions(session, "0.03", tif=tif)[-1:] == ["EXPIRED"]


def _insert_time_moves(session: Session) -> bool:
    session.client.advance("1m")
    change = {"marketSlug": session.traded, "quantity": 2}
    session.taker.post(f"/v1/order/{session.order}/modify", json=change)
    order = session.taker.get(f"/v1/order/{session.order}").json()["order"]
    return bool(order["insertTime"] != order["createTime"])


def _daily_mark(session: Session) -> bool:
    session.client.advance_to("2026-09-08T17:00:00-04:00")
    book = session.taker.get(f"/v1/markets/{session.traded}/book").json()["marketData"]
    return "settlementPx" in book["stats"] and "settlementSetTime" not in book["stats"]


def _token_life(session: Session) -> bool:
    return bool(session.client.token(session.firm).json()["expires_in"] == 86_400)


def _old_timestamp(session: Session) -> bool:
    headers = session.client.retail_headers(session.key, "GET", "/v1/account/balances")
    session.client.advance("2m")
    return (
        Http(session.client, "retail", lambda *_: headers).get("/v1/account/balances").status == 200
    )


def _fee_shown(session: Session) -> bool:
    shown = []
    for day in ("2026-09-16", "2026-09-17"):
        session.client.advance_to(f"{day}T12:00:00-04:00")
        market = session.client.gateway.get(f"/v1/market/slug/{_GAME}").json()["market"]
        shown.append(market["feeCoefficient"])
    return shown == [0.06, 0.0695]


_CHECKS: dict[str, tuple[str, str, Callable[[Session], bool]]] = {
    "wrapped frames": ("stream", "RetailStreamsAPI.MarketsStream", _wrapped),
    "shares in lite frames": ("stream", "RetailStreamsAPI.MarketsStream", _lite_shares),
    "every market": ("stream", "RetailStreamsAPI.MarketsStream", _every_market),
    "acknowledged end": ("stream", "RetailStreamsAPI.MarketsStream", _unsubscribed),
    "NEW before FILL": ("lifecycle", "RetailOrdersAPI.CreateOrder", _new_then_fill),
    "unfilled IOC expires": ("lifecycle", "RetailOrdersAPI.CreateOrder", _unfilled_expires),
    "insertTime of a change": ("lifecycle", "RetailOrdersAPI.ModifyOrder", _insert_time_moves),
    "daily mark": ("timing", "RetailMarketDataAPI.GetBook", _daily_mark),
    "life of tokens": ("timing", "TokenIssuerAPI.IssueToken", _token_life),
    "old timestamps": ("timing", "RetailAccountAPI.GetBalances", _old_timestamp),
    "fee before it is charged": ("timing", "GatewayMarketsAPI.GetMarketBySlug", _fee_shown),
}
