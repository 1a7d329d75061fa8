"""Facts about money: balances, moves of a ledger, transactions, transfers of partners."""

from __future__ import annotations

from typing import Any

from tests.spec.agreement.wording import Read, Scales, at, money, value, word

BALANCE: dict[str, dict[str, Read]] = {
    "cash": {
        "exchange": money("balance"),
        "retail": money("currentBalance"),
        "control": money("balance"),
        "ledger": money("afterBalance"),
        "pool": money("balance"),
    },
    "margin": {"exchange": money("marginRequirement"), "retail": money("marginRequirement")},
    "open orders": {
        "exchange": money("openOrders"),
        "retail": money("openOrders"),
        "control": money("open_orders"),
    },
    # the retail API takes open orders off
    "free": {
        "exchange": lambda row, s: money("buyingPower")(row, s) - money("openOrders")(row, s),
        "retail": money("buyingPower"),
        "control": lambda row, s: money("buying_power")(row, s) - money("open_orders")(row, s),
    },
}


def _signed(row: dict[str, Any], scales: Scales) -> Any:
    """A transaction says in a word of its own which way the money goes."""
    debit = row["ledgerEntryType"] == "LEDGER_ENTRY_TYPE_DEBIT"
    return -money("amount")(row, scales) if debit else money("amount")(row, scales)


MOVE: dict[str, dict[str, Read]] = {
    "before": {
        "exchange": money("beforeBalance"),
        "retail": at("beforeBalance", money("currentBalance")),
        "transaction": money("beforeBalance"),
    },
    "after": {
        "exchange": money("afterBalance"),
        "retail": at("afterBalance", money("currentBalance")),
        "transaction": money("afterBalance"),
    },
    "type": {"exchange": value("entryType"), "retail": word("entryType", "LEDGER_ENTRY_TYPE_")},
    "at": {
        "exchange": value("updateTime"),
        "retail": value("updateTime"),
        "activity": value("updateTime"),
        "transaction": value("transactTime"),
    },
    "security": {"exchange": value("modifiedSecurityId"), "retail": value("modifiedSecurityId")},
    "description": {"exchange": value("description"), "retail": value("description")},
    "account": {"exchange": value("account"), "retail": value("accountName")},
    "amount": {
        "exchange": lambda row, s: money("afterBalance")(row, s) - money("beforeBalance")(row, s),
        "activity": money("amount"),
        "transaction": _signed,
    },
}
TRANSACTION: dict[str, dict[str, Read]] = {
    "state": {
        "exchange": word("transactionState", "TRANSACTION_STATE_"),
        "control": value("state"),
    },
    "amount": {
        "exchange": lambda row, s: abs(money("amount")(row, s)),
        "control": lambda row, s: abs(money("amount")(row, s)),
    },
    "account": {"exchange": value("riskAccountId"), "control": value("account")},
}


def _customer(row: dict[str, Any], scales: Scales) -> Any:
    """The account of a transfer that is not the pool."""
    deposit = row["reason"] == "TRANSFER_REASON_DEPOSIT"
    return row["destinationAccountId" if deposit else "sourceAccountId"]


TRANSFER: dict[str, dict[str, Read]] = {
    "amount": {
        "transfer": money("amount"),
        "transaction": lambda row, scales: abs(money("amount")(row, scales)),
    },
    "account": {"transfer": _customer, "transaction": value("accountId")},
    "at": {"transfer": value("createdAt"), "transaction": value("createTime")},
    "is done": {
        "transfer": lambda row, scales: row["status"] == "CASH_MOVEMENT_STATUS_CONFIRMED",
        "transaction": lambda row, s: row["transactionState"] == "TRANSACTION_STATE_COMPLETED",
    },
}
