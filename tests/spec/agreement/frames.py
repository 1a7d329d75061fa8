"""What frames of streams say, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.spec.agreement.rows import Row


def market_frame(frame: dict[str, Any]) -> Iterator[Row]:
    """A frame of the markets socket."""
    if row := frame.get("marketData"):
        yield Row("markets socket", "market", row["marketSlug"], "retail book", row)
    if row := frame.get("marketDataLite"):
        yield Row("markets socket lite", "market", row["marketSlug"], "retail bbo", row)
    if row := frame.get("trade"):
        yield Row("markets socket trades", "market", row["marketSlug"], "print", row)


def shared_message(name: str, body: dict[str, Any]) -> Iterator[Row]:
    """A message of a gRPC stream about markets."""
    if row := body.get("update"):
        yield Row(name, "market", row["symbol"], "book", row)
    for row in body.get("instruments") or ():
        yield Row(name, "market", row["symbol"], "refdata", row)


def own_message(name: str, account: str, body: dict[str, Any]) -> Iterator[Row]:
    """A message of a gRPC stream about a firm's or an account's affairs."""
    for part in (body.get("snapshot") or {}, body.get("update") or {}, body):
        for row in part.get("orders") or ():
            yield Row(name, "order", row["id"], "exchange", row)
        for row in part.get("positions") or ():
            yield Row(name, "position", f"{account} {row['symbol']}", "exchange", row)
        for row in part.get("executions") or ():
            yield Row(name, "execution", row["id"], "exchange", row)
            if row["order"]["account"] == account:
                yield Row(name, "order", row["order"]["id"], "exchange", row["order"])
        for row in part.get("tradeCaptureReports") or ():
            yield Row(name, "trade", row["id"], "exchange", row)
        for row in part.get("positionChanges") or ():
            held = row["position"]
            if held["account"] == account:
                yield Row(name, "position", f"{account} {held['symbol']}", "exchange", held)
        for row in part.get("entries") or ():
            yield Row(name, "move", row["id"], "exchange", row)
        for row in part.get("transactions") or ():
            yield Row(name, "transaction", row["transactionId"], "exchange", row)
    yield from _rfq_event(name, "exchange", body)


def private_frame(account: str, frame: dict[str, Any]) -> Iterator[Row]:
    """A frame of the private socket."""
    name = "private socket"
    if update := frame.get("orderSubscriptionUpdate"):
        row = update["execution"]
        yield Row(name, "execution", row["id"], "retail", row)
        yield Row(name, "order", row["order"]["id"], "retail", row["order"])
    if update := frame.get("positionSubscription"):
        after = update["afterPosition"]
        slug = after["positionId"].rpartition(":")[2]
        yield Row(name, "position", f"{account} {slug}", "retail", after)
        if after["marketMetadata"]:  # a combo has none
            yield Row(name, "market", slug, "metadata", after["marketMetadata"])
    if update := frame.get("accountBalancesUpdate"):
        change = update["balanceChange"]
        yield Row(name, "move", f"bl_{change['id']}", "retail", change)
        yield Row(name, "balance", account, "retail", change["afterBalance"])
    for row in (frame.get("accountBalancesSnapshot") or {}).get("balances") or ():
        yield Row(name, "balance", account, "retail", row)
    yield from _rfq_event(name, "retail", frame.get("rfqEvent") or {})


def _rfq_event(name: str, dialect: str, body: dict[str, Any]) -> Iterator[Row]:
    for change in body.values():
        if isinstance(change, dict):
            for kind in ("rfq", "quote"):
                if row := change.get(kind):
                    yield Row(name, kind, row["id"], dialect, row)
            if row := change.get("trade"):
                yield Row(name, "trade", row["tradeId"], "by quote", row)
