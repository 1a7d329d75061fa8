"""What exists at which date: operations, and fields of answers (§9, page *Rules that change on a
date*). The dates are copied from the changelog; a date without an hour is midnight in New York.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from sim.kernel.instants import Instant, parse_instant

Span: TypeAlias = tuple[str, str]  # first instant, and the first at which it is gone

_BATCHES = "2026-04-09T04:00:00Z"
_LEDGERS = "2026-05-01T00:00:00Z"
_PARTS = "2026-05-11T04:00:00Z"
_INCENTIVES = "2026-05-20T04:00:00Z"
_SUBJECTS = "2026-06-29T04:00:00Z"
_SAMPLES = "2026-07-03T04:00:00Z"
_FUNDED = "2026-08-06T04:00:00Z"

# By the beginning of the name of the operation.
OPERATIONS: dict[str, Span] = {
    "OrderFundingService.CreateFundedOrder": ("", _FUNDED),
    "OrderFundingService.GetFundedOrder": ("", _FUNDED),
    "OrderFundingService.CancelFundedOrder": ("", _FUNDED),
    "FundingAPI.GetAccountBalanceLedger": (_LEDGERS, ""),
    "FundingAPI.DownloadBalanceLedger": (_LEDGERS, ""),
    "FundingAPI.CreateBalanceLedgerSubscription": (_LEDGERS, ""),
    "PositionAPI.GetPositionLedger": (_LEDGERS, ""),
    "PositionAPI.DownloadPositionLedger": (_LEDGERS, ""),
    "IncentivesAPI.": (_INCENTIVES, ""),
    "RetailIncentivesAPI.": (_INCENTIVES, ""),
    "GatewaySubjectsAPI.": ("", _SUBJECTS),
    "RetailOrdersAPI.CreateOrders": (_BATCHES, ""),
    "RetailOrdersAPI.CancelOrders": (_BATCHES, ""),
    "RetailOrdersAPI.ModifyOrders": (_BATCHES, ""),
}


class DatedField(NamedTuple):
    """Fields of the messages under some keys, in answers of some services.

    `kept_by` is the assumption that keeps them after their last day while its value is "shown".
    Fields that are not `steady` may be absent at any date.
    """

    names: str
    services: str
    keys: str
    span: Span
    steady: bool = True
    kept_by: str = ""


FIELDS = (
    DatedField(
        "priceToQuantityFilled fractionalQuantityScale",
        *("ReportAPI OrderEntryAPI", "order", (_PARTS, "")),
    ),
    DatedField(
        "commissionNotionalCollected commissionSpreadPx transactTradeDate",
        *("ReportAPI", "execution executions aggressor passive", ("2026-04-13T04:00:00Z", "")),
    ),
    DatedField(
        "lastTradeQty settlementSetTime",
        *("OrderBookAPI", "stats", ("2026-05-01T04:00:00Z", ""), False),
    ),
    DatedField("maxSpread", "Incentives", "timePeriods", ("2026-09-01T04:00:00Z", ""), False),
    DatedField("participantId", "Gateway", "marketSides", ("", _SUBJECTS)),
    DatedField("subjectId subject", "Gateway", "market markets", ("", _SUBJECTS)),
    DatedField(
        "marketType gameStartTime sportsMarketTypeV2 outcomes outcomePrices archived"
        " manualActivation",
        *("Gateway", "market markets", ("", _SUBJECTS), True, "markets.deprecated_fields"),
    ),
    DatedField(
        "participants archived",
        *("Gateway", "event events", ("", _SUBJECTS), True, "events.deprecated_fields"),
    ),
    DatedField("archived", "Gateway", "series", ("", _SUBJECTS), False),
    DatedField("bonusHold", "RetailAccountAPI", "balances", ("2026-09-18T04:00:00Z", "")),
    DatedField(
        "lastPriceSample",
        "RetailMarketDataAPI",
        "marketData marketDataLite",
        ("", _SAMPLES),
        *(False, "market_data.last_price_sample"),
    ),
    DatedField("outcomeSide action", "RetailOrdersAPI", "order orders", (_BATCHES, "")),
)


def within(span: Span, now: Instant) -> bool:
    """Return whether an instant is in a span."""
    since, until = span
    begun = not since or parse_instant(since) <= now
    return begun and (not until or now < parse_instant(until))


def exists(operation: str, now: Instant) -> bool:
    """Return whether an operation is served at an instant (§9)."""
    return all(within(span, now) for name, span in OPERATIONS.items() if operation.startswith(name))


def messages(answer: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object of an answer with the key under which it stands, also in a list."""
    if isinstance(answer, list):
        for each in answer:
            yield from messages(each, key)
    elif isinstance(answer, dict):
        yield key, answer
        for name, value in answer.items():
            if isinstance(value, dict | list):
                yield from messages(value, name)


def untimely(
    operation: str, answer: Any, now: Instant, assumed: Callable[[str], Any]
) -> Iterator[tuple[str, bool]]:
    """Yield the fields of an answer that are there and do not exist at an instant, or exist and are
    not there, with whether they exist (§9).
    """
    service = operation.partition(".")[0]
    dated = []
    for each in FIELDS:
        if any(name in service for name in each.services.split()):
            kept = each.kept_by and assumed(each.kept_by) == "shown"
            exists = bool(kept) or within(each.span, now)
            if each.steady or not exists:
                dated.append((each.names.split(), each.keys.split(), exists))
    for key, message in messages(answer) if dated else ():
        for names, keys, exists in dated:
            if key in keys:
                yield from ((name, exists) for name in names if (name in message) != exists)
