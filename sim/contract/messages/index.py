# generated from proto/, do not edit
"""Modules of packages; instants at which a field appears or disappears."""

from __future__ import annotations

from sim.kernel.instants import Instant, parse_instant

PACKAGES: dict[str, str] = {
    "exchange.cashmovement.v1": "sim.contract.messages.exchange_cashmovement_v1",
    "exchange.kyc.v1": "sim.contract.messages.exchange_kyc_v1",
    "exchange.orderfunding.v1": "sim.contract.messages.exchange_orderfunding_v1",
    "exchange.settlement.v1": "sim.contract.messages.exchange_settlement_v1",
    "exchange.v1": "sim.contract.messages.exchange_v1",
    "gateway.v1": "sim.contract.messages.gateway_v1",
    "issuer.v1": "sim.contract.messages.issuer_v1",
    "retail.v1": "sim.contract.messages.retail_v1",
}

# ascending
FIELD_DATES: tuple[Instant, ...] = (
    parse_instant("2026-01-01"),
    parse_instant("2026-04-09"),
    parse_instant("2026-04-13"),
    parse_instant("2026-05-01"),
    parse_instant("2026-05-11"),
    parse_instant("2026-06-29"),
    parse_instant("2026-07-03"),
    parse_instant("2026-09-01"),
    parse_instant("2026-09-18"),
)
