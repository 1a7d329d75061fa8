"""Third-party clients over real sockets: authlib for tokens, stubs compiled under the public
package names, requests over TLS, and a system clock in another year.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
from authlib.integrations.requests_client import OAuth2Session

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.testing.exchange_fixture import ServedExchange
from tests.server.stock_oauth import FiveMinutes

ROOT = Path(__file__).parent.parent.parent


def authlib_token(ready: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return a token fetched by authlib's private_key_jwt client."""
    firm = ready["firms"][0]
    endpoint = ready["auth"] + "/oauth/token"
    session = OAuth2Session(
        firm["client_id"],
        Path(firm["private_key_path"]).read_text(),
        token_endpoint_auth_method=FiveMinutes(endpoint, alg="RS256"),
        **options,
    )
    found: dict[str, Any] = session.fetch_token(
        endpoint,
        grant_type="client_credentials",
        client_id=firm["client_id"],
        audience=firm["audience"],
    )
    return found


@pytest.mark.spec("S4.5-1", "S5.1-1", "S5.1-3", "S5.1-4")
def test_authlib_gets_a_token_that_opens_the_exchange(exchange: ServedExchange) -> None:
    token = authlib_token(exchange.ready)
    assert token["token_type"] == "Bearer" and token["expires_in"] == 180
    answer = requests.get(
        exchange.exchange + "/v1/whoami",
        headers={"Authorization": f"Bearer {token['access_token']}"},
        timeout=5,
    )
    assert answer.status_code == 200
    exchange.clock.advance("181s")
    answer = requests.get(
        exchange.exchange + "/v1/whoami",
        headers={"Authorization": f"Bearer {token['access_token']}"},
        timeout=5,
    )
    assert answer.status_code == 401


@pytest.mark.spec("S5.1-2", "S5.1-8")
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_a_client_may_call_its_own_machine_by_any_of_its_names(
    exchange: ServedExchange, name: str
) -> None:
    firm = exchange.ready["firms"][0]
    named = {
        plane: exchange.ready[plane].replace("127.0.0.1", name) for plane in ("auth", "exchange")
    }
    for audience in (named["exchange"], f"{named['exchange']}/"):
        for aud in (named["exchange"], f"{named['auth']}/oauth/token"):
            session = OAuth2Session(
                firm["client_id"],
                Path(firm["private_key_path"]).read_text(),
                token_endpoint_auth_method=FiveMinutes(aud, alg="RS256"),
            )
            assert session.fetch_token(
                f"{exchange.auth}/oauth/token",
                grant_type="client_credentials",
                client_id=firm["client_id"],
                audience=audience,
            )["access_token"]


