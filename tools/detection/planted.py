"""The forty planted bugs: the effect of each, and whether it was chosen without knowledge of the
tools.

A bug whose `blind` is true was listed by an author who did not know what the tools check. Those of
the exchange were also implemented without that knowledge. The authors of the others knew the tools.
"""

from dataclasses import dataclass

from tools.detection.exchange_bugs import EFFECTS


@dataclass(frozen=True, slots=True)
class Planted:
    """One bug: `side` is the side that has it, `says` describes it in one sentence."""

    name: str
    side: str
    blind: bool
    effect: str


def _blind(side: str, **bugs: str) -> tuple[Planted, ...]:
    return tuple(Planted(name, side, True, text) for name, text in bugs.items())


EXCHANGE = _blind("exchange", **EFFECTS)

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
    Planted(name, "client", False, text)
    for name, text in {
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
