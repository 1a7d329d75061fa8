"""The protobuf bundle as a partner uses it: it compiles with protoc alone, and its stubs import
beside the sandbox and call a served exchange.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sim.cli.main import main
from tests.kit.http import call
from tests.server.stock_oauth import token as authlib_token

CLIENT = """
import sys
import sim, sim.contract.pb, sim.run.client.client                     # the sandbox itself
from sim import Simulation, load_scenario
from sim.api.codecs.protobuf import *                      # its own descriptors
import grpc
from exchange.v1 import order_book_pb2, order_book_pb2_grpc, order_entry_pb2, order_entry_pb2_grpc
from sandbox_exchange import options_pb2

assert sim.__file__.startswith(sys.argv[1]), sim.__file__
target, token, participant, symbol = sys.argv[2:]
metadata = [("authorization", "Bearer " + token), ("x-participant-id", participant)]
with grpc.insecure_channel(target) as channel:
    orders = order_entry_pb2_grpc.OrderEntryAPIStub(channel)
    placed = orders.InsertOrder(
        order_entry_pb2.InsertOrderRequest(
            type=2, side=1, order_qty=1000, symbol=symbol, price=1, time_in_force=2, clord_id="b-1"
        ),
        metadata=metadata,
    )
    books = order_book_pb2_grpc.OrderBookAPIStub(channel)
    book = books.GetOrderBook(order_book_pb2.GetOrderBookRequest(symbol=symbol), metadata=metadata)
    print(placed.order_id != "", book.symbol or symbol)
method = order_entry_pb2.DESCRIPTOR.services_by_name["OrderEntryAPI"].methods_by_name["InsertOrder"]
print(method.GetOptions().Extensions[options_pb2.operation].scope)
"""


@pytest.fixture(scope="module")
def schemas(tmp_path_factory):
    """The bundle as `sim proto` writes it."""
    folder = tmp_path_factory.mktemp("my schemas")
    assert main(["proto", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def stubs(schemas, tmp_path_factory):
    """Python stubs of every file of the bundle, without any other folder to import from."""
    out = tmp_path_factory.mktemp("stubs")
    names = sorted(str(path.relative_to(schemas)) for path in schemas.rglob("*.proto"))
    program = (
        "import sys; from grpc_tools import protoc; from pathlib import Path; import grpc_tools;"
        " well_known = Path(grpc_tools.__file__).parent / '_proto';"
        " sys.exit(protoc.main(['protoc', *sys.argv[1:], f'-I{well_known}']))"
    )
    command = [f"-I{schemas}", f"--python_out={out}", f"--grpc_python_out={out}", *names]
    subprocess.run([sys.executable, "-c", program, *command], check=True, cwd=schemas)
    return out


@pytest.mark.spec("S9-5")
def test_its_stubs_import_beside_the_sandbox_and_trade(stubs, exchange):
    import sim

    firm = exchange.firms[0]
    token = authlib_token(exchange)
    root = str(Path(sim.__file__).parents[1])
    user, symbol = firm["users"][0], exchange.symbols["open"][0]
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, root, exchange.grpc, token, user, symbol],
        env={**os.environ, "PYTHONPATH": str(stubs)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"True {symbol}", "write:orders"]


def test_no_name_of_it_is_a_module_that_we_or_our_libraries_have(schemas):
    """Its top-level packages are those of the service, our one for options, and google's."""
    packages = {path.name for path in schemas.iterdir() if path.is_dir()}
    assert packages == {"exchange", "google", "sandbox_exchange"}
    assert [path.name for path in (schemas / "google").iterdir()] == ["api"]


def test_the_docs_address_and_the_command_give_the_same_files(schemas, exchange):
    served = zipfile.ZipFile(io.BytesIO(call(f"{exchange.docs}/proto/bundle").body))
    written = {
        str(path.relative_to(schemas)): path.read_bytes()
        for path in schemas.rglob("*")
        if path.is_file()
    }
    assert {name: served.read(name) for name in served.namelist()} == written


def test_a_file_that_somebody_changed_is_kept(tmp_path, capsys):
    assert main(["proto", str(tmp_path)]) == 0
    assert main(["proto", str(tmp_path)]) == 0  # again the same
    (tmp_path / "exchange/v1/orders.proto").write_text("mine")
    assert main(["proto", str(tmp_path)]) == 2
    assert "orders.proto exists and differs" in capsys.readouterr().err
