"""Changes of state that events do not report, or only partly, found by comparison with the state
after the previous input.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.exchange import Exchange
from sim.core.model.funding_records import FundingState


class StateChanges:
    """The last known state of orders, trades, quotes, verifications and webhooks of one run."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._orders: dict[str, str] = {}
        self._trades: dict[str, str] = {}
        self._rfqs: dict[str, str] = {}
        self._cases: dict[str, str] = {}
        self._breakers: dict[str, str] = {}
        self._funding = len(exchange.funding.changes)
        list(self.take())  # the initial state does not count as a change

    def order(self, order: str, kind: str) -> Iterator[str]:
        """Note a report of an order."""
        yield from self._edge(self._orders, "order", order, kind)

    def trade(self, trade: str, state: str) -> Iterator[str]:
        """Note a state of a trade."""
        yield from self._edge(self._trades, "trade", trade, state)

    def rfq(self, rfq: str, kind: str) -> Iterator[str]:
        """Note a change of a request for quotes."""
        yield from self._edge(self._rfqs, "rfq", rfq, kind)

    def take(self) -> Iterator[str]:
        """Yield the changes since the last call."""
        exchange = self._exchange
        for case in exchange.kyc.cases():
            key = f"{case.firm} {case.external_id}"
            yield from self._edge(self._cases, "verification", key, case.stage.value, again=False)
        for firm, breaker in exchange.webhooks.breakers().items():
            yield from self._edge(self._breakers, "breaker", firm, breaker.state, again=False)
        changes = exchange.funding.changes
        for change in changes[self._funding :]:
            state = FundingState(change.transaction.state).name
            kind = change.transaction.type.name
            yield f"edge:funding|{FundingState(change.previous).name}|{state}"
            yield f"edge:funding {kind}|{state}"
        self._funding = len(changes)

    @staticmethod
    def _edge(
        last_states: dict[str, str], kind: str, key: str, state: str, *, again: bool = True
    ) -> Iterator[str]:
        before = last_states.get(key, "")
        if again or before != state:
            yield f"edge:{kind}|{before}|{state}"
        last_states[key] = state
