"""Assumptions about the lifecycle of instruments, their settlement and the games they are about."""

from sim.core.catalogue.assumption import choice, flag, span

COLLAPSE_TO_EXPIRED = flag("lifecycle.collapse_to_expired", True, source="rule L9").because(
    "An instrument that is not CLOSED at its expiration passes through CLOSED at the same instant, "
    "so the transitions that a client sees stay legal. `false` goes to EXPIRED directly."
)
DAY_ROLL_EXPIRES = choice(
    "day_roll.expire_day_orders", "auto", "always", "never", source="rule L12"
).because(
    "DAY orders expire at the 17:00 Eastern roll before 2026-09-13, and at the close only from "
    "then on (`auto`)."
)
SETTLEMENT_DELAY = span("settlement.delay_after_close", "1m", source="rule L25").because(
    "A known outcome becomes the settlement price this long after the close."
)
SETTLEMENT_PRELIMINARY = span("settlement.preliminary_for", "0s", source="rule L25").because(
    "A settlement price stays preliminary for this long before it pays."
)
SETTLEMENT_AUTO_EXPIRE = flag("settlement.auto_expire", False, source="rule L25").because(
    "After its final settlement an instrument stays CLOSED until its expiration. `true` expires it "
    "at once."
)
UNRESOLVED_SETTLES_AT = choice(
    "settlement.unresolved_at_termination", "last_price", "zero", source="§3.1, rule L26"
).because(
    "Termination closes positions (§3.1). Where no outcome is known, they are paid at the last "
    "traded price, which is the last fair one, or at `zero`."
)
GAMES_ARE_PLAYED = flag(
    "games.played",
    True,
    source="our choice: §2.11 names live, ended, score and period, but not what changes them",
).because(
    "Games of the default world go live at their start, are scored by the clock up to a planned "
    "result, and close their markets when they end. `false` shows nothing until their markets have "
    "expired, and settles them when they terminate."
)
WINDOW_TIE = choice(
    "windows.tie", "up", "down", "half", source="rule L7; §2.10 does not say"
).because(
    "A recurring crypto market whose index ends exactly where it began pays Up. `half` pays both "
    "sides 0.50, as for no result."
)
