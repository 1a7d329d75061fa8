"""Random deals outside the book: crosses, orders of partners, combos, and quotes on these.

Each method draws one step as a document. A request for quotes takes several steps by two accounts,
usually in their proper order. A step refers to values of an earlier answer as `${name}`, whether
that step succeeded or was refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.core.model.enums import Side
from sim.core.model.quantities import decimal_text
from sim.core.rfq.combos import Leg, symbol_of
from sim.kernel.entropy import RandomStream
from sim.search.generator import INTENTS, LIMIT, SIDES, Document, Terms, call, limit_order
from sim.world.start.accounts import OpeningParties

_KEYS, _CROSSES = 5, 6
_SIDES = dict(zip((Side.BUY, Side.SELL), SIDES, strict=True))
_GTC = "TIME_IN_FORCE_GOOD_TILL_CANCEL"
_CASH_MOVEMENT = ("rpc", "CashMovementService.CreateCashMovement")
_VENDOR_ORDER = ("rpc", "OrderFundingService.CreateVendorOrder")


class Deals:
    """Draws steps of partners and retail users on the fuzzed markets."""

    def __init__(
        self, rng: RandomStream, parties: OpeningParties, markets: Sequence[Terms]
    ) -> None:
        self._rng = rng
        self._markets = markets
        partners = [firm for firm in parties.firms if firm.client_id]
        self._firms = [(firm.name, firm.users) for firm in partners if len(firm.users) > 1]
        keys = {key.account: key.key_id for key in parties.api_keys}
        self._keys = list(keys.values())
        self._combos: list[str] = []
        # The next step of the current deal, the requester, and the number of the deal.
        self._current_deal: tuple[str, int, int] | None = None
        self._deals = 0

    @property
    def has_partners(self) -> bool:
        """Whether there is a partner with two participants."""
        return bool(self._firms)

    @property
    def has_users(self) -> bool:
        """Whether there are two retail users who can trade with each other."""
        return len(self._keys) > 1

    # ---- partners

    def cross(self) -> Document:
        """Return both sides of a cross in one request, on two accounts of a firm or, rarely, on
        one.

        The protocol is drawn, too.
        """
        rng = self._rng
        _, users = rng.choice(self._firms)
        first = rng.below(len(users))
        one, other = users[first], users[first if rng.chance(1, 8) else first - 1]
        terms = rng.choice(self._markets)
        price, qty = terms.near_middle(rng), str(rng.log_between(1, 2_000))
        number = rng.below(_CROSSES)
        prices = (price, price if rng.chance(5, 6) else terms.near_middle(rng))
        common = {"type": LIMIT, "symbol": terms.symbol, "orderQty": qty, "timeInForce": _GTC}
        orders = [
            {**common, "side": side, "price": str(at), "account": user.account}
            for side, at, user in zip(SIDES, prices, (one, other), strict=True)
        ]
        body: Document = {"requests": orders, "crossType": "CROSS_TYPE_ALL_OR_NONE"}
        body["crossId"] = f"fuzz-cross-{number}"
        if rng.chance(1, 3):
            body["crossPrioritizedSide"] = rng.choice(SIDES)
        if rng.chance(1, 2):
            return call("exchange", one.name, ("post", "/v1/trading/orders/cross"), body)
        return call("grpc", one.name, ("rpc", "OrderEntryAPI.InsertOrderCross"), body)

    def vendor(self) -> Document:
        """Return a partner's order for a participant, or a transfer between the pool and an
        account.

        Keys are few, so that some are reused.
        """
        rng = self._rng
        firm, users = rng.choice(self._firms)
        account, key = rng.choice(users).account, f"fuzz-{rng.below(_KEYS)}"
        if rng.chance(1, 4):
            return call("grpc", firm, _CASH_MOVEMENT, self._transfer(account, key))
        order = {
            **limit_order(rng, rng.choice(self._markets), 500),
            "timeInForce": "TIME_IN_FORCE_FILL_OR_KILL",
            "clordId": f"vendor-{key}",
            "account": account,
            "manualOrderIndicator": "MANUAL_ORDER_INDICATOR_AUTOMATED",
        }
        fee = {"value": rng.choice(("0", "0.05")), "currency": "USD"}
        body = {"order": order, "vendorFee": fee, "idempotencyKey": key}
        return call("grpc", firm, _VENDOR_ORDER, body)

    def _transfer(self, account: str, key: str) -> Document:
        rng = self._rng
        amount = decimal_text(rng.between(1, 20_000), 100)
        transfer = {
            "reason": "TRANSFER_REASON_" + rng.choice(("DEPOSIT", "WITHDRAWAL", "VENDOR_FEES")),
            "participantAccountId": account,
            "amount": amount,
            "currency": "USD",
            "externalReference": key,
        }
        return {"idempotencyKey": key, "transfer": transfer}

    # ---- combos and quotes

    def deal(self) -> Document:
        """Return the next step of a deal by quotes, usually.

        Otherwise create a combo, place an order on one, or do something out of turn.
        """
        rng = self._rng
        if not self._combos or rng.chance(1, 8):
            return self._combo()
        if rng.chance(1, 5):
            return self._order()
        if self._current_deal is None:
            return self._request()
        following, asker, number = self._current_deal
        if rng.chance(1, 6):
            return self._out_of_turn(asker, number)
        answerer = (asker + 1) % len(self._keys)
        if following == "quote":
            self._current_deal = ("accept", asker, number)
            return self._quote(answerer, number)
        if following == "accept":
            self._current_deal = ("confirm", asker, number)
            path = f"/v1/rfqs/${{rfq{number}}}/quotes/${{quote{number}}}/accept"
            return self._retail("put", path, asker, {"acceptedSide": rng.choice(SIDES)})
        self._current_deal = None
        path = f"/v1/rfqs/${{rfq{number}}}/quotes/${{quote{number}}}/confirm"
        return self._retail("put", path, answerer, {})

    def _combo(self) -> Document:
        """Return the creation of a combo of the fuzzed markets.

        The same legs are the same combo.
        """
        rng = self._rng
        legs = [Leg(terms.symbol, rng.choice(list(_SIDES))) for terms in self._markets]
        self._combos.append(symbol_of(legs))
        body = {"legs": [{"symbol": leg.symbol, "side": _SIDES[leg.side]} for leg in legs]}
        return self._retail("post", "/v1/combos", rng.below(len(self._keys)), body)

    def _order(self) -> Document:
        rng = self._rng
        body = {
            "marketSlug": rng.choice(self._combos),
            "intent": f"ORDER_INTENT_{rng.choice(INTENTS[:3])}",
            "type": LIMIT,
            "price": {"value": decimal_text(rng.between(240, 270), 1_000), "currency": "USD"},
            "quantity": rng.log_between(1, 50),
            "tif": "TIME_IN_FORCE_" + rng.choice(("GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL")),
        }
        return self._retail("post", "/v1/orders", rng.below(len(self._keys)), body)

    def _request(self) -> Document:
        rng = self._rng
        self._deals += 1
        asker = rng.below(len(self._keys))
        self._current_deal = ("quote", asker, self._deals)
        unit, most = ("qtyDecimal", 40) if rng.chance(3, 4) else ("cashOrderQty", 20)
        size = {unit: str(rng.between(1, most))}
        body = {"symbol": rng.choice(self._combos), "restRemainder": rng.chance(1, 2), **size}
        step = self._retail("post", "/v1/rfqs", asker, body)
        return {**step, "save": {f"rfq{self._deals}": "rfqId"}}

    def _quote(self, by: int, number: int) -> Document:
        rng = self._rng
        sell = rng.between(200, 300)
        body = {
            "rfqId": f"${{rfq{number}}}",
            "buyPrice": decimal_text(sell + rng.between(1, 60), 1_000),
            "sellPrice": decimal_text(sell, 1_000),
            "restRemainder": rng.chance(1, 2),
            "postOnly": rng.chance(1, 4),
        }
        step = self._retail("post", "/v1/rfqs/quotes", by, body)
        return {**step, "save": {f"quote{number}": "quoteId"}}

    def _out_of_turn(self, asker: int, number: int) -> Document:
        """Return a withdrawal, confirmation or quote out of turn or by the wrong account."""
        rng = self._rng
        by = rng.below(len(self._keys))
        if rng.chance(1, 3):
            return self._retail("delete", f"/v1/rfqs/${{rfq{number}}}", by)
        if rng.chance(1, 2):
            return self._retail("get", "/v1/rfqs/trades", asker)
        prices = {"buyPrice": "0.25", "sellPrice": "0"}
        body = {"rfqId": f"${{rfq{number}}}", **prices, "restRemainder": False}
        return self._retail("post", "/v1/rfqs/quotes", by, body)

    def _retail(self, verb: str, path: str, by: int, body: Document | None = None) -> Document:
        return call("retail", self._keys[by], (verb, path), body)
