"""Translates requests of retail clients into commands of the core: intent, price, size, duration
and slippage.

Malformed requests are refused here (§2.8), so that a batch is checked completely before any of its
orders is placed.
"""

from __future__ import annotations

from msgspec.structs import replace

from sim.api.pipeline.authentication import Caller, account_of
from sim.api.pipeline.handler import require
from sim.api.rendering.retail_numbers import read_amount, read_price, read_quantity, sent_text
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import OFF_TICK_PRICE, RETAIL_REJECTS
from sim.core.exchange import Exchange
from sim.core.model.commands import PlaceOrder, ReplaceOrder
from sim.core.model.enums import Channel, OrderType, SelfMatchPrevention, Side, TimeInForce
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Price, decimal_text
from sim.core.model.refusals import InvalidRequest, NotFound, cut
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant

BATCH_MAX = 20
PAIRS_READ = Dated(
    False,
    ("2026-04-09", True),
    name="orders.outcome_side_and_action",
    section="§9",
    title="orders accept outcomeSide and action instead of intent",
)
TIMES_IN_FORCE: dict[int, TimeInForce] = {
    wire.TimeInForce.TIME_IN_FORCE_DAY: TimeInForce.DAY,
    wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_CANCEL: TimeInForce.GOOD_TILL_CANCEL,
    wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_DATE: TimeInForce.GOOD_TILL_TIME,
    wire.TimeInForce.TIME_IN_FORCE_IMMEDIATE_OR_CANCEL: TimeInForce.IMMEDIATE_OR_CANCEL,
    wire.TimeInForce.TIME_IN_FORCE_FILL_OR_KILL: TimeInForce.FILL_OR_KILL,
}
_YES, _NO = wire.OutcomeSide.OUTCOME_SIDE_YES, wire.OutcomeSide.OUTCOME_SIDE_NO
_BUY, _SELL = wire.OrderAction.ORDER_ACTION_BUY, wire.OrderAction.ORDER_ACTION_SELL
OUTCOMES = {
    wire.OrderIntent.ORDER_INTENT_BUY_LONG: (_YES, _BUY),
    wire.OrderIntent.ORDER_INTENT_SELL_LONG: (_YES, _SELL),
    wire.OrderIntent.ORDER_INTENT_BUY_SHORT: (_NO, _BUY),
    wire.OrderIntent.ORDER_INTENT_SELL_SHORT: (_NO, _SELL),
}
_BUYING = (wire.OrderIntent.ORDER_INTENT_BUY_LONG, wire.OrderIntent.ORDER_INTENT_SELL_SHORT)
_INTENTS: dict[tuple[int, int], wire.OrderIntent] = {
    outcome: intent for intent, outcome in OUTCOMES.items()
}
_PAIR_OF_INTENT: dict[int | None, tuple[int, int]] = dict(OUTCOMES.items())
_PAIRS = frozenset((outcome, action) for outcome in wire.OutcomeSide for action in wire.OrderAction)
_INDICATORS = frozenset(wire.ManualOrderIndicator)
_AT_ONCE = (TimeInForce.IMMEDIATE_OR_CANCEL, TimeInForce.FILL_OR_KILL)
_BIPS = 10_000


def market_of(exchange: Exchange, slug: str) -> Instrument:
    """Return the market with a given slug. The slug of a market is its exchange symbol."""
    if not slug:
        raise InvalidRequest("marketSlug is required", remedy="name the market")
    instrument = exchange.instruments.get(slug)
    if instrument is None:
        raise unknown_market(slug)
    return instrument


def unknown_market(slug: str) -> NotFound:
    """Return the refusal of an unknown slug."""
    return NotFound(
        f"unknown market: {cut(slug)}",
        rule="M2",
        remedy="GET /v1/markets on the gateway lists the markets",
    )


def deferred(exchange: Exchange) -> bool:
    """Return whether a business reject is reported as an execution instead of an error (M7)."""
    return exchange.ctx.assumptions.text(RETAIL_REJECTS) == "async"


def side_of(intent: wire.OrderIntent) -> Side:
    """Return the side on the YES instrument. Buying YES and selling NO are both buys."""
    return Side.BUY if intent in _BUYING else Side.SELL


def place_command(
    exchange: Exchange, caller: Caller, request: wire.CreateOrderRequest, *, defer: bool
) -> PlaceOrder:
    """Return the command that places the requested order."""
    instrument = market_of(exchange, request.market_slug)
    market = _is_market(request)
    intent = _intent(exchange, request)
    base = _base(caller, instrument, intent, request.manual_order_indicator, defer=defer)
    tif = _tif(request.tif, market=market)
    if request.participate_dont_initiate and tif in _AT_ONCE:
        raise InvalidRequest(
            "participateDontInitiate does not combine with an order that never rests", rule="M20"
        )
    if market:
        type, price = OrderType.MARKET_TO_LIMIT, _bound(request, instrument, base.side)
    else:
        type, price = OrderType.LIMIT, _limit(exchange, request.price, instrument, base.side)
    quantity, cash = request.quantity, request.cash_order_qty
    return replace(
        base,
        type=type,
        tif=tif,
        price=price,
        price_text="" if market else sent_text(request.price, price, instrument.price_scale),
        qty=0 if quantity is None else read_quantity(quantity, instrument),
        cash_qty=0 if cash is None else read_amount(cash, instrument.price_scale, "cashOrderQty"),
        good_till=_good_till(exchange, request.good_till_time, tif),
        post_only=request.participate_dont_initiate,
    )


