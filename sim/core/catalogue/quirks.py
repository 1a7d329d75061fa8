"""The catalogue of quirks: documented oddities of the service, each with its documented odds and a
switch.

`sim catalogue quirks` prints it. Each quirk draws from its own random stream, so changing the odds
of one never changes another.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from sim.core.catalogue.assumption_values import unknown_name
from sim.kernel.entropy import Entropy


class Chance(Struct, frozen=True):
    """A probability as a fraction."""

    numerator: int
    denominator: int

    def __str__(self) -> str:
        if self.numerator == 0:
            return "never"
        if self.numerator == self.denominator:
            return "always"
        return f"{self.numerator}/{self.denominator}"


ALWAYS = Chance(1, 1)
NEVER = Chance(0, 1)


class Quirk(Struct, frozen=True):
    """A documented oddity: its name, section, rule, default odds and effect."""

    name: str
    spec: str
    rule: str
    default: Chance
    summary: str = ""

    def described(self, summary: str) -> Quirk:
        """Return the same quirk with its summary."""
        return replace(self, summary=summary)


UNFILTERED_SEARCH_TIMES_OUT = Quirk(
    "unfiltered_search_times_out", "4.3", "R6", Chance(2, 3)
).described("A trade search without a symbol filter usually ends at the 30 s edge with 504.")
UNFILTERED_REPORTS_TIME_OUT = Quirk("unfiltered_reports_time_out", "7.1", "R6", NEVER).described(
    "A search of orders or executions without a filter ends at the 30 s edge with 504, as trade "
    "searches do. No document states the odds."
)
SESSION_REVOCATION = Quirk("session_revocation", "6.2", "S6", ALWAYS).described(
    "A second account-scoped subscription of the same identity takes the session: the first one "
    "ends with 13 INTERNAL."
)
EMPTY_PARTICIPANT_WINDOW = Quirk("empty_participant_window", "3.5", "K3", ALWAYS).described(
    "For 500 ms to 26 minutes, an approved start answers with an empty participantId."
)
CLEARED_FIELDS_LAG = Quirk("cleared_fields_lag", "2.4", "R11", ALWAYS).described(
    "cleared_* statistics are zero until the trade is CLEARED."
)
CAMEL_CASE_QUERY_IGNORED = Quirk("camel_case_query_ignored", "0", "R15", ALWAYS).described(
    "The retail API ignores camelCase query parameters without an error."
)
STREAM_DUPLICATES = Quirk("stream_duplicates", "6.2", "S1", NEVER).described(
    "A stream message is sent twice. Delivery is at least once, so consumers must drop duplicates."
)
WEBHOOK_DUPLICATES = Quirk("webhook_duplicates", "6.1", "K13", NEVER).described(
    "An event is delivered twice under the same event_id. Delivery is at least once."
)
WEBHOOK_BODY_SPACING = Quirk("webhook.body_spacing", "6.1", "S6.1-6", NEVER).described(
    "The body of a webhook has spaces that no JSON library writes by default. A receiver that "
    "parses it and writes it again gets other bytes, and another signature."
)
CONNECTION_REFUSED = Quirk("connection_looks_like_vpn", "7.1", "S7.1-3", NEVER).described(
    "A new retail order is refused with 403, code 7, Your connection looks like a VPN. Reads and "
    "cancels go on. One client met it from a data centre."
)
RETRY_AFTER_MISSING = Quirk("retry_after_missing", "7.1", "S7.1-8", NEVER).described(
    "A 429 has no Retry-After, as a client reports of the edge."
)
SHORT_CLOSE_PNL = Quirk("short_close_pnl", "2.8", "P9", NEVER).described(
    "realizedPnl of a trade that closes a short position is quantity x YES price less commission "
    "and costBasis, which is wrong. Six published rows show it."
)
INSTRUMENT_COLUMNS_FAIL = Quirk("instrument_columns_fail", "4.3", "S4.3-13", ALWAYS).described(
    "ListInstruments answers 500 to a where_clause on instrument_product, outcome_type or "
    "event_subcategory, and finds nothing for one on event_id."
)


def catalogue() -> dict[str, Quirk]:
    """Return every quirk by name, in the order of this file."""
    return {value.name: value for value in globals().values() if isinstance(value, Quirk)}


_FRACTION = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)
_DECIMAL = re.compile(r"0?\.(\d{1,9})", re.ASCII)


def parse_chance(value: object) -> Chance:
    """Return the chance for "always", "never", true, false, "2/3", "0.25", or a JSON number.

    Raises ValueError for anything else.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:g}"
    if value is True or value in ("always", "true", "on", "1"):
        return ALWAYS
    if value is False or value in ("never", "false", "off", "0"):
        return NEVER
    if isinstance(value, str):
        fraction = _FRACTION.fullmatch(value)
        if fraction and 0 <= int(fraction[1]) <= int(fraction[2]) and int(fraction[2]):
            return Chance(int(fraction[1]), int(fraction[2]))
        decimal = _DECIMAL.fullmatch(value)
        if decimal:
            return Chance(int(decimal[1]), 10 ** len(decimal[1]))
    raise ValueError(
        'a probability is "always", "never", a fraction such as "2/3" or a decimal below 1, not'
        f" {value!r}"
    )


class Quirks:
    """The current odds. `on_applied` is called whenever a quirk occurs."""

    __slots__ = ("_catalogue", "_decide", "_entropy", "_odds", "_on_applied")

    def __init__(self, entropy: Entropy, on_applied: Callable[[Quirk], None]) -> None:
        self._entropy = entropy
        self._on_applied = on_applied
        self._catalogue = catalogue()
        self._odds = {name: quirk.default for name, quirk in self._catalogue.items()}
        self._decide: Callable[[str], bool] | None = None

    def possible(self, quirk: Quirk) -> bool:
        """Return whether the quirk can occur at all."""
        return self._decide is not None or self._odds[quirk.name].numerator > 0

    def applies(self, quirk: Quirk) -> bool:
        """Decide whether the quirk occurs this time. Certain outcomes draw no random number."""
        occurs = self._occurs(quirk.name) if self._decide is None else self._decide(quirk.name)
        if occurs:
            self._on_applied(quirk)
        return occurs

    def _occurs(self, name: str) -> bool:
        odds = self._odds[name]
        if odds.numerator in (0, odds.denominator):
            return odds.numerator > 0
        return self._entropy.stream(f"quirk.{name}").chance(odds.numerator, odds.denominator)

    def decided_by(self, decide: Callable[[str], bool]) -> None:
        """Use a function of the quirk's name in place of chance, for replays of known events."""
        self._decide = decide

    def change(self, name: str, value: object) -> Quirk:
        """Set the odds of a quirk by name. Raises KeyError with the nearest name, or ValueError."""
        quirk = self._catalogue.get(name)
        if quirk is None:
            raise KeyError(unknown_name("quirk", name, self._catalogue))
        self._odds[name] = parse_chance(value)
        return quirk

    def as_written(self, name: str) -> str:
        """Return the current odds, as people write them."""
        return str(self._odds[name])

    def save(self) -> dict[str, tuple[int, int]]:
        """Return the odds by name."""
        return {name: (odds.numerator, odds.denominator) for name, odds in self._odds.items()}

    def load(self, state: dict[str, tuple[int, int]]) -> None:
        """Restore saved odds."""
        self._odds = {name: Chance(*odds) for name, odds in state.items()}
