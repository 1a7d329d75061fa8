"""`--otlp URL`: spans, metrics and logs of a run over OTLP (HTTP, protobuf), by the OpenTelemetry
SDK, which sends them from threads of its own.

A span is a call; its times are the machine's, virtual time is an attribute, and a `traceparent`
of the client makes it a child of the client's span. Nothing here is an input, so the digest is
the same without.
"""

from __future__ import annotations

import logging

from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sim.api.pipeline.inputs import Outcome, Post
from sim.api.pipeline.request_log import LoggedCall
from sim.kernel.instants import format_instant
from sim.kernel.release import RELEASE
from sim.run.simulation import Simulation
from sim.server.console import Observer
from sim.server.telemetry.meter import MeasuredCall
from sim.server.webhooks import ReceiverResponse

_SEND_S = 2.0  # a collector that does not answer holds the end up no longer
_EVERY_MS = 5_000
_NS = 1_000_000_000


class Telemetry:
    """A meter of calls and an observer of one instance; what happens goes to `then` as well."""

    def __init__(self, url: str, simulation: Simulation, then: Observer) -> None:
        self._then = then
        base = url.rstrip("/")
        resource = Resource.create(
            {
                "service.name": "sandbox-exchange",
                "service.version": RELEASE,
                "sim.scenario": simulation.scenario.name,
                "sim.seed": simulation.seed,
            }
        )
        self._traces = TracerProvider(resource=resource)
        spans = OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=_SEND_S)
        self._traces.add_span_processor(BatchSpanProcessor(spans, schedule_delay_millis=500))
        self._logs = LoggerProvider(resource=resource)
        lines = OTLPLogExporter(endpoint=f"{base}/v1/logs", timeout=_SEND_S)
        self._logs.add_log_record_processor(BatchLogRecordProcessor(lines))
        numbers = OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=_SEND_S)
        reader = PeriodicExportingMetricReader(numbers, export_interval_millis=_EVERY_MS)
        self._metrics = MeterProvider([reader], resource=resource)
        self._tracer = self._traces.get_tracer("sim")
        self._logger = self._logs.get_logger("sim")
        meter = self._metrics.get_meter("sim")
        self._wall = meter.create_histogram("sim.wall_latency", "s")
        self._virtual = meter.create_histogram("sim.virtual_latency", "s")
        self._faults = meter.create_counter("sim.faults_injected")
        self._propagator = TraceContextTextMapPropagator()
        self._handler = LoggingHandler(logging.WARNING, self._logs)
        # The exporters log their own failures; those must not be exported again.
        self._handler.addFilter(lambda record: not record.name.startswith("opentelemetry"))
        logging.getLogger().addHandler(self._handler)

    def called(self, call: MeasuredCall) -> None:
        """A call was handled."""
        entry = call.entry
        attributes = _attributes(entry)
        self._wall.record(call.took / _NS, _labels(entry))
        if call.late is not None:
            attributes["sim.virtual_latency"] = call.late / _NS
            self._virtual.record(call.late / _NS, _labels(entry))
        span = self._tracer.start_span(
            f"{entry.plane} {entry.operation or entry.address}",
            context=self._propagator.extract({"traceparent": call.headers.get("traceparent", "")}),
            kind=SpanKind.SERVER,
            attributes=attributes,
            start_time=call.began,
        )
        if entry.status >= 500:
            span.set_status(StatusCode.ERROR)
        span.end(call.began + call.took)

    def after_input(self, simulation: Simulation, outcome: Outcome, wall: int) -> None:
        """Count faults, tell the verdicts of steps."""
        self._then.after_input(simulation, outcome, wall)
        for injection in outcome.injections:
            self._faults.add(1, {"sim.plane": injection.plane})
        for step in outcome.steps:
            passed = not step.failures and not step.refused
            verdict = "; ".join(step.failures) or ("passed" if passed else "refused")
            self._emit(f"step {step.name or step.step}: {verdict}", simulation, passed)

    def after_attempt(self, simulation: Simulation, post: Post, answer: ReceiverResponse) -> None:
        """Tell what a receiver of webhooks answered."""
        self._then.after_attempt(simulation, post, answer)
        result_text = str(answer.status or answer.error)
        self._emit(
            f"webhook {post.shown_url}: {result_text}", simulation, 200 <= answer.status < 300
        )

    def _emit(self, body: str, simulation: Simulation, fine: bool) -> None:
        severity = SeverityNumber.INFO if fine else SeverityNumber.WARN
        at: dict[str, str | int] = {
            "sim.virtual_time": format_instant(simulation.now),
            "sim.seq": simulation.seq,
        }
        name = "INFO" if fine else "WARN"
        self._logger.emit(severity_number=severity, severity_text=name, body=body, attributes=at)

    def close(self) -> None:
        """Send what waits."""
        logging.getLogger().removeHandler(self._handler)
        self._traces.shutdown()
        self._logs.shutdown()
        self._metrics.shutdown(_SEND_S * 1_000)


def _attributes(entry: LoggedCall) -> dict[str, str | int | float]:
    attributes: dict[str, str | int | float] = {
        "sim.operation": entry.operation,
        "sim.plane": entry.plane,
        "sim.status": entry.status,
        "sim.virtual_time": format_instant(entry.at),
        "sim.seq": entry.seq,
        "sim.caller": entry.caller,
    }
    if entry.fault:
        attributes["sim.fault"] = entry.fault
    if entry.why is not None:
        attributes["sim.refusal"] = entry.why.rule
    return attributes


def _labels(entry: LoggedCall) -> dict[str, str | int]:
    return {"sim.plane": entry.plane, "sim.operation": entry.operation, "sim.status": entry.status}
