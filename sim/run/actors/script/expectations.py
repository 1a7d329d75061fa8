"""Checks the expectations of a step against the running exchange and the answer of its call.

Each failure is one line of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from msgspec import UNSET, DecodeError, json

from sim.api.pipeline.inputs import Reply
from sim.core.model.enums import ExecutionType, OrderState, Side
from sim.core.model.events import CancelRejected, Event, Executed
from sim.core.model.orders import Order
from sim.core.model.quantities import cash_text, decimal_text
from sim.run.actors.operator.views import deliveries
from sim.run.engine.engine import Engine
from sim.world.format.expectations_format import (
    LEVEL,
    BalanceExpect,
    BookExpect,
    BreakerExpect,
    Expect,
    FaultExpect,
    InstrumentExpect,
    OpenOrdersExpect,
    OrderExpect,
    PositionExpect,
    TradesExpect,
    WebhookExpect,
)

_LONGEST = 200
_ENDED = (ExecutionType.REJECTED, ExecutionType.CANCELED, ExecutionType.EXPIRED)


class Rejection(NamedTuple):
    """A rejected order, or a rejected change of an order, with the reason as text."""

    order_id: str
    sentence: str


def failures(engine: Engine, expect: Expect, reply: Reply | None, own: str) -> list[str]:
    """The expectations that do not hold. `own` is the client order id of the step's own order."""
    lines = list(_reply(expect, reply))
    for instrument in expect.instrument:
        lines += _instrument(engine, instrument)
    lines += _open_orders(engine, expect.open_orders)
    for balance in expect.balance:
        lines += _balance(engine, balance)
    for position in expect.position:
        lines += _position(engine, position)
    for order in expect.order:
        lines += _order(engine, order, order.clord_id or own)
    for book in expect.book:
        lines += _book(engine, book)
    for trades in expect.trades:
        lines += _trades(engine, trades)
    for webhook in expect.webhook:
        lines += _webhook(engine, webhook)
    for breaker in expect.breaker:
        lines += _breaker(engine, breaker)
    for fault in expect.fault:
        lines += _fault(engine, fault)
    if expect.digest is not None and expect.digest != engine.journal.digest:
        lines.append(f"digest is {engine.journal.digest}, not {expect.digest}")
    return lines


# ---- the answer


def answer_of(reply: Reply) -> Any:
    """The JSON value of an answer; text if it is not JSON, None without a body."""
    try:
        return json.decode(reply.body) if reply.body else None
    except DecodeError:
        return reply.body.decode(errors="replace")


def _reply(expect: Expect, reply: Reply | None) -> Iterator[str]:
    if not expects_answer(expect):
        return
    if reply is None:
        yield "this step has no call whose answer could be checked"
        return
    if expect.status is not None and reply.status != expect.status:
        body = shortened(reply.body.decode(errors="replace"))
        yield f"status is {reply.status}, not {expect.status}: {body}"
    if expect.code is not None and reply.code != expect.code:
        yield f"gRPC code is {reply.code}, not {expect.code}: {reply.message}"
    if expect.json is not UNSET:
        yield from differences(expect.json, answer_of(reply), "answer")
    headers = {name.lower(): value for name, value in reply.headers}
    for name, value in expect.header.items():
        if headers.get(name.lower()) != value:
            yield f"header {name} is {headers.get(name.lower())!r}, not {value!r}"


def differences(expected: Any, actual: Any, where: str, *, anywhere: bool = False) -> Iterator[str]:
    """The differences between a JSON value and an expected one.

    Mappings are compared by the expected keys, numbers by value in any JSON form. Lists are
    compared item by item; with `anywhere`, each expected item must match some item of the list.
    """
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            yield f"{where} is {_short(actual)}, not a mapping"
            return
        for key, value in expected.items():
            if key in actual:
                yield from differences(value, actual[key], f"{where}.{key}", anywhere=anywhere)
            elif value is not None:
                yield f"{where} has no {key}"
    elif anywhere and isinstance(expected, list | tuple) and isinstance(actual, list):
        for index, item in enumerate(expected):
            yield from _nearest_miss(item, actual, where, index)
    elif isinstance(expected, list | tuple):
        if not isinstance(actual, list) or len(actual) != len(expected):
            yield f"{where} is {_short(actual)}, not a list of {len(expected)}"
            return
        for index, (item, other) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(item, other, f"{where}[{index}]")
    elif not _equal(expected, actual):
        yield f"{where} is {_short(actual)}, not {_short(expected)}"


def _nearest_miss(expected: Any, items: list[Any], where: str, index: int) -> Iterable[str]:
    """Nothing if some item matches, else the differences of the nearest one."""
    misses = [
        list(differences(expected, item, f"{where}[{at}]", anywhere=True))
        for at, item in enumerate(items)
    ]
    if not all(misses):
        return ()
    return min(misses, key=len, default=[f"{where} is empty, without item {index + 1}"])


