"""The recorder stands between real clients and a service: they do not notice, what they said and
heard is in the file in order, and none of their secrets is.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import http.client
import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import grpc
import pytest
from raw_sockets import exchange_bytes
from test_tester_tools import ORDERS
from websockets.asyncio.client import connect as connect_web_socket
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from sim.cli import running_exchange
from sim.cli.main import main
from sim.evidence.recording.files import PLANES, UnreadableRecording, body_value
from sim.evidence.recording.reading import LINE_MAX, read_recording
from sim.evidence.recording.service_times import service_time
from sim.server import healthcheck
from sim.server.recorder.recorder import RecordingRelay, RecordOptions
from sim.server.recorder.upstream import decoded_headers
from tests.kit.bodies import APPLICATION as PERSON
from tests.kit.bodies import retail_order
from tests.kit.clients import bearer, sdk, signed, subscription, web_socket_url
from tests.kit.http import call as http_call
from tests.kit.processes import Process

BOOK = "/exchange.v1.OrderBookAPI/GetOrderBook"
SSN = "523-45-6789"
APPLICANT = PERSON | {"ssn": SSN}


class Through:
    """An exchange as a client sees it through the recorder; the tester's own calls go direct."""

    def __init__(self, exchange: Any, addresses: dict[str, str], file: Path) -> None:
        self.direct, self.file = exchange, file
        self.gateway, self.retail = addresses["gateway"], addresses["retail"]
        self.exchange, self.auth = addresses["exchange"], addresses["auth"]
        self.grpc, self.firms = addresses["grpc"], exchange.firms
        self.api_keys, self.key = exchange.api_keys, exchange.api_keys[0]

    def written(self, least: int = 1) -> list[dict[str, Any]]:
        """Lines after the first, once there are so many."""
        while len(lines := self.file.read_text().splitlines()[1:]) < least:
            time.sleep(0.005)
        return [json.loads(line, parse_float=Decimal) for line in lines]

    def token(self) -> list[tuple[str, str]]:
        """Metadata of a firm with a token: it signs for the service, and asks the recorder."""
        return bearer(self, audience=self.direct.auth)


@pytest.fixture
def through(exchange, tmp_path):
    """The exchange behind a recorder that runs in a thread of its own."""
    upstream = {plane: getattr(exchange, plane) for plane in PLANES}
    options = RecordOptions(to=tmp_path / "session.ndjson", upstream=upstream)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result(20)

    async def built():
        return RecordingRelay(options)

    recorder = run(built())
    yield Through(exchange, run(recorder.start()), options.to)
    run(recorder.stop())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@pytest.fixture
