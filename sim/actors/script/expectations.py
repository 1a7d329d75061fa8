"""What must have happened, checked against the running exchange and the reply of the step's own
call. Each failure is one line for a person.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import UNSET, json

from sim.actors.operator.views import deliveries
from sim.api.pipeline.inputs import Reply
from sim.core.model.enums import ExecutionType, OrderState, Side
from sim.core.model.orders import Order
from sim.core.model.quantities import cash_text, decimal_text
from sim.engine.engine import Engine
from sim.scenario.expectations_format import (
    BookExpect,
    Expect,
    OpenOrdersExpect,
    OrderExpect,
    PositionExpect,
    TradesExpect,
)


def failures(engine: Engine, expect: Expect, reply: Reply | None, own: str) -> list[str]:
    """What does not hold. `own` is the client order id of the step's own order."""
    return [
        *_reply(expect, reply),
        *_instruments(engine, expect),
        *_open_orders(engine, expect),
        *_accounts(engine, expect),
        *(
            line
            for wanted in expect.order
            for line in _order(engine, wanted, wanted.clord_id or own)
        ),
        *(line for wanted in expect.book for line in _book(engine, wanted)),
        *(line for wanted in expect.trades for line in _trades(engine, wanted)),
        *_webhooks(engine, expect),
        *(
            [f"digest is {engine.journal.digest}, not {expect.digest}"]
            if expect.digest is not None and expect.digest != engine.journal.digest
            else ()
        ),
    ]


def _reply(expect: Expect, reply: Reply | None) -> Iterator[str]:
    if expect.status is None and expect.code is None and expect.json is UNSET and not expect.header:
        return
    if reply is None:
        yield "the step makes no call whose answer could be checked"
        return
    shown = reply.body.decode(errors="replace")[:300]
    if expect.status is not None and reply.status != expect.status:
        yield f"status is {reply.status}, not {expect.status}: {shown}"
    if expect.code is not None and reply.code != expect.code:
        yield f"gRPC code is {reply.code}, not {expect.code}: {reply.message}"
    if expect.json is not UNSET:
        yield from differences(
            expect.json, json.decode(reply.body) if reply.body else None, "answer"
        )
    sent = {name.lower(): value for name, value in reply.headers}
    for name, value in expect.header.items():
        if sent.get(name.lower()) != value:
            yield f"header {name} is {sent.get(name.lower())!r}, not {value!r}"


def differences(wanted: Any, found: Any, where: str, *, among: bool = False) -> Iterator[str]:
    """How `found` fails to hold `wanted`: mappings match by their keys, numbers by value, whatever
    their JSON form.

    Lists match item by item; with `among`, each wanted item must be found somewhere in the list.
    """
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            yield f"{where} is {_short(found)}, not a mapping"
            return
        for key, value in wanted.items():
            if key in found:
                yield from differences(value, found[key], f"{where}.{key}", among=among)
            elif value is not None:
                yield f"{where} has no {key}"
    elif among and isinstance(wanted, list | tuple) and isinstance(found, list):
        for index, one in enumerate(wanted):
            tried = [
                list(differences(one, other, f"{where}[{at}]", among=True))
                for at, other in enumerate(found)
            ]
            if all(tried):
                yield from min(
                    tried, key=len, default=[f"{where} is empty, without item {index + 1}"]
                )
    elif isinstance(wanted, list | tuple):
        if not isinstance(found, list) or len(found) != len(wanted):
            yield f"{where} is {_short(found)}, not a list of {len(wanted)}"
            return
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
    elif not _equal(wanted, found):
        yield f"{where} is {_short(found)}, not {_short(wanted)}"


def _equal(wanted: Any, found: Any) -> bool:
    if isinstance(found, bool) or found is None:
        return wanted is found or str(wanted).lower() == json.encode(found).decode()
    if wanted == found or str(wanted) == str(found):
        return True
    try:
        return Decimal(str(wanted)) == Decimal(str(found))
    except InvalidOperation:
        return False


def _short(value: Any) -> str:
    text = json.encode(value).decode()
    return text if len(text) <= 200 else text[:200] + "…"


def _instruments(engine: Engine, expect: Expect) -> Iterator[str]:
    trading = engine.exchange.trading
    for wanted in expect.instrument:
        instrument = engine.exchange.instruments.require(wanted.symbol)
        state = trading.state(wanted.symbol)
        if wanted.state is not None and state != wanted.state:
            yield f"{wanted.symbol} is {state.name}, not {wanted.state.name}"
        if wanted.settlement is not None:
            price = trading.stats(wanted.symbol).settlement_px
            found = "not settled" if price is None else decimal_text(price, instrument.price_scale)
            if price is None or not _equal(wanted.settlement, found):
                yield f"settlement of {wanted.symbol} is {found}, not {wanted.settlement}"


def _open_orders(engine: Engine, expect: Expect) -> Iterator[str]:
    if expect.open_orders is None:
        return
    wanted = (
        expect.open_orders
        if isinstance(expect.open_orders, OpenOrdersExpect)
        else OpenOrdersExpect(count=expect.open_orders)
    )
    orders = engine.exchange.trading.orders
    symbols = (wanted.symbol,) if wanted.symbol else ()
    if wanted.as_:
        found = orders.open_of((engine.account_named(wanted.as_),), symbols)
    else:
        found = [order for order in orders.open() if not symbols or order.symbol == wanted.symbol]
    if len(found) != wanted.count:
        yield f"{len(found)} orders are open, not {wanted.count}"


