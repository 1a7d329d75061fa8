"""`GET /live`: what happens, as it happens, to readers who come and go, are slow, or return."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from sim.server.control import live

Event = tuple[str, Any, str]


class Reader:
    """A client of Server-Sent Events. Its socket gives up after a while, so no test waits forever."""

    def __init__(self, exchange: Any, last_id: str = "", window: int = 0) -> None:
        address = urlsplit(exchange.control)
        self.socket = socket.socket()
        if window:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.settimeout(60)
        self.socket.connect((address.hostname, address.port))
        resume = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        head = f"GET /_sim/v1/live HTTP/1.1\r\nHost: {address.netloc}\r\n{resume}\r\n"
        self.socket.sendall(head.encode())
        self._response: http.client.HTTPResponse | None = None

    @property
    def response(self) -> http.client.HTTPResponse:
        if self._response is None:
            self._response = http.client.HTTPResponse(self.socket)
            self._response.begin()
        return self._response

    def events(self) -> Iterator[Event]:
        """Every event, until the connection ends."""
        kind, data, id = "", None, ""
        for raw in self.response:
            field, _, text = raw.decode().rstrip("\n").partition(": ")
            match field:
                case "event":
                    kind, id = text, ""
                case "id":
                    id = text
                case "data":
                    data = json.loads(text)
                case "" if kind:
                    yield kind, data, id
                    kind = ""

    def until(self, expected: str) -> list[Event]:
        """Events up to and including the first of a kind."""
        results = []
        for event in self.events():
            results.append(event)
            if event[0] == expected:
                return results
        raise AssertionError(f"no {expected} came")

    def rows(self, count: int) -> list[Event]:
        """So many rows, without what comes between them."""
        results = []
        for event in self.events():
            if event[0] == "row":
                results.append(event)
                if len(results) == count:
                    return results
        raise AssertionError("the stream has ended")

    def close(self) -> None:
        self.socket.close()


def tick(exchange: Any, price: int) -> None:
    exchange.control("POST", "/prices/crypto:btc", {"price": str(price)})


def test_rows_come_as_history_has_them_and_the_clock_says_where_one_is(exchange):
    reader = Reader(exchange)
    (first,) = reader.until("clock")
    assert first[1]["now"] == "2026-09-08T18:00:00Z"
    assert (first[1]["branch"], first[1]["seq"], first[1]["digest"]) == ("main", 0, exchange.digest)
    for price in (61000, 62000):
        tick(exchange, price)
    exchange.clock.advance("30s")
    result = reader.rows(exchange.control("GET", "/digest")["seq"])
    reported = exchange.control("GET", "/history")["rows"]
    assert [data for _, data, _ in result] == reported
    assert [id for _, _, id in result] == [f"main:{row['seq']}" for row in reported]
    clock = reader.until("clock")[-1][1]
    assert (clock["now"], clock["digest"]) == ("2026-09-08T18:00:30Z", exchange.digest)
    reader.close()


def test_a_jump_is_told_with_its_moment_and_rows_go_on_from_there(exchange):
    for price in (61000, 62000, 63000):
        tick(exchange, price)
    reader = Reader(exchange)
    reader.until("clock")
    exchange.control("POST", "/rewind", {"seq": 1})
    jump = reader.until("jump")[-1][1]
    assert jump == {"branch": "branch-1", "seq": 1, "digest": exchange.digest}
    tick(exchange, 64000)
    ((_, row, id),) = reader.rows(1)
    assert (row["seq"], row["branch"], id) == (2, "branch-1", "branch-1:2")
    exchange.control("POST", "/reset", {"seed": 5})
    jump = reader.until("jump")[-1][1]
    assert jump == {"branch": "branch-2", "seq": 0, "digest": exchange.digest}
    reader.close()


def test_a_reader_that_returns_gets_every_row_once(exchange):
    for price in (61000, 62000):
        tick(exchange, price)
    reader = Reader(exchange, "main:1")
    assert [row["seq"] for _, row, _ in reader.rows(1)] == [2]
    reader.close()
    for price in (63000, 64000, 65000):
        tick(exchange, price)
    reader = Reader(exchange, "main:2")
    assert [row["seq"] for _, row, _ in reader.rows(3)] == [3, 4, 5]
    reader.close()
    exchange.control("POST", "/rewind", {"seq": 4})
    tick(exchange, 66000)
    reader = Reader(exchange, "main:3")  # on the way to the present branch
    result = reader.rows(2)
    assert [id for _, _, id in result] == ["main:4", "branch-1:5"]
    reader.close()
    reader = Reader(exchange, "main:5")  # on a branch that was left
    events = reader.until("jump")
    assert events[-1][1]["branch"] == "branch-1"
    assert [id for _, _, id in reader.rows(1)] == ["branch-1:5"]
    reader.close()


@pytest.mark.parametrize("id", ["main", "trunk:1", "main:99", "main:-1", ":1"])
def test_an_id_that_is_no_row_is_refused(exchange, id):
    tick(exchange, 61000)
    reader = Reader(exchange, id)
    assert reader.response.status == 400
    message = json.loads(reader.response.read())["message"]
    assert "Last-Event-ID" in message or "inputs 1..1" in message
    reader.close()


@pytest.mark.scenario("../told.yaml")
def test_steps_are_told_when_they_change(exchange):
    reader = Reader(exchange)
    first = reader.until("script")[-1][1]
    assert [step["state"] for step in first["steps"]] == ["pending"] * 3
    exchange.clock.advance("90s")
    changed = reader.until("script")[-1][1]["steps"]
    while len(changed) < 2:
        changed += reader.until("script")[-1][1]["steps"]
    assert [step["name"] for step in changed] == ["quotes", "book"]
    assert {step["state"] for step in changed} == {"passed"}
    reader.close()


@pytest.mark.long
def test_a_reader_that_falls_behind_is_told_so_and_harms_nobody(exchange, monkeypatch):
    monkeypatch.setattr(live, "LAG_MAX", 200)
    slow, other = Reader(exchange, window=4096), Reader(exchange)
    other.until("clock")
    gateway = http.client.HTTPConnection(urlsplit(exchange.gateway).netloc)
    reported = 0
    for _ in range(35):
        for _ in range(100):
            gateway.request("GET", "/v1/health")
            gateway.getresponse().read()
        reported += len(other.rows(100))
    assert reported == exchange.control("GET", "/digest")["seq"]  # nobody else missed anything
    last = slow.until("behind")
    assert last[-1][1]["branch"] == "main"
    rows = [event for event in last if event[0] == "row"]
    assert [row["seq"] for _, row, _ in rows] == list(range(1, len(rows) + 1))
    assert len(rows) <= last[-1][1]["seq"] < reported
    assert list(slow.events()) == []  # the connection has ended
    back = Reader(exchange, rows[-1][2])
    assert back.rows(1)[0][1]["seq"] == len(rows) + 1
    for reader in (slow, other, back):
        reader.close()
