"""How many decimals the service writes in amounts and quantities of the retail API.

No document states it. It was observed (`sim catalogue observations`: orders.money, positions.cost,
market_data.best_prices, activities.balance_changes). A field that is not listed may have any
number.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sim.evidence.compare.difference import SECRET, Misfit


class Digits(NamedTuple):
    """The form of a decimal, as a pattern and in words."""

    pattern: re.Pattern[str]
    words: str


FOUR = Digits(re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]{4}"), "four decimals")
CENTS = Digits(re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]{2,}"), "at least two decimals")
PLAIN = Digits(re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?"), "no zeros at the end")
_LEADING_ZERO = re.compile(r"-?0[0-9]")
_PRICES = ("open", "close", "low", "high", "lastTrade", "indicativeOpen", "settlement", "current")
_HELD = ("netPosition", "qtyBought", "qtySold", "bodPosition", "qtyAvailable")
DIGITS: dict[tuple[str, str], Digits] = {
    **dict.fromkeys((("BookLevel", name) for name in ("px", "qty")), FOUR),
    **dict.fromkeys((("MarketStats", f"{name}Px") for name in _PRICES), FOUR),
    **dict.fromkeys(
        (("MarketStats", name) for name in ("sharesTraded", "lastTradeQty", "openInterest")), FOUR
    ),
    ("MarketStats", "notionalTraded"): CENTS,
    **dict.fromkeys((("PriceSample", name) for name in ("longPrice", "shortPrice")), FOUR),
    **dict.fromkeys(
        (
            ("MarketLite", name)
            for name in (
                *("currentPx", "lastTradePx", "settlementPx", "bestBid", "bestAsk", "longQuote"),
                *("sharesTraded", "openInterest"),
            )
        ),
        FOUR,
    ),
    ("MarketLite", "shortQuote"): PLAIN,
    **dict.fromkeys(
        (("Order", name) for name in ("avgPx", "cashOrderQty", "commissionNotionalTotalCollected")),
        FOUR,
    ),
    ("Execution", "lastPx"): CENTS,
    **dict.fromkeys(
        (("Execution", name) for name in ("commissionNotionalCollected", "commissionSpreadPx")),
        FOUR,
    ),
    **dict.fromkeys(
        (
            ("UserPosition", name)
            for name in (
                *("cost", "realized", "cashValue", "avgPx", "fees", "baseCost"),
                *(f"{name}Decimal" for name in _HELD),
            )
        ),
        FOUR,
    ),
    **dict.fromkeys(
        (("TradeActivity", name) for name in ("price", "costBasis", "realizedPnl")), CENTS
    ),
    ("TradeActivity", "cost"): FOUR,
    ("BalanceTransaction", "amount"): PLAIN,
    ("AccountBalanceChange", "amount"): PLAIN,
}


def misfit(digits: Digits, value: Any) -> Misfit | None:
    """Return what is wrong with the digits of a decimal, or with the value of an amount object."""
    where = ""
    if isinstance(value, dict):
        where, value = "value", value.get("value")
    if not isinstance(value, str) or not value or value.startswith(SECRET):
        return None
    if digits.pattern.fullmatch(value):
        return None
    words = "no zero in front" if _LEADING_ZERO.match(value) else digits.words
    return Misfit(where, value, words, "format")
