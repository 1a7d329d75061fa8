"""CSV downloads over both protocols: rows are read as the text is read, so nothing grows with their
number, and they are those of the moment of asking.
"""

from __future__ import annotations

import csv
import io
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import pytest

from sim.api.reports.csv_writer import CHUNK_ROWS
from sim.contract.messages import Message
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.commands import CancelOrder
from sim.core.model.enums import Side, TimeInForce
from sim.core.model.refusals import Unavailable
from sim.evidence.audit import Audit
from sim.kernel.instants import minutes
from sim.run.client.client import RpcError
from tests.kit import Desk, begin, refused
from tests.surfaces.callers import counted, place, unlimited_world

TRADES = 1600


class Download(NamedTuple):
    """One download: its address, what it is called, its request, the field its text is in, and
    where its rows live.
    """

    verb: str
    path: str
    operation: str
    request: type[Message]
    text: str
    rows: Callable[[Desk], tuple[Any, str]]


def _report(records: str, rows: str) -> Download:
    """The download of a kind of record."""
    name = f"Download{records.capitalize()}"
    return Download(
        *("POST", f"/v1/report/{records}/csv", f"ReportAPI.{name}"),
        *(getattr(wire, f"{name}Request"), "filechunk"),
        lambda world: (attrgetter(rows)(world.trading), "rows"),
    )


def _ledger(path: str, service: str, kind: str, component: str) -> Download:
    """The download of a ledger of an account."""
    return Download(
        *("GET", f"/v1/{path}/download", f"{service}.Download{kind}Ledger"),
        *(getattr(wire, f"Download{kind}LedgerRequest"), "data"),
        lambda world: (getattr(world.trading, component)._rows_of, world.account()),
    )


DOWNLOADS = [
    _report("orders", "orders.rows"),
    _report("executions", "executions"),
    _report("trades", "trades"),
    _ledger("funding/balance-ledger", "FundingAPI", "Balance", "ledger"),
    _ledger("positions/ledger", "PositionAPI", "Position", "positions"),
]
every_download = pytest.mark.parametrize(
    "download", DOWNLOADS, ids=lambda download: download.operation
)
REPORTS = DOWNLOADS[:3]


def busy(count: int) -> Desk:
    """Two participants trade one contract back and forth, `count` times."""
    world = unlimited_world()
    symbol = world.quiet().symbol
    for number in range(count):
        for user in (0, 1):
            side = (Side.BUY, Side.SELL)[(number + user) % 2]
            place(world, user, symbol, side, 50, clord_id=f"{number}")
        world.core.take_events()
    world.advance("1m")
    return world


@pytest.fixture(scope="module")
def world() -> Desk:
    return busy(TRADES)


@pytest.fixture(scope="module")
def little() -> Desk:
    return busy(2 * CHUNK_ROWS)


def by_rest(world: Desk, download: Download, **fields: Any) -> Iterator[bytes]:
    """Chunks as they leave, out of the JSON around them where there is some."""
    client = world.trader()
    if download.verb == "GET":
        chunks = client.get(
            download.path, params={"account": world.account(), **fields}
        ).reply.chunks
        assert chunks is not None
        return chunks
    lines = client.post(download.path, json=fields).reply.chunks
    assert lines is not None
    return (msgspec.json.decode(line)["result"]["filechunk"].encode() for line in lines)


def by_grpc(world: Desk, download: Download, **fields: Any) -> Iterator[bytes]:
    if download.text == "data":
        fields = {"account": world.account(), **fields}
    for part in world.rpc_trader().download(download.operation, download.request(**fields)):
        text = getattr(part, download.text)
        yield text if isinstance(text, bytes) else text.encode()


both = pytest.mark.parametrize("ask", [by_rest, by_grpc])


@pytest.mark.spec("S4.3-17", "S4.3-18")
@both
@every_download
def test_no_more_rows_are_read_than_have_been_sent_but_for_one_chunk(
    world: Desk, download: Download, ask: Any
) -> None:
    next(iter(ask(world, download)))  # indexes catch up with rows that are new to them, once
    with counted(*download.rows(world)) as rows:
        lines = -1
        for number, chunk in enumerate(ask(world, download), 1):
            lines += chunk.count(b"\r\n")
            # Finding the window reads a few more: two bisections.
            assert lines <= rows.read <= number * CHUNK_ROWS + 50
        assert lines >= TRADES > CHUNK_ROWS