def _equal(expected: Any, actual: Any) -> bool:
    if isinstance(actual, bool) or actual is None:
        return expected is actual or str(expected).lower() == json.encode(actual).decode()
    if expected == actual or str(expected) == str(actual):
        return True
    try:
        return Decimal(str(expected)) == Decimal(str(actual))
    except InvalidOperation:
        return False


def _short(value: Any) -> str:
    return shortened(json.encode(value).decode(), _LONGEST)


def shortened(text: str, longest: int = 300) -> str:
    """Text, marked if it was cut."""
    return text if len(text) <= longest else text[:longest] + "…"


# ---- the state


def _instrument(engine: Engine, expect: InstrumentExpect) -> Iterator[str]:
    symbol, trading = expect.symbol, engine.exchange.trading
    instrument = engine.exchange.instruments.require(symbol)
    state = trading.state(symbol)
    if expect.state is not None and state != expect.state:
        yield f"{symbol} is {state.name}, not {expect.state.name}"
    if expect.settlement is not None:
        price = trading.stats(symbol).settlement_px
        if price is None:
            yield f"{symbol} is not settled, and should be at {expect.settlement}"
        elif not _equal(expect.settlement, text := decimal_text(price, instrument.price_scale)):
            yield f"settlement of {symbol} is {text}, not {expect.settlement}"


def _open_orders(engine: Engine, expect: OpenOrdersExpect | int | None) -> Iterator[str]:
    if expect is None:
        return
    if isinstance(expect, int):
        expect = OpenOrdersExpect(count=expect)
    orders = engine.exchange.trading.orders
    symbols = (expect.symbol,) if expect.symbol else ()
    if expect.as_:
        count = len(orders.open_of((engine.account_named(expect.as_),), symbols))
    else:
        count = sum(not symbols or order.symbol == expect.symbol for order in orders.open())
    if count != expect.count:
        yield f"{count} {'order is' if count == 1 else 'orders are'} open, not {expect.count}"


def _balance(engine: Engine, expect: BalanceExpect) -> Iterator[str]:
    trading = engine.exchange.trading
    account = engine.account_named(expect.account)
    cash = "cash", expect.cash, trading.ledger.balance(account)
    power = "buying power", expect.buying_power, trading.buying_power(account)
    for name, expected, amount in (cash, power):
        if expected is not None and not _equal(expected, cash_text(amount)):
            yield f"{name} of {expect.account} is {cash_text(amount)}, not {expected}"


def _position(engine: Engine, expect: PositionExpect) -> Iterator[str]:
    instrument = engine.exchange.instruments.require(expect.symbol)
    account = engine.account_named(expect.account)
    actual_position = engine.exchange.trading.positions.get(account, expect.symbol)
    net, cost, realized = (
        (actual_position.net, actual_position.cost, actual_position.realized)
        if actual_position
        else (0, 0, 0)
    )
    cash_scale = instrument.notional_scale
    yield from _wrong_amounts(
        f"position of {expect.account} in {expect.symbol}",
        ("net", expect.net, net, instrument.qty_scale),
        ("cost", expect.cost, cost, cash_scale),
        ("realized", expect.realized, realized, cash_scale),
    )


def _order(engine: Engine, expect: OrderExpect, clord_id: str) -> Iterator[str]:
    orders = engine.exchange.trading.orders.all()
    order = next((each for each in reversed(list(orders)) if each.clord_id == clord_id), None)
    if order is None:
        yield (
            f"there is no order with the client order id {clord_id!r}"
            if clord_id
            else "this step placed no order"
        )
        return
    name = f"order {clord_id}" if clord_id else "its order"
    if expect.state is not None and order.state != expect.state:
        actual, expected = OrderState(order.state).name, OrderState(expect.state).name
        yield f"{name} is {actual}, not {expected}{_why_ended(engine, order)}"
    yield from _wrong_amounts(
        f"of {name}",
        ("filled", expect.filled, order.cum_qty, order.qty_scale),
        ("leaves", expect.leaves, order.leaves_qty, order.qty_scale),
        ("average price", expect.avg_price, order.avg_px, order.price_scale),
    )
    if expect.reason is not None and expect.reason not in (why := _why_ended(engine, order)):
        yield f"{name} ended{why or ' without a reason'}, not with {expect.reason!r}"


def rejections(events: Iterable[Event]) -> Iterator[Rejection]:
    """The orders and changes of orders that the exchange rejected."""
    for event in events:
        match event:
            case Executed(execution=execution) if execution.type is ExecutionType.REJECTED:
                yield Rejection(
                    execution.order.id,
                    f"its order was rejected ({execution.text or execution.type.name})",
                )
            case CancelRejected():
                change = "change" if event.is_replace else "cancel"
                yield Rejection(event.order_id, f"its {change} was rejected ({event.text})")


def expects_answer(expect: Expect) -> bool:
    """Whether a step states the answer of its call."""
    answer = (expect.status, expect.code, expect.header or None)
    return expect.json is not UNSET or any(each is not None for each in answer)


