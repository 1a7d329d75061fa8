"""Every handler there is, by operation. A module of handlers is listed here once; what is in the contract and not here answers an explained 501."""

from __future__ import annotations

from functools import cache

from sim.api.handles import AnyHandler, collect


@cache
def handlers() -> dict[str, AnyHandler]:
    """Handlers by operation. Imported on first use, so that reading the contract stays cheap."""
    from sim.api import (
        exchange_accounts,
        exchange_market_data,
        exchange_orders,
        retail_account,
        retail_market_data,
        retail_orders,
        retail_portfolio,
        tokens,
    )

    return collect(
        (
            exchange_accounts,
            exchange_market_data,
            exchange_orders,
            retail_account,
            retail_market_data,
            retail_orders,
            retail_portfolio,
            tokens,
        )
    )
