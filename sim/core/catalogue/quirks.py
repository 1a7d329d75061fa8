"""Catalogue of documented oddities: on by default with their documented odds, each switchable
(design D6).

Each quirk draws from its own entropy stream, so switching one never shifts another. `sim catalogue
quirks` prints this file.
"""

from __future__ import annotations

import re

from msgspec import Struct

from sim.core.catalogue.assumptions import unknown_name
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


class Quirk(Struct, frozen=True, kw_only=True):
    """A documented oddity: the section that documents it, what it does, and how often by default."""

    name: str
    spec: str
    summary: str
    default: Chance


UNFILTERED_SEARCH_TIMES_OUT = Quirk(
    name="unfiltered_search_times_out",
    spec="4.3",
    summary="A trade search without a symbol filter usually dies at the 30 s edge with 504",
    default=Chance(2, 3),
)
UNFILTERED_REPORTS_TIME_OUT = Quirk(
    name="unfiltered_reports_time_out",
    spec="7.1",
    summary=(
        "A search of orders or executions that is not narrowed dies at the 30 s edge with 504, as"
        " those of trades do; the odds are not stated"
    ),
    default=NEVER,
)
SESSION_REVOCATION = Quirk(
    name="session_revocation",
    spec="6.2",
    summary=(
        "A second account-scoped subscription of the same identity takes the session: the first"
        " ends with 13 INTERNAL"
    ),
    default=ALWAYS,
)
EMPTY_PARTICIPANT_WINDOW = Quirk(
    name="empty_participant_window",
    spec="3.5",
    summary="An approved start answers with an empty participantId for 500 ms to 26 minutes",
    default=ALWAYS,
)
CLEARED_FIELDS_LAG = Quirk(
    name="cleared_fields_lag",
    spec="2.4",
    summary="cleared_* statistics read zero until the trade is CLEARED",
    default=ALWAYS,
)
CAMEL_CASE_QUERY_IGNORED = Quirk(
    name="camel_case_query_ignored",
    spec="0",
    summary="On the retail API a camelCase query parameter is silently ignored",
    default=ALWAYS,
)
STREAM_DUPLICATES = Quirk(
    name="stream_duplicates",
    spec="6.2",
    summary="Delivery is at least once: a stream message is sent twice, so consumers dedupe",
    default=NEVER,
)
WEBHOOK_DUPLICATES = Quirk(
    name="webhook_duplicates",
    spec="6.1",
    summary="Delivery is at least once: an event is delivered twice under the same event_id",
    default=NEVER,
)

INSTRUMENT_COLUMNS_FAIL = Quirk(
    name="instrument_columns_fail",
    spec="4.3",
    summary=(
        "ListInstruments: where_clause on instrument_product, outcome_type or event_subcategory"
        " answers 500; on event_id it finds nothing"
    ),
    default=ALWAYS,
)


def catalogue() -> dict[str, Quirk]:
    """Every quirk by name, in the order of this file."""
    return {value.name: value for value in globals().values() if isinstance(value, Quirk)}


_FRACTION = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)
_DECIMAL = re.compile(r"0?\.(\d{1,9})", re.ASCII)


def parse_chance(given: object) -> Chance:
    """Chance from "always", "never", true, false, "2/3" or "0.25"; ValueError otherwise."""
    if given is True or given in ("always", "true", "on", "1"):
        return ALWAYS
    if given is False or given in ("never", "false", "off", "0"):
        return NEVER
    if isinstance(given, str):
        fraction = _FRACTION.fullmatch(given)
        if fraction and 0 <= int(fraction[1]) <= int(fraction[2]) and int(fraction[2]):
            return Chance(int(fraction[1]), int(fraction[2]))
        decimal = _DECIMAL.fullmatch(given)
        if decimal:
            return Chance(int(decimal[1]), 10 ** len(decimal[1]))
    raise ValueError(
        'a chance is "always", "never", a fraction such as "2/3" or a decimal below 1, not'
        f" {given!r}"
    )


class Quirks:
    """The odds in force."""

    __slots__ = ("_catalogue", "_entropy", "_odds")

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._catalogue = catalogue()
        self._odds = {name: quirk.default for name, quirk in self._catalogue.items()}

    def possible(self, quirk: Quirk) -> bool:
        """Whether the quirk can show at all."""
        return self._odds[quirk.name].numerator > 0

    def strikes(self, quirk: Quirk) -> bool:
        """Whether the quirk shows this time. Certain outcomes draw nothing."""
        odds = self._odds[quirk.name]
        if odds.numerator == 0 or odds.numerator == odds.denominator:
            return odds.numerator > 0
        return self._entropy.stream(f"quirk.{quirk.name}").chance(odds.numerator, odds.denominator)

    def change(self, name: str, given: object) -> Quirk:
        """Set the odds of a quirk by name. KeyError names the nearest; ValueError says what is
        accepted.
        """
        quirk = self._catalogue.get(name)
        if quirk is None:
            raise KeyError(unknown_name("quirk", name, self._catalogue))
        self._odds[name] = parse_chance(given)
        return quirk

    def shown(self, name: str) -> str:
        """Odds in force, as people write them."""
        return str(self._odds[name])

    def save(self) -> dict[str, tuple[int, int]]:
        """Odds by name."""
        return {name: (odds.numerator, odds.denominator) for name, odds in self._odds.items()}

    def load(self, state: dict[str, tuple[int, int]]) -> None:
        """Take saved odds."""
        self._odds = {name: Chance(*odds) for name, odds in state.items()}
