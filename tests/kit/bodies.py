"""Bodies of requests: an order of either API, and an application for verification."""

from __future__ import annotations

from typing import Any

from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages.exchange_cashmovement_v1 import (
    CreateCashMovementRequest,
    Transfer,
    TransferReason,
)
from sim.contract.messages.exchange_orderfunding_v1 import CreateVendorOrderRequest, MoneyAmount
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
    instrument: Instrument | str, intent: str, cents: int, contracts: float = 1, **fields: object
) -> dict[str, object]:
    """Body of POST /v1/orders: a limit order at a price in cents, good till canceled."""
    return {
        "marketSlug": instrument if isinstance(instrument, str) else instrument.symbol,
        "intent": f"ORDER_INTENT_{intent}",
        "type": "ORDER_TYPE_LIMIT",
        "price": usd(f"{cents / 100:.2f}"),
        "quantity": contracts,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
        **fields,
    }


def rpc_order(
    instrument: Instrument, cents: int = 40, contracts: int = 1, **fields: Any
) -> wire.InsertOrderRequest:
    """A limit order to buy, good till canceled, as gRPC sends it."""
    values: dict[str, Any] = {
        "type": wire.OrderType.ORDER_TYPE_LIMIT,
        "side": wire.Side.SIDE_BUY,
        "symbol": instrument.symbol,
        "order_qty": contracts * instrument.qty_scale,
        "price": cents * instrument.price_scale // 100,
        "time_in_force": wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_CANCEL,
        **fields,
    }
    return wire.InsertOrderRequest(**values)


def partner_order(
    instrument: Instrument, account: str, cents: int = 50, key: str = "key", **fields: Any
) -> CreateVendorOrderRequest:
    """A partner's order for one contract (gRPC): fill or kill, with a fee of five cents."""
    terms: dict[str, Any] = {
        "time_in_force": wire.TimeInForce.TIME_IN_FORCE_FILL_OR_KILL,
        "clord_id": "partner",
        "account": account,
        "manual_order_indicator": wire.ManualOrderIndicator.MANUAL_ORDER_INDICATOR_AUTOMATED,
    }
    fee = MoneyAmount(value="0.05", currency="USD")
    sent = rpc_order(instrument, cents, **terms | fields)
    return CreateVendorOrderRequest(order=sent, vendor_fee=fee, idempotency_key=key)


def transfer(
    account: str,
    amount: str,
    key: str = "k",
    reason: TransferReason = TransferReason.TRANSFER_REASON_DEPOSIT,
) -> CreateCashMovementRequest:
    """A partner's transfer of dollars to an account of a participant (gRPC)."""
    moved = Transfer(
        reason=reason,
        participant_account_id=account,
        amount=amount,
        currency="USD",
        external_reference="r",
    )
    return CreateCashMovementRequest(idempotency_key=key, transfer=moved)


def usd(value: str) -> dict[str, str]:
    """An amount of the retail API."""
    return {"value": value, "currency": "USD"}
