"""Connections as they really end, as raw clients see it: each act on each plane, at each moment.

The table in the how-to page is made by this file; `python -m tests.server.test_line` renews it.
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import pytest
import requests
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_web_socket

from sim import Simulation, load_scenario
from sim.kernel.journal_reader import read_journal
from sim.read.replay import simulation_of, verify
from sim.run.client.client import connect
from sim.testing.exchange_fixture import ControlError, ServedExchange
from tests.kit.clients import place, served_exchange, signed, subscription, web_socket_url
from tests.server import raw_http2
from tests.server.stock_oauth import metadata

SYMBOL = "line"
SCENARIO = f"""\
name: line
extends: quickstart
world: {{games: 0, instruments: [{{symbol: {SYMBOL}, tick_size: "0.01", state: OPEN}}]}}
"""
BOOK = f"/v1/markets/{SYMBOL}/book"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedExchange]:
    yield from served_exchange(tmp_path_factory, SCENARIO)


@pytest.fixture
def at(served: ServedExchange) -> ServedExchange:
    """The exchange at its start."""
    served.reset()
    return served


# ---- raw clients: what a socket sees


class Http:
    """A connection to the gateway."""

    def __init__(self, at: ServedExchange) -> None:
        parts = urlsplit(at.gateway)
        self.socket = socket.create_connection((parts.hostname, parts.port), 3)

    def ask(self) -> None:
        self.socket.sendall(f"GET {BOOK} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def see(self) -> str:
        """What comes: a complete answer, a part of one, FIN, RST, or silence for a while."""
        data = b""
        try:
            self.socket.settimeout(0.5)
            while not _is_complete(data):
                if not (more := self.socket.recv(65536)):
                    return "half an answer, then FIN" if data else "FIN"
                data += more
        except TimeoutError:
            return "nothing"
        except ConnectionResetError:
            return "RST"
        return f"answer {data[9:12].decode()}"


def _is_complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    sizes = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return bool(end) and len(body) >= int(sizes[0].partition(b":")[2])


def fresh(at: ServedExchange) -> Http:
    return Http(at)


def reused(at: ServedExchange) -> Http:
    client = Http(at)
    client.ask()
    assert client.see() == "answer 200"
    return client


class Socket:
    """A WebSocket that follows a book."""

    def __init__(self, at: ServedExchange) -> None:
        self.managed = connect_web_socket(web_socket_url(at), additional_headers=signed(at))
        self.socket = self.managed.__enter__()
        self.socket.send(subscription(SYMBOL))
        self.see()

    def see(self) -> str:
        try:
            frame = json.loads(self.socket.recv(timeout=0.5))
        except TimeoutError:
            return "nothing"
        except ConnectionClosed as closed:
            if closed.rcvd is not None:
                return f"close frame {closed.rcvd.code}"
            reset = isinstance(closed.__cause__, ConnectionResetError)
            return "RST, no close frame" if reset else "FIN, no close frame"
        return "frame" if "marketData" in frame else "heartbeat"


def opening(at: ServedExchange) -> str:
    try:
        Socket(at).socket.close()
    except Exception as error:
        return _named(error)
    return "opened"


def _named(error: BaseException) -> str:
    return type(error).__name__


class Rpc:
    """A gRPC stream of the same book."""

    METHOD = "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"

    def __init__(self, at: ServedExchange) -> None:
        self.channel = grpc.insecure_channel(at.grpc)
        request = b"\x0a" + bytes([len(SYMBOL)]) + SYMBOL.encode()
        self.call = self.channel.unary_stream(self.METHOD)(
            request, metadata=metadata(at), timeout=3
        )
        next(self.call)

    def see(self) -> str:
        try:
            next(self.call)
        except grpc.RpcError as ended:
            return str(ended.code().name)
        return "frame"


def unary(at: ServedExchange, channel: grpc.Channel | None = None) -> str:
    """What a unary call sees, on a channel of its own by default."""
    own = channel or grpc.insecure_channel(at.grpc)
    request = b"\x0a" + bytes([len(SYMBOL)]) + SYMBOL.encode()
    try:
        call = own.unary_unary("/exchange.v1.OrderBookAPI/GetOrderBook")
        call(request, metadata=metadata(at), timeout=2)
    except grpc.RpcError as failed:
        return str(failed.code().name)
    return "OK"


# ---- faults on single calls and frames

CALL_ACTS = ("status", "close", "reset", "refuse", "half_close", "hang")


def of_call(at: ServedExchange, act: str, moment: Callable[[ServedExchange], Http]) -> str:
    client = moment(at)
    value = 503 if act == "status" else True
    at.fault("GetBook", plane="gateway", times=1, **{act: value})
    client.ask()
    return client.see()


def of_opening(at: ServedExchange, act: str) -> str:
    value = 503 if act == "status" else True
    try:
        at.fault("MarketsStream", plane="retail", times=1, **{act: value})
    except ControlError:
        return "refused when it is added"
    return opening(at)


def of_frame(at: ServedExchange, act: str) -> str:
    client = Socket(at)
    value = 503 if act == "status" else True
    try:
        at.fault("MarketsStream", plane="stream", times=1, **{act: value})
    except ControlError:
        return "refused when it is added"
    place(at, SYMBOL, "buy", "0.02", "1")
    return client.see()


def of_rpc(at: ServedExchange, act: str) -> str:
    value = 503 if act == "status" else True
    try:
        at.fault("GetOrderBook", plane="grpc", times=1, **{act: value})
    except ControlError:
        return "refused when it is added"
    return unary(at)


def of_rpc_stream(at: ServedExchange, act: str) -> str:
    client = Rpc(at)
    value = 503 if act == "status" else True
    try:
        at.fault("CreateMarketDataSubscription", plane="stream", times=1, **{act: value})
    except ControlError:
        return "refused when it is added"
    place(at, SYMBOL, "buy", "0.02", "1")
    return client.see()


def single_acts(at: ServedExchange) -> Iterator[tuple[str, ...]]:
    moments: tuple[tuple[str, str, Callable[[str], str]], ...] = (
        ("REST", "fresh", lambda act: of_call(at, act, fresh)),
        ("REST", "reused", lambda act: of_call(at, act, reused)),
        ("WebSocket", "opening", lambda act: of_opening(at, act)),
        ("WebSocket", "in the middle", lambda act: of_frame(at, act)),
        ("gRPC", "call", lambda act: of_rpc(at, act)),
        ("gRPC stream", "in the middle", lambda act: of_rpc_stream(at, act)),
    )
    for plane, moment, see in moments:
        for act in CALL_ACTS:
            at.reset()
            yield act, plane, moment, see(act)


# ---- a whole plane


def drop(at: ServedExchange, plane: str, how: str) -> None:
    at.control("POST", f"/connections/{plane}/drop", {"how": how})


def listen(at: ServedExchange, plane: str, accept: bool, **more: str) -> None:
    at.control("POST", f"/listeners/{plane}", {"accept": accept, **more})


def whole_plane(at: ServedExchange) -> Iterator[tuple[str, ...]]:
    for how in ("close", "reset"):
        at.reset()
        client, followed = reused(at), Socket(at)
        drop(at, "gateway", how)
        drop(at, "retail", how)
        yield f"drop: {how}", "REST", "reused", client.see()
        yield f"drop: {how}", "WebSocket", "in the middle", followed.see()
    for how in ("close", "goaway"):
        at.reset()
        stream = Rpc(at)
        drop(at, "grpc", how)
        place(at, SYMBOL, "buy", "0.02", "1")
        yield f"drop: {how}", "gRPC stream", "in the middle", stream.see()
        yield f"drop: {how}", "gRPC", "the next call", unary(at, stream.channel)
    at.reset()
    client, stream = reused(at), Rpc(at)
    listen(at, "gateway", False)
    listen(at, "grpc", False)
    yield "accept: false", "REST", "fresh", _connecting(at)
    client.ask()
    yield "accept: false", "REST", "reused", client.see()
    yield "accept: false", "gRPC", "fresh", unary(at)
    place(at, SYMBOL, "buy", "0.02", "1")
    yield "accept: false", "gRPC stream", "in the middle", stream.see()
    listen(at, "gateway", True)
    listen(at, "grpc", True)
    yield "accept: true", "REST", "fresh", _connecting(at)
    yield "accept: true", "gRPC", "fresh", unary(at)
    at.reset()
    at.control("PUT", "/assumptions/edge.keep_alive", {"value": "60s"})
    client = reused(at)
    at.clock.advance("61s")
    yield "edge.keep_alive", "REST", "idle", client.see()


def _connecting(at: ServedExchange) -> str:
    try:
        client = Http(at)
    except ConnectionRefusedError:
        return "ECONNREFUSED"
    client.ask()
    return client.see()


# ---- the table in the docs

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "end-connections.md"
BEGIN, END = "<!-- line: generated by tests/server/test_line.py -->", "<!-- /line -->"


def table(rows: list[tuple[str, ...]]) -> str:
    lines = ["| act | plane | moment | a raw client sees |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| `{row[0]}` | {' | '.join(row[1:])} |" for row in rows)])


def written() -> str:
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def test_goaway_is_seen_on_the_wire_and_the_connection_stays_for_calls_in_progress(
    at: ServedExchange,
) -> None:
    host, _, port = at.grpc.rpartition(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.sendall(raw_http2.PREFACE + raw_http2.SETTINGS)
        raw_http2.kinds(connection, until=raw_http2.SETTINGS[3])
        connection.sendall(raw_http2.SETTINGS_ACK)
        drop(at, "grpc", "goaway")
        assert raw_http2.GOAWAY in raw_http2.kinds(connection, until=raw_http2.GOAWAY)


@pytest.mark.parametrize(
    ("plane", "how", "words"),
    [
        ("grpc", "reset", "grpcio"),
        ("gateway", "goaway", "HTTP/2"),
        ("stream", "close", "plane must be one of"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(
    at: ServedExchange, plane: str, how: str, words: str
) -> None:
    with pytest.raises(ControlError, match=words):
        drop(at, plane, how)


def test_a_plane_returns_by_itself_and_when_the_exchange_goes_elsewhere(at: ServedExchange) -> None:
    listen(at, "exchange", False, **{"for": "10s"})
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{at.exchange}/v1/health", timeout=3)
    at.clock.advance("10s")
    assert requests.get(f"{at.exchange}/v1/health", timeout=3).status_code == 200
    listen(at, "gateway", False)
    at.reset()
    assert requests.get(f"{at.gateway}{BOOK}", timeout=3).status_code == 200


STEPS = """name: restart
extends: quickstart
steps:
  - {listener: {plane: gateway, accept: false, for: 10s}}
  - {call: {plane: gateway, get: /v2/leagues}, expect: {status: 503}}
  - {at: +11s, call: {plane: gateway, get: /v2/leagues}, expect: {status: 200}}
  - subscribe: {name: fills, rpc: OrderEntryAPI.CreateOrderSubscription, as: firms/atlas/users/mara-voss}
  - {drop_connections: {plane: grpc, how: close}}
  - {expect: {stream: {name: fills, code: 14}}}
