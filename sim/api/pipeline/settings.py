"""How a simulation is run, as opposed to what happens in it. The few settings that change what
comes out (`LASTING`) stand in the journal.

The scenario says what the world is; settings say what the process around it does: which clocks it
trusts, what it adds to answers, whom it may call.
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

    | Field | Means |
    |---|---|
    | host | address the listeners bind; anything but loopback makes the control plane ask for a token |
    | latency | on a manual clock, a reply that takes virtual time leaves at once and names that time ("elide") or waits for the clock ("hold") |
    | opaque | no `x-sim-*` header or trailer leaves the process |
    | vendor_prefix | the vendor-prefixed JSON names of §2.10 instead of the neutral ones |
    | client_clock | by which clock token assertions and signed timestamps of clients are judged |
    | token_url | address of the token endpoint, which an assertion may name as its `aud` |
    | api_addresses | addresses of this environment's API, which a client may name as `audience` besides its official name |
    | webhook_clock | which clock stamps webhook deliveries; auto is virtual now while a real receiver would believe it |
    | webhook_hosts | hosts besides loopback that webhooks may go to, in lower case |
    | max_body | largest request body and WebSocket frame accepted, bytes |
    | stream_buffer | bytes a stream may have waiting for a slow reader before its stream ends, or skips to the head |
    | docs_url | address of the docs listener, for links |
    | scenarios | folder below which the control plane may read scenario files, "" for none |
    """

    host: str = "127.0.0.1"
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
        """Those that change what comes out, where they are not the usual ones: a journal's header
        keeps them, and a replay takes them from there.
        """
        usual = Settings()
        return {
            name: getattr(self, name)
            for name in LASTING
            if getattr(self, name) != getattr(usual, name)
        }


# Settings that change answers or what is accepted. All others are about sockets, clocks of clients,
# or what surrounds an answer.
LASTING = ("vendor_prefix", "max_body", "webhook_hosts")
