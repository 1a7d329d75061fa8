"""Facts about markets: states, books, statistics, settlement, terms, dates and names."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.spec.agreement.wording import (
    SILENT,
    Read,
    Scales,
    at,
    best,
    contracts,
    contracts_of,
    dollar_level,
    dollars,
    eastern_expiry,
    epoch,
    exchange_level,
    levels,
    lots,
    money,
    notional,
    spaced,
    ticks,
    value,
    while_settled,
    word,
)

_RETAIL_STATES = {"PENDING": "CLOSED"}


def _retail_state(prefix: str, name: str = "state") -> Read:
    """Return the retail name of a state; the retail API has no name for PENDING."""

    def read(row: dict[str, Any], scales: Scales) -> Any:
        state = str(row[name]).removeprefix(prefix)
        return _RETAIL_STATES.get(state, state)

    return read


def _stats(name: str, exchange: Read, retail: Read) -> dict[str, Read]:
    return {
        "book": at("stats", exchange),
        "bbo": at("stats", exchange),
        "retail book": at("stats", retail),
    }


_INSTRUMENT = "INSTRUMENT_STATE_"
_STATE = word("state", _INSTRUMENT)


def _end_date(row: dict[str, Any], scales: Scales) -> Any:
    """A market on an index ends with its window, and expires later."""
    return SILENT if row.get("assetPriceTerms") else row["endDate"]


def _index_says(name: str) -> Read:
    """Return the value of an index; a frame about a state has the value at its instant."""

    def read(row: dict[str, Any], scales: Scales) -> Any:
        metadata = row["metadata"]
        return SILENT if metadata.get("said") == "earlier" else dollars(name)(metadata, scales)

    return read


def _event_number(row: dict[str, Any], scales: Scales) -> Any:
    """Markets on an index name their event by its slug, as published."""
    number = row["metadata"].get("event_id") if "metadata" in row else row["eventId"]
    return str(number) if str(number).isdigit() else SILENT


def _bars(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the bars that have trades."""
    return [bar for bar in row["bars"] if int(bar["totalTradeCount"])]


def _sum(of: str, read: Read) -> Read:
    return lambda row, scales: sum(read(item, scales) for item in row[of])


def _reported(of: Callable[[list[Any]], Any]) -> Read:
    """Return a statistic of the prices of all trades."""

    def reported(row: dict[str, Any], scales: Scales) -> Any:
        prices = [ticks("lastPx")(trade, scales) for trade in row["trades"]]
        return of(prices) if prices else SILENT

    return reported


def _traded(read: Read) -> Read:
    """Return a price of the statistics, which have 0 if nothing was traded."""

    def traded(row: dict[str, Any], scales: Scales) -> Any:
        count = sum(int(bar["totalTradeCount"]) for bar in row.get("bars", (row,)))
        return read(row, scales) if count else SILENT

    return traded


