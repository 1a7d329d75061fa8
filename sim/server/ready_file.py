"""The ready file: where everything listens and who may call, for the programs that started us.
Written whole or not at all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import json

from sim.core.model.enums import InstrumentState, Side
from sim.kernel.instants import format_instant

if TYPE_CHECKING:
    from sim.core.model.instruments import Instrument
    from sim.server.service import Addresses
    from sim.simulation import Simulation


def ready_facts(
    simulation: Simulation, addresses: Addresses, journal: str | None
) -> dict[str, Any]:
    """What the ready file says."""
    parties = simulation.world.parties
    firms = [
        {
            "firm": firm.name,
            "client_id": firm.client_id,
            "private_key_path": str(parties.key_files[firm.client_id]),
            "audience": addresses.exchange,
            "scopes": list(firm.scopes),
            "users": [user.name for user in firm.users],
            "accounts": [user.account for user in firm.users],
            "participants": {user.name: user.account for user in firm.users},
            "clearing_account": firm.clearing_account,
        }
        for firm in parties.firms
        if firm.client_id in parties.key_files
    ]
    keys = [
        {"key_id": key.key_id, "secret_key": parties.secrets[key.key_id], "account": key.account}
        for key in parties.api_keys
        if key.key_id in parties.secrets
    ]
    return {
        **dict(addresses.surfaces()),
        "tls_ca": str(addresses.tls_ca) if addresses.tls_ca else None,
        "scenario": simulation.scenario.name,
        "seed": simulation.seed,
        "now": format_instant(simulation.now),
        "journal": journal,
        "firms": firms,
        "api_keys": keys,
        "symbols": symbols(simulation),
    }


def symbols(simulation: Simulation) -> dict[str, list[str]]:
    """Symbols by what they are good for: open ones (those with an empty book first), fractional
    ones among them, and one list for each other state.

    Only those listed one by one: what is on the shelf is as good, and there is too much of it.
    """
    trading = simulation.exchange.trading
    found: dict[str, list[str]] = {"open": [], "fractional": []}
    found |= {
        state.name.lower(): [] for state in InstrumentState if state is not InstrumentState.OPEN
    }
    quiet: list[Instrument] = []
    quoted: list[Instrument] = []
    for instrument in simulation.exchange.instruments.listed():
        state = trading.state(instrument.symbol)
        if state is not InstrumentState.OPEN:
            found[state.name.lower()].append(instrument.symbol)
            continue
        book = trading.books.touched(instrument.symbol)
        (
            quoted
            if book is not None and (book.levels(Side.BUY, 1) or book.levels(Side.SELL, 1))
            else quiet
        ).append(instrument)
    for instrument in (*quiet, *quoted):
        found["open"].append(instrument.symbol)
        if instrument.qty_scale > 1:
            found["fractional"].append(instrument.symbol)
    return found


def write_ready_file(path: Path, facts: dict[str, Any]) -> None:
    """Write atomically: a reader sees the whole file or none."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(json.format(json.encode(facts), indent=1) + b"\n")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


def clear_ready_file(path: Path) -> None:
    """Make its folder, and take away what an earlier server left: whoever waits for the file must
    not find that one. OSError when it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)


def greeting(facts: dict[str, Any], took_ms: float) -> str:
    """Addresses and ready-to-paste client settings."""
    lines = [
        (
            f"sandbox exchange: {facts['scenario']}, seed {facts['seed']}, {facts['now']}, ready in"
            f" {took_ms:.0f} ms"
        ),
        "",
    ]
    for surface in ("gateway", "retail", "exchange", "auth", "grpc", "control", "docs"):
        lines.append(f"  {surface:<9} {facts[surface]}")
    if facts["tls_ca"]:
        lines.append(f"  trust     {facts['tls_ca']}")
    if facts["api_keys"]:
        key = facts["api_keys"][0]
        lines += [
            "",
            "retail SDK (pip install polymarket-us):",
            "  from polymarket_us import PolymarketUS",
            f'  client = PolymarketUS(key_id="{key["key_id"]}",',
            f'                        secret_key="{key["secret_key"]}",',
            (
                f'                        gateway_base_url="{facts["gateway"]}",'
                f' api_base_url="{facts["retail"]}")'
            ),
        ]
    if facts["firms"]:
        firm = facts["firms"][0]
        lines += [
            "",
            "partner (private_key_jwt, RS256):",
            f"  client_id={firm['client_id']}  audience={firm['audience']}",
            f"  token_url={facts['auth']}/oauth/token",
            f"  private_key={firm['private_key_path']}",
            f"  x-participant-id: {firm['users'][0] if firm['users'] else 'onboard one by KYC'}",
        ]
    if facts["symbols"]["open"]:
        lines += [
            "",
            f"try: curl {facts['gateway']}/v1/markets/{facts['symbols']['open'][-1]}/book",
            "",
        ]
    return "\n".join(lines)