def dead_proxy(monkeypatch):
    """A proxy of the environment at which nobody answers."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")


def test_loopback_is_never_reached_through_a_proxy(dead_proxy, exchange, tmp_path, through):
    """The recorder on every protocol, the token command and the health check."""
    line = http.client.HTTPConnection(urlsplit(through.gateway).netloc)
    line.request("GET", "/v1/health")
    assert line.getresponse().status == 200
    line.close()
    options = [("grpc.enable_http_proxy", 0)]  # the client's own choice
    with grpc.insecure_channel(through.grpc, options) as channel:
        book = channel.unary_unary("/exchange.v1.OrderBookAPI/GetOrderBook")
        with pytest.raises(grpc.RpcError) as refused:
            book(b"")
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
    ready = tmp_path / "ready.json"
    ready.write_text(json.dumps(exchange.ready))
    assert healthcheck.problem(str(ready)) == ""
    assert running_exchange.ask(f"{exchange.ready['control']}/_sim/v1/health")["now"]


def call(url, body=None, headers=(), method=None):
    """(status, headers without those that count calls, body)."""
    answer = http_call(url, body, verb=method, headers=dict(headers))
    return answer.status, notices(answer.headers), answer.body


def notices(headers):
    return [
        (name, value)
        for name, value in headers.items()
        if name.lower() not in ("x-request-id", "x-trace-id", "connection")
    ]


@pytest.mark.parametrize(
    ("plane", "target", "body", "method", "headers"),
    [
        ("gateway", "/v1/markets?limit=2&offset=1", None, None, {}),
        ("gateway", "/v1/markets?limit=2", None, None, {"Accept-Encoding": "gzip"}),
        ("gateway", "/v1/%6darkets/a%2Fb%20c?x=%41+%2B&x=&y", None, None, {}),
        ("gateway", "/v1/nowhere", None, None, {"X-Twice": "a, b"}),
        ("gateway", "/v1/health", None, "HEAD", {}),
        ("gateway", "/v1/markets", None, "OPTIONS", {"Origin": "https://example.com"}),
        ("retail", "/v1/account/balances", None, None, {}),
        ("retail", "/v1/orders", b'{"marketSlug": "\\ud800", "a": 1', None, {}),
        ("exchange", "/v1/whoami", None, None, {"Authorization": "Bearer nobody"}),
        ("auth", "/oauth/token", b"grant_type=nothing&client_id=x", None, {}),
    ],
)
def test_an_answer_is_the_same_as_without_the_recorder(
    through, plane, target, body, method, headers
):
    direct = call(getattr(through.direct, plane) + target, body, headers, method)
    assert call(getattr(through, plane) + target, body, headers, method) == direct
    (entry,) = through.written()
    path, _, query = target.partition("?")
    asked, answered = entry["request"], entry["answer"]
    assert (entry["n"], entry["plane"], entry["client"]) == (1, plane, "client-1")
    assert (asked["method"], asked["path"]) == (method or ("POST" if body else "GET"), path)
    assert asked.get("query", "") == query
    assert answered["status"] == direct[0]
    assert answered["now"] == "2026-09-08T18:00:00Z"
    if "gzip" not in headers.values() and method != "HEAD":
        assert answered["body"] in (direct[2].decode(), body_value(direct[2]))


def test_pipelined_requests_are_answered_and_written_in_order(through):
    address = urlsplit(through.gateway)
    with socket.create_connection((address.hostname, address.port)) as opened:
        expected = [f"/v1/markets?limit={number}" for number in range(1, 13)]
        sent = "".join(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n" for path in expected)
        opened.sendall(sent.encode())
        heard = opened.makefile("rb")
        for number in range(1, 13):
            while not (line := heard.readline()).lower().startswith(b"content-length:"):
                assert line
            while heard.readline() != b"\r\n":
                pass
            body = json.loads(heard.read(int(line.split()[1])))
            assert len(body["markets"]) == number
    asked = [f"/v1/markets?{entry['request']['query']}" for entry in through.written(12)]
    assert asked == expected


def test_a_client_of_few_words_is_understood(through):
    """One that has closed its side, names the whole address, or waits until it may send a body."""
    get = b"GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n"
    host, _, port = through.gateway.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.sendall(get % (b"/v1/health", b""))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    total = get % (b"http://elsewhere.example/v1/health", b"Connection: close\r\n")
    assert exchange_bytes(through.gateway, total).startswith(b"HTTP/1.1 200 ")
    for target in (b"*", b"elsewhere.example:443"):
        head = (get % (target, b"Connection: close\r\n")).replace(b"GET", b"OPTIONS")
        assert exchange_bytes(through.gateway, head).startswith(b"HTTP/1.1 400 ")
    careful = b"Content-Length: 2\r\nExpect: 100-continue\r\n"
    asking = (get % (b"/oauth/token", careful)).replace(b"GET", b"POST")
    going_on = exchange_bytes(through.auth, asking, until=b"\r\n\r\n")
    assert going_on.startswith(b"HTTP/1.1 100 ")
    assert [line["request"]["path"] for line in through.written(2)[:2]] == ["/v1/health"] * 2


def test_an_answer_that_is_slow_or_breaks_off_is_so_for_the_client(through):
    symbol = through.direct.symbols["open"][0]
    url = f"{through.gateway}/v1/markets/{symbol}/book"
    through.direct.fault("GetBook", slow_body=True, times=1)
    assert call(url)[0] == 200
    through.direct.fault("GetBook", reset=True, times=1)
    with pytest.raises((ConnectionError, http.client.HTTPException, urllib.error.URLError)):
        call(url)
    total, broken = through.written(2)
    assert total["answer"]["status"] == 200 and "cut" not in total
    assert broken["cut"] and "answer" not in broken


def test_the_official_client_trades_and_its_secrets_are_not_in_the_file(through):
    key, client = through.key, sdk(through)
    symbol = through.direct.symbols["open"][0]
    placed = client.orders.create(retail_order(symbol, "BUY_LONG", 2))
    assert client.orders.retrieve(placed["id"])["order"]["id"] == placed["id"]
    assert client.orders.list()["orders"]
    entries = through.written(3)
    paths = [entry["request"]["path"] for entry in entries]
    assert paths == ["/v1/orders", f"/v1/order/{placed['id']}", "/v1/orders/open"]
    assert entries[0]["answer"]["body"]["id"] == placed["id"]  # what identifies is no secret
    assert len({entry["client"] for entry in entries}) == 1
    text = through.file.read_text()
    assert key["key_id"] not in text and key["secret_key"] not in text
    signatures = {entry["request"]["headers"]["x-pm-signature"] for entry in entries}
    assert all(text.startswith("fp:") for text in signatures) and len(signatures) == 3
    assert os.stat(through.file).st_mode & 0o777 == 0o600


def test_tokens_assertions_and_ssns_are_fingerprints_wherever_they_come(through):
    metadata = dict(through.token())
    token = metadata["authorization"].removeprefix("Bearer ")
    headers = metadata | {"content-type": "application/json"}
    bare = SSN.replace("-", "")
    call(f"{through.exchange}/v1/kyc/start", json.dumps(APPLICANT).encode(), headers)
    again = APPLICANT | {"external_id": "c-2", "last_name": f"{bare} {token} {SSN}"}
    call(f"{through.exchange}/v1/kyc/start", json.dumps(again).encode(), headers)
    call(f"{through.exchange}/v1/{bare}/{token}?note={token}&ssn={bare}", None, headers)
    call(f"{through.gateway}/v1/search?query={token}", None, {"X-Note": f"it is {bare}"})
    text = through.file.read_text()
    for secret in (token, SSN, bare):
        assert secret not in text
    assert "eyJ" not in text and "client_assertion=fp%3A" not in text
    issued, started, *_ = through.written(5)
    assert "client_assertion=fp:" in issued["request"]["body"]
    token_shown = issued["answer"]["body"]["access_token"]
    assert started["request"]["headers"]["authorization"] == f"Bearer {token_shown}"
    assert started["request"]["body"]["ssn"].startswith("fp:")
    assert started["request"]["body"]["external_id"] == "c-1"


def test_the_link_of_a_document_and_its_qr_code_are_not_in_the_file(through):
    metadata = dict(through.token()) | {"content-type": "application/json"}
    applicant = PERSON | {"date_of_birth": "1985-09-02", "docv_eligible": True}
    started = call(f"{through.exchange}/v1/kyc/start", json.dumps(applicant).encode(), metadata)
    docv = json.loads(started[2])["docv"]
    assert docv["qrCode"].startswith("data:image/png;base64,")
    call(f"{through.exchange}/v1/kyc/status?note={quote(docv['qrCode'])}", None, metadata)
    text = through.file.read_text()
    token = docv["docvTransactionToken"]
    assert token in docv["url"]
    for secret in (token, docv["qrCode"], docv["qrCode"].partition(",")[2], "iVBORw0KGgo"):
        assert secret not in text
    written = through.written(3)[1]["answer"]["body"]["docv"]
    assert written["qrCode"].startswith("fp:")
    assert written["url"] == docv["url"].replace(token, written["docvTransactionToken"])
    for seed in ("7", "8"):
        assert main(["compare", str(through.file), "--scenario", "quickstart", "--seed", seed]) == 0


SECRET = "hunter2-of-the-desk"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(json.dumps({"password": SECRET}).encode()), {"Content-Encoding": "gzip"}),
        (b"\x8b\xff" + SECRET.encode(), {"Content-Encoding": "br"}),
        (b"\xff\xfe" + SECRET.encode(), {}),
        (f'{{"result": {{"ssn": "{SECRET}"}}}}\n{{"result": {{}}}}'.encode(), {}),
        (f'{{"access_token": "{SECRET}", "cut'.encode(), {}),
        (f"<login><password>{SECRET}</password></login>".encode(), {}),
        (f"client_id=x&client_secret={SECRET}".encode(), {}),
        (json.dumps({"token": {"inner": [{"value": SECRET}]}}).encode(), {}),
    ],
    ids=["gzip", "brotli", "no text", "lines", "cut", "xml", "form", "inside a secret"],
)
def test_a_secret_is_not_in_the_file_whatever_the_form_of_its_document(through, body, headers):
    kind = {"Content-Type": "text/plain"}
    call(f"{through.exchange}/v1/kyc/start", body, kind | headers)
    (entry,) = through.written()
    assert entry["request"]["body"] is not None
    text = through.file.read_text()
    assert SECRET not in text and base64.b64encode(SECRET.encode()).decode()[4:-4] not in text


def test_a_message_of_a_method_that_nobody_knows_is_left_out(through):
    with grpc.insecure_channel(through.grpc) as channel, pytest.raises(grpc.RpcError):
        metadata = [("note-bin", SECRET.encode())]
        channel.unary_unary("/nobody.v1.Nothing/Here")(SECRET.encode(), metadata=metadata)
    frames = [line["frame"] for line in through.written(3) if "frame" in line]
    assert frames == [{"from": "client", "body": {"unreadable": len(SECRET)}}]
    assert SECRET not in through.file.read_text()


JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLW9mLXRoZS1kZXNr"
FORM = f'--b\r\nContent-Disposition: form-data; name="client_secret"\r\n\r\n{SECRET}\r\n--b--'
ADDRESS = f"https://h.example/cb?a=1&access_token={SECRET}"
IN_JSON = {
    "a document in a value": {"payload": json.dumps({"ssn": SECRET})},
    "an address": {"link": f"https://h.example/cb?a=1&client_secret={SECRET}"},
    "user and password": {"link": f"https://me:{SECRET}@h.example/"},
    "name and value": {"headers": [{"name": "Authorization", "value": SECRET}]},
    "a pair": {"headers": [["Authorization", SECRET]]},
    "a list": {"apiKeys": [SECRET]},
    "a name that is longer": {"clientSecretValue": SECRET},
    "a JSON web key": {"kty": "RSA", "n": "abc", "d": SECRET},
    "before its name": {"note": SECRET, "password": SECRET},
    "base64": {"document": base64.b64encode(JWT.encode()).decode()},
    "an SSN with blanks": {"note": "523 45 6789"},
}
ODD: dict[str, tuple[str, bytes | None, dict[str, str]]] = {
    "a query": (f"?X-Api-Key={SECRET}", None, {}),
    "an address in a query": (f"?redirect_uri={quote(ADDRESS, safe='')}", None, {}),
    "a document in a query": ("?q=" + quote(json.dumps({"password": SECRET})), None, {}),
    "a path before its header": (f"/{SECRET}", None, {"X-PM-Access-Key": SECRET}),
    "a query before its body": (f"?note={SECRET}", json.dumps({"password": SECRET}).encode(), {}),
    "a cookie": ("", None, {"Cookie": f"session={SECRET}; theme=dark"}),
    "a referer": ("", None, {"Referer": ADDRESS}),
    "an anchor": ("", None, {"Referer": f"https://h.example/x#access_token={SECRET}&b=1"}),
    "a document in a header": ("", None, {"X-Debug": json.dumps({"access_token": SECRET})}),
    "protocols": ("", None, {"Sec-WebSocket-Protocol": f"access_token, {SECRET}"}),
    "a form with parts": ("", FORM.encode(), {"Content-Type": "multipart/form-data; boundary=b"}),
    "a form in disguise": ("", f"client%5Fsecret={SECRET}".encode(), {}),
    "YAML": ("", f"client_secret: {SECRET}".encode(), {}),
    "an attribute": ("", f'<login password="{SECRET}"/>'.encode(), {}),
    "a key that was cut": ("", f"-----BEGIN PRIVATE KEY-----\n{SECRET}\nMIIE".encode(), {}),
    **{name: ("", json.dumps(body).encode(), {}) for name, body in IN_JSON.items()},
}
PLANTED = (SECRET, quote(SECRET), JWT, base64.b64encode(JWT.encode()).decode(), "523 45 6789")


@pytest.mark.parametrize("position", ODD)
def test_a_secret_in_an_odd_place_is_not_in_the_file(position, through):
    where, body, headers = ODD[position]
    kind = {} if "Content-Type" in headers else {"Content-Type": "text/plain"}
    call(f"{through.exchange}/v1/kyc/start{where}", body, kind | headers)
    through.written()
    text = through.file.read_text()
    assert [secret for secret in PLANTED if secret in text] == []


def test_a_secret_in_metadata_messages_and_reasons_is_not_in_the_file(through):
    metadata = (("x-note", f"access_token={SECRET}"), ("x-key-bin", SECRET.encode()))
    with grpc.insecure_channel(through.grpc) as channel:
        unary = channel.unary_unary(BOOK)
        with pytest.raises(grpc.RpcError):
            unary(b"", metadata=metadata)
        stream = channel.unary_stream("/exchange.v1.OrderEntryAPI/CreateOrderSubscription")
        with pytest.raises(grpc.RpcError):
            list(stream(b"", metadata=metadata))
    through.written(2)
    assert SECRET not in through.file.read_text()


def test_prose_about_a_token_stays_readable(through):
    body = json.dumps({"last_name": "invalid token: expired", "first_name": "expired"}).encode()
    call(f"{through.exchange}/v1/kyc/start", body, {"Content-Type": "application/json"})
    (entry,) = through.written()
    assert entry["request"]["body"] == json.loads(body)


async def test_a_socket_is_relayed_with_its_messages_and_its_close(through):
    symbol = through.direct.symbols["open"][0]
    url, request = web_socket_url(through), subscription(symbol)
    async with connect_web_socket(url, additional_headers=signed(through)) as opened:
        await opened.send(request)
        heard = json.loads(await asyncio.wait_for(opened.recv(), 10))
        await opened.ping()
        await opened.close(4001, "enough")
    while "closed" not in (lines := through.written())[-1]:
        await asyncio.sleep(0.01)
    begun, output, told_back, *_, ended = lines
    assert begun["opened"]["path"] == "/v1/ws/markets" and begun["stream"] == 1
    assert output["frame"] == {"from": "client", "body": json.loads(request)}
    assert told_back["frame"] == {"from": "service", "body": heard}
    assert ended["closed"] == {"from": "client", "code": 4001, "reason": "enough"}


async def test_a_refused_handshake_and_a_reset_are_the_services_own(through):
    url = web_socket_url(through)
    with pytest.raises(InvalidStatus) as refused:
        async with connect_web_socket(url):
            pass
    direct = call(f"{through.direct.retail}/v1/ws/markets", None, {"Upgrade": "websocket"})
    assert refused.value.response.status_code == 401
    assert direct[0] in (400, 401)
    (entry,) = through.written()
    assert entry["answer"]["status"] == 401 and entry["answer"]["body"] is not None

    through.direct.fault("MarketsStream", plane="stream", reset=True)
    async with connect_web_socket(url, additional_headers=signed(through)) as opened:
        await opened.send(subscription(through.direct.symbols["open"][0]))
        with pytest.raises(ConnectionClosedError) as closed:
            await asyncio.wait_for(opened.recv(), 10)
    assert closed.value.rcvd is None


def test_grpc_calls_pass_with_status_metadata_and_trailers(through):
    metadata = through.token()
    symbol = through.direct.symbols["open"][0]
    request = b"\x0a" + bytes([len(symbol)]) + symbol.encode()

    def ask(target, method, message):
        with grpc.insecure_channel(target) as channel:
            try:
                answer, done = channel.unary_unary(method).with_call(
                    message, metadata=metadata, timeout=10
                )
                code, text = done.code(), done.details()
            except grpc.RpcError as error:
                answer, code, text, done = b"", error.code(), error.details(), error
            trailers = {key for key, _ in done.trailing_metadata() or ()}
            return answer, code, text, trailers

    messages = (request, b"\x0a\x04nope", b"\xff\xff")
    for method, message in (*((BOOK, each) for each in messages), ("/nobody.v1.Nothing/Here", b"")):
        assert ask(through.grpc, method, message) == ask(through.direct.grpc, method, message)
    _, book, unknown, broken, *_ = through.written(5)
    assert (book["plane"], book["request"]["path"]) == ("grpc", BOOK)
    assert book["request"]["body"] == {"symbol": symbol}
    assert book["answer"]["status"] == 0 and book["answer"]["body"]["symbol"] == symbol
    assert unknown["answer"]["status"] == 5 and "does not exist" in unknown["answer"]["body"]
    assert broken["answer"]["status"] == 3


def test_grpc_streams_are_relayed_until_either_side_ends_them(through):
    metadata = through.token()
    with grpc.insecure_channel(through.grpc) as channel:
        stream = channel.unary_stream(ORDERS)(b"", metadata=metadata, timeout=20)
        next(stream)
        (row,) = through.direct.control("GET", "/streams")["streams"]
        through.direct.control("DELETE", f"/streams/{row['id']}")
        with pytest.raises(grpc.RpcError) as ended:
            list(stream)
        assert ended.value.code() == grpc.StatusCode.UNAVAILABLE

        stream = channel.unary_stream(ORDERS)(b"", metadata=metadata, timeout=20)
        next(stream)
        stream.cancel()
    while through.direct.control("GET", "/streams")["streams"]:
        time.sleep(0.01)  # the relay hangs up when it hears of the cancel
    while sum("closed" in line for line in through.written()) < 2:
        time.sleep(0.01)
    lines = through.written()
    first, second = ([item for item in lines if item.get("stream") == number] for number in (1, 2))
    assert first[0]["opened"]["rpc"] == second[0]["opened"]["rpc"] == ORDERS
    assert [item["frame"]["from"] for item in first[1:3]] == ["client", "service"]
    assert "snapshot" in first[2]["frame"]["body"]
    assert (first[-1]["closed"]["from"], first[-1]["closed"]["code"]) == ("service", 14)
    assert second[-1]["closed"] == {"from": "client", "code": None, "reason": "cancelled"}


def test_the_command_says_where_it_listens_and_a_killed_one_leaves_whole_lines(exchange, tmp_path):
    file = tmp_path / "session.ndjson"
    words = ("record", "--to", str(file), "--port-base", "0", "--gateway", exchange.gateway)
    with Process(tmp_path, *words) as recorder:
        facts = recorder.ready
        assert facts["retail"] is None and facts["upstream"] == {"gateway": exchange.gateway}
        for _ in range(5):
            assert call(f"{facts['gateway']}/v1/health")[0] == 200
        assert facts["gateway"] in recorder.end(signal.SIGKILL)[1]
    result = read_recording(file)
    assert result.header.recording == 1 and result.warning == ""
    assert [entry.n for entry in result.entries] == [1, 2, 3, 4, 5]


def test_a_service_that_is_not_there_is_no_answer_of_the_recorder(through, exchange, tmp_path):
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    port = closed.getsockname()[1]

    async def asked():
        upstream = {"gateway": f"http://127.0.0.1:{port}"}
        options = RecordOptions(to=tmp_path / "other.ndjson", upstream=upstream)
        recorder = RecordingRelay(options)
        addresses = await recorder.start()
        loop = asyncio.get_running_loop()
        with pytest.raises((ConnectionError, http.client.HTTPException, urllib.error.URLError)):
            await loop.run_in_executor(None, call, f"{addresses['gateway']}/v1/health")
        await recorder.stop()
        return options.to

    (entry,) = read_recording(asyncio.run(asked())).entries
    assert entry.cut and entry.answer is None
    closed.close()


def test_the_time_that_a_message_tells_is_that_of_the_service_now():
    order = {"transactTime": "2026-09-08T18:00:00.5Z", "expirationTime": "2027-01-01T00:00:00Z"}
    result = service_time({"orders": [order, {"gameStartTime": "2028-01-01T00:00:00Z"}]})
    assert result == "2026-09-08T18:00:00.500Z"
    assert service_time({"note": "2026-09-08T18:00:00Z"}) == ""


# ---- options, and files that are none


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "name a service to forward to"),
        (["--gateway", "example.com"], "must begin with http:// or https://"),
        (["--gateway", "http://x", "--port-base", "70000"], "expected 0 or a port up to 65529"),
    ],
)
def test_options_that_cannot_be_meant(options, text, tmp_path, capsys):
    try:
        code = main(["record", "--to", str(tmp_path / "r.ndjson"), *options])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert text in capsys.readouterr().err


def test_a_recording_is_not_written_over(tmp_path, capsys):
    (tmp_path / "r.ndjson").write_text("precious")
    options = ["--gateway", "http://127.0.0.1:1"]
    assert main(["record", "--to", str(tmp_path / "r.ndjson"), *options]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (tmp_path / "r.ndjson").read_text() == "precious"


HEADER = '{"recording": 1, "started": "2026-09-08T18:00:00Z", "upstream": {}, "note": ""}\n'
LINE = '{"n": 1, "at": "2026-09-08T18:00:00Z", "plane": "gateway"}\n'


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", ":1: this is not a recording"),
        ("\x00\x01", ":1: this is not a recording"),
        (LINE, ":1: this is not a recording"),
        (HEADER.replace("1,", "2,", 1), ":1: a recording of format 2; this release reads 1"),
        (HEADER + "nonsense\n" + LINE, ":2: "),
        (HEADER + LINE.replace('"gateway"', '"moon"'), ":2: Invalid enum value 'moon'"),
        (HEADER + "[" * 100_000 + "\n", ":2: "),
    ],
)
def test_a_file_that_is_no_recording_is_told_by_line(content, text, tmp_path):
    (tmp_path / "r.ndjson").write_text(content)
    with pytest.raises(UnreadableRecording) as told_of:
        list(read_recording(tmp_path / "r.ndjson").entries)
    assert f"r.ndjson{text}" in str(told_of.value)


def test_a_long_line_is_read_and_an_endless_one_is_not(tmp_path, monkeypatch):
    file = tmp_path / "r.ndjson"
    long = LINE.replace("}", f', "request": {{"body": "{"x" * 10_000_000}"}}}}')
    file.write_text(HEADER + long)
    assert len(next(iter(read_recording(file).entries)).request.body) == 10_000_000
    monkeypatch.setattr("sim.evidence.recording.reading.LINE_MAX", 1_000_000)
    assert LINE_MAX > 10_000_000
    with pytest.raises(UnreadableRecording, match=r"ndjson:2: longer than"):
        read_recording(file)


def test_a_last_line_that_was_cut_is_left_out_and_told(tmp_path):
    file = tmp_path / "r.ndjson"
    file.write_text(HEADER + LINE + LINE[:20])
    recording = read_recording(file)
    warning = f"{file}:3: the last line was cut and is left out"
    assert (len(recording.entries), recording.warning) == (1, warning)


def test_a_har_file_is_read(exchange, tmp_path):
    status, headers, body = call(f"{exchange.gateway}/v1/markets?limit=1")

    def entry(url, **response):
        return {
            "startedDateTime": "2026-09-08T18:00:00Z",
            "request": {"method": "GET", "url": url, "headers": []},
            "response": {"status": status, "headers": [], "content": {}} | response,
        }

    displayed = [{"name": name, "value": value} for name, value in headers]
    content = {"text": body.decode()}
    entries = [
        entry("https://g.example/v1/markets?limit=1", headers=displayed, content=content),
        entry("https://cdn.example/logo.png"),
    ]
    file = tmp_path / "browser.har"
    file.write_text(json.dumps({"log": {"entries": entries}}))
    recording = read_recording(file)
    assert recording.header.upstream == {"gateway": "https://g.example"}
    (item,) = recording.entries
    assert (item.plane, item.request.path, item.request.query) == (
        "gateway",
        "/v1/markets",
        "limit=1",
    )
    expected = json.loads(body, parse_float=Decimal)
    assert item.answer.body == expected
    assert recording.warning.endswith("1 request to other services is left out")
    file.write_text("{}")
    with pytest.raises(UnreadableRecording, match="not a HAR file"):
        read_recording(file)


def pairs(headers: dict[str, str]) -> list[dict[str, str]]:
    """Headers as a HAR file has them."""
    return [{"name": name, "value": value} for name, value in headers.items()]


def firefox(method: str, url: str, at: str, took: float, **more: Any) -> dict[str, Any]:
    """An entry with the local zone, and a form as a list of fields."""
    request = {"method": method, "url": url, "headers": pairs(more.get("sent", {}))}
    if "form" in more:
        kind = "application/x-www-form-urlencoded"
        request["postData"] = {"mimeType": kind, "params": pairs(more["form"]), "text": ""}
    body = {"mimeType": "application/json", "size": 2, "text": more.get("body", "{}")}
    response = {"status": 200, "statusText": "OK", "headers": pairs({}), "content": body}
    return {"startedDateTime": at, "time": took, "request": request, "response": response}


def chromium(url: str, at: str, messages: list[tuple[str, float, str]]) -> dict[str, Any]:
    """A socket with its messages, and names of HTTP/2."""
    headers = pairs({":method": "GET", "Sec-WebSocket-Version": "13"})
    reported = [
        {"type": kind, "time": when, "opcode": 1, "data": data} for kind, when, data in messages
    ]
    return {
        "startedDateTime": at,
        "time": -1,
        "_resourceType": "websocket",
        "request": {"method": "GET", "url": url, "headers": headers},
        "response": {"status": 101, "headers": [], "content": {"size": 0}},
        "_webSocketMessages": reported,
    }


def mitmproxy(url: str, at: str, took: float, body: bytes) -> dict[str, Any]:
    """An entry whose body stands in base64."""
    text = base64.b64encode(body).decode()
    content = {"size": len(body), "encoding": "base64", "text": text, "mimeType": "text/plain"}
    request = {"method": "GET", "url": url, "httpVersion": "HTTP/2.0", "headers": [], "cookies": []}
    response = {"status": 200, "headers": pairs({"date": ""}), "content": content}
    return {"startedDateTime": at, "time": took, "request": request, "response": response}


def test_har_files_of_browsers_and_proxies_are_read_in_order_and_without_secrets(tmp_path, capsys):
    issued = {"access_token": SECRET, "token_type": "Bearer", "expires_in": 180}
    bearer_of = {"Authorization": f"Bearer {SECRET}"}
    begin = 1_788_890_400.0  # 2026-09-08T18:00:00Z
    socket_messages = [
        ("send", begin + 1.25, '{"subscribe": {"requestId": "1"}}'),
        ("receive", begin + 9, f'{{"requestId": "1", "note": "{SECRET}"}}'),
    ]
    entries = [
        firefox(
            *("POST", "https://auth.example/oauth/token", "2026-09-08T20:00:00.000+02:00", 80.5),
            form={"grant_type": "client_credentials", "client_assertion": JWT},
            body=json.dumps(issued),
        ),
        chromium("wss://api.example/v1/ws/markets", "2026-09-08T18:00:01Z", socket_messages),
        firefox(
            *("GET", "https://api.example/v1/orders/open", "2026-09-08T18:00:02Z", 3000.0),
            sent=bearer_of,
        ),
        mitmproxy("https://g.example/v2/leagues", "2026-09-08T18:00:03+00:00", 12.0, b"[]"),
        firefox("GET", "https://api.example/v1/account/balances", "2026-09-08T18:00:04Z", 0.0),
    ]
    blocked = firefox("GET", "https://api.example/v1/orders/open", "2026-09-08T18:00:11Z", -1)
    blocked["response"]["status"] = 0
    file = tmp_path / "browser.har"
    file.write_text(json.dumps({"log": {"version": "1.2", "entries": [*entries, blocked]}}))
    recording = list(read_recording(file).entries)
    displayed = [
        item.request.path if item.request else item.frame.sender if item.frame else "opened"
        for item in recording
    ]
    assert displayed == [
        *("/oauth/token", "opened", "client", "/v2/leagues", "/v1/account/balances"),
        *("/v1/orders/open", "service", "/v1/orders/open"),
    ]
    assert [item.n for item in recording] == list(range(1, 9))
    assert recording[-1].answer is None and recording[-1].cut
    assert recording[5].answer.at == "2026-09-08T18:00:05Z"
    token = recording[0].answer.body["access_token"]
    assert "client_assertion=fp" in recording[0].request.body
    assert recording[5].request.headers["authorization"] == f"Bearer {token}"
    assert recording[6].frame.body["note"] == token
    assert SECRET not in str(recording) and JWT not in str(recording)
    assert main(["compare", str(file), "--json", str(tmp_path / "found.json")]) in (0, 1)
    assert SECRET not in (tmp_path / "found.json").read_text() + capsys.readouterr().out


ENTRY = "at `$"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda item: item.pop("startedDateTime"), "required field `startedDateTime`"),
        (lambda item: item.update(startedDateTime="yesterday"), "offset: 'yesterday'"),
        (lambda item: item.update(time="soon"), f"got `str` - {ENTRY}.time`"),
        (lambda item: item.update(time=1e400), "HAR file: JSON is malformed"),
        (lambda item: item["request"].update(url=7), f"got `int` - {ENTRY}.request.url`"),
        (lambda item: item["request"].update(url="https://[half"), "entry 1: Invalid IPv6 URL"),
        (lambda item: item["request"].update(headers=[{}]), f"{ENTRY}.request.headers[0]`"),
        (lambda item: item["response"].update(status="fine"), f"{ENTRY}.response.status`"),
        (lambda item: item["response"]["content"].update(encoding="base64", text="?"), "entry 1: "),
    ],
    ids=range(9),
)
def test_a_har_file_that_is_broken_is_told(spoil, message, tmp_path, capsys):
    item = firefox("GET", "https://g.example/v2/leagues", "2026-09-08T18:00:00Z", 1.0)
    spoil(item)
    file = tmp_path / "browser.har"
    file.write_text(json.dumps({"log": {"entries": [item]}}))
    assert main(["compare", str(file)]) == 2
    reported = " ".join(capsys.readouterr().err.split())
    assert str(file) in reported.replace(" ", "") and message in reported


def test_an_odd_entry_is_left_out_with_its_number(tmp_path):
    url, at = "https://g.example/v2/leagues", "2026-09-08T18:00:00Z"
    items = [firefox("GET", url, at, 1.0) for _ in range(5)]
    items[1]["response"]["status"] = "error"
    items[2]["response"] = None
    items[3]["request"]["url"] = "https://[half"
    items[4]["startedDateTime"] = "2026-09-08T18:00:00+0100"
    file = tmp_path / "browser.har"
    file.write_text(json.dumps({"log": {"entries": items}}))
    recording = read_recording(file)
    assert len(recording.entries) == 1
    lines = recording.warning.splitlines()
    assert [line.partition(" is left out: ")[0] for line in lines] == [
        f"{file}: entry {number}" for number in (2, 3, 4, 5)
    ]


def test_a_header_that_is_not_utf8_passes(through):
    head = b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Name: caf\xe9\xff\r\nConnection: close\r\n\r\n"
    assert exchange_bytes(through.gateway, head).startswith(b"HTTP/1.1 200 ")
    (line,) = through.written()
    assert line["request"]["headers"]["x-name"] == "caf\xe9\xff"
    values = decoded_headers([(b"X-Name", b"\xc3\xa9"), (b"X-Name", b"\xe9")])
    assert values == [("X-Name", "\xe9")] * 2


def test_a_byte_order_mark_is_skipped(tmp_path, capsys):
    item = firefox("GET", "https://g.example/v2/leagues", "2026-09-08T18:00:00Z", 1.0)
    file = tmp_path / "browser.har"
    file.write_text(json.dumps({"log": {"entries": [item]}}), encoding="utf-8-sig")
    assert main(["compare", str(file)]) in (0, 1)
    recording = session_at(tmp_path, ("2026-09-08T18:00:00Z",), "utf-8-sig")
    for command in ("compare", "witness"):
        assert main([command, str(recording)]) in (0, 1)
    assert capsys.readouterr().err == ""


@pytest.mark.long
@pytest.mark.parametrize(
    ("instants", "line", "years"),
    [
        (("0001-01-01T00:00:00Z", "2026-09-08T18:00:00Z"), 3, "1 to 2026"),
        (("2026-09-08T18:00:00Z", "9999-12-31T00:00:00Z"), 3, "2026 to 9999"),
    ],
)
def test_a_session_of_centuries_is_told(instants, line, years, tmp_path, capsys):
    file = session_at(tmp_path, instants)
    for command in ("compare", "infer"):
        assert main([command, str(file), "--scenario", "quickstart"]) == 2
        reported = " ".join(capsys.readouterr().err.split())
        assert f"line {line}: the session goes from the year {years}" in reported


@pytest.mark.long
def test_instants_that_fall_by_centuries_move_no_clock(tmp_path):
    file = session_at(tmp_path, ("2026-09-08T18:00:00Z", "0001-01-01T00:00:00Z"))
    for command in ("compare", "infer"):
        assert main([command, str(file), "--scenario", "quickstart"]) in (0, 1)


def session_at(folder, instants, encoding="utf-8"):
    """A recording with a call at each of some instants."""
    lines = [{"recording": 1, "started": "2026-09-08T18:00:00Z"}]
    for number, at in enumerate(instants, start=1):
        line = {"n": number, "at": at, "plane": "gateway", "client": "c"}
        line |= {"request": {"method": "GET", "path": "/v2/leagues"}, "answer": {"status": 404}}
        lines.append(line)
    file = folder / "session.ndjson"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding=encoding)
    return file
