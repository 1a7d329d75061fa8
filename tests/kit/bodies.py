"""Bodies of requests: an order of either API, and an application for verification."""

from __future__ import annotations

from typing import Any

from sim.core.model.instrument import Instrument

_ADDRESS = {"address_line_1": "1 Main St", "city": "Springfield", "state": "IL"}

# Body of POST /v1/kyc/start for an applicant who is approved at once.
PERSON: dict[str, Any] = {
    "external_id": "surface-1",
    "ssn": "555443333",
    "first_name": "Ada",
    "last_name": "Ray",
    "date_of_birth": "1990-01-02",
    "email": "ada@example.com",
    "phone_number": "+14155551212",
    "address": _ADDRESS | {"postal_code": "62701"},
    "agreement": {"version": "PMX.ISV.SANDBOX.v1.0", "signed_at": "2026-09-08T17:00:00Z"},
    "ip_address": "203.0.113.7",
}

# Another application, in the form that a firm sends.
APPLICATION = PERSON | {
    "external_id": "c-1",
    "ssn": "123456789",
    "last_name": "Moreno",
    "date_of_birth": "1990-04-12",
    "phone_number": "+14155550101",
    "address": _ADDRESS | {"city": "Austin", "state": "TX", "postal_code": "78701"},
    "agreement": {"version": "1", "signed_at": "2026-09-01T00:00:00Z"},
    "ip_address": "203.0.113.9",
}


def order(
    instrument: Instrument, side: str, cents: int, contracts: int = 1, **fields: object
) -> dict[str, object]:
    """Body of POST /v1/trading/orders: a limit order at a price in cents, good till canceled."""
    return {
        "type": "ORDER_TYPE_LIMIT",
        "side": f"SIDE_{side.upper()}",
        "symbol": instrument.symbol,
        "orderQty": str(contracts * instrument.qty_scale),
        "price": str(cents * instrument.price_scale // 100),
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        **fields,
    }


def retail_order(
    instrument: Instrument, intent: str, cents: int, contracts: float = 1, **fields: object
) -> dict[str, object]:
    """Body of POST /v1/orders: a limit order at a price in cents, good till canceled."""
    return {
        "marketSlug": instrument.symbol,
        "intent": f"ORDER_INTENT_{intent}",
        "type": "ORDER_TYPE_LIMIT",
        "price": usd(f"{cents / 100:.2f}"),
        "quantity": contracts,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        **fields,
    }


def usd(value: str) -> dict[str, str]:
    """An amount of the retail API."""
    return {"value": value, "currency": "USD"}
