"""Moves that ask twice: they make the calls whose answers must agree. The judge is `relations`, so
that the same calls in a journal are judged in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from msgspec import json

from sim.api.pipeline.inputs import SCRIPT, Input, Outcome, RestCall, VerifiedCredential
from sim.contract.contract import Operation, load_contract
from sim.contract.wire_fields import fields_of
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import NS_PER_S, days, format_instant
from sim.search.hunt.clients import CallIdentity, Clients, encoded, script_of
from sim.search.hunt.lists import NEXT, ListShape, shape_of_list
from sim.search.hunt.live_view import LiveView, snake
from sim.search.hunt.questions import READS
from sim.search.hunt.reordering import ENTRIES, order_troubles
from sim.search.hunt.troubles import Trouble
from sim.search.moves.streams import RESUMABLE
from sim.search.moves.view import Act, Steps, insert, scripted, trade

Read = Callable[[dict[str, Any]], dict[str, Any]]
Take = Callable[[RandomStream, Steps], None]
_DIRECTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "newest_first": ({"newest_first": False}, {"newest_first": True}),
    "sort_order": ({"sort_order": "SORT_ORDER_ASCENDING"}, {"sort_order": "SORT_ORDER_DESCENDING"}),
    "order_direction": ({"order_direction": "asc"}, {"order_direction": "desc"}),
}
_BOOKS = ("OrderBookAPI.GetOrderBook", "OrderBookAPI.GetBBO")
_ACCOUNTS = ("PositionAPI.ListAccountPositions", "PositionAPI.GetAccountBalance")


class Agreement:
    """Asks. `enter` returns the outcome of an input, or None; `take` takes the steps of a move."""

    def __init__(
        self, clients: Clients, view: LiveView, enter: Callable[[Input], Outcome | None], take: Take
    ) -> None:
        self._clients = clients
        self._view = view
        self._enter = enter
        self._take = take

    def ask(self, kind: str, choices: RandomStream) -> Iterable[Trouble]:
        """Ask a question of a kind. Yield what no single sequence of calls shows."""
        return QUESTIONS[kind](self, choices) or ()

    # ---- reads

    def of_protocols(self, choices: RandomStream) -> None:
        """Read the same over REST and gRPC."""
        operation = choices.choice(readable())
        body = self._clients.requests.complete(choices, operation)
        if encoded(operation, body) is None:
            return
        caller = self._clients.callers.on(choices, operation, None)
        for plane in ("exchange", "grpc"):
            input_ = self._clients.call(choices, plane, operation, body, caller)
            if isinstance(input_, RestCall) and not input_.path.rpartition("/")[2]:
                return  # an empty name leads to another address
            self._enter(input_)

    def of_pages(self, choices: RandomStream) -> None:
        """Read the first rows of a list in one page and again in several."""
        operation, shape = choices.choice(lists())
        ask = self._list_reader(choices, operation)
        length = choices.between(1, 3)
        ask({shape.length: 3 * length})
        self._walk(ask, shape, {}, length)

    def of_directions(self, choices: RandomStream) -> None:
        """Read a list in both directions."""
        operation, shape = choices.choice([row for row in lists() if row[1].direction])
        ask = self._list_reader(choices, operation)
        for value in _DIRECTIONS[shape.direction]:
            ask({**value, shape.length: 200})

    def of_ranges(self, choices: RandomStream) -> None:
        """Read a list over some days, and day by day."""
        operation, shape = choices.choice([row for row in lists() if row[1].ranged])
        ask = self._list_reader(choices, operation)
        count = choices.between(1, 3)
        begin = self._view.now - days(count)
        bounds = [
            (begin, self._view.now),
            *((begin + days(n), begin + days(n + 1)) for n in range(count)),
        ]
        for start, end in bounds:
            times = {"start_time": format_instant(start), "end_time": format_instant(end)}
            ask({**times, shape.length: 200})

    def _list_reader(self, choices: RandomStream, operation: Operation) -> Read:
        """Return what reads pages of a list for one caller, with the same filters."""
        filters = self._clients.requests.complete(choices, operation)
        shape = shape_of_list(operation)
        assert shape is not None
        own = (shape.length, shape.position, shape.direction, "start_time", "end_time")
        filters = {snake(name): value for name, value in filters.items() if snake(name) not in own}
        if choices.chance(3, 4):
            needed = ("account", "name", "slug", "id", "series_id")
            filters = {name: value for name, value in filters.items() if name in needed}
        plane = choices.choice(operation.planes)
        caller = self._clients.callers.on(choices, operation, plane)
        return self._reader(choices, operation, plane, filters, caller)

    def _reader(
        self,
        choices: RandomStream,
        operation: Operation,
        plane: str,
        filters: dict[str, Any],
        caller: CallIdentity,
    ) -> Read:
        def read(fields: dict[str, Any]) -> dict[str, Any]:
            outcome = self._enter(
                self._clients.call(choices, plane, operation, filters | fields, caller)
            )
            reply = outcome.reply if outcome is not None else None
            if reply is None or reply.pending_on or reply.status != 200 or reply.chunks is not None:
                return {}
            page = json.decode(reply.body)
            return page if isinstance(page, dict) else {}

        return read

    def of_everything(self, choices: RandomStream) -> None:
        """Read all that the exchange shows of an account and a market, lists in pages.

        What a rare event left behind shows in reads that nobody makes at that moment.
        """
        view = self._view
        trades = view.simulation.exchange.trading.execution_log.trades.rows[-6:]
        if not trades:
            return
        trade = choices.choice(trades)
        owner = choices.choice((trade.aggressor, trade.passive)).order.account
        users = {user.account: user.name for user in view.users}
        keys = {key.account: key.key_id for key in view.simulation.exchange.firms.api_keys()}
        if owner in users:
            caller, plane = CallIdentity(script_of(users[owner]), users[owner]), "exchange"
        elif owner in keys:
            caller = CallIdentity(VerifiedCredential(SCRIPT, keys[owner]), None)
            plane = "retail"
        else:
            return
        span = choices.choice((1, NS_PER_S, days(1)))
        filters = {
            **dict.fromkeys(("account", "name"), owner),
            **dict.fromkeys(("symbol", "slug", "market_slug"), trade.symbol),
            "currency": "USD",
            "bars": 2,
            "id": trade.id,
            "trade_id": trade.id,
            "start_time": format_instant(trade.at - span),
            "end_time": format_instant(trade.at + span),
        }
        for operation in of_account(plane):
            names = {field.name for field in fields_of(operation.request)}
            shape = shape_of_list(operation)
            body = {name: value for name, value in filters.items() if name in names}
            if shape is None:
                self._enter(self._clients.call(choices, plane, operation, body, caller))
                continue
            if choices.chance(1, 2):
                body = {name: body[name] for name in ("account", "name") if name in body}
            read = self._reader(choices, operation, plane, body, caller)
            for value in _DIRECTIONS.get(shape.direction, ({},)):
                self._walk(read, shape, value, choices.choice((1, 2, 3)))

    def _walk(self, read: Read, shape: ListShape, fields: dict[str, Any], length: int) -> None:
        """Read the first pages of a list."""
        position: Any = 0 if shape.position == "offset" else ""
        for _ in range(4):
            page = read({**fields, shape.length: length, shape.position: position})
            following = [page[name] for name in NEXT if page.get(name)]
            if shape.position == "offset":
                position += length
            elif following:
                position = following[0]
            else:
                return

    # ---- reads before and after

    def of_refusal(self, choices: RandomStream) -> None:
        """Read an account and a book, make a call that is probably refused, and read again."""
        reads = self._reads(choices)
        for input_ in reads:
            self._enter(input_)
        operation = choices.choice(writes())
        plane = choices.choice((*operation.planes, *("grpc",) * operation.grpc))
        for input_ in self._clients.inputs(f"call {plane} {operation.name}", choices):
            self._enter(input_)
        for input_ in reads:
            self._enter(input_)

    def of_bust(self, choices: RandomStream) -> None:
        """Read, trade, bust the trades, and read again."""
        view = self._view
        if not view.users or not view.markets():
            return
        terms, user = view.market(choices), view.user(choices)
        reads = self._reads(choices, user.name, user.account, terms.symbol)
        for input_ in reads:
            self._enter(input_)
        trades = view.simulation.exchange.trading.trades
        before = len(trades)

        def steps() -> Steps:
            sides = choices.choice((("BUY", "SELL"), ("SELL", "BUY")))
            price, qty = choices.between(48, 52), str(choices.between(1, 9) * terms.minimum)
            yield insert(choices, terms, view.other(choices, user), sides[0], price, orderQty=qty)
            ends = {"orderQty": qty, "timeInForce": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"}
            yield insert(choices, terms, user, sides[1], price, **ends)
            for number in range(before, len(trades)):
                yield Act("trade.bust", trades[number].id, {})

        self._take(choices, steps())
        for input_ in reads:
            self._enter(input_)

    def _reads(
        self, choices: RandomStream, participant: str = "", account: str = "", symbol: str = ""
    ) -> list[Input]:
        """Return reads of an account and of a book, by default any, for an owner."""
        view = self._view
        if not participant and view.users:
            user = choices.choice(view.users[:2])
            participant, account = user.name, user.account
        caller = CallIdentity(script_of(participant), participant or None)
        symbol = symbol or view.symbol(choices)
        bodies = [(name, {"symbol": symbol}) for name in (*_BOOKS, "ReportAPI.GetTradeStats")]
        bodies += [(name, {"name": account, "currency": "USD"}) for name in _ACCOUNTS]
        reads: list[Input] = []
        for name, body in bodies:
            operation = load_contract().by_name(name)
            fields = {field.name for field in fields_of(operation.request)}
            own = {key: value for key, value in body.items() if key in fields}
            reads.append(self._clients.call(choices, "exchange", operation, own, caller))
        return reads

    # ---- others

    def of_streams(self, choices: RandomStream) -> None:
        """Follow a stream while something is traded, and resume it from each token and instant."""
        view = self._view
        if not view.users or not view.markets():
            return
        user, terms, name = view.user(choices), view.market(choices), view.label("again")
        stream = {"name": name, "rpc": choices.choice(RESUMABLE), "as": user.name}
        points: list[dict[str, str]] = []

        def live() -> Steps:
            yield {"subscribe": stream}
            for _ in range(choices.between(1, 3)):
                if token := view.resume_token(name):
                    points.append({"resumeToken": token})
                points.append({"resumeTime": format_instant(view.now)})
                yield from trade(choices, view, terms)
                yield {"advance": choices.choice(("1ns", "1s"))}
            yield {"disconnect": name}
            for point in points:
                yield {"subscribe": {**stream, "json": point}}
                yield {"disconnect": name}

        self._take(choices, live())

    def of_token(self, choices: RandomStream) -> None:
        """Request a token and use it at once."""
        for input_ in self._clients.inputs("token", choices):
            self._enter(input_)
        if self._clients.callers.tokens:
            operation = load_contract().by_name("AccountsAPI.GetWhoAmI")
            caller = CallIdentity(self._clients.callers.tokens[-1], None)
            plane = choices.choice(("exchange", "grpc"))
            self._enter(self._clients.call(choices, plane, operation, {}, caller))

    def of_order(self, choices: RandomStream) -> Iterator[Trouble]:
        """Enter two orders that have nothing to do with each other, with others to trade with."""
        view = self._view
        markets = view.markets()
        if len(markets) < 2 or len(view.users) < 2:
            return
        calls: list[Input] = []
        first, user = view.market(choices), view.user(choices)
        second = choices.choice([terms for terms in markets if terms.symbol != first.symbol])
        rows = ((first, user, "maker"), (second, view.other(choices, user), "noise"))
        for terms, owner, partner in rows:
            sides = choices.choice((("SIDE_BUY", "sell"), ("SIDE_SELL", "buy")))
            self._take(choices, iter([scripted(partner, terms.symbol, sides[1], "0.50", "5")]))
            qty = choices.between(1, 20) * terms.minimum
            body = terms.limit_order(sides[0], terms.cents(50), qty)
            caller = CallIdentity(script_of(owner.name), owner.name)
            operation = load_contract().by_name(ENTRIES[0])
            calls.append(self._clients.call(choices, "exchange", operation, body, caller))
        yield from order_troubles(view.simulation, *calls)
        for input_ in calls:
            self._enter(input_)


QUESTIONS: dict[str, Callable[[Agreement, RandomStream], Iterable[Trouble] | None]] = {
    "agree": Agreement.of_protocols,
    "pages": Agreement.of_pages,
    "directions": Agreement.of_directions,
    "ranges": Agreement.of_ranges,
    "refused": Agreement.of_refusal,
    "everything": Agreement.of_everything,
    "undo": Agreement.of_bust,
    "streams": Agreement.of_streams,
    "new token": Agreement.of_token,
    "order": Agreement.of_order,
}


@cache
def readable() -> tuple[Operation, ...]:
    """Return the reads that both protocols serve."""
    return tuple(
        operation
        for operation in load_contract().operations
        if operation.grpc
        and operation.kind == "unary"
        and "exchange" in operation.planes
        and operation.rpc.startswith(READS)
    )


@cache
def of_account(plane: str) -> tuple[Operation, ...]:
    """Return the reads of a plane about what an account, or anybody, did in a market."""
    mine = ("account", "name", "symbol", "slug", "market_slug")
    others = ("Gateway", "Combo", "RetailCombos", "RFQ", "RetailRfqs")
    return tuple(
        operation
        for operation in load_contract().operations
        if plane in operation.planes
        and operation.kind == "unary"
        and operation.rpc.startswith(READS)
        and not operation.name.startswith(others)
        and (
            operation.name.startswith("RetailPortfolio")
            or any(field.name in mine for field in fields_of(operation.request))
        )
    )


@cache
def writes() -> tuple[Operation, ...]:
    """Return the calls that change something."""
    return tuple(
        operation
        for operation in load_contract().operations
        if operation.kind == "unary"
        and not operation.rpc.startswith(READS)
        and "auth" not in operation.planes
        and operation.content != "web_socket"
    )


@cache
def lists() -> tuple[tuple[Operation, ListShape], ...]:
    """Return the lists over HTTP that are read in pages, with the names of their fields."""
    shapes = ((operation, shape_of_list(operation)) for operation in load_contract().operations)
    return tuple((operation, shape) for operation, shape in shapes if shape and operation.planes)
