"""Answers have cache headers exactly where the service or its protocol specifies them."""

from __future__ import annotations

import pytest

from tests.kit import Desk


@pytest.mark.spec("S4.5-1")
def test_a_token_is_not_to_be_stored(world: Desk) -> None:
    """RFC 6749 §5.1."""
    assert world.token(world.firm).headers["cache-control"] == "no-store"
    assert "cache-control" not in world.auth.post("/oauth/token", form={}).headers


def test_a_price_history_may_be_kept_for_half_a_minute(world: Desk) -> None:
    """Retail facts §2.8."""
    asked = {"symbol": "aec-nfl-dal-phi-2026-09-10", "fixedInterval": "INTERVAL_1H", "fidelity": 1}
    assert (
        world.gateway.get("/v1/price-history", params=asked).headers["cache-control"]
        == "public, max-age=30"
    )
    assert "cache-control" not in world.gateway.get("/v2/leagues").headers
