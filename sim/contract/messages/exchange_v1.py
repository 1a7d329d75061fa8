# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum

from sim.contract.messages import Message


class FirmType(IntEnum):
    """What kind of firm it is."""

    FIRM_TYPE_UNDEFINED = 0
    FIRM_TYPE_PARTICIPANT = 1
    FIRM_TYPE_SUPERVISOR = 2
    FIRM_TYPE_CLEARING_MEMBER = 3
    FIRM_TYPE_CLEARING_HOUSE = 4
    FIRM_TYPE_AGENT = 5


class LedgerEntryType(IntEnum):
    """Why cash moved. Twelve types are internal: asking for one is ABORTED (§4.3)."""

    LEDGER_ENTRY_TYPE_UNDEFINED = 0
    LEDGER_ENTRY_TYPE_DEPOSIT = 1
    LEDGER_ENTRY_TYPE_WITHDRAWAL = 2
    LEDGER_ENTRY_TYPE_ORDER_EXECUTION = 3
    LEDGER_ENTRY_TYPE_CORRECTION = 4
    LEDGER_ENTRY_TYPE_NETTING = 5  # suppressed
    LEDGER_ENTRY_TYPE_RESOLUTION = 6
    LEDGER_ENTRY_TYPE_MANUAL_ADJUSTMENT = 7
    LEDGER_ENTRY_TYPE_SECURITY_BALANCE_ADJUSTMENT = 8  # suppressed
    LEDGER_ENTRY_TYPE_SECURITY_MARK_TO_MARKET = 9  # suppressed
    LEDGER_ENTRY_TYPE_ACCOUNT_PROPERTY_ADJUSTMENT = 10
    LEDGER_ENTRY_TYPE_COMMISSION = 11
    LEDGER_ENTRY_TYPE_CONTRACT_EXPIRATION = 12  # suppressed
    LEDGER_ENTRY_TYPE_PENDING_CREDIT_ADJUSTMENT = 13  # suppressed
    LEDGER_ENTRY_TYPE_BEGINNING_OF_DAY = 14  # suppressed
    LEDGER_ENTRY_TYPE_SECURITY_WITHDRAWAL = 15  # suppressed
    LEDGER_ENTRY_TYPE_WITHDRAWAL_REJECTION = 16
    LEDGER_ENTRY_TYPE_MANUAL_TRANSFER = 17
    LEDGER_ENTRY_TYPE_AVERAGE_PRICE_TRANSFER = 18  # suppressed
    LEDGER_ENTRY_TYPE_GIVE_UP = 19  # suppressed
    LEDGER_ENTRY_TYPE_SYNCHRONIZATION = 20  # suppressed
    LEDGER_ENTRY_TYPE_INTEREST = 21  # suppressed
    LEDGER_ENTRY_TYPE_PENDING_WITHDRAWAL_CREATION = 22
    LEDGER_ENTRY_TYPE_SETTLEMENT_FEE = 23  # suppressed


class FilterOperator(IntEnum):
    """How a column is compared. The numbers are unpublished: the published order is kept."""

    FILTER_OPERATOR_UNSPECIFIED = 0
    FILTER_OPERATOR_EQ = 1
    FILTER_OPERATOR_NE = 2
    FILTER_OPERATOR_LT = 3
    FILTER_OPERATOR_LE = 4
    FILTER_OPERATOR_GT = 5
    FILTER_OPERATOR_GE = 6
    FILTER_OPERATOR_LIKE = 7  # % stands for any text
    FILTER_OPERATOR_IN = 8
    FILTER_OPERATOR_NOT_IN = 9


class FundingSourceType(IntEnum):
    """Kind of source."""

    FUNDING_SOURCE_TYPE_UNDEFINED = 0
    FUNDING_SOURCE_TYPE_BANK_ACCOUNT = 1
    FUNDING_SOURCE_TYPE_AEROPAY_BANK_ACCOUNT = 2
    FUNDING_SOURCE_TYPE_CHECKOUT_CARD = 3
    FUNDING_SOURCE_TYPE_APPLE_PAY = 4


class FundingAccountType(IntEnum):
    """Kind of account."""

    ACCOUNT_TYPE_UNDEFINED = 0
    ACCOUNT_TYPE_CLEARING = 1
    ACCOUNT_TYPE_REVENUE = 2
    ACCOUNT_TYPE_HOLDING = 3
    ACCOUNT_TYPE_ADVANCE = 4


class FundingBankIdType(IntEnum):
    """Which code identifies a bank."""

    BANK_ID_TYPE_UNDEFINED = 0
    BANK_ID_TYPE_SWIFT = 1
    BANK_ID_TYPE_FED = 2
    BANK_ID_TYPE_OTHER = 3


class FundingCheckoutAccountHolderType(IntEnum):
    """Who holds a card."""

    FUNDING_CHECKOUT_ACCOUNT_HOLDER_TYPE_UNDEFINED = 0
    FUNDING_CHECKOUT_ACCOUNT_HOLDER_TYPE_INDIVIDUAL = 1
    FUNDING_CHECKOUT_ACCOUNT_HOLDER_TYPE_CORPORATE = 2
    FUNDING_CHECKOUT_ACCOUNT_HOLDER_TYPE_GOVERNMENT = 3


class FundingDayOfWeek(IntEnum):
    """Day of the week."""

    DAY_OF_WEEK_UNSPECIFIED = 0
    DAY_OF_WEEK_MONDAY = 1
    DAY_OF_WEEK_TUESDAY = 2
    DAY_OF_WEEK_WEDNESDAY = 3
    DAY_OF_WEEK_THURSDAY = 4
    DAY_OF_WEEK_FRIDAY = 5
    DAY_OF_WEEK_SATURDAY = 6
    DAY_OF_WEEK_SUNDAY = 7


class FundingTransactionType(IntEnum):
    """What a transaction is for."""

    TRANSACTION_TYPE_UNDEFINED = 0
    TRANSACTION_TYPE_DEPOSIT = 1
    TRANSACTION_TYPE_WITHDRAWAL = 2
    TRANSACTION_TYPE_TRANSFER = 3
    TRANSACTION_TYPE_MANUAL_ADJUSTMENT = 4
    TRANSACTION_TYPE_SETTLEMENT_FEE = 5
    TRANSACTION_TYPE_INTEREST_DEPOSIT = 6
    TRANSACTION_TYPE_EXECUTION_FEE = 7
    TRANSACTION_TYPE_DEPOSIT_ALLOCATION = 8
    TRANSACTION_TYPE_ADVANCE = 9
    TRANSACTION_TYPE_RETURN = 10
    TRANSACTION_TYPE_INCENTIVE = 11


class FundingTransactionState(IntEnum):
    """Where a transaction is in its course."""

    TRANSACTION_STATE_PENDING = 0
    TRANSACTION_STATE_ACKNOWLEDGED = 1
    TRANSACTION_STATE_COMPLETED = 2
    TRANSACTION_STATE_CANCELLED = 3
    TRANSACTION_STATE_ALLOCATED = 4
    TRANSACTION_STATE_PARTIALLY_REFUNDED = 5
    TRANSACTION_STATE_REFUNDED = 6
    TRANSACTION_STATE_PARTIALLY_RELEASED = 7
    TRANSACTION_STATE_RELEASED = 8
    TRANSACTION_STATE_PROCESSING = 9


class FundingReviewStatus(IntEnum):
    """Outcome of a manual review."""

    REVIEW_STATUS_UNDEFINED = 0
    REVIEW_STATUS_PENDING = 1
    REVIEW_STATUS_APPROVED = 2
    REVIEW_STATUS_REJECTED = 3
    REVIEW_STATUS_SKIPPED = 4


class FundingTransaction_FundingLedgerEntryType(IntEnum):
    """Direction of the money. Nested: its members share names with those of LedgerEntryType."""

    LEDGER_ENTRY_TYPE_UNDEFINED = 0
    LEDGER_ENTRY_TYPE_CREDIT = 1
    LEDGER_ENTRY_TYPE_DEBIT = 2


class InstrumentType(IntEnum):
    """Kind of contract."""

    INSTRUMENT_TYPE_UNSET = 0
    INSTRUMENT_TYPE_DEFAULT = 1
    INSTRUMENT_TYPE_FUTURE = 2
    INSTRUMENT_TYPE_OPTION = 3
    INSTRUMENT_TYPE_MULTILEG = 4
    INSTRUMENT_TYPE_IRS = 5
    INSTRUMENT_TYPE_FRA = 6
    INSTRUMENT_TYPE_FSIRS = 7
    INSTRUMENT_TYPE_BASIS = 8
    INSTRUMENT_TYPE_EVENT = 9
    INSTRUMENT_TYPE_OIS = 10
    INSTRUMENT_TYPE_SPS = 11
    INSTRUMENT_TYPE_NDF = 12
    INSTRUMENT_TYPE_FOREX = 13
    INSTRUMENT_TYPE_ZCIS = 14
    INSTRUMENT_TYPE_XCCY = 15


class CrossType(IntEnum):
    """How a cross trades."""

    CROSS_TYPE_UNDEFINED = 0
    CROSS_TYPE_ALL_OR_NONE = 1


class OrderType(IntEnum):
    """How an order meets the book."""

    ORDER_TYPE_UNDEFINED = 0
    ORDER_TYPE_MARKET_TO_LIMIT = 1
    ORDER_TYPE_LIMIT = 2
    ORDER_TYPE_STOP = 3
    ORDER_TYPE_STOP_LIMIT = 4


class TimeInForce(IntEnum):
    """How long an order lives."""

    TIME_IN_FORCE_UNDEFINED = 0
    TIME_IN_FORCE_DAY = 1
    TIME_IN_FORCE_GOOD_TILL_CANCEL = 2
    TIME_IN_FORCE_IMMEDIATE_OR_CANCEL = 3
    TIME_IN_FORCE_GOOD_TILL_TIME = 4
    TIME_IN_FORCE_FILL_OR_KILL = 5


class OrderState(IntEnum):
    """Where an order is in its life."""

    ORDER_STATE_NEW = 0
    ORDER_STATE_PARTIALLY_FILLED = 1
    ORDER_STATE_FILLED = 2
    ORDER_STATE_CANCELED = 3
    ORDER_STATE_REPLACED = 4  # live: the next fill makes it PARTIALLY_FILLED
    ORDER_STATE_REJECTED = 5
    ORDER_STATE_EXPIRED = 6
    ORDER_STATE_PENDING_NEW = 7
    ORDER_STATE_PENDING_REPLACE = 8
    ORDER_STATE_PENDING_CANCEL = 9
    ORDER_STATE_PENDING_RISK = 10  # not terminal


class ExecutionType(IntEnum):
    """What happened to an order."""

    EXECUTION_TYPE_NEW = 0
    EXECUTION_TYPE_PARTIAL_FILL = 1
    EXECUTION_TYPE_FILL = 2
    EXECUTION_TYPE_CANCELED = 3
    EXECUTION_TYPE_REPLACE = 4
    EXECUTION_TYPE_REJECTED = 5
    EXECUTION_TYPE_EXPIRED = 6  # no fill: last_shares and last_px stay 0 (§3.4)
    EXECUTION_TYPE_DONE_FOR_DAY = 7


class OrdRejectReason(IntEnum):
    """Why an order was rejected."""

    ORD_REJECT_REASON_EXCHANGE_OPTION = 0
    ORD_REJECT_REASON_UNKNOWN_SYMBOL = 1
    ORD_REJECT_REASON_EXCHANGE_CLOSED = 2
    ORD_REJECT_REASON_INCORRECT_QUANTITY = 3
    ORD_REJECT_REASON_INVALID_PRICE_INCREMENT = 4
    ORD_REJECT_REASON_INCORRECT_ORDER_TYPE = 5
    ORD_REJECT_REASON_PRICE_OUT_OF_BOUNDS = 6
    ORD_REJECT_REASON_NO_LIQUIDITY = 7


class CxlRejReason(IntEnum):
    """Why a cancel or replace was refused."""

    CXL_REJ_REASON_EXCHANGE_OPTION = 0
    CXL_REJ_REASON_UNKNOWN_ORDER = 1
    CXL_REJ_REASON_EXCHANGE_CLOSED = 2
    CXL_REJ_REASON_INCORRECT_QUANTITY = 3
    CXL_REJ_REASON_INVALID_PRICE_INCREMENT = 4
    CXL_REJ_REASON_PRICE_OUT_OF_BOUNDS = 5


class UnsolicitedCxlReason(IntEnum):
    """Why an order was canceled without its owner asking."""

    UNSOLICITED_CXL_REASON_UNDEFINED = 0
    UNSOLICITED_CXL_REASON_CONNECTION_LOSS = 1
    UNSOLICITED_CXL_REASON_LOGOUT = 2
    UNSOLICITED_CXL_REASON_EXCHANGE_OPTION = 3
    UNSOLICITED_CXL_REASON_OTHER = 4


class ConditionTriggerMethod(IntEnum):
    """Which price triggers a stop order."""

    CONDITION_TRIGGER_METHOD_UNDEFINED = 0
    CONDITION_TRIGGER_METHOD_LAST_PRICE = 1
    CONDITION_TRIGGER_METHOD_SETTLEMENT_PRICE = 2


class SelfMatchPreventionInstruction(IntEnum):
    """What happens when an order would trade with its own side."""

    SELF_MATCH_PREVENTION_INSTRUCTION_UNDEFINED = 0
    SELF_MATCH_PREVENTION_INSTRUCTION_REJECT_AGGRESSOR = 1
    SELF_MATCH_PREVENTION_INSTRUCTION_CANCEL_RESTING = 2
    SELF_MATCH_PREVENTION_INSTRUCTION_REMOVE_BOTH = 3


class OrderCapacity(IntEnum):
    """In which capacity an order is placed."""

    ORDER_CAPACITY_UNDEFINED = 0
    ORDER_CAPACITY_AGENCY = 1
    ORDER_CAPACITY_PRINCIPAL = 2
    ORDER_CAPACITY_PROPRIETARY = 3
    ORDER_CAPACITY_INDIVIDUAL = 4
    ORDER_CAPACITY_RISKLESS_PRINCIPAL = 5
    ORDER_CAPACITY_AGENT_FOR_OTHER_MEMBER = 6


class ManualOrderIndicator(IntEnum):
    """Whether a person or a program placed an order."""

    MANUAL_ORDER_INDICATOR_UNDEFINED = 0
    MANUAL_ORDER_INDICATOR_MANUAL = 1
    MANUAL_ORDER_INDICATOR_AUTOMATED = 2


class TradableFilter(IntEnum):
    """Whether to list tradable instruments, the others, or both."""

    TRADABLE_FILTER_UNSET = 0
    TRADABLE_FILTER_NON_TRADABLE = 1
    TRADABLE_FILTER_TRADABLE = 2


class OrderStateFilter(IntEnum):
    """Which orders to search, by state."""

    ORDER_STATE_FILTER_UNDEFINED = 0
    ORDER_STATE_FILTER_OPEN = 1
    ORDER_STATE_FILTER_CLOSED = 2
    ORDER_STATE_FILTER_NEW = 3
    ORDER_STATE_FILTER_PARTIALLY_FILLED = 4
    ORDER_STATE_FILTER_FILLED = 5
    ORDER_STATE_FILTER_CANCELED = 6
    ORDER_STATE_FILTER_REPLACED = 7
    ORDER_STATE_FILTER_REJECTED = 8
    ORDER_STATE_FILTER_EXPIRED = 9
    ORDER_STATE_FILTER_PENDING_RISK = 10


class RFQStatus(IntEnum):
    """Whether a request for quotes still takes quotes."""

    RFQ_STATUS_UNSPECIFIED = 0
    RFQ_STATUS_OPEN = 1
    RFQ_STATUS_CLOSED = 2  # withdrawn, or a quote was accepted


class QuoteStatus(IntEnum):
    """How far a quote has come."""

    QUOTE_STATUS_UNDEFINED = 0
    QUOTE_STATUS_ACTIVE = 1
    QUOTE_STATUS_CONFIRMED = 2
    QUOTE_STATUS_DELETED = 3  # withdrawn, declined, replaced or not confirmed in time
    QUOTE_STATUS_ACCEPTED = 4
    QUOTE_STATUS_EXECUTED = 5  # both orders were entered


class UserFilter(IntEnum):
    """Whose."""

    USER_FILTER_UNSPECIFIED = 0  # everybody's
    USER_FILTER_SELF = 1  # the caller's


class SportsDataProvider(IntEnum):
    """Who supplies sports data."""

    SPORTS_DATA_PROVIDER_UNSPECIFIED = 0
    SPORTS_DATA_PROVIDER_SPORTSDATAIO = 1
    SPORTS_DATA_PROVIDER_SPORTRADAR = 2


class TradeType(IntEnum):
    """How a trade came about."""

    TRADE_TYPE_UNDEFINED = 0
    TRADE_TYPE_REGULAR = 1
    TRADE_TYPE_REQUEST_FOR_QUOTE = 2
    TRADE_TYPE_BLOCK = 3
    TRADE_TYPE_CROSS = 4


class TradeState(IntEnum):
    """Where a trade is in clearing."""

    TRADE_STATE_UNDEFINED = 0
    TRADE_STATE_NEW = 1
    TRADE_STATE_CLEARED = 2
    TRADE_STATE_BUSTED = 3  # terminal: reverses the trade, which stays in history
    TRADE_STATE_INFLIGHT = 4
    TRADE_STATE_PENDING_RISK = 5
    TRADE_STATE_PENDING_CLEARED = 6
    TRADE_STATE_REJECTED = 7
    TRADE_STATE_CLEARING_ACKNOWLEDGED = 8
    TRADE_STATE_RETRY_REQUEST = 9


class Side(IntEnum):
    """Side of an order, always in YES terms."""

    SIDE_UNDEFINED = 0
    SIDE_BUY = 1
    SIDE_SELL = 2


class InstrumentState(IntEnum):
    """Where an instrument is in its lifecycle (§3.1)."""

    INSTRUMENT_STATE_CLOSED = 0  # zero, so an absent state reads as CLOSED
    INSTRUMENT_STATE_OPEN = 1
    INSTRUMENT_STATE_PREOPEN = 2
    INSTRUMENT_STATE_SUSPENDED = 3
    INSTRUMENT_STATE_EXPIRED = 4
    INSTRUMENT_STATE_TERMINATED = 5
    INSTRUMENT_STATE_HALTED = 6
    INSTRUMENT_STATE_MATCH_AND_CLOSE_AUCTION = 7
    INSTRUMENT_STATE_PENDING = 8


class KYCStatusType(IntEnum):
    """Where a user is in identity verification."""

    KYC_STATUS_TYPE_UNSPECIFIED = 0
    KYC_STATUS_TYPE_NONE = 1
    KYC_STATUS_TYPE_PENDING = 2
    KYC_STATUS_TYPE_APPROVED = 3
    KYC_STATUS_TYPE_REJECTED = 4
    KYC_STATUS_TYPE_ON_HOLD = 5


class Date(Message, kw_only=True):
    """A calendar day."""

    year: int = 0
    month: int = 0
    day: int = 0

    __full_name__ = "exchange.v1.Date"
    __wire__ = (
        (1, "year", "year", "int32", "", "", ()),
        (2, "month", "month", "int32", "", "", ()),
        (3, "day", "day", "int32", "", "", ()),
    )


class TimeOfDay(Message, kw_only=True):
    """A time of day on the exchange's clock."""

    hours: int = 0
    minutes: int = 0
    seconds: int = 0

    __full_name__ = "exchange.v1.TimeOfDay"
    __wire__ = (
        (1, "hours", "hours", "int32", "", "", ()),
        (2, "minutes", "minutes", "int32", "", "", ()),
        (3, "seconds", "seconds", "int32", "", "", ()),
    )


class Heartbeat(Message, kw_only=True):
    """Says that a stream is alive; carries nothing."""

    __full_name__ = "exchange.v1.Heartbeat"


class Order(Message, kw_only=True):
    """An order and what became of it so far (§2.7)."""

    id: str = ""  # given by the exchange
    type: int = 0
    side: int = 0
    order_qty: int = 0  # scaled by fractional_quantity_scale
    symbol: str = ""
    clord_id: str = ""
    time_in_force: int = 0  # unset means DAY
    account: str = ""
    cum_qty: int = 0  # filled so far, scaled
    avg_px: int = 0  # quantity-weighted mean, scaled by price_scale
    leaves_qty: int = 0  # still working, scaled
    state: int = 0
    participant: str = ""
    price: int = 0  # scaled by price_scale
    insert_time: int | None = None
    stop_price: int = 0  # scaled by price_scale
    min_qty: int = 0  # least quantity to fill at entry
    create_time: int | None = None
    all_or_none: bool = False  # whole quantity or nothing
    cross_id: str = ""
    host_cross_id: str = ""
    submitting_participant: str = ""  # who sent it on behalf of participant
    client_account_id: str = ""
    client_participant_id: str = ""
    parent_order_id: str = ""
    commissions_basis_points: str = ""  # decimal text
    participate_dont_initiate: bool = False  # post-only
    cash_order_qty: int = 0  # dollars × price_scale; excludes order_qty
    strict_limit: bool = False  # fills at exactly the limit price
    good_till_time: int | None = None  # needed by GOOD_TILL_TIME
    best_limit: bool = False  # price becomes the top of the own side
    immediately_executable_limit: bool = False  # price becomes the top of the other side
    last_trade_id: str = ""
    # scaled price → scaled quantity, over the order's life
    price_to_quantity_filled: dict[int, int] = {}
    # units of 1/(price_scale · fractional_quantity_scale) dollar
    commission_notional_total_collected: int = 0
    self_match_prevention_instruction: int = 0
    order_capacity: int = 0
    ignore_price_validity_checks: bool = False  # market-to-limit sells only
    last_transact_time: int | None = None
    price_scale: int = 0  # copied from the instrument at creation
    fractional_quantity_scale: int = 0  # copied from the instrument at creation (§2.7)
    maker_commissions_basis_points: str = ""  # decimal text
    manual_order_indicator: int = 0

    __full_name__ = "exchange.v1.Order"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "type", "type", "enum", "", "exchange.v1.OrderType", ()),
        (3, "side", "side", "enum", "", "exchange.v1.Side", ()),
        (4, "order_qty", "orderQty", "int64", "", "", ()),
        (5, "symbol", "symbol", "string", "", "", ()),
        (6, "clord_id", "clordId", "string", "", "", ()),
        (7, "time_in_force", "timeInForce", "enum", "", "exchange.v1.TimeInForce", ()),
        (8, "account", "account", "string", "", "", ()),
        (9, "cum_qty", "cumQty", "int64", "", "", ()),
        (10, "avg_px", "avgPx", "int64", "", "", ()),
        (11, "leaves_qty", "leavesQty", "int64", "", "", ()),
        (12, "state", "state", "enum", "", "exchange.v1.OrderState", ()),
        (13, "participant", "participant", "string", "", "", ()),
        (14, "price", "price", "int64", "", "", ()),
        (15, "insert_time", "insertTime", "timestamp", "", "", ()),
        (16, "stop_price", "stopPrice", "int64", "", "", ()),
        (17, "min_qty", "minQty", "int64", "", "", ()),
        (18, "create_time", "createTime", "timestamp", "", "", ()),
        (19, "all_or_none", "allOrNone", "bool", "", "", ()),
        (20, "cross_id", "crossId", "string", "", "", ()),
        (21, "host_cross_id", "hostCrossId", "string", "", "", ()),
        (22, "submitting_participant", "submittingParticipant", "string", "", "", ()),
        (23, "client_account_id", "clientAccountId", "string", "", "", ()),
        (24, "client_participant_id", "clientParticipantId", "string", "", "", ()),
        (25, "parent_order_id", "parentOrderId", "string", "", "", ()),
        (26, "commissions_basis_points", "commissionsBasisPoints", "string", "", "", ()),
        (27, "participate_dont_initiate", "participateDontInitiate", "bool", "", "", ()),
        (28, "cash_order_qty", "cashOrderQty", "int64", "", "", ()),
        (30, "strict_limit", "strictLimit", "bool", "", "", ()),
        (34, "good_till_time", "goodTillTime", "timestamp", "", "", ()),
        (36, "best_limit", "bestLimit", "bool", "", "", ()),
        (37, "immediately_executable_limit", "immediatelyExecutableLimit", "bool", "", "", ()),
        (39, "last_trade_id", "lastTradeId", "string", "", "", ()),
        (41, "price_to_quantity_filled", "priceToQuantityFilled", "int64", "map:int64", "", (("since", 1778472000000000000),)),
        (42, "commission_notional_total_collected", "commissionNotionalTotalCollected", "int64", "", "", ()),
        (43, "self_match_prevention_instruction", "selfMatchPreventionInstruction", "enum", "", "exchange.v1.SelfMatchPreventionInstruction", ()),
        (44, "order_capacity", "orderCapacity", "enum", "", "exchange.v1.OrderCapacity", ()),
        (45, "ignore_price_validity_checks", "ignorePriceValidityChecks", "bool", "", "", ()),
        (47, "last_transact_time", "lastTransactTime", "timestamp", "", "", ()),
        (48, "price_scale", "priceScale", "int64", "", "", ()),
        (49, "fractional_quantity_scale", "fractionalQuantityScale", "int64", "", "", (("since", 1778472000000000000),)),
        (50, "maker_commissions_basis_points", "makerCommissionsBasisPoints", "string", "", "", ()),
        (51, "manual_order_indicator", "manualOrderIndicator", "enum", "", "exchange.v1.ManualOrderIndicator", ()),
    )