def _accounts(engine: Engine, expect: Expect) -> Iterator[str]:
    trading = engine.exchange.trading
    for wanted in expect.balance:
        account = engine.account_named(wanted.account)
        for name, text, found in (
            ("cash", wanted.cash, trading.ledger.balance(account)),
            ("buying power", wanted.buying_power, trading.buying_power(account)),
        ):
            if text is not None and not _equal(text, cash_text(found)):
                yield f"{name} of {wanted.account} is {cash_text(found)}, not {text}"
    for position in expect.position:
        yield from _position(engine, position)


def _position(engine: Engine, wanted: PositionExpect) -> Iterator[str]:
    instrument = engine.exchange.instruments.require(wanted.symbol)
    found = engine.exchange.trading.positions.get(
        engine.account_named(wanted.account), wanted.symbol
    )
    net, cost, realized = (found.net, found.cost, found.realized) if found else (0, 0, 0)
    for name, text, value, scale in (
        ("net", wanted.net, net, instrument.qty_scale),
        ("cost", wanted.cost, cost, instrument.notional_scale),
        ("realized", wanted.realized, realized, instrument.notional_scale),
    ):
        if text is not None and not _equal(text, decimal_text(value, scale)):
            yield (
                f"{name} position of {wanted.account} in {wanted.symbol} is"
                f" {decimal_text(value, scale)}, not {text}"
            )


def _order(engine: Engine, wanted: OrderExpect, clord_id: str) -> Iterator[str]:
    order = _latest(engine, clord_id)
    if order is None:
        yield f"no order was placed as {clord_id!r}"
        return
    if wanted.state is not None and order.state != wanted.state:
        yield (
            f"order {clord_id} is {OrderState(order.state).name}, not"
            f" {OrderState(wanted.state).name}{_why(engine, order)}"
        )
    for name, text, value, scale in (
        ("filled", wanted.filled, order.cum_qty, order.qty_scale),
        ("leaves", wanted.leaves, order.leaves_qty, order.qty_scale),
        ("average price", wanted.avg_price, order.avg_px, order.price_scale),
    ):
        if text is not None and not _equal(text, decimal_text(value, scale)):
            yield f"{name} of order {clord_id} is {decimal_text(value, scale)}, not {text}"
    if wanted.reason is not None and wanted.reason not in _why(engine, order):
        yield (
            f"order {clord_id} ended{_why(engine, order) or ' without a reason'}, not with"
            f" {wanted.reason!r}"
        )


def _latest(engine: Engine, clord_id: str) -> Order | None:
    found = None
    for order in engine.exchange.trading.orders.all():
        if order.clord_id == clord_id:
            found = order
    return found


def _why(engine: Engine, order: Order) -> str:
    for execution in reversed(list(engine.exchange.trading.executions)):
        if execution.order.id == order.id and execution.type in (
            ExecutionType.REJECTED,
            ExecutionType.CANCELED,
            ExecutionType.EXPIRED,
        ):
            reason = f" {execution.unsolicited.name}" if execution.unsolicited else ""
            return f" ({execution.text or execution.type.name}{reason})"
    return ""


def _book(engine: Engine, wanted: BookExpect) -> Iterator[str]:
    instrument = engine.exchange.instruments.require(wanted.symbol)
    book = engine.exchange.trading.book(wanted.symbol)
    for name, side, levels in (
        ("bids", Side.BUY, wanted.bids),
        ("offers", Side.SELL, wanted.offers),
    ):
        if levels is None:
            continue
        shown = book.levels(side, max(1, len(levels)))
        found = [
            f"{decimal_text(price, instrument.price_scale)} x"
            f" {decimal_text(qty, instrument.qty_scale)}"
            for price, qty, *_ in shown
        ]
        if [_level(text) for text in levels] != [_level(text) for text in found]:
            yield f"{name} of {wanted.symbol} are {found}, not {list(levels)}"


def _level(text: str) -> tuple[Decimal, ...]:
    return tuple(Decimal(part.strip()) for part in text.replace("×", "x").split("x"))


def _trades(engine: Engine, wanted: TradesExpect) -> Iterator[str]:
    instrument = engine.exchange.instruments.require(wanted.symbol)
    execution_log = engine.exchange.trading.trades
    trades = [execution_log[seq] for seq in execution_log.of_symbol(wanted.symbol)]
    if wanted.count is not None and len(trades) != wanted.count:
        yield f"{wanted.symbol} traded {len(trades)} times, not {wanted.count}"
    if wanted.last_price is not None:
        last = decimal_text(trades[-1].price, instrument.price_scale) if trades else "none"
        if not _equal(wanted.last_price, last):
            yield f"last price of {wanted.symbol} is {last}, not {wanted.last_price}"
    if wanted.qty is not None:
        total = decimal_text(sum(trade.qty for trade in trades), instrument.qty_scale)
        if not _equal(wanted.qty, total):
            yield f"{wanted.symbol} traded {total} contracts, not {wanted.qty}"


def _webhooks(engine: Engine, expect: Expect) -> Iterator[str]:
    for wanted in expect.webhook:
        found = [
            row
            for row in deliveries(engine.exchange)
            if (not wanted.type or row["type"] == wanted.type)
            and (not wanted.external_id or row["external_id"] == wanted.external_id)
        ]
        if len(found) != wanted.count:
            yield f"{len(found)} deliveries of {wanted.type or 'any type'}, not {wanted.count}"
