"""Rules about repeating calls (§7.1).

A client that never calls again shows nothing about its retries, so the rule did not apply to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from sim.kernel.instants import NS_PER_S, format_span, minutes
from sim.read.conformance.recorded_run import Call, ClientActivity, Finding
from sim.read.conformance.rules import rule

_FAILED = (500, 502, 503, 504)
_HOPELESS = (400, 403, 405, 413)
_WAITS_S = (1, 2, 4, 8)
_ATTEMPTS_MAX = 5
_RETRY_WITHIN = minutes(5)  # a repeat after a longer time is a new request, not a retry
REPORTS = ("SearchTrades", "SearchOrders", "SearchExecutions")
_NARROWING = ("symbol", "symbols", "order_id", "trade_id", "exec_id", "where_clause", "clord_id")


def _followed(
    run: ClientActivity, applies: Callable[[Call], object]
) -> Iterator[tuple[Call, Call]]:
    """Yield calls to which a rule applies, with the same caller's next call of the operation."""
    for call in filter(applies, run.calls):
        if (again := run.next_call(call, _same_operation(call))) is not None:
            yield call, again


def _same_operation(call: Call) -> Callable[[Call], bool]:
    return lambda other: other.operation == call.operation


@rule("7.1", applies_to="the next call of an operation that was answered 429 with Retry-After")
def retry_after(run: ClientActivity) -> Iterator[Finding]:
    """After a 429, wait Retry-After before calling the same operation again."""
    for call, again in _followed(run, lambda call: call.status == 429 and call.retry_after):
        if (
            again.at == call.at and not run.clock_moves
        ):  # the clock stands still: the client may have waited in real time
            continue
        if again.at >= call.at + call.retry_after:
            yield call.finding()
        else:
            waited, wait = format_span(again.at - call.at), format_span(call.retry_after)
            early = f"called again after {waited}, Retry-After was {wait}"
            yield again.finding(broken=early, because_of=call)


def _series(run: ClientActivity) -> Iterator[list[Call]]:
    """Yield repeats of the same failing call by the same caller, up to the first that succeeded."""
    series: dict[tuple[str, str], list[Call]] = {}
    for call in run.calls:
        key = call.caller, call.fingerprint
        attempts = series.get(key)
        if attempts is not None and call.at - attempts[-1].at > _RETRY_WITHIN:
            yield series.pop(key)
            attempts = None
        if attempts is not None:
            attempts.append(call)
            if call.status not in _FAILED:
                yield series.pop(key)
        elif call.status in _FAILED:
            series[key] = [call]
    yield from series.values()


@rule("7.1", applies_to="a call that is repeated after it was answered 5xx")
def backoff(run: ClientActivity) -> Iterator[Finding]:
    """Repeat a call that failed with 5xx after 1, 2, 4, 8 seconds (1 after 500)."""
    for attempts in _series(run):
        for number, (failed, again) in enumerate(pairwise(attempts)):
            wait = 1 if failed.status == 500 else _WAITS_S[min(number, len(_WAITS_S) - 1)]
            waited = again.at - failed.at
            early = (
                f"attempt {number + 2} came after {format_span(waited)}, the schedule says {wait} s"
            )
            broken = early if waited < wait * NS_PER_S else ""
            yield again.finding(broken=broken, because_of=failed)


@rule("7.1", applies_to="a call that was answered 5xx")
def at_most_five_attempts(run: ClientActivity) -> Iterator[Finding]:
    """Give up a failing call after five attempts."""
    for attempts in _series(run):
        count = len(attempts)
        too_many = f"attempt {count} of the same call, at most {_ATTEMPTS_MAX}"
        broken = too_many if count > _ATTEMPTS_MAX else ""
        yield attempts[-1].finding(broken=broken, because_of=attempts[0])


@rule("7.1", applies_to="a call that was answered 400, 403, 405 or 413")
def no_hopeless_retry(run: ClientActivity) -> Iterator[Finding]:
    """Do not repeat a call that was answered 400, 403, 405 or 413."""
    for call in run.calls:
        if call.status not in _HOPELESS:
            continue
        again = run.next_call(call)
        if (
            again is not None
            and again.fingerprint == call.fingerprint
            and again.credential == call.credential
        ):
            broken = f"the same call again, although {call.status} says that it cannot succeed"
            yield again.finding(broken=broken, because_of=call)
        else:
            yield call.finding()


@rule("7.1", applies_to="the next report query after the 504 of an unfiltered one")
def narrow_reports(run: ClientActivity) -> Iterator[Finding]:
    """After the 504 of an unfiltered report query, narrow it instead of repeating it."""
    for call, again in _followed(run, _timed_out_unfiltered):
        if is_narrowed(again):
            yield call.finding()
        else:
            broken = "an unfiltered report again after its 504: narrow it instead"
            yield again.finding(broken=broken, because_of=call)


def _timed_out_unfiltered(call: Call) -> bool:
    return call.status == 504 and call.rpc in REPORTS and not is_narrowed(call)


def is_narrowed(call: Call) -> bool:
    """Return whether a report query is restricted in any way."""
    return any(getattr(call.request, name, None) for name in _NARROWING)
