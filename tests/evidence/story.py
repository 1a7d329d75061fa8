"""Recordings written by hand: a few lines that are consistent or contain a contradiction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.evidence.lines import write

SYMBOL = "aec-nfl-dal-phi-2026-09-10"
ACCOUNT = "firms/atlas-fcm/accounts/8f3a61c4"
REPORTS = "/v1/report/executions/search"


def at(second: float) -> str:
    """Return an instant of the recording."""
    return f"2026-09-08T18:{int(second) // 60:02d}:{second % 60:06.3f}Z"


def order(
    id: str = "ORDER1",
    *,
    cum: int = 0,
    leaves: int = 10,
    qty: int = 10,
    state: str = "NEW",
    second: float = 1,
    side: str = "BUY",
    price: int = 50,
    average: int = 0,
) -> dict[str, Any]:
    """An order of the exchange."""
    return {
        "id": id,
        "type": "ORDER_TYPE_LIMIT",
        "side": f"SIDE_{side}",
        "orderQty": str(qty),
        "symbol": SYMBOL,
        "account": ACCOUNT,
        "cumQty": str(cum),
        "avgPx": str(average),
        "leavesQty": str(leaves),
        "state": f"ORDER_STATE_{state}",
        "price": str(price),
        "lastTransactTime": at(second),
    }


def execution(
    name: str,
    kind: str = "NEW",
    *,
    qty: int = 0,
    px: int = 0,
    trade: str = "",
    aggressor: bool = False,
    **of_order: Any,
) -> dict[str, Any]:
    """An execution, with its order after it."""
    created = order(**of_order)
    return {
        "id": name,
        "order": created,
        "lastShares": str(qty),
        "lastPx": str(px),
        "type": f"EXECUTION_TYPE_{kind}",
        "transactTime": created["lastTransactTime"],
        "tradeId": trade,
        "aggressor": aggressor,
    }


def fill(name: str, cum: int, qty: int, second: float, px: int = 50, **more: Any) -> dict[str, Any]:
    """A fill of an order for ten."""
    total = cum == 10
    of_order = {
        "cum": cum,
        "leaves": 10 - cum,
        "state": "FILLED" if total else "PARTIALLY_FILLED",
        "average": px,
        "second": second,
    }
    return execution(name, "FILL" if total else "PARTIAL_FILL", qty=qty, px=px, **(of_order | more))


def book(
    bids: list[tuple[int, int]],
    offers: list[tuple[int, int]] | None = None,
    second: float = 1,
    state: str = "OPEN",
) -> dict[str, Any]:
    """A book of the exchange."""
    sides = {
        name: [{"px": str(px), "qty": str(qty)} for px, qty in levels]
        for name, levels in (("bids", bids), ("offers", offers or []))
    }
    return {
        "symbol": SYMBOL,
        **sides,
        "state": f"INSTRUMENT_STATE_{state}",
        "transactTime": at(second),
    }


def position(net: int, bought: int, sold: int, second: float) -> dict[str, Any]:
    """A position of the exchange."""
    return {
        "account": ACCOUNT,
        "symbol": SYMBOL,
        "netPosition": str(net),
        "qtyBought": str(bought),
        "qtySold": str(sold),
        "updateTime": at(second),
    }


def cash(id: str, before: str, after: str, kind: str = "ORDER_EXECUTION", second: float = 1) -> Any:
    """An entry of the balance ledger."""
    return {
        "id": id,
        "account": ACCOUNT,
        "currency": "USD",
        "beforeBalance": before,
        "afterBalance": after,
        "entryType": kind,
        "symbol": SYMBOL,
        "updateTime": at(second),
    }


class Story:
    """Lines of a recording, a second apart by default."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.second = 1.0
        self.streams = 0

    def _add(self, plane: str, **line: Any) -> int:
        number = len(self.lines) + 1
        instant = at(self.second)
        self.lines.append({"n": number, "at": instant, "plane": plane, "client": "c-1", **line})
        self.second += 1
        return number

    def get(
        self,
        path: str,
        body: Any,
        *,
        asked: Any = None,
        query: str = "",
        began: float | None = None,
        plane: str = "exchange",
    ) -> int:
        """A call over HTTP; with `began` its request was sent at that second."""
        method = "POST" if asked is not None else "GET"
        request = {"method": method, "path": path, "query": query, "body": asked}
        instant = at(self.second)
        answer = {"status": 200, "body": body, "at": instant, "now": instant}
        number = self._add(plane, request=request, answer=answer)
        if began is not None:
            self.lines[-1]["at"] = at(began)
        return number

    def reports(self, *executions: dict[str, Any]) -> int:
        """A search of executions."""
        return self.get(REPORTS, {"executions": list(executions)}, asked={"symbol": SYMBOL})

    def open_orders(self, *orders: dict[str, Any]) -> int:
        """A list of open orders."""
        return self.get("/v1/trading/orders/open", {"orders": list(orders)})

    def call(self, rpc: str, asked: Any, body: Any) -> int:
        """A unary gRPC call."""
        request = {"method": "gRPC", "path": rpc, "body": asked}
        now = at(self.second)
        return self._add("grpc", request=request, answer={"status": 0, "body": body, "now": now})

    def _open(self, opened: dict[str, str], body: Any, **by: str) -> int:
        self.streams += 1
        self._add(stream=self.streams, opened=opened, **by)
        self._add(stream=self.streams, frame={"from": "client", "body": body}, **by)
        return self.streams

    def stream(self, rpc: str, asked: Any | None = None) -> int:
        """Open a gRPC stream; its number."""
        return self._open({"rpc": f"/exchange.v1.{rpc}"}, asked or {}, plane="grpc")

    def socket(self, client: str, kind: str) -> int:
        """Open a private retail socket and subscribe; its number."""
        asked = {"requestId": "r1", "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}"}
        opened = {"path": "/v1/ws/private"}
        return self._open(opened, {"subscribe": asked}, plane="retail", client=client)

    def frame(self, stream: int, body: Any, plane: str = "grpc", client: str = "c-1") -> int:
        """A message of the service on a stream."""
        frame = {"from": "service", "body": body}
        return self._add(plane, client=client, stream=stream, frame=frame)

    def write(self, file: Path) -> Path:
        """The recording."""
        return write(file, [{"recording": 1, "started": at(0), "upstream": {}}, *self.lines])
