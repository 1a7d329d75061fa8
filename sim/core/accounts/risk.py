"""Collateral: what an account may spend, and what its open orders could cost (rules P1-P8).

Everything is prepaid (P1). A contract pays one dollar or nothing, so the maximum loss is known when
a trade happens, and the exchange takes it then. Nobody can owe it anything.

## What a position costs

| Trade | Cash | Margin |
|---|---|---|
| buy, opening | pays the price | none: at worst, the price is lost |
| sell, opening | receives the price | one dollar per contract, which the buyer may be owed |
| closing | the reverse of the opening trade | closing a short returns its dollar |

buying power = balance - one dollar for each short contract + collateral returns

## What an order reserves

An order may fill at any moment, so its cost at its limit price must be available: the price for a
bid, one dollar less the price for an offer (`unit_cost`), and the taker's fee (P4). Three rules
make the reservation smaller than the sum over all orders:

- *Opening only.* The part of an order that closes a position costs nothing. The most expensive
  orders of a side close first, because they have the best prices and would trade first
  (`Reserve.opening`).
- *The worse side only.* Bids and offers of one instrument cannot both end up open: what the offers
  sell, the bids have bought. So an instrument reserves the more expensive of "all bids fill" and
  "all offers fill" (`Exposure.worst`, P3).
- *One instrument at a time.* Reservations of different instruments do not add up (P3): an account
  may quote everywhere with the same dollar. When a fill spends that dollar, orders elsewhere that
  are no longer covered are canceled (P5, `unfunded`). A withdrawal must leave the largest
  reservation (P6).

The check uses the worst outcome and not the likely one, because a check that depends on the
behaviour of others could pass and still leave a debt. This one depends on the account alone and
holds whatever happens next.

## Collateral return

Some short positions cannot all lose: of mutually exclusive outcomes, at most one pays. An account
with collateral return gets back the margin that cannot be needed (P8, `model/collateral.py`). The
return of a group of related instruments counts as buying power everywhere except in that group,
where it would increase the risk that freed it. Closing a hedge loses the return, so that has a
cost, too (`_unhedging_cost`).

## Consistency

All of this follows from balances, positions and open orders, so none of it is saved. After `load`,
the risk book of an account is computed on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

from sim.core.accounts.ledger import Account, Ledger
from sim.core.accounts.positions import Position, Positions
from sim.core.model.collateral import Holding, Related, returned
from sim.core.model.enums import BUY, STOP, Side
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Order
from sim.core.model.quantities import CENT, DOLLAR, Cash, Notional, Price, Qty, cash_text
from sim.core.model.refusals import InsufficientFunds
from sim.core.model.why import Facts


class Reserve:
    """Open orders of one account on one side of one instrument.

    Quantities are grouped by cost per unit; sums are in notional units.
    """

    __slots__ = ("_by_unit", "cost", "qty")

    def __init__(self) -> None:
        self._by_unit: dict[Price, Qty] = {}
        self.qty: Qty = 0
        self.cost: Notional = 0

    def change(self, unit: Price, qty: Qty) -> None:
        """Add a quantity at a cost per unit, or remove it when negative."""
        by_unit = self._by_unit
        reserved_qty = by_unit.get(unit, 0) + qty
        if reserved_qty:
            by_unit[unit] = reserved_qty
        else:
            del by_unit[unit]
        self.qty += qty
        self.cost += unit * qty

    def opening(self, closable: Qty) -> Notional:
        """Return the cost of what does not close an opposite position of `closable` (rule P3)."""
        if closable <= 0:
            return self.cost
        if closable >= self.qty:
            return 0
        cost = self.cost
        for unit in sorted(self._by_unit, reverse=True):
            closing = min(closable, self._by_unit[unit])
            cost -= unit * closing
            closable -= closing
            if not closable:
                break
        return cost

    def closing_first(self, unit: Price) -> Qty:
        """Return the quantity that closes a position before an order of this cost does."""
        return sum(qty for other, qty in self._by_unit.items() if other >= unit)


class Exposure:
    """Open orders of one account in one instrument. `factor` converts notional units to cash."""

    __slots__ = ("bids", "factor", "instrument", "offers")

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self.factor = instrument.cash_per_notional
        self.bids = Reserve()
        self.offers = Reserve()

    def side(self, side: Side) -> Reserve:
        """Return the reserve of a side."""
        return self.bids if side is BUY else self.offers

    def gross(self) -> Cash:
        """Return an upper bound of the reservation, as if no order closed a position."""
        bids, offers = self.bids.cost, self.offers.cost
        return (bids if bids > offers else offers) * self.factor

    def worst(self, net: Qty) -> Cash:
        """Return the larger cost of "all bids fill" and "all offers fill" from a net position."""
        return max(self.bids.opening(-net), self.offers.opening(net)) * self.factor


class _Book:
    """The risk book of one account.

    | Field | Meaning |
    |---|---|
    | `margin` | one dollar for each short contract |
    | `returns` | the part of it that each group of related instruments returns |
    | `groups` | the instruments of each group that the account ever held |
    | `bound` | upper bound of any instrument's reservation: a larger balance covers all orders |
    """

    __slots__ = ("account", "bound", "exposures", "groups", "margin", "returns")

    def __init__(self, account: Account) -> None:
        self.account = account
        self.margin: Cash = 0
        self.bound: Cash = 0
        self.exposures: dict[str, Exposure] = {}
        self.returns: dict[str, Cash] = {}
        self.groups: dict[str, dict[str, Instrument]] = {}

    def power(self) -> Cash:
        """Balance less margin, without deduction of open orders (rules P2, P3)."""
        power = self.account.balance - self.margin
        return power + sum(self.returns.values()) if self.returns else power

    def power_for(self, instrument: Instrument) -> Cash:
        """Return what may be spent on opening in an instrument, without its group's return (P8)."""
        if self.returns and instrument.related is not None:
            return self.power() - self.returns.get(instrument.related.group, 0)
        return self.power()