class LegPrice(Message, kw_only=True):
    """Price and quantity of one leg of a multi-leg fill."""

    symbol: str = ""
    anchor: bool = False  # the other legs derive from this one
    px: int = 0  # scaled by price_scale
    qty: int = 0  # scaled by the quantity scale
    side: str = ""  # as text
    reference_px: int = 0  # what the leg price was derived from

    __full_name__ = "exchange.v1.LegPrice"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", ()),
        (2, "anchor", "anchor", "bool", "", "", ()),
        (3, "px", "px", "int64", "", "", ()),
        (4, "qty", "qty", "int64", "", "", ()),
        (5, "side", "side", "string", "", "", ()),
        (6, "reference_px", "referencePx", "int64", "", "", ()),
    )


class Execution(Message, kw_only=True):
    """Something that happened to an order (§2.7)."""

    id: str = ""  # dedupe key
    order: Order | None = None  # as it is after this event
    last_shares: int = 0  # quantity of this fill, scaled
    last_px: int = 0  # price of this fill, scaled
    type: int = 0
    text: str = ""
    order_reject_reason: int = 0
    transact_time: int | None = None
    leg_prices: list[LegPrice] = []  # of a multi-leg instrument
    trade_id: str = ""  # of a fill, shared by both sides
    aggressor: bool = False  # true on the taker's side
    # units of 1/(price_scale · fractional_quantity_scale) dollar; negative is a rebate
    commission_notional_collected: int = 0
    unsolicited_cancel_reason: int = 0
    trace_id: str = ""
    # price of this fill with a commission taken as a spread: last_px, as none is
    commission_spread_px: int = 0
    transact_trade_date: Date | None = None  # the trade day rolls at 17:00 Eastern
    block_trade_indicator: bool = False  # the fill came from a block trade

    __full_name__ = "exchange.v1.Execution"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "order", "order", "message", "", "exchange.v1.Order", ()),
        (3, "last_shares", "lastShares", "int64", "", "", ()),
        (4, "last_px", "lastPx", "int64", "", "", ()),
        (5, "type", "type", "enum", "", "exchange.v1.ExecutionType", ()),
        (6, "text", "text", "string", "", "", ()),
        (7, "order_reject_reason", "orderRejectReason", "enum", "", "exchange.v1.OrdRejectReason", ()),
        (8, "transact_time", "transactTime", "timestamp", "", "", ()),
        (9, "leg_prices", "legPrices", "message", "repeated", "exchange.v1.LegPrice", ()),
        (10, "trade_id", "tradeId", "string", "", "", ()),
        (11, "aggressor", "aggressor", "bool", "", "", ()),
        (12, "commission_notional_collected", "commissionNotionalCollected", "int64", "", "", (("since", 1776052800000000000),)),
        (13, "unsolicited_cancel_reason", "unsolicitedCancelReason", "enum", "", "exchange.v1.UnsolicitedCxlReason", ()),
        (14, "trace_id", "traceId", "string", "", "", ()),
        (15, "commission_spread_px", "commissionSpreadPx", "int64", "", "", (("since", 1776052800000000000),)),
        (16, "transact_trade_date", "transactTradeDate", "message", "", "exchange.v1.Date", (("since", 1776052800000000000),)),
        (1001, "block_trade_indicator", "blockTradeIndicator", "bool", "", "", (("unpublished", True),)),
    )


class CancelReject(Message, kw_only=True):
    """A cancel or replace that was refused; the order stays as it was."""

    order_id: str = ""
    reject_reason: int = 0
    text: str = ""
    is_replace: bool = False  # a replace was refused, not a cancel
    clord_id: str = ""
    transact_time: int | None = None

    __full_name__ = "exchange.v1.CancelReject"
    __wire__ = (
        (1, "order_id", "orderId", "string", "", "", ()),
        (2, "reject_reason", "rejectReason", "enum", "", "exchange.v1.CxlRejReason", ()),
        (3, "text", "text", "string", "", "", ()),
        (4, "is_replace", "isReplace", "bool", "", "", ()),
        (5, "clord_id", "clordId", "string", "", "", ()),
        (6, "transact_time", "transactTime", "timestamp", "", "", ()),
    )


class InsertOrderRequest(Message, kw_only=True):
    """A new order."""

    type: int = 0
    side: int = 0
    order_qty: int = 0  # scaled by fractional_quantity_scale
    symbol: str = ""
    price: int = 0  # scaled by price_scale; required for LIMIT and STOP_LIMIT
    time_in_force: int = 0  # unset means DAY; required in an order of a partner
    clord_id: str = ""  # required in an order of a partner for a participant
    # unset means the participant's own; required in a cross and in an order of a partner
    account: str = ""
    stop_price: int = 0  # scaled by price_scale; required for STOP and STOP_LIMIT
    min_qty: int = 0  # least quantity to fill at entry
    self_match_prevention_id: str = ""  # orders that share it never trade with each other
    quote: str = ""  # quote this order answers
    all_or_none: bool = False  # whole quantity or nothing
    session_id: str = ""  # of an order subscription of the account; assumption orders.session_id
    user: str = ""  # resource name
    client_account_id: str = ""
    client_participant_id: str = ""
    participate_dont_initiate: bool = False  # post-only
    cash_order_qty: int = 0  # dollars × price_scale; excludes order_qty
    strict_limit: bool = False  # fills at exactly the limit price
    good_till_time: int | None = None  # required for GOOD_TILL_TIME
    best_limit: bool = False  # price becomes the top of the own side
    immediately_executable_limit: bool = False  # price becomes the top of the other side
    self_match_prevention_instruction: int = 0
    order_capacity: int = 0
    ignore_price_validity_checks: bool = False  # market-to-limit sells only
    manual_order_indicator: int = 0  # required in an order of a partner

    __full_name__ = "exchange.v1.InsertOrderRequest"
    __wire__ = (
        (1, "type", "type", "enum", "", "exchange.v1.OrderType", (("required", True),)),
        (2, "side", "side", "enum", "", "exchange.v1.Side", (("required", True),)),
        (3, "order_qty", "orderQty", "int64", "", "", ()),
        (4, "symbol", "symbol", "string", "", "", (("required", True),)),
        (5, "price", "price", "int64", "", "", ()),
        (6, "time_in_force", "timeInForce", "enum", "", "exchange.v1.TimeInForce", ()),
        (7, "clord_id", "clordId", "string", "", "", ()),
        (8, "account", "account", "string", "", "", ()),
        (9, "stop_price", "stopPrice", "int64", "", "", ()),
        (10, "min_qty", "minQty", "int64", "", "", ()),
        (14, "self_match_prevention_id", "selfMatchPreventionId", "string", "", "", ()),
        (15, "quote", "quote", "string", "", "", ()),
        (16, "all_or_none", "allOrNone", "bool", "", "", ()),
        (17, "session_id", "sessionId", "string", "", "", ()),
        (18, "user", "user", "string", "", "", ()),
        (19, "client_account_id", "clientAccountId", "string", "", "", ()),
        (20, "client_participant_id", "clientParticipantId", "string", "", "", ()),
        (21, "participate_dont_initiate", "participateDontInitiate", "bool", "", "", ()),
        (22, "cash_order_qty", "cashOrderQty", "int64", "", "", ()),
        (24, "strict_limit", "strictLimit", "bool", "", "", ()),
        (25, "good_till_time", "goodTillTime", "timestamp", "", "", ()),
        (26, "best_limit", "bestLimit", "bool", "", "", ()),
        (27, "immediately_executable_limit", "immediatelyExecutableLimit", "bool", "", "", ()),
        (29, "self_match_prevention_instruction", "selfMatchPreventionInstruction", "enum", "", "exchange.v1.SelfMatchPreventionInstruction", ()),
        (30, "order_capacity", "orderCapacity", "enum", "", "exchange.v1.OrderCapacity", ()),
        (31, "ignore_price_validity_checks", "ignorePriceValidityChecks", "bool", "", "", ()),
        (32, "manual_order_indicator", "manualOrderIndicator", "enum", "", "exchange.v1.ManualOrderIndicator", ()),
    )
    __needs__ = ("order_qty | cash_order_qty",)


class InsertOrderResponse(Message, kw_only=True):
    """Receipt of an order."""

    order_id: str = ""

    __full_name__ = "exchange.v1.InsertOrderResponse"
    __wire__ = (
        (1, "order_id", "orderId", "string", "", "", ()),
    )


class PreviewOrderRequest(Message, kw_only=True):
    """An order to try."""

    request: InsertOrderRequest | None = None  # the order to try

    __full_name__ = "exchange.v1.PreviewOrderRequest"
    __wire__ = (
        (1, "request", "request", "message", "", "exchange.v1.InsertOrderRequest", (("required", True),)),
    )


class PreviewOrderResponse(Message, kw_only=True):
    """The order as it would be."""

    preview_order: Order | None = None

    __full_name__ = "exchange.v1.PreviewOrderResponse"
    __wire__ = (
        (1, "preview_order", "previewOrder", "message", "", "exchange.v1.Order", ()),
    )


class InsertOrderCrossRequest(Message, kw_only=True):
    """The two sides of a cross."""

    requests: list[InsertOrderRequest] = []  # two: a buy and a sell, each with its account
    cross_type: int = 0
    cross_id: str = ""
    # which side counts as there first: its limit is the price; unset means the first request
    cross_prioritized_side: int = 0

    __full_name__ = "exchange.v1.InsertOrderCrossRequest"
    __wire__ = (
        (1, "requests", "requests", "message", "repeated", "exchange.v1.InsertOrderRequest", (("required", True),)),
        (2, "cross_type", "crossType", "enum", "", "exchange.v1.CrossType", (("required", True),)),
        (3, "cross_id", "crossId", "string", "", "", ()),
        (4, "cross_prioritized_side", "crossPrioritizedSide", "enum", "", "exchange.v1.Side", ()),
    )


class InsertOrderCrossResponse(Message, kw_only=True):
    """Receipts of both sides."""

    responses: list[InsertOrderResponse] = []  # in the order of the requests

    __full_name__ = "exchange.v1.InsertOrderCrossResponse"
    __wire__ = (
        (1, "responses", "responses", "message", "repeated", "exchange.v1.InsertOrderResponse", ()),
    )


class InsertOrderListRequest(Message, kw_only=True):
    """Several new orders."""

    requests: list[InsertOrderRequest] = []  # at most 20

    __full_name__ = "exchange.v1.InsertOrderListRequest"
    __wire__ = (
        (1, "requests", "requests", "message", "repeated", "exchange.v1.InsertOrderRequest", (("required", True),)),
    )


class InsertOrderListResponse(Message, kw_only=True):
    """Receipts of the orders."""

    responses: list[InsertOrderResponse] = []  # in the order of the requests

    __full_name__ = "exchange.v1.InsertOrderListResponse"
    __wire__ = (
        (1, "responses", "responses", "message", "repeated", "exchange.v1.InsertOrderResponse", ()),
    )


class CancelOrderRequest(Message, kw_only=True):
    """Which order to cancel; either id will do."""

    order_id: str = ""
    clord_id: str = ""
    symbol: str = ""

    __full_name__ = "exchange.v1.CancelOrderRequest"
    __wire__ = (
        (1, "order_id", "orderId", "string", "", "", ()),
        (2, "clord_id", "clordId", "string", "", "", ()),
        (3, "symbol", "symbol", "string", "", "", ()),
    )
    __needs__ = ("order_id | clord_id",)


class CancelOrderResponse(Message, kw_only=True):
    """The cancel was taken."""

    __full_name__ = "exchange.v1.CancelOrderResponse"


class CancelOrderListRequest(Message, kw_only=True):
    """Several orders to cancel."""

    requests: list[CancelOrderRequest] = []  # at most 20

    __full_name__ = "exchange.v1.CancelOrderListRequest"
    __wire__ = (
        (1, "requests", "requests", "message", "repeated", "exchange.v1.CancelOrderRequest", (("required", True),)),
    )


class CancelOrderListResponse(Message, kw_only=True):
    """The cancels were taken."""

    responses: list[CancelOrderResponse] = []  # in the order of the requests

    __full_name__ = "exchange.v1.CancelOrderListResponse"
    __wire__ = (
        (1, "responses", "responses", "message", "repeated", "exchange.v1.CancelOrderResponse", ()),
    )


class CancelReplaceOrderRequest(Message, kw_only=True):
    """The order to change and its new terms."""

    order_id: str = ""
    clord_id: str = ""
    symbol: str = ""
    price: int = 0  # scaled by price_scale
    order_qty: int = 0  # new total, filled part included; scaled
    time_in_force: int = 0  # unset keeps the old one
    stop_price: int = 0  # scaled by price_scale
    min_qty: int = 0
    all_or_none: bool = False  # whole quantity or nothing
    participate_dont_initiate: bool = False  # post-only
    strict_limit: bool = False  # fills at exactly the limit price
    good_till_time: int | None = None  # required for a change to GOOD_TILL_TIME
    best_limit: bool = False  # price becomes the top of the own side
    immediately_executable_limit: bool = False  # price becomes the top of the other side
    manual_order_indicator: int = 0

    __full_name__ = "exchange.v1.CancelReplaceOrderRequest"
    __wire__ = (
        (1, "order_id", "orderId", "string", "", "", ()),
        (2, "clord_id", "clordId", "string", "", "", ()),
        (3, "symbol", "symbol", "string", "", "", ()),
        (4, "price", "price", "int64", "", "", ()),
        (5, "order_qty", "orderQty", "int64", "", "", ()),
        (6, "time_in_force", "timeInForce", "enum", "", "exchange.v1.TimeInForce", ()),
        (7, "stop_price", "stopPrice", "int64", "", "", ()),
        (8, "min_qty", "minQty", "int64", "", "", ()),
        (9, "all_or_none", "allOrNone", "bool", "", "", ()),
        (10, "participate_dont_initiate", "participateDontInitiate", "bool", "", "", ()),
        (12, "strict_limit", "strictLimit", "bool", "", "", ()),
        (13, "good_till_time", "goodTillTime", "timestamp", "", "", ()),
        (14, "best_limit", "bestLimit", "bool", "", "", ()),
        (15, "immediately_executable_limit", "immediatelyExecutableLimit", "bool", "", "", ()),
        (16, "manual_order_indicator", "manualOrderIndicator", "enum", "", "exchange.v1.ManualOrderIndicator", ()),
    )
    __needs__ = ("order_id | clord_id",)


class CancelReplaceOrderResponse(Message, kw_only=True):
    """The replace was taken."""

    __full_name__ = "exchange.v1.CancelReplaceOrderResponse"


class CancelReplaceOrderListRequest(Message, kw_only=True):
    """Several orders to change."""

    requests: list[CancelReplaceOrderRequest] = []  # at most 20

    __full_name__ = "exchange.v1.CancelReplaceOrderListRequest"
    __wire__ = (
        (1, "requests", "requests", "message", "repeated", "exchange.v1.CancelReplaceOrderRequest", (("required", True),)),
    )


class CancelReplaceOrderListResponse(Message, kw_only=True):
    """The replaces were taken."""

    responses: list[CancelReplaceOrderResponse] = []  # in the order of the requests

    __full_name__ = "exchange.v1.CancelReplaceOrderListResponse"
    __wire__ = (
        (1, "responses", "responses", "message", "repeated", "exchange.v1.CancelReplaceOrderResponse", ()),
    )


class CreateOrderSubscriptionRequest(Message, kw_only=True):
    """Which orders to follow."""

    symbols: list[str] = []  # empty means all
    accounts: list[str] = []  # resource names; empty means all of the caller's
    snapshot_only: bool = False  # end after the snapshot

    __full_name__ = "exchange.v1.CreateOrderSubscriptionRequest"
    __wire__ = (
        (1, "symbols", "symbols", "string", "repeated", "", ()),
        (2, "accounts", "accounts", "string", "repeated", "", ()),
        (3, "snapshot_only", "snapshotOnly", "bool", "", "", ()),
    )


class CreateOrderSubscriptionResponse(Message, kw_only=True):
    """One message of the order stream."""

    heartbeat: Heartbeat | None = None
    snapshot: CreateOrderSubscriptionResponse_Snapshot | None = None
    update: CreateOrderSubscriptionResponse_Update | None = None
    session_id: str = ""  # identity of this stream
    processed_sent_time: int | None = None  # when the exchange sent it

    __full_name__ = "exchange.v1.CreateOrderSubscriptionResponse"
    __wire__ = (
        (1, "heartbeat", "heartbeat", "message", "oneof:event", "exchange.v1.Heartbeat", ()),
        (2, "snapshot", "snapshot", "message", "oneof:event", "exchange.v1.CreateOrderSubscriptionResponse.Snapshot", ()),
        (3, "update", "update", "message", "oneof:event", "exchange.v1.CreateOrderSubscriptionResponse.Update", ()),
        (4, "session_id", "sessionId", "string", "", "", ()),
        (5, "processed_sent_time", "processedSentTime", "timestamp", "", "", ()),
    )


class CreateOrderSubscriptionResponse_Snapshot(Message, kw_only=True):
    """Open orders when the stream began; may come in several messages."""

    orders: list[Order] = []

    __full_name__ = "exchange.v1.CreateOrderSubscriptionResponse.Snapshot"
    __wire__ = (
        (1, "orders", "orders", "message", "repeated", "exchange.v1.Order", ()),
    )


class CreateOrderSubscriptionResponse_Update(Message, kw_only=True):
    """What changed: executions, or one refused cancel or replace."""

    executions: list[Execution] = []
    cancel_reject: CancelReject | None = None

    __full_name__ = "exchange.v1.CreateOrderSubscriptionResponse.Update"
    __wire__ = (
        (1, "executions", "executions", "message", "repeated", "exchange.v1.Execution", ()),
        (2, "cancel_reject", "cancelReject", "message", "", "exchange.v1.CancelReject", ()),
    )


class GetOpenOrdersRequest(Message, kw_only=True):
    """Which open orders to list."""

    symbols: list[str] = []  # empty means all
    accounts: list[str] = []  # resource names; empty means all of the caller's

    __full_name__ = "exchange.v1.GetOpenOrdersRequest"
    __wire__ = (
        (1, "symbols", "symbols", "string", "repeated", "", ()),
        (2, "accounts", "accounts", "string", "repeated", "", ()),
    )


class GetOpenOrdersResponse(Message, kw_only=True):
    """Open orders."""

    orders: list[Order] = []

    __full_name__ = "exchange.v1.GetOpenOrdersResponse"
    __wire__ = (
        (1, "orders", "orders", "message", "repeated", "exchange.v1.Order", ()),
    )


class BookEntry(Message, kw_only=True):
    """One price level, or one order when unaggregated."""

    px: int = 0  # scaled by price_scale
    qty: int = 0  # total at the price, scaled
    symbol_sub_type: str = ""  # always empty

    __full_name__ = "exchange.v1.BookEntry"
    __wire__ = (
        (1, "px", "px", "int64", "", "", ()),
        (2, "qty", "qty", "int64", "", "", ()),
        (3, "symbol_sub_type", "symbolSubType", "string", "", "", (("omit_empty", True),)),
    )


class InstrumentStats(Message, kw_only=True):
    """Statistics of an instrument (§2.5); unset where nothing is known."""

    open_px: int | None = None
    close_px: int | None = None
    low_px: int | None = None
    high_px: int | None = None
    last_trade_px: int | None = None
    indicative_open_px: int | None = None  # what an auction would trade at now
    settlement_px: int | None = None  # 0 is a price: NO won
    shares_traded: int | None = None
    notional_traded: int | None = None
    open_interest: int | None = None
    settlement_preliminary: bool | None = None  # may still change
    settlement_price_calculation_method: str | None = None
    settlement_price_calculation_text: str | None = None  # names the outcome
    last_trade_qty: int | None = None
    settlement_set_time: int | None = None  # only in a settled state

    __full_name__ = "exchange.v1.InstrumentStats"
    __wire__ = (
        (1, "open_px", "openPx", "int64", "optional", "", ()),
        (2, "close_px", "closePx", "int64", "optional", "", ()),
        (3, "low_px", "lowPx", "int64", "optional", "", ()),
        (4, "high_px", "highPx", "int64", "optional", "", ()),
        (5, "last_trade_px", "lastTradePx", "int64", "optional", "", ()),
        (6, "indicative_open_px", "indicativeOpenPx", "int64", "optional", "", ()),
        (7, "settlement_px", "settlementPx", "int64", "optional", "", ()),
        (8, "shares_traded", "sharesTraded", "int64", "optional", "", ()),
        (9, "notional_traded", "notionalTraded", "int64", "optional", "", ()),
        (10, "open_interest", "openInterest", "int64", "optional", "", ()),
        (11, "settlement_preliminary", "settlementPreliminary", "bool", "optional", "", ()),
        (12, "settlement_price_calculation_method", "settlementPriceCalculationMethod", "string", "optional", "", ()),
        (13, "settlement_price_calculation_text", "settlementPriceCalculationText", "string", "optional", "", ()),
        (14, "last_trade_qty", "lastTradeQty", "int64", "optional", "", (("since", 1777608000000000000),)),
        (15, "settlement_set_time", "settlementSetTime", "timestamp", "optional", "", (("since", 1777608000000000000),)),
    )