def answer_text(reply: Reply | None) -> str:
    """An answer in short: its status, or its gRPC code if that is an error, and its body."""
    if reply is None:
        return "there is none"
    if reply.code and not reply.body:
        return f"gRPC code {reply.code}: {reply.message}"
    return f"{reply.status} {shortened(reply.body.decode(errors='replace'))}".rstrip()


def _wrong_amounts(holder: str, *amounts: tuple[str, str | None, int, int]) -> Iterator[str]:
    """The amounts that differ. An item is (name, expected text if any, actual value, its scale)."""
    for name, expected, value, scale in amounts:
        if expected is not None and not _equal(expected, decimal_text(value, scale)):
            yield f"{name} {holder} is {decimal_text(value, scale)}, not {expected}"


def _why_ended(engine: Engine, order: Order) -> str:
    for execution in reversed(list(engine.exchange.trading.executions)):
        if execution.order.id == order.id and execution.type in _ENDED:
            reason = f" {execution.unsolicited.name}" if execution.unsolicited else ""
            return f" ({execution.text or execution.type.name}{reason})"
    return ""


def _book(engine: Engine, expect: BookExpect) -> Iterator[str]:
    instrument = engine.exchange.instruments.require(expect.symbol)
    book = engine.exchange.trading.book(expect.symbol)
    price_scale, qty_scale = instrument.price_scale, instrument.qty_scale
    sides = ("bids", Side.BUY, expect.bids), ("offers", Side.SELL, expect.offers)
    for name, side, levels in sides:
        if levels is None:
            continue
        actual = [
            f"{decimal_text(price, price_scale)} x {decimal_text(qty, qty_scale)}"
            for price, qty, *_ in book.levels(side, max(1, len(levels)))
        ]
        if list(map(_level, levels)) != list(map(_level, actual)):
            yield f"{name} of {expect.symbol} are {actual}, not {list(levels)}"


def _level(text: str) -> tuple[Decimal, ...] | str:
    """A price with its quantity; the text itself if a saved value is not a level."""
    if LEVEL.fullmatch(text) is None:
        return text
    return tuple(Decimal(part.strip()) for part in text.replace("×", "x").split("x"))


def _trades(engine: Engine, expect: TradesExpect) -> Iterator[str]:
    symbol, log = expect.symbol, engine.exchange.trading.trades
    instrument = engine.exchange.instruments.require(symbol)
    trades = [log[seq] for seq in log.of_symbol(symbol)]
    if expect.count is not None and len(trades) != expect.count:
        times = "once" if len(trades) == 1 else f"{len(trades)} times"
        yield f"{symbol} traded {times}, not {expect.count}"
    if expect.last_price is not None:
        last = decimal_text(trades[-1].price, instrument.price_scale) if trades else "none"
        if not _equal(expect.last_price, last):
            yield f"last price of {symbol} is {last}, not {expect.last_price}"
    if expect.qty is not None:
        total = decimal_text(sum(trade.qty for trade in trades), instrument.qty_scale)
        if not _equal(expect.qty, total):
            yield f"{symbol} traded {total} contracts, not {expect.qty}"


def _webhook(engine: Engine, expect: WebhookExpect) -> Iterator[str]:
    rows = [
        row
        for row in deliveries(engine.exchange)
        if expect.type in ("", row["type"])
        and expect.external_id in ("", row["external_id"])
        and expect.outcome in ("", row["outcome"])
        and expect.attempt in (None, row["attempt"])
    ]
    if len(rows) != expect.count:
        how = f" {expect.outcome}" if expect.outcome else ""
        which = f" (attempt {expect.attempt})" if expect.attempt else ""
        kind = expect.type or "any type"
        noun = "delivery" if len(rows) == 1 else "deliveries"
        yield f"{len(rows)} {noun} of {kind}{how}{which}, not {expect.count}"


def _breaker(engine: Engine, expect: BreakerExpect) -> Iterator[str]:
    firm = "firms/" + expect.firm.removeprefix("firms/")
    breaker = engine.exchange.webhooks.breakers().get(firm)
    state = breaker.state if breaker is not None else "closed"
    if state != expect.state:
        yield f"the breaker of {firm} is {state}, not {expect.state}"


def _fault(engine: Engine, expect: FaultExpect) -> Iterator[str]:
    faults = engine.exchange.faults
    faults_by_id = {injected.id: injected for injected in (*faults.over(), *faults.all())}
    fault = faults_by_id.get(expect.id)
    if fault is None:
        yield f"there is no fault {expect.id!r}; known: {', '.join(faults_by_id) or 'none'}"
        return
    if expect.affected is not None and fault.affected != expect.affected:
        yield f"fault {fault.id} affected {fault.affected} of its matches, not {expect.affected}"
    if expect.matched is not None and fault.matched != expect.matched:
        yield f"fault {fault.id} matched {fault.matched} times, not {expect.matched}"
