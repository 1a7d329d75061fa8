"""The compiler and the table of operations: what is generated, what is refused, and that the
committed files are up to date.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from sim.api.codecs.codecs import fields_of
from sim.contract.compile import main as generate
from sim.contract.compiler import compile_schema, derive
from sim.contract.compiler.operations import operations_source
from sim.contract.contract import (
    PLANES,
    SCOPES,
    Contract,
    ContractError,
    Operation,
    RpcService,
    load_contract,
)
from sim.contract.messages import FIELD_DATES, Message, find, find_message
from sim.kernel.instants import parse_instant
from tests.contract.wire_values import message_types

MESSAGES = message_types()
ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def _proto(scratch: Path, text: str = "") -> Path:
    """A proto directory with our options and one file: probe.proto, or the given text behind the
    usual head.
    """
    (scratch / "sandbox_exchange").mkdir(parents=True)
    (scratch / "probe/v1").mkdir(parents=True)
    (scratch / "sandbox_exchange/options.proto").write_text(
        (ROOT / "proto/sandbox_exchange/options.proto").read_text()
    )
    head = (
        'syntax = "proto3";\npackage probe.v1;\nimport "google/api/annotations.proto";\nimport'
        ' "sandbox_exchange/options.proto";\n'
    )
    (scratch / "buf.yaml").write_text((ROOT / "proto/buf.yaml").read_text())
    (scratch / "probe/v1/probe.proto").write_text(
        head + text if text else (HERE / "probe.proto").read_text()
    )
    return scratch


def _operation(**values: Any) -> Operation:
    return Operation(**({"service": RpcService("probe.v1", "A"), "rpc": "Get"} | values))


# ---- the generated files


def test_the_committed_files_are_what_the_proto_files_compile_to() -> None:
    assert generate(["--check"]) == 0, "run python -m sim.contract.compile"


def test_compiling_twice_gives_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    proto = _proto(tmp_path / "proto")
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-m",
            "sim.contract.compile",
            "--proto",
            str(proto),
            "--root",
            str(tmp_path / seed),
        ]
        subprocess.run(
            command, check=True, cwd=ROOT, env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"}
        )
    item, two = (
        {
            path.relative_to(tmp_path / seed): path.read_bytes()
            for path in (tmp_path / seed).rglob("*.*")
        }
        for seed in "12"
    )
    assert item == two
    assert len(item) == 7


def test_check_names_what_differs_and_writing_removes_what_is_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--proto", str(_proto(tmp_path / "proto")), "--root", str(tmp_path)]
    assert generate([*arguments, "--check"]) == 1
    assert generate(arguments) == 0
    assert generate([*arguments, "--check"]) == 0
    stale = tmp_path / "sim/contract/messages/forgotten_v1.py"
    stale.write_text("")
    capsys.readouterr()
    assert generate([*arguments, "--check"]) == 1
    assert "sim/contract/messages/forgotten_v1.py" in capsys.readouterr().err
    generate(arguments)
    assert not stale.exists()


def test_the_descriptors_do_not_change_with_comments(tmp_path: Path) -> None:
    before = compile_schema(_proto(tmp_path / "a")).stripped()
    path = _proto(tmp_path / "b") / "probe/v1/probe.proto"
    path.write_text(path.read_text().replace("// plain text", "// text\n\n"))
    assert compile_schema(tmp_path / "b").stripped() == before


@pytest.mark.spec("S0-5", "S9-5")
def test_the_bundle_holds_what_a_grpc_client_compiles(tmp_path: Path) -> None:
    with zipfile.ZipFile(ROOT / "sim/contract/pb/bundle.zip") as bundle:
        names = bundle.namelist()
        bundle.extractall(tmp_path)
    assert names == sorted(names)
    assert "sandbox_exchange/options.proto" in names
    assert not [name for name in names if name.startswith("issuer/")]
    served = {
        operation.service.package for operation in load_contract().operations if operation.grpc
    }
    compiled = compile_schema(tmp_path)
    assert served <= set(compiled.packages)
    lines = "\n".join(file.read_text() for file in tmp_path.rglob("exchange/**/*.proto"))
    fields = re.findall(r"^ +(?:optional |repeated )?[a-zA-Z][\w.<>, ]* (\w+) = \d", lines, re.M)
    assert len(fields) > 500
    assert {
        name for name in fields if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)
    } == set()


def test_every_field_of_a_struct_has_the_proto3_default(probe: Any) -> None:
    message = probe.Probe()
    assert (message.s, message.i, message.b, message.d, message.y, message.side) == (
        "",
        0,
        False,
        0.0,
        b"",
        0,
    )
    assert (message.at, message.os, message.pl, message.quiet, message.ss, message.mll) == (
        None,
        None,
        None,
        None,
        [],
        {},
    )
    assert message.from_ == ""
    assert probe.Probe().ss is not message.ss
    assert inspect.getdoc(probe.Probe) == "Everything a field can be.\n\nSecond paragraph."
    assert probe.Side(1) is probe.Side.SIDE_BUY
    with pytest.raises(TypeError):
        probe.Probe("positional")


def test_every_message_is_found_by_its_name_and_survives_msgspec() -> None:
    for cls in MESSAGES:
        assert find_message(cls.__full_name__) is cls
        assert [field.attribute for field in fields_of(cls)] == list(cls.__struct_fields__)
        assert msgspec.convert(msgspec.to_builtins(cls()), cls) == cls()


@pytest.mark.parametrize(
    "name", ["exchange.v1.Nothing", "nowhere.v1.Order", "exchange.v1", "", "exchange.v1.__name__"]
)
def test_a_name_outside_the_contract_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        find(name)


def test_only_messages_are_found_as_messages() -> None:
    with pytest.raises(KeyError):
        find_message("exchange.v1.Side")


def test_field_dates_are_those_of_the_fields() -> None:
    dates = {
        date
        for cls in MESSAGES
        for field in fields_of(cls)
        for date in (field.since, field.until)
        if date is not None
    }
    assert tuple(sorted(dates)) == FIELD_DATES
    assert parse_instant("2026-06-29") in dates


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("message A { int32 i = ; }", "do not compile"),
        ("message A { float f = 1; }", "has no form here"),
        ("message A { int32 str = 1; }", "hides the Python type"),
        ("enum E { None = 0; }", "cannot be called None"),
        ("message A_B {}", "has no underscore"),
        ("message Timestamp {}", "hides a type"),
        ("message A { int32 from_ = 1; }", "the attribute of a keyword"),
        ('message A { string s = 1 [(sandbox_exchange.field).since = "soon"]; }', "RFC 3339"),
        ('// C.\nmessage R {} service S { rpc G(R) returns (R) { option (sandbox_exchange.operation) = {grpc: true}; } }', "has a comment"),
        ("message R {} service S { // Does.\nrpc G(R) returns (R); }", "neither on a plane nor over gRPC"),
        ("message R {} service S { // Does.\nrpc G(R) returns (R) { option (sandbox_exchange.operation) = {planes: RETAIL}; } }", "no google.api.http binding"),
        (
            "message R {} service S { // Does.\n"
            'rpc G(R) returns (R) { option (google.api.http) = {get: "/v1/{x}"}; option (sandbox_exchange.operation) = {planes: RETAIL}; } }',
            "no field x",
        ),
        (
            "message R { R r = 1; } service S { // Does.\n"
            'rpc G(R) returns (R) { option (google.api.http) = {post: "/v1" body: "r"}; option (sandbox_exchange.operation) = {planes: RETAIL}; } }',
            "a body fills",
        ),
        ('message R {} service S { // Does.\nrpc G(R) returns (R) { option (sandbox_exchange.operation) = {grpc: true since: "later"}; } }', "RFC 3339"),
        (
            "message R {} service S { // Does.\n"
            'rpc G(R) returns (R) { option (google.api.http) = {post: "/v1"}; option (sandbox_exchange.operation) = {planes: RETAIL}; } }',
            "a body fills",
        ),
    ],
)  # fmt: skip
def test_a_proto_file_that_breaks_a_rule_is_refused_in_words(
    tmp_path: Path, text: str, complaint: str
) -> None:
    proto = _proto(tmp_path, text)
    with pytest.raises(ValueError, match=complaint):
        derive(compile_schema(proto), proto)


def test_the_row_of_an_operation_says_what_its_options_and_comment_say(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {}
    exec(operations_source(compile_schema(_proto(tmp_path))), namespace)
    probe, stream = namespace["OPERATIONS"]
    assert probe.name == "ProbeAPI.GetProbe"
    assert probe.full_methods == ("/probe.v1.ProbeAPI/GetProbe", "/elsewhere.v1.ProbeAPI/GetProbe")
    assert (probe.planes, probe.scope, probe.limits, probe.statements) == (
        ("exchange", "retail"),
        "read:marketdata",
        ("exchange_rest",),
        ("S4.3-1",),
    )
    assert probe.bindings == (("GET", "/v1/probe/{symbol}", ""), ("POST", "/v1/probes", "*"))
    assert (probe.summary, probe.description) == (
        "Depth of book for one symbol, best levels first.",
        "Longer text, in two lines.",
    )
    assert (
        probe.credential_on("exchange"),
        probe.credential_on("retail"),
        probe.credential_on(None),
    ) == ("bearer", "api_key", "bearer")
    assert (stream.kind, stream.participant, stream.planes) == ("server", "required", ())
    assert not probe.exists_at(parse_instant("2026-08-06") - 1)
    assert probe.exists_at(parse_instant("2026-08-06"))
    assert (probe.request_name, probe.response_name) == (
        "probe.v1.GetProbeRequest",
        "probe.v1.Probe",
    )
    assert probe.service.comment == "Probes things."


# ---- the contract


def test_every_operation_is_found_by_name_by_grpc_path_and_under_every_alias() -> None:
    contract = load_contract()
    assert contract is load_contract()
    for operation in contract.operations:
        assert contract.by_name(operation.name) is operation
        assert bool(operation.full_methods) is operation.grpc
        assert all(contract.by_rpc(method) is operation for method in operation.full_methods)
        assert issubclass(operation.request, Message)
        assert issubclass(operation.response, Message)
        assert operation.summary
    book = contract.by_rpc("/polymarket.v1.OrderBookAPI/GetOrderBook")
    assert book is contract.by_name("OrderBookAPI.GetOrderBook")
    assert contract.by_rpc("/exchange.v1.OrderBookAPI/GetNothing") is None
    with pytest.raises(KeyError):
        contract.by_name("OrderBookAPI.GetNothing")


def test_every_scope_is_known_and_every_statement_stands_in_the_ledger() -> None:
    contract = load_contract()
    ledger = yaml.load((ROOT / "tests/ledger.yaml").read_text(), yaml.CSafeLoader)
    assert {
        statement for operation in contract.operations for statement in operation.statements
    } <= set(ledger)
    assert {operation.scope for operation in contract.operations if operation.scope} <= SCOPES


def test_every_plane_has_routes_and_every_rest_operation_is_on_one() -> None:
    contract = load_contract()
    routed = {route.operation for plane in PLANES for route in contract.routes(plane)}
    assert all(contract.routes(plane) for plane in PLANES)
    assert routed == {operation for operation in contract.operations if operation.planes}


@pytest.mark.parametrize(
    ("operations", "complaint"),
    [
        (
            [
                _operation(planes=("retail",), rest=("GET /v1/a/{id}",)),
                _operation(rpc="Find", planes=("retail",), rest=("GET /v1/a/{other_id}",)),
            ],
            "retail GET /v1/a/{other_id}: both A.Get and A.Find",
        ),
        (
            [_operation(), _operation(service=RpcService("other.v1", "A"))],
            "A.Get: declared by probe.v1.A and by other.v1.A",
        ),
        ([_operation(scope="read:minds")], "A.Get: unknown scope read:minds"),
        ([_operation(since=5, until=5)], "A.Get: it ends before it begins"),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused(
    operations: list[Operation], complaint: str
) -> None:
    with pytest.raises(ContractError, match=re.escape(complaint)):
        Contract(operations)


def test_two_verbs_or_two_planes_may_share_a_path() -> None:
    Contract(
        [
            _operation(planes=("retail",), rest=("GET /v1/a", "POST /v1/a")),
            _operation(rpc="Other", planes=("gateway",), rest=("GET /v1/a",)),
        ]
    )
