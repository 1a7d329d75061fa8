"""When to call again, and when not (§7.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from msgspec import json, structs

from sim.analysis.conformance.recorded_run import Call, Run
from sim.analysis.conformance.rules import Finding, Rule
from sim.kernel.instants import NS_PER_S, format_span, minutes

_FAILED = (500, 502, 503, 504)
_HOPELESS = (400, 403, 405, 413)
_WAITS_S = (1, 2, 4, 8)
_ATTEMPTS_MAX = 5
_FORGOTTEN = minutes(5)  # a repeat after so long is a new request, not a retry
REPORTS = ("SearchTrades", "SearchOrders", "SearchExecutions")
_NARROWING = ("symbol", "symbols", "order_id", "trade_id", "exec_id", "where_clause", "clord_id")
# Operations that change something, with the field that makes a repeat harmless.
_KEYS = {
    "InsertOrder": "clord_id",
    "CreateCashMovement": "idempotency_key",
    "CreateVendorOrder": "idempotency_key",
    "CreateFundedOrder": "idempotency_key",
}


def _of(call: Call) -> Callable[[Call], bool]:
    return lambda other: other.operation == call.operation


def _retry_after(run: Run) -> Iterator[Finding]:
    for call in run.calls:
        if call.status != 429 or call.retry_after is None:
            continue
        again = run.after(call, _of(call))
        if again is None or again.at >= call.at + call.retry_after:
            yield call.found()
        else:
            waited = format_span(again.at - call.at)
            yield again.found(
                broken=(
                    f"called again after {waited}, Retry-After was {format_span(call.retry_after)}"
                ),
                because_of=call,
            )


def _series(run: Run) -> Iterator[list[Call]]:
    """Runs of the same failing call by the same caller, with the call after the last failure, if
    there was one.
    """
    series: dict[tuple[str, str], list[Call]] = {}
    for call in run.calls:
        key = call.caller, call.said
        mine = series.get(key)
        if mine is not None and call.at - mine[-1].at > _FORGOTTEN:
            yield series.pop(key)
            mine = None
        if mine is not None:
            mine.append(call)
            if call.status not in _FAILED:
                yield series.pop(key)
        elif call.status in _FAILED:
            series[key] = [call]
    yield from series.values()


def _backoff(run: Run) -> Iterator[Finding]:
    for attempts in _series(run):
        if len(attempts) == 1:
            yield attempts[0].found()
        for number, (failed, again) in enumerate(pairwise(attempts)):
            wait = 1 if failed.status == 500 else _WAITS_S[min(number, len(_WAITS_S) - 1)]
            waited = again.at - failed.at
            late = (
                ""
                if waited >= wait * NS_PER_S
                else (
                    f"attempt {number + 2} came after {format_span(waited)}, the schedule says"
                    f" {wait} s"
                )
            )
            yield again.found(broken=late, because_of=failed)


def _attempts(run: Run) -> Iterator[Finding]:
    for attempts in _series(run):
        too_many = (
            f"attempt {len(attempts)} of the same call, at most {_ATTEMPTS_MAX}"
            if len(attempts) > _ATTEMPTS_MAX
            else ""
        )
        yield attempts[-1].found(broken=too_many, because_of=attempts[0])


def _hopeless(run: Run) -> Iterator[Finding]:
    for call in run.calls:
        if call.status not in _HOPELESS:
            continue
        again = run.after(call)
        if again is not None and again.said == call.said and again.credential == call.credential:
            yield again.found(
                broken=f"the same call again, although {call.status} says that it cannot succeed",
                because_of=call,
            )
        else:
            yield call.found()


def _narrow(run: Run) -> Iterator[Finding]:
    for call in run.calls:
        if call.status != 504 or call.rpc not in REPORTS or narrowed(call):
            continue
        again = run.after(call, _of(call))
        if again is None or narrowed(again):
            yield call.found()
        else:
            yield again.found(
                broken="an unfiltered report again after its 504: narrow it instead",
                because_of=call,
            )


def narrowed(call: Call) -> bool:
    """Whether a report query asks for less than everything."""
    return any(getattr(call.request, name, None) for name in _NARROWING)


def _idempotent(run: Run) -> Iterator[Finding]:
    for call in run.calls:
        name = _KEYS.get(call.rpc)
        if name is None or call.status not in _FAILED or call.request is None:
            continue
        wanted, key = _without(call, name), getattr(call.request, name)

        def repeats(other: Call, call: Call = call, name: str = name, wanted: Any = wanted) -> bool:
            return other.operation == call.operation and _without(other, name) == wanted

        again = run.after(call, repeats)
        if again is None:
            yield call.found()
        elif not key:
            yield again.found(
                broken=f"sent again without {name}: if the first one was taken, this is another",
                because_of=call,
            )
        elif getattr(again.request, name) != key:
            yield again.found(
                broken=(
                    f"sent again under another {name}: if the first one was taken, this is another"
                ),
                because_of=call,
            )
        else:
            yield again.found(because_of=call)


def _without(call: Call, name: str) -> bytes:
    if call.request is None:
        return b""
    empty = getattr(type(call.request)(), name)
    return (
        json.encode(structs.replace(call.request, **{name: empty}))
        + (call.given.participant or "").encode()
    )


RETRY_AFTER = Rule(
    "retry-after",
    "7.1",
    "After a 429, wait Retry-After before calling the same operation again.",
    _retry_after,
)
BACKOFF = Rule(
    "backoff",
    "7.1",
    "Repeat a call that failed with 5xx after 1, 2, 4, 8 seconds (1 after 500).",
    _backoff,
)
ATTEMPTS = Rule(
    "at-most-five-attempts", "7.1", "Give a failing call up after five attempts.", _attempts
)
HOPELESS = Rule(
    "no-hopeless-retry",
    "7.1",
    "Do not repeat a call that was answered 400, 403, 405 or 413.",
    _hopeless,
)
NARROW = Rule(
    "narrow-reports",
    "7.1",
    "After the 504 of an unfiltered report query, narrow it instead of repeating it.",
    _narrow,
)
IDEMPOTENT = Rule(
    "idempotent-retry",
    "7.1",
    "Repeat an order or transfer that may have been taken under the same client order id or key.",
    _idempotent,
)
