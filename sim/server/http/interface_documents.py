"""The machine-readable documents of the docs listener: OpenAPI of each plane and of the control
plane, AsyncAPI of sockets and webhooks, and documents for coding agents (`/llms.txt`, `/skill.md`).
"""

from __future__ import annotations

from typing import Any

from sim.api.pipeline.replies import wire_switches
from sim.api.pipeline.settings import Settings
from sim.contract.asyncapi import WebhookSample, asyncapi_document
from sim.contract.contract import PLANES, Plane, load_contract
from sim.contract.openapi import openapi_document
from sim.core.catalogue.assumptions.webhooks import WEBHOOK_SHAPE
from sim.core.webhooks.payloads import WEBHOOK_TYPES, sample_payloads
from sim.kernel import resources
from sim.kernel.instants import Instant, format_instant
from sim.run.simulation import Simulation
from sim.server.listeners import Addresses


def webhook_samples(shape: str, at: Instant) -> list[WebhookSample]:
    """Each webhook with a payload in the form of the assumption `webhook.shape`."""
    return [
        WebhookSample(name, WEBHOOK_TYPES[name], payload)
        for name, payload in sample_payloads(shape, at).items()
    ]


def openapi_of(
    plane: Plane, simulation: Simulation, settings: Settings, server: str
) -> dict[str, Any]:
    """OpenAPI of a plane at virtual now."""
    return openapi_document(
        load_contract(),
        plane,
        simulation.now,
        vendor_prefix=settings.vendor_prefix,
        server=server,
        switches=wire_switches(simulation.exchange.ctx.assumptions),
    )


def asyncapi_of(simulation: Simulation, settings: Settings, server: str) -> dict[str, Any]:
    """AsyncAPI of the retail sockets and the webhooks at virtual now."""
    assumptions = simulation.exchange.ctx.assumptions
    return asyncapi_document(
        load_contract(),
        simulation.now,
        webhooks=webhook_samples(assumptions.text(WEBHOOK_SHAPE), simulation.now),
        vendor_prefix=settings.vendor_prefix,
        switches=wire_switches(assumptions),
        server=server,
    )


def skill() -> bytes:
    """Instructions for a coding agent to work with the exchange, as a skill file."""
    return resources.path("fixtures", "skill.md").read_bytes()


def llms_text(simulation: Simulation, at: Addresses) -> str:
    """The page for language models (llmstxt.org), with the addresses of this run."""
    planes = "\n".join(
        f"- [OpenAPI: {plane}]({at.docs}/openapi/{plane}.json): {_PLANES[plane]},"
        f" served at {getattr(at, plane)}"
        for plane in PLANES
    )
    return _LLMS.format(
        scenario=_one_line(simulation.scenario.name),
        seed=simulation.seed,
        now=format_instant(simulation.now),
        planes=planes,
        at=at,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:80]


_PLANES: dict[Plane, str] = {
    "gateway": "public reference data and prices, no credentials",
    "retail": "the retail API, signed with an Ed25519 key",
    "exchange": "the partner API, with a bearer token and x-participant-id",
    "auth": "the token issuer, private_key_jwt",
}
_LLMS = """# Sandbox exchange

> A deterministic sandbox of a prediction-market exchange. This run serves the scenario
> {scenario}, seed {seed}; it is {now} there. Nothing here is real money, and no call leaves
> this machine.

A client under test talks to the planes below. A tester moves time, injects faults and reads state
through the control plane at {at.control}/_sim/v1. Time stands still or moves as the clock mode
says: read `GET /_sim/v1/clock` before you wait for anything.

- Prices are integers: divide by the instrument's price_scale. Quantities: by qty_scale.
- A refused call has an x-request-id; `GET {at.control}/_sim/v1/explain/ID` says which rule refused
  it and what to do instead.
- The same scenario, seed and calls give the same run. `POST /_sim/v1/reset` starts it over.

## Interfaces

{planes}
- [AsyncAPI]({at.docs}/asyncapi.json): the two retail WebSockets and the webhooks
- [OpenAPI: control plane]({at.docs}/openapi/control.json): clock, faults, state, history, explain
- [Protobuf bundle]({at.docs}/proto/bundle): a zip for protoc and buf; gRPC is served at {at.grpc}

## Guides

- [Skill]({at.docs}/skill.md): how a coding agent finds and mends a bug of a client with this
- [Changelog]({at.docs}/changelog): the interface by date, as it is known in this run

## Optional

- [Operations]({at.docs}/): every operation as a page, with addresses and scopes
"""