class MarketDataUpdate(Message, kw_only=True):
    """The whole book of one instrument: it replaces the one before."""

    symbol: str = ""
    bids: list[BookEntry] = []  # best first
    offers: list[BookEntry] = []  # best first
    state: int | None = None
    stats: InstrumentStats | None = None
    transact_time: int | None = None
    book_hidden: bool = False
    price_scale: int | None = None  # only when subscribed to all symbols
    quantity_scale: int | None = None  # only when subscribed to all symbols

    __full_name__ = "exchange.v1.MarketDataUpdate"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", ()),
        (2, "bids", "bids", "message", "repeated", "exchange.v1.BookEntry", ()),
        (3, "offers", "offers", "message", "repeated", "exchange.v1.BookEntry", ()),
        (4, "state", "state", "enum", "optional", "exchange.v1.InstrumentState", ()),
        (5, "stats", "stats", "message", "", "exchange.v1.InstrumentStats", ()),
        (6, "transact_time", "transactTime", "timestamp", "", "", ()),
        (7, "book_hidden", "bookHidden", "bool", "", "", ()),
        (8, "price_scale", "priceScale", "int64", "optional", "", ()),
        (9, "quantity_scale", "quantityScale", "int64", "optional", "", ()),
    )


class GetWhoAmIRequest(Message, kw_only=True):
    """Nothing to say."""

    __full_name__ = "exchange.v1.GetWhoAmIRequest"


class GetWhoAmIResponse(Message, kw_only=True):
    """The caller."""

    user: str = ""  # firms/<firm>/users/<user>
    user_display_name: str = ""
    firm: str = ""  # bare name
    firm_display_name: str = ""
    audience: str = ""  # of the token
    firm_type: int = 0

    __full_name__ = "exchange.v1.GetWhoAmIResponse"
    __wire__ = (
        (1, "user", "user", "string", "", "", ()),
        (2, "user_display_name", "userDisplayName", "string", "", "", ()),
        (3, "firm", "firm", "string", "", "", ()),
        (4, "firm_display_name", "firmDisplayName", "string", "", "", ()),
        (5, "audience", "audience", "string", "", "", (("address", True),)),
        (6, "firm_type", "firmType", "enum", "", "exchange.v1.FirmType", ()),
    )


class ListAccountsRequest(Message, kw_only=True):
    """Whose accounts."""

    user: str = ""  # resource name; empty means the caller

    __full_name__ = "exchange.v1.ListAccountsRequest"
    __wire__ = (
        (1, "user", "user", "string", "", "", ()),
    )


class ListAccountsResponse(Message, kw_only=True):
    """Accounts and their names."""

    accounts: list[str] = []  # firms/<firm>/accounts/<account>
    display_names: list[str] = []  # parallel

    __full_name__ = "exchange.v1.ListAccountsResponse"
    __wire__ = (
        (1, "accounts", "accounts", "string", "repeated", "", ()),
        (2, "display_names", "displayNames", "string", "repeated", "", ()),
    )


class BalanceLedgerEntry(Message, kw_only=True):
    """One change of a cash balance."""

    id: str = ""
    account: str = ""
    currency: str = ""  # ISO 4217 code
    before_balance: str = ""  # decimal text
    after_balance: str = ""  # decimal text
    description: str = ""
    update_time: int | None = None  # also the next resume_time
    modified_security_id: str = ""  # if a security moved
    entry_type: int = 0
    symbol: str = ""
    update_business_date: str = ""  # YYYY-MM-DD; the day rolls at 17:00 Eastern

    __full_name__ = "exchange.v1.BalanceLedgerEntry"
    __wire__ = (
        (1001, "id", "id", "string", "", "", (("unpublished", True),)),
        (1002, "account", "account", "string", "", "", (("unpublished", True),)),
        (1003, "currency", "currency", "string", "", "", (("unpublished", True),)),
        (1004, "before_balance", "beforeBalance", "string", "", "", (("unpublished", True),)),
        (1005, "after_balance", "afterBalance", "string", "", "", (("unpublished", True),)),
        (1006, "description", "description", "string", "", "", (("unpublished", True),)),
        (1007, "update_time", "updateTime", "timestamp", "", "", (("unpublished", True),)),
        (1008, "modified_security_id", "modifiedSecurityId", "string", "", "", (("unpublished", True),)),
        (1009, "entry_type", "entryType", "enum", "", "exchange.v1.LedgerEntryType", (("unpublished", True), ("bare_enum", "LEDGER_ENTRY_TYPE_"), ("other_prefix", "LEDGER_ENTRY_TYPE_BALANCE_"),)),
        (1010, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1011, "update_business_date", "updateBusinessDate", "string", "", "", (("unpublished", True),)),
    )


class GetAccountBalanceLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: str = ""
    currency: str = ""  # empty means all
    start_time: int | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: int | None = None  # inclusive
    entry_types: list[int] = []  # empty means every public type
    symbol: str = ""
    description: str = ""  # part of the text, at most 200 characters
    newest_first: bool = False  # descending by time
    page_size: int = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before

    __full_name__ = "exchange.v1.GetAccountBalanceLedgerRequest"
    __wire__ = (
        (1001, "account", "account", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "currency", "currency", "string", "", "", (("unpublished", True),)),
        (1003, "start_time", "startTime", "timestamp", "", "", (("unpublished", True),)),
        (1004, "end_time", "endTime", "timestamp", "", "", (("unpublished", True),)),
        (1005, "entry_types", "entryTypes", "enum", "repeated", "exchange.v1.LedgerEntryType", (("unpublished", True), ("bare_enum", "LEDGER_ENTRY_TYPE_"), ("other_prefix", "LEDGER_ENTRY_TYPE_BALANCE_"),)),
        (1006, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1007, "description", "description", "string", "", "", (("unpublished", True),)),
        (1008, "newest_first", "newestFirst", "bool", "", "", (("unpublished", True),)),
        (1009, "page_size", "pageSize", "int32", "", "", (("unpublished", True),)),
        (1010, "page_token", "pageToken", "string", "", "", (("unpublished", True),)),
    )


class GetAccountBalanceLedgerResponse(Message, kw_only=True):
    """One page of entries."""

    entries: list[BalanceLedgerEntry] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.GetAccountBalanceLedgerResponse"
    __wire__ = (
        (1001, "entries", "entries", "message", "repeated", "exchange.v1.BalanceLedgerEntry", (("unpublished", True),)),
        (1002, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True), ("unpublished", True),)),
        (1003, "eof", "eof", "bool", "", "", (("unpublished", True),)),
    )


class DownloadBalanceLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: str = ""
    currency: str = ""  # empty means all
    start_time: int | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: int | None = None  # inclusive
    entry_types: list[int] = []  # empty means every public type
    symbol: str = ""
    description: str = ""  # part of the text, at most 200 characters
    newest_first: bool = False  # descending by time
    page_size: int = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before

    __full_name__ = "exchange.v1.DownloadBalanceLedgerRequest"
    __wire__ = (
        (1001, "account", "account", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "currency", "currency", "string", "", "", (("unpublished", True),)),
        (1003, "start_time", "startTime", "timestamp", "", "", (("unpublished", True),)),
        (1004, "end_time", "endTime", "timestamp", "", "", (("unpublished", True),)),
        (1005, "entry_types", "entryTypes", "enum", "repeated", "exchange.v1.LedgerEntryType", (("unpublished", True), ("bare_enum", "LEDGER_ENTRY_TYPE_"), ("other_prefix", "LEDGER_ENTRY_TYPE_BALANCE_"),)),
        (1006, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1007, "description", "description", "string", "", "", (("unpublished", True),)),
        (1008, "newest_first", "newestFirst", "bool", "", "", (("unpublished", True),)),
        (1009, "page_size", "pageSize", "int32", "", "", (("unpublished", True),)),
        (1010, "page_token", "pageToken", "string", "", "", (("unpublished", True),)),
    )


class DownloadBalanceLedgerResponse(Message, kw_only=True):
    """A piece of the file."""

    data: bytes = b""  # next piece of the CSV

    __full_name__ = "exchange.v1.DownloadBalanceLedgerResponse"
    __wire__ = (
        (1001, "data", "data", "bytes", "", "", (("unpublished", True),)),
    )


class CreateBalanceLedgerSubscriptionRequest(Message, kw_only=True):
    """Which account, from when."""

    account: str = ""
    currency: str = ""  # empty means all
    entry_types: list[int] = []  # empty means every public type
    resume_time: int | None = None  # inclusive, floor 2026-05-01T00:00:00Z; unset means live only

    __full_name__ = "exchange.v1.CreateBalanceLedgerSubscriptionRequest"
    __wire__ = (
        (1001, "account", "account", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "currency", "currency", "string", "", "", (("unpublished", True),)),
        (1003, "entry_types", "entryTypes", "enum", "repeated", "exchange.v1.LedgerEntryType", (("unpublished", True), ("bare_enum", "LEDGER_ENTRY_TYPE_"), ("other_prefix", "LEDGER_ENTRY_TYPE_BALANCE_"),)),
        (1004, "resume_time", "resumeTime", "timestamp", "", "", (("unpublished", True),)),
    )


class CreateBalanceLedgerSubscriptionResponse(Message, kw_only=True):
    """Entries, or a heartbeat."""

    entries: list[BalanceLedgerEntry] = []  # empty in a heartbeat

    __full_name__ = "exchange.v1.CreateBalanceLedgerSubscriptionResponse"
    __wire__ = (
        (1001, "entries", "entries", "message", "repeated", "exchange.v1.BalanceLedgerEntry", (("unpublished", True),)),
    )


class ComboLeg(Message, kw_only=True):
    """One market of a combo and the side taken in it."""

    symbol: str = ""
    side: int = 0  # BUY wins at a settlement of one dollar, SELL at zero

    __full_name__ = "exchange.v1.ComboLeg"
    __wire__ = (
        (1001, "symbol", "symbol", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "side", "side", "enum", "", "exchange.v1.Side", (("unpublished", True), ("required", True),)),
    )


class ComboInstrument(Message, kw_only=True):
    """An instrument that pays when all its legs win. The same legs are always the same combo."""

    id: str = ""  # its symbol
    legs: list[ComboLeg] = []
    state: int = 0
    created_time: int | None = None
    tick_size: float = 0.0  # dollars

    __full_name__ = "exchange.v1.ComboInstrument"
    __wire__ = (
        (1001, "id", "id", "string", "", "", (("unpublished", True),)),
        (1002, "legs", "legs", "message", "repeated", "exchange.v1.ComboLeg", (("unpublished", True),)),
        (1003, "state", "state", "enum", "", "exchange.v1.InstrumentState", (("unpublished", True),)),
        (1004, "created_time", "createdTime", "timestamp", "", "", (("unpublished", True),)),
        (1005, "tick_size", "tickSize", "double", "", "", (("unpublished", True),)),
    )


class CreateComboRequest(Message, kw_only=True):
    """Which legs, in any order."""

    legs: list[ComboLeg] = []  # 2 to 10

    __full_name__ = "exchange.v1.CreateComboRequest"
    __wire__ = (
        (1001, "legs", "legs", "message", "repeated", "exchange.v1.ComboLeg", (("unpublished", True), ("required", True),)),
    )


class CreateComboResponse(Message, kw_only=True):
    """The combo."""

    combo: ComboInstrument | None = None

    __full_name__ = "exchange.v1.CreateComboResponse"
    __wire__ = (
        (1001, "combo", "combo", "message", "", "exchange.v1.ComboInstrument", (("unpublished", True),)),
    )


class GetCombosRequest(Message, kw_only=True):
    """Which combo."""

    symbol: str = ""

    __full_name__ = "exchange.v1.GetCombosRequest"
    __wire__ = (
        (1001, "symbol", "symbol", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetCombosResponse(Message, kw_only=True):
    """The combo, or none."""

    combos: list[ComboInstrument] = []

    __full_name__ = "exchange.v1.GetCombosResponse"
    __wire__ = (
        (1001, "combos", "combos", "message", "repeated", "exchange.v1.ComboInstrument", (("unpublished", True),)),
    )


class TradingHours(Message, kw_only=True):
    """A weekly segment and the state the instrument has in it."""

    days_of_week: list[int] = []  # 1 is Monday, 7 is Sunday
    time_of_day: TimeOfDay | None = None
    duration: int | None = None
    state: int = 0  # held during the segment
    hide_market_data: bool = False  # book is not shown
    expire_all_orders: bool = False  # at the start of the segment

    __full_name__ = "exchange.v1.TradingHours"
    __wire__ = (
        (1, "days_of_week", "daysOfWeek", "int32", "repeated", "", ()),
        (2, "time_of_day", "timeOfDay", "message", "", "exchange.v1.TimeOfDay", ()),
        (3, "duration", "duration", "duration", "", "", ()),
        (4, "state", "state", "enum", "", "exchange.v1.InstrumentState", ()),
        (5, "hide_market_data", "hideMarketData", "bool", "", "", ()),
        (6, "expire_all_orders", "expireAllOrders", "bool", "", "", ()),
    )


class PriceLimit(Message, kw_only=True):
    """Bounds of a limit price."""

    low: int = 0  # scaled
    high: int = 0  # scaled
    low_set: bool = False
    high_set: bool = False
    relative_low: float = 0.0
    relative_high: float = 0.0
    relative_low_set: bool = False
    relative_high_set: bool = False

    __full_name__ = "exchange.v1.PriceLimit"
    __wire__ = (
        (1, "low", "low", "int64", "", "", ()),
        (2, "high", "high", "int64", "", "", ()),
        (3, "low_set", "lowSet", "bool", "", "", ()),
        (4, "high_set", "highSet", "bool", "", "", ()),
        (5, "relative_low", "relativeLow", "double", "", "", ()),
        (6, "relative_high", "relativeHigh", "double", "", "", ()),
        (7, "relative_low_set", "relativeLowSet", "bool", "", "", ()),
        (8, "relative_high_set", "relativeHighSet", "bool", "", "", ()),
    )


class OrderSizeLimit(Message, kw_only=True):
    """Bounds of an order's quantity and notional."""

    low: int = 0  # scaled
    high: int = 0  # scaled
    low_set: bool = False
    high_set: bool = False
    total_notional_low: int = 0
    total_notional_high: int = 0
    total_notional_low_set: bool = False
    total_notional_high_set: bool = False

    __full_name__ = "exchange.v1.OrderSizeLimit"
    __wire__ = (
        (1, "low", "low", "int64", "", "", ()),
        (2, "high", "high", "int64", "", "", ()),
        (3, "low_set", "lowSet", "bool", "", "", ()),
        (4, "high_set", "highSet", "bool", "", "", ()),
        (5, "total_notional_low", "totalNotionalLow", "int64", "", "", ()),
        (6, "total_notional_high", "totalNotionalHigh", "int64", "", "", ()),
        (7, "total_notional_low_set", "totalNotionalLowSet", "bool", "", "", ()),
        (8, "total_notional_high_set", "totalNotionalHighSet", "bool", "", "", ()),
    )


class EventAttributes(Message, kw_only=True):
    """Terms of an event contract."""

    question: str = ""
    payout_value: str = ""
    evaluation_type: str = ""
    event_id: str = ""
    event_display_name: str = ""
    strike_value: str = ""
    strike_unit: str = ""
    calculation_method: str = ""
    position_accountability_value: str = ""
    time_specifier: Date | None = None
    event_outcome: str = ""  # EVENT_OUTCOME_MUTUALLY_EXCLUSIVE, _DIRECTIONAL or _INDEPENDENT

    __full_name__ = "exchange.v1.EventAttributes"
    __wire__ = (
        (1001, "question", "question", "string", "", "", (("unpublished", True),)),
        (1002, "payout_value", "payoutValue", "string", "", "", (("unpublished", True),)),
        (1003, "evaluation_type", "evaluationType", "string", "", "", (("unpublished", True),)),
        (1004, "event_id", "eventId", "string", "", "", (("unpublished", True),)),
        (1005, "event_display_name", "eventDisplayName", "string", "", "", (("unpublished", True),)),
        (1006, "strike_value", "strikeValue", "string", "", "", (("unpublished", True),)),
        (1007, "strike_unit", "strikeUnit", "string", "", "", (("unpublished", True),)),
        (1008, "calculation_method", "calculationMethod", "string", "", "", (("unpublished", True),)),
        (1009, "position_accountability_value", "positionAccountabilityValue", "string", "", "", (("unpublished", True),)),
        (1010, "time_specifier", "timeSpecifier", "message", "", "exchange.v1.Date", (("unpublished", True),)),
        (1011, "event_outcome", "eventOutcome", "string", "", "", (("unpublished", True),)),
    )


class Instrument(Message, kw_only=True):
    """A tradable instrument: scales, schedule, limits and metadata. Scales are read here and never inferred (§2.6)."""

    symbol: str = ""
    tick_size: float = 0.0  # dollars
    base_currency: str = ""
    multiplier: float = 0.0
    minimum_trade_qty: int = 0  # scaled
    start_date: Date | None = None
    expiration_date: Date | None = None
    termination_date: Date | None = None
    trading_schedule: list[TradingHours] = []
    description: str = ""
    clearing_house: str = ""
    minimum_unaffiliated_firms: int = 0
    non_tradable: bool = False  # reference only
    json_attributes: str = ""  # JSON text
    product_id: str = ""
    price_limit: PriceLimit | None = None
    order_size_limit: OrderSizeLimit | None = None
    expiration_time: TimeOfDay | None = None
    trade_settlement_period: int = 0
    state: int = 0
    price_scale: int = 0  # divides prices
    fractional_qty_scale: int = 0  # divides quantities; 0 means 1
    settlement_currency: str = ""
    settlement_price_scale: int = 0
    metadata: dict[str, str] = {}
    event_attributes: EventAttributes | None = None
    create_time: int | None = None
    update_time: int | None = None

    __full_name__ = "exchange.v1.Instrument"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", ()),
        (2, "tick_size", "tickSize", "double", "", "", ()),
        (3, "base_currency", "baseCurrency", "string", "", "", ()),
        (4, "multiplier", "multiplier", "double", "", "", ()),
        (5, "minimum_trade_qty", "minimumTradeQty", "int64", "", "", ()),
        (6, "start_date", "startDate", "message", "", "exchange.v1.Date", ()),
        (7, "expiration_date", "expirationDate", "message", "", "exchange.v1.Date", ()),
        (8, "termination_date", "terminationDate", "message", "", "exchange.v1.Date", ()),
        (9, "trading_schedule", "tradingSchedule", "message", "repeated", "exchange.v1.TradingHours", ()),
        (10, "description", "description", "string", "", "", ()),
        (11, "clearing_house", "clearingHouse", "string", "", "", ()),
        (12, "minimum_unaffiliated_firms", "minimumUnaffiliatedFirms", "int64", "", "", ()),
        (16, "non_tradable", "nonTradable", "bool", "", "", ()),
        (17, "json_attributes", "jsonAttributes", "string", "", "", ()),
        (18, "product_id", "productId", "string", "", "", ()),
        (19, "price_limit", "priceLimit", "message", "", "exchange.v1.PriceLimit", ()),
        (20, "order_size_limit", "orderSizeLimit", "message", "", "exchange.v1.OrderSizeLimit", ()),
        (22, "expiration_time", "expirationTime", "message", "", "exchange.v1.TimeOfDay", ()),
        (23, "trade_settlement_period", "tradeSettlementPeriod", "int64", "", "", ()),
        (24, "state", "state", "enum", "", "exchange.v1.InstrumentState", ()),
        (25, "price_scale", "priceScale", "int64", "", "", ()),
        (31, "fractional_qty_scale", "fractionalQtyScale", "int64", "", "", ()),
        (32, "settlement_currency", "settlementCurrency", "string", "", "", ()),
        (34, "settlement_price_scale", "settlementPriceScale", "int64", "", "", ()),
        (35, "metadata", "metadata", "string", "map:string", "", ()),
        (1001, "event_attributes", "eventAttributes", "message", "", "exchange.v1.EventAttributes", (("unpublished", True),)),
        (1002, "create_time", "createTime", "timestamp", "", "", (("unpublished", True),)),
        (1003, "update_time", "updateTime", "timestamp", "", "", (("unpublished", True),)),
    )


class Position(Message, kw_only=True):
    """What an account holds of one instrument."""

    account: str = ""
    symbol: str = ""
    net_position: int = 0  # signed, scaled
    qty_bought: int = 0  # only grows, scaled
    qty_sold: int = 0  # only grows, scaled
    cost: int = 0  # price × quantity units, buys positive
    realized: int = 0  # price × quantity units
    bod_position: int = 0  # net at the last 17:00 Eastern
    expired: bool = False  # its instrument expired or has paid
    update_time: int | None = None

    __full_name__ = "exchange.v1.Position"
    __wire__ = (
        (1, "account", "account", "string", "", "", ()),
        (2, "symbol", "symbol", "string", "", "", ()),
        (3, "net_position", "netPosition", "int64", "", "", ()),
        (4, "qty_bought", "qtyBought", "int64", "", "", ()),
        (5, "qty_sold", "qtySold", "int64", "", "", ()),
        (6, "cost", "cost", "int64", "", "", ()),
        (7, "realized", "realized", "int64", "", "", ()),
        (8, "bod_position", "bodPosition", "int64", "", "", ()),
        (9, "expired", "expired", "bool", "", "", ()),
        (11, "update_time", "updateTime", "timestamp", "", "", ()),
    )


class ListAccountPositionsRequest(Message, kw_only=True):
    """Which positions."""

    name: str = ""  # account resource name
    symbol: str = ""
    as_of_time: int | None = None  # excludes as_of_date
    as_of_date: Date | None = None  # close of that trade day
    page_size: int = 0  # 0 means the default
    page_token: str = ""  # next_page_token of the page before
    active_only: bool = False  # without expired positions
    non_zero_only: bool = False  # without flat positions

    __full_name__ = "exchange.v1.ListAccountPositionsRequest"
    __wire__ = (
        (1, "name", "name", "string", "", "", (("required", True),)),
        (2, "symbol", "symbol", "string", "", "", ()),
        (3, "as_of_time", "asOfTime", "timestamp", "", "", ()),
        (4, "as_of_date", "asOfDate", "message", "", "exchange.v1.Date", ()),
        (1001, "page_size", "pageSize", "int32", "", "", (("unpublished", True),)),
        (1002, "page_token", "pageToken", "string", "", "", (("unpublished", True),)),
        (1003, "active_only", "activeOnly", "bool", "", "", (("unpublished", True),)),
        (1004, "non_zero_only", "nonZeroOnly", "bool", "", "", (("unpublished", True),)),
    )


class ListAccountPositionsResponse(Message, kw_only=True):
    """One page of positions."""

    positions: list[Position] = []
    available_position: list[int] = []  # parallel to positions
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.ListAccountPositionsResponse"
    __wire__ = (
        (1, "positions", "positions", "message", "repeated", "exchange.v1.Position", ()),
        (2, "available_position", "availablePosition", "int64", "repeated", "", ()),
        (1001, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True), ("unpublished", True),)),
        (1002, "eof", "eof", "bool", "", "", (("unpublished", True),)),
    )