class Risk:
    """Checks orders before they trade, and tracks margin and reservations of every account."""

    def __init__(self, ledger: Ledger, positions: Positions, instruments: Instruments) -> None:
        self._ledger = ledger
        self._positions = positions
        self._instruments = instruments
        self._books: dict[str, _Book] = {}
        self._working: dict[str, list[Order]] = {}

    def margin_requirement(self, account: str) -> Cash:
        """Return one dollar for every short contract, less collateral returns (rules P2, P8)."""
        book = self._books.get(account)
        return book.margin - sum(book.returns.values()) if book is not None else 0

    def buying_power(self, account: str) -> Cash:
        """Return the balance less margin, without deduction of open orders (rules P2, P3)."""
        return self._book(account).power()

    def open_orders(self, account: str) -> Cash:
        """Return the largest reservation of any instrument, which a withdrawal must leave (P6)."""
        book = self._existing_book(account)
        if book is None:
            return 0
        net = self._positions.net
        worst = (
            exposure.worst(net(account, symbol)) for symbol, exposure in book.exposures.items()
        )
        return max(worst, default=0)

    def working(self, account: str, symbol: str, side: Side) -> Qty:
        """Return the quantity of an account's working orders on one side of an instrument."""
        book = self._existing_book(account)
        exposure = book.exposures.get(symbol) if book is not None else None
        return exposure.side(side).qty if exposure is not None else 0

    def closable(self, position: Position) -> Qty:
        """Return the signed quantity of a position that no working order would close."""
        long = position.net > 0
        working = self.working(position.account, position.symbol, Side.SELL if long else Side.BUY)
        return max(position.net - working, 0) if long else min(position.net + working, 0)

    def certainly_affords(self, order: Order, instrument: Instrument) -> bool:
        """Return whether an account can pay for an order whatever positions and orders it has.

        No fee exceeds the cost of its order, rounded up to a cent, so twice the cost is
        an upper bound.
        """
        book = self._books.get(order.account) or self._book(order.account)
        most = 2 * unit_cost(order, instrument) * order.leaves_qty
        if exposure := book.exposures.get(instrument.symbol):
            most += exposure.bids.cost + exposure.offers.cost
        power = book.account.balance - book.margin
        return most * instrument.cash_per_notional + CENT <= power and not book.returns

    def check(
        self, order: Order, instrument: Instrument, fee: Callable[[Order, Instrument], Cash]
    ) -> None:
        """Refuse an order if the account could not pay for the more expensive side (rules P3, P4).

        The fee counts for the opening part only: a closing fill always earns more than its fee.
        """
        if self.certainly_affords(order, instrument):
            return
        book, unit = self._book(order.account), unit_cost(order, instrument)
        power = book.power_for(instrument)
        needed, opening = self._worst_case(order, instrument, unit)
        needed += fee(order, instrument) * opening // order.leaves_qty
        if book.returns:
            if not opening:
                power = book.power()
            needed += self._unhedging_cost(book, order, instrument, order.leaves_qty - opening)
        if needed > power:
            text = f"{cash_text(power)} USD available, requested {cash_text(needed)}"
            remedy = "deposit, cancel orders in this instrument, or reduce the order"
            facts: Facts = {"needed": cash_text(needed), "available": cash_text(power)}
            raise InsufficientFunds(text, rule="P4", facts=facts, remedy=remedy)

    def _unhedging_cost(
        self, book: _Book, order: Order, instrument: Instrument, closing: Qty
    ) -> Cash:
        """Return the cost of closing a hedge: the lost return less the proceeds of
        the fill (P8).
        """
        related = instrument.related
        if related is None or not closing or related.group not in book.returns:
            return 0
        signed = closing if order.side is BUY else -closing
        released = closing * (DOLLAR // instrument.qty_scale) if order.side is BUY else 0
        kept = self._returned(book, related, {instrument.symbol: signed})
        lost = book.returns[related.group] - kept
        return max(0, lost - released + signed * order.price * instrument.cash_per_notional)

    def _returned(self, book: _Book, related: Related, moves: dict[str, Qty]) -> Cash:
        """Return the collateral return of a group once positions have changed by `moves`."""
        holdings = []
        for symbol, instrument in book.groups.get(related.group, {}).items():
            net = self._positions.net(book.account.name, symbol) + moves.get(symbol, 0)
            if net and instrument.related is not None:
                worth = net * (DOLLAR // instrument.qty_scale)
                holdings.append(Holding(instrument.related.rank, worth))
        return returned(related.kind, holdings)

    def _worst_case(self, order: Order, instrument: Instrument, unit: Price) -> tuple[Cash, Qty]:
        """Return the worst case with the order, and how much of it would open a position."""
        net = self._positions.net(order.account, order.symbol)
        closable = -net if order.side is BUY else net
        exposure = self._exposure(self._book(order.account), instrument)
        reserve = exposure.side(order.side)
        closing = min(order.leaves_qty, max(0, closable - reserve.closing_first(unit)))
        reserve.change(unit, order.leaves_qty)
        needed = exposure.worst(net)
        reserve.change(unit, -order.leaves_qty)
        return needed, order.leaves_qty - closing

    def reserve(self, order: Order, instrument: Instrument, qty: Qty) -> None:
        """Reserve the possible cost of a quantity of an order."""
        book = self._books.get(order.account) or self._book(order.account)
        exposure = book.exposures.get(order.symbol) or self._exposure(book, instrument)
        reserve = exposure.bids if order.side is BUY else exposure.offers
        reserve.change(unit_cost(order, instrument), qty)
        cost = reserve.cost * exposure.factor
        if cost > book.bound:
            book.bound = cost

    def release(self, order: Order, instrument: Instrument, qty: Qty) -> None:
        """Release the reservation of a quantity of a working order."""
        book = self._books.get(order.account) or self._book(order.account)
        exposure = book.exposures[order.symbol]
        reserve = exposure.bids if order.side is BUY else exposure.offers
        reserve.change(unit_cost(order, instrument), -qty)

    def position_changed(self, account: str, instrument: Instrument, net: tuple[Qty, Qty]) -> None:
        """Update margin and returns after a position's net changed from `net[0]` to `net[1]`."""
        before, after = net
        if before < 0 or after < 0:
            short = (-after if after < 0 else 0) - (-before if before < 0 else 0)
            self._book(account).margin += short * (DOLLAR // instrument.qty_scale)
        if instrument.related is not None:
            self._update_return(self._book(account), instrument, instrument.related)

    def _update_return(self, book: _Book, instrument: Instrument, related: Related) -> None:
        """Recompute the collateral return of a group."""
        if not book.account.collateral_return:
            return
        book.groups.setdefault(related.group, {})[instrument.symbol] = instrument
        amount = self._returned(book, related, {})
        if amount:
            book.returns[related.group] = amount
        else:
            book.returns.pop(related.group, None)

    def unfunded(self, account: str, but: str) -> list[Exposure]:
        """Return the instruments other than `but` whose open orders are no longer covered (P5)."""
        book = self._book(account)
        power = book.power()
        if power >= book.bound and not book.returns:
            return []
        book.exposures = {
            symbol: exposure
            for symbol, exposure in book.exposures.items()
            if exposure.bids.qty or exposure.offers.qty
        }
        book.bound = max((exposure.gross() for exposure in book.exposures.values()), default=0)
        return [
            exposure
            for symbol, exposure in sorted(book.exposures.items())
            if symbol != but
            and exposure.gross() > (power := book.power_for(exposure.instrument))
            and exposure.worst(self._positions.net(account, symbol)) > power
        ]

    def overspent(self, account: str, exposure: Exposure, side: Side) -> bool:
        """Return whether one side of an instrument costs more than the account can pay."""
        net = self._positions.net(account, exposure.instrument.symbol)
        cost = exposure.side(side).opening(-net if side is BUY else net)
        return cost * exposure.factor > self._book(account).power_for(exposure.instrument)

    def reservations(self, symbols: Set[str] | None = None) -> Iterator[tuple[str, str, Cash]]:
        """Yield (account, symbol, cash) for every reservation, sorted; `symbols` restricts them."""
        for account in list(self._working):
            self._book(account)
        for account, book in sorted(self._books.items()):
            exposures = book.exposures
            for symbol in sorted(exposures if symbols is None else exposures.keys() & symbols):
                worst = exposures[symbol].worst(self._positions.net(account, symbol))
                yield account, symbol, worst

    def load(self, working: dict[str, list[Order]]) -> None:
        """Forget everything; the caller then reports every position (`position_changed`).

        The `working` orders of an account are counted on first use of its book.
        """
        self._books.clear()
        self._working = working

    def _exposure(self, book: _Book, instrument: Instrument) -> Exposure:
        exposure = book.exposures.get(instrument.symbol)
        if exposure is None:
            exposure = book.exposures[instrument.symbol] = Exposure(instrument)
        return exposure

    def _book(self, account: str) -> _Book:
        book = self._books.get(account)
        if book is None:
            book = self._books[account] = _Book(self._ledger.require(account))
            if account in self._working:
                self._count(account, self._working.pop(account))
        return book

    def _count(self, account: str, working: list[Order]) -> None:
        alike: dict[tuple[str, Side, Price, bool], Order] = {}
        qty: dict[tuple[str, Side, Price, bool], Qty] = {}
        for order in working:
            key = order.symbol, order.side, order.price, order.type is STOP
            try:
                qty[key] += order.leaves_qty
            except KeyError:
                qty[key] = order.leaves_qty
                alike[key] = order
        for key, order in alike.items():
            instrument = self._instruments.require(order.symbol)
            self.reserve(order, instrument, qty[key])

    def _existing_book(self, account: str) -> _Book | None:
        return self._book(account) if account in self._working else self._books.get(account)


def unit_cost(order: Order, instrument: Instrument) -> Price:
    """Return the cost of one unit of an order, in price units.

    A stop order has no price yet and may trade anywhere within the price band.
    """
    price = order.price
    if order.side is BUY:
        return instrument.price_high if order.type is STOP else price
    return instrument.price_scale - (instrument.price_low if order.type is STOP else price)
