"""Random deals outside the book: crosses, orders of partners, combos, and quotes on these.

Each method draws one step as a document. A request for quotes takes several steps by two accounts,
usually in their proper order. A step refers to what an earlier answer named as `${name}`, whether
that step succeeded or was refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.analysis.search.generator import Document, Terms
from sim.core.model.enums import Side
from sim.core.model.quantities import decimal_text
from sim.core.rfq.combos import Leg, symbol_of
from sim.kernel.entropy import Stream
from sim.world.accounts import Parties

_KEYS, _CROSSES = 5, 6
_SIDES = {Side.BUY: "SIDE_BUY", Side.SELL: "SIDE_SELL"}


class Deals:
    """Draws steps of partners and retail users on the fuzzed markets."""

    def __init__(self, rng: Stream, parties: Parties, markets: Sequence[Terms]) -> None:
        self._rng = rng
        self._markets = markets
        self._firms = [
            (firm.name, firm.users)
            for firm in parties.firms
            if firm.client_id and len(firm.users) > 1
        ]
        keys = {key.account: key.key_id for key in parties.api_keys}
        self._keys = list(keys.values())
        self._combos: list[str] = []
        # what comes next in the deal under way, who asked, and the number of the deal
        self._under_way: tuple[str, int, int] | None = None
        self._deals = 0

    @property
    def has_partners(self) -> bool:
        """Whether there is a partner with two participants."""
        return bool(self._firms)

    @property
    def has_users(self) -> bool:
        """Whether there are two retail users who can deal with each other."""
        return len(self._keys) > 1

    # ---- partners

    def cross(self) -> Document:
        """Two sides in one request, on two accounts of a firm, now and then on one; over either
        protocol.
        """
        rng = self._rng
        _, users = rng.choice(self._firms)
        first = rng.below(len(users))
        one, other = users[first], users[first if rng.chance(1, 8) else first - 1]
        terms = rng.choice(self._markets)
        price, qty, number = (
            terms.near_middle(rng),
            str(rng.log_between(1, 2_000)),
            rng.below(_CROSSES),
        )
        prices = (price, price if rng.chance(5, 6) else terms.near_middle(rng))
        body = {
            "requests": [
                {
                    "type": "ORDER_TYPE_LIMIT",
                    "side": side,
                    "symbol": terms.symbol,
                    "orderQty": qty,
                    "price": str(at),
                    "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
                    "account": user.account,
                }
                for side, at, user in zip(_SIDES.values(), prices, (one, other), strict=True)
            ],
            "crossType": "CROSS_TYPE_ALL_OR_NONE",
            "crossId": f"fuzz-cross-{number}",
        }
        if rng.chance(1, 3):
            body["crossPrioritizedSide"] = rng.choice(list(_SIDES.values()))
        if rng.chance(1, 2):
            return {
                "call": {
                    "plane": "exchange",
                    "post": "/v1/trading/orders/cross",
                    "as": one.name,
                    "json": body,
                }
            }
        return {
            "call": {
                "plane": "grpc",
                "rpc": "OrderEntryAPI.InsertOrderCross",
                "as": one.name,
                "json": body,
            }
        }

    def vendor(self) -> Document:
        """A partner's order for a participant, again under one of few keys, or money between the
        partner's pool and an account.
        """
        rng = self._rng
        firm, users = rng.choice(self._firms)
        account, key = rng.choice(users).account, f"fuzz-{rng.below(_KEYS)}"
        if rng.chance(1, 4):
            amount = decimal_text(rng.between(1, 20_000), 100)
            reason = "TRANSFER_REASON_" + rng.choice(("DEPOSIT", "WITHDRAWAL", "VENDOR_FEES"))
            transfer = {
                "reason": reason,
                "participantAccountId": account,
                "amount": amount,
                "currency": "USD",
                "externalReference": key,
            }
            body: Document = {"idempotencyKey": key, "transfer": transfer}
            return {
                "call": {
                    "plane": "grpc",
                    "rpc": "CashMovementService.CreateCashMovement",
                    "as": firm,
                    "json": body,
                }
            }
        terms = rng.choice(self._markets)
        order = {
            "type": "ORDER_TYPE_LIMIT",
            "side": rng.choice(list(_SIDES.values())),
            "symbol": terms.symbol,
            "orderQty": str(rng.log_between(1, 500)),
            "price": str(terms.near_middle(rng)),
            "timeInForce": "TIME_IN_FORCE_FILL_OR_KILL",
            "clordId": f"vendor-{key}",
            "account": account,
            "manualOrderIndicator": "MANUAL_ORDER_INDICATOR_AUTOMATED",
        }
        body = {
            "order": order,
            "vendorFee": {"value": rng.choice(("0", "0.05")), "currency": "USD"},
            "idempotencyKey": key,
        }
        return {
            "call": {
                "plane": "grpc",
                "rpc": "OrderFundingService.CreateVendorOrder",
                "as": firm,
                "json": body,
            }
        }

    # ---- combos and quotes

    def deal(self) -> Document:
        """The next step of a deal by quotes, most often; else a combo made, an order on one, or
        something out of turn.
        """
        rng = self._rng
        if not self._combos or rng.chance(1, 8):
            return self._combo()
        if rng.chance(1, 5):
            return self._order()
        if self._under_way is None:
            return self._ask()
        following, asker, number = self._under_way
        if rng.chance(1, 6):
            return self._out_of_turn(asker, number)
        answerer = (asker + 1) % len(self._keys)
        if following == "quote":
            self._under_way = ("accept", asker, number)
            return self._quote(answerer, number)
        if following == "accept":
            self._under_way = ("confirm", asker, number)
            return self._retail(
                "put",
                f"/v1/rfqs/quotes/${{quote{number}}}/accept",
                asker,
                {"acceptedSide": rng.choice(list(_SIDES.values()))},
            )
        self._under_way = None
        return self._retail("put", f"/v1/rfqs/quotes/${{quote{number}}}/confirm", answerer, {})

    def _combo(self) -> Document:
        """A combo of the fuzzed markets; the same legs are the same one."""
        rng = self._rng
        legs = [Leg(terms.symbol, rng.choice(list(_SIDES))) for terms in self._markets]
        self._combos.append(symbol_of(legs))
        body = {"legs": [{"symbol": leg.symbol, "side": _SIDES[leg.side]} for leg in legs]}
        return self._retail("post", "/v1/combos", rng.below(len(self._keys)), body)

    def _order(self) -> Document:
        rng = self._rng
        body = {
            "marketSlug": rng.choice(self._combos),
            "intent": rng.choice(
                ("ORDER_INTENT_BUY_LONG", "ORDER_INTENT_SELL_LONG", "ORDER_INTENT_BUY_SHORT")
            ),
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": decimal_text(rng.between(240, 270), 1_000), "currency": "USD"},
            "quantity": rng.log_between(1, 50),
            "tif": "TIME_IN_FORCE_" + rng.choice(("GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL")),
        }
        return self._retail("post", "/v1/orders", rng.below(len(self._keys)), body)

    def _ask(self) -> Document:
        rng = self._rng
        self._deals += 1
        asker = rng.below(len(self._keys))
        self._under_way = ("quote", asker, self._deals)
        size = (
            {"qtyDecimal": str(rng.between(1, 40))}
            if rng.chance(3, 4)
            else {"cashOrderQty": str(rng.between(1, 20))}
        )
        step = self._retail(
            "post",
            "/v1/rfqs",
            asker,
            {"symbol": rng.choice(self._combos), "restRemainder": rng.chance(1, 2), **size},
        )
        return {**step, "save": {f"rfq{self._deals}": "rfqId"}}

    def _quote(self, by: int, number: int) -> Document:
        rng = self._rng
        buy = rng.between(200, 300)
        prices = {
            "buyPrice": decimal_text(buy, 1_000),
            "sellPrice": decimal_text(buy + rng.between(1, 60), 1_000),
        }
        step = self._retail(
            "post",
            "/v1/rfqs/quotes",
            by,
            {"rfqId": f"${{rfq{number}}}", **prices, "postOnly": rng.chance(1, 4)},
        )
        return {**step, "save": {f"quote{number}": "quoteId"}}

    def _out_of_turn(self, asker: int, number: int) -> Document:
        """Somebody withdraws, confirms or quotes when it is not his turn, or not his."""
        rng = self._rng
        by = rng.below(len(self._keys))
        if rng.chance(1, 3):
            return self._retail("delete", f"/v1/rfqs/${{rfq{number}}}", by)
        if rng.chance(1, 2):
            return self._retail("get", "/v1/rfqs/trades", asker)
        return self._retail(
            "post", "/v1/rfqs/quotes", by, {"rfqId": f"${{rfq{number}}}", "buyPrice": "0.25"}
        )

    def _retail(self, verb: str, path: str, by: int, body: Document | None = None) -> Document:
        return {
            "call": {
                "plane": "retail",
                verb: path,
                "as": self._keys[by],
                **({} if body is None else {"json": body}),
            }
        }