class GetAccountBalanceRequest(Message, kw_only=True):
    """Which account and currency."""

    name: str = ""  # account resource name
    currency: str = ""  # ISO 4217 code

    __full_name__ = "exchange.v1.GetAccountBalanceRequest"
    __wire__ = (
        (1, "name", "name", "string", "", "", (("required", True),)),
        (2, "currency", "currency", "string", "", "", ()),
    )


class GetAccountBalanceResponse(Message, kw_only=True):
    """A balance in one currency; amounts carry more than two decimals."""

    balance: str = ""  # decimal text
    capital_requirement: str = ""  # decimal text
    excess_capital: str = ""  # decimal text
    buying_power: str = ""  # decimal text; balance less margin_requirement
    securities: dict[str, SecurityEntry] = {}  # by security id
    total_security_notional_value: str = ""  # decimal text
    total_security_available_value: str = ""  # decimal text
    open_orders: str = ""  # largest reservation of one instrument, decimal text
    alternate_capital_requirement_currency: str = ""
    alternate_capital_requirement: str = ""  # decimal text
    unsettled_funds: str = ""  # decimal text
    margin_requirement: str = ""  # decimal text
    update_time: int | None = None

    __full_name__ = "exchange.v1.GetAccountBalanceResponse"
    __wire__ = (
        (1, "balance", "balance", "string", "", "", ()),
        (2, "capital_requirement", "capitalRequirement", "string", "", "", ()),
        (3, "excess_capital", "excessCapital", "string", "", "", ()),
        (4, "buying_power", "buyingPower", "string", "", "", ()),
        (5, "securities", "securities", "message", "map:string", "exchange.v1.SecurityEntry", ()),
        (6, "total_security_notional_value", "totalSecurityNotionalValue", "string", "", "", ()),
        (7, "total_security_available_value", "totalSecurityAvailableValue", "string", "", "", ()),
        (8, "open_orders", "openOrders", "string", "", "", ()),
        (9, "alternate_capital_requirement_currency", "alternateCapitalRequirementCurrency", "string", "", "", ()),
        (10, "alternate_capital_requirement", "alternateCapitalRequirement", "string", "", "", ()),
        (11, "unsettled_funds", "unsettledFunds", "string", "", "", ()),
        (12, "margin_requirement", "marginRequirement", "string", "", "", ()),
        (13, "update_time", "updateTime", "timestamp", "", "", ()),
    )


class SecurityEntry(Message, kw_only=True):
    """Valuation of one security held as collateral."""

    balance: str = ""  # decimal text
    market_value: str = ""  # decimal text
    haircut: int = 0
    notional_value: str = ""  # decimal text
    available_value: str = ""  # decimal text

    __full_name__ = "exchange.v1.SecurityEntry"
    __wire__ = (
        (1, "balance", "balance", "string", "", "", ()),
        (2, "market_value", "marketValue", "string", "", "", ()),
        (3, "haircut", "haircut", "int64", "", "", ()),
        (4, "notional_value", "notionalValue", "string", "", "", ()),
        (5, "available_value", "availableValue", "string", "", "", ()),
    )


class ListAccountBalancesRequest(Message, kw_only=True):
    """Which account."""

    name: str = ""  # account resource name

    __full_name__ = "exchange.v1.ListAccountBalancesRequest"
    __wire__ = (
        (1, "name", "name", "string", "", "", (("required", True),)),
    )


class ListAccountBalancesResponse(Message, kw_only=True):
    """Balances of an account."""

    balances: dict[str, GetAccountBalanceResponse] = {}  # by currency

    __full_name__ = "exchange.v1.ListAccountBalancesResponse"
    __wire__ = (
        (1, "balances", "balances", "message", "map:string", "exchange.v1.GetAccountBalanceResponse", ()),
    )


class CreatePositionSubscriptionRequest(Message, kw_only=True):
    """Whose positions to follow."""

    accounts: list[str] = []  # resource names; empty means all of the caller's

    __full_name__ = "exchange.v1.CreatePositionSubscriptionRequest"
    __wire__ = (
        (1, "accounts", "accounts", "string", "repeated", "", ()),
    )


class CreatePositionSubscriptionResponse(Message, kw_only=True):
    """One message of the position stream."""

    heartbeat: Heartbeat | None = None
    snapshot: CreatePositionSubscriptionResponse_Snapshot | None = None
    update: CreatePositionSubscriptionResponse_Update | None = None

    __full_name__ = "exchange.v1.CreatePositionSubscriptionResponse"
    __wire__ = (
        (1, "heartbeat", "heartbeat", "message", "oneof:event", "exchange.v1.Heartbeat", ()),
        (2, "snapshot", "snapshot", "message", "oneof:event", "exchange.v1.CreatePositionSubscriptionResponse.Snapshot", ()),
        (3, "update", "update", "message", "oneof:event", "exchange.v1.CreatePositionSubscriptionResponse.Update", ()),
    )


class CreatePositionSubscriptionResponse_Snapshot(Message, kw_only=True):
    """Positions when the stream began."""

    positions: list[Position] = []

    __full_name__ = "exchange.v1.CreatePositionSubscriptionResponse.Snapshot"
    __wire__ = (
        (1, "positions", "positions", "message", "repeated", "exchange.v1.Position", ()),
    )


class CreatePositionSubscriptionResponse_Update(Message, kw_only=True):
    """Positions that changed."""

    positions: list[Position] = []

    __full_name__ = "exchange.v1.CreatePositionSubscriptionResponse.Update"
    __wire__ = (
        (1, "positions", "positions", "message", "repeated", "exchange.v1.Position", ()),
    )


class PositionLedgerEntry(Message, kw_only=True):
    """One change of a position."""

    id: str = ""
    account: str = ""
    symbol: str = ""
    quantity_change: int = 0
    cost_change: int = 0
    realized_change: int = 0
    net_position: int = 0  # after the change
    cost: int = 0  # after the change
    realized: int = 0  # after the change
    update_time: int | None = None
    update_business_date: str = ""  # YYYY-MM-DD; the day rolls at 17:00 Eastern
    description: str = ""

    __full_name__ = "exchange.v1.PositionLedgerEntry"
    __wire__ = (
        (1001, "id", "id", "string", "", "", (("unpublished", True),)),
        (1002, "account", "account", "string", "", "", (("unpublished", True),)),
        (1003, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1004, "quantity_change", "quantityChange", "int64", "", "", (("unpublished", True),)),
        (1005, "cost_change", "costChange", "int64", "", "", (("unpublished", True),)),
        (1006, "realized_change", "realizedChange", "int64", "", "", (("unpublished", True),)),
        (1007, "net_position", "netPosition", "int64", "", "", (("unpublished", True),)),
        (1008, "cost", "cost", "int64", "", "", (("unpublished", True),)),
        (1009, "realized", "realized", "int64", "", "", (("unpublished", True),)),
        (1010, "update_time", "updateTime", "timestamp", "", "", (("unpublished", True),)),
        (1011, "update_business_date", "updateBusinessDate", "string", "", "", (("unpublished", True),)),
        (1012, "description", "description", "string", "", "", (("unpublished", True),)),
    )


class GetPositionLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: str = ""
    symbol: str = ""
    start_time: int | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: int | None = None  # inclusive
    page_size: int = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before
    newest_first: bool = False  # descending by time

    __full_name__ = "exchange.v1.GetPositionLedgerRequest"
    __wire__ = (
        (1001, "account", "account", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1003, "start_time", "startTime", "timestamp", "", "", (("unpublished", True),)),
        (1004, "end_time", "endTime", "timestamp", "", "", (("unpublished", True),)),
        (1005, "page_size", "pageSize", "int32", "", "", (("unpublished", True),)),
        (1006, "page_token", "pageToken", "string", "", "", (("unpublished", True),)),
        (1007, "newest_first", "newestFirst", "bool", "", "", (("unpublished", True),)),
    )


class GetPositionLedgerResponse(Message, kw_only=True):
    """One page of entries."""

    entries: list[PositionLedgerEntry] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.GetPositionLedgerResponse"
    __wire__ = (
        (1001, "entries", "entries", "message", "repeated", "exchange.v1.PositionLedgerEntry", (("unpublished", True),)),
        (1002, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True), ("unpublished", True),)),
        (1003, "eof", "eof", "bool", "", "", (("unpublished", True),)),
    )


class DownloadPositionLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: str = ""
    symbol: str = ""
    start_time: int | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: int | None = None  # inclusive
    page_size: int = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before
    newest_first: bool = False  # descending by time

    __full_name__ = "exchange.v1.DownloadPositionLedgerRequest"
    __wire__ = (
        (1001, "account", "account", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1003, "start_time", "startTime", "timestamp", "", "", (("unpublished", True),)),
        (1004, "end_time", "endTime", "timestamp", "", "", (("unpublished", True),)),
        (1005, "page_size", "pageSize", "int32", "", "", (("unpublished", True),)),
        (1006, "page_token", "pageToken", "string", "", "", (("unpublished", True),)),
        (1007, "newest_first", "newestFirst", "bool", "", "", (("unpublished", True),)),
    )


class DownloadPositionLedgerResponse(Message, kw_only=True):
    """A piece of the file."""

    data: bytes = b""  # next piece of the CSV

    __full_name__ = "exchange.v1.DownloadPositionLedgerResponse"
    __wire__ = (
        (1001, "data", "data", "bytes", "", "", (("unpublished", True),)),
    )


class Trade(Message, kw_only=True):
    """Two executions that met; sent again under the same id when its state changes."""

    id: str = ""
    aggressor: Execution | None = None  # taker's side
    passive: Execution | None = None  # maker's side
    trade_type: int = 0
    state: int = 0
    reporting_counterparty: int = 0  # which side reports
    text: str = ""
    trade_link_id: str = ""  # shared by the trades of one event
    metadata: dict[str, str] = {}

    __full_name__ = "exchange.v1.Trade"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "aggressor", "aggressor", "message", "", "exchange.v1.Execution", ()),
        (3, "passive", "passive", "message", "", "exchange.v1.Execution", ()),
        (4, "trade_type", "tradeType", "enum", "", "exchange.v1.TradeType", ()),
        (5, "state", "state", "enum", "", "exchange.v1.TradeState", ()),
        (6, "reporting_counterparty", "reportingCounterparty", "enum", "", "exchange.v1.Side", ()),
        (7, "text", "text", "string", "", "", ()),
        (8, "trade_link_id", "tradeLinkId", "string", "", "", ()),
        (9, "metadata", "metadata", "string", "map:string", "", ()),
    )


class CreateDropCopySubscriptionRequest(Message, kw_only=True):
    """From where, and which executions."""

    resume_token: bytes = b""  # opaque
    resume_time: int | None = None  # replay from here; excludes resume_token
    symbols: list[str] = []  # empty means all
    firms: list[str] = []  # empty means the caller's

    __full_name__ = "exchange.v1.CreateDropCopySubscriptionRequest"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "resume_time", "resumeTime", "timestamp", "", "", ()),
        (3, "symbols", "symbols", "string", "repeated", "", ()),
        (4, "firms", "firms", "string", "repeated", "", ()),
    )


class CreateDropCopySubscriptionResponse(Message, kw_only=True):
    """Executions, or a heartbeat."""

    resume_token: bytes = b""  # opaque
    executions: list[Execution] = []  # empty in a heartbeat

    __full_name__ = "exchange.v1.CreateDropCopySubscriptionResponse"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "executions", "executions", "message", "repeated", "exchange.v1.Execution", ()),
    )


class CreateTradeCaptureReportSubscriptionRequest(Message, kw_only=True):
    """From where, and which trades."""

    resume_token: bytes = b""  # opaque
    resume_time: int | None = None  # replay from here; excludes resume_token
    symbols: list[str] = []  # empty means all
    firms: list[str] = []  # empty means the caller's

    __full_name__ = "exchange.v1.CreateTradeCaptureReportSubscriptionRequest"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "resume_time", "resumeTime", "timestamp", "", "", ()),
        (3, "symbols", "symbols", "string", "repeated", "", ()),
        (4, "firms", "firms", "string", "repeated", "", ()),
    )


class CreateTradeCaptureReportSubscriptionResponse(Message, kw_only=True):
    """Trades, or a heartbeat."""

    resume_token: bytes = b""  # opaque
    trade_capture_reports: list[Trade] = []  # empty in a heartbeat

    __full_name__ = "exchange.v1.CreateTradeCaptureReportSubscriptionResponse"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "trade_capture_reports", "tradeCaptureReports", "message", "repeated", "exchange.v1.Trade", ()),
    )


class CreateInstrumentStateChangeSubscriptionRequest(Message, kw_only=True):
    """Which instruments."""

    resume_token: bytes = b""  # has no effect
    resume_time: int | None = None  # has no effect
    symbols: list[str] = []  # empty means all
    slow_consumer_skip_to_head: bool = False  # drop the backlog instead of the connection

    __full_name__ = "exchange.v1.CreateInstrumentStateChangeSubscriptionRequest"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "resume_time", "resumeTime", "timestamp", "", "", ()),
        (3, "symbols", "symbols", "string", "repeated", "", ()),
        (4, "slow_consumer_skip_to_head", "slowConsumerSkipToHead", "bool", "", "", ()),
    )


class CreateInstrumentStateChangeSubscriptionResponse(Message, kw_only=True):
    """Instruments, or a heartbeat."""

    resume_token: bytes = b""  # never filled (§6.2)
    instruments: list[Instrument] = []  # empty in a heartbeat

    __full_name__ = "exchange.v1.CreateInstrumentStateChangeSubscriptionResponse"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "instruments", "instruments", "message", "repeated", "exchange.v1.Instrument", ()),
    )


class PositionChange(Message, kw_only=True):
    """A position that changed, with the settlement result once there is one."""

    position: Position | None = None  # as it is after the change
    change_time: int | None = None
    settlement_px: int | None = None  # scaled by price_scale; set once known
    settlement_preliminary: bool | None = None  # may still change
    settlement_set_time: int | None = None
    resolved: bool = False  # the market has settled for good

    __full_name__ = "exchange.v1.PositionChange"
    __wire__ = (
        (1, "position", "position", "message", "", "exchange.v1.Position", ()),
        (2, "change_time", "changeTime", "timestamp", "", "", ()),
        (1001, "settlement_px", "settlementPx", "int64", "optional", "", (("unpublished", True),)),
        (1002, "settlement_preliminary", "settlementPreliminary", "bool", "optional", "", (("unpublished", True),)),
        (1003, "settlement_set_time", "settlementSetTime", "timestamp", "", "", (("unpublished", True),)),
        (1004, "resolved", "resolved", "bool", "", "", (("unpublished", True),)),
    )


class CreatePositionChangeSubscriptionRequest(Message, kw_only=True):
    """From where, and which positions."""

    resume_token: bytes = b""  # opaque
    resume_time: int | None = None  # replay from here; excludes resume_token
    symbols: list[str] = []  # empty means all
    firms: list[str] = []  # empty means the caller's

    __full_name__ = "exchange.v1.CreatePositionChangeSubscriptionRequest"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "resume_time", "resumeTime", "timestamp", "", "", ()),
        (3, "symbols", "symbols", "string", "repeated", "", ()),
        (4, "firms", "firms", "string", "repeated", "", ()),
    )


class CreatePositionChangeSubscriptionResponse(Message, kw_only=True):
    """Position changes, or a heartbeat."""

    resume_token: bytes = b""  # opaque
    position_changes: list[PositionChange] = []  # empty in a heartbeat

    __full_name__ = "exchange.v1.CreatePositionChangeSubscriptionResponse"
    __wire__ = (
        (1, "resume_token", "resumeToken", "bytes", "", "", ()),
        (2, "position_changes", "positionChanges", "message", "repeated", "exchange.v1.PositionChange", ()),
    )


class FieldFilter(Message, kw_only=True):
    """One comparison; the value is in the member that fits the column's type."""

    field: str = ""
    operator: int = 0
    string_value: str = ""
    int_value: int = 0
    double_value: float = 0.0
    string_list: StringList | None = None

    __full_name__ = "exchange.v1.FieldFilter"
    __wire__ = (
        (1001, "field", "field", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "operator", "operator", "enum", "", "exchange.v1.FilterOperator", (("unpublished", True), ("required", True),)),
        (1003, "string_value", "stringValue", "string", "", "", (("unpublished", True),)),
        (1004, "int_value", "intValue", "int64", "", "", (("unpublished", True),)),
        (1005, "double_value", "doubleValue", "double", "", "", (("unpublished", True),)),
        (1006, "string_list", "stringList", "message", "", "exchange.v1.StringList", (("unpublished", True),)),
    )


class StringList(Message, kw_only=True):
    """The values of IN and NOT_IN."""

    values: list[str] = []

    __full_name__ = "exchange.v1.StringList"
    __wire__ = (
        (1001, "values", "values", "string", "repeated", "", (("unpublished", True),)),
    )


class InstrumentFilter(Message, kw_only=True):
    """A filter as text, as comparisons, or both."""

    where_clause: str = ""  # column operator 'value', joined by AND
    field_filters: list[FieldFilter] = []

    __full_name__ = "exchange.v1.InstrumentFilter"
    __wire__ = (
        (1001, "where_clause", "whereClause", "string", "", "", (("unpublished", True),)),
        (1002, "field_filters", "fieldFilters", "message", "repeated", "exchange.v1.FieldFilter", (("unpublished", True),)),
    )


class FundingTimeOfDay(Message, kw_only=True):
    """A time of day."""

    hour: int = 0
    minute: int = 0
    second: int = 0

    __full_name__ = "exchange.v1.FundingTimeOfDay"
    __wire__ = (
        (1, "hour", "hour", "int32", "", "", ()),
        (2, "minute", "minute", "int32", "", "", ()),
        (3, "second", "second", "int32", "", "", ()),
    )


class FundingAddress(Message, kw_only=True):
    """A postal address."""

    address_line1: str = ""
    address_line2: str = ""
    city: str = ""
    state: str = ""
    country: str = ""
    zip: str = ""

    __full_name__ = "exchange.v1.FundingAddress"
    __wire__ = (
        (1, "address_line1", "addressLine1", "string", "", "", ()),
        (2, "address_line2", "addressLine2", "string", "", "", ()),
        (3, "city", "city", "string", "", "", ()),
        (4, "state", "state", "string", "", "", ()),
        (5, "country", "country", "string", "", "", ()),
        (6, "zip", "zip", "string", "", "", ()),
    )


class FundingAccount(Message, kw_only=True):
    """An account that holds money for trading."""

    id: str = ""
    name: str = ""
    account_type: int = 0
    clearing_house_id: str = ""
    clearing_member_id: str = ""
    associated_funding_sources: list[str] = []
    risk_account_id: str = ""
    destination_funding_source: str = ""
    allowed_destination_funding_sources: list[str] = []
    clearing_house_funding_sources: list[str] = []
    aliases: dict[str, str] = {}
    creation_time: int | None = None

    __full_name__ = "exchange.v1.FundingAccount"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "account_type", "accountType", "enum", "", "exchange.v1.FundingAccountType", ()),
        (4, "clearing_house_id", "clearingHouseId", "string", "", "", ()),
        (5, "clearing_member_id", "clearingMemberId", "string", "", "", ()),
        (6, "associated_funding_sources", "associatedFundingSources", "string", "repeated", "", ()),
        (7, "risk_account_id", "riskAccountId", "string", "", "", ()),
        (10, "destination_funding_source", "destinationFundingSource", "string", "", "", ()),
        (11, "allowed_destination_funding_sources", "allowedDestinationFundingSources", "string", "repeated", "", ()),
        (12, "clearing_house_funding_sources", "clearingHouseFundingSources", "string", "repeated", "", ()),
        (13, "aliases", "aliases", "string", "map:string", "", ()),
        (14, "creation_time", "creationTime", "timestamp", "", "", ()),
    )


class FundingSource(Message, kw_only=True):
    """Where money comes from or goes to."""

    id: str = ""
    type: int = 0
    business_schedule: BusinessSchedule | None = None
    transaction_limits: TransactionLimits | None = None
    disabled: bool = False
    bank_account_details: BankAccountDetails | None = None
    aeropay_bank_account_details: AeropayBankAccountDetails | None = None
    checkout_card_payment_method_details: CheckoutCardPaymentMethodDetails | None = None
    checkout_apple_pay_payment_method_details: CheckoutApplePayPaymentMethodDetails | None = None

    __full_name__ = "exchange.v1.FundingSource"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "type", "type", "enum", "", "exchange.v1.FundingSourceType", ()),
        (3, "business_schedule", "businessSchedule", "message", "", "exchange.v1.BusinessSchedule", ()),
        (4, "transaction_limits", "transactionLimits", "message", "", "exchange.v1.TransactionLimits", ()),
        (5, "disabled", "disabled", "bool", "", "", ()),
        (10, "bank_account_details", "bankAccountDetails", "message", "oneof:details", "exchange.v1.BankAccountDetails", ()),
        (11, "aeropay_bank_account_details", "aeropayBankAccountDetails", "message", "oneof:details", "exchange.v1.AeropayBankAccountDetails", ()),
        (12, "checkout_card_payment_method_details", "checkoutCardPaymentMethodDetails", "message", "oneof:details", "exchange.v1.CheckoutCardPaymentMethodDetails", ()),
        (13, "checkout_apple_pay_payment_method_details", "checkoutApplePayPaymentMethodDetails", "message", "oneof:details", "exchange.v1.CheckoutApplePayPaymentMethodDetails", ()),
    )


