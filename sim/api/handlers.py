"""Every handler there is, by operation. A module of handlers is listed here once; what is in the contract and not here answers an explained 501."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from sim.api.handles import AnyHandler, collect

MODULES = (
    "exchange_accounts",
    "exchange_crosses",
    "exchange_funding",
    "exchange_funding_transactions",
    "exchange_incentives",
    "exchange_kyc",
    "exchange_kyc_prefill",
    "exchange_ledgers",
    "exchange_market_data",
    "exchange_orders",
    "exchange_participant_tokens",
    "exchange_partners",
    "exchange_positions",
    "exchange_refdata",
    "exchange_referrals",
    "exchange_reports",
    "exchange_settlement",
    "exchange_sports",
    "exchange_trade_stats",
    "exchange_users",
    "gateway_events",
    "gateway_health",
    "gateway_leagues",
    "gateway_markets",
    "gateway_partners",
    "gateway_price_history",
    "gateway_prices",
    "gateway_search",
    "gateway_sports",
    "gateway_subjects",
    "gateway_tags",
    "retail_account",
    "retail_combos",
    "retail_incentives",
    "retail_market_data",
    "retail_orders",
    "retail_portfolio",
    "retail_rfqs",
    "tokens",
)


@cache
def handlers() -> dict[str, AnyHandler]:
    """Handlers by operation. Imported on first use, so that reading the contract stays cheap."""
    return collect(import_module(f"sim.api.{name}") for name in MODULES)


def served() -> frozenset[str]:
    """Operations that have behaviour: those with a handler, and the streams."""
    from sim.api.streams import FEEDS

    return frozenset((*handlers(), *FEEDS))