def closing_command(
    exchange: Exchange, caller: Caller, request: wire.ClosePositionRequest
) -> PlaceOrder:
    """Return the market order that closes a position."""
    instrument = market_of(exchange, request.market_slug)
    net = exchange.trading.positions.net(account_of(caller), instrument.symbol)
    if not net:
        raise NotFound(
            f"no position in {instrument.symbol}",
            remedy="GET /v1/portfolio/positions lists what can be closed",
        )
    intents, indicator = wire.OrderIntent, request.manual_order_indicator
    intent = intents.ORDER_INTENT_SELL_LONG if net > 0 else intents.ORDER_INTENT_SELL_SHORT
    base = _base(caller, instrument, intent, indicator, defer=deferred(exchange))
    return replace(
        base,
        type=OrderType.MARKET_TO_LIMIT,
        tif=TimeInForce.IMMEDIATE_OR_CANCEL,
        price=_bound(request, instrument, base.side),
        qty=abs(net),
    )


def replace_command(
    exchange: Exchange, caller: Caller, request: wire.ModifyOrderRequest, *, defer: bool
) -> ReplaceOrder:
    """Return the command that changes an order. Omitted fields keep their values."""
    require(request.order_id, "orderId")
    instrument = market_of(exchange, request.market_slug)
    tif = TimeInForce.UNDEFINED if request.tif is None else _tif(request.tif, market=False)
    order = exchange.trading.orders.get(request.order_id)
    side = None if order is None else order.side
    price = 0 if request.price is None else _limit(exchange, request.price, instrument, side)
    quantity = 0 if request.quantity is None else read_quantity(request.quantity, instrument)
    if (request.price is not None and not price) or (request.quantity is not None and not quantity):
        raise InvalidRequest(
            "price and quantity must be above zero, also at the precision of the market",
            remedy="omit a field to keep its value",
        )
    return ReplaceOrder(
        accounts=caller.accounts,
        participant=caller.participant or account_of(caller),
        order_id=request.order_id,
        symbol=instrument.symbol,
        price=price,
        price_text=sent_text(request.price, price, instrument.price_scale),
        qty=quantity,
        tif=tif,
        good_till=_good_till(exchange, request.good_till_time, tif),
        post_only=request.participate_dont_initiate,
        deferred=defer,
    )


def check_batch(size: int) -> None:
    """Refuse a batch that does not have 1 to 20 entries (rule M38)."""
    if not 1 <= size <= BATCH_MAX:
        raise InvalidRequest(
            f"a batch has 1 to {BATCH_MAX} orders, not {size}", rule="M38", remedy="split it"
        )


def _base(
    caller: Caller,
    instrument: Instrument,
    intent: wire.OrderIntent,
    indicator: int | None,
    *,
    defer: bool,
) -> PlaceOrder:
    """Return a command with account, market and side, but without price and size.

    Retail accounts never trade with themselves (rule M30).
    """
    account = account_of(caller)
    return PlaceOrder(
        symbol=instrument.symbol,
        account=account,
        participant=caller.participant or account,
        submitter=caller.api_key or "",
        side=side_of(intent),
        intent=intent + 1,  # in the core, 0 means none
        manual_indicator=_indicator(indicator),
        smp_id=account,
        smp=SelfMatchPrevention.REJECT_AGGRESSOR,
        channel=Channel.RETAIL,
        deferred=defer,
    )


def _is_market(request: wire.CreateOrderRequest) -> bool:
    """Return whether a request is a market order.

    Refuses a size that is missing or of the wrong kind.
    """
    market = request.type == wire.OrderType.ORDER_TYPE_MARKET
    if not market and request.type not in (None, wire.OrderType.ORDER_TYPE_LIMIT):
        raise InvalidRequest("type must be ORDER_TYPE_LIMIT or ORDER_TYPE_MARKET")
    if request.cash_order_qty is None:
        if request.quantity is None:
            raise InvalidRequest(
                "quantity is required", remedy="give quantity, or cashOrderQty with a market order"
            )
        if not request.quantity:
            raise InvalidRequest(
                "quantity must be a number of contracts above zero",
                remedy="send a JSON number such as 10 or 2.5",
            )
    # Clients that write every field send 0 for the size that they do not use.
    elif request.quantity:
        raise InvalidRequest(
            "quantity and cashOrderQty are mutually exclusive",
            rule="M24",
            remedy="give one of them",
        )
    elif not market:
        raise InvalidRequest(
            "cashOrderQty is for market orders",
            rule="M24",
            remedy='send "type": "ORDER_TYPE_MARKET"',
        )
    return market


