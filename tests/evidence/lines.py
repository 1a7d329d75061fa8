"""Lines of a recording: read, found, changed and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from msgspec import json

Line: TypeAlias = dict[str, Any]
ABSENT = object()
# What is called, by the begin of a path, or what sends the first frame with a member.
OPERATIONS = {
    "/v1/order/": "RetailOrdersAPI.GetOrder",
    "/v1/account/balances": "RetailAccountAPI.GetBalances",
    "/v1/markets/": "RetailMarketDataAPI.GetBook",
    "/v1/trading/orders": "OrderEntryAPI.InsertOrder",
    "/v1/orderbook/": "OrderBookAPI.GetOrderBook",
    "/exchange.v1.OrderBook": "OrderBookAPI.GetOrderBook",
    "/v1/positions/ledger/download": "PositionAPI.DownloadPositionLedger",
    "/v1/funding/balance-ledger/download": "FundingAPI.DownloadBalanceLedger",
    "/oauth/token": "TokenIssuerAPI.IssueToken",
    "marketData": "RetailStreamsAPI.MarketsStream",
    "update": "OrderEntryAPI.CreateOrderSubscription",
}


def lines(file: Path) -> list[Line]:
    """Every line of a recording."""
    return [json.decode(line) for line in file.read_bytes().splitlines()]


def write(file: Path, rows: list[Line]) -> Path:
    """Write lines as a recording."""
    file.write_bytes(b"".join(json.encode(row) + b"\n" for row in rows))
    return file


@contextmanager
def edited(file: Path) -> Iterator[list[Line]]:
    """The lines of a recording, which is written again with the changes that the block makes."""
    rows = lines(file)
    yield rows
    write(file, rows)


def called(rows: list[Line], path: str, status: int | None = None) -> Line:
    """The first call of a path that begins so, and was answered with a status."""
    return next(
        row
        for row in rows
        if row.get("request", {}).get("path", "").startswith(path)
        and status in (None, row["answer"]["status"])
    )


def frames(rows: list[Line], member: str) -> list[Line]:
    """The frames of the service with a member, at any depth."""
    return [
        row
        for row in rows
        if row.get("frame", {}).get("from") == "service"
        and f'"{member}":'.encode() in json.encode(row["frame"]["body"])
    ]


def put(row: Line, where: str, value: Any) -> None:
    """Change a value at a place such as "answer.body.orders[0].id", or take it out (ABSENT)."""
    *parents, last = (
        int(name) if name.isdigit() else name for name in re.findall(r"[^.\[\]]+", where)
    )
    inner: Any = row
    for name in parents:
        inner = inner[name]
    if value is ABSENT:
        del inner[last]
    else:
        inner[last] = value


class Change(NamedTuple):
    """A change of the first successful call of an address, or first frame with a member, and the
    place and kind of the difference that it is. `value` may be a function that changes the line; it
    is written at `at`, if that is another place.
    """

    call: str
    where: str
    kind: str
    value: Any = ABSENT
    at: str = ""
    status: int = 200

    @property
    def operation(self) -> str:
        return OPERATIONS[self.call]

    def make(self, rows: list[Line]) -> None:
        """Change the line."""
        is_call = "/" in self.call
        row = called(rows, self.call, self.status) if is_call else frames(rows, self.call)[0]
        if callable(self.value):
            self.value(row)
        else:
            put(row, self.at or self.where, self.value)


def in_report(old: str, new: str) -> Callable[[Line], None]:
    """Another word in a report, where it comes first."""

    def change(row: Line) -> None:
        text = json.encode(row["answer"]["body"]).decode()
        assert old in text, text
        row["answer"]["body"] = json.decode(text.replace(old, new, 1))

    return change
