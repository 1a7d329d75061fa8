"""Every handler there is, by operation. A module of handlers is listed here once; what is in the
contract and not here answers an explained 501.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from sim.api.exchange.kyc import webhook_registration
from sim.api.pipeline.deferred import Finisher
from sim.api.pipeline.handler import AnyHandler, collect
from sim.api.retail.orders import synchronous_answer

MODULES = (
    "exchange.accounts",
    "exchange.crosses",
    "exchange.funding",
    "exchange.funding_transactions",
    "exchange.incentives",
    "exchange.kyc",
    "exchange.kyc_prefill",
    "exchange.ledgers",
    "exchange.market_data",
    "exchange.orders",
    "exchange.participant_tokens",
    "exchange.partners",
    "exchange.positions",
    "exchange.refdata",
    "exchange.referrals",
    "exchange.reports",
    "exchange.settlement",
    "exchange.sports",
    "exchange.trade_stats",
    "exchange.users",
    "gateway.events",
    "gateway.health",
    "gateway.leagues",
    "gateway.markets",
    "gateway.partners",
    "gateway.price_history",
    "gateway.prices",
    "gateway.search",
    "gateway.sports",
    "gateway.subjects",
    "gateway.tags",
    "retail.account",
    "retail.combos",
    "retail.incentives",
    "retail.market_data",
    "retail.orders",
    "retail.portfolio",
    "retail.rfqs",
    "auth.tokens",
)

# How the answer of a deferred call is built once it can be, by kind.
FINISHERS: dict[str, Finisher] = {
    "webhook registration": Finisher("exchange", webhook_registration),
    "synchronous order": Finisher("retail", synchronous_answer),
}


@cache
def handlers() -> dict[str, AnyHandler]:
    """Handlers by operation. Imported on first use, so that reading the contract stays cheap."""
    return collect(import_module(f"sim.api.{name}") for name in MODULES)


def served() -> frozenset[str]:
    """Operations that have behaviour: those with a handler, and the streams."""
    from sim.api.streams.hub import FEEDS

    return frozenset((*handlers(), *FEEDS))
