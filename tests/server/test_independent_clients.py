"""Third-party clients over real sockets: authlib for tokens, stubs compiled under the public
package names, and a system clock in another year.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import grpc
import pytest
import requests

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.testing.exchange_fixture import ServedExchange
from tests.kit.clients import Facts, sdk
from tests.kit.processes import serve, sim
from tests.server import stock_oauth
from tests.server.stock_oauth import session, token

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.spec("S4.5-1", "S5.1-1", "S5.1-3", "S5.1-4")
def test_authlib_gets_a_token_that_opens_the_exchange(exchange):
    client, fetch = session(exchange)
    headers = {"Authorization": f"Bearer {fetch()}"}
    assert client.token["token_type"] == "Bearer" and client.token["expires_in"] == 180
    for status in (200, 401):
        answer = requests.get(f"{exchange.exchange}/v1/whoami", headers=headers, timeout=5)
        assert answer.status_code == status
        exchange.clock.advance("181s")


@pytest.mark.spec("S5.1-2", "S5.1-8")
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_a_client_may_call_its_own_machine_by_any_of_its_names(exchange, name):
    auth, named = (url.replace("127.0.0.1", name) for url in (exchange.auth, exchange.exchange))
    for audience in (named, f"{named}/"):
        for aud in (named, f"{auth}/oauth/token"):
            assert token(exchange, aud, audience)


@pytest.fixture(scope="module")
def public_stubs(tmp_path_factory):
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

    roots = [folder, ROOT / "proto", Path(next(iter(google.api.__path__))).parent.parent]
    roots.append(Path(str(grpc_tools.__file__)).parent / "_proto")
    out = folder / "out"
    out.mkdir()
    words = [*(f"-I{root}" for root in roots), f"--python_out={out}", f"--grpc_python_out={out}"]
    files = [*target.glob("*.proto"), ROOT / "proto" / "sandbox_exchange" / "options.proto"]
    done = sim(*words, *files, module="grpc_tools.protoc")
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(out))
    yield out
    sys.path.remove(str(out))


@pytest.mark.spec("S9-5", "S0-5", "S4.4-5", "S4.3-22")
def test_stubs_under_the_public_package_names_trade_and_stream(public_stubs, exchange, channel):
    wire = importlib.import_module("polymarket.v1.order_entry_pb2")
    services = importlib.import_module("polymarket.v1.order_entry_pb2_grpc")
    market = importlib.import_module("polymarket.v1.market_data_pb2")
    market_services = importlib.import_module("polymarket.v1.market_data_pb2_grpc")
    metadata = stock_oauth.metadata(exchange)
    symbol = exchange.symbols["open"][0]
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
    terms = {"type": 2, "side": 1, "order_qty": 1000, "symbol": symbol, "time_in_force": 2}
    request = wire.InsertOrderRequest(price=50, clord_id="stub-1", **terms)
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
    exchange, channel
):
    named, participant = stock_oauth.metadata(exchange)
    metadata = ((named[0], named[1].replace("Bearer", "bearer")), participant)
    symbol = exchange.symbols["open"][0]
    terms = {"type": 2, "side": 1, "order_qty": 1000, "symbol": symbol, "time_in_force": 2}
    request = wire.InsertOrderRequest(price=_on_tick(exchange, symbol), **terms)
    order = protobuf_encoder(wire.InsertOrderRequest)(request)
    # unknown fields 1023 and 2047
    newer = order + b"\xfa\x3f\x03abc" + b"\xf8\x7f\x01"
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
    reports = [protobuf_decoder(wire.CreateDropCopySubscriptionResponse)(next(quiet)) for _ in ids]
    sizes = [(len(report.executions), len(report.resume_token)) for report in reports]
    assert sizes == [(1, 576)] * 2
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


def test_a_real_client_works_with_the_simulator_set_two_years_away(tmp_path):
    with serve(tmp_path, "--start", "2028-09-12T14:00:00-04:00") as served:
        at = Facts(served.ready)
        assert at.now.startswith("2028-09-12")
        book = f"{at.exchange}/v1/orderbook/{at.symbols['open'][0]}"
        result = requests.get(book, headers=dict(stock_oauth.metadata(at)), timeout=5).json()
        assert result["transactTime"].startswith("2028-09-12")
        client = sdk(at)
        assert client.account.balances()["balances"][0]["currency"] == "USD"
