"""The checks, in the order in which they are reported. One that is added here is applied."""

from __future__ import annotations

import inspect
from typing import Any, TextIO

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.checks import books, ledgers, money, orders, reads, streams, trades
from sim.read.tables import print_table

CHECKS: tuple[type[WitnessCheck], ...] = (
    orders.OrderFigures,
    orders.OrderLife,
    orders.ExecutionContent,
    orders.FillsOnce,
    orders.OneEnd,
    trades.OneTrade,
    trades.TradeStates,
    streams.NothingMissed,
    reads.Resumed,
    books.BookForm,
    books.BooksInOrder,
    books.BookBetween,
    books.OwnOrders,
    money.PositionSum,
    money.PositionFills,
    ledgers.PositionLedger,
    ledgers.BalanceLedger,
    money.SettledOnce,
    reads.ReadsGoOn,
    reads.StatesGoOn,
    reads.KeysMeanOne,
    reads.RefusedChangesNothing,
)


def describe(out: TextIO) -> list[dict[str, Any]]:
    """Print every check: what it looks for and what it rests on. The same for a program."""
    rows = [
        {
            "check": check.name,
            "looks for": (inspect.getdoc(check) or "").partition("\n\n")[0].replace("\n", " "),
            "rests on": check.depends_on,
        }
        for check in CHECKS
    ]
    print_table(rows, out)
    return [
        {**row, "theory": (inspect.getdoc(check) or "").partition("\n\n")[2].replace("\n", " ")}
        for row, check in zip(rows, CHECKS, strict=True)
    ]
