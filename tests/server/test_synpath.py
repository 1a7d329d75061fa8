"""A client from the package index, unmodified: it lists, reads books, orders and reports (O71).

CI installs it with what it needs into build/clients, apart from our own dependencies; without it
these tests are skipped.
"""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "build" / "clients"))
synpath = pytest.importorskip("synpath", reason="synpath 0.11.0 is not installed")


@pytest.fixture
def client(exchange: Any) -> Any:
    from synpath.polymarket_us import PolymarketUS

    return PolymarketUS(gateway_url=f"{exchange.gateway}/v1", limiter=None)


def lists_and_books(exchange: Any, client: Any) -> None:
    events = client.fetch_events(limit=5)
    assert len(list(events)) == 5 and events.next_cursor
    following = client.fetch_events(limit=5, cursor=events.next_cursor)
    assert {event.id for event in events}.isdisjoint(event.id for event in following)
    exchange.clock.advance("1s")
    markets = list(client.fetch_markets(limit=20))
    assert len(markets) == 20
    found = list(client.fetch_markets(query="Cowboys"))
    quoted = next(market for market in found if market.yes.quote.bid and market.yes.quote.ask)
    assert quoted.yes.quote.bid < quoted.yes.quote.ask
    exchange.clock.advance("1s")
    book = client.fetch_order_book(quoted.id)
    assert book.best_bid.price < book.best_ask.price
    client.refresh_quotes(quoted)
    client.fetch_ohlcv(quoted.id)


@pytest.mark.scenario("quickstart", reading="observed")
@pytest.mark.observed("gateway.order_direction", "price_history.sparse")
def test_synpath_lists_and_reads_books_in_observed(exchange: Any, client: Any) -> None:
    lists_and_books(exchange, client)


@pytest.mark.observed("gateway.order_direction", "price_history.sparse")
def test_synpath_lists_and_reads_books(exchange: Any, client: Any) -> None:
    lists_and_books(exchange, client)


@pytest.mark.observed("retail.error_body", "positions.short_average")
def test_synpath_orders_cancels_and_reads_its_account(exchange: Any) -> None:
    from synpath.trading import polymarket_us as trading
    from synpath.trading.credentials import PolymarketUSCredentials
    from synpath.trading.types import OrderRequest, Side

    key = exchange.ready["api_keys"][0]
    symbol = exchange.symbols["open"][0]

    async def session() -> None:
        adapter = next(
            each
            for each in vars(trading).values()
            if isinstance(each, type)
            and hasattr(each, "create_order")
            and each.__module__ == trading.__name__
        )
        credentials = PolymarketUSCredentials(key["key_id"], key["secret_key"])
        client = adapter(credentials, api_url=exchange.retail, gateway_url=exchange.gateway)
        request = OrderRequest(
            market_id=symbol, side=Side.BUY, quantity=Decimal(1), price=Decimal("0.01")
        )
        placed = await client.create_order(request)
        assert [order.id for order in await client.fetch_open_orders()] == [placed.id]
        await client.cancel_order(placed.id, market_id=symbol)
        assert await client.fetch_open_orders() == []
        assert (await client.fetch_balance()) is not None
        await client.fetch_positions()
        await client.fetch_activities()
        await client.close()

    asyncio.run(session())
