"""Telemetry: what a receiver of OTLP gets, and metrics as Prometheus' own parser reads them."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from sim import Simulation, load_scenario
from sim.cli import listening
from sim.cli.main import main
from sim.run.actors.operator.metrics import metrics
from sim.server.telemetry.prometheus import prometheus_text
from sim.testing import connect
from sim.testing.exchange_fixture import ServedExchange
from tests.kit.http import call
from tests.kit.processes import serve

ROOT = Path(__file__).parents[2]
KINDS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SCENARIO = """
name: mine
extends: quickstart
clock: {mode: manual}
steps:
  - name: sees an outage
    at: +1s
    call: {plane: gateway, get: /v2/leagues}
    expect: {status: 503}
"""


class Collector:
    """A receiver of OTLP over HTTP."""

    def __init__(self) -> None:
        self.got: dict[str, list[Any]] = defaultdict(list)
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                assert self.headers["Content-Type"] == "application/x-protobuf"
                collector.got[self.path].append(KINDS[self.path].FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self) -> list[dict[str, Any]]:
        """Name, attributes, ids of every span."""
        return [
            {
                "name": span.name,
                "trace": span.trace_id.hex(),
                "parent": span.parent_span_id.hex(),
                "ms": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6,
                **_plain(span.attributes),
            }
            for span in self.all("traces", "resource_spans", "scope_spans", "spans")
        ]

    def all(self, path: str, *names: str) -> list[Any]:
        """What came at a path, down to the fields of a name in those of another."""
        results = self.got[f"/v1/{path}"]
        for name in names:
            results = [inner for item in results for inner in getattr(item, name)]
        return results


def _plain(attributes: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value"))
        for attribute in attributes
    }


@pytest.fixture
def collector():
    item = Collector()
    yield item
    item.server.shutdown()


def play(folder: Path, *words: str) -> tuple[str, dict[str, Any], str]:
    """The same calls on a served exchange. Digest, ready file, errors."""
    (folder / "mine.yaml").write_text(SCENARIO)
    with serve(folder, str(folder / "mine.yaml"), "--quiet", *words) as served:
        at = served.ready
        headers = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
        assert call(f"{at['gateway']}/v2/leagues", headers=headers).status == 200
        assert call(f"{at['retail']}/v1/account/balances").status == 401
        with grpc.insecure_channel(at["grpc"]) as channel:
            health = channel.unary_unary("/grpc.health.v1.Health/Check")
            health(b"", timeout=20)
            with pytest.raises(grpc.RpcError):
                positions = "/polymarket.us.positions.v1.PositionsAPI/ListPositions"
                channel.unary_unary(positions)(
                    b"", timeout=20, metadata=[("traceparent", headers["traceparent"])]
                )
        served.control("POST", "/clock/advance", {"by": "2s"})
        _, out, err = served.end(signal.SIGTERM)
    digest = re.search(r"digest ([0-9a-f]{64})", out)
    assert digest is not None
    return digest[1], at, err


@pytest.mark.long
def test_a_collector_gets_spans_logs_and_metrics_and_the_digest_stays(collector, tmp_path):
    with_it, ready, err = play(tmp_path, "--otlp", f"{collector.url}/")
    leagues, refused, *_ = spans = collector.spans()
    assert leagues["trace"] == TRACE and leagues["parent"] == SPAN
    assert leagues["sim.plane"] == "gateway" and leagues["sim.status"] == 200
    assert leagues["sim.virtual_time"] == ready["now"] and leagues["sim.seq"] == 1
    assert leagues["name"] == f"gateway {leagues['sim.operation']}" and leagues["ms"] > 0
    assert refused["sim.status"] == 401 and not refused["parent"]
    rpc = [span for span in spans if span["sim.plane"] == "grpc"]
    assert [span["trace"] for span in rpc] == [TRACE], spans
    records = collector.all("logs", "resource_logs", "scope_logs", "log_records")
    (logs,) = {record.body.string_value for record in records}
    assert logs.startswith("step sees an outage: ") and "503" in logs
    figures = collector.all("metrics", "resource_metrics", "scope_metrics", "metrics")
    assert {"sim.wall_latency", "sim.virtual_latency"} <= {metric.name for metric in figures}
    resource = _plain(collector.got["/v1/traces"][0].resource_spans[0].resource.attributes)
    assert resource["service.name"] == "sandbox-exchange" and resource["sim.scenario"] == "mine"
    for key in ready["api_keys"]:
        assert key["secret_key"] not in str(collector.got)
    assert play(tmp_path)[0] == with_it, err


@pytest.mark.long
def test_a_collector_that_is_not_there_holds_nothing_up(tmp_path):
    digest, _, _ = play(tmp_path, "--otlp", "http://127.0.0.1:9")
    assert digest


def test_without_the_extra_and_with_no_address_it_is_refused(capsys, monkeypatch):
    with pytest.raises(SystemExit):
        main(["serve", "--otlp", "collector:4318"])
    assert "an address such as http://127.0.0.1:4318" in capsys.readouterr().err
    monkeypatch.setattr(listening, "find_spec", lambda name: None)
    assert main(["serve", "--otlp", "http://127.0.0.1:4318"]) == 2
    assert "pip install 'sandbox-exchange[otel]'" in capsys.readouterr().err


def test_extras_and_what_only_metrics_need_are_imported_when_used():
    output = subprocess.run(
        [sys.executable, "-c", "import sim.server.serve, sim.cli.serve, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for name in ("opentelemetry", "prometheus_client", "argcomplete", "sim.server.watching"):
        assert name not in output


# ---- Prometheus


def families(exchange: ServedExchange) -> dict[str, Any]:
    text = exchange.control("GET", "/metrics")
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_metrics_of_an_empty_world_count_what_its_scenario_lists():
    listed = "[{symbol: a, state: OPEN}, {symbol: b, state: OPEN}]"
    sim = Simulation(load_scenario(f"name: two\nworld: {{base: empty, instruments: {listed}}}"))
    result = {family.name: [value for _, value in family.samples] for family in metrics(sim.engine)}
    counts = ("sim_instruments", "sim_open_orders", "sim_trades_total", "sim_inputs_total")
    assert [result[name] for name in counts] == [[2], [0], [0], [0]]


def test_prometheus_reads_every_metric_with_its_help(exchange):
    families(exchange)  # latencies count from the first reading on
    fault = {"match": {"operation": "ListLeagues"}, "act": {"status": 503}, "times": 1}
    exchange.control("POST", "/faults", fault)
    answers = [call(f"{exchange.gateway}/v2/leagues").status for _ in range(3)]
    assert answers == [503, 200, 200]
    result = families(exchange)
    assert all(family.documentation for family in result.values())
    kinds = {name: family.type for name, family in result.items()}
    assert kinds["sim_requests"] == kinds["sim_fault_affected"] == "counter"
    assert kinds["sim_streams"] == kinds["sim_cash_total"] == "gauge"
    calls = {
        tuple(sample.labels.values()): sample.value for sample in result["sim_requests"].samples
    }
    assert sum(value for labels, value in calls.items() if "gateway" in labels) == 3
    for name in ("sim_wall_latency_seconds", "sim_virtual_latency_seconds"):
        assert kinds[name] == "histogram"
        counted = [sample for sample in result[name].samples if sample.name.endswith("_count")]
        assert [(item.labels, item.value) for item in counted] == [({"plane": "gateway"}, 3)]
        buckets = [
            sample.value for sample in result[name].samples if sample.name.endswith("_bucket")
        ]
        assert buckets == sorted(buckets) and buckets[-1] == 3


def test_every_query_of_the_dashboard_asks_for_metrics_and_labels_that_exist(exchange):
    families(exchange)
    exchange.fault("ListLeagues", status=503)
    assert call(f"{exchange.gateway}/v2/leagues").status == 503
    simulation = Simulation(load_scenario("quickstart"))  # with a stream, and nothing else
    connect(simulation).web_socket(simulation.exchange.firms.api_keys()[0], "/v1/ws/markets")
    streaming = prometheus_text(metrics(simulation.engine)).decode()
    existing: dict[str, set[str]] = defaultdict(set)
    for family in (*families(exchange).values(), *text_string_to_metric_families(streaming)):
        for sample in family.samples:
            existing[sample.name] |= set(sample.labels)
        existing.setdefault(family.name, set())
    dashboard = json.loads((ROOT / "docs" / "examples" / "grafana" / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) >= 8
    for query in queries:
        names = set(re.findall(r"\bsim_\w+", query))
        assert names and names <= existing.keys(), query
        for labels in re.findall(r"by \(([^)]*)\)|legendFormat", query):
            asked = {label.strip() for label in labels.split(",") if label.strip()} - {"le"}
            assert all(asked <= existing[name] for name in names), query
