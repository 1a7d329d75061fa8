"""Rules about requests for quotes (§4.2; the published guide to combos)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.read.conformance.finding import Finding
from sim.read.conformance.recorded_run import ClientActivity
from sim.read.conformance.rules import rule


@rule(
    "quotes-by-the-requester",
    "4.2",
    "Name the prices of a quote from the requester's side: it buys at buyPrice and you sell, so "
    "buyPrice is not below sellPrice.",
    applies_to="a quote on a request",
)
def quotes_by_the_requester(run: ClientActivity) -> Iterator[Finding]:
    inverted = "buyPrice is below sellPrice: the two prices are swapped"
    for call in run.calls:
        if call.rpc == "CreateQuote" and (call.status == 200 or call.rule == "M46"):
            yield call.finding(broken=inverted if call.status != 200 else "")


@rule(
    "confirm-in-time",
    "4.2",
    "Confirm an accepted quote once, before its confirmationDeadline.",
    applies_to="the confirmation of a quote",
)
def confirm_in_time(run: ClientActivity) -> Iterator[Finding]:
    late = "the quote was no longer accepted: confirm once, before confirmationDeadline"
    for call in run.calls:
        if call.rpc == "ConfirmQuote":
            yield call.finding(broken=late if call.status == 409 else "")