@pytest.fixture(scope="module")
def public_stubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Stubs as a partner compiles them: our schema files under the package name of the public
    bundle, without our options.
    """
    folder = tmp_path_factory.mktemp("bundle")
    target = folder / "polymarket" / "v1"
    target.mkdir(parents=True)
    for file in (ROOT / "proto" / "exchange" / "v1").glob("*.proto"):
        text = (
            file.read_text()
            .replace("package exchange.v1;", "package polymarket.v1;")
            .replace('"exchange/v1/', '"polymarket/v1/')
        )
        (target / file.name).write_text(text)
    import google.api
    import grpc_tools

    roots = [
        folder,
        ROOT / "proto",
        Path(next(iter(google.api.__path__))).parent.parent,
        Path(str(grpc_tools.__file__)).parent / "_proto",
    ]
    out = folder / "out"
    out.mkdir()
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        *(f"-I{root}" for root in roots),
        f"--python_out={out}",
        f"--grpc_python_out={out}",
    ]
    options = ROOT / "proto" / "sandbox_exchange" / "options.proto"
    subprocess.run([*command, *map(str, target.glob("*.proto")), str(options)], check=True)
    sys.path.insert(0, str(out))
    yield out
    sys.path.remove(str(out))


@pytest.mark.spec("S9-5", "S0-5", "S4.4-5", "S4.3-22")
def test_stubs_under_the_public_package_names_trade_and_stream(
    public_stubs: Path, exchange: ServedExchange
) -> None:
    wire = importlib.import_module("polymarket.v1.order_entry_pb2")
    services = importlib.import_module("polymarket.v1.order_entry_pb2_grpc")
    market = importlib.import_module("polymarket.v1.market_data_pb2")
    market_services = importlib.import_module("polymarket.v1.market_data_pb2_grpc")
    firm = exchange.ready["firms"][0]
    token = authlib_token(exchange.ready)["access_token"]
    metadata = (("authorization", f"Bearer {token}"), ("x-participant-id", firm["users"][0]))
    symbol = exchange.symbols["open"][0]
    with grpc.insecure_channel(exchange.grpc) as channel:
        orders = services.OrderEntryAPIStub(channel)
        stream = orders.CreateOrderSubscription(
            wire.CreateOrderSubscriptionRequest(symbols=[symbol]), metadata=metadata, timeout=10
        )
        assert next(stream).HasField("snapshot")
        books = market_services.MarketDataSubscriptionAPIStub(channel).CreateMarketDataSubscription(
            market.CreateMarketDataSubscriptionRequest(symbols=[symbol]),
            metadata=metadata[:1],
            timeout=10,
        )
        assert next(books).update.symbol == symbol
        request = wire.InsertOrderRequest(
            type=2,
            side=1,
            order_qty=1000,
            symbol=symbol,
            price=50 * 1,
            time_in_force=2,
            clord_id="stub-1",
        )
        try:
            placed = orders.InsertOrder(request, metadata=metadata, timeout=5)
        except grpc.RpcError as error:  # valid prices depend on the symbol's tick
            assert error.code() is grpc.StatusCode.FAILED_PRECONDITION  # type: ignore[attr-defined]
            request.price = _on_tick(exchange, symbol)
            placed = orders.InsertOrder(request, metadata=metadata, timeout=5)
        execution = next(stream).update.executions[0]
        assert execution.order.id == placed.order_id
        assert execution.order.fractional_quantity_scale >= 1  # field 49
        assert next(books).update.bids[0].qty == 1000
        unknown = channel.unary_unary("/polymarket.us.kyc.v1.KYCAPI/StartKYCVerification")
        with pytest.raises(grpc.RpcError) as refused:
            unknown(b"", metadata=metadata, timeout=5)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED  # type: ignore[attr-defined]


@pytest.mark.spec("S9-5", "S7.1-6", "S4.4-1", "S6.2-1")
def test_a_stock_grpc_client_may_compress_and_know_more_fields_but_not_send_megabytes(
    exchange: ServedExchange,
) -> None:
    firm = exchange.ready["firms"][0]
    metadata = (
        ("authorization", f"bearer {authlib_token(exchange.ready)['access_token']}"),
        ("x-participant-id", firm["users"][0]),
    )
    symbol = exchange.symbols["open"][0]
    order = protobuf_encoder(wire.InsertOrderRequest)(
        wire.InsertOrderRequest(
            type=2,
            side=1,
            order_qty=1000,
            symbol=symbol,
            price=_on_tick(exchange, symbol),
            time_in_force=2,
        )
    )
    # unknown fields 1023 and 2047
    newer = order + b"\xfa\x3f\x03abc" + b"\xf8\x7f\x01"
    with grpc.insecure_channel(exchange.grpc) as channel:
        insert = channel.unary_unary("/polymarket.v1.OrderEntryAPI/InsertOrder")
        quiet = channel.unary_stream("/polymarket.v1.DropCopyAPI/CreateDropCopySubscription")(
            b"", metadata=metadata, timeout=20
        )
        # sent at once without any event: all later messages arrive
        assert list(quiet.initial_metadata()) == []
        ids = {
            insert(newer, metadata=metadata, timeout=5, compression=how)
            for how in (grpc.Compression.NoCompression, grpc.Compression.Gzip)
        }
        assert len(ids) == 2
        reports = [
            protobuf_decoder(wire.CreateDropCopySubscriptionResponse)(next(quiet)) for _ in ids
        ]
        assert [len(report.executions) for report in reports] == [1, 1] and {
            len(report.resume_token) for report in reports
        } == {576}
        for raw, code in (
            (b"\xff\xff", grpc.StatusCode.INVALID_ARGUMENT),
            (bytes(5_000_000), grpc.StatusCode.RESOURCE_EXHAUSTED),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                insert(raw, metadata=metadata, timeout=5)
            assert refused.value.code() is code  # type: ignore[attr-defined]
        quiet.cancel()


def _on_tick(exchange: ServedExchange, symbol: str) -> int:
    rows = exchange.control("GET", "/state/instruments")["instruments"]
    row = next(row for row in rows if row["symbol"] == symbol)
    return int(row["price_scale"]) // 2


def test_a_real_client_works_with_the_simulator_set_two_years_away(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    with _process(ready, "--start", "2028-09-12T14:00:00-04:00") as facts:
        assert facts["now"].startswith("2028-09-12")
        token = authlib_token(facts)["access_token"]
        headers = {
            "Authorization": f"Bearer {token}",
            "x-participant-id": facts["firms"][0]["users"][0],
        }
        symbol = facts["symbols"]["open"][0]
        book = requests.get(
            f"{facts['exchange']}/v1/orderbook/{symbol}", headers=headers, timeout=5
        ).json()
        assert book["transactTime"].startswith("2028-09-12")
        from polymarket_us import PolymarketUS

        key = facts["api_keys"][0]
        client = PolymarketUS(
            key_id=key["key_id"],
            secret_key=key["secret_key"],
            api_base_url=facts["retail"],
            gateway_base_url=facts["gateway"],
        )
        assert client.account.balances()["balances"][0]["currency"] == "USD"


def test_tls_serves_the_same_under_a_local_authority(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    with _process(ready, "--tls", str(tmp_path / "tls")) as facts:
        assert facts["gateway"].startswith("https://") and facts["tls_ca"]
        answer = requests.get(facts["gateway"] + "/v2/leagues", verify=facts["tls_ca"], timeout=5)
        assert len(answer.json()["leagues"]) <= 50
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(facts["gateway"] + "/v2/leagues", timeout=5)
        credentials = grpc.ssl_channel_credentials(Path(facts["tls_ca"]).read_bytes())
        with grpc.secure_channel(facts["grpc"], credentials) as channel:
            healthy = channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=5)
            assert healthy == b"\x08\x01"


class _process:
    """Run `sim serve` in a separate process until the block ends."""

    def __init__(self, ready: Path, *options: str) -> None:
        self._command = [
            sys.executable,
            "-m",
            "sim",
            "serve",
            *options,
            "--clock",
            "manual",
            "--port-base",
            "0",
            "--ready-file",
            str(ready),
        ]
        self._ready = ready

    def __enter__(self) -> dict[str, Any]:
        import json

        self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not self._ready.exists():
            assert self._process.poll() is None and time.monotonic() < deadline, (
                "sim serve did not get ready"
            )
            time.sleep(0.01)
        found: dict[str, Any] = json.loads(self._ready.read_text())
        return found

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait()
