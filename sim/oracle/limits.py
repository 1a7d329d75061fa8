"""Rate limits: token buckets in fractions, and the sliding minute (§8, rules R1-R5, R16-R23, S15).

A bucket of N calls in a period is full at first and refills steadily. A sliding limit counts the
calls of the sixty seconds of the clock that end with the present one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from sim.kernel.instants import NS_PER_S, Instant
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import Document

MINUTE = 60 * NS_PER_S
_TENTH = NS_PER_S // 10


class Rate(NamedTuple):
    """So many calls in a period (ns). `burst` is what a bucket holds, if that is not `calls`."""

    calls: int
    period: int
    burst: int = 0
    sliding: bool = False


_SECOND, _MINUTE = NS_PER_S, MINUTE
# The limits of a whole plane come first (rule R3).
PLANES = {"exchange": "exchange_rest", "retail": "retail", "gateway": "public"}
HELD: dict[str, tuple[str, Rate]] = {
    "exchange_rest": ("R16", Rate(6000, _MINUTE, sliding=True)),
    "retail": ("R17", Rate(20, _SECOND)),
    "public": ("R18", Rate(20, _SECOND)),
    "stream_frames": ("S15", Rate(6000, _MINUTE, sliding=True)),
    "incentives": ("R19", Rate(5, _SECOND)),
    "incentive_earnings": ("R19", Rate(5, _SECOND)),
    "search_reports": ("R20", Rate(12, _MINUTE)),
    "trade_stats": ("R21", Rate(60, _MINUTE)),
    "list_symbols": ("R22", Rate(6, _MINUTE)),
    "ledger_download": ("R23", Rate(5, _MINUTE)),
}
# Published limits beyond the specification, which hold with `limits.extra` only (rule R1).
EXTRA: dict[str, Rate] = {
    "order_insert": Rate(30, _SECOND),
    "order_replace": Rate(30, _SECOND),
    "order_cancel": Rate(90, _SECOND),
    "order_list": Rate(50, _SECOND),
    "list_instruments": Rate(6, _MINUTE),
    "book": Rate(12, _MINUTE),
    "ledger_query": Rate(30, _MINUTE, 5),
    "ledger_download_pace": Rate(5, _MINUTE, 1),
    "cash_movement": Rate(5, _SECOND),
    "rfq_create": Rate(10, 10 * _SECOND),
    "rfq_user_id": Rate(1, _SECOND),
    "rfq_open": Rate(1, _SECOND),
    "rfq_query": Rate(10, _SECOND),
    "rfq_change": Rate(100, _SECOND),
    "rfq_quote": Rate(400, _SECOND),
    "rfq_stream": Rate(1, _SECOND),
    "combo_create": Rate(1, _SECOND),
    "combo_query": Rate(100, _SECOND),
    "instrument_settlement": Rate(10, _SECOND),
}


@dataclass
class LimitUsage:
    """What a subject has used of a limit: the level of its bucket, or its calls by second."""

    at: Instant = 0
    level: Fraction | None = None  # None: the bucket is full
    calls: dict[int, int] = field(default_factory=dict)
    sliding: bool = False
    doubtful_until: Instant = 0


class NaiveLimits:
    """Every limit of every subject."""

    def __init__(self, exchange: NaiveExchange) -> None:
        self._exchange = exchange
        self._usage: dict[tuple[str, str], LimitUsage] = {}
        access = exchange.beginning.access
        self._replaced = access["limits"]
        self._raised = {
            subject: row["limits"]
            for rows, name in (
                (exchange.beginning.firms, "name"),
                (exchange.beginning.api_keys, "key_id"),
            )
            for row in rows
            if (subject := row[name])
        }
        for key, windows in access["windows"].items():
            for subject, row in windows.items():
                self._usage[key, subject] = LimitUsage(calls=_calls(row), sliding=True)
        for key, buckets in access["full_at"].items():
            for subject, full_at in buckets.items():
                self._usage[key, subject] = self._used(key, subject, full_at)

    def _used(self, key: str, subject: str, full_at: Instant) -> LimitUsage:
        now = self._exchange.now
        rate = self._rate(key.partition(" ")[0], subject)
        if rate is None or rate.sliding:
            return LimitUsage()
        missing = Fraction(max(0, full_at - now) * rate.calls, rate.period)
        return LimitUsage(at=now, level=(rate.burst or rate.calls) - missing)

    def rule(self, name: str) -> str:
        """Return the rule of a limit."""
        return HELD[name][0] if name in HELD else "R2" if "pace" in name else "R1"

    def enforced(self, name: str) -> bool:
        """Return whether a limit holds, and is not only counted (rule R1)."""
        replaced = name in self._replaced
        return name in HELD or replaced or self._exchange.assumed("limits.extra") is True

    def _rate(self, name: str, subject: str) -> Rate | None:
        """Return a limit as it is for a subject; None if it is off."""
        rate = HELD[name][1] if name in HELD else EXTRA[name]
        if name in self._replaced:
            calls, period = self._replaced[name]
            rate = Rate(calls, period)
        elif rate.period == MINUTE and self._exchange.assumed("limits.per_minute") == "sliding":
            rate = Rate(rate.calls, MINUTE, sliding=True)
        if not rate.calls:
            return None
        raised = self._raised.get(subject, {}).get(name)
        return rate._replace(calls=raised, burst=0) if raised else rate

    def wait(self, name: str, method: str, subject: str) -> int | None:
        """Return how long (ns) until a call passes a limit, 0 if it does now (rules R2, R4).

        None if that is unknown, because counting began anew when an assumption changed.
        """
        rate = self._rate(name, subject)
        if rate is None:
            return 0
        usage = self._usage.get((_key(name, method), subject), LimitUsage(sliding=rate.sliding))
        now = self._exchange.now
        if now < usage.doubtful_until or usage.sliding != rate.sliding:
            return None
        if rate.sliding:
            used = [(at, calls) for at, calls in usage.calls.items() if _recent(at, now)]
            if sum(calls for _, calls in used) < rate.calls:
                return 0
            return (min(at for at, _ in used) + 60) * NS_PER_S - now
        missing = 1 - _level(usage, rate, now)
        return 0 if missing <= 0 else ceil(missing * rate.period / rate.calls)

    def take(self, name: str, method: str, subject: str) -> None:
        """Count a call that passed."""
        rate = self._rate(name, subject)
        if rate is None:
            return
        now = self._exchange.now
        key = _key(name, method), subject
        usage = self._usage.setdefault(key, LimitUsage(sliding=rate.sliding))
        if usage.sliding != rate.sliding:
            self._usage[key] = LimitUsage(sliding=rate.sliding, doubtful_until=now + MINUTE)
            return
        if rate.sliding:
            usage.calls = {at: calls for at, calls in usage.calls.items() if _recent(at, now)}
            usage.calls[now // NS_PER_S] = usage.calls.get(now // NS_PER_S, 0) + 1
        else:
            usage.level, usage.at = _level(usage, rate, now) - 1, now

    def doubt(self, name: str, method: str, subject: str) -> None:
        """Note that it is unknown whether a call was counted. A period later it has no effect."""
        rate = self._rate(name, subject)
        if rate is not None:
            usage = self._usage.setdefault((_key(name, method), subject), LimitUsage())
            usage.doubtful_until = max(usage.doubtful_until, self._exchange.now + rate.period)


def _key(name: str, method: str) -> str:
    """Return the name of a counter: endpoint limits count each method (rule R3)."""
    return name if name in (*PLANES.values(), "stream_frames") else f"{name} {method}"


def _recent(second: int, now: Instant) -> bool:
    return second > now // NS_PER_S - 60


def _level(usage: LimitUsage, rate: Rate, now: Instant) -> Fraction:
    full = Fraction(rate.burst or rate.calls)
    if usage.level is None:
        return full
    return min(full, usage.level + Fraction((now - usage.at) * rate.calls, rate.period))


def _calls(row: Document) -> dict[int, int]:
    """Return the calls by second of a window with which a run begins."""
    head, counts = row["head"], row["counts"]
    return {head - age: counts[(head - age) % 60] for age in range(60) if counts[(head - age) % 60]}


def go_duration(wait: int) -> str:
    """Return a duration as the exchange's texts have it: 4.2s, 1m30s, 850ms (rule R5).

    It is rounded up to tenths, so that it stays true.
    """
    wait = -(-wait // _TENTH) * _TENTH
    for unit, name in ((1_000, "ns"), (1_000_000, "µs"), (NS_PER_S, "ms")):
        if wait < unit:
            return f"{_decimal(Fraction(wait * 1_000, unit))}{name}"
    minutes, rest = divmod(wait, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{text}{_decimal(Fraction(rest, NS_PER_S))}s"


def _decimal(value: Fraction) -> str:
    text = f"{value.numerator * 10**9 // value.denominator:010d}"
    return f"{text[:-9]}.{text[-9:]}".rstrip("0").rstrip(".")
