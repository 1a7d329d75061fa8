"""What is agreed in a storm outside the book: crosses, orders of partners, combos, and requests for
quotes on these.

Each method draws one step as a document. A request for quotes takes several steps by two accounts,
which come in their order more often than not; what one answer names, the next one says as
`${name}`, whether it was given or refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from sim.core.model.enums import Side
from sim.core.model.quantities import decimal_text
from sim.core.rfq.combos import Leg, symbol_of
from sim.kernel.entropy import Stream
from sim.world.accounts import Parties

Document: TypeAlias = dict[str, Any]

_KEYS, _CROSSES = 5, 6
_SIDES = {Side.BUY: "SIDE_BUY", Side.SELL: "SIDE_SELL"}


class Deals:
    """Draws steps of partners and retail users, on the storm's markets given as (symbol, price
    scale, units of a tick).
    """

    def __init__(
        self, luck: Stream, parties: Parties, markets: Sequence[tuple[str, int, int]]
    ) -> None:
        self._luck = luck
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
    def partners(self) -> bool:
        """Whether there is a partner with two participants."""
        return bool(self._firms)

    @property
    def users(self) -> bool:
        """Whether there are two retail users who can deal with each other."""
        return len(self._keys) > 1

    # ---- partners

    def cross(self) -> Document:
        """Two sides in one request, on two accounts of a firm, now and then on one; over either
        protocol.
        """
        luck = self._luck
        _, users = luck.choice(self._firms)
        first = luck.below(len(users))
        one, other = users[first], users[first if luck.chance(1, 8) else first - 1]
        symbol, scale, tick = luck.choice(self._markets)
        price, qty, number = (
            self._price(scale, tick),
            str(luck.log_between(1, 2_000)),
            luck.below(_CROSSES),
        )
        prices = (price, price if luck.chance(5, 6) else self._price(scale, tick))
        body = {
            "requests": [
                {
                    "type": "ORDER_TYPE_LIMIT",
                    "side": side,
                    "symbol": symbol,
                    "orderQty": qty,
                    "price": str(at),
                    "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
                    "account": user.account,
                }
                for side, at, user in zip(_SIDES.values(), prices, (one, other), strict=True)
            ],
            "crossType": "CROSS_TYPE_ALL_OR_NONE",
            "crossId": f"storm-cross-{number}",
        }
        if luck.chance(1, 3):
            body["crossPrioritizedSide"] = luck.choice(list(_SIDES.values()))
        if luck.chance(1, 2):
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
        luck = self._luck
        firm, users = luck.choice(self._firms)
        account, key = luck.choice(users).account, f"storm-{luck.below(_KEYS)}"
        if luck.chance(1, 4):
            amount = decimal_text(luck.between(1, 20_000), 100)
            reason = "TRANSFER_REASON_" + luck.choice(("DEPOSIT", "WITHDRAWAL", "VENDOR_FEES"))
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
        symbol, scale, tick = luck.choice(self._markets)
        order = {
            "type": "ORDER_TYPE_LIMIT",
            "side": luck.choice(list(_SIDES.values())),
            "symbol": symbol,
            "orderQty": str(luck.log_between(1, 500)),
            "price": str(self._price(scale, tick)),
            "timeInForce": "TIME_IN_FORCE_FILL_OR_KILL",
            "clordId": f"vendor-{key}",
            "account": account,
            "manualOrderIndicator": "MANUAL_ORDER_INDICATOR_AUTOMATED",
        }
        body = {
            "order": order,
            "vendorFee": {"value": luck.choice(("0", "0.05")), "currency": "USD"},
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

    def _price(self, scale: int, tick: int) -> int:
        return self._luck.between(scale * 47 // (100 * tick), scale * 53 // (100 * tick)) * tick

    # ---- combos and quotes

    def deal(self) -> Document:
        """The next step of a deal by quotes, most often; else a combo made, an order on one, or
        something out of turn.
        """
        luck = self._luck
        if not self._combos or luck.chance(1, 8):
            return self._combo()
        if luck.chance(1, 5):
            return self._order()
        if self._under_way is None:
            return self._ask()
        following, asker, number = self._under_way
        if luck.chance(1, 6):
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
                {"acceptedSide": luck.choice(list(_SIDES.values()))},
            )
        self._under_way = None
        return self._retail("put", f"/v1/rfqs/quotes/${{quote{number}}}/confirm", answerer, {})

    def _combo(self) -> Document:
        """A combo of the storm's markets; the same legs are the same one."""
        luck = self._luck
        legs = [Leg(symbol, luck.choice(list(_SIDES))) for symbol, _, _ in self._markets]
        self._combos.append(symbol_of(legs))
        body = {"legs": [{"symbol": leg.symbol, "side": _SIDES[leg.side]} for leg in legs]}
        return self._retail("post", "/v1/combos", luck.below(len(self._keys)), body)

    def _order(self) -> Document:
        luck = self._luck
        body = {
            "marketSlug": luck.choice(self._combos),
            "intent": luck.choice(
                ("ORDER_INTENT_BUY_LONG", "ORDER_INTENT_SELL_LONG", "ORDER_INTENT_BUY_SHORT")
            ),
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": decimal_text(luck.between(240, 270), 1_000), "currency": "USD"},
            "quantity": luck.log_between(1, 50),
            "tif": "TIME_IN_FORCE_" + luck.choice(("GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL")),
        }
        return self._retail("post", "/v1/orders", luck.below(len(self._keys)), body)

    def _ask(self) -> Document:
        luck = self._luck
        self._deals += 1
        asker = luck.below(len(self._keys))
        self._under_way = ("quote", asker, self._deals)
        size = (
            {"qtyDecimal": str(luck.between(1, 40))}
            if luck.chance(3, 4)
            else {"cashOrderQty": str(luck.between(1, 20))}
        )
        step = self._retail(
            "post",
            "/v1/rfqs",
            asker,
            {"symbol": luck.choice(self._combos), "restRemainder": luck.chance(1, 2), **size},
        )
        return {**step, "save": {f"rfq{self._deals}": "rfqId"}}

    def _quote(self, by: int, number: int) -> Document:
        luck = self._luck
        buy = luck.between(200, 300)
        prices = {
            "buyPrice": decimal_text(buy, 1_000),
            "sellPrice": decimal_text(buy + luck.between(1, 60), 1_000),
        }
        step = self._retail(
            "post",
            "/v1/rfqs/quotes",
            by,
            {"rfqId": f"${{rfq{number}}}", **prices, "postOnly": luck.chance(1, 4)},
        )
        return {**step, "save": {f"quote{number}": "quoteId"}}

    def _out_of_turn(self, asker: int, number: int) -> Document:
        """Somebody withdraws, confirms or quotes when it is not his turn, or not his."""
        luck = self._luck
        by = luck.below(len(self._keys))
        if luck.chance(1, 3):
            return self._retail("delete", f"/v1/rfqs/${{rfq{number}}}", by)
        if luck.chance(1, 2):
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