class BankAccountDetails(Message, kw_only=True):
    """A bank account."""

    bank_id: str = ""
    bank_account_id: str = ""
    bank_id_type: int = 0
    currency: str = ""  # ISO 4217 code
    account_title: str = ""
    bank_name: str = ""
    bank_address_1: str = ""
    bank_address_2: str = ""
    bank_city: str = ""
    bank_state: str = ""
    bank_postal_code: str = ""
    bank_country_code: str = ""
    beneficiary_name: str = ""
    beneficiary_address_1: str = ""
    beneficiary_address_2: str = ""
    beneficiary_city: str = ""
    beneficiary_state: str = ""
    beneficiary_postal_code: str = ""
    beneficiary_country_code: str = ""

    __full_name__ = "exchange.v1.BankAccountDetails"
    __wire__ = (
        (1, "bank_id", "bankId", "string", "", "", ()),
        (2, "bank_account_id", "bankAccountId", "string", "", "", ()),
        (3, "bank_id_type", "bankIdType", "enum", "", "exchange.v1.FundingBankIdType", ()),
        (4, "currency", "currency", "string", "", "", ()),
        (5, "account_title", "accountTitle", "string", "", "", ()),
        (6, "bank_name", "bankName", "string", "", "", ()),
        (7, "bank_address_1", "bankAddress1", "string", "", "", ()),
        (8, "bank_address_2", "bankAddress2", "string", "", "", ()),
        (9, "bank_city", "bankCity", "string", "", "", ()),
        (10, "bank_state", "bankState", "string", "", "", ()),
        (11, "bank_postal_code", "bankPostalCode", "string", "", "", ()),
        (12, "bank_country_code", "bankCountryCode", "string", "", "", ()),
        (13, "beneficiary_name", "beneficiaryName", "string", "", "", ()),
        (14, "beneficiary_address_1", "beneficiaryAddress1", "string", "", "", ()),
        (15, "beneficiary_address_2", "beneficiaryAddress2", "string", "", "", ()),
        (16, "beneficiary_city", "beneficiaryCity", "string", "", "", ()),
        (17, "beneficiary_state", "beneficiaryState", "string", "", "", ()),
        (18, "beneficiary_postal_code", "beneficiaryPostalCode", "string", "", "", ()),
        (19, "beneficiary_country_code", "beneficiaryCountryCode", "string", "", "", ()),
    )


class AeropayBankAccountDetails(Message, kw_only=True):
    """A bank account linked by a payment provider."""

    user_id: str = ""
    bank_account_id: str = ""
    name: str = ""
    bank_name: str = ""
    account_last_4: str = ""
    account_type: str = ""

    __full_name__ = "exchange.v1.AeropayBankAccountDetails"
    __wire__ = (
        (1, "user_id", "userId", "string", "", "", ()),
        (2, "bank_account_id", "bankAccountId", "string", "", "", ()),
        (3, "name", "name", "string", "", "", ()),
        (4, "bank_name", "bankName", "string", "", "", ()),
        (5, "account_last_4", "accountLast4", "string", "", "", ()),
        (6, "account_type", "accountType", "string", "", "", ()),
    )


class CheckoutCardPaymentMethodDetails(Message, kw_only=True):
    """A card."""

    user_id: str = ""
    instrument_id: str = ""
    last4: str = ""
    scheme: str = ""
    card_type: str = ""
    billing_address: FundingAddress | None = None
    email: str = ""
    dob: str = ""
    account_holder_type: int = 0
    first_name: str = ""
    last_name: str = ""
    company_name: str = ""
    phone_number: str = ""  # E.164

    __full_name__ = "exchange.v1.CheckoutCardPaymentMethodDetails"
    __wire__ = (
        (1, "user_id", "userId", "string", "", "", ()),
        (2, "instrument_id", "instrumentId", "string", "", "", ()),
        (3, "last4", "last4", "string", "", "", ()),
        (4, "scheme", "scheme", "string", "", "", ()),
        (5, "card_type", "cardType", "string", "", "", ()),
        (6, "billing_address", "billingAddress", "message", "", "exchange.v1.FundingAddress", ()),
        (7, "email", "email", "string", "", "", ()),
        (8, "dob", "dob", "string", "", "", ()),
        (9, "account_holder_type", "accountHolderType", "enum", "", "exchange.v1.FundingCheckoutAccountHolderType", ()),
        (10, "first_name", "firstName", "string", "", "", ()),
        (11, "last_name", "lastName", "string", "", "", ()),
        (12, "company_name", "companyName", "string", "", "", ()),
        (13, "phone_number", "phoneNumber", "string", "", "", ()),
    )


class CheckoutApplePayPaymentMethodDetails(Message, kw_only=True):
    """A card in a wallet."""

    user_id: str = ""
    instrument_id: str = ""
    last4: str = ""
    scheme: str = ""
    card_type: str = ""
    billing_address: FundingAddress | None = None
    email: str = ""
    dob: str = ""
    account_holder_type: int = 0
    first_name: str = ""
    last_name: str = ""
    company_name: str = ""
    phone_number: str = ""  # E.164
    display_last4: str = ""

    __full_name__ = "exchange.v1.CheckoutApplePayPaymentMethodDetails"
    __wire__ = (
        (1, "user_id", "userId", "string", "", "", ()),
        (2, "instrument_id", "instrumentId", "string", "", "", ()),
        (3, "last4", "last4", "string", "", "", ()),
        (4, "scheme", "scheme", "string", "", "", ()),
        (5, "card_type", "cardType", "string", "", "", ()),
        (6, "billing_address", "billingAddress", "message", "", "exchange.v1.FundingAddress", ()),
        (7, "email", "email", "string", "", "", ()),
        (8, "dob", "dob", "string", "", "", ()),
        (9, "account_holder_type", "accountHolderType", "enum", "", "exchange.v1.FundingCheckoutAccountHolderType", ()),
        (10, "first_name", "firstName", "string", "", "", ()),
        (11, "last_name", "lastName", "string", "", "", ()),
        (12, "company_name", "companyName", "string", "", "", ()),
        (13, "phone_number", "phoneNumber", "string", "", "", ()),
        (14, "display_last4", "displayLast4", "string", "", "", ()),
    )


class TransactionLimits(Message, kw_only=True):
    """Limits of a source."""

    currency_limits: list[CurrencyTransactionLimits] = []

    __full_name__ = "exchange.v1.TransactionLimits"
    __wire__ = (
        (1, "currency_limits", "currencyLimits", "message", "repeated", "exchange.v1.CurrencyTransactionLimits", ()),
    )


class CurrencyTransactionLimits(Message, kw_only=True):
    """Limits in one currency; an absent one does not bind."""

    currency: str = ""  # ISO 4217 code
    max_deposit_request_amount: StringValue | None = None
    max_deposit_daily_amount: StringValue | None = None
    max_deposit_60day_amount: StringValue | None = None

    __full_name__ = "exchange.v1.CurrencyTransactionLimits"
    __wire__ = (
        (1, "currency", "currency", "string", "", "", ()),
        (2, "max_deposit_request_amount", "maxDepositRequestAmount", "message", "", "exchange.v1.StringValue", ()),
        (3, "max_deposit_daily_amount", "maxDepositDailyAmount", "message", "", "exchange.v1.StringValue", ()),
        (4, "max_deposit_60day_amount", "maxDeposit60dayAmount", "message", "", "exchange.v1.StringValue", ()),
    )


class StringValue(Message, kw_only=True):
    """A decimal that may be absent."""

    value: str = ""  # decimal text

    __full_name__ = "exchange.v1.StringValue"
    __wire__ = (
        (1, "value", "value", "string", "", "", ()),
    )


class BusinessSchedule(Message, kw_only=True):
    """When a source works."""

    business_hours: list[BusinessHours] = []
    timezone: str = ""

    __full_name__ = "exchange.v1.BusinessSchedule"
    __wire__ = (
        (1, "business_hours", "businessHours", "message", "repeated", "exchange.v1.BusinessHours", ()),
        (2, "timezone", "timezone", "string", "", "", ()),
    )


class BusinessHours(Message, kw_only=True):
    """One span of a schedule."""

    days_of_week: list[int] = []
    start_time: FundingTimeOfDay | None = None
    duration: int | None = None

    __full_name__ = "exchange.v1.BusinessHours"
    __wire__ = (
        (1, "days_of_week", "daysOfWeek", "enum", "repeated", "exchange.v1.FundingDayOfWeek", ()),
        (2, "start_time", "startTime", "message", "", "exchange.v1.FundingTimeOfDay", ()),
        (3, "duration", "duration", "duration", "", "", ()),
    )


class FundingDate(Message, kw_only=True):
    """A business date."""

    year: int = 0
    month: int = 0
    day: int = 0

    __full_name__ = "exchange.v1.FundingDate"
    __wire__ = (
        (1, "year", "year", "int32", "", "", ()),
        (2, "month", "month", "int32", "", "", ()),
        (3, "day", "day", "int32", "", "", ()),
    )


class FundingTransaction(Message, kw_only=True):
    """Money that moves into, out of or between funding accounts."""

    transaction_id: str = ""
    amount: str = ""  # decimal text
    currency: str = ""  # ISO 4217 code
    description: str = ""
    ledger_entry_type: int = 0
    transaction_type: int = 0
    transaction_state: int = 0
    transact_time: int | None = None
    transact_date: FundingDate | None = None
    clearing_house_id: str = ""
    clearing_member_id: str = ""
    account_id: str = ""
    funding_source_id: str = ""
    funding_transaction_id: str = ""
    before_balance: str = ""  # decimal text
    after_balance: str = ""  # decimal text
    risk_account_id: str = ""
    risk_transaction_id: str = ""
    context: str = ""
    parent_transaction_id: str = ""
    clearing_house_funding_source_id: str = ""
    metadata: dict[str, str] = {}
    create_time: int | None = None
    balance_reservation: str = ""  # decimal text
    funding_source_type: int = 0
    clearing_house_funding_source_type: int = 0
    margin_requirement: str = ""  # decimal text
    review_status: int = 0
    status_message: str = ""

    __full_name__ = "exchange.v1.FundingTransaction"
    __wire__ = (
        (1, "transaction_id", "transactionId", "string", "", "", ()),
        (2, "amount", "amount", "string", "", "", ()),
        (3, "currency", "currency", "string", "", "", ()),
        (4, "description", "description", "string", "", "", ()),
        (5, "ledger_entry_type", "ledgerEntryType", "enum", "", "exchange.v1.FundingTransaction.FundingLedgerEntryType", ()),
        (6, "transaction_type", "transactionType", "enum", "", "exchange.v1.FundingTransactionType", ()),
        (7, "transaction_state", "transactionState", "enum", "", "exchange.v1.FundingTransactionState", ()),
        (8, "transact_time", "transactTime", "timestamp", "", "", ()),
        (9, "transact_date", "transactDate", "message", "", "exchange.v1.FundingDate", ()),
        (10, "clearing_house_id", "clearingHouseId", "string", "", "", ()),
        (11, "clearing_member_id", "clearingMemberId", "string", "", "", ()),
        (12, "account_id", "accountId", "string", "", "", ()),
        (13, "funding_source_id", "fundingSourceId", "string", "", "", ()),
        (14, "funding_transaction_id", "fundingTransactionId", "string", "", "", ()),
        (15, "before_balance", "beforeBalance", "string", "", "", ()),
        (16, "after_balance", "afterBalance", "string", "", "", ()),
        (17, "risk_account_id", "riskAccountId", "string", "", "", ()),
        (18, "risk_transaction_id", "riskTransactionId", "string", "", "", ()),
        (19, "context", "context", "string", "", "", ()),
        (20, "parent_transaction_id", "parentTransactionId", "string", "", "", ()),
        (21, "clearing_house_funding_source_id", "clearingHouseFundingSourceId", "string", "", "", ()),
        (22, "metadata", "metadata", "string", "map:string", "", ()),
        (23, "create_time", "createTime", "timestamp", "", "", ()),
        (24, "balance_reservation", "balanceReservation", "string", "", "", ()),
        (25, "funding_source_type", "fundingSourceType", "enum", "", "exchange.v1.FundingSourceType", ()),
        (26, "clearing_house_funding_source_type", "clearingHouseFundingSourceType", "enum", "", "exchange.v1.FundingSourceType", ()),
        (27, "margin_requirement", "marginRequirement", "string", "", "", ()),
        (28, "review_status", "reviewStatus", "enum", "", "exchange.v1.FundingReviewStatus", ()),
        (29, "status_message", "statusMessage", "string", "", "", ()),
    )


class ListFundingSourcesRequest(Message, kw_only=True):
    """Which sources."""

    page_size: int = 0
    page_token: str = ""  # next_page_token of the page before
    funding_source_ids: list[str] = []
    funding_source_type: int = 0

    __full_name__ = "exchange.v1.ListFundingSourcesRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "funding_source_ids", "fundingSourceIds", "string", "repeated", "", ()),
        (4, "funding_source_type", "fundingSourceType", "enum", "", "exchange.v1.FundingSourceType", ()),
    )


