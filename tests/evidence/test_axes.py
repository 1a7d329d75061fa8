"""Each axis of evidence falls when the sandbox is broken there, and no other does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from sim.api.gateway import event_views, live_views
from sim.api.pipeline import error_mapping, replies
from sim.api.rendering import retail_books
from sim.api.retail import activity, balances, market_data, messages, orders, portfolio
from sim.api.streams import retail_markets
from sim.core.identity import credentials
from sim.core.matching import matching
from sim.core.model import refusals
from sim.evidence.axes import AGREES, agreement, all_axes, summary
from sim.evidence.axes import refusals as refusals_seen
from sim.evidence.material import AXES, measure, measured
from sim.kernel.dated import Dated

Mutation = Callable[[pytest.MonkeyPatch], None]


def after(module: Any, name: str, change: Callable[[Any], Any]) -> Mutation:
    """A function of a module whose result is changed."""
    original = getattr(module, name)

    def mutate(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(module, name, lambda *args, **more: change(original(*args, **more)))

    return mutate


def value(owner: Any, name: str, other: Any) -> Mutation:
    """An attribute with another value."""
    return lambda patch: patch.setattr(owner, name, other)


def field(name: str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A message with another value of a field."""

    def changed(message: Any) -> Any:
        setattr(message, name, change(getattr(message, name)))
        return message

    return changed


def without(switch: str) -> Mutation:
    """Answers without one of the switches of JSON fields."""
    return after(replies, "wire_switches", lambda switches: switches - {switch})


def other(amount: Any) -> Any:
    from msgspec.structs import replace

    return amount if amount is None else replace(amount, value="9.0000")


class Nobody(Exception):
    """A refusal that nobody raises."""


NOTHING: Callable[[Any], Any] = lambda _: None  # noqa: E731
MUTATIONS: dict[str, tuple[str, Mutation]] = {
    "quotes are numbers": ("answer", without("markets.quote_value")),
    "ids of events are numbers": ("answer", without("events.id")),
    "unset fields are written": ("answer", without("gateway.unset_fields")),
    "old fields of markets are gone": ("answer", without("markets.deprecated_fields")),
    "old fields of events are gone": ("answer", without("events.deprecated_fields")),
    "price samples are gone": ("answer", without("market_data.last_price_sample")),
    "page tokens are gone": ("answer", without("report.empty_page_token")),
    "positions have no average": (
        "answer",
        after(portfolio, "position_message", field("avg_px", NOTHING)),
    ),
    "orders have no average": ("answer", after(orders, "retail_order", field("avg_px", NOTHING))),
    "no basis points": (
        "answer",
        after(orders, "retail_order", field("commissions_basis_points", lambda _: "")),
    ),
    "fills have no price": (
        "answer",
        after(activity, "retail_execution", field("last_px", NOTHING)),
    ),
    "markets have no title": (
        "answer",
        after(messages, "market_metadata", field("title", lambda _: "")),
    ),
    "events have no combos": ("answer", after(event_views, "_combos", NOTHING)),
    "quantities have one decimal": ("answer", value(retail_books, "fixed", lambda *_: "1.0")),
    "no quotes": ("answer", after(live_views, "_quote", NOTHING)),
    "errors have status and message": (
        "refusal",
        value(error_mapping, "_body", lambda *_: b'{"status":1}'),
    ),
    "429 has a code": (
        "refusal",
        value(error_mapping, "_TOO_MANY", b'{"code":8,"message":"","details":[]}'),
    ),
    "the edge is silent": ("refusal", value(error_mapping, "_AT_EDGE", {})),
    "no key is a JSON error": (
        "refusal",
        value(error_mapping.refusals, "MissingKeyHeaders", refusals.InternalFailure),
    ),
    "not found is internal": ("refusal", value(refusals.NotFound, "code", refusals.Code.INTERNAL)),
    "too many records is invalid": (
        "refusal",
        value(refusals.TooManyRecords, "code", refusals.Code.INVALID_ARGUMENT),
    ),
    "cash that is displayed": (
        "relation",
        after(balances, "_balance", field("displayed_cash", lambda cash: cash + 1)),
    ),
    "cash to withdraw": (
        "relation",
        after(balances, "_balance", field("available_to_withdraw", lambda cash: cash + 1)),
    ),
    "cost of a position": ("relation", after(portfolio, "position_message", field("cost", other))),
    "prices in lists": ("relation", value(live_views, "_listed_prices", lambda quotes, *_: quotes)),
    "long quote": ("relation", after(market_data, "lite_message", field("long_quote", other))),
    "frames are not wrapped": (
        "stream",
        lambda patch: patch.setitem(
            retail_markets.MarketsSocketFeed.payload_keys, retail_markets._BOOK, "data"
        ),
    ),
    "no shares on the socket": ("stream", value(retail_books, "two_figures", lambda *_: None)),
    "unfilled orders are canceled": ("lifecycle", value(matching, "EXPIRED", matching.CANCELED)),
    "inserted when created": (
        "lifecycle",
        after(
            orders,
            "retail_order",
            lambda order: field("insert_time", lambda _: order.create_time)(order),
        ),
    ),
    "tokens live half as long": ("timing", value(credentials, "NS_PER_S", 2 * 10**9)),
    "the new fee is shown late": (
        "timing",
        value(live_views, "FEE_SHOWN", Dated(0, name="", section="", title="")),
    ),
    "no daily mark": ("timing", value(retail_books, "last_trade_day_roll", lambda now: 0)),
}


@cache
def unbroken() -> dict[tuple[str, str, str], bool]:
    return {item[:3]: item.agrees for item in measured("observed")}


@pytest.mark.long
@pytest.mark.unlawful
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_hits_exactly_its_axis(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    axis, mutate = MUTATIONS[name]
    before = unbroken()
    mutate(monkeypatch)
    broken = {item.axis for item in measure("observed") if before.get(item[:3]) and not item.agrees}
    assert broken == {axis}


def test_thirty_mutations_reach_every_measured_axis() -> None:
    assert len(MUTATIONS) >= 30
    measured_axes = {axis for axis, _ in MUTATIONS.values()}
    assert measured_axes == set(AXES) - {"stated", "driven"}


def test_axes_have_sources_and_are_never_added_up() -> None:
    axes = all_axes({})
    assert all(set(row) == set(AXES) for row in axes.values())
    for row in axes.values():
        for entry in filter(None, row.values()):
            assert entry["n"] == len(entry["sources"]) > 0
            assert {source["kind"] for source in entry["sources"]} <= {
                "live",
                "docs",
                "sdk",
                "test",
            }
    assert axes["RetailAccountAPI.GetBalances"]["refusal"] is not None
    assert axes["UsersAPI.CreateUser"]["answer"] is None
    counts = agreement("RetailAccountAPI.GetBalances")
    assert set(counts) == {"documented", "observed"} and set(counts["observed"]) == set(AGREES)
    lists = summary(axes)
    assert (
        set(lists) == {"proven", "not proven", "unknown"}
        and "UsersAPI.CreateUser" in lists["unknown"]
    )


def test_refusals_that_nobody_saw_are_told_apart() -> None:
    rows = refusals_seen()
    assert rows["404 5"] and rows["400 11"] and not rows["409 6"]