MARKET: dict[str, dict[str, Read]] = {
    "state": {
        "refdata": _STATE,
        "book": _STATE,
        "bbo": _STATE,
        "gateway": word("exchangeStatus", ""),
        "control": value("state"),
        "combo": _STATE,
    },
    "state as retail names it": {
        "refdata": _retail_state(_INSTRUMENT),
        "retail book": _retail_state("MARKET_STATE_"),
        "retail bbo": _retail_state("MARKET_STATE_"),
    },
    "bids": {
        "book": levels("bids", exchange_level),
        "retail book": levels("bids", dollar_level),
        "control book": levels("bids", dollar_level),
    },
    "offers": {
        "book": levels("offers", exchange_level),
        "retail book": levels("offers", dollar_level),
        "control book": levels("offers", dollar_level),
    },
    "best bid": {
        "book": best("bids", exchange_level),
        "bbo": at("bestBid", ticks("px")),
        "retail book": best("bids", dollar_level),
        "retail bbo": dollars("bestBid"),
        "gateway": dollars("bestBidQuote"),
    },
    "best offer": {
        "book": best("offers", exchange_level),
        "bbo": at("bestOffer", ticks("px")),
        "retail book": best("offers", dollar_level),
        "retail bbo": dollars("bestAsk"),
        "gateway": dollars("bestAskQuote"),
    },
    "last price": {
        **_stats("last", ticks("lastTradePx"), dollars("lastTradePx")),
        "retail bbo": dollars("lastTradePx"),
        "print": dollars("price"),
        "trade stats": _traded(ticks("last")),
        "bars": _traded(lambda row, scales: ticks("last")(_bars(row)[-1], scales)),
    },
    "open price": _stats("open", ticks("openPx"), dollars("openPx")),
    "high price": _stats("high", ticks("highPx"), dollars("highPx")),
    "low price": _stats("low", ticks("lowPx"), dollars("lowPx")),
    "close price": _stats("close", ticks("closePx"), dollars("closePx")),
    "indicative open": _stats("i", ticks("indicativeOpenPx"), dollars("indicativeOpenPx")),
    "last quantity": {
        **_stats("q", lots("lastTradeQty"), contracts("lastTradeQty")),
        "print": contracts_of("quantity"),
    },
    "contracts traded": {
        **_stats("shares", lots("sharesTraded"), contracts("sharesTraded")),
        "retail bbo": contracts("sharesTraded"),
    },
    # an opening resets the statistics of the book, but not those of trades
    "trades": {
        "trade stats": lambda row, scales: int(row["totalTradeCount"]),
        "bars": _sum("bars", lambda row, scales: int(row["totalTradeCount"])),
        "trades": lambda row, scales: len(row["trades"]),
    },
    "contracts of all trades": {
        "trade stats": lots("volume"),
        "bars": _sum("bars", lots("volume")),
        "trades": _sum("trades", lots("lastShares")),
    },
    "dollars of all trades": {
        "trade stats": notional("notional"),
        "bars": _sum("bars", notional("notional")),
        "trades": _sum(
            "trades", lambda row, s: ticks("lastPx")(row, s) * lots("lastShares")(row, s)
        ),
    },
    "open interest": {
        **_stats("interest", lots("openInterest"), contracts("openInterest")),
        "retail bbo": contracts("openInterest"),
    },
    "dollars traded": _stats("n", notional("notionalTraded"), money("notionalTraded")),
    "highest price": {
        "trade stats": _traded(ticks("high")),
        "bars": _traded(lambda row, scales: max(ticks("high")(bar, scales) for bar in _bars(row))),
        "trades": _reported(max),
    },
    "lowest price of a trade": {
        "trade stats": _traded(ticks("low")),
        "bars": _traded(lambda row, scales: min(ticks("low")(bar, scales) for bar in _bars(row))),
        "trades": _reported(min),
    },
    "settlement": {
        "book": at("stats", while_settled(ticks("settlementPx"))),
        "bbo": at("stats", while_settled(ticks("settlementPx"))),
        "retail book": at("stats", while_settled(dollars("settlementPx"))),
        "settlement": at("stats", ticks("settlementPx")),
    },
    "final settlement": {
        "settlement": lambda row, scales: (
            ticks("settlementPx")(row["stats"], scales)
            if row.get("stats") and not row["stats"].get("settlementPreliminary")
            else None
        ),
        "retail settlement": dollars("settlement"),
    },
    "settlement is preliminary": {
        "book": at("stats", value("settlementPreliminary")),
        "bbo": at("stats", value("settlementPreliminary")),
        "retail book": at("stats", value("settlementPreliminaryFlag")),
        "settlement": at("stats", value("settlementPreliminary")),
    },
    "settlement time": {
        "book": at("stats", value("settlementSetTime")),
        "bbo": at("stats", value("settlementSetTime")),
        "retail book": at("stats", value("settlementSetTime")),
        "settlement": at("stats", value("settlementSetTime")),
    },
    "tick": {
        "refdata": lambda row, scales: Decimal(str(row["tickSize"])),
        "gateway": money("orderPriceMinTickSize"),
        "control": money("tick_size"),
        "combo": money("tickSize"),
    },
    "smallest quantity": {
        "refdata": lots("minimumTradeQty"),
        "gateway": contracts("minimumTradeQty"),
        "control": lots("minimum_trade_qty"),
    },
    "lowest price": {
        "refdata": at("priceLimit", ticks("low")),
        "control": at("price_limit", money("low")),
    },
    "question": {"refdata": at("eventAttributes", value("question")), "gateway": value("question")},
    "rules": {"refdata": value("description"), "gateway": value("description")},
    "created": {
        "refdata": value("createTime"),
        "gateway": value("createdAt"),
        "combo": value("createdTime"),
    },
    "opens": {"control": value("start"), "gateway": value("startDate")},
    "expires": {"refdata": eastern_expiry, "control": value("expiration"), "gateway": _end_date},
    "event": {
        "refdata": at("eventAttributes", value("eventId")),
        "event": value("slug"),
        "metadata": value("eventSlug"),
    },
    "number of its event": {
        "refdata": _event_number,
        "event": lambda row, scales: str(row["id"]),
        "metadata": _event_number,
    },
    "event begins": {
        "refdata": at("metadata", spaced("event_start_time")),
        "event": value("startTime"),
    },
    "window begins": {
        "refdata": at("metadata", epoch("interval_start")),
        "gateway": at("assetPriceTerms", value("windowStart")),
    },
    "window ends": {
        "refdata": at("metadata", epoch("interval_end")),
        "gateway": at("assetPriceTerms", value("windowEnd")),
    },
    "price to beat": {
        "refdata": _index_says("price_to_beat"),
        "gateway": at("assetPriceTerms", dollars("priceToBeat")),
    },
    "price that decided": {
        "refdata": _index_says("crypto_settlement_price"),
        "gateway": at("assetPriceTerms", dollars("settlementPrice")),
    },
}
