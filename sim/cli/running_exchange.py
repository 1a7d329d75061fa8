"""The facts about a running exchange that commands use: its ready file, or, on the default ports,
what follows from its scenario.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sim.cli.arguments import DEFAULT_BASE, Options

_WRITES = "which `sim serve --ready-file PATH` writes"


def add_exchange(parser: Options) -> None:
    """Add the options that select the exchange and its clock."""
    ready = "ready file of the exchange (default: SIM_READY_FILE, else the default ports)"
    parser.add_path("--ready-file", "PATH", ready)
    stamp = "stamp with the exchange's virtual time, for --client-clock virtual"
    parser.add_flag("--virtual", stamp)


def facts_of(args: argparse.Namespace) -> dict[str, Any]:
    """Addresses and credentials, as in a ready file. UsageError if they cannot be found."""
    return facts_in(args.ready_file) if args.ready_file else _facts_on_default_ports()


def facts_in(path: Path) -> dict[str, Any]:
    """The content of a ready file. UsageError if it is not one; OSError."""
    from msgspec import DecodeError, json

    from sim.read.errors import UsageError

    try:
        facts = json.decode(path.read_bytes(), type=dict[str, Any])
    except DecodeError as error:
        raise UsageError(f"{path} is not a ready file, {_WRITES}: {error}") from None
    if missing := [key for key in ("gateway", "firms", "api_keys") if not facts.get(key)]:
        names = ", ".join(missing)
        raise UsageError(f"{path} lacks {names}: it is not a ready file, {_WRITES}")
    return facts


def _facts_on_default_ports() -> dict[str, Any]:
    from sim.kernel import resources
    from sim.read.errors import UsageError

    control = f"http://127.0.0.1:{DEFAULT_BASE + 5}"
    health = ask(f"{control}/_sim/v1/health")
    if health["scenario"] not in resources.bundled_scenarios():
        raise UsageError(
            f"the exchange at {control} serves {health['scenario']!r}, which is not a bundled"
            " scenario: start it with --ready-file PATH, and name that file here"
        )
    return default_facts(health["scenario"], health["seed"]) | {"control": control}


def default_facts(scenario: str = "quickstart", seed: int | None = None) -> dict[str, Any]:
    """The content of the ready file of `sim serve SCENARIO` on its default ports."""
    from sim.contract.openapi import default_server
    from sim.run.loader.load import load_single
    from sim.run.simulation import Simulation
    from sim.server.listeners import Addresses
    from sim.server.ready_file import ready_facts

    addresses = Addresses(
        gateway=default_server("gateway"),
        retail=default_server("retail"),
        exchange=default_server("exchange"),
        auth=default_server("auth"),
    )
    return ready_facts(Simulation(load_single(scenario), seed=seed), addresses, None)


def now_ns(args: argparse.Namespace, facts: dict[str, Any]) -> int:
    """The instant for the timestamp of a request: the machine's, or with
    --virtual the exchange's.
    """
    import time

    if not args.virtual:
        return time.time_ns()
    from sim.kernel.instants import parse_instant

    return parse_instant(ask(f"{facts['control']}/_sim/v1/health", ca=facts["tls_ca"])["now"])


def ask(url: str, form: dict[str, str] | None = None, ca: str | None = None) -> dict[str, Any]:
    """The JSON answer of an exchange. UsageError with its answer if that is not JSON."""
    import ssl
    from urllib.error import HTTPError
    from urllib.parse import urlencode
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener

    from msgspec import DecodeError, json

    from sim.read.errors import UsageError
    from sim.server.listeners import is_loopback

    data = urlencode(form).encode() if form is not None else None
    context = ssl.create_default_context(cafile=ca) if ca else None
    proxy = ProxyHandler({} if is_loopback(urlsplit(url).hostname or "") else None)
    try:
        with build_opener(proxy, HTTPSHandler(context=context)).open(
            url, data, timeout=10
        ) as answer:
            return json.decode(answer.read(), type=dict[str, Any])
    except HTTPError as error:
        detail = error.read().decode("utf-8", "replace").strip()
        raise UsageError(f"{url}: {error.code} {detail}") from None
    except (OSError, DecodeError) as error:
        where = urlsplit(url).netloc
        raise UsageError(
            f"no exchange answers at {where}: start `sim serve`, or name its ready file with"
            f" --ready-file ({error})"
        ) from None
