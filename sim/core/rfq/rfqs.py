"""Trading by request for quotes (RFQ).

1. An account requests quotes on an instrument.
2. Other accounts, the makers, quote prices for one side or both.
3. The requester accepts one side of one quote. That closes the request.
4. The maker confirms in time (last look), or the quote is deleted.
5. A moment later both enter an order at the accepted price, the maker first.

The orders are ordinary ones: they match whatever rests in the book, at its prices, and the rest of
either may stay in the book if its owner set restRemainder. So EXECUTED means that the orders of a
quote were entered; the orders themselves report the trades. If the exchange would refuse one of
them (insufficient funds, a halt, maintenance), neither is entered, and the quote is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from msgspec import Struct, convert, field
from msgspec.structs import replace

from sim.core.catalogue.assumptions import (
    RFQ_CONFIRM_WITHIN,
    RFQ_EXECUTE_AFTER,
    RFQ_LEFT_QUOTES,
    RFQ_PAIR_WINDOW,
)
from sim.core.model.commands import PlaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import BUY, SELL, Channel, InstrumentState, Side, TimeInForce
from sim.core.model.events import RfqChanged
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.quantities import Cash, Price, Qty
from sim.core.model.refusals import (
    Conflict,
    InvalidRequest,
    NotFound,
    OrderRefused,
    PermissionDenied,
    Refusal,
    cut,
)
from sim.core.model.rfq_records import Quote, QuoteStatus, Rfq, RfqStatus
from sim.core.trading.trading import Trading
from sim.kernel.timers import Timer, TimerHandlers

CONFIRM_TIMER, EXECUTE_TIMER = "rfq.confirm", "rfq.execute"


class Party(Struct, frozen=True):
    """A requester or maker.

    Others see `account` under a pseudonym; `participant` owns the orders; `channel` is the surface
    to which the orders are attributed.
    """

    account: str
    participant: str
    channel: Channel


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
        """Return the pseudonym under which others see an account. It never changes."""
        key = self._ctx.entropy.key("rfq.user")
        return blake2b(account.encode(), digest_size=12, key=key).hexdigest()

    def rfqs(self, account: str) -> Iterator[tuple[int, Rfq]]:
        """Yield the requests that an account may see, oldest first, each with its index among all.

        These are all open ones, and closed ones that the account made or quoted.
        """
        for index, rfq in enumerate(self._state.rfqs.values()):
            quoted = any(quote.account == account for quote in self._of(rfq))
            if rfq.status is RfqStatus.OPEN or account == rfq.account or quoted:
                yield index, rfq

    def quotes(self, account: str) -> Iterator[tuple[int, Quote]]:
        """Yield the account's quotes and those on its requests, oldest first, with indices."""
        for index, quote in enumerate(self._state.quotes.values()):
            if account in (quote.account, self._state.rfqs[quote.rfq_id].account):
                yield index, quote

    def rfq(self, rfq_id: str) -> Rfq:
        """Return a request. Refuses an unknown id as not found."""
        rfq = self._state.rfqs.get(rfq_id)
        if rfq is None:
            raise NotFound(f"unknown rfq: {cut(rfq_id)}")
        return rfq

    # ---- requests

    def request(
        self, party: Party, instrument: Instrument, *, qty: Qty, cash: Cash, rest_remainder: bool
    ) -> Rfq:
        """Request quotes. Refused unless the instrument is OPEN."""
        self._check_open(instrument.symbol)
        if qty and qty < instrument.min_qty:
            raise InvalidRequest("qtyDecimal is below the minimum", rule="L13")
        now = self._ctx.now
        rfq = Rfq(
            id=self._ctx.ids.uuid("rfq"),
            symbol=instrument.symbol,
            account=party.account,
            participant=party.participant,
            qty=qty,
            cash=cash,
            rest_remainder=rest_remainder,
            created=now,
            updated=now,
            channel=party.channel,
        )
        self._state.rfqs[rfq.id] = rfq
        self._emit("rfq_created", rfq)
        return rfq

    def withdraw(self, account: str, rfq_id: str) -> None:
        """Close one of the account's own requests.

        Refused if it is closed, as after an accepted quote.
        """
        rfq = self.rfq(rfq_id)
        if rfq.account != account:
            raise PermissionDenied(rule="L13", remedy="only the requester can withdraw a request")
        self._check_takes_quotes(rfq)
        self._close(rfq)

    # ---- quotes

    def quote(
        self,
        party: Party,
        rfq_id: str,
        *,
        buy_price: Price,
        sell_price: Price,
        rest_remainder: bool,
        post_only: bool,
        keep_id: bool,
    ) -> Quote:
        """Quote on another account's request, in the instrument's units; 0 does not quote a side.

        A maker has at most one active quote per request; a new one replaces it. With `keep_id` the
        quote keeps its id, else the old one is deleted.
        """
        rfq = self.rfq(rfq_id)
        if rfq.account == party.account:
            raise PermissionDenied(rule="L13", remedy="an account cannot quote on its own request")
        self._check_takes_quotes(rfq)
        instrument = self._instruments.require(rfq.symbol)
        self._check_prices(instrument, buy_price, sell_price)
        buy_qty, sell_qty = _size(rfq, instrument, buy_price), _size(rfq, instrument, sell_price)
        former = self._replaced(rfq, party, keep_id=keep_id)
        now = self._ctx.now
        quote = Quote(
            id=former.id if former else self._ctx.ids.uuid("quote"),
            rfq_id=rfq_id,
            symbol=rfq.symbol,
            account=party.account,
            participant=party.participant,
            buy_price=buy_price,
            sell_price=sell_price,
            buy_qty=buy_qty,
            sell_qty=sell_qty,
            rest_remainder=rest_remainder,
            post_only=post_only,
            created=former.created if former else now,
            updated=now,
            channel=party.channel,
        )
        if former is None:
            self._quotes_of.setdefault(rfq_id, []).append(quote.id)
        self._state.quotes[quote.id] = quote
        self._emit("quote_created", rfq, quote)
        return quote

    def _replaced(self, rfq: Rfq, party: Party, *, keep_id: bool) -> Quote | None:
        """Return the quote that a new one updates.

        None if there is none or it was deleted instead.
        """
        own = [quote for quote in self._of(rfq) if quote.account == party.account]
        if keep_id:
            return own[-1] if own else None
        for quote in own:
            if quote.status is QuoteStatus.ACTIVE:
                self._change("quote_deleted", quote, status=QuoteStatus.DELETED)
        return None

    def _check_prices(self, instrument: Instrument, buy_price: Price, sell_price: Price) -> None:
        if not buy_price and not sell_price:
            raise InvalidRequest("buyPrice or sellPrice must be above zero", rule="L13")
        if buy_price and buy_price < sell_price:
            raise InvalidRequest(
                "buyPrice must not be below sellPrice",
                rule="M46",
                remedy="at buyPrice the requester buys, at sellPrice the requester sells",
            )
        self._check_open(instrument.symbol)
        low, high = instrument.price_low, instrument.price_high
        for price in filter(None, (buy_price, sell_price)):
            if price % instrument.tick or not low <= price <= high:
                raise OrderRefused("Price is off the tick or outside the limits", rule="M4")

    def delete_quote(self, account: str, quote_id: str, rfq_id: str = "") -> None:
        """Delete the account's quote: an active one of an open request, or an accepted one."""
        quote = self._quote(account, quote_id, rfq_id)
        if quote.account != account:
            raise PermissionDenied(rule="L13", remedy="only the maker can delete a quote")
        if quote.status is QuoteStatus.ACTIVE:
            self._check_takes_quotes(self._state.rfqs[quote.rfq_id])
        elif quote.status is not QuoteStatus.ACCEPTED:
            raise Conflict(f"the quote is {quote.status.name.lower()}", rule="L13")
        self._change("quote_deleted", quote, status=QuoteStatus.DELETED)

    def accept(self, account: str, quote_id: str, side: Side, rfq_id: str = "") -> None:
        """Accept a side of a quote on one of the account's requests, which closes the request.

        With BUY, the requester buys at the quote's buying price.
        """
        quote = self._quote(account, quote_id, rfq_id)
        rfq = self._state.rfqs[quote.rfq_id]
        if rfq.account != account:
            raise PermissionDenied(rule="L13", remedy="only the requester can accept a quote")
        self._check_takes_quotes(rfq)
        if quote.status is not QuoteStatus.ACTIVE:
            raise Conflict(f"the quote is {quote.status.name.lower()}", rule="L13")
        if not (quote.buy_price if side is BUY else quote.sell_price):
            raise InvalidRequest("acceptedSide is not quoted", rule="L13")
        ctx = self._ctx
        confirm_by = ctx.now + ctx.assumptions.number(RFQ_CONFIRM_WITHIN)
        ctx.timers.schedule(confirm_by, CONFIRM_TIMER, quote_id)
        self._close(rfq, except_quote=quote_id)
        self._change(
            "quote_accepted",
            quote,
            status=QuoteStatus.ACCEPTED,
            accepted=side,
            accepted_at=ctx.now,
            confirm_by=confirm_by,
        )

    def confirm(self, account: str, quote_id: str, rfq_id: str = "") -> None:
        """Confirm one of the account's quotes that was accepted.

        Its orders are entered a moment later.
        """
        quote = self._quote(account, quote_id, rfq_id)
        if quote.account != account:
            raise PermissionDenied(rule="L13", remedy="only the maker can confirm a quote")
        if quote.status is not QuoteStatus.ACCEPTED:
            raise Conflict(f"the quote is {quote.status.name.lower()}", rule="L13")
        ctx = self._ctx
        execute_by = ctx.now + ctx.assumptions.number(RFQ_EXECUTE_AFTER)
        ctx.timers.schedule(execute_by, EXECUTE_TIMER, quote_id)
        confirmed = QuoteStatus.CONFIRMED
        self._change(
            "quote_confirmed", quote, status=confirmed, confirmed_at=ctx.now, execute_by=execute_by
        )

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {CONFIRM_TIMER: self._confirm_too_late, EXECUTE_TIMER: self._execute}

    def _confirm_too_late(self, timer: Timer) -> None:
        quote = self._state.quotes[timer.subject]
        if quote.status is QuoteStatus.ACCEPTED:
            self._change("quote_deleted", quote, status=QuoteStatus.DELETED)

    def _execute(self, timer: Timer) -> None:
        """Enter the orders of a confirmed quote, the maker's first."""
        quote, service = self._state.quotes[timer.subject], self._trading.order_service
        commands = self._orders(quote)
        try:
            for command in commands:
                service.preview(command)
        except Refusal:
            self._change("quote_deleted", quote, status=QuoteStatus.DELETED)
            return
        maker, requester = (service.enter(replace(entry, deferred=True)) for entry in commands)
        self._change(
            "quote_executed",
            quote,
            status=QuoteStatus.EXECUTED,
            executed_at=self._ctx.now,
            quote_order_id=maker.id,
            rfq_order_id=requester.id,
        )

    def _orders(self, quote: Quote) -> tuple[PlaceOrder, PlaceOrder]:
        """Return the orders of the maker and the requester for a confirmed quote."""
        rfq, bought = self._state.rfqs[quote.rfq_id], quote.accepted is BUY
        qty = quote.buy_qty if bought else quote.sell_qty
        price = quote.buy_price if bought else quote.sell_price
        window = self._ctx.now + self._ctx.assumptions.number(RFQ_PAIR_WINDOW)
        rests, until = TimeInForce.GOOD_TILL_CANCEL, TimeInForce.GOOD_TILL_TIME
        maker = PlaceOrder(
            symbol=quote.symbol,
            account=quote.account,
            participant=quote.participant,
            side=SELL if bought else BUY,
            qty=qty,
            price=price,
            tif=rests if quote.rest_remainder else until,
            good_till=None if quote.rest_remainder else window,
            post_only=quote.post_only,
            channel=quote.channel,
            quote_id=quote.id,
        )
        requester = PlaceOrder(
            symbol=quote.symbol,
            account=rfq.account,
            participant=rfq.participant,
            side=quote.accepted,
            qty=qty,
            price=price,
            tif=rests if rfq.rest_remainder else TimeInForce.IMMEDIATE_OR_CANCEL,
            channel=rfq.channel,
            quote_id=quote.id,
        )
        return maker, requester

    # ---- the record

    def _close(self, rfq: Rfq, except_quote: str = "") -> None:
        closed = replace(rfq, status=RfqStatus.CLOSED, updated=self._ctx.now)
        self._state.rfqs[rfq.id] = closed
        self._emit("rfq_closed", closed)
        if self._ctx.assumptions.text(RFQ_LEFT_QUOTES) == "deleted":
            for quote in self._of(rfq):
                if quote.status is QuoteStatus.ACTIVE and quote.id != except_quote:
                    self._change("quote_deleted", quote, status=QuoteStatus.DELETED)

    def _change(self, kind: str, quote: Quote, **changes: object) -> None:
        changed = self._state.quotes[quote.id] = replace(quote, updated=self._ctx.now, **changes)
        self._emit(kind, self._state.rfqs[quote.rfq_id], changed)

    def _emit(self, kind: str, rfq: Rfq, quote: Quote | None = None) -> None:
        self._ctx.emit(RfqChanged(kind, rfq, quote, self._ctx.now, "L13"))

    def _of(self, rfq: Rfq) -> list[Quote]:
        return [self._state.quotes[quote_id] for quote_id in self._quotes_of.get(rfq.id, ())]

    def _quote(self, account: str, quote_id: str, rfq_id: str) -> Quote:
        """Return a quote that the account may see, optionally of a certain request.

        Refused if unknown.
        """
        quote = self._state.quotes.get(quote_id)
        if (
            quote is None
            or rfq_id not in ("", quote.rfq_id)
            or account not in (quote.account, self._state.rfqs[quote.rfq_id].account)
        ):
            raise NotFound(f"unknown quote: {cut(quote_id)}")
        return quote

    def _check_takes_quotes(self, rfq: Rfq) -> None:
        if rfq.status is RfqStatus.CLOSED:
            raise Conflict("the rfq is closed", rule="L13")

    def _check_open(self, symbol: str) -> None:
        if self._trading.state(symbol) is not InstrumentState.OPEN:
            raise OrderRefused(
                f"{symbol} is not open", rule="L13", remedy="request quotes while it trades"
            )

    def save(self) -> RfqsState:
        """Return every request and quote."""
        return self._state

    def load(self, state: object) -> None:
        """Restore saved requests and quotes. Their timers are saved with all others."""
        self._index(convert(state, RfqsState))

    def _index(self, state: RfqsState) -> None:
        self._state = state
        self._quotes_of: dict[str, list[str]] = {}
        for quote in state.quotes.values():
            self._quotes_of.setdefault(quote.rfq_id, []).append(quote.id)


def _size(rfq: Rfq, instrument: Instrument, price: Price) -> Qty:
    """Return the quantity of a side: as requested, or what the requested cash buys.

    Refuses a quantity that is too small.
    """
    if not price:
        return 0
    qty = rfq.qty or rfq.cash // (price * instrument.cash_per_notional)
    if qty < instrument.min_qty:
        text = "cashOrderQty at this price is below the minimum quantity"
        raise InvalidRequest(text, rule="L13", remedy='send "0" for this side')
    return qty
