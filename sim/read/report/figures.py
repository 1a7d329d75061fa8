"""`sim report --account`: the results of an account, as text, JSON and CSV."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

from sim.core.accounts.ledger import TRADING
from sim.core.model.refusals import NotFound
from sim.kernel.instants import format_instant
from sim.read.errors import UsageError
from sim.read.layout import counted, put, wrapped
from sim.read.tables import print_table
from sim.run.actors.operator.views import ViewFilter, view
from sim.run.simulation import Simulation
from sim.world.format.suggestions import known_names

TABLES = ("fills", "performance", "quotes", "ledger")
_SUMS = ("realised", "unrealised", "fees", "total")
# The columns, which a table without rows has as well.
_COLUMNS = {
    "fills": "seq at id trade order clord_id symbol side price qty liquidity fee",
    "performance": "seq at symbol net average cost mark realised unrealised fees total",
    "quotes": "seq at symbol bid bid_qty offer offer_qty spread",
    "ledger": "id at type amount balance symbol reference description",
    "positions": "symbol net average cost mark realised unrealised fees total",
}


def figures_of(simulation: Simulation, name: str) -> dict[str, Any]:
    """Return everything about an account, named by itself or by one of its users.

    `positions` are the last figures of each instrument, `totals` their sums in dollars. Raises
    UsageError for an unknown name.
    """
    engine = simulation.engine
    try:
        account = engine.account_named(name)
    except NotFound:
        accounts = [row.name for row in engine.exchange.trading.ledger if row.kind == TRADING]
        raise UsageError(f"no account is called {name!r}{known_names(name, accounts)}") from None
    only = ViewFilter(account=account)
    (cash,) = view(engine, "accounts", only)["accounts"]
    rows = {name: _without_account(view(engine, name, only)[name]) for name in TABLES}
    last = {row["symbol"]: row for row in rows["performance"]}
    positions = [
        {key: value for key, value in row.items() if key not in ("seq", "at")}
        for _, row in sorted(last.items())
    ]
    sums = {key: sum((Decimal(row[key]) for row in positions), Decimal("0.00")) for key in _SUMS}
    return {
        "account": account,
        "scenario": simulation.scenario.name,
        "seed": simulation.seed,
        "seq": simulation.seq,
        "until": format_instant(simulation.now),
        "balance": cash["balance"],
        "buying_power": cash["buying_power"],
        "totals": {key: f"{value:f}" for key, value in sums.items()},
        "positions": positions,
        **rows,
    }


def _without_account(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "account"} for row in rows]


def write_csv(figures: dict[str, Any], folder: Path) -> list[Path]:
    """Write a file for each table to a folder: fills.csv, performance.csv, and so on.

    Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, columns in _COLUMNS.items():
        path = folder / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns.split(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(_plain(row) for row in figures[name])
        paths.append(path)
    return paths


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which a spreadsheet takes no text of a client for a formula."""
    return {
        key: f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "@") else value
        for key, value in row.items()
    }


def print_figures(figures: dict[str, Any], out: TextIO) -> None:
    """Print the figures as text."""
    totals = ", ".join(f"{name} {value}" for name, value in figures["totals"].items())
    counts = (counted(len(figures["fills"]), "fill"), counted(len(figures["quotes"]), "quote"))
    for text in (
        f"{figures['account']}, until {figures['until']} (input {figures['seq']})",
        f"balance {figures['balance']}, buying power {figures['buying_power']}",
        totals,
        ", ".join(counts),
    ):
        put(*wrapped(text), file=out)
    if figures["positions"]:
        put(file=out)
        print_table(figures["positions"], out)
