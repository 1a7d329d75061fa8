"""How many decimals the service writes in amounts and quantities of the retail API.

No document states it. It was observed (`sim catalogue observations`: orders.money,
positions.cost, market_data.best_prices, activities.balance_changes). A field that is not listed
may have any number.
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
_FIELDS = (
    ("BookLevel", FOUR, "px qty"),
    ("MarketStats", FOUR, "openPx closePx lowPx highPx lastTradePx indicativeOpenPx settlementPx"),
    ("MarketStats", FOUR, "currentPx sharesTraded lastTradeQty openInterest"),
    ("MarketStats", CENTS, "notionalTraded"),
    ("PriceSample", FOUR, "longPrice shortPrice"),
    ("MarketLite", FOUR, "currentPx lastTradePx settlementPx bestBid bestAsk longQuote"),
    ("MarketLite", FOUR, "sharesTraded openInterest"),
    ("MarketLite", PLAIN, "shortQuote"),
    ("Order", FOUR, "avgPx cashOrderQty commissionNotionalTotalCollected"),
    ("Execution", CENTS, "lastPx"),
    ("Execution", FOUR, "commissionNotionalCollected commissionSpreadPx"),
    ("UserPosition", FOUR, "cost realized cashValue avgPx fees baseCost netPositionDecimal"),
    ("UserPosition", FOUR, "qtyBoughtDecimal qtySoldDecimal bodPositionDecimal"),
    ("UserPosition", FOUR, "qtyAvailableDecimal"),
    ("TradeActivity", CENTS, "price costBasis realizedPnl"),
    ("TradeActivity", FOUR, "cost"),
    ("BalanceTransaction", PLAIN, "amount"),
    ("AccountBalanceChange", PLAIN, "amount"),
)
DIGITS = {(message, name): digits for message, digits, names in _FIELDS for name in names.split()}


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
