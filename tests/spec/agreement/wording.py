"""Ways of saying a fact: each function makes a reader of rows, whose answer equals that of every
other reader of the same fact.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

SILENT = object()


class Scales(NamedTuple):
    """Units of an instrument: prices and contracts of the exchange are integers."""

    price: int
    qty: int


Read: TypeAlias = Callable[[dict[str, Any], Scales], Any]

# ---- ways of saying it


def value(name: str) -> Read:
    """Return the value unchanged."""
    return lambda row, scales: row.get(name)


def at(path: str, then: Read) -> Read:
    """A fact inside of a part; nothing where the part is null."""

    def read(row: dict[str, Any], scales: Scales) -> Any:
        for name in path.split("."):
            row = row.get(name) or {}
        return then(row, scales)

    return read


def word(name: str, prefix: str) -> Read:
    """A name of an enumeration without its prefix."""
    return lambda row, scales: str(row[name]).removeprefix(prefix)


def ticks(name: str, *, zero_is_none: bool = False) -> Read:
    """A price of the exchange, as dollars."""

    def read(row: dict[str, Any], scales: Scales) -> Any:
        result = row.get(name)
        if result is None or (zero_is_none and not int(result)):
            return None
        return Decimal(result) / scales.price

    return read


def lots(name: str) -> Read:
    """A quantity of the exchange, as contracts; none are 0."""
    return lambda row, scales: Decimal(row.get(name) or 0) / scales.qty


def notional(name: str) -> Read:
    """Price times quantity of the exchange, as dollars."""
    return lambda row, scales: Decimal(row.get(name) or 0) / scales.price / scales.qty


def dollars(name: str) -> Read:
    """Dollars: an amount with its currency, a number or text; None where there are none."""

    def read(row: dict[str, Any], scales: Scales) -> Any:
        value = row.get(name)
        if isinstance(value, dict):
            assert value["currency"] == "USD"
            value = value["value"]
        return None if value in (None, "") else Decimal(str(value))

    return read


def money(name: str) -> Read:
    """Dollars; 0 where there are none."""
    return lambda row, scales: dollars(name)(row, scales) or Decimal(0)


def contracts(name: str) -> Read:
    """Contracts; an empty text is 0."""
    return lambda row, scales: Decimal(str(row.get(name) or 0))


def contracts_of(name: str) -> Read:
    """Contracts inside an amount."""
    return lambda row, scales: Decimal(row[name]["value"])


def levels(name: str, read: Callable[[dict[str, Any], Scales], tuple[Any, Any]]) -> Read:
    """Levels of a side of a book."""
    return lambda row, scales: [read(level, scales) for level in row[name]]


def best(name: str, read: Callable[[dict[str, Any], Scales], tuple[Any, Any]]) -> Read:
    """The price of the first level."""
    return lambda row, scales: read(row[name][0], scales)[0] if row[name] else None


def exchange_level(level: dict[str, Any], scales: Scales) -> tuple[Any, Any]:
    return ticks("px")(level, scales), lots("qty")(level, scales)


def dollar_level(level: dict[str, Any], scales: Scales) -> tuple[Any, Any]:
    return dollars("px")(level, scales), contracts("qty")(level, scales)


def while_settled(read: Read, preliminary: str = "", when: str = "settlementSetTime") -> Read:
    """A settlement; the mark of an open market, which has no instant, is none."""
    return lambda row, scales: read(row, scales) if row.get(when) else None


def eastern_expiry(row: dict[str, Any], scales: Scales) -> Any:
    """Return an instant from the exchange's date and time of day, both Eastern."""
    day, time = row["expirationDate"], row["expirationTime"]
    parts = (day["year"], day["month"], day["day"])
    clock = (time["hours"], time["minutes"], time["seconds"])
    local = datetime(*parts, *clock, tzinfo=ZoneInfo("America/New_York"))
    return zulu(local)


def zulu(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def spaced(name: str) -> Read:
    """An instant as metadata write it: 2026-09-11 00:20:00+00."""
    return lambda row, scales: (
        str(row[name]).replace(" ", "T").replace("+00", "Z") if row.get(name) else None
    )


def epoch(name: str) -> Read:
    """An instant in seconds since 1970."""
    return lambda row, scales: (
        zulu(datetime.fromtimestamp(int(row[name]), UTC)) if row.get(name) else None
    )