class ListFundingSourcesResponse(Message, kw_only=True):
    """One page of sources."""

    funding_sources: list[FundingSource] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.ListFundingSourcesResponse"
    __wire__ = (
        (1, "funding_sources", "fundingSources", "message", "repeated", "exchange.v1.FundingSource", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class ListFundingAccountsRequest(Message, kw_only=True):
    """Which accounts."""

    page_size: int = 0
    page_token: str = ""  # next_page_token of the page before
    account_ids: list[str] = []
    funding_source_ids: list[str] = []
    risk_account_ids: list[str] = []
    account_type: int = 0
    clearing_member_ids: list[str] = []
    clearing_house_funding_source_ids: list[str] = []
    clearing_house_ids: list[str] = []
    aliases: dict[str, str] = {}

    __full_name__ = "exchange.v1.ListFundingAccountsRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "account_ids", "accountIds", "string", "repeated", "", ()),
        (4, "funding_source_ids", "fundingSourceIds", "string", "repeated", "", ()),
        (5, "risk_account_ids", "riskAccountIds", "string", "repeated", "", ()),
        (6, "account_type", "accountType", "enum", "", "exchange.v1.FundingAccountType", ()),
        (7, "clearing_member_ids", "clearingMemberIds", "string", "repeated", "", ()),
        (8, "clearing_house_funding_source_ids", "clearingHouseFundingSourceIds", "string", "repeated", "", ()),
        (9, "clearing_house_ids", "clearingHouseIds", "string", "repeated", "", ()),
        (10, "aliases", "aliases", "string", "map:string", "", ()),
    )


class ListFundingAccountsResponse(Message, kw_only=True):
    """One page of accounts."""

    accounts: list[FundingAccount] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.ListFundingAccountsResponse"
    __wire__ = (
        (1, "accounts", "accounts", "message", "repeated", "exchange.v1.FundingAccount", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class UpdateFundingAccountRequest(Message, kw_only=True):
    """The account as it shall be."""

    account: FundingAccount | None = None  # its id is required

    __full_name__ = "exchange.v1.UpdateFundingAccountRequest"
    __wire__ = (
        (1, "account", "account", "message", "", "exchange.v1.FundingAccount", ()),
    )


class UpdateFundingAccountResponse(Message, kw_only=True):
    """The account after the change."""

    account: FundingAccount | None = None

    __full_name__ = "exchange.v1.UpdateFundingAccountResponse"
    __wire__ = (
        (1, "account", "account", "message", "", "exchange.v1.FundingAccount", ()),
    )


class ListFundingTransactionsRequest(Message, kw_only=True):
    """Which transactions."""

    page_size: int = 0
    page_token: str = ""  # next_page_token of the page before
    account_id: str = ""
    currency: str = ""  # empty means all
    funding_transaction_id: str = ""
    transaction_types: list[int] = []
    start_time: int | None = None  # inclusive
    end_time: int | None = None
    start_date: FundingDate | None = None
    end_date: FundingDate | None = None
    newest_first: bool = False  # descending by time
    transaction_ids: list[str] = []
    transaction_states: list[int] = []
    parent_transaction_ids: list[str] = []
    review_statuses: list[int] = []
    funding_source_types: list[int] = []

    __full_name__ = "exchange.v1.ListFundingTransactionsRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "account_id", "accountId", "string", "", "", ()),
        (4, "currency", "currency", "string", "", "", ()),
        (6, "funding_transaction_id", "fundingTransactionId", "string", "", "", ()),
        (7, "transaction_types", "transactionTypes", "enum", "repeated", "exchange.v1.FundingTransactionType", ()),
        (8, "start_time", "startTime", "timestamp", "", "", ()),
        (9, "end_time", "endTime", "timestamp", "", "", ()),
        (10, "start_date", "startDate", "message", "", "exchange.v1.FundingDate", ()),
        (11, "end_date", "endDate", "message", "", "exchange.v1.FundingDate", ()),
        (12, "newest_first", "newestFirst", "bool", "", "", ()),
        (13, "transaction_ids", "transactionIds", "string", "repeated", "", ()),
        (14, "transaction_states", "transactionStates", "enum", "repeated", "exchange.v1.FundingTransactionState", ()),
        (15, "parent_transaction_ids", "parentTransactionIds", "string", "repeated", "", ()),
        (16, "review_statuses", "reviewStatuses", "enum", "repeated", "exchange.v1.FundingReviewStatus", ()),
        (17, "funding_source_types", "fundingSourceTypes", "enum", "repeated", "exchange.v1.FundingSourceType", ()),
    )


class ListFundingTransactionsResponse(Message, kw_only=True):
    """One page of transactions."""

    transactions: list[FundingTransaction] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.ListFundingTransactionsResponse"
    __wire__ = (
        (1, "transactions", "transactions", "message", "repeated", "exchange.v1.FundingTransaction", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class GetFundingTransactionRequest(Message, kw_only=True):
    """Which transaction."""

    transaction_id: str = ""

    __full_name__ = "exchange.v1.GetFundingTransactionRequest"
    __wire__ = (
        (1, "transaction_id", "transactionId", "string", "", "", ()),
    )


class GetFundingTransactionResponse(Message, kw_only=True):
    """The transaction."""

    transaction: FundingTransaction | None = None

    __full_name__ = "exchange.v1.GetFundingTransactionResponse"
    __wire__ = (
        (1, "transaction", "transaction", "message", "", "exchange.v1.FundingTransaction", ()),
    )


class ListTransactionRequirementsRequest(Message, kw_only=True):
    """Whose requirements."""

    page_size: int = 0
    page_token: str = ""  # next_page_token of the page before
    account_ids: list[str] = []

    __full_name__ = "exchange.v1.ListTransactionRequirementsRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "account_ids", "accountIds", "string", "repeated", "", ()),
    )


class ListTransactionRequirementsResponse(Message, kw_only=True):
    """One page of requirements."""

    transaction_requirements: list[TransactionRequirement] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.ListTransactionRequirementsResponse"
    __wire__ = (
        (1, "transaction_requirements", "transactionRequirements", "message", "repeated", "exchange.v1.TransactionRequirement", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class TransactionRequirement(Message, kw_only=True):
    """A transaction that has to be made."""

    id: str = ""
    account_id: str = ""
    transaction_type: int = 0
    funding_source_id: str = ""
    amount: str = ""  # decimal text
    currency: str = ""  # ISO 4217 code
    description: str = ""
    triggers: list[str] = []

    __full_name__ = "exchange.v1.TransactionRequirement"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "account_id", "accountId", "string", "", "", ()),
        (3, "transaction_type", "transactionType", "enum", "", "exchange.v1.FundingTransactionType", ()),
        (4, "funding_source_id", "fundingSourceId", "string", "", "", ()),
        (5, "amount", "amount", "string", "", "", ()),
        (6, "currency", "currency", "string", "", "", ()),
        (7, "description", "description", "string", "", "", ()),
        (8, "triggers", "triggers", "string", "repeated", "", ()),
    )


class CreateFundingTransactionSubscriptionRequest(Message, kw_only=True):
    """From when, and which transactions."""

    resume_time: int | None = None  # server_time of the last message read
    account_ids: list[str] = []
    transaction_types: list[int] = []

    __full_name__ = "exchange.v1.CreateFundingTransactionSubscriptionRequest"
    __wire__ = (
        (1, "resume_time", "resumeTime", "timestamp", "", "", ()),
        (2, "account_ids", "accountIds", "string", "repeated", "", ()),
        (3, "transaction_types", "transactionTypes", "enum", "repeated", "exchange.v1.FundingTransactionType", ()),
    )


class CreateFundingTransactionSubscriptionResponse(Message, kw_only=True):
    """Changes since the last look."""

    changes: list[FundingTransactionChange] = []
    server_time: int | None = None  # where to resume

    __full_name__ = "exchange.v1.CreateFundingTransactionSubscriptionResponse"
    __wire__ = (
        (1, "changes", "changes", "message", "repeated", "exchange.v1.FundingTransactionChange", ()),
        (2, "server_time", "serverTime", "timestamp", "", "", ()),
    )


class FundingTransactionChange(Message, kw_only=True):
    """A transaction whose state changed."""

    transaction: FundingTransaction | None = None
    previous_state: int = 0
    change_time: int | None = None

    __full_name__ = "exchange.v1.FundingTransactionChange"
    __wire__ = (
        (1, "transaction", "transaction", "message", "", "exchange.v1.FundingTransaction", ()),
        (2, "previous_state", "previousState", "enum", "", "exchange.v1.FundingTransactionState", ()),
        (3, "change_time", "changeTime", "timestamp", "", "", ()),
    )


class HealthCheckRequest(Message, kw_only=True):
    """Nothing to say."""

    __full_name__ = "exchange.v1.HealthCheckRequest"


class HealthCheckResponse(Message, kw_only=True):
    """"ok" when healthy."""

    status: str = ""

    __full_name__ = "exchange.v1.HealthCheckResponse"
    __wire__ = (
        (1, "status", "status", "string", "", "", ()),
    )


class GetIncentivesRequest(Message, kw_only=True):
    """Which programs."""

    page_size: int = 0  # markets per page
    page_token: str = ""  # next_page_token of the page before
    symbols: list[str] = []
    order_by: str = ""  # default created_at
    order_direction: str = ""  # asc or desc
    statuses: list[str] = []  # active, closed, pending
    program_type: str = ""
    query: str = ""  # part of the market slug, any case
    instrument_states: list[str] = []
    category: str = ""
    subcategory: str = ""

    __full_name__ = "exchange.v1.GetIncentivesRequest"
    __wire__ = (
        (1001, "page_size", "pageSize", "int32", "", "", (("unpublished", True),)),
        (1002, "page_token", "pageToken", "string", "", "", (("unpublished", True),)),
        (1003, "symbols", "symbols", "string", "repeated", "", (("unpublished", True),)),
        (1004, "order_by", "orderBy", "string", "", "", (("unpublished", True),)),
        (1005, "order_direction", "orderDirection", "string", "", "", (("unpublished", True),)),
        (1006, "statuses", "statuses", "string", "repeated", "", (("unpublished", True),)),
        (1007, "program_type", "programType", "string", "", "", (("unpublished", True),)),
        (1008, "query", "query", "string", "", "", (("unpublished", True),)),
        (1009, "instrument_states", "instrumentStates", "string", "repeated", "", (("unpublished", True),)),
        (1010, "category", "category", "string", "", "", (("unpublished", True),)),
        (1011, "subcategory", "subcategory", "string", "", "", (("unpublished", True),)),
    )


class GetIncentivesResponse(Message, kw_only=True):
    """One page of programs."""

    programs: list[IncentiveProgram] = []
    next_page_token: str = ""  # absent on the last page

    __full_name__ = "exchange.v1.GetIncentivesResponse"
    __wire__ = (
        (1001, "programs", "programs", "message", "repeated", "exchange.v1.IncentiveProgram", (("unpublished", True),)),
        (1002, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True), ("unpublished", True),)),
    )


class IncentiveProgram(Message, kw_only=True):
    """The program of one market."""

    market_slug: str = ""
    time_periods: list[TimePeriod] = []
    instrument_state: str = ""  # INSTRUMENT_STATE_<STATE>
    category: str = ""
    subcategory: str = ""
    event_start_time: int | None = None
    instrument_product: str = ""

    __full_name__ = "exchange.v1.IncentiveProgram"
    __wire__ = (
        (1001, "market_slug", "marketSlug", "string", "", "", (("unpublished", True),)),
        (1002, "time_periods", "timePeriods", "message", "repeated", "exchange.v1.TimePeriod", (("unpublished", True),)),
        (1003, "instrument_state", "instrumentState", "string", "", "", (("unpublished", True),)),
        (1004, "category", "category", "string", "", "", (("unpublished", True),)),
        (1005, "subcategory", "subcategory", "string", "", "", (("unpublished", True),)),
        (1006, "event_start_time", "eventStartTime", "timestamp", "", "", (("unpublished", True),)),
        (1007, "instrument_product", "instrumentProduct", "string", "", "", (("unpublished", True),)),
    )


class TimePeriod(Message, kw_only=True):
    """One period of a program."""

    program_id: str = ""
    program_type: str = ""  # liquidityProgram, volumeProgram
    start: int | None = None
    end: int | None = None  # absent while ongoing
    reward_pool: float = 0.0  # dollars
    status: str = ""  # active, closed or pending
    discount_factor: float | None = None
    target_size: int | None = None  # smallest book size that qualifies
    period: str = ""  # early, day_of, live
    created_at: int | None = None
    min_taker_notional: int | None = None  # dollars, for volume programs
    max_spread: float | None = None  # dollars, half width around the midpoint

    __full_name__ = "exchange.v1.TimePeriod"
    __wire__ = (
        (1001, "program_id", "programId", "string", "", "", (("unpublished", True),)),
        (1002, "program_type", "programType", "string", "", "", (("unpublished", True),)),
        (1003, "start", "start", "timestamp", "", "", (("unpublished", True),)),
        (1004, "end", "end", "timestamp", "optional", "", (("omit_empty", True), ("unpublished", True),)),
        (1005, "reward_pool", "rewardPool", "double", "", "", (("unpublished", True),)),
        (1006, "status", "status", "string", "", "", (("unpublished", True),)),
        (1007, "discount_factor", "discountFactor", "double", "optional", "", (("omit_empty", True), ("unpublished", True),)),
        (1008, "target_size", "targetSize", "int32", "optional", "", (("omit_empty", True), ("unpublished", True),)),
        (1009, "period", "period", "string", "", "", (("unpublished", True),)),
        (1010, "created_at", "createdAt", "timestamp", "", "", (("unpublished", True),)),
        (1011, "min_taker_notional", "minTakerNotional", "int32", "optional", "", (("omit_empty", True), ("unpublished", True),)),
        (1012, "max_spread", "maxSpread", "double", "optional", "", (("since", 1788235200000000000), ("omit_empty", True), ("unpublished", True),)),
    )


class GetIncentiveEarningsRequest(Message, kw_only=True):
    """Which rewards."""

    start_date: str = ""  # YYYY-MM-DD; empty means since launch
    end_date: str = ""  # YYYY-MM-DD; empty means through today
    market_slug: str = ""
    program_type: str = ""

    __full_name__ = "exchange.v1.GetIncentiveEarningsRequest"
    __wire__ = (
        (1001, "start_date", "startDate", "string", "", "", (("unpublished", True),)),
        (1002, "end_date", "endDate", "string", "", "", (("unpublished", True),)),
        (1003, "market_slug", "marketSlug", "string", "", "", (("unpublished", True),)),
        (1004, "program_type", "programType", "string", "", "", (("unpublished", True),)),
    )


class GetIncentiveEarningsResponse(Message, kw_only=True):
    """Rewards."""

    rewards: list[UserReward] = []

    __full_name__ = "exchange.v1.GetIncentiveEarningsResponse"
    __wire__ = (
        (1001, "rewards", "rewards", "message", "repeated", "exchange.v1.UserReward", (("unpublished", True),)),
    )


class UserReward(Message, kw_only=True):
    """What one market earned on one date."""

    reward: float = 0.0  # dollars
    program_type: str = ""
    market_slug: str = ""
    date: str = ""  # YYYY-MM-DD, Eastern
    status: str = ""  # PAID, PENDING or SKIPPED

    __full_name__ = "exchange.v1.UserReward"
    __wire__ = (
        (1001, "reward", "reward", "double", "", "", (("unpublished", True),)),
        (1002, "program_type", "programType", "string", "", "", (("unpublished", True),)),
        (1003, "market_slug", "marketSlug", "string", "", "", (("unpublished", True),)),
        (1004, "date", "date", "string", "", "", (("unpublished", True),)),
        (1005, "status", "status", "string", "", "", (("unpublished", True),)),
    )


class CreateMarketDataSubscriptionRequest(Message, kw_only=True):
    """Which books to stream, and how."""

    symbols: list[str] = []  # at most 1000; empty means all
    unaggregated: bool = False  # single orders instead of levels
    depth: int = 0  # levels per side; 0 means 10
    snapshot_only: bool = False  # end after the snapshot
    slow_consumer_skip_to_head: bool = False  # drop the backlog instead of the connection

    __full_name__ = "exchange.v1.CreateMarketDataSubscriptionRequest"
    __wire__ = (
        (1, "symbols", "symbols", "string", "repeated", "", ()),
        (2, "unaggregated", "unaggregated", "bool", "", "", ()),
        (3, "depth", "depth", "int32", "", "", ()),
        (4, "snapshot_only", "snapshotOnly", "bool", "", "", ()),
        (5, "slow_consumer_skip_to_head", "slowConsumerSkipToHead", "bool", "", "", ()),
    )


class CreateMarketDataSubscriptionResponse(Message, kw_only=True):
    """One message of the stream."""

    heartbeat: Heartbeat | None = None
    update: MarketDataUpdate | None = None

    __full_name__ = "exchange.v1.CreateMarketDataSubscriptionResponse"
    __wire__ = (
        (1, "heartbeat", "heartbeat", "message", "oneof:event", "exchange.v1.Heartbeat", ()),
        (2, "update", "update", "message", "oneof:event", "exchange.v1.MarketDataUpdate", ()),
    )


class BiDirectionalStreamMarketDataRequest(Message, kw_only=True):
    """One frame of the client."""

    subscribe: SubscribeCommand | None = None
    unsubscribe: UnsubscribeCommand | None = None
    keepalive: KeepAliveCommand | None = None
    unaggregated: bool = False  # first frame only
    depth: int = 0  # levels per side; 0 means 10; first frame only
    snapshot_only: bool = False  # first frame only
    slow_consumer_skip_to_head: bool = False  # first frame only

    __full_name__ = "exchange.v1.BiDirectionalStreamMarketDataRequest"
    __wire__ = (
        (1, "subscribe", "subscribe", "message", "oneof:command", "exchange.v1.SubscribeCommand", ()),
        (2, "unsubscribe", "unsubscribe", "message", "oneof:command", "exchange.v1.UnsubscribeCommand", ()),
        (7, "keepalive", "keepalive", "message", "oneof:command", "exchange.v1.KeepAliveCommand", ()),
        (3, "unaggregated", "unaggregated", "bool", "", "", ()),
        (4, "depth", "depth", "int32", "", "", ()),
        (5, "snapshot_only", "snapshotOnly", "bool", "", "", ()),
        (6, "slow_consumer_skip_to_head", "slowConsumerSkipToHead", "bool", "", "", ()),
    )


class BiDirectionalStreamMarketDataResponse(Message, kw_only=True):
    """One frame of the exchange."""

    heartbeat: Heartbeat | None = None
    update: MarketDataUpdate | None = None
    subscription_ack: SubscriptionAck | None = None
    subscription_error: SubscriptionError | None = None

    __full_name__ = "exchange.v1.BiDirectionalStreamMarketDataResponse"
    __wire__ = (
        (1, "heartbeat", "heartbeat", "message", "oneof:event", "exchange.v1.Heartbeat", ()),
        (2, "update", "update", "message", "oneof:event", "exchange.v1.MarketDataUpdate", ()),
        (3, "subscription_ack", "subscriptionAck", "message", "oneof:event", "exchange.v1.SubscriptionAck", ()),
        (4, "subscription_error", "subscriptionError", "message", "oneof:event", "exchange.v1.SubscriptionError", ()),
    )


class SubscribeCommand(Message, kw_only=True):
    """Add symbols."""

    symbols: list[str] = []  # empty means all

    __full_name__ = "exchange.v1.SubscribeCommand"
    __wire__ = (
        (1, "symbols", "symbols", "string", "repeated", "", ()),
    )


class UnsubscribeCommand(Message, kw_only=True):
    """Remove symbols."""

    symbols: list[str] = []

    __full_name__ = "exchange.v1.UnsubscribeCommand"
    __wire__ = (
        (1, "symbols", "symbols", "string", "repeated", "", ()),
    )


class KeepAliveCommand(Message, kw_only=True):
    """Puts a client frame on the wire and does nothing else."""

    __full_name__ = "exchange.v1.KeepAliveCommand"


class SubscriptionAck(Message, kw_only=True):
    """What a subscribe or unsubscribe did."""

    symbols_added: list[str] = []  # left empty above 1000
    symbols_removed: list[str] = []  # left empty above 1000
    active_symbols: list[str] = []  # left empty above 1000
    symbol_scales: list[SymbolScales] = []  # of the symbols added
    active_symbol_count: int = 0
    active_symbols_truncated: bool = False
    symbols_added_count: int = 0
    symbols_added_truncated: bool = False
    symbols_removed_count: int = 0
    symbols_removed_truncated: bool = False

    __full_name__ = "exchange.v1.SubscriptionAck"
    __wire__ = (
        (1, "symbols_added", "symbolsAdded", "string", "repeated", "", ()),
        (2, "symbols_removed", "symbolsRemoved", "string", "repeated", "", ()),
        (3, "active_symbols", "activeSymbols", "string", "repeated", "", ()),
        (4, "symbol_scales", "symbolScales", "message", "repeated", "exchange.v1.SymbolScales", ()),
        (5, "active_symbol_count", "activeSymbolCount", "int32", "", "", ()),
        (6, "active_symbols_truncated", "activeSymbolsTruncated", "bool", "", "", ()),
        (7, "symbols_added_count", "symbolsAddedCount", "int32", "", "", ()),
        (8, "symbols_added_truncated", "symbolsAddedTruncated", "bool", "", "", ()),
        (9, "symbols_removed_count", "symbolsRemovedCount", "int32", "", "", ()),
        (10, "symbols_removed_truncated", "symbolsRemovedTruncated", "bool", "", "", ()),
    )


class SymbolScales(Message, kw_only=True):
    """How to read the integers of one symbol."""

    symbol: str = ""
    price_scale: int = 0  # divides prices
    quantity_scale: int = 0  # divides quantities

    __full_name__ = "exchange.v1.SymbolScales"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", ()),
        (2, "price_scale", "priceScale", "int64", "", "", ()),
        (3, "quantity_scale", "quantityScale", "int64", "", "", ()),
    )


class SubscriptionError(Message, kw_only=True):
    """Symbols that were refused."""

    error_code: str = ""  # INVALID_SYMBOL, ALREADY_SUBSCRIBED or NOT_SUBSCRIBED
    message: str = ""
    symbols: list[str] = []  # the ones refused

    __full_name__ = "exchange.v1.SubscriptionError"
    __wire__ = (
        (1, "error_code", "errorCode", "string", "", "", ()),
        (2, "message", "message", "string", "", "", ()),
        (3, "symbols", "symbols", "string", "repeated", "", ()),
    )


class GetOrderBookRequest(Message, kw_only=True):
    """Which book, how deep."""

    symbol: str = ""
    depth: int = 0  # levels per side; 0 means 3, at most 10

    __full_name__ = "exchange.v1.GetOrderBookRequest"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", (("required", True),)),
        (2, "depth", "depth", "int32", "", "", ()),
    )


class GetOrderBookResponse(Message, kw_only=True):
    """A book (§2.5)."""

    symbol: str = ""
    bids: list[BookEntry] = []  # best first
    offers: list[BookEntry] = []  # best first
    state: int | None = None
    stats: InstrumentStats | None = None
    transact_time: int | None = None

    __full_name__ = "exchange.v1.GetOrderBookResponse"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", ()),
        (2, "bids", "bids", "message", "repeated", "exchange.v1.BookEntry", ()),
        (3, "offers", "offers", "message", "repeated", "exchange.v1.BookEntry", ()),
        (4, "state", "state", "enum", "optional", "exchange.v1.InstrumentState", ()),
        (5, "stats", "stats", "message", "", "exchange.v1.InstrumentStats", ()),
        (6, "transact_time", "transactTime", "timestamp", "", "", ()),
    )


class GetBBORequest(Message, kw_only=True):
    """Which instrument."""

    symbol: str = ""

    __full_name__ = "exchange.v1.GetBBORequest"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", (("required", True),)),
    )


class GetBBOResponse(Message, kw_only=True):
    """Top of a book (§2.5)."""

    symbol: str = ""
    best_bid: BookEntry | None = None
    best_offer: BookEntry | None = None
    spread: int = 0  # best offer less best bid
    mid_price: int = 0  # mean of best bid and best offer
    state: int | None = None
    transact_time: int | None = None
    stats: InstrumentStats | None = None  # §2.5 names it, the public schema does not

    __full_name__ = "exchange.v1.GetBBOResponse"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", ()),
        (2, "best_bid", "bestBid", "message", "", "exchange.v1.BookEntry", ()),
        (3, "best_offer", "bestOffer", "message", "", "exchange.v1.BookEntry", ()),
        (4, "spread", "spread", "int64", "", "", ()),
        (5, "mid_price", "midPrice", "int64", "", "", ()),
        (6, "state", "state", "enum", "optional", "exchange.v1.InstrumentState", ()),
        (7, "transact_time", "transactTime", "timestamp", "", "", ()),
        (1001, "stats", "stats", "message", "", "exchange.v1.InstrumentStats", (("unpublished", True),)),
    )


class CreateParticipantAPITokenRequest(Message, kw_only=True):
    """For whom, with which scopes, for how long."""

    participant_id: str = ""
    scopes: list[str] = []
    ttl_seconds: int = 0

    __full_name__ = "exchange.v1.CreateParticipantAPITokenRequest"
    __wire__ = (
        (1, "participant_id", "participantId", "string", "", "", (("required", True),)),
        (2, "scopes", "scopes", "string", "repeated", "", ()),
        (3, "ttl_seconds", "ttlSeconds", "int64", "", "", ()),
    )


class CreateParticipantAPITokenResponse(Message, kw_only=True):
    """The token."""

    participant_token: str = ""
    issue_time: int | None = None
    expiration_time: int | None = None
    participant_id: str = ""
    from_cache: bool = False  # an unexpired token was handed out again

    __full_name__ = "exchange.v1.CreateParticipantAPITokenResponse"
    __wire__ = (
        (1, "participant_token", "participantToken", "string", "", "", (("secret", True),)),
        (2, "issue_time", "issueTime", "timestamp", "", "", ()),
        (3, "expiration_time", "expirationTime", "timestamp", "", "", ()),
        (4, "participant_id", "participantId", "string", "", "", ()),
        (5, "from_cache", "fromCache", "bool", "", "", ()),
    )


class CreateParticipantAdminTokenRequest(Message, kw_only=True):
    """For whom, with which scopes, for how long."""

    participant_id: str = ""
    scopes: list[str] = []
    ttl_seconds: int = 0

    __full_name__ = "exchange.v1.CreateParticipantAdminTokenRequest"
    __wire__ = (
        (1, "participant_id", "participantId", "string", "", "", (("required", True),)),
        (2, "scopes", "scopes", "string", "repeated", "", ()),
        (3, "ttl_seconds", "ttlSeconds", "int64", "", "", ()),
    )


class CreateParticipantAdminTokenResponse(Message, kw_only=True):
    """The token."""

    participant_admin_token: str = ""
    issue_time: int | None = None
    expiration_time: int | None = None
    participant_id: str = ""
    from_cache: bool = False  # an unexpired token was handed out again

    __full_name__ = "exchange.v1.CreateParticipantAdminTokenResponse"
    __wire__ = (
        (1, "participant_admin_token", "participantAdminToken", "string", "", "", (("secret", True),)),
        (2, "issue_time", "issueTime", "timestamp", "", "", ()),
        (3, "expiration_time", "expirationTime", "timestamp", "", "", ()),
        (4, "participant_id", "participantId", "string", "", "", ()),
        (5, "from_cache", "fromCache", "bool", "", "", ()),
    )


class ListInstrumentsRequest(Message, kw_only=True):
    """Which instruments to list; every filter set must hold."""

    page_size: int = 0  # 0 means 50, at most 1000
    page_token: str = ""  # next_page_token of the page before
    symbols: list[str] = []  # empty means all
    product_id: str = ""
    tradable_filter: int = 0
    states: list[int] = []
    type: int = 0
    event_series: str = ""  # such as nfl
    market_category: str = ""  # such as sports
    market_type: str = ""  # such as moneyline
    game_id: str = ""  # of the data provider
    clearing_sym: str = ""  # prefix
    event_category: str = ""  # such as SPR
    start_time_gte: str = ""  # start_date, YYYY-MM-DD
    start_time_lte: str = ""  # start_date, YYYY-MM-DD
    end_time_gte: str = ""  # expiration_date, YYYY-MM-DD
    end_time_lte: str = ""  # expiration_date, YYYY-MM-DD
    filter: InstrumentFilter | None = None

    __full_name__ = "exchange.v1.ListInstrumentsRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "symbols", "symbols", "string", "repeated", "", ()),
        (4, "product_id", "productId", "string", "", "", ()),
        (5, "tradable_filter", "tradableFilter", "enum", "", "exchange.v1.TradableFilter", ()),
        (6, "states", "states", "enum", "repeated", "exchange.v1.InstrumentState", ()),
        (7, "type", "type", "enum", "", "exchange.v1.InstrumentType", ()),
        (1001, "event_series", "eventSeries", "string", "", "", (("unpublished", True),)),
        (1002, "market_category", "marketCategory", "string", "", "", (("unpublished", True),)),
        (1003, "market_type", "marketType", "string", "", "", (("unpublished", True),)),
        (1004, "game_id", "gameId", "string", "", "", (("unpublished", True),)),
        (1005, "clearing_sym", "clearingSym", "string", "", "", (("unpublished", True),)),
        (1006, "event_category", "eventCategory", "string", "", "", (("unpublished", True),)),
        (1007, "start_time_gte", "startTimeGte", "string", "", "", (("unpublished", True),)),
        (1008, "start_time_lte", "startTimeLte", "string", "", "", (("unpublished", True),)),
        (1009, "end_time_gte", "endTimeGte", "string", "", "", (("unpublished", True),)),
        (1010, "end_time_lte", "endTimeLte", "string", "", "", (("unpublished", True),)),
        (1011, "filter", "filter", "message", "", "exchange.v1.InstrumentFilter", (("unpublished", True),)),
    )


