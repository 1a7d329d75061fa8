"""Shared parts of the gateway's lists: pages, order and bounds."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from sim.api.rendering.sports_types import sports_market_type
from sim.contract.messages import Message
from sim.contract.messages.gateway_v1 import Market
from sim.core.catalogue.assumptions import GATEWAY_ORDER_BY
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest

PAGE_DEFAULT = 100
PAGE_MAX = 500
EVENTS_MAX = 100  # an event contains its markets
T = TypeVar("T")


def page(rows: Iterable[T], limit: int, offset: int, default: int = PAGE_DEFAULT) -> list[T]:
    """Return the rows of a page without reading past it."""
    size = page_length(limit, offset, default=default)
    return list(islice(rows, offset, offset + size))


def page_length(
    limit: int, offset: int, *, default: int = PAGE_DEFAULT, most: int = PAGE_MAX
) -> int:
    """Return the length of a page: `default` for a limit of 0, and never more than `most`, so that
    no request can occupy the exchange for long. InvalidRequest for a negative limit or offset.
    """
    if limit < 0 or offset < 0:
        raise InvalidRequest("limit and offset must not be negative")
    return min(limit or default, most)


def check_order(
    exchange: Exchange,
    keys: Iterable[str],
    row: type[Message],
    order_by: Iterable[str],
    direction: str,
) -> bool:
    """Return whether a list ascends. Refuses an unknown direction or name to sort by.

    A name is known if it is a key or a field of the rows (assumption `gateway.order_by`).
    """
    is_ascending = ascending(direction)
    if order_by and exchange.ctx.assumptions.text(GATEWAY_ORDER_BY) == "refuse":
        names = {*keys, *map(folded, row.__struct_fields__)}
        for name in order_by:
            if folded(name) not in names:
                raise InvalidRequest(
                    f"orderBy: {name[:40]!r} is not a field to sort by",
                    remedy=f"one of {', '.join(sorted(keys))}",
                )
    return is_ascending


def ascending(direction: str, name: str = "orderDirection") -> bool:
    """Return whether a direction is asc; "" is desc. Capitals are accepted too."""
    if direction.lower() not in ("", "asc", "desc"):
        raise InvalidRequest(f"{name} must be asc or desc")
    return direction.lower() == "asc"


def folded(name: str) -> str:
    """Return a sort name in the spelling of the keys; clients may use either casing."""
    return name.replace("_", "").lower()


def arranged(
    rows: Iterable[T],
    keys: Mapping[str, Callable[[T], Any]],
    order_by: Sequence[str],
    is_ascending: bool,
) -> Iterable[T]:
    """Sort rows by the named keys, the first one first.

    None is the smallest value. Equal rows keep their listing order; unknown names are ignored
    (`check_order` refuses invalid ones).
    """
    for name in reversed(dict.fromkeys(map(folded, order_by))):
        key = keys.get(name)
        if key is not None:
            rows = sorted(rows, key=_with_none(key), reverse=not is_ascending)
    return rows


def _with_none(key: Callable[[T], Any]) -> Callable[[T], Any]:
    return lambda row: (key(row) is not None, key(row))


def within(value: float | None, low: float | None, high: float | None) -> bool:
    """Return whether a value lies within inclusive bounds; None is within only if
    there are none.
    """
    if low is None and high is None:
        return True
    return value is not None and (low is None or value >= low) and (high is None or value <= high)


def of_sport(exchange: Exchange, market: Market, sports: Container[str]) -> bool:
    """Return whether a market has the requested sports market type, by its present or former name.

    Former names no longer appear in answers, but parameters still accept them (§9).
    """
    kind = market.sports_market_type
    return (
        kind in sports
        or market.sports_market_type_v2 in sports
        or sports_market_type(exchange, kind, market.slug) in sports
    )


def agrees(value: bool, requested: bool | None) -> bool:
    """Return whether a flag has the requested value; None accepts both."""
    return requested is None or value is requested
