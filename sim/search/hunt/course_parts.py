"""Building blocks of courses: actors, markets, and the inputs that several courses share."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from msgspec import json

from sim.api.pipeline.inputs import SCRIPT, Advanced, Controlled, Input, Outcome, VerifiedCredential
from sim.contract.contract import load_contract
from sim.core.model.orders import Order
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import Span
from sim.run.simulation import Simulation
from sim.search.hunt.callers import PEER, CallIdentity
from sim.search.hunt.clients import Clients

Body: TypeAlias = dict[str, Any]
# Yields inputs and is sent the outcome of each; None if the control plane refused it.
Inputs: TypeAlias = Generator[Input, "Outcome | None", None]
_DUE_MAX = 20  # maximum number of due instants in one wait


class Parts:
    """Parts of the courses of one episode."""

    def __init__(self, simulation: Simulation, clients: Clients) -> None:
        self._simulation = simulation
        self._clients = clients

    def _partners(self) -> list[CallIdentity]:
        """Return participants of firms that have credentials."""
        return [
            CallIdentity(VerifiedCredential(SCRIPT, firm.name), user.name)
            for firm in self._simulation.exchange.firms.all()
            if firm.client_id
            for user in firm.users[:2]
        ] or [CallIdentity(VerifiedCredential(SCRIPT, "nobody"), None)]

    def _call(self, choices: RandomStream, name: str, body: Body, who: CallIdentity) -> Input:
        operation = load_contract().by_name(name)
        over_grpc = operation.grpc and (not operation.planes or choices.chance(1, 3))
        plane = "grpc" if over_grpc else operation.planes[0]
        return self._clients.call(choices, plane, operation, body, who)

    def _do(self, action: str, subject: str, body: Body) -> Input:
        return Controlled(action, subject, json.encode(body, order="sorted").decode(), PEER)

    def _wait(self, span: Span) -> Inputs:
        """Let time pass, one due instant after the other."""
        until = self._simulation.now + span
        for _ in range(_DUE_MAX):
            due = self._simulation.next_due()
            if due is None or due >= until:
                break
            yield Advanced(due)
        yield Advanced(max(until, self._simulation.now))

    def _order(
        self, choices: RandomStream, symbol: str, side: str, price: int, **more: Any
    ) -> Body:
        scale = self._simulation.exchange.instruments.require(symbol).price_scale
        return {
            "type": "ORDER_TYPE_LIMIT",
            "side": f"SIDE_{side}",
            "symbol": symbol,
            "orderQty": str(choices.between(1, 30)),
            "price": str(price * scale // 100),
            "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            **more,
        }

    def _symbol(self, choices: RandomStream) -> str:
        return self._clients.operators.market(choices).symbol

    def _working(self, who: CallIdentity) -> list[Order]:
        """Return the working orders of a participant, newest first."""
        orders = self._simulation.exchange.trading.orders.open(None)
        return [order for order in orders if order.participant == who.participant][::-1]

    def _other(self, choices: RandomStream, who: CallIdentity) -> CallIdentity:
        others = [one for one in self._partners() if one != who]
        return choices.choice(others or [who])

    def _scale(self, symbol: str) -> int:
        return self._simulation.exchange.instruments.require(symbol).price_scale // 100

    def _retail(self, choices: RandomStream, name: str, body: Body) -> Input:
        keys = self._simulation.exchange.firms.api_keys()[:2]
        key = choices.choice(keys).key_id if keys else "nobody"
        return self._clients.call(
            choices,
            "retail",
            load_contract().by_name(name),
            body,
            CallIdentity(VerifiedCredential(SCRIPT, key), None),
        )

    def _book(self, choices: RandomStream, symbol: str) -> Inputs:
        for side, low in (("buy", 46), ("sell", 51)):
            for _ in range(2):
                yield self._do(
                    "order.place",
                    "",
                    {
                        "as": "maker",
                        "symbol": symbol,
                        "side": side,
                        "price": f"0.{choices.between(low, low + 3)}",
                        "qty": str(choices.between(5, 40)),
                    },
                )

    def _trade(self, choices: RandomStream, symbol: str) -> Inputs:
        who = choices.choice(self._partners())
        first, second = choices.choice((("BUY", "SELL"), ("SELL", "BUY")))
        for side, party in ((first, who), (second, self._other(choices, who))):
            body = self._order(choices, symbol, side, choices.between(49, 51))
            yield self._call(choices, "OrderEntryAPI.InsertOrder", body, party)

    def _has_collateral_return(self, who: CallIdentity) -> bool:
        exchange = self._simulation.exchange
        user = exchange.firms.user(who.participant) if who.participant else None
        return user is not None and exchange.trading.ledger.require(user.account).collateral_return