@pytest.mark.spec("S4.3-17", "S4.3-18")
@both
@pytest.mark.parametrize("download", DOWNLOADS[::3], ids=lambda download: download.operation)
def test_memory_does_not_grow_with_the_number_of_rows(
    world: Desk, little: Desk, download: Download, ask: Any
) -> None:
    few, many = peak(little, download, ask), peak(world, download, ask)
    assert many < few * 5 // 4


def peak(world: Desk, download: Download, ask: Any) -> int:
    """Most bytes that were in use at once from asking to the last chunk, which the reader does not
    keep.
    """
    deque(ask(world, download), maxlen=0)  # what is made once is made now
    tracemalloc.start()
    try:
        deque(ask(world, download), maxlen=0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@every_download
def test_both_protocols_send_the_same_text(world: Desk, download: Download) -> None:
    text = b"".join(by_rest(world, download))
    assert b"".join(by_grpc(world, download)) == text
    assert len(csv_rows(text)) == text.count(b"\r\n") - 1 >= TRADES


@both
@pytest.mark.parametrize("download", REPORTS, ids=lambda download: download.operation)
def test_a_window_without_rows_is_a_header(world: Desk, download: Download, ask: Any) -> None:
    start = world.now + minutes(5)
    value = start if ask is by_grpc else "2030-01-01T00:00:00Z"
    assert b"".join(ask(world, download, start_time=value)).count(b"\r\n") == 1


def test_a_refused_download_is_a_status(world: Desk) -> None:
    with pytest.raises(RpcError) as refused:
        world.rpc_trader().download(
            "FundingAPI.DownloadBalanceLedger",
            wire.DownloadBalanceLedgerRequest(account="firms/nobody/accounts/x"),
        )
    assert refused.value.code == 7


def test_orders_are_those_of_the_moment_of_asking_whatever_happens_while_they_are_read() -> None:
    world = busy(2 * CHUNK_ROWS)
    trading = world.trading
    symbol = world.quiet().symbol

    def bid(price: int, **terms: Any) -> str:
        return place(world, 0, symbol, Side.BUY, price, **terms).id

    old = bid(10)
    for _ in range(CHUNK_ROWS + 100):
        bid(9, tif=TimeInForce.IMMEDIATE_OR_CANCEL)
    expected = b"".join(by_rest(world, DOWNLOADS[0]))
    assert csv_rows(expected)[old]["state"] == "ORDER_STATE_NEW"
    world.simulation.snapshot("before")

    def cancel() -> None:
        trading.order_service.cancel(CancelOrder(accounts=(world.account(),), order_id=old))

    def trade() -> None:
        place(world, 1, symbol, Side.SELL, 10, tif=TimeInForce.DAY)

    for meanwhile in (lambda: bid(10), trade, cancel):
        world.simulation.restore("before")
        chunks = by_rest(world, DOWNLOADS[0])
        text = next(chunks)
        assert old.encode() not in text
        meanwhile()
        assert text + b"".join(chunks) == expected


@both
@every_download
def test_a_journey_in_time_ends_a_download(world: Desk, download: Download, ask: Any) -> None:
    world.trader().get("/v1/whoami")  # a token got later would be gone afterwards
    world.simulation.snapshot("before")
    chunks = ask(world, download)
    next(chunks)
    world.simulation.restore("before")
    with pytest.raises(Unavailable):
        next(chunks)


def csv_rows(text: bytes) -> dict[str, dict[str, str]]:
    """Rows by id."""
    return {row["id"]: row for row in csv.DictReader(io.StringIO(text.decode()))}


@pytest.mark.reading("documented")
@pytest.mark.parametrize("download", REPORTS, ids=lambda download: download.operation)
def test_no_bulk_export_of_reports_exists_unless_it_is_observed(download: Download) -> None:
    """§4.3: an unknown method, and a path for which at most the GET of a record exists."""
    world = begin(limits=False)
    law = Audit(world.simulation)
    for verb in ("POST", "PUT"):
        answer = world.trader().request(verb, download.path)
        assert answer.status == 404 or answer.headers["allow"] == "GET"
    with refused(12):
        list(world.rpc_trader().download(download.operation, download.request()))
    assert law.verdict.disagreements == []
    world.assume("reports.bulk_export", "served")
    assert world.trader().post(download.path, json={}).status == 200
