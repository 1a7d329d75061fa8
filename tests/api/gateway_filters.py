"""What each parameter of the gateway's lists of events and markets means of a row, and by what a
list can be sorted. Tests hold lists against filtering and sorting all rows by these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tests.kit import Desk

Row = dict[str, Any]
Key = Callable[[Row], Any]


def tags(row: Row) -> set[int]:
    return {int(tag["id"]) for tag in row["tags"]}


def parents(row: Row) -> set[int]:
    return tags(row) | {tag["parentId"] for tag in row["tags"]}


def slugs_of_tags(row: Row) -> set[str]:
    return {tag["slug"] for tag in row["tags"]}


def text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


ABSENT: dict[str, Any] = {"live": False, "ended": False, "gameId": "", "recurrence": ""}


def value_of(row: Row, field: str) -> Any:
    """A field of a row; a list leaves out the fields of an event or series that are not set."""
    return row.get(field, 0 if field.startswith("volume") else ABSENT.get(field))


Filter = tuple[Callable[[Row], Any], Callable[[Row, Any], bool]]


def low(field: str) -> Filter:
    return (
        lambda row: value_of(row, field),
        lambda row, value: value_of(row, field) is not None and value_of(row, field) >= value,
    )


def high(field: str) -> Filter:
    return (
        lambda row: value_of(row, field),
        lambda row, value: value_of(row, field) is not None and value_of(row, field) <= value,
    )


def same(field: str) -> Filter:
    return (lambda row: value_of(row, field), lambda row, value: value_of(row, field) == value)


EVENTS: dict[str, Filter] = {
    **{name: same(name) for name in ("active", "closed", "featured", "live", "ended", "period")},
    **{f"{name}Min": low(name) for name in ("liquidity", "volume")},
    **{f"{name}Max": high(name) for name in ("liquidity", "volume")},
    **{f"{name}Min": low(name) for name in ("startDate", "endDate", "startTime")},
    **{f"{name}Max": high(name) for name in ("startDate", "endDate", "startTime")},
    "finishedTimestampMin": low("finishedTimestamp"),
    "finishedTimestampMax": high("finishedTimestamp"),
    "id": same("id"),
    "slug": same("slug"),
    "gameId": same("gameId"),
    "eventDate": same("eventDate"),
    "excludeEventId": (lambda row: row["id"], lambda row, value: row["id"] != value),
    "categories": same("category"),
    "tagId": (lambda row: max(tags(row), default=None), lambda row, value: value in tags(row)),
    "tagIds": (lambda row: min(tags(row), default=None), lambda row, value: value in tags(row)),
    "excludeTagId": (
        lambda row: max(tags(row), default=None),
        lambda row, value: value not in tags(row),
    ),
    "tagSlug": (
        lambda row: max(slugs_of_tags(row), default=None),
        lambda row, value: value in slugs_of_tags(row),
    ),
    "teamId": (
        lambda row: row["teams"][0]["id"] if row["teams"] else None,
        lambda row, value: value in [team["id"] for team in row["teams"]],
    ),
    "sportsMarketTypes": (
        lambda row: row["markets"][0]["sportsMarketType"] if row["markets"] else None,
        lambda row, value: value in [market["sportsMarketType"] for market in row["markets"]],
    ),
    "marketTypes": (
        lambda row: row["markets"][0]["metadata"].get("outcomeType") if row["markets"] else None,
        lambda row, value: (
            value in [market["metadata"].get("outcomeType") for market in row["markets"]]
        ),
    ),
}
MARKETS: dict[str, Filter] = {
    **{name: same(name) for name in ("active", "closed", "id", "slug")},
    **{f"{name}Min": low("volume") for name in ("volume", "volumeNum")},
    **{f"{name}Max": high("volume") for name in ("volume", "volumeNum")},
    **{f"{name}Min": low(name) for name in ("startDate", "endDate")},
    **{f"{name}Max": high(name) for name in ("startDate", "endDate")},
    "categories": same("category"),
    "sportsMarketTypes": same("sportsMarketType"),
    "tagId": EVENTS["tagId"],
    "tagIds": EVENTS["tagIds"],
}


def slugs(rows: Iterable[Row], passes: Callable[[Row], bool] = lambda row: True) -> list[str]:
    return [row["slug"] for row in rows if passes(row)]


EVENT_KEYS: dict[str, Callable[[Row], Any]] = {
    "id": lambda row: row["id"],
    "liquidity": lambda row: row["liquidity"],
    "openInterest": lambda row: row["openInterest"],
    **{
        name: lambda row, name=name: value_of(row, name)
        for name in ("volume", "volume24hr", "volume1wk", "volume1mo", "volume1yr")[:3]
    },
    **{
        name: lambda row, name=name: row[name] or ""
        for name in ("slug", "title", "startDate", "endDate", "startTime", "createdAt", "updatedAt")
    },
    "featuredOrder": lambda row: row["featuredOrder"],
}
MARKET_KEYS: dict[str, Callable[[Row], Any]] = {
    "id": lambda row: int(row["id"]),
    **{
        name: lambda row, name=name: value_of(row, name)
        for name in ("volume", "volume24hr", "volume1wk", "volume1mo", "volume1yr", "sortOrder")
    },
    "volumeNum": lambda row: row["volume"],
    **{
        name: lambda row, name=name: row[name] or ""
        for name in ("slug", "startDate", "endDate", "createdAt", "updatedAt")
    },
}


def sorted_by(rows: list[Row], keys: list[Key], descending: bool) -> list[Row]:
    for key in reversed(keys):
        rows = sorted(rows, key=key, reverse=descending)
    return rows


def ordered(rows: list[Row], keys: list[Key], descending: bool) -> list[str]:
    return slugs(sorted_by(rows, keys, descending))


class Tables(NamedTuple):
    """The parameters and the sort keys of a list."""

    filters: dict[str, Filter]
    keys: dict[str, Key]


LISTS = {"events": Tables(EVENTS, EVENT_KEYS), "markets": Tables(MARKETS, MARKET_KEYS)}


def check_list(
    desk: Desk, kind: str, rows: list[Row], keys: Iterable[str], filters: Iterable[tuple[str, Any]]
) -> None:
    """A list by each key, and by each parameter with a value, is what its rows make it."""
    tables = LISTS[kind]
    for name in keys:
        asked = {"orderBy": name, "orderDirection": "desc"}
        displayed = slugs(desk.rows(f"/v1/{kind}", kind, **asked))
        assert displayed == ordered(rows, [tables.keys[name]], True), name
    for name, value in filters:
        asked = {name: text(value), "orderDirection": "asc"}
        displayed = slugs(desk.rows(f"/v1/{kind}", kind, **asked))
        assert displayed == slugs(
            rows, lambda row, name=name, value=value: tables.filters[name][1](row, value)
        ), name
