"""What lists of the gateway share: pages, order and bounds."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from sim.core.catalogue.assumptions import GATEWAY_ORDER_BY
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest
from sim.messages import Message

PAGE_DEFAULT = 100
T = TypeVar("T")


def page(
    rows: Sequence[T],
    limit: int,
    offset: int,
    *,
    default: int = PAGE_DEFAULT,
    most: int | None = None,
) -> list[T]:
    """The rows of a page. A limit of 0 means the default, one above `most` is cut to it."""
    size = check_page(limit, offset) or default
    return list(rows[offset : offset + (size if most is None else min(size, most))])


def check_page(limit: int, offset: int) -> int:
    """The limit; InvalidRequest for a negative one, or a negative offset."""
    if limit < 0 or offset < 0:
        raise InvalidRequest("limit and offset must not be negative")
    return limit


def check_order(
    exchange: Exchange,
    keys: Iterable[str],
    row: type[Message],
    order_by: Iterable[str],
    direction: str,
) -> None:
    """InvalidRequest for a direction that is none, and for a name to sort by that neither is a key
    nor a field of the rows (assumption `gateway.order_by`).
    """
    if direction not in ("", "asc", "desc"):
        raise InvalidRequest("orderDirection must be asc or desc")
    if order_by and exchange.ctx.assumptions.text(GATEWAY_ORDER_BY) == "refuse":
        known = {*keys, *map(folded, row.__struct_fields__)}
        for name in order_by:
            if folded(name) not in known:
                raise InvalidRequest(
                    f"orderBy: {name[:40]!r} is no field to sort by",
                    rule="gateway.order_by",
                    remedy=f"one of {', '.join(sorted(keys))}",
                )


def folded(name: str) -> str:
    """A name to sort by as keys spell it: names are taken in either casing."""
    return name.replace("_", "").lower()


def arranged(
    rows: Iterable[T],
    keys: Mapping[str, Callable[[T], Any]],
    order_by: Sequence[str],
    direction: str,
) -> Iterable[T]:
    """Rows by the named keys, the first one deciding, descending unless `direction` is "asc"; names
    are taken in either casing.

    None sorts as the smallest. Rows that are equal keep their order of listing; a name without a
    key sorts nothing (see `check_order` for what may be named).
    """
    for name in reversed(order_by):
        key = keys.get(folded(name))
        if key is not None:
            rows = sorted(rows, key=_with_none(key), reverse=direction != "asc")
    return rows


def _with_none(key: Callable[[T], Any]) -> Callable[[T], Any]:
    return lambda row: (key(row) is not None, key(row))


def cut(found: Iterable[T], limit: int, offset: int, default: int = PAGE_DEFAULT) -> list[T]:
    """The rows of a page; nothing after it is looked at."""
    size = check_page(limit, offset) or default
    return list(islice(found, offset, offset + size))


def within(value: float | None, low: float | None, high: float | None) -> bool:
    """Whether a value lies within bounds that are given, both inclusive; an unknown value lies
    within none.
    """
    if low is None and high is None:
        return True
    return value is not None and (low is None or value >= low) and (high is None or value <= high)


class OfSport(Protocol):
    """What has a sports market type under its present name and the one that it replaced (§9)."""

    @property
    def sports_market_type(self) -> str: ...
    @property
    def sports_market_type_v2(self) -> str: ...


def of_sport(market: OfSport, wanted: Container[str]) -> bool:
    """Whether a market is of a sports market type that is asked for, by either name: the older one
    has left the answers, not the parameters.
    """
    return market.sports_market_type in wanted or market.sports_market_type_v2 in wanted


def agrees(value: bool, wanted: bool | None) -> bool:
    """Whether a flag is as asked; None asks for nothing."""
    return wanted is None or value is wanted
