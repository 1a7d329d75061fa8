"""What becomes of a trade: it clears, or is busted (rule M42)."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

from sim.kernel.instants import Instant
from sim.oracle.fills import apply_fill, begin_day, expect_position, move_cash
from sim.oracle.hearing import Hearing
from sim.oracle.lifecycle import is_final
from sim.oracle.maintenance import MaintenanceRules
from sim.oracle.money import unit
from sim.oracle.state import BUY, Document, Market
from sim.read.observed import ObservedInput

TRADE_NEW, CLEARED, BUSTED = 1, 2, 3
CORRECTION = 4


@dataclass(slots=True)
class Deal:
    """A trade: what changed hands, and for each side the account, 1 or -1, and the commission."""

    symbol: str = ""
    price: int = 0
    qty: int = 0
    state: int = TRADE_NEW
    at: Instant = 0
    clears: Instant = 0
    sides: list[tuple[str, int, int]] = field(default_factory=list)


class ClearingRules:
    """Remembers every trade of the run, and those that it began with."""

    def __init__(self, hearing: Hearing, maintenance: MaintenanceRules) -> None:
        self._hearing = hearing
        self._maintenance = maintenance
        self._deals: dict[str, Deal] = {}
        self._due: list[tuple[Instant, str]] = []
        self._collected = -1
        exchange = hearing.exchange
        delay = exchange.assumed("clearing.delay")
        for row in exchange.beginning.trades:
            deal = self._enter(row["id"], row | {"state": row.get("state", TRADE_NEW)})
            deal.at, deal.clears = row["at"], row["at"] + delay
            deal.sides = [_side(row["aggressor"]), _side(row["passive"])]
            if deal.state == TRADE_NEW:
                heappush(self._due, (deal.clears, row["id"]))
        for market in exchange.markets.values():
            self._set_reference(market)

    def _enter(self, trade_id: str, row: Document) -> Deal:
        deal = self._deals.setdefault(trade_id, Deal())
        deal.symbol, deal.price, deal.qty = row["symbol"], row["price"], row["qty"]
        deal.state = row["state"]
        self._hearing.exchange.market(deal.symbol).trades.append(trade_id)
        return deal

    # ---- events

    def changed(self, event: Document) -> None:
        """Judge that a trade changes its state, before it does."""
        self._collect()
        deal, state = self._deals.get(event["id"]), event["state"]
        if deal is None or state == TRADE_NEW:
            if not self._hearing.doubt:
                self._disagree(event, "nothing", "a trade")
            return
        if (event["price"], event["qty"]) != (deal.price, deal.qty):
            self._disagree(event, f"{deal.qty} at {deal.price}", "another trade")
        if state == CLEARED:
            fired = {row["at"] for row in self._hearing.observed.out.get("fired", ())}
            in_time = fired & {deal.clears, self._now_due(deal)} or self._maintenance.acts()
            if deal.state != TRADE_NEW or not in_time:
                self._disagree(event, f"cleared at {deal.clears}", f"at {sorted(fired)}")
        elif state != BUSTED or not self._may_bust(event["id"]):
            self._disagree(event, "no bust", f"state {state}")
        else:
            self._reverse(event["id"], deal)
        deal.state = state

    def _now_due(self, deal: Deal) -> Instant:
        """Return when a trade clears if the delay was changed since it was entered."""
        delay: int = self._hearing.exchange.assumed("clearing.delay")
        return deal.at + delay

    def _may_bust(self, trade_id: str) -> bool:
        """Return whether a trade may be busted: once, and not after its settlement (rule M42)."""
        deal = self._deals.get(trade_id)
        if deal is None or deal.state == BUSTED:
            return False
        return not is_final(self._hearing.exchange.market(deal.symbol))

    def _reverse(self, trade_id: str, deal: Deal) -> None:
        """Expect that contracts go back at the price of the trade, and cash with the fee (M42)."""
        exchange = self._hearing.exchange
        market = exchange.market(deal.symbol)
        for account, sign, commission in deal.sides:
            held = exchange.position(account, deal.symbol)
            before = held.net, held.cost, held.realized
            begin_day(exchange, held)
            held.fees -= commission
            apply_fill(held, -sign, deal.qty, deal.price)
            expect_position(exchange, account, deal.symbol, held, before, "M42")
            amount = sign * deal.qty * deal.price + commission
            move_cash(exchange, (account, deal.symbol), CORRECTION, amount * unit(market), "M42")
        market.trades.remove(trade_id)
        self._set_reference(market)

    def _set_reference(self, market: Market) -> None:
        """Take the last price of the trades that are left as the reference (rule L17)."""
        market.reference = self._deals[market.trades[-1]].price if market.trades else None

    # ---- what is owed

    def _collect(self) -> None:
        """Take over the trades of this input."""
        observed = self._hearing.observed
        if self._collected == observed.seq:
            return
        self._collected = observed.seq
        delay = self._hearing.exchange.assumed("clearing.delay")
        for event in observed.events:
            if event["event"] == "Executed" and event["execution"].get("last_qty"):
                execution = event["execution"]
                deal = self._deals.setdefault(execution["trade_id"], Deal())
                deal.sides.append(_side(execution))
                deal.at, deal.clears = execution["at"], execution["at"] + delay
            elif event["event"] == "Traded" and event["state"] == TRADE_NEW:
                deal = self._enter(event["id"], event)
                heappush(self._due, (deal.clears, event["id"]))

    def after_input(self, observed: ObservedInput) -> None:
        """Judge that trades cleared in time (rule M42)."""
        self._collect()
        self._answered(observed)
        while self._due and self._due[0][0] < observed.now:
            _, trade_id = heappop(self._due)
            deal = self._deals[trade_id]
            if deal.state != TRADE_NEW or self._maintenance.covers(observed.now):
                continue
            if self._now_due(deal) < observed.now:
                self._disagree({"id": trade_id}, f"cleared at {deal.clears}", "nothing")

    def _answered(self, observed: ObservedInput) -> None:
        """Judge that a bust happened or was refused (rules M42, T1)."""
        if observed.input.get("action") != "trade.bust":
            return
        trade_id, refused = observed.input["subject"], "message" in observed.out
        deal = self._deals.get(trade_id)
        if (not refused and (deal is None or deal.state != BUSTED)) or (
            refused and self._may_bust(trade_id)
        ):
            self._disagree({"id": trade_id}, "a bust", "nothing")

    def _disagree(self, event: Document, expected: str, observed: str) -> None:
        sentence = f"trade {event['id']}: {observed}, not {expected}"
        self._hearing.disagree("M42", expected, observed, sentence)


def _side(execution: Document) -> tuple[str, int, int]:
    order = execution["order"]
    return order["account"], 1 if order["side"] == BUY else -1, execution.get("commission", 0)
