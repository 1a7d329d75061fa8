"""The ready file: the addresses of all surfaces and the accepted credentials, for the program that
started the server. It is written atomically.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import DecodeError, json

from sim.core.catalogue.observations import reading_in_force
from sim.core.model.enums import InstrumentState, Side
from sim.core.model.instrument import Instrument
from sim.kernel.instants import format_instant
from sim.read.commands import curl_command
from sim.run.simulation import Simulation
from sim.server.listeners import LOOPBACK, LOOPBACK_6, SURFACES, Addresses, BoundSockets
from sim.server.room_files import room_url

_ANSWER_S = 1.0  # a server that does not accept within this time has ended


@cache
def _key_text(path: Path) -> str:
    """The content of a key file, read once, so that another instance needs no descriptor for it."""
    return path.read_text(encoding="ascii")


def ready_facts(
    simulation: Simulation, addresses: Addresses, journal: str | None
) -> dict[str, Any]:
    """The content of the ready file."""
    parties = simulation.world.parties
    firms = [
        {
            "firm": firm.name,
            "client_id": firm.client_id,
            "private_key_path": str(parties.key_files[firm.client_id]),
            "private_key_pem": _key_text(parties.key_files[firm.client_id]),
            "audience": addresses.exchange,
            "scopes": list(firm.scopes),
            "users": [user.name for user in firm.users],
            "accounts": [*dict.fromkeys(user.account for user in firm.users)],
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
        "room": room_url(addresses.control),
        "tls_ca": str(addresses.tls_ca) if addresses.tls_ca else None,
        "listens_on": addresses.listens_on,
        "scenario": simulation.scenario.name,
        "seed": simulation.seed,
        "reading": reading(simulation),
        "now": format_instant(simulation.now),
        "journal": journal,
        "firms": firms,
        "api_keys": keys,
        "symbols": symbols(simulation),
    }


def reading(simulation: Simulation) -> str:
    """The present reading of the service: documented, observed, or mixed."""
    ctx = simulation.exchange.ctx
    return reading_in_force(ctx.assumptions, ctx.quirks)


def symbols(simulation: Simulation) -> dict[str, list[str]]:
    """Symbols by use: open ones (those with an empty book first), the fractional ones among them,
    and one list for each other state.

    Only instruments that were listed one by one, because there are too many dormant ones.
    """
    trading = simulation.exchange.trading
    by_state: dict[InstrumentState, list[Instrument]] = {state: [] for state in InstrumentState}
    for instrument in simulation.exchange.instruments.listed():
        by_state[trading.state(instrument.symbol)].append(instrument)

    def is_quoted(instrument: Instrument) -> bool:
        book = trading.books.touched(instrument.symbol)
        return book is not None and bool(book.levels(Side.BUY, 1) or book.levels(Side.SELL, 1))

    open_ones = sorted(by_state.pop(InstrumentState.OPEN), key=is_quoted)
    return {
        "open": [instrument.symbol for instrument in open_ones],
        "fractional": [instrument.symbol for instrument in open_ones if instrument.qty_scale > 1],
        **{
            state.name.lower(): [instrument.symbol for instrument in instruments]
            for state, instruments in by_state.items()
        },
    }


def write_ready_file(path: Path, facts: dict[str, Any]) -> None:
    """Write the file atomically: a reader sees the whole file or none. Only its owner can read it,
    because it contains secrets.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(json.format(json.encode(facts), indent=1) + b"\n")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


@contextmanager
def claimed_ready_file(path: Path | None, bound: BoundSockets | None = None) -> Iterator[None]:
    """While a server runs, its ready file belongs to it: the file of an earlier one is removed at
    the begin, so that nobody mistakes it for this one, and its own at the end.

    Raises OSError if the file cannot be written, or if the earlier server still answers. What
    answers at the ports of `bound` is not that server: they are this one's already.
    """
    if path is None:
        yield
        return
    address = _answering(path)
    if address is not None and (bound is None or not bound.has_port(urlsplit(address).port)):
        text = f"the server that wrote it still answers at {address}: stop it, or name another file"
        raise OSError(errno.EADDRINUSE, text, str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _answering(path: Path) -> str | None:
    """The address at which the server of a ready file accepts connections; None if it does not."""
    try:
        facts = json.decode(path.read_bytes())
        address = facts["control"] or facts["gateway"]
        url = urlsplit(address)
        with socket.create_connection((url.hostname or "", url.port or 0), timeout=_ANSWER_S):
            return str(address)
    except (OSError, DecodeError, KeyError, TypeError, ValueError):
        return None


_NARROWEST = 80  # columns of the narrowest terminal


def greeting(facts: dict[str, Any], took_ms: float, room: str) -> str:
    """Addresses, including the control room, and client settings that can be pasted."""
    started = f"{facts['scenario']}, seed {facts['seed']}, ready in {took_ms:.0f} ms"
    lines = [f"sandbox exchange: {started}", f"{facts['now']}, reading {facts['reading']}", ""]
    lines += [f"  {surface:<9} {facts[surface]}" for surface in SURFACES]
    lines.append(f"  room      {room}")
    if tuple(facts["listens_on"]) == (LOOPBACK,):
        lines.append(f"  localhost {LOOPBACK} alone: this machine has no {LOOPBACK_6}")
    if facts["tls_ca"]:
        lines.append(f"  trust     {facts['tls_ca']}")
    if facts["api_keys"]:
        key = facts["api_keys"][0]
        lines += [
            "",
            "retail SDK (pip install polymarket-us):",
            "  from polymarket_us import PolymarketUS",
            "  client = PolymarketUS(",
            f'      key_id="{key["key_id"]}",',
            f'      secret_key="{key["secret_key"]}",',
            f'      gateway_base_url="{facts["gateway"]}",',
            f'      api_base_url="{facts["retail"]}",',
            "  )",
        ]
    if facts["firms"]:
        firm = facts["firms"][0]
        lines += [
            "",
            "partner (private_key_jwt, RS256):",
            f"  client_id={firm['client_id']}",
            f"  audience={firm['audience']}",
            f"  token_url={facts['auth']}/oauth/token",
            f"  private_key={firm['private_key_path']}",
            f"  x-participant-id: {firm['users'][0] if firm['users'] else 'onboard one by KYC'}",
        ]
    if facts["symbols"]["open"]:
        command = _first_command(facts)
        lines += ["", "try:", f"  {command}", ""]
    return "\n".join(lines)


def _first_command(facts: dict[str, Any]) -> str:
    """A curl command that reads a book. It uses the last open symbol with which the command fits
    into a line of the narrowest terminal, or else the last one.
    """
    commands = [
        curl_command(
            f"{facts['gateway']}/v1/markets/{quote(symbol, safe='')}/book", facts["tls_ca"]
        )
        for symbol in reversed(facts["symbols"]["open"])
    ]
    return next(
        (command for command in commands if len(command) <= _NARROWEST - len("  ")), commands[0]
    )