def _limit(
    exchange: Exchange, amount: wire.Amount | None, instrument: Instrument, side: Side | None
) -> Price:
    """Return the limit of an order at the tick: never worse for the client than what it sent.

    Extra precision is normalised (§4.2); the assumption says how.
    """
    if amount is None:
        raise InvalidRequest("price is required for a limit order", remedy="give the YES price")
    price, is_rounded = read_price(amount, instrument, "price")
    mode = exchange.ctx.assumptions.text(OFF_TICK_PRICE) if is_rounded else ""
    if mode == "refuse":
        tick = decimal_text(instrument.tick, instrument.price_scale)
        raise InvalidRequest(f"price must be a multiple of {tick}", rule="M4")
    return price + instrument.tick if mode == "in_favour" and side is Side.SELL else price


def _intent(exchange: Exchange, request: wire.CreateOrderRequest) -> wire.OrderIntent:
    """Return the intent of an order: from `intent`, or from outcomeSide and action.

    Both may be sent, but neither half of the pair may contradict the intent (S2.8-2). Before their
    release date, outcomeSide and action are ignored like any unknown field.
    """
    pairs_read = PAIRS_READ.at(exchange.now)
    pair = (request.outcome_side, request.action) if pairs_read else (0, 0)
    meant = _PAIR_OF_INTENT.get(request.intent, pair)
    if pair in _PAIRS and any(
        half not in (0, part) for half, part in zip(pair, meant, strict=True)
    ):
        raise InvalidRequest(
            "intent contradicts outcomeSide and action",
            rule="S2.8-2",
            remedy="send intent, or outcomeSide with action",
        )
    intent = _INTENTS.get(pair)
    if intent is not None:
        return intent
    if request.intent is None and pair in _PAIRS and any(pair):
        raise InvalidRequest(
            "outcomeSide and action belong together",
            rule="S2.8-2",
            remedy="send both, or send intent",
        )
    if request.intent is None:
        raise InvalidRequest(
            "intent is required", rule="S2.8-2", remedy="send intent, or outcomeSide with action"
        )
    try:
        return wire.OrderIntent(request.intent)
    except ValueError:
        raise InvalidRequest(f"unknown intent {request.intent}") from None


def _indicator(number: int | None) -> int:
    """Return a manual order indicator as the exchange numbers it, where 0 means none."""
    if number is None:
        return 0
    if number not in _INDICATORS:
        raise InvalidRequest(f"unknown manualOrderIndicator {number}")
    return number + 1


def _tif(number: int | None, *, market: bool) -> TimeInForce:
    """Return the time in force, DAY by default; a market order never rests (rule M13)."""
    tif = TimeInForce.DAY if number is None else TIMES_IN_FORCE.get(number)
    if tif is None:
        raise InvalidRequest(f"unknown tif {number}")
    if market and tif is not TimeInForce.FILL_OR_KILL:
        return TimeInForce.IMMEDIATE_OR_CANCEL
    return tif


def _good_till(exchange: Exchange, at: Instant | None, tif: TimeInForce) -> Instant | None:
    """Return the expiry of a GOOD_TILL_DATE order.

    Refuses one that is not in the future (rule M18).
    """
    if at is not None and at <= exchange.now:
        raise InvalidRequest("goodTillTime must be in the future", rule="M18")
    if tif is TimeInForce.GOOD_TILL_TIME and at is None:
        raise InvalidRequest(
            "goodTillTime is required with TIME_IN_FORCE_GOOD_TILL_DATE", rule="M18"
        )
    return at if tif in (TimeInForce.GOOD_TILL_TIME, TimeInForce.UNDEFINED) else None


def _bound(
    request: wire.CreateOrderRequest | wire.ClosePositionRequest, instrument: Instrument, side: Side
) -> Price:
    """Return the worst price at which a market order may trade; 0 for no limit.

    Ticks take precedence over basis points (rule M13). The result stays within the price band.
    """
    tolerance, scale = request.slippage_tolerance, instrument.price_scale
    low, high, tick = instrument.price_low, instrument.price_high, instrument.tick
    if tolerance is None:
        return 0
    if tolerance.current_price is None:
        raise InvalidRequest("slippageTolerance.currentPrice is required", rule="M13")
    if tolerance.ticks < 0 or tolerance.bips < 0:
        raise InvalidRequest("slippageTolerance: ticks and bips must not be negative", rule="M13")
    current = read_amount(tolerance.current_price, scale, "slippageTolerance.currentPrice")
    room = tolerance.ticks * tick if tolerance.ticks else current * tolerance.bips // _BIPS
    if side is Side.BUY:
        return min(max((current + room) // tick * tick, low), high)
    return max(min(-((room - current) // tick) * tick, high), low)
