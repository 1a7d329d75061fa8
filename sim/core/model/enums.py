"""The exchange's enumerations.

Members have the numbers of the exchange contract (§2.7, §3), so `api` copies them.
Zero is a valid member in several of them and never means "missing":
OrderState.NEW, ExecutionType.NEW, InstrumentState.CLOSED.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Side(IntEnum):
    """Side of an order on the YES instrument."""

    UNDEFINED = 0
    BUY = 1
    SELL = 2


class OrderType(IntEnum):
    """Type of an order (rules M9-M13)."""

    UNDEFINED = 0
    MARKET_TO_LIMIT = 1
    LIMIT = 2
    STOP = 3
    STOP_LIMIT = 4


class TimeInForce(IntEnum):
    """How long an order stays active (rules M14-M18). UNDEFINED means DAY."""

    UNDEFINED = 0
    DAY = 1
    GOOD_TILL_CANCEL = 2
    IMMEDIATE_OR_CANCEL = 3
    GOOD_TILL_TIME = 4
    FILL_OR_KILL = 5


class OrderState(IntEnum):
    """State of an order (§3.4). All but FILLED, CANCELED, REJECTED and EXPIRED are live."""

    NEW = 0
    PARTIALLY_FILLED = 1
    FILLED = 2
    CANCELED = 3
    REPLACED = 4
    REJECTED = 5
    EXPIRED = 6
    PENDING_NEW = 7
    PENDING_REPLACE = 8
    PENDING_CANCEL = 9
    PENDING_RISK = 10


DONE_STATES = frozenset(
    {OrderState.FILLED, OrderState.CANCELED, OrderState.REJECTED, OrderState.EXPIRED}
)


class ExecutionType(IntEnum):
    """Type of an execution report."""

    NEW = 0
    PARTIAL_FILL = 1
    FILL = 2
    CANCELED = 3
    REPLACE = 4
    REJECTED = 5
    EXPIRED = 6
    DONE_FOR_DAY = 7


class RejectReason(IntEnum):
    """Why an order was rejected."""

    EXCHANGE_OPTION = 0
    UNKNOWN_SYMBOL = 1
    EXCHANGE_CLOSED = 2
    INCORRECT_QUANTITY = 3
    INVALID_PRICE_INCREMENT = 4
    INCORRECT_ORDER_TYPE = 5
    PRICE_OUT_OF_BOUNDS = 6
    NO_LIQUIDITY = 7


class CancelRejectReason(IntEnum):
    """Why a cancel or replace was refused."""

    EXCHANGE_OPTION = 0
    UNKNOWN_ORDER = 1
    EXCHANGE_CLOSED = 2
    INCORRECT_QUANTITY = 3
    INVALID_PRICE_INCREMENT = 4
    PRICE_OUT_OF_BOUNDS = 5


class UnsolicitedReason(IntEnum):
    """Why the exchange canceled an order without a request."""

    UNDEFINED = 0
    CONNECTION_LOSS = 1
    LOGOUT = 2
    EXCHANGE_OPTION = 3
    OTHER = 4


class SelfMatchPrevention(IntEnum):
    """What happens when two orders of one participant would trade (rules M26-M30)."""

    UNDEFINED = 0
    REJECT_AGGRESSOR = 1
    CANCEL_RESTING = 2
    REMOVE_BOTH = 3


class InstrumentState(IntEnum):
    """Lifecycle state of an instrument (§3.1, rule L1)."""

    CLOSED = 0
    OPEN = 1
    PREOPEN = 2
    SUSPENDED = 3
    EXPIRED = 4
    TERMINATED = 5
    HALTED = 6
    MATCH_AND_CLOSE_AUCTION = 7
    PENDING = 8


class TradeState(IntEnum):
    """Clearing state of a trade (rule M42)."""

    UNDEFINED = 0
    NEW = 1
    CLEARED = 2
    BUSTED = 3
    INFLIGHT = 4
    PENDING_RISK = 5
    PENDING_CLEARED = 6
    REJECTED = 7
    CLEARING_ACKNOWLEDGED = 8
    RETRY_REQUEST = 9


class TradeType(IntEnum):
    """How a trade arose."""

    UNDEFINED = 0
    REGULAR = 1
    REQUEST_FOR_QUOTE = 2
    BLOCK = 3
    CROSS = 4


class LedgerEntryType(IntEnum):
    """Kind of a cash ledger entry (rules P17, P18)."""

    UNDEFINED = 0
    DEPOSIT = 1
    WITHDRAWAL = 2
    ORDER_EXECUTION = 3
    CORRECTION = 4
    NETTING = 5
    RESOLUTION = 6
    MANUAL_ADJUSTMENT = 7
    SECURITY_BALANCE_ADJUSTMENT = 8
    SECURITY_MARK_TO_MARKET = 9
    ACCOUNT_PROPERTY_ADJUSTMENT = 10
    COMMISSION = 11
    CONTRACT_EXPIRATION = 12
    PENDING_CREDIT_ADJUSTMENT = 13
    BEGINNING_OF_DAY = 14
    SECURITY_WITHDRAWAL = 15
    WITHDRAWAL_REJECTION = 16
    MANUAL_TRANSFER = 17
    AVERAGE_PRICE_TRANSFER = 18
    GIVE_UP = 19
    SYNCHRONIZATION = 20
    INTEREST = 21
    PENDING_WITHDRAWAL_CREATION = 22
    SETTLEMENT_FEE = 23


class Channel(IntEnum):
    """The surface an order came from, which decides how business rejects are reported (rule M7)."""

    EXCHANGE = 0
    RETAIL = 1
    SCRIPT = 2


# Frequently used members, bound once: on Python 3.11, reading one through its class takes ten times
# as long as reading a name.
BUY: Final = Side.BUY
SELL: Final = Side.SELL
LIMIT: Final = OrderType.LIMIT
MARKET_TO_LIMIT: Final = OrderType.MARKET_TO_LIMIT
STOP: Final = OrderType.STOP
STOP_LIMIT: Final = OrderType.STOP_LIMIT
DAY_ORDER: Final = TimeInForce.DAY
IOC: Final = TimeInForce.IMMEDIATE_OR_CANCEL
FOK: Final = TimeInForce.FILL_OR_KILL
GTT: Final = TimeInForce.GOOD_TILL_TIME
UNPREVENTED: Final = SelfMatchPrevention.UNDEFINED
REJECT_AGGRESSOR: Final = SelfMatchPrevention.REJECT_AGGRESSOR
STOP_TYPES: Final = frozenset({STOP, STOP_LIMIT})
AT_ONCE: Final = frozenset({IOC, FOK})
OPEN: Final = InstrumentState.OPEN
EXCHANGE: Final = Channel.EXCHANGE
RETAIL: Final = Channel.RETAIL
SCRIPT: Final = Channel.SCRIPT
