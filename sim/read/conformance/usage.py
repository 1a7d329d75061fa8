"""Rules about rates, spelling and ignored fields (§0, §4.3, §8, §9)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from urllib.parse import parse_qsl

from sim.api.pipeline.inputs import RestCall
from sim.contract.contract import UnknownOperation, load_contract
from sim.core.service.rate_limits import LIMITS
from sim.kernel.instants import minutes
from sim.read.conformance.recorded_run import Call, ClientActivity, Finding
from sim.read.conformance.retries import REPORTS, is_narrowed
from sim.read.conformance.rules import rule

_REFUSALS_MAX, _PERIOD = 3, minutes(1)


@rule("8", applies_to="a call that was answered 429")
def within_limits(run: ClientActivity) -> Iterator[Finding]:
    """Stay within the rate limits: three 429 answers for one operation in a minute are too many."""
    refused: dict[tuple[str, str], list[Call]] = {}
    for call in run.calls:
        if call.status != 429:
            continue
        mine = refused.setdefault((call.caller, call.operation), [])
        mine.append(call)
        # Answers at one virtual instant count once where the clock may stand still.
        instants = [other.at for other in mine if call.at - other.at <= _PERIOD]
        recent = len(instants if run.clock_moves else set(instants))
        often = f"over the limit for the {recent}th time within a minute: slow down"
        yield call.finding(broken=often if recent >= _REFUSALS_MAX else "", because_of=mine[0])


@rule("0", applies_to="a call of the retail API with a query")
def snake_case_queries(run: ClientActivity) -> Iterator[Finding]:
    """Write query parameters of the retail API in snake_case."""
    for call in run.calls:
        if isinstance(call.input, RestCall) and call.input.plane == "retail" and call.input.query:
            names = [name for name, _ in parse_qsl(call.input.query, keep_blank_values=True)]
            wrong = ", ".join(name for name in names if name != name.lower())
            ignored = f"{wrong}: camelCase parameters are ignored, write snake_case"
            yield call.finding(broken=ignored if wrong else "")


@rule("9", applies_to="a REST call that succeeded", advice=True)
def known_fields(run: ClientActivity) -> Iterator[Finding]:
    """Send only fields that the contract has; others are ignored."""
    for call in run.calls:
        if call.operation and call.status < 400 and isinstance(call.input, RestCall):
            yield call.finding(broken=f"ignored: {', '.join(call.ignored)}" if call.ignored else "")


@rule("4.3", applies_to="a report query", advice=True)
def filtered_reports(run: ClientActivity) -> Iterator[Finding]:
    """Filter report searches by symbol."""
    unfiltered = "without a filter by symbol most such searches time out at the edge after 30 s"
    for call in run.calls:
        if call.rpc in REPORTS and call.request is not None:
            yield call.finding(broken="" if is_narrowed(call) else unfiltered)


@rule("8", applies_to="a call of an operation whose published limit is only counted", advice=True)
def published_limits(run: ClientActivity) -> Iterator[Finding]:
    """Stay within the published limits that are counted here and enforced elsewhere."""
    for call in run.calls:
        limits = ", ".join(call.over)
        over = f"over the published limit {limits}: `limits.extra` would refuse it with 429"
        if call.over or (call.operation and _published(call.operation)):
            yield call.finding(broken=over if call.over else "")


@cache
def _published(operation: str) -> bool:
    """Return whether an operation has a published limit that the specification does not list."""
    try:
        names = load_contract().by_name(operation).limits
    except UnknownOperation:
        return False
    return any(LIMITS[name].extra for name in names)


# ---- requests for quotes (§4.2; the published guide to combos)


@rule("4.2", applies_to="a quote on a request")
def quotes_by_the_requester(run: ClientActivity) -> Iterator[Finding]:
    """Name the prices of a quote from the requester's side: it buys at buyPrice and you sell, so
    buyPrice is not below sellPrice.
    """
    inverted = "buyPrice is below sellPrice: the two prices are swapped"
    for call in run.calls:
        if call.rpc == "CreateQuote" and (call.status == 200 or call.rule == "M46"):
            yield call.finding(broken=inverted if call.status != 200 else "")


@rule("4.2", applies_to="the confirmation of a quote")
def confirm_in_time(run: ClientActivity) -> Iterator[Finding]:
    """Confirm an accepted quote once, before its confirmationDeadline."""
    late = "the quote was no longer accepted: confirm once, before confirmationDeadline"
    for call in run.calls:
        if call.rpc == "ConfirmQuote":
            yield call.finding(broken=late if call.status == 409 else "")
