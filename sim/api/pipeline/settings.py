"""Settings of the process that runs a simulation, which are not part of the scenario.

They say which clocks the process trusts, what it adds to answers, and where webhooks may go. The
few that change answers (`RECORDED`) are in the journal's header.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

Latency: TypeAlias = Literal["elide", "hold"]
ClientClock: TypeAlias = Literal["virtual", "wall", "either"]
WebhookClock: TypeAlias = Literal["auto", "virtual", "wall"]

MEBIBYTE = 1 << 20


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of one process.

    | Field | Meaning |
    |---|---|
    | host | address of the listeners; beyond loopback the control plane requires a token |
    | public_host | host name of this machine in addresses, in lower case; "" for `host` |
    | latency | on a manual clock, a reply that takes time waits for it ("hold"), or is sent at |
    | | once with the time in a header ("elide") |
    | opaque | send no `x-sim-*` header or trailer |
    | vendor_prefix | use the vendor-prefixed JSON names of §2.10 instead of the neutral ones |
    | client_clock | the clock that clients' assertions and timestamps are compared with |
    | token_url | address of the token endpoint, which an assertion may name as its `aud` |
    | api_addresses | addresses that a client may name as `audience`, besides the official name |
    | webhook_clock | the clock that stamps deliveries; auto: virtual now if a receiver accepts it |
    | webhook_hosts | hosts besides loopback that webhooks may go to, in lower case |
    | max_body | largest request body and WebSocket frame accepted, bytes |
    | stream_buffer | bytes that may wait for a slow reader; then the stream ends or skips frames |
    | docs_url | address of the docs listener, for links |
    | scenarios | folder below which the control plane may read scenario files, "" for none |
    """

    host: str = "127.0.0.1"
    public_host: str = ""
    latency: Latency = "elide"
    opaque: bool = False
    vendor_prefix: bool = False
    client_clock: ClientClock = "either"
    token_url: str = ""
    api_addresses: tuple[str, ...] = ()
    webhook_clock: WebhookClock = "auto"
    webhook_hosts: tuple[str, ...] = ()
    max_body: int = MEBIBYTE
    stream_buffer: int = 64 * MEBIBYTE
    docs_url: str = ""
    scenarios: str = ""

    def recorded(self) -> dict[str, Any]:
        """Return the settings for a journal's header: those of `RECORDED` that are not
        at their default.
        """
        default = Settings()
        return {
            name: getattr(self, name)
            for name in RECORDED
            if getattr(self, name) != getattr(default, name)
        }


# Settings that change answers or acceptance. A replay takes them from the journal.
RECORDED = ("vendor_prefix", "max_body", "webhook_hosts")
