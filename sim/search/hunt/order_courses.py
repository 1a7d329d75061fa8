"""Courses of orders, positions and money."""

from __future__ import annotations

from sim.kernel.entropy import RandomStream
from sim.kernel.instants import NS_PER_S, minutes
from sim.search.hunt.course_parts import Body, Inputs, Parts

_SELF_MATCH = ("REJECT_AGGRESSOR", "CANCEL_RESTING", "REMOVE_BOTH")


class OrderCourses(Parts):
    """Sequences of order requests by partners and retail users."""

    def replace(self, choices: RandomStream) -> Inputs:
        """Place an order, change its price or quantity, and cancel it, perhaps twice."""
        who, symbol = choices.choice(self._partners()), self._symbol(choices)
        if choices.chance(1, 2):
            other = self._order(choices, symbol, "SELL", choices.between(50, 55))
            yield self._call(choices, "OrderEntryAPI.InsertOrder", other, self._other(choices, who))
        body = self._order(choices, symbol, "BUY", choices.between(40, 49))
        yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)
        for _ in range(choices.between(1, 3)):
            orders = self._working(who)
            if not orders:
                return
            order = orders[0]
            change: Body = {"orderId": order.id, "symbol": order.symbol}
            if choices.chance(2, 3):
                scale = order.price_scale
                change["price"] = str(choices.between(40, 56) * scale // 100)
            if choices.chance(2, 3):
                change["orderQty"] = str(choices.between(1, 40))
            yield self._call(choices, "OrderEntryAPI.CancelReplaceOrder", change, who)
            if choices.chance(1, 2):
                cancel = {"orderId": order.id, "symbol": order.symbol}
                yield self._call(choices, "OrderEntryAPI.CancelOrder", cancel, who)

    def same_name(self, choices: RandomStream) -> Inputs:
        """Place two orders with the same client order id: while the first works, and afterwards."""
        who, symbol = choices.choice(self._partners()), self._symbol(choices)
        for _ in range(2):
            body = self._order(choices, symbol, "BUY", choices.between(2, 4), clordId="same")
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)
        working = self._working(who)
        if working and choices.chance(1, 2):
            body = {"orderId": working[0].id, "symbol": symbol}
            yield self._call(choices, "OrderEntryAPI.CancelOrder", body, who)
            body = self._order(choices, symbol, "BUY", 3, clordId="same")
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)

    def self_match(self, choices: RandomStream) -> Inputs:
        """Place orders of one account on both sides, with each mode of self-match prevention."""
        who, symbol = choices.choice(self._partners()), self._symbol(choices)
        smp = {
            "selfMatchPreventionInstruction": "SELF_MATCH_PREVENTION_INSTRUCTION_"
            + choices.choice(_SELF_MATCH),
            "selfMatchPreventionId": "s",
        }
        for side, price in (("BUY", 52), ("BUY", 51), ("SELL", 50)):
            body = self._order(choices, symbol, side, price, **smp)
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)

    def stops(self, choices: RandomStream) -> Inputs:
        """Place stop orders, and trade to trigger them."""
        who, symbol = choices.choice(self._partners()), self._symbol(choices)
        other, scale = self._other(choices, who), self._scale(symbol)
        for kind in ("ORDER_TYPE_STOP", "ORDER_TYPE_STOP_LIMIT"):
            body = self._order(choices, symbol, "BUY", 55, type=kind, stopPrice=str(50 * scale))
            if kind == "ORDER_TYPE_STOP":
                del body["price"]
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)
        for price in (50, 51, 52):
            body = self._order(choices, symbol, "SELL", price)
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, other)
        body = self._order(choices, symbol, "BUY", 50)
        yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)

    def out_of_bounds(self, choices: RandomStream) -> Inputs:
        """Place orders outside the band, off the tick, with zero quantity, and without money."""
        who, symbol = choices.choice(self._partners()), self._symbol(choices)
        scale = self._scale(symbol)
        wrong = (
            {"price": str(100 * scale)},
            {"price": "0"},
            {"price": str(-5)},
            {"price": f"{50 * scale + 1}"},
            {"orderQty": "0"},
            {"orderQty": "99999999"},
            {"orderQty": str(2**40)},
        )
        for _ in range(2):
            body = self._order(choices, symbol, choices.choice(("BUY", "SELL")), 50)
            body |= choices.choice(wrong)
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)

    def slow_engine(self, choices: RandomStream) -> Inputs:
        """Place, replace and cancel orders while the engine is slow."""
        slow = {"value": choices.choice(("500ms", "2s", "6s"))}
        yield self._do("assumption.set", "engine.latency", slow)
        yield from self.replace(choices)
        yield from self._wait(choices.choice((NS_PER_S, 8 * NS_PER_S)))
        yield from self.out_of_bounds(choices)
        yield from self._wait(40 * NS_PER_S)

    def sweep(self, choices: RandomStream) -> Inputs:
        """Place retail market orders into a book, in both directions."""
        symbol = self._symbol(choices)
        yield from self._book(choices, symbol)
        price = {"value": "0.50", "currency": "USD"}
        for intent in ("BUY_LONG", "SELL_LONG", choices.choice(("BUY_SHORT", "SELL_SHORT"))):
            body = {
                "marketSlug": symbol,
                "intent": f"ORDER_INTENT_{intent}",
                "type": "ORDER_TYPE_MARKET",
                "quantity": choices.between(1, 9),
                "tif": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL",
                "slippageTolerance": {"currentPrice": price, "ticks": 9},
            }
            yield self._retail(choices, "RetailOrdersAPI.CreateOrder", body)

    # ---- positions and money

    def settle(self, choices: RandomStream) -> Inputs:
        """Trade, settle, and perhaps correct the settlement."""
        symbol = self._symbol(choices)
        yield from self._trade(choices, symbol)
        for _ in range(choices.between(1, 3)):
            price = choices.choice(("0", "0.25", "1"))
            yield self._do("instrument.settle", symbol, {"price": price})
            yield from self._wait(minutes(2))

    def related(self, choices: RandomStream) -> Inputs:
        """Open, reduce and reverse positions of one account in related markets (rule P8)."""
        related = [one for one in self._simulation.exchange.instruments if one.related is not None]
        flagged = [one for one in self._partners() if self._has_collateral_return(one)]
        who = choices.choice(flagged or self._partners())
        for instrument in related[:3]:
            for side in ("SELL", "SELL", "BUY"):
                other = "BUY" if side == "SELL" else "SELL"
                body = self._order(choices, instrument.symbol, other, 50)
                yield self._call(
                    choices, "OrderEntryAPI.InsertOrder", body, self._other(choices, who)
                )
                body = self._order(choices, instrument.symbol, side, 50)
                yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)

    def poor(self, choices: RandomStream) -> Inputs:
        """Place orders of an account in several markets, of which one fill uses up the money."""
        who = choices.choice(self._partners())
        user = self._simulation.exchange.firms.user(who.participant or "")
        if user is None:
            return
        cash = self._simulation.exchange.trading.ledger.balance(user.account) // 10**8
        if cash > 3:
            take = {"amount": f"-{cash - 3}.00"}
            yield self._do("account.fund", user.account, take)
        for _ in range(3):
            body = self._order(choices, self._symbol(choices), "BUY", 50, orderQty="4")
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, who)
        symbol = self._symbol(choices)
        yield self._do(
            "order.place",
            "",
            {"as": "taker", "symbol": symbol, "side": "sell", "price": "0.40", "qty": "20"},
        )
        take = {"amount": "-999999.00"}
        yield self._do("account.fund", user.account, take)
