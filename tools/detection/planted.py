"""The forty planted bugs: the effect of each, and whether it was chosen without knowledge of the
tools.

A bug whose `blind` is true was listed by an author who did not know what the tools check. Those of
the exchange were also implemented without that knowledge. The authors of the others knew the tools.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Planted:
    """One bug: `side` is the side that has it, `says` describes it in one sentence."""

    name: str
    side: str
    blind: bool
    says: str


def _blind(side: str, **bugs: str) -> tuple[Planted, ...]:
    return tuple(Planted(name, side, True, says) for name, says in bugs.items())


EXCHANGE = _blind(
    "exchange",
    lost_cancel="a cancel is acknowledged, and every third order stays open as it was",
    fee_rounded_down="a fee is rounded toward zero instead of to the nearest",
    resume_off_by_one="a resumed stream begins one report too late",
    reservation_kept="a cancelled order keeps the money reserved for it",
    timer_after_its_instant="a timer fires only when the clock has passed its instant",
    fill_after_cancel="a cancelled order stays in its book and trades",
    time_priority_inverted="at one price level the youngest order trades first",
    report_with_other_content="a report goes out twice under one id, with another quantity",
    book_update_dropped="every fourth change of a book is not sent to subscribers",
    position_sign="a sale that goes below zero is booked as a purchase",
    settled_twice="a market pays its holders twice",
    limit_counts_refused="a call that the rate limit refuses uses up the limit as well",
    session_revoked_late="an access token is accepted for five minutes after it has expired",
    maintenance_in_standard_time="a maintenance window ignores daylight saving time",
    cursor_skips_a_row="the second page of a list begins one row too late",
    stale_balance="the retail account shows the balance before the last trade",
    verification_decided_twice="the decision on a verification is taken and sent twice",
    removal_a_day_late="an operation that is removed on a date is still served on that day",
    duplicate_order_id="a client's order identifier can be used again for a second order",
    average_price_of_last="the average price forgets the quantities: a plain mean of two prices",
)

CLIENT = _blind(
    "client",
    retry_without_key="sends an order without an identifier of its own, and again after an error",
    stale_book="prices from the book it read at its start",
    missed_gap="reopens a dropped stream without its resume token",
    double_cancel="cancels an order again that it knows is cancelled",
    clock_trusted="relies on the clock of its machine, which is slow",
    token_after_expiry="keeps using an access token after it has expired",
    backoff_ignored="repeats a call at once after a 429",
    cursor_dropped="reads the first page of a list and takes it for the whole",
    partial_taken_for_full="takes the first partial fill for the whole order",
    decimals_as_floats="adds decimals as binary floating point and compares for equality",
)

# Added later with knowledge of the profile: switches that the reference client had.
KNOWN = tuple(
    Planted(name, "client", False, says)
    for name, says in {
        "repeats_the_hopeless": "sends a malformed request again",
        "assertion_twice": "requests a token with an assertion that it has used before",
        "trades_a_halted_market": "keeps sending orders to a halted market",
        "trades_after_expiry": "sends orders after a market has expired",
        "assumes_a_tick": "never reads the tick size of an instrument",
        "fights_for_its_session": "takes its session back at once, again and again",
        "forgets_keepalives": "sends no keepalives on a bidirectional stream",
        "never_gives_up": "tries a call more than five times",
        "verifies_again": "starts a verification again to learn its state",
        "refuses_a_duplicate": "answers 500 to a duplicate of a webhook event",
    }.items()
)

PLANTED = EXCHANGE + CLIENT + KNOWN

# Why no tool finds them.
MISSED = {
    "double_cancel": "the second cancel is refused with 409 and has no effect; no rule forbids it"
}