"""


def test_steps_in_process_clients_and_replay_see_the_same(tmp_path: Path) -> None:
    path = tmp_path / "restart.yaml"
    path.write_text(STEPS)
    file = io.BytesIO()
    sim = Simulation(load_scenario(str(path)), journal=file)
    client = connect(sim)
    client.advance("1ms")
    with pytest.raises(ConnectionRefusedError):
        client.gateway.get("/v2/leagues")
    client.advance("1m")
    assert [result.failures for result in sim.script.results] == [()] * 6
    header, lines = read_journal(io.BytesIO(file.getvalue()))
    replayed = simulation_of(header)
    verify(replayed, lines)
    assert (replayed.digest, replayed.exchange.listeners.closed) == (sim.digest, frozenset())


@pytest.mark.long
def test_the_table_of_the_page_is_what_raw_clients_see(at: ServedExchange) -> None:
    assert table([*single_acts(at), *whole_plane(at)]) == written()


if __name__ == "__main__":
    import tempfile

    class Folders:
        def mktemp(self, name: str) -> Path:
            return Path(tempfile.mkdtemp())

    for exchange in served_exchange(Folders(), SCENARIO):
        generated = table([*single_acts(exchange), *whole_plane(exchange)])
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{generated}\n\n{END}{rest.partition(END)[2]}")
