"""Metrics of a running exchange, named by the conventions of Prometheus (`_total` for counters,
base units). They describe the present branch: a rewind decreases counters, which Prometheus treats
as a restart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from sim.core.model.quantities import CASH_SCALE
from sim.run.engine.engine import Engine


class MetricFamily(Struct):
    """A metric with its samples: (labels, value)."""

    name: str
    kind: str  # counter, gauge
    about: str
    samples: list[tuple[dict[str, str], float]] = field(default_factory=list)


def metrics(engine: Engine) -> Iterator[MetricFamily]:
    """Every metric that follows from the run."""
    exchange = engine.exchange
    trading, faults = exchange.trading, exchange.faults
    for name, kind, about, value in (
        ("sim_inputs_total", "counter", "inputs of the present branch", engine.journal.seq),
        ("sim_now_seconds", "gauge", "virtual time in unix seconds", engine.now // 1_000_000_000),
        (
            "sim_instruments",
            "gauge",
            "instruments, including dormant ones",
            len(exchange.instruments),
        ),
        ("sim_open_orders", "gauge", "open orders", len(trading.orders.open())),
        ("sim_trades_total", "counter", "trades", len(trading.trades)),
        ("sim_timers", "gauge", "pending timers", len(exchange.ctx.timers)),
        ("sim_cash_total", "gauge", "sum of the ledger in dollars, which must be 0", _cash(engine)),
    ):
        yield MetricFamily(name, kind, about, [({}, value)])
    streams = engine.hub.describe()
    yield MetricFamily("sim_streams", "gauge", "open streams", [({}, len(streams))])
    by_rpc = Counter(str(stream["rpc"]) for stream in streams)
    rows: list[tuple[dict[str, str], float]] = [
        ({"rpc": rpc}, count) for rpc, count in sorted(by_rpc.items())
    ]
    yield MetricFamily("sim_streams_open", "gauge", "open streams by method", rows)
    injections = MetricFamily(
        "sim_fault_affected_total",
        "counter",
        "calls, frames, deliveries and orders that an injected fault affected",
    )
    for fault in (*faults.over(), *faults.all()):
        injections.samples.append(({"fault": fault.id}, fault.affected))
    yield injections
    yield MetricFamily("sim_faults", "gauge", "injected faults in force", [({}, len(faults.all()))])
    calls = MetricFamily(
        "sim_requests_total", "counter", "calls by plane, operation and HTTP status"
    )
    for (plane, operation, status), count in engine.log.counts().items():
        labels = {"plane": plane, "operation": operation, "status": str(status)}
        calls.samples.append((labels, count))
    yield calls


def _cash(engine: Engine) -> float:
    return engine.exchange.trading.ledger.total() / CASH_SCALE
