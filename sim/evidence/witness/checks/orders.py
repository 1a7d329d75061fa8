"""What an order can have been through: its figures, its life, its executions and its fills."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import Number, ReportedExecution, ReportedOrder
from sim.evidence.witness.observation import ClientObservation


class OrderFigures(WitnessCheck):
    """In each view of a working order, filled quantity plus open quantity equals order quantity.

    A closed order has no open quantity. Orders for an amount of cash have no order quantity and are
    not checked. A filled order may have been reduced, so `cum` is compared with the quantity that
    the same view shows.
    """

    name = "order figures"
    depends_on = "§2.7: cum_qty is the filled, leaves_qty the open quantity"

    def order(self, fact: ReportedOrder, observed: ClientObservation) -> None:
        if fact.cash_order_qty or not fact.order_qty:
            self.cannot_tell += 1
            return
        self.applied += 1
        wrong = ""
        if fact.cum_qty < 0 or fact.leaves_qty < 0 or fact.cum_qty > fact.order_qty:
            wrong = f"filled {fact.cum_qty}, open {fact.leaves_qty}, ordered {fact.order_qty}"
        elif fact.is_over and fact.leaves_qty:
            wrong = f"state {_state(fact)}, but {fact.leaves_qty} still open"
        elif not fact.is_over and fact.cum_qty + fact.leaves_qty != fact.order_qty:
            sum_ = f"filled {fact.cum_qty} plus open {fact.leaves_qty}"
            wrong = f"{sum_} is not the ordered {fact.order_qty}"
        elif fact.state == "ORDER_STATE_FILLED" and fact.cum_qty != fact.order_qty:
            wrong = f"state FILLED, but only {fact.cum_qty} of {fact.order_qty} filled"
        if wrong:
            self.contradict(f"{observed.source} shows order {fact.id}: {wrong}", [observed.n])

    past_order = order


class OrderLife(WitnessCheck):
    """The filled quantity of an order never decreases, a closed order never changes, and every
    view of as much filled shows the same average price and commission.

    `lastTransactTime` decides which of two views is later, not when they were received: a stream
    may deliver old views late. Two views with the same instant are not compared, because several
    things can happen in one instant. A view is compared only with the latest view so far, so the
    work is linear. What is filled decides the average price and the commission, whatever else
    happens to the order; until a replace, its price and quantity are those of its entry.
    """

    name = "order life"
    depends_on = "§2.7, §3.3, §3.4: figures and states of an order, and which are final"

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[tuple[str, str], tuple[ReportedOrder, int]] = {}

    def order(self, fact: ReportedOrder, observed: ClientObservation) -> None:
        filled = fact.id, fact.dialect, fact.cum_qty
        contents: dict[Hashable, tuple[object, ...]] = {
            fact.id: (fact.symbol, _is_buy(fact)),
            filled: (fact.avg_px, fact.commission),
        }
        if fact.type == "ORDER_TYPE_LIMIT" and fact.state in _AS_ENTERED:
            contents[(*filled, fact.state)] = fact.price, fact.order_qty, fact.leaves_qty
        self.equal_everywhere(f"order {fact.id} with {fact.cum_qty} filled", contents, observed.n)
        if fact.at:
            self._follow(fact, observed)
        else:
            self.cannot_tell += 1

    past_order = order

    def _follow(self, fact: ReportedOrder, observed: ClientObservation) -> None:
        """Compare a view with the latest one so far."""
        key = fact.dialect, fact.id
        latest, line = self._views.setdefault(key, (fact, observed.n))
        if fact.at == latest.at:
            return
        self.applied += 1
        old, new = (fact, latest) if fact.at < latest.at else (latest, fact)
        if fact.at > latest.at:
            self._views[key] = fact, observed.n
        if new.cum_qty < old.cum_qty:
            earlier, later = (f"{view.cum_qty} at {view.at}Z" for view in (old, new))
            text = f"order {fact.id}: filled {earlier}, only {later}"
            self.contradict(text, [line, observed.n])
        elif old.is_over and (new.state, new.cum_qty) != (old.state, old.cum_qty):
            self.contradict(
                f"order {fact.id} was closed at {old.at}Z ({_state(old)}, filled {old.cum_qty}), "
                f"but at {new.at}Z it is {_state(new)}, filled {new.cum_qty}",
                [line, observed.n],
            )


_DECIMALS = Decimal("0.0001")  # as many as the retail API shows
# An order in these states has been filled, if anything, since it was entered or replaced.
_AS_ENTERED = ("ORDER_STATE_NEW", "ORDER_STATE_PARTIALLY_FILLED")


class ExecutionContent(WitnessCheck):
    """Every report of an execution has the same content, on every surface and in every unit.

    An execution may be reported twice (delivery is at least once). The surfaces are compared in
    dollars and contracts, with four decimals, if the order names its scales. Names of accounts and
    orders, and texts, are not compared, because they may be hidden from some readers.
    """

    name = "execution content"
    depends_on = "§2.7: clients drop duplicates by the id of an execution"

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        order = fact.order
        words = (
            *(fact.type, fact.trade_id, fact.aggressor, fact.unsolicited, fact.at),
            *(order.id, order.symbol, _is_buy(order), order.state),
        )
        quantities = fact.last_shares, order.order_qty, order.cum_qty, order.leaves_qty
        price = fact.last_px if fact.is_fill else 0
        exact = *words, *quantities, fact.commission, price
        key = order.dialect, fact.id, fact.commission is None
        contents: dict[Hashable, tuple[object, ...]] = {key: exact}
        if order.qty_scale and order.price_scale:
            figures = [order.contracts(qty) for qty in quantities if fact.is_fill or qty]
            unit = order.price_scale * order.qty_scale
            amounts = [Decimal(it) / unit for it in (fact.commission or 0, order.commission)]
            amounts = [amount.quantize(_DECIMALS, ROUND_HALF_EVEN) for amount in amounts]
            contents[fact.id] = *words, *figures, *amounts, order.dollars(price)
        self.equal_everywhere(f"execution {fact.id} of order {order.id}", contents, observed.n)


def _is_buy(order: ReportedOrder) -> bool:
    return order.side.endswith("BUY")


class _Filled(NamedTuple):
    """A fill as it extends what is filled of its order: from `start` to `end`."""

    start: Number
    end: Number
    price: Number
    id: str
    line: int


class FillsOnce(WitnessCheck):
    """No part of an order is filled twice, and the fills give its average price.

    A fill of 3 after which 10 are filled covers the range from 7 to 10. Ranges of different
    executions of an order must not overlap. If they start at zero and have no gap, they must give
    the order's average price, within one unit of the last decimal place.
    """

    name = "fills once"
    depends_on = "§2.7: cum_qty is the sum and avg_px the weighted mean of the fills"

    def __init__(self) -> None:
        super().__init__()
        self._fills: dict[tuple[str, str], dict[str, _Filled]] = defaultdict(dict)
        self._means: dict[tuple[str, str], tuple[Number, Number, int]] = {}

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        if not fact.is_fill:
            return
        order = fact.order
        key = order.dialect, order.id
        stretch = _Filled(
            order.cum_qty - fact.last_shares, order.cum_qty, fact.last_px, fact.id, observed.n
        )
        self._fills[key].setdefault(fact.id, stretch)
        earlier = self._means.get(key)
        if earlier is None or order.cum_qty > earlier[0]:
            self._means[key] = order.cum_qty, order.avg_px, observed.n

    def finish(self) -> None:
        for key, fills in self._fills.items():
            stretches = sorted(fills.values())
            gapless = stretches[0].start == 0
            for fill, other in itertools.pairwise(stretches):
                self.applied += 1
                gapless &= fill.end == other.start
                if other.start < fill.end:
                    self.contradict(
                        f"executions {fill.id} and {other.id} both fill the range from "
                        f"{other.start} to {fill.end} of order {key[1]}",
                        [fill.line, other.line],
                    )
            if gapless:
                self._mean(key, stretches)
            else:
                self.cannot_tell += 1

    def _mean(self, key: tuple[str, str], stretches: list[_Filled]) -> None:
        cum, average, line = self._means[key]
        self.applied += 1
        sum_ = sum((fill.end - fill.start) * fill.price for fill in stretches)
        unit = Decimal(1) if key[0] == "exchange" else Decimal("0.0001")
        if abs(Decimal(sum_) / Decimal(cum) - Decimal(average)) >= unit:
            self.contradict(
                f"order {key[1]} shows an average price of {average}, but its {len(stretches)} "
                f"fills average {Decimal(sum_) / Decimal(cum):.6f}",
                [*[fill.line for fill in stretches[:4]], line],
            )


class OneEnd(WitnessCheck):
    """An order ends only once, and is not filled after its end.

    FILLED is an end too. The instants of the executions and the filled quantities decide the
    order of events.
    """

    name = "one end"
    depends_on = "§3.3, §3.4: CANCELED, EXPIRED, REJECTED and FILLED are final"

    _ENDS = frozenset(f"EXECUTION_TYPE_{end}" for end in ("CANCELED", "EXPIRED", "REJECTED"))

    def __init__(self) -> None:
        super().__init__()
        self._ends: dict[tuple[str, str], tuple[ReportedExecution, int]] = {}
        self._fills: dict[tuple[str, str], tuple[ReportedExecution, int]] = {}

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        key = fact.order.dialect, fact.order.id
        if fact.type in self._ENDS:
            first, line = self._ends.setdefault(key, (fact, observed.n))
            self.applied += line != observed.n
            if first.id != fact.id:
                self.contradict(
                    f"order {key[1]} ended twice: {_type(first)} by execution {first.id}, "
                    f"{_type(fact)} by execution {fact.id}",
                    [line, observed.n],
                )
        elif fact.is_fill:
            latest = self._fills.get(key)
            if latest is None or latest[0].at < fact.at:
                self._fills[key] = fact, observed.n

    def finish(self) -> None:
        for key, (end, line) in self._ends.items():
            fill = self._fills.get(key)
            if fill is None:
                continue
            self.applied += 1
            if fill[0].at > end.at or fill[0].order.cum_qty > end.order.cum_qty:
                self.contradict(
                    f"order {key[1]} was {_type(end)} at {end.at}Z with {end.order.cum_qty} "
                    f"filled, but execution {fill[0].id} fills it at {fill[0].at}Z",
                    [line, fill[1]],
                )


def _state(order: ReportedOrder) -> str:
    return order.state.removeprefix("ORDER_STATE_")


def _type(execution: ReportedExecution) -> str:
    return execution.type.removeprefix("EXECUTION_TYPE_")