class ListInstrumentsResponse(Message, kw_only=True):
    """One page of instruments."""

    instruments: list[Instrument] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.ListInstrumentsResponse"
    __wire__ = (
        (1, "instruments", "instruments", "message", "repeated", "exchange.v1.Instrument", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class GetInstrumentRequest(Message, kw_only=True):
    """Which instrument."""

    symbol: str = ""

    __full_name__ = "exchange.v1.GetInstrumentRequest"
    __wire__ = (
        (1001, "symbol", "symbol", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetInstrumentResponse(Message, kw_only=True):
    """The instrument."""

    instrument: Instrument | None = None

    __full_name__ = "exchange.v1.GetInstrumentResponse"
    __wire__ = (
        (1001, "instrument", "instrument", "message", "", "exchange.v1.Instrument", (("unpublished", True),)),
    )


class ListSymbolsRequest(Message, kw_only=True):
    """Nothing to say."""

    __full_name__ = "exchange.v1.ListSymbolsRequest"


class ListSymbolsResponse(Message, kw_only=True):
    """Every symbol."""

    symbols: list[str] = []

    __full_name__ = "exchange.v1.ListSymbolsResponse"
    __wire__ = (
        (1, "symbols", "symbols", "string", "repeated", "", ()),
    )


class GetInstrumentMetadataRequest(Message, kw_only=True):
    """Nothing to say."""

    __full_name__ = "exchange.v1.GetInstrumentMetadataRequest"


class GetInstrumentMetadataResponse(Message, kw_only=True):
    """Facts by name."""

    metadata: dict[str, str] = {}  # exchange_name, server_version, timezone

    __full_name__ = "exchange.v1.GetInstrumentMetadataResponse"
    __wire__ = (
        (1, "metadata", "metadata", "string", "map:string", "", ()),
    )


class TradeStats(Message, kw_only=True):
    """Statistics of one span; all zero where nothing traded (§2.4)."""

    first: int = 0
    last: int = 0
    high: int = 0
    low: int = 0
    total_trade_count: int = 0
    cleared_trade_count: int = 0  # 0 until clearing
    volume: int = 0
    cleared_volume: int = 0  # 0 until clearing
    notional: int = 0
    cleared_notional: int = 0  # 0 until clearing

    __full_name__ = "exchange.v1.TradeStats"
    __wire__ = (
        (1, "first", "first", "int64", "", "", ()),
        (2, "last", "last", "int64", "", "", ()),
        (3, "high", "high", "int64", "", "", ()),
        (4, "low", "low", "int64", "", "", ()),
        (5, "total_trade_count", "totalTradeCount", "int64", "", "", ()),
        (6, "cleared_trade_count", "clearedTradeCount", "int64", "", "", ()),
        (7, "volume", "volume", "int64", "", "", ()),
        (8, "cleared_volume", "clearedVolume", "int64", "", "", ()),
        (9, "notional", "notional", "int64", "", "", ()),
        (10, "cleared_notional", "clearedNotional", "int64", "", "", ()),
    )


class SearchOrdersRequest(Message, kw_only=True):
    """Which orders to find."""

    page_size: int = 0
    page_token: str = ""  # next_page_token of the page before
    order_id: str = ""
    clord_id: str = ""
    start_time: int | None = None  # inclusive
    end_time: int | None = None
    symbol: str = ""
    accounts: list[str] = []  # resource names; empty means all of the caller's
    side: int = 0
    type: int = 0
    order_state_filter: int = 0
    cross_id: str = ""
    host_cross_id: str = ""
    client_account_id: str = ""
    client_participant_id: str = ""
    parent_order_id: str = ""
    start_transact_trade_date: Date | None = None
    end_transact_trade_date: Date | None = None
    with_last_execution: bool = False  # fill last_executions too
    where_clause: str = ""  # column operator 'value', joined by AND
    field_filter: list[FieldFilter] = []  # only over the allowed columns (§4.3)
    # both of them as ListInstruments takes them; all that is given must hold
    filter: InstrumentFilter | None = None

    __full_name__ = "exchange.v1.SearchOrdersRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "order_id", "orderId", "string", "", "", ()),
        (4, "clord_id", "clordId", "string", "", "", ()),
        (5, "start_time", "startTime", "timestamp", "", "", ()),
        (6, "end_time", "endTime", "timestamp", "", "", ()),
        (7, "symbol", "symbol", "string", "", "", ()),
        (8, "accounts", "accounts", "string", "repeated", "", ()),
        (9, "side", "side", "enum", "", "exchange.v1.Side", ()),
        (10, "type", "type", "enum", "", "exchange.v1.OrderType", ()),
        (11, "order_state_filter", "orderStateFilter", "enum", "", "exchange.v1.OrderStateFilter", ()),
        (12, "cross_id", "crossId", "string", "", "", ()),
        (13, "host_cross_id", "hostCrossId", "string", "", "", ()),
        (14, "client_account_id", "clientAccountId", "string", "", "", ()),
        (15, "client_participant_id", "clientParticipantId", "string", "", "", ()),
        (16, "parent_order_id", "parentOrderId", "string", "", "", ()),
        (18, "start_transact_trade_date", "startTransactTradeDate", "message", "", "exchange.v1.Date", ()),
        (19, "end_transact_trade_date", "endTransactTradeDate", "message", "", "exchange.v1.Date", ()),
        (20, "with_last_execution", "withLastExecution", "bool", "", "", ()),
        (1001, "where_clause", "whereClause", "string", "", "", (("unpublished", True),)),
        (1002, "field_filter", "fieldFilter", "message", "repeated", "exchange.v1.FieldFilter", (("unpublished", True),)),
        (1003, "filter", "filter", "message", "", "exchange.v1.InstrumentFilter", (("unpublished", True),)),
    )


class SearchOrdersResponse(Message, kw_only=True):
    """One page of orders."""

    order: list[Order] = []  # singular name, many rows
    next_page_token: str = ""  # absent on the last page
    last_executions: list[Execution] = []  # one per row of order

    __full_name__ = "exchange.v1.SearchOrdersResponse"
    __wire__ = (
        (1, "order", "order", "message", "repeated", "exchange.v1.Order", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
        (3, "last_executions", "lastExecutions", "message", "repeated", "exchange.v1.Execution", ()),
    )


class GetOrderRequest(Message, kw_only=True):
    """Which order to read."""

    order_id: str = ""

    __full_name__ = "exchange.v1.GetOrderRequest"
    __wire__ = (
        (1001, "order_id", "orderId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetOrderResponse(Message, kw_only=True):
    """The order."""

    order: Order | None = None

    __full_name__ = "exchange.v1.GetOrderResponse"
    __wire__ = (
        (1001, "order", "order", "message", "", "exchange.v1.Order", (("unpublished", True),)),
    )


class DownloadOrdersRequest(Message, kw_only=True):
    """Which orders to download."""

    start_time: int | None = None  # inclusive
    end_time: int | None = None
    accounts: list[str] = []  # resource names; empty means all of the caller's

    __full_name__ = "exchange.v1.DownloadOrdersRequest"
    __wire__ = (
        (1, "start_time", "startTime", "timestamp", "", "", ()),
        (2, "end_time", "endTime", "timestamp", "", "", ()),
        (3, "accounts", "accounts", "string", "repeated", "", ()),
    )


class DownloadOrdersResponse(Message, kw_only=True):
    """A piece of the file."""

    filechunk: str = ""  # next piece of the CSV text

    __full_name__ = "exchange.v1.DownloadOrdersResponse"
    __wire__ = (
        (1, "filechunk", "filechunk", "string", "", "", ()),
    )


class SearchExecutionsRequest(Message, kw_only=True):
    """Which executions to find."""

    page_size: int = 0
    page_token: str = ""  # next_page_token of the page before
    order_id: str = ""
    clord_id: str = ""
    start_time: int | None = None  # inclusive
    end_time: int | None = None
    symbol: str = ""
    types: list[int] = []
    newest_first: bool = False  # descending by time
    accounts: list[str] = []  # resource names; empty means all of the caller's
    client_account_id: str = ""
    client_participant_id: str = ""
    parent_order_id: str = ""
    exec_ids: list[str] = []
    start_transact_trade_date: Date | None = None
    end_transact_trade_date: Date | None = None
    where_clause: str = ""  # column operator 'value', joined by AND
    field_filter: list[FieldFilter] = []  # only over the allowed columns (§4.3)
    # both of them as ListInstruments takes them; all that is given must hold
    filter: InstrumentFilter | None = None

    __full_name__ = "exchange.v1.SearchExecutionsRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "order_id", "orderId", "string", "", "", ()),
        (4, "clord_id", "clordId", "string", "", "", ()),
        (5, "start_time", "startTime", "timestamp", "", "", ()),
        (6, "end_time", "endTime", "timestamp", "", "", ()),
        (7, "symbol", "symbol", "string", "", "", ()),
        (8, "types", "types", "enum", "repeated", "exchange.v1.ExecutionType", ()),
        (9, "newest_first", "newestFirst", "bool", "", "", ()),
        (10, "accounts", "accounts", "string", "repeated", "", ()),
        (11, "client_account_id", "clientAccountId", "string", "", "", ()),
        (12, "client_participant_id", "clientParticipantId", "string", "", "", ()),
        (13, "parent_order_id", "parentOrderId", "string", "", "", ()),
        (15, "exec_ids", "execIds", "string", "repeated", "", ()),
        (16, "start_transact_trade_date", "startTransactTradeDate", "message", "", "exchange.v1.Date", ()),
        (17, "end_transact_trade_date", "endTransactTradeDate", "message", "", "exchange.v1.Date", ()),
        (1001, "where_clause", "whereClause", "string", "", "", (("unpublished", True),)),
        (1002, "field_filter", "fieldFilter", "message", "repeated", "exchange.v1.FieldFilter", (("unpublished", True),)),
        (1003, "filter", "filter", "message", "", "exchange.v1.InstrumentFilter", (("unpublished", True),)),
    )


class SearchExecutionsResponse(Message, kw_only=True):
    """One page of executions."""

    executions: list[Execution] = []
    next_page_token: str = ""  # absent on the last page
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.v1.SearchExecutionsResponse"
    __wire__ = (
        (1, "executions", "executions", "message", "repeated", "exchange.v1.Execution", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class GetExecutionRequest(Message, kw_only=True):
    """Which execution to read."""

    exec_id: str = ""

    __full_name__ = "exchange.v1.GetExecutionRequest"
    __wire__ = (
        (1001, "exec_id", "execId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetExecutionResponse(Message, kw_only=True):
    """The execution."""

    execution: Execution | None = None

    __full_name__ = "exchange.v1.GetExecutionResponse"
    __wire__ = (
        (1001, "execution", "execution", "message", "", "exchange.v1.Execution", (("unpublished", True),)),
    )


class DownloadExecutionsRequest(Message, kw_only=True):
    """Which executions to download."""

    start_time: int | None = None  # inclusive
    end_time: int | None = None
    accounts: list[str] = []  # resource names; empty means all of the caller's

    __full_name__ = "exchange.v1.DownloadExecutionsRequest"
    __wire__ = (
        (1, "start_time", "startTime", "timestamp", "", "", ()),
        (2, "end_time", "endTime", "timestamp", "", "", ()),
        (3, "accounts", "accounts", "string", "repeated", "", ()),
    )


class DownloadExecutionsResponse(Message, kw_only=True):
    """A piece of the file."""

    filechunk: str = ""  # next piece of the CSV text

    __full_name__ = "exchange.v1.DownloadExecutionsResponse"
    __wire__ = (
        (1, "filechunk", "filechunk", "string", "", "", ()),
    )


class SearchTradesRequest(Message, kw_only=True):
    """Which trades to find."""

    page_size: int = 0
    page_token: str = ""  # next_page_token of the page before
    order_id: str = ""
    trade_id: str = ""
    exec_id: str = ""
    start_time: int | None = None  # inclusive
    end_time: int | None = None
    symbol: str = ""
    accounts: list[str] = []  # resource names; empty means all of the caller's
    states: list[int] = []
    trade_link_id: str = ""
    where_clause: str = ""  # column operator 'value', joined by AND
    field_filter: list[FieldFilter] = []  # only over the allowed columns (§4.3)
    # both of them as ListInstruments takes them; all that is given must hold
    filter: InstrumentFilter | None = None

    __full_name__ = "exchange.v1.SearchTradesRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "order_id", "orderId", "string", "", "", ()),
        (4, "trade_id", "tradeId", "string", "", "", ()),
        (5, "exec_id", "execId", "string", "", "", ()),
        (6, "start_time", "startTime", "timestamp", "", "", ()),
        (7, "end_time", "endTime", "timestamp", "", "", ()),
        (8, "symbol", "symbol", "string", "", "", ()),
        (9, "accounts", "accounts", "string", "repeated", "", ()),
        (10, "states", "states", "enum", "repeated", "exchange.v1.TradeState", ()),
        (11, "trade_link_id", "tradeLinkId", "string", "", "", ()),
        (1001, "where_clause", "whereClause", "string", "", "", (("unpublished", True),)),
        (1002, "field_filter", "fieldFilter", "message", "repeated", "exchange.v1.FieldFilter", (("unpublished", True),)),
        (1003, "filter", "filter", "message", "", "exchange.v1.InstrumentFilter", (("unpublished", True),)),
    )


class SearchTradesResponse(Message, kw_only=True):
    """One page of trades."""

    trade: list[Trade] = []  # singular name, many rows
    next_page_token: str = ""  # absent on the last page

    __full_name__ = "exchange.v1.SearchTradesResponse"
    __wire__ = (
        (1, "trade", "trade", "message", "repeated", "exchange.v1.Trade", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", (("omit_empty", True),)),
    )


class DownloadTradesRequest(Message, kw_only=True):
    """Which trades to download."""

    start_time: int | None = None  # inclusive
    end_time: int | None = None
    accounts: list[str] = []  # resource names; empty means all of the caller's

    __full_name__ = "exchange.v1.DownloadTradesRequest"
    __wire__ = (
        (1, "start_time", "startTime", "timestamp", "", "", ()),
        (2, "end_time", "endTime", "timestamp", "", "", ()),
        (3, "accounts", "accounts", "string", "repeated", "", ()),
    )


class DownloadTradesResponse(Message, kw_only=True):
    """A piece of the file."""

    filechunk: str = ""  # next piece of the CSV text

    __full_name__ = "exchange.v1.DownloadTradesResponse"
    __wire__ = (
        (1, "filechunk", "filechunk", "string", "", "", ()),
    )


class GetTradeStatsRequest(Message, kw_only=True):
    """Which window to summarise, and in how many bars."""

    symbol: str = ""
    start_time: int | None = None  # inclusive
    end_time: int | None = None
    bars: int = 0  # number of equal slices of the window; 0 gives totals only
    start_trade_date: Date | None = None
    end_trade_date: Date | None = None
    where_clause: str = ""  # column operator 'value', joined by AND
    field_filter: list[FieldFilter] = []  # only over the allowed columns (§4.3)
    # both of them as ListInstruments takes them; all that is given must hold
    filter: InstrumentFilter | None = None

    __full_name__ = "exchange.v1.GetTradeStatsRequest"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", (("required", True),)),
        (2, "start_time", "startTime", "timestamp", "", "", ()),
        (3, "end_time", "endTime", "timestamp", "", "", ()),
        (4, "bars", "bars", "int32", "", "", ()),
        (5, "start_trade_date", "startTradeDate", "message", "", "exchange.v1.Date", ()),
        (6, "end_trade_date", "endTradeDate", "message", "", "exchange.v1.Date", ()),
        (1001, "where_clause", "whereClause", "string", "", "", (("unpublished", True),)),
        (1002, "field_filter", "fieldFilter", "message", "repeated", "exchange.v1.FieldFilter", (("unpublished", True),)),
        (1003, "filter", "filter", "message", "", "exchange.v1.InstrumentFilter", (("unpublished", True),)),
    )


class GetTradeStatsResponse(Message, kw_only=True):
    """Statistics of the window and of its bars."""

    stats: TradeStats | None = None  # the whole window
    bars: list[TradeStats] = []  # one per slice, empty slices all zero
    bar_start_time: list[int] = []  # parallel to bars
    bar_end_time: list[int] = []  # parallel to bars

    __full_name__ = "exchange.v1.GetTradeStatsResponse"
    __wire__ = (
        (1, "stats", "stats", "message", "", "exchange.v1.TradeStats", ()),
        (2, "bars", "bars", "message", "repeated", "exchange.v1.TradeStats", ()),
        (3, "bar_start_time", "barStartTime", "timestamp", "repeated", "", ()),
        (4, "bar_end_time", "barEndTime", "timestamp", "repeated", "", ()),
    )


class RFQComboLeg(Message, kw_only=True):
    """One market of the combo that a request is about, and the side taken in it."""

    symbol: str = ""
    side: int = 0
    # of the market's yes side, dollars; once the leg is settled
    settlement_price: str | None = None

    __full_name__ = "exchange.v1.RFQComboLeg"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", ()),
        (2, "side", "side", "enum", "", "exchange.v1.Side", ()),
        (3, "settlement_price", "settlementPrice", "string", "optional", "", ()),
    )


class RFQ(Message, kw_only=True):
    """A request for quotes on a combo."""

    id: str = ""
    qty_decimal: str | None = None  # contracts
    cash_order_qty: str | None = None  # dollars
    symbol: str = ""
    rfq_creator_user_id: str = ""
    created_time: int | None = None
    rest_remainder: bool = False  # what the requester's order leaves may rest
    status: int = 0
    updated_time: int | None = None
    combo_legs: list[RFQComboLeg] = []
    tick_size: float | None = None  # dollars

    __full_name__ = "exchange.v1.RFQ"
    __wire__ = (
        (1001, "id", "id", "string", "", "", (("unpublished", True),)),
        (1002, "qty_decimal", "qtyDecimal", "string", "optional", "", (("unpublished", True),)),
        (1003, "cash_order_qty", "cashOrderQty", "string", "optional", "", (("unpublished", True),)),
        (1004, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1005, "rfq_creator_user_id", "rfqCreatorUserId", "string", "", "", (("unpublished", True),)),
        (1006, "created_time", "createdTime", "timestamp", "", "", (("unpublished", True),)),
        (1007, "rest_remainder", "restRemainder", "bool", "", "", (("unpublished", True),)),
        (1008, "status", "status", "enum", "", "exchange.v1.RFQStatus", (("unpublished", True),)),
        (1009, "updated_time", "updatedTime", "timestamp", "", "", (("unpublished", True),)),
        (1010, "combo_legs", "comboLegs", "message", "repeated", "exchange.v1.RFQComboLeg", (("unpublished", True),)),
        (14, "tick_size", "tickSize", "double", "optional", "", ()),
    )


class Quote(Message, kw_only=True):
    """An answer to a request for quotes."""

    id: str = ""
    rfq_id: str = ""
    creator_rfq_user_id: str = ""
    symbol: str = ""
    status: int = 0
    created_time: int | None = None
    buy_price: str = ""  # dollars, decimal: the requester buys, the maker sells; 0 = not offered
    sell_price: str = ""  # dollars, decimal: the requester sells, the maker buys; 0 = not offered
    rest_remainder: bool = False  # what the maker's order leaves may rest
    post_only: bool = False  # the maker's order must not trade at once
    rfq_creator_user_id: str = ""
    rfq_cash_order_qty: str | None = None  # dollars
    buy_qty_decimal: str = ""  # contracts
    sell_qty_decimal: str = ""  # contracts
    updated_time: int | None = None
    accepted_side: int = 0  # what the requester does
    accepted_time: int | None = None
    confirmed_time: int | None = None
    confirmation_deadline: int | None = None
    execution_deadline: int | None = None
    executed_time: int | None = None
    rfq_creator_order_id: str | None = None
    creator_order_id: str | None = None

    __full_name__ = "exchange.v1.Quote"
    __wire__ = (
        (1001, "id", "id", "string", "", "", (("unpublished", True),)),
        (1002, "rfq_id", "rfqId", "string", "", "", (("unpublished", True),)),
        (1003, "creator_rfq_user_id", "creatorRfqUserId", "string", "", "", (("unpublished", True),)),
        (1004, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1005, "status", "status", "enum", "", "exchange.v1.QuoteStatus", (("unpublished", True),)),
        (1006, "created_time", "createdTime", "timestamp", "", "", (("unpublished", True),)),
        (1007, "buy_price", "buyPrice", "string", "", "", (("unpublished", True),)),
        (1008, "sell_price", "sellPrice", "string", "", "", (("unpublished", True),)),
        (1009, "rest_remainder", "restRemainder", "bool", "", "", (("unpublished", True),)),
        (1010, "post_only", "postOnly", "bool", "", "", (("unpublished", True),)),
        (1011, "rfq_creator_user_id", "rfqCreatorUserId", "string", "", "", (("unpublished", True),)),
        (1012, "rfq_cash_order_qty", "rfqCashOrderQty", "string", "optional", "", (("unpublished", True),)),
        (1013, "buy_qty_decimal", "buyQtyDecimal", "string", "", "", (("unpublished", True),)),
        (1014, "sell_qty_decimal", "sellQtyDecimal", "string", "", "", (("unpublished", True),)),
        (1015, "updated_time", "updatedTime", "timestamp", "", "", (("unpublished", True),)),
        (1016, "accepted_side", "acceptedSide", "enum", "", "exchange.v1.Side", (("unpublished", True),)),
        (1017, "accepted_time", "acceptedTime", "timestamp", "", "", (("unpublished", True),)),
        (1018, "confirmed_time", "confirmedTime", "timestamp", "", "", (("unpublished", True),)),
        (1019, "confirmation_deadline", "confirmationDeadline", "timestamp", "", "", (("unpublished", True),)),
        (1020, "execution_deadline", "executionDeadline", "timestamp", "", "", (("unpublished", True),)),
        (1021, "executed_time", "executedTime", "timestamp", "", "", (("unpublished", True),)),
        (1022, "rfq_creator_order_id", "rfqCreatorOrderId", "string", "optional", "", (("unpublished", True),)),
        (1023, "creator_order_id", "creatorOrderId", "string", "optional", "", (("unpublished", True),)),
    )


class RFQTrade(Message, kw_only=True):
    """A fill of an order that came from a quote, without names."""

    trade_id: str = ""
    symbol: str = ""
    price: str = ""  # dollars, decimal
    qty_decimal: str = ""  # contracts
    aggressor_side: int = 0
    executed_time: int | None = None

    __full_name__ = "exchange.v1.RFQTrade"
    __wire__ = (
        (1001, "trade_id", "tradeId", "string", "", "", (("unpublished", True),)),
        (1002, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1003, "price", "price", "string", "", "", (("unpublished", True),)),
        (1004, "qty_decimal", "qtyDecimal", "string", "", "", (("unpublished", True),)),
        (1005, "aggressor_side", "aggressorSide", "enum", "", "exchange.v1.Side", (("unpublished", True),)),
        (1006, "executed_time", "executedTime", "timestamp", "", "", (("unpublished", True),)),
    )


class GetRFQUserIDRequest(Message, kw_only=True):
    """No fields."""

    __full_name__ = "exchange.v1.GetRFQUserIDRequest"


class GetRFQUserIDResponse(Message, kw_only=True):
    """A pseudonym that never changes."""

    rfq_user_id: str = ""

    __full_name__ = "exchange.v1.GetRFQUserIDResponse"
    __wire__ = (
        (1001, "rfq_user_id", "rfqUserId", "string", "", "", (("unpublished", True),)),
    )


class GetRFQsRequest(Message, kw_only=True):
    """Which requests; every filter must match."""

    limit: int = 0  # 1 to 100; 0 = 100
    cursor: str = ""  # of the page before, with the same filters
    rfq_id: str = ""  # excludes cursor
    symbol: str = ""
    status: int = 0
    user_filter: int = 0  # SELF: asked by the caller

    __full_name__ = "exchange.v1.GetRFQsRequest"
    __wire__ = (
        (1001, "limit", "limit", "int32", "", "", (("unpublished", True),)),
        (1002, "cursor", "cursor", "string", "", "", (("unpublished", True),)),
        (1003, "rfq_id", "rfqId", "string", "", "", (("unpublished", True),)),
        (1004, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1005, "status", "status", "enum", "", "exchange.v1.RFQStatus", (("unpublished", True),)),
        (1006, "user_filter", "userFilter", "enum", "", "exchange.v1.UserFilter", (("unpublished", True),)),
    )


class GetRFQsResponse(Message, kw_only=True):
    """One page of requests."""

    rfqs: list[RFQ] = []
    cursor: str = ""  # empty = the end

    __full_name__ = "exchange.v1.GetRFQsResponse"
    __wire__ = (
        (1001, "rfqs", "rfqs", "message", "repeated", "exchange.v1.RFQ", (("unpublished", True),)),
        (1002, "cursor", "cursor", "string", "", "", (("unpublished", True),)),
    )


class CreateRFQRequest(Message, kw_only=True):
    """Exactly one of qty_decimal and cash_order_qty."""

    qty_decimal: str = ""  # contracts
    cash_order_qty: str = ""  # dollars, at most four decimals
    symbol: str = ""  # of a combo
    rest_remainder: bool | None = None
    account: str = ""  # the participant's

    __full_name__ = "exchange.v1.CreateRFQRequest"
    __wire__ = (
        (1001, "qty_decimal", "qtyDecimal", "string", "", "", (("unpublished", True),)),
        (1002, "cash_order_qty", "cashOrderQty", "string", "", "", (("unpublished", True),)),
        (1003, "symbol", "symbol", "string", "", "", (("unpublished", True), ("required", True),)),
        (1004, "rest_remainder", "restRemainder", "bool", "optional", "", (("unpublished", True), ("required", True),)),
        (1005, "account", "account", "string", "", "", (("unpublished", True), ("required", True),)),
    )
    __needs__ = ("qty_decimal | cash_order_qty",)


class CreateRFQResponse(Message, kw_only=True):
    """The request."""

    rfq_id: str = ""

    __full_name__ = "exchange.v1.CreateRFQResponse"
    __wire__ = (
        (1001, "rfq_id", "rfqId", "string", "", "", (("unpublished", True),)),
    )


class DeleteRFQRequest(Message, kw_only=True):
    """Which request."""

    rfq_id: str = ""

    __full_name__ = "exchange.v1.DeleteRFQRequest"
    __wire__ = (
        (1001, "rfq_id", "rfqId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class DeleteRFQResponse(Message, kw_only=True):
    """No fields."""

    __full_name__ = "exchange.v1.DeleteRFQResponse"


class GetQuotesRequest(Message, kw_only=True):
    """Which quotes; every filter must match."""

    limit: int = 0  # 1 to 100; 0 = 100
    cursor: str = ""  # of the page before, with the same filters
    quote_id: str = ""  # needs rfq_id, excludes cursor
    rfq_id: str = ""
    status: int = 0
    user_filter: int = 0  # SELF: made by the caller
    rfq_user_filter: int = 0  # SELF: on requests of the caller

    __full_name__ = "exchange.v1.GetQuotesRequest"
    __wire__ = (
        (1001, "limit", "limit", "int32", "", "", (("unpublished", True),)),
        (1002, "cursor", "cursor", "string", "", "", (("unpublished", True),)),
        (1003, "quote_id", "quoteId", "string", "", "", (("unpublished", True),)),
        (1004, "rfq_id", "rfqId", "string", "", "", (("unpublished", True),)),
        (1005, "status", "status", "enum", "", "exchange.v1.QuoteStatus", (("unpublished", True),)),
        (1006, "user_filter", "userFilter", "enum", "", "exchange.v1.UserFilter", (("unpublished", True),)),
        (1007, "rfq_user_filter", "rfqUserFilter", "enum", "", "exchange.v1.UserFilter", (("unpublished", True),)),
    )


class GetQuotesResponse(Message, kw_only=True):
    """One page of quotes."""

    quotes: list[Quote] = []
    cursor: str = ""  # empty = the end

    __full_name__ = "exchange.v1.GetQuotesResponse"
    __wire__ = (
        (1001, "quotes", "quotes", "message", "repeated", "exchange.v1.Quote", (("unpublished", True),)),
        (1002, "cursor", "cursor", "string", "", "", (("unpublished", True),)),
    )


class CreateQuoteRequest(Message, kw_only=True):
    """The prices; all but post_only are required."""

    rfq_id: str = ""
    buy_price: str = ""  # dollars, decimal: the requester buys; 0 = not offered
    sell_price: str = ""  # dollars, decimal: the requester sells; 0 = not offered
    rest_remainder: bool | None = None
    post_only: bool = False
    account: str = ""  # the participant's

    __full_name__ = "exchange.v1.CreateQuoteRequest"
    __wire__ = (
        (1001, "rfq_id", "rfqId", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "buy_price", "buyPrice", "string", "", "", (("unpublished", True), ("required", True),)),
        (1003, "sell_price", "sellPrice", "string", "", "", (("unpublished", True), ("required", True),)),
        (1004, "rest_remainder", "restRemainder", "bool", "optional", "", (("unpublished", True), ("required", True),)),
        (1005, "post_only", "postOnly", "bool", "", "", (("unpublished", True),)),
        (1006, "account", "account", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class CreateQuoteResponse(Message, kw_only=True):
    """The quote. A maker has one id per request here; the retail host gives each replacement a new one."""

    quote_id: str = ""

    __full_name__ = "exchange.v1.CreateQuoteResponse"
    __wire__ = (
        (1001, "quote_id", "quoteId", "string", "", "", (("unpublished", True),)),
    )


class DeleteQuoteRequest(Message, kw_only=True):
    """Which quote."""

    rfq_id: str = ""
    quote_id: str = ""

    __full_name__ = "exchange.v1.DeleteQuoteRequest"
    __wire__ = (
        (1001, "rfq_id", "rfqId", "string", "", "", (("unpublished", True),)),
        (1002, "quote_id", "quoteId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class DeleteQuoteResponse(Message, kw_only=True):
    """No fields."""

    __full_name__ = "exchange.v1.DeleteQuoteResponse"


class AcceptQuoteRequest(Message, kw_only=True):
    """Which quote and which side of the requester."""

    rfq_id: str = ""
    quote_id: str = ""
    accepted_side: int = 0

    __full_name__ = "exchange.v1.AcceptQuoteRequest"
    __wire__ = (
        (1001, "rfq_id", "rfqId", "string", "", "", (("unpublished", True),)),
        (1002, "quote_id", "quoteId", "string", "", "", (("unpublished", True), ("required", True),)),
        (1003, "accepted_side", "acceptedSide", "enum", "", "exchange.v1.Side", (("unpublished", True), ("required", True),)),
    )


class AcceptQuoteResponse(Message, kw_only=True):
    """No fields."""

    __full_name__ = "exchange.v1.AcceptQuoteResponse"


class ConfirmQuoteRequest(Message, kw_only=True):
    """Which quote."""

    rfq_id: str = ""
    quote_id: str = ""

    __full_name__ = "exchange.v1.ConfirmQuoteRequest"
    __wire__ = (
        (1001, "rfq_id", "rfqId", "string", "", "", (("unpublished", True),)),
        (1002, "quote_id", "quoteId", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class ConfirmQuoteResponse(Message, kw_only=True):
    """No fields."""

    __full_name__ = "exchange.v1.ConfirmQuoteResponse"


class GetRFQTradesRequest(Message, kw_only=True):
    """Which fills."""

    limit: int = 0  # 1 to 100; 0 = 100
    cursor: str = ""  # of the page before, with everything else the same
    start_time: int | None = None  # inclusive
    end_time: int | None = None  # exclusive
    symbol: str = ""

    __full_name__ = "exchange.v1.GetRFQTradesRequest"
    __wire__ = (
        (1001, "limit", "limit", "int32", "", "", (("unpublished", True),)),
        (1002, "cursor", "cursor", "string", "", "", (("unpublished", True),)),
        (1003, "start_time", "startTime", "timestamp", "", "", (("unpublished", True),)),
        (1004, "end_time", "endTime", "timestamp", "", "", (("unpublished", True),)),
        (1005, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
    )


class GetRFQTradesResponse(Message, kw_only=True):
    """One page of fills."""

    trades: list[RFQTrade] = []
    cursor: str = ""  # empty = the end; a page may be empty while it is not

    __full_name__ = "exchange.v1.GetRFQTradesResponse"
    __wire__ = (
        (1001, "trades", "trades", "message", "repeated", "exchange.v1.RFQTrade", (("unpublished", True),)),
        (1002, "cursor", "cursor", "string", "", "", (("unpublished", True),)),
    )


class StreamRFQEventsRequest(Message, kw_only=True):
    """No fields."""

    __full_name__ = "exchange.v1.StreamRFQEventsRequest"


class StreamRFQEventsResponse(Message, kw_only=True):
    """What happened: exactly one of these. A heartbeat has none."""

    rfq_created: RFQCreatedEvent | None = None  # to everybody
    rfq_closed: RFQClosedEvent | None = None  # to everybody
    quote_created: QuoteCreatedEvent | None = None  # to requester and maker, as all of quotes
    quote_deleted: QuoteDeletedEvent | None = None
    quote_accepted: QuoteAcceptedEvent | None = None
    quote_confirmed: QuoteConfirmedEvent | None = None
    quote_executed: QuoteExecutedEvent | None = None
    rfq_trade: RFQTradeEvent | None = None  # to everybody

    __full_name__ = "exchange.v1.StreamRFQEventsResponse"
    __wire__ = (
        (1001, "rfq_created", "rfqCreated", "message", "oneof:event", "exchange.v1.RFQCreatedEvent", (("unpublished", True),)),
        (1002, "rfq_closed", "rfqClosed", "message", "oneof:event", "exchange.v1.RFQClosedEvent", (("unpublished", True),)),
        (1003, "quote_created", "quoteCreated", "message", "oneof:event", "exchange.v1.QuoteCreatedEvent", (("unpublished", True),)),
        (1004, "quote_deleted", "quoteDeleted", "message", "oneof:event", "exchange.v1.QuoteDeletedEvent", (("unpublished", True),)),
        (1005, "quote_accepted", "quoteAccepted", "message", "oneof:event", "exchange.v1.QuoteAcceptedEvent", (("unpublished", True),)),
        (1006, "quote_confirmed", "quoteConfirmed", "message", "oneof:event", "exchange.v1.QuoteConfirmedEvent", (("unpublished", True),)),
        (1007, "quote_executed", "quoteExecuted", "message", "oneof:event", "exchange.v1.QuoteExecutedEvent", (("unpublished", True),)),
        (15, "rfq_trade", "rfqTrade", "message", "oneof:event", "exchange.v1.RFQTradeEvent", ()),
    )
    __omit_unset__ = True


class RFQCreatedEvent(Message, kw_only=True):
    """A new request."""

    rfq: RFQ | None = None

    __full_name__ = "exchange.v1.RFQCreatedEvent"
    __wire__ = (
        (1001, "rfq", "rfq", "message", "", "exchange.v1.RFQ", (("unpublished", True),)),
    )


class RFQClosedEvent(Message, kw_only=True):
    """A request that was withdrawn, or one of whose quotes was accepted."""

    rfq: RFQ | None = None

    __full_name__ = "exchange.v1.RFQClosedEvent"
    __wire__ = (
        (1001, "rfq", "rfq", "message", "", "exchange.v1.RFQ", (("unpublished", True),)),
    )


class QuoteCreatedEvent(Message, kw_only=True):
    """A quote, or what replaces it."""

    quote: Quote | None = None

    __full_name__ = "exchange.v1.QuoteCreatedEvent"
    __wire__ = (
        (1001, "quote", "quote", "message", "", "exchange.v1.Quote", (("unpublished", True),)),
    )


class QuoteDeletedEvent(Message, kw_only=True):
    """A quote that is gone."""

    quote: Quote | None = None

    __full_name__ = "exchange.v1.QuoteDeletedEvent"
    __wire__ = (
        (1001, "quote", "quote", "message", "", "exchange.v1.Quote", (("unpublished", True),)),
    )


class QuoteAcceptedEvent(Message, kw_only=True):
    """A quote that its maker may confirm or decline."""

    quote: Quote | None = None
    confirmation_deadline: int | None = None

    __full_name__ = "exchange.v1.QuoteAcceptedEvent"
    __wire__ = (
        (1001, "quote", "quote", "message", "", "exchange.v1.Quote", (("unpublished", True),)),
        (1002, "confirmation_deadline", "confirmationDeadline", "timestamp", "", "", (("unpublished", True),)),
    )


class QuoteConfirmedEvent(Message, kw_only=True):
    """A quote whose orders are about to be entered."""

    quote: Quote | None = None
    execution_deadline: int | None = None

    __full_name__ = "exchange.v1.QuoteConfirmedEvent"
    __wire__ = (
        (1001, "quote", "quote", "message", "", "exchange.v1.Quote", (("unpublished", True),)),
        (1002, "execution_deadline", "executionDeadline", "timestamp", "", "", (("unpublished", True),)),
    )


class QuoteExecutedEvent(Message, kw_only=True):
    """A quote whose orders were entered."""

    quote: Quote | None = None
    order_id: str = ""  # the reader's own
    client_order_id: str = ""
    executed_time: int | None = None

    __full_name__ = "exchange.v1.QuoteExecutedEvent"
    __wire__ = (
        (1001, "quote", "quote", "message", "", "exchange.v1.Quote", (("unpublished", True),)),
        (1002, "order_id", "orderId", "string", "", "", (("unpublished", True),)),
        (1003, "client_order_id", "clientOrderId", "string", "", "", (("unpublished", True),)),
        (1004, "executed_time", "executedTime", "timestamp", "", "", (("unpublished", True),)),
    )


class RFQTradeEvent(Message, kw_only=True):
    """A fill of an order that came from a quote."""

    trade: RFQTrade | None = None

    __full_name__ = "exchange.v1.RFQTradeEvent"
    __wire__ = (
        (1001, "trade", "trade", "message", "", "exchange.v1.RFQTrade", (("unpublished", True),)),
    )


class LSport(Message, kw_only=True):
    """A sport as the data source names it."""

    id: int = 0
    name: str = ""
    sport: str = ""
    abbreviation: str = ""
    league_id: int = 0
    home_away: bool = False
    enabled: bool = False

    __full_name__ = "exchange.v1.LSport"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "sport", "sport", "string", "", "", ()),
        (4, "abbreviation", "abbreviation", "string", "", "", ()),
        (5, "league_id", "leagueId", "int32", "", "", ()),
        (6, "home_away", "homeAway", "bool", "", "", ()),
        (7, "enabled", "enabled", "bool", "", "", ()),
    )


class Sport(Message, kw_only=True):
    """A sport or league."""

    sport: str = ""
    image: str = ""
    resolution: str = ""
    ordering: str = ""
    tags: str = ""
    series: str = ""
    lsport: LSport | None = None
    is_operational: bool = False
    automatic_resolution: bool = False

    __full_name__ = "exchange.v1.Sport"
    __wire__ = (
        (1, "sport", "sport", "string", "", "", ()),
        (2, "image", "image", "string", "", "", ()),
        (3, "resolution", "resolution", "string", "", "", ()),
        (4, "ordering", "ordering", "string", "", "", ()),
        (5, "tags", "tags", "string", "", "", ()),
        (6, "series", "series", "string", "", "", ()),
        (7, "lsport", "lsport", "message", "", "exchange.v1.LSport", ()),
        (8, "is_operational", "isOperational", "bool", "", "", ()),
        (9, "automatic_resolution", "automaticResolution", "bool", "", "", ()),
    )


class TeamProviderRef(Message, kw_only=True):
    """A team's id with a data provider."""

    provider: int = 0
    provider_team_id: str = ""

    __full_name__ = "exchange.v1.TeamProviderRef"
    __wire__ = (
        (1, "provider", "provider", "enum", "", "exchange.v1.SportsDataProvider", ()),
        (2, "provider_team_id", "providerTeamId", "string", "", "", ()),
    )


class Team(Message, kw_only=True):
    """A team."""

    id: int = 0
    name: str = ""
    abbreviation: str = ""
    league: str = ""
    record: str = ""
    logo: str = ""
    alias: str = ""
    home_icon: str | None = None
    away_icon: str | None = None
    color_primary: str | None = None
    safe_name: str = ""
    long_icon: str | None = None
    short_icon: str | None = None
    display_abbreviation: str | None = None
    ranking: int | None = None
    conference: str | None = None
    provider_refs: list[TeamProviderRef] = []
    long_icon_dark: str | None = None
    short_icon_dark: str | None = None

    __full_name__ = "exchange.v1.Team"
    __wire__ = (
        (1, "id", "id", "int64", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "abbreviation", "abbreviation", "string", "", "", ()),
        (7, "league", "league", "string", "", "", ()),
        (8, "record", "record", "string", "", "", ()),
        (9, "logo", "logo", "string", "", "", ()),
        (10, "alias", "alias", "string", "", "", ()),
        (11, "home_icon", "homeIcon", "string", "optional", "", ()),
        (12, "away_icon", "awayIcon", "string", "optional", "", ()),
        (13, "color_primary", "colorPrimary", "string", "optional", "", ()),
        (14, "safe_name", "safeName", "string", "", "", ()),
        (16, "long_icon", "longIcon", "string", "optional", "", ()),
        (17, "short_icon", "shortIcon", "string", "optional", "", ()),
        (18, "display_abbreviation", "displayAbbreviation", "string", "optional", "", ()),
        (19, "ranking", "ranking", "int64", "optional", "", ()),
        (20, "conference", "conference", "string", "optional", "", ()),
        (21, "provider_refs", "providerRefs", "message", "repeated", "exchange.v1.TeamProviderRef", ()),
        (22, "long_icon_dark", "longIconDark", "string", "optional", "", ()),
        (23, "short_icon_dark", "shortIconDark", "string", "optional", "", ()),
    )


class TeamsFilters(Message, kw_only=True):
    """Which teams; empty lists match all."""

    league: list[str] = []
    name: list[str] = []
    abbreviation: list[str] = []
    id: list[int] = []

    __full_name__ = "exchange.v1.TeamsFilters"
    __wire__ = (
        (1, "league", "league", "string", "repeated", "", ()),
        (2, "name", "name", "string", "repeated", "", ()),
        (3, "abbreviation", "abbreviation", "string", "repeated", "", ()),
        (4, "id", "id", "int64", "repeated", "", ()),
    )


class GetSportsRequest(Message, kw_only=True):
    """Nothing to say."""

    __full_name__ = "exchange.v1.GetSportsRequest"


class GetSportsResponse(Message, kw_only=True):
    """Sports."""

    sports: list[Sport] = []

    __full_name__ = "exchange.v1.GetSportsResponse"
    __wire__ = (
        (1, "sports", "sports", "message", "repeated", "exchange.v1.Sport", ()),
    )


class GetSportsTeamsRequest(Message, kw_only=True):
    """Which teams, in what order."""

    limit: int | None = None
    offset: int | None = None
    order_by: str | None = None
    order_direction: str | None = None  # asc or desc
    filters: TeamsFilters | None = None

    __full_name__ = "exchange.v1.GetSportsTeamsRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "optional", "", ()),
        (2, "offset", "offset", "int32", "optional", "", ()),
        (3, "order_by", "orderBy", "string", "optional", "", ()),
        (4, "order_direction", "orderDirection", "string", "optional", "", ()),
        (5, "filters", "filters", "message", "", "exchange.v1.TeamsFilters", ()),
    )


class GetSportsTeamsResponse(Message, kw_only=True):
    """Teams."""

    teams: list[Team] = []

    __full_name__ = "exchange.v1.GetSportsTeamsResponse"
    __wire__ = (
        (1, "teams", "teams", "message", "repeated", "exchange.v1.Team", ()),
    )


class GetSportsTeamsForProviderRequest(Message, kw_only=True):
    """Which provider and ids."""

    team_ids: list[str] = []
    provider: int = 0
    league: str = ""

    __full_name__ = "exchange.v1.GetSportsTeamsForProviderRequest"
    __wire__ = (
        (1, "team_ids", "teamIds", "string", "repeated", "", ()),
        (2, "provider", "provider", "enum", "", "exchange.v1.SportsDataProvider", ()),
        (3, "league", "league", "string", "", "", ()),
    )


class GetSportsTeamsForProviderResponse(Message, kw_only=True):
    """Teams found."""

    teams: dict[str, Team] = {}  # by the provider's team id

    __full_name__ = "exchange.v1.GetSportsTeamsForProviderResponse"
    __wire__ = (
        (1, "teams", "teams", "message", "map:string", "exchange.v1.Team", ()),
    )


class ISVUser(Message, kw_only=True):
    """A user as the partner knows it."""

    id: str = ""
    user_id: str = ""
    email: str = ""
    phone_number: str = ""  # E.164
    first_name: str = ""
    last_name: str = ""
    display_name: str = ""
    date_of_birth: str = ""
    profile_image_url: str = ""
    ep3_participant_id: str = ""
    ep3_account_id: str = ""
    kyc_status: int = 0
    created_at: int | None = None
    updated_at: int | None = None
    firm_id: str = ""

    __full_name__ = "exchange.v1.ISVUser"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "user_id", "userId", "string", "", "", ()),
        (3, "email", "email", "string", "", "", ()),
        (4, "phone_number", "phoneNumber", "string", "", "", ()),
        (5, "first_name", "firstName", "string", "", "", ()),
        (6, "last_name", "lastName", "string", "", "", ()),
        (7, "display_name", "displayName", "string", "", "", ()),
        (8, "date_of_birth", "dateOfBirth", "string", "", "", ()),
        (9, "profile_image_url", "profileImageUrl", "string", "", "", ()),
        (10, "ep3_participant_id", "ep3ParticipantId", "string", "", "", ()),
        (11, "ep3_account_id", "ep3AccountId", "string", "", "", ()),
        (12, "kyc_status", "kycStatus", "enum", "", "exchange.v1.KYCStatusType", ()),
        (13, "created_at", "createdAt", "timestamp", "", "", ()),
        (14, "updated_at", "updatedAt", "timestamp", "", "", ()),
        (15, "firm_id", "firmId", "string", "", "", ()),
    )


class ListUsersRequest(Message, kw_only=True):
    """Nothing to say."""

    __full_name__ = "exchange.v1.ListUsersRequest"


class ListUsersResponse(Message, kw_only=True):
    """Participant ids, with names and firms in parallel."""

    users: list[str] = []  # firms/<firm>/users/<user>
    display_names: list[str] = []  # parallel
    firms: list[str] = []  # parallel
    firms_display_names: list[str] = []  # parallel

    __full_name__ = "exchange.v1.ListUsersResponse"
    __wire__ = (
        (1, "users", "users", "string", "repeated", "", ()),
        (2, "display_names", "displayNames", "string", "repeated", "", ()),
        (3, "firms", "firms", "string", "repeated", "", ()),
        (4, "firms_display_names", "firmsDisplayNames", "string", "repeated", "", ()),
    )


class CreateUserRequest(Message, kw_only=True):
    """A new user."""

    user_id: str = ""
    email: str = ""
    phone_number: str = ""  # E.164
    first_name: str = ""
    last_name: str = ""
    display_name: str = ""
    date_of_birth: str = ""  # YYYY-MM-DD
    profile_image_url: str = ""

    __full_name__ = "exchange.v1.CreateUserRequest"
    __wire__ = (
        (1, "user_id", "userId", "string", "", "", (("required", True),)),
        (2, "email", "email", "string", "", "", ()),
        (3, "phone_number", "phoneNumber", "string", "", "", ()),
        (4, "first_name", "firstName", "string", "", "", ()),
        (5, "last_name", "lastName", "string", "", "", ()),
        (6, "display_name", "displayName", "string", "", "", ()),
        (7, "date_of_birth", "dateOfBirth", "string", "", "", ()),
        (8, "profile_image_url", "profileImageUrl", "string", "", "", ()),
    )


class CreateUserResponse(Message, kw_only=True):
    """The user, new or found."""

    user: ISVUser | None = None
    participant_id: str = ""
    created: bool = False

    __full_name__ = "exchange.v1.CreateUserResponse"
    __wire__ = (
        (1, "user", "user", "message", "", "exchange.v1.ISVUser", ()),
        (2, "participant_id", "participantId", "string", "", "", ()),
        (3, "created", "created", "bool", "", "", ()),
    )


class UpdateUserRequest(Message, kw_only=True):
    """New values of a user; empty ones stay."""

    user_id: str = ""
    email: str = ""
    phone_number: str = ""  # E.164
    first_name: str = ""
    last_name: str = ""
    display_name: str = ""
    date_of_birth: str = ""
    profile_image_url: str = ""

    __full_name__ = "exchange.v1.UpdateUserRequest"
    __wire__ = (
        (1, "user_id", "userId", "string", "", "", (("required", True),)),
        (2, "email", "email", "string", "", "", ()),
        (3, "phone_number", "phoneNumber", "string", "", "", ()),
        (4, "first_name", "firstName", "string", "", "", ()),
        (5, "last_name", "lastName", "string", "", "", ()),
        (6, "display_name", "displayName", "string", "", "", ()),
        (7, "date_of_birth", "dateOfBirth", "string", "", "", ()),
        (8, "profile_image_url", "profileImageUrl", "string", "", "", ()),
    )


class UpdateUserResponse(Message, kw_only=True):
    """The user after the change."""

    user: ISVUser | None = None

    __full_name__ = "exchange.v1.UpdateUserResponse"
    __wire__ = (
        (1, "user", "user", "message", "", "exchange.v1.ISVUser", ()),
    )
