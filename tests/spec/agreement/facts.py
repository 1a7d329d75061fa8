"""Which facts more than one surface shows, and how each surface words them.

`FACTS[kind][fact][dialect]` reads a fact from a row and answers a value that equals what every other
dialect answers for it. A dialect that is not named does not show the fact. `SILENT` (`wording.py`)
is the answer of a row that does not say it this time.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from tests.spec.agreement.market_facts import MARKET
from tests.spec.agreement.money_facts import BALANCE, MOVE, TRANSACTION, TRANSFER
from tests.spec.agreement.wording import (
    SILENT,
    Read,
    Scales,
    at,
    contracts,
    dollars,
    lots,
    money,
    notional,
    ticks,
    value,
    word,
)

# ---- positions

_HELD = "netPosition"


def _base_cost(row: dict[str, Any], scales: Scales) -> Any:
    """What a holding cost, in the words of the retail API: a short contract costs a dollar less
    its price.
    """
    net = Decimal(row[_HELD]) / scales.qty
    return notional("cost")(row, scales) + (abs(net) if net < 0 else 0)


def _unless_resolved(read: Read) -> Read:
    """The retail API counts what was settled as sold, and shows no cost any more."""
    return lambda row, scales: SILENT if row["expired"] else read(row, scales)


def _if_said(name: str, read: Read) -> Read:
    return lambda row, scales: read(row, scales) if name in row else SILENT


def _cents(read: Read) -> Read:
    def rounded(row: dict[str, Any], scales: Scales) -> Any:
        result = read(row, scales)
        return result if result is None or result is SILENT else round(result, 4)

    return rounded


POSITION: dict[str, dict[str, Read]] = {
    "net": {
        "exchange": lots(_HELD),
        "position ledger": lots(_HELD),
        "retail": contracts("netPositionDecimal"),
        "control": contracts("net"),
    },
    "bought": {
        "exchange": _unless_resolved(lots("qtyBought")),
        "retail": _unless_resolved(contracts("qtyBoughtDecimal")),
    },
    "sold": {
        "exchange": _unless_resolved(lots("qtySold")),
        "retail": _unless_resolved(contracts("qtySoldDecimal")),
    },
    "at the beginning of the day": {
        "exchange": _if_said("bodPosition", lots("bodPosition")),
        "retail": contracts("bodPositionDecimal"),
    },
    "cost": {"exchange": notional("cost"), "position ledger": notional("cost")},
    "base cost": {
        "exchange": _unless_resolved(_cents(_base_cost)),
        "retail": _unless_resolved(_cents(money("baseCost"))),
    },
    "realized": {
        "exchange": _cents(notional("realized")),
        "position ledger": _cents(notional("realized")),
        "retail": money("realized"),
    },
    "expired": {"exchange": value("expired"), "retail": value("expired")},
    "changed": {
        "exchange": value("updateTime"),
        "position ledger": value("updateTime"),
        "retail": value("updateTime"),
    },
}

# ---- orders, executions, trades

_SIDE = {"exchange": word("side", "SIDE_"), "retail": word("side", "ORDER_SIDE_")}
_TYPES = {"MARKET_TO_LIMIT": "MARKET", "GOOD_TILL_DATE": "GOOD_TILL_TIME"}
_TYPES |= {"STOP": "MARKET", "STOP_LIMIT": "LIMIT"}  # retail has no names for these


def _named(name: str, prefix: str) -> Read:
    read = word(name, prefix)
    return lambda row, scales: _TYPES.get(read(row, scales), read(row, scales))


def _average(row: dict[str, Any], scales: Scales) -> Any:
    """The exchange cuts an average to its unit of price."""
    exact = Decimal(row["avgPx"]["value"]) * scales.price
    return exact.quantize(Decimal(1), ROUND_HALF_EVEN) / scales.price


def _accepted(row: dict[str, Any], scales: Scales) -> Any:
    return row["state"] != "ORDER_STATE_REJECTED"


ORDER: dict[str, dict[str, Read]] = {
    "symbol": {
        "exchange": value("symbol"),
        "retail": value("marketSlug"),
        "control": value("symbol"),
    },
    "side": {**_SIDE, "control": value("side")},
    "type": {
        "exchange": _named("type", "ORDER_TYPE_"),
        "retail": _named("type", "ORDER_TYPE_"),
        "control": _named("type", ""),
    },
    "time in force": {
        "exchange": _named("timeInForce", "TIME_IN_FORCE_"),
        "retail": _named("tif", "TIME_IN_FORCE_"),
        "control": _named("tif", ""),
    },
    "state": {
        "exchange": word("state", "ORDER_STATE_"),
        "retail": word("state", "ORDER_STATE_"),
        "control": value("state"),
    },
    "was accepted": {
        "exchange": _accepted,
        "partner": lambda row, scales: row["status"] == "VENDOR_ORDER_STATUS_ACCEPTED",
    },
    "quantity": {
        "exchange": lots("orderQty"),
        "retail": contracts("quantity"),
        "control": contracts("qty"),
    },
    "filled": {
        "exchange": lots("cumQty"),
        "retail": contracts("cumQuantity"),
        "control": contracts("filled"),
    },
    "leaves": {
        "exchange": lots("leavesQty"),
        "retail": contracts("leavesQuantity"),
        "control": contracts("leaves"),
    },
    "price": {
        "exchange": ticks("price", zero_is_none=True),
        "retail": dollars("price"),
        "control": lambda row, scales: dollars("price")(row, scales) or None,
    },
    "average price": {"exchange": ticks("avgPx"), "retail": _average},
    "commission": {
        "exchange": notional("commissionNotionalTotalCollected"),
        "retail": money("commissionNotionalTotalCollected"),
    },
    "created": {
        "exchange": value("createTime"),
        "retail": value("createTime"),
        "control": value("created"),
    },
    "inserted": {"exchange": value("insertTime"), "retail": value("insertTime")},
    "last change": {"exchange": value("lastTransactTime"), "retail": value("lastTransactTime")},
    "good till": {"exchange": value("goodTillTime"), "retail": value("goodTillTime")},
    "client id": {
        "exchange": value("clordId"),
        "control": value("clord_id"),
        "partner": at("correlation", value("clordId")),
    },
    "account": {"exchange": value("account"), "control": value("account")},
    "participant": {"exchange": value("participant"), "control": value("participant")},
}


def _trade_date(row: dict[str, Any], scales: Scales) -> Any:
    transact_trade_date = row["transactTradeDate"]
    if isinstance(transact_trade_date, dict):
        return f"{transact_trade_date['year']:04}-{transact_trade_date['month']:02}-{transact_trade_date['day']:02}"
    return str(transact_trade_date).removesuffix("T00:00:00Z")


_REASON = "orderRejectReason"


def _reason(row: dict[str, Any], scales: Scales) -> Any:
    if row["type"] != "EXECUTION_TYPE_REJECTED":
        return SILENT
    return str(row[_REASON]).removeprefix("ORD_REJECT_REASON_")


EXECUTION: dict[str, dict[str, Read]] = {
    "order": {"exchange": at("order", value("id")), "retail": at("order", value("id"))},
    "type": {
        "exchange": word("type", "EXECUTION_TYPE_"),
        "retail": word("type", "EXECUTION_TYPE_"),
    },
    "quantity": {"exchange": lots("lastShares"), "retail": contracts("lastShares")},
    "price": {"exchange": ticks("lastPx", zero_is_none=True), "retail": dollars("lastPx")},
    "at": {"exchange": value("transactTime"), "retail": value("transactTime")},
    "trade date": {"exchange": _trade_date, "retail": _trade_date},
    "trade": {"exchange": value("tradeId"), "retail": value("tradeId")},
    "aggressor": {"exchange": value("aggressor"), "retail": value("aggressor")},
    "text": {"exchange": value("text"), "retail": value("text")},
    "commission": {
        "exchange": notional("commissionNotionalCollected"),
        "retail": money("commissionNotionalCollected"),
    },
    "trace": {"exchange": value("traceId"), "retail": value("traceId")},
    "reason": {"exchange": _reason, "retail": _reason},
}
TRADE: dict[str, dict[str, Read]] = {
    "state": {"exchange": word("state", "TRADE_STATE_"), "retail": word("state", "TRADE_STATE_")},
    "aggressor": {
        "exchange": at("aggressor", value("id")),
        "retail": at("aggressorExecution", value("id")),
    },
    "passive": {
        "exchange": at("passive", value("id")),
        "retail": at("passiveExecution", value("id")),
    },
    "price": {
        "exchange": at("aggressor", ticks("lastPx")),
        "retail": dollars("price"),
        "by quote": dollars("price"),
    },
    "quantity": {
        "exchange": at("aggressor", lots("lastShares")),
        "retail": contracts("qtyDecimal"),
        "by quote": contracts("qtyDecimal"),
    },
    "at": {
        "exchange": at("aggressor", value("transactTime")),
        "retail": value("createTime"),
        "by quote": value("executedTime"),
    },
    "side of the aggressor": {
        "exchange": at("aggressor.order", word("side", "SIDE_")),
        "retail": at("aggressorExecution.order", word("side", "ORDER_SIDE_")),
        "by quote": word("aggressorSide", "SIDE_"),
    },
    "symbol": {
        "exchange": at("aggressor.order", value("symbol")),
        "retail": value("marketSlug"),
        "by quote": value("symbol"),
    },
    "link": {"exchange": value("tradeLinkId"), "retail": value("tradeLinkId")},
}

# ---- events, requests for quotes, verifications


def _same(*names: str) -> dict[str, dict[str, Read]]:
    return {name: {"gateway": value(name)} for name in names}


EVENT: dict[str, dict[str, Read]] = {
    **_same("slug", "title", "live", "ended", "score", "period", "elapsed", "startTime", "active"),
    **_same("closed", "volume", "openInterest", "eventDate", "endDate", "eventState", "updatedAt"),
}


def _legs(row: dict[str, Any], scales: Scales) -> Any:
    return [(leg["symbol"], leg["side"]) for leg in row["comboLegs"]]


RFQ: dict[str, dict[str, Read]] = {
    "symbol": {"exchange": value("symbol"), "retail": value("symbol")},
    "status": {"exchange": value("status"), "retail": value("status")},
    "quantity": {"exchange": value("qtyDecimal"), "retail": value("qtyDecimal")},
    "by": {"exchange": value("rfqCreatorUserId"), "retail": value("rfqCreatorUserId")},
    "created": {"exchange": value("createdTime"), "retail": value("createdTime")},
    "updated": {"exchange": value("updatedTime"), "retail": value("updatedTime")},
    "legs": {"exchange": _legs, "retail": _legs},
}
QUOTE: dict[str, dict[str, Read]] = {
    "request": {"exchange": value("rfqId"), "retail": value("rfqId")},
    "status": {"exchange": value("status"), "retail": value("status")},
    "buy price": {"exchange": value("buyPrice"), "retail": value("buyPrice")},
    "sell price": {"exchange": value("sellPrice"), "retail": value("sellPrice")},
    "created": {"exchange": value("createdTime"), "retail": value("createdTime")},
    "by": {"exchange": value("creatorRfqUserId"), "retail": value("creatorRfqUserId")},
}
_DECIDED = {"kyc.approved": "ACCEPT", "kyc.rejected": "REJECT"}
VERIFICATION: dict[str, dict[str, Read]] = {
    "decision": {
        "status": value("decision"),
        "webhook": lambda row, scales: _DECIDED[row["type"]],
        "control": value("decision"),
    },
    "state of the case": {"status": at("status", value("status")), "control": value("status")},
    "in words": {"status": at("status", value("subStatus")), "control": value("sub_status")},
    "participant": {
        "status": value("participantId"),
        "webhook": value("participant_id"),
        "control": value("participant_id"),
    },
    "account": {"status": value("provisionedAccount"), "control": value("provisioned_account")},
}
IDENTITY: dict[str, dict[str, Read]] = {
    "account": {"accounts": value("account"), "key": value("account")},
    "name": {"whoami": value("name"), "users": value("name")},
    "firm": {"whoami": value("firm"), "users": value("firm")},
}

_PROGRAM = ("programType", "start", "end", "rewardPool", "status", "discountFactor", "targetSize")
PROGRAM: dict[str, dict[str, Read]] = {name: {"both": value(name)} for name in _PROGRAM}

FACTS: dict[str, dict[str, dict[str, Read]]] = {
    "market": MARKET,
    "position": POSITION,
    "order": ORDER,
    "execution": EXECUTION,
    "trade": TRADE,
    "balance": BALANCE,
    "move": MOVE,
    "transaction": TRANSACTION,
    "event": EVENT,
    "rfq": RFQ,
    "quote": QUOTE,
    "verification": VERIFICATION,
    "identity": IDENTITY,
    "transfer": TRANSFER,
    "program": PROGRAM,
}
