"""Trading by request for quotes (RFQ).

1. An account requests quotes on an instrument.
2. Other accounts quote prices for one side or both.
3. The requester accepts one side of one quote.
4. The quote's maker confirms it in time, or it is deleted.
5. A moment later the two accounts trade with each other, and the request is closed.

The trade bypasses the book and is for the whole quantity, so nothing is left to rest. If the
exchange refuses it when it is due (no money, for example) the quote is deleted. The request stays
open after a quote was deleted. A slow engine delays the trade like any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from msgspec import Struct, convert, field
from msgspec.structs import replace

from sim.core.catalogue.assumptions import RFQ_CONFIRM_WITHIN, RFQ_EXECUTE_AFTER
from sim.core.model.commands import PlaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import BUY, SELL, Channel, InstrumentState, Side, TimeInForce
from sim.core.model.events import RfqChanged
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Order
from sim.core.model.quantities import Cash, Price, Qty
from sim.core.model.refusals import (
    Conflict,
    InvalidRequest,
    NotFound,
    OrderRefused,
    PermissionDenied,
)
from sim.core.model.rfq_records import Quote, QuoteStatus, Rfq, RfqStatus
from sim.core.trading.trading import Trading
from sim.kernel.timers import Timer, TimerHandlers

CONFIRM_TIMER, EXECUTE_TIMER = "rfq.confirm", "rfq.execute"
_ACCEPTED = frozenset((QuoteStatus.ACCEPTED, QuoteStatus.CONFIRMED))
_PENDING = _ACCEPTED | {QuoteStatus.ACTIVE}


class RfqsState(Struct):
    """Requests and quotes by id, in order of creation."""

    rfqs: dict[str, Rfq] = field(default_factory=dict)
    quotes: dict[str, Quote] = field(default_factory=dict)


class Rfqs:
    """All requests and quotes."""

    def __init__(self, ctx: Context, instruments: Instruments, trading: Trading) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._trading = trading
        self._index(RfqsState())

    # ---- reading

    def user_id(self, account: str) -> str:
        """Return the name under which others see an account; it never changes."""
        key = self._ctx.entropy.key("rfq.user")
        return blake2b(account.encode(), digest_size=12, key=key).hexdigest()

    def rfqs(self, account: str) -> Iterator[Rfq]:
        """Yield all open requests and the account's own closed ones, oldest first."""
        return (
            rfq
            for rfq in self._state.rfqs.values()
            if rfq.status is RfqStatus.OPEN or rfq.account == account
        )

    def quotes(self, account: str) -> Iterator[Quote]:
        """Yield the account's quotes and those on its requests, oldest first."""
        return (
            quote
            for quote in self._state.quotes.values()
            if account in (quote.account, self._state.rfqs[quote.rfq_id].account)
        )

    def rfq(self, rfq_id: str) -> Rfq:
        """Return a request; NotFound when there is none."""
        rfq = self._state.rfqs.get(rfq_id)
        if rfq is None:
            raise NotFound(f"unknown rfq: {rfq_id[:80]}")
        return rfq

    # ---- requests

    def request(
        self,
        account: str,
        participant: str,
        instrument: Instrument,
        *,
        qty: Qty,
        cash: Cash,
        rest_remainder: bool,
    ) -> Rfq:
        """Request quotes. Refused unless the instrument is open."""
        self._check_open(instrument.symbol)
        if qty and qty < instrument.min_qty:
            raise InvalidRequest("qtyDecimal is below the minimum", rule="rfq")
        now = self._ctx.now
        rfq = Rfq(
            id=self._ctx.ids.uuid("rfq"),
            symbol=instrument.symbol,
            account=account,
            participant=participant,
            qty=qty,
            cash=cash,
            rest_remainder=rest_remainder,
            created=now,
            updated=now,
        )
        self._state.rfqs[rfq.id] = rfq
        self._emit("rfq_created", rfq)
        return rfq

    def withdraw(self, account: str, rfq_id: str) -> None:
        """Close an own request and delete its quotes.

        Conflict when it is closed, or when one of its quotes is about to trade.
        """
        rfq = self.rfq(rfq_id)
        if rfq.account != account:
            raise PermissionDenied(rule="rfq", remedy="only who asked withdraws a request")
        if rfq.status is RfqStatus.CLOSED:
            raise Conflict("the rfq is closed", rule="rfq")
        if any(quote.status is QuoteStatus.CONFIRMED for quote in self._of(rfq)):
            raise Conflict("a confirmed quote is about to trade", rule="rfq")
        self._close(rfq)

    # ---- quotes

    def quote(
        self,
        account: str,
        participant: str,
        rfq_id: str,
        *,
        buy_price: Price,
        sell_price: Price,
        rest_remainder: bool,
        post_only: bool,
    ) -> Quote:
        """Quote on somebody else's request, in the instrument's units; 0: not this side."""
        rfq = self.rfq(rfq_id)
        if rfq.account == account:
            raise PermissionDenied(rule="rfq", remedy="a request is answered by others")
        if rfq.status is RfqStatus.CLOSED:
            raise Conflict("the rfq is closed", rule="rfq")
        instrument = self._instruments.require(rfq.symbol)
        self._check_prices(instrument, buy_price, sell_price)
        now = self._ctx.now
        quote = Quote(
            id=self._ctx.ids.uuid("quote"),
            rfq_id=rfq_id,
            symbol=rfq.symbol,
            account=account,
            participant=participant,
            buy_price=buy_price,
            sell_price=sell_price,
            buy_qty=_size(rfq, instrument, buy_price),
            sell_qty=_size(rfq, instrument, sell_price),
            rest_remainder=rest_remainder,
            post_only=post_only,
            created=now,
            updated=now,
        )
        self._state.quotes[quote.id] = quote
        self._quotes_of.setdefault(rfq_id, []).append(quote.id)
        self._emit("quote_created", rfq, quote)
        return quote

    def _check_prices(self, instrument: Instrument, buy_price: Price, sell_price: Price) -> None:
        if not buy_price and not sell_price:
            raise InvalidRequest("buyPrice or sellPrice is required", rule="rfq")
        if buy_price and sell_price and buy_price >= sell_price:
            raise InvalidRequest("buyPrice must be below sellPrice", rule="rfq")
        self._check_open(instrument.symbol)
        low, high = instrument.price_low, instrument.price_high
        for price in filter(None, (buy_price, sell_price)):
            if price % instrument.tick or not low <= price <= high:
                raise OrderRefused("Price is off the tick or outside the limits", rule="M4")

    def delete_quote(self, account: str, quote_id: str) -> None:
        """Delete an own quote that is not confirmed."""
        quote = self._quote(account, quote_id)
        if quote.account != account:
            raise PermissionDenied(rule="rfq", remedy="only who made a quote takes it back")
        if quote.status not in (QuoteStatus.ACTIVE, QuoteStatus.ACCEPTED):
            raise Conflict(f"the quote is {quote.status.name.lower()}", rule="rfq")
        self._change("quote_deleted", quote, status=QuoteStatus.DELETED)

    def accept(self, account: str, quote_id: str, side: Side) -> None:
        """Accept a side of a quote on an own request, one quote at a time.

        SELL accepts the selling price, at which the requester buys.
        """
        quote = self._quote(account, quote_id)
        rfq = self._state.rfqs[quote.rfq_id]
        if rfq.account != account:
            raise PermissionDenied(rule="rfq", remedy="only who asked accepts a quote")
        accepted = any(other.status in _ACCEPTED for other in self._of(rfq))
        if quote.status is not QuoteStatus.ACTIVE or accepted:
            raise Conflict("the quote is not active, or another one is accepted", rule="rfq")
        if not (quote.buy_price if side is BUY else quote.sell_price):
            raise InvalidRequest("acceptedSide is not quoted", rule="rfq")
        if not (quote.buy_qty if side is BUY else quote.sell_qty):
            raise OrderRefused("cashOrderQty buys less than one unit", rule="M24")
        ctx = self._ctx
        confirm_by = ctx.now + ctx.assumptions.number(RFQ_CONFIRM_WITHIN)
        ctx.timers.schedule(confirm_by, CONFIRM_TIMER, quote_id)
        self._change(
            "quote_accepted",
            quote,
            status=QuoteStatus.ACCEPTED,
            accepted=side,
            accepted_at=ctx.now,
            confirm_by=confirm_by,
        )

    def confirm(self, account: str, quote_id: str) -> None:
        """Confirm an own quote that was accepted; it trades a moment later."""
        quote = self._quote(account, quote_id)
        if quote.account != account:
            raise PermissionDenied(rule="rfq", remedy="only who made a quote confirms it")
        if quote.status is not QuoteStatus.ACCEPTED:
            raise Conflict(f"the quote is {quote.status.name.lower()}", rule="rfq")
        ctx = self._ctx
        execute_by = ctx.now + ctx.assumptions.number(RFQ_EXECUTE_AFTER)
        ctx.timers.schedule(execute_by, EXECUTE_TIMER, quote_id)
        confirmed = QuoteStatus.CONFIRMED
        self._change(
            "quote_confirmed", quote, status=confirmed, confirmed_at=ctx.now, execute_by=execute_by
        )

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {CONFIRM_TIMER: self._confirm_too_late, EXECUTE_TIMER: self._execute}

    def _confirm_too_late(self, timer: Timer) -> None:
        quote = self._state.quotes[timer.subject]
        if quote.status is QuoteStatus.ACCEPTED:
            self._change("quote_deleted", quote, status=QuoteStatus.DELETED)

    def _execute(self, timer: Timer) -> None:
        quote = self._state.quotes[timer.subject]
        rfq = self._state.rfqs[quote.rfq_id]
        requester_side = SELL if quote.accepted is BUY else BUY
        maker = _order(quote.account, quote.participant, quote, quote.accepted)
        requester = _order(rfq.account, rfq.participant, quote, requester_side)
        self._trading.order_service.trade_quote(quote.id, maker, requester)

    def on_quote_taken(self, quote_id: str, orders: tuple[Order, Order] | None) -> None:
        """Close a quote that traded; delete it if the exchange refused the trade (None)."""
        quote = self._state.quotes[quote_id]
        if orders is None:
            self._change("quote_deleted", quote, status=QuoteStatus.DELETED)
            return
        maker, taker = orders
        self._change(
            "quote_executed",
            quote,
            status=QuoteStatus.EXECUTED,
            executed_at=self._ctx.now,
            quote_order_id=maker.id,
            rfq_order_id=taker.id,
        )
        rfq = self._state.rfqs[quote.rfq_id]
        self._emit("rfq_trade", rfq, self._state.quotes[quote_id])
        self._close(rfq)

    # ---- the record

    def _close(self, rfq: Rfq) -> None:
        for quote in self._of(rfq):
            if quote.status in _PENDING:
                self._change("quote_deleted", quote, status=QuoteStatus.DELETED)
        closed = replace(rfq, status=RfqStatus.CLOSED, updated=self._ctx.now)
        self._state.rfqs[rfq.id] = closed
        self._emit("rfq_closed", closed)

    def _change(self, kind: str, quote: Quote, **changes: object) -> None:
        changed = self._state.quotes[quote.id] = replace(quote, updated=self._ctx.now, **changes)
        self._emit(kind, self._state.rfqs[quote.rfq_id], changed)

    def _emit(self, kind: str, rfq: Rfq, quote: Quote | None = None) -> None:
        self._ctx.emit(RfqChanged(kind, rfq, quote, self._ctx.now))

    def _of(self, rfq: Rfq) -> list[Quote]:
        return [self._state.quotes[quote_id] for quote_id in self._quotes_of.get(rfq.id, ())]

    def _quote(self, account: str, quote_id: str) -> Quote:
        """Return a quote that the account may see; else NotFound."""
        quote = self._state.quotes.get(quote_id)
        if quote is None or account not in (quote.account, self._state.rfqs[quote.rfq_id].account):
            raise NotFound(f"unknown quote: {quote_id[:80]}")
        return quote

    def _check_open(self, symbol: str) -> None:
        if self._trading.state(symbol) is not InstrumentState.OPEN:
            raise OrderRefused(f"{symbol} is not open", rule="rfq", remedy="ask while it trades")

    def save(self) -> RfqsState:
        """Return every request and quote."""
        return self._state

    def load(self, state: object) -> None:
        """Take over saved requests and quotes; their timers are saved with all others."""
        self._index(convert(state, RfqsState))

    def _index(self, state: RfqsState) -> None:
        self._state = state
        self._quotes_of: dict[str, list[str]] = {}
        for quote in state.quotes.values():
            self._quotes_of.setdefault(quote.rfq_id, []).append(quote.id)


def _size(rfq: Rfq, instrument: Instrument, price: Price) -> Qty:
    """Return the quantity of a side: as requested, or what the requested cash buys."""
    if not price:
        return 0
    return rfq.qty or rfq.cash // (price * instrument.cash_per_notional)


def _order(account: str, participant: str, quote: Quote, side: Side) -> PlaceOrder:
    bought = quote.accepted is BUY
    return PlaceOrder(
        symbol=quote.symbol,
        account=account,
        participant=participant,
        side=side,
        qty=quote.buy_qty if bought else quote.sell_qty,
        price=quote.buy_price if bought else quote.sell_price,
        tif=TimeInForce.FILL_OR_KILL,
        channel=Channel.RETAIL,
    )
