# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from sim.contract.messages import Duration, FieldRule, Int32, Int64, Message, Timestamp
from sim.kernel.instants import parse_instant


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

    year: Int32 = 0
    month: Int32 = 0
    day: Int32 = 0


class TimeOfDay(Message, kw_only=True):
    """A time of day on the exchange's clock."""

    hours: Int32 = 0
    minutes: Int32 = 0
    seconds: Int32 = 0


class Heartbeat(Message, kw_only=True):
    """Says that a stream is alive; carries nothing."""


class Order(Message, kw_only=True):
    """An order and what became of it so far (§2.7)."""

    id: str = ""  # given by the exchange
    type: Annotated[int, OrderType] = 0
    side: Annotated[int, Side] = 0
    order_qty: Int64 = 0  # scaled by fractional_quantity_scale
    symbol: str = ""
    clord_id: str = ""
    time_in_force: Annotated[int, TimeInForce] = 0  # unset means DAY
    account: str = ""
    cum_qty: Int64 = 0  # filled so far, scaled
    avg_px: Int64 = 0  # quantity-weighted mean, scaled by price_scale
    leaves_qty: Int64 = 0  # still working, scaled
    state: Annotated[int, OrderState] = 0
    participant: str = ""
    price: Int64 = 0  # scaled by price_scale
    insert_time: Timestamp | None = None
    stop_price: Int64 = 0  # scaled by price_scale
    min_qty: Int64 = 0  # least quantity to fill at entry
    create_time: Timestamp | None = None
    all_or_none: bool = False  # whole quantity or nothing
    cross_id: str = ""
    host_cross_id: str = ""
    submitting_participant: str = ""  # who sent it on behalf of participant
    client_account_id: str = ""
    client_participant_id: str = ""
    parent_order_id: str = ""
    commissions_basis_points: str = ""  # decimal text
    participate_dont_initiate: bool = False  # post-only
    cash_order_qty: Int64 = 0  # dollars × price_scale; excludes order_qty
    strict_limit: bool = False  # fills at exactly the limit price
    good_till_time: Timestamp | None = None  # needed by GOOD_TILL_TIME
    best_limit: bool = False  # price becomes the top of the own side
    immediately_executable_limit: bool = False  # price becomes the top of the other side
    last_trade_id: str = ""
    # scaled price → scaled quantity, over the order's life
    price_to_quantity_filled: Annotated[dict[Int64, Int64], FieldRule(since=parse_instant("2026-05-11"))] = {}
    # units of 1/(price_scale · fractional_quantity_scale) dollar
    commission_notional_total_collected: Int64 = 0
    self_match_prevention_instruction: Annotated[int, SelfMatchPreventionInstruction] = 0
    order_capacity: Annotated[int, OrderCapacity] = 0
    ignore_price_validity_checks: bool = False  # market-to-limit sells only
    last_transact_time: Timestamp | None = None
    price_scale: Int64 = 0  # copied from the instrument at creation
    # copied from the instrument at creation (§2.7)
    fractional_quantity_scale: Annotated[Int64, FieldRule(since=parse_instant("2026-05-11"))] = 0
    maker_commissions_basis_points: str = ""  # decimal text
    manual_order_indicator: Annotated[int, ManualOrderIndicator] = 0


class LegPrice(Message, kw_only=True):
    """Price and quantity of one leg of a multi-leg fill."""

    symbol: str = ""
    anchor: bool = False  # the other legs derive from this one
    px: Int64 = 0  # scaled by price_scale
    qty: Int64 = 0  # scaled by the quantity scale
    side: str = ""  # as text
    reference_px: Int64 = 0  # what the leg price was derived from


class Execution(Message, kw_only=True):
    """Something that happened to an order (§2.7)."""

    id: str = ""  # dedupe key
    order: Order | None = None  # as it is after this event
    last_shares: Int64 = 0  # quantity of this fill, scaled
    last_px: Int64 = 0  # price of this fill, scaled
    type: Annotated[int, ExecutionType] = 0
    text: str = ""
    order_reject_reason: Annotated[int, OrdRejectReason] = 0
    transact_time: Timestamp | None = None
    leg_prices: list[LegPrice] = []  # of a multi-leg instrument
    trade_id: str = ""  # of a fill, shared by both sides
    aggressor: bool = False  # true on the taker's side
    # units of 1/(price_scale · fractional_quantity_scale) dollar; negative is a rebate
    commission_notional_collected: Annotated[Int64, FieldRule(since=parse_instant("2026-04-13"))] = 0
    unsolicited_cancel_reason: Annotated[int, UnsolicitedCxlReason] = 0
    trace_id: str = ""
    # price of this fill with a commission taken as a spread: last_px, as none is
    commission_spread_px: Annotated[Int64, FieldRule(since=parse_instant("2026-04-13"))] = 0
    # the trade day rolls at 17:00 Eastern
    transact_trade_date: Annotated[Date | None, FieldRule(since=parse_instant("2026-04-13"))] = None
    block_trade_indicator: bool = False  # the fill came from a block trade


class CancelReject(Message, kw_only=True):
    """A cancel or replace that was refused; the order stays as it was."""

    order_id: str = ""
    reject_reason: Annotated[int, CxlRejReason] = 0
    text: str = ""
    is_replace: bool = False  # a replace was refused, not a cancel
    clord_id: str = ""
    transact_time: Timestamp | None = None


class InsertOrderRequest(Message, kw_only=True):
    """A new order."""

    type: Annotated[Annotated[int, OrderType], FieldRule(required=True)] = 0
    side: Annotated[Annotated[int, Side], FieldRule(required=True)] = 0
    order_qty: Int64 = 0  # scaled by fractional_quantity_scale
    symbol: Annotated[str, FieldRule(required=True)] = ""
    price: Int64 = 0  # scaled by price_scale; required for LIMIT and STOP_LIMIT
    # unset means DAY; required in an order of a partner
    time_in_force: Annotated[int, TimeInForce] = 0
    clord_id: str = ""  # required in an order of a partner for a participant
    # unset means the participant's own; required in a cross and in an order of a partner
    account: str = ""
    stop_price: Int64 = 0  # scaled by price_scale; required for STOP and STOP_LIMIT
    min_qty: Int64 = 0  # least quantity to fill at entry
    self_match_prevention_id: str = ""  # orders that share it never trade with each other
    quote: str = ""  # quote this order answers
    all_or_none: bool = False  # whole quantity or nothing
    session_id: str = ""  # of an order subscription of the account; assumption orders.session_id
    user: str = ""  # resource name
    client_account_id: str = ""
    client_participant_id: str = ""
    participate_dont_initiate: bool = False  # post-only
    cash_order_qty: Int64 = 0  # dollars × price_scale; excludes order_qty
    strict_limit: bool = False  # fills at exactly the limit price
    good_till_time: Timestamp | None = None  # required for GOOD_TILL_TIME
    best_limit: bool = False  # price becomes the top of the own side
    immediately_executable_limit: bool = False  # price becomes the top of the other side
    self_match_prevention_instruction: Annotated[int, SelfMatchPreventionInstruction] = 0
    order_capacity: Annotated[int, OrderCapacity] = 0
    ignore_price_validity_checks: bool = False  # market-to-limit sells only
    # required in an order of a partner
    manual_order_indicator: Annotated[int, ManualOrderIndicator] = 0
    idempotency_key: str = ""  # of a participant: one order per key; not read in a cross

    __needs__ = ("order_qty | cash_order_qty",)


class InsertOrderResponse(Message, kw_only=True):
    """Receipt of an order."""

    order_id: str = ""


class PreviewOrderRequest(Message, kw_only=True):
    """An order to try."""

    # the order to try
    request: Annotated[InsertOrderRequest | None, FieldRule(required=True)] = None


class PreviewOrderResponse(Message, kw_only=True):
    """The order as it would be."""

    preview_order: Order | None = None


class InsertOrderCrossRequest(Message, kw_only=True):
    """The two sides of a cross."""

    # two: a buy and a sell, each with its account
    requests: Annotated[list[InsertOrderRequest], FieldRule(required=True)] = []
    cross_type: Annotated[Annotated[int, CrossType], FieldRule(required=True)] = 0
    cross_id: str = ""
    # which side counts as there first: its limit is the price; unset means the first request
    cross_prioritized_side: Annotated[int, Side] = 0


class InsertOrderCrossResponse(Message, kw_only=True):
    """Receipts of both sides."""

    responses: list[InsertOrderResponse] = []  # in the order of the requests


class InsertOrderListRequest(Message, kw_only=True):
    """Several new orders."""

    requests: Annotated[list[InsertOrderRequest], FieldRule(required=True)] = []  # at most 20


class InsertOrderListResponse(Message, kw_only=True):
    """Receipts of the orders."""

    responses: list[InsertOrderResponse] = []  # in the order of the requests


class CancelOrderRequest(Message, kw_only=True):
    """Which order to cancel; either id will do."""

    order_id: str = ""
    clord_id: str = ""
    symbol: str = ""

    __needs__ = ("order_id | clord_id",)


class CancelOrderResponse(Message, kw_only=True):
    """The cancel was taken."""


class CancelOrderListRequest(Message, kw_only=True):
    """Several orders to cancel."""

    requests: Annotated[list[CancelOrderRequest], FieldRule(required=True)] = []  # at most 20


class CancelOrderListResponse(Message, kw_only=True):
    """The cancels were taken."""

    responses: list[CancelOrderResponse] = []  # in the order of the requests


class CancelReplaceOrderRequest(Message, kw_only=True):
    """The order to change and its new terms."""

    order_id: str = ""
    clord_id: str = ""
    symbol: str = ""
    price: Int64 = 0  # scaled by price_scale
    order_qty: Int64 = 0  # new total, filled part included; scaled
    time_in_force: Annotated[int, TimeInForce] = 0  # unset keeps the old one
    stop_price: Int64 = 0  # scaled by price_scale
    min_qty: Int64 = 0
    all_or_none: bool = False  # whole quantity or nothing
    participate_dont_initiate: bool = False  # post-only
    strict_limit: bool = False  # fills at exactly the limit price
    good_till_time: Timestamp | None = None  # required for a change to GOOD_TILL_TIME
    best_limit: bool = False  # price becomes the top of the own side
    immediately_executable_limit: bool = False  # price becomes the top of the other side
    manual_order_indicator: Annotated[int, ManualOrderIndicator] = 0

    __needs__ = ("order_id | clord_id",)


class CancelReplaceOrderResponse(Message, kw_only=True):
    """The replace was taken."""


class CancelReplaceOrderListRequest(Message, kw_only=True):
    """Several orders to change."""

    # at most 20
    requests: Annotated[list[CancelReplaceOrderRequest], FieldRule(required=True)] = []


class CancelReplaceOrderListResponse(Message, kw_only=True):
    """The replaces were taken."""

    responses: list[CancelReplaceOrderResponse] = []  # in the order of the requests


class CreateOrderSubscriptionRequest(Message, kw_only=True):
    """Which orders to follow."""

    symbols: list[str] = []  # empty means all
    accounts: list[str] = []  # resource names; empty means all of the caller's
    snapshot_only: bool = False  # end after the snapshot


class CreateOrderSubscriptionResponse(Message, kw_only=True):
    """One message of the order stream."""

    heartbeat: Annotated[Heartbeat | None, FieldRule(oneof="event")] = None
    snapshot: Annotated[CreateOrderSubscriptionResponse_Snapshot | None, FieldRule(oneof="event")] = None
    update: Annotated[CreateOrderSubscriptionResponse_Update | None, FieldRule(oneof="event")] = None
    session_id: str = ""  # identity of this stream
    processed_sent_time: Timestamp | None = None  # when the exchange sent it


class CreateOrderSubscriptionResponse_Snapshot(Message, kw_only=True):
    """Open orders when the stream began; may come in several messages."""

    orders: list[Order] = []


class CreateOrderSubscriptionResponse_Update(Message, kw_only=True):
    """What changed: executions, or one refused cancel or replace."""

    executions: list[Execution] = []
    cancel_reject: CancelReject | None = None


class GetOpenOrdersRequest(Message, kw_only=True):
    """Which open orders to list."""

    symbols: list[str] = []  # empty means all
    accounts: list[str] = []  # resource names; empty means all of the caller's


class GetOpenOrdersResponse(Message, kw_only=True):
    """Open orders."""

    orders: list[Order] = []


class BookEntry(Message, kw_only=True):
    """One price level, or one order when unaggregated."""

    px: Int64 = 0  # scaled by price_scale
    qty: Int64 = 0  # total at the price, scaled
    symbol_sub_type: Annotated[str, FieldRule(omit_empty=True)] = ""  # always empty


class InstrumentStats(Message, kw_only=True):
    """Statistics of an instrument (§2.5); unset where nothing is known."""

    open_px: Int64 | None = None
    close_px: Int64 | None = None
    low_px: Int64 | None = None
    high_px: Int64 | None = None
    last_trade_px: Int64 | None = None
    indicative_open_px: Int64 | None = None  # what an auction would trade at now
    settlement_px: Int64 | None = None  # 0 is a price: NO won
    shares_traded: Int64 | None = None
    notional_traded: Int64 | None = None
    open_interest: Int64 | None = None
    settlement_preliminary: bool | None = None  # may still change
    settlement_price_calculation_method: str | None = None
    settlement_price_calculation_text: str | None = None  # names the outcome
    last_trade_qty: Annotated[Int64 | None, FieldRule(since=parse_instant("2026-05-01"))] = None
    # only in a settled state
    settlement_set_time: Annotated[Timestamp | None, FieldRule(presence=True, since=parse_instant("2026-05-01"))] = None


class MarketDataUpdate(Message, kw_only=True):
    """The whole book of one instrument: it replaces the one before."""

    symbol: str = ""
    bids: list[BookEntry] = []  # best first
    offers: list[BookEntry] = []  # best first
    state: Annotated[int, InstrumentState] | None = None
    stats: InstrumentStats | None = None
    transact_time: Timestamp | None = None
    book_hidden: bool = False
    price_scale: Int64 | None = None  # only when subscribed to all symbols
    quantity_scale: Int64 | None = None  # only when subscribed to all symbols


class GetWhoAmIRequest(Message, kw_only=True):
    """Nothing to say."""


class GetWhoAmIResponse(Message, kw_only=True):
    """The caller."""

    user: str = ""  # firms/<firm>/users/<user>
    user_display_name: str = ""
    firm: str = ""  # firms/<firm>
    firm_display_name: str = ""
    audience: Annotated[str, FieldRule(address=True)] = ""  # of the token
    firm_type: Annotated[int, FirmType] = 0


class ListAccountsRequest(Message, kw_only=True):
    """Whose accounts."""

    user: str = ""  # resource name; empty means the caller


class ListAccountsResponse(Message, kw_only=True):
    """Accounts and their names."""

    accounts: list[str] = []  # firms/<firm>/accounts/<account>
    display_names: list[str] = []  # parallel


class BalanceLedgerEntry(Message, kw_only=True):
    """One change of a cash balance."""

    id: str = ""
    account: str = ""
    currency: str = ""  # ISO 4217 code
    before_balance: str = ""  # decimal text
    after_balance: str = ""  # decimal text
    description: str = ""
    update_time: Timestamp | None = None  # also the next resume_time
    modified_security_id: str = ""  # if a security moved
    entry_type: Annotated[Annotated[int, LedgerEntryType], FieldRule(bare_enum="LEDGER_ENTRY_TYPE_", other_prefix="LEDGER_ENTRY_TYPE_BALANCE_")] = 0
    symbol: str = ""
    update_business_date: str = ""  # YYYY-MM-DD; the day rolls at 17:00 Eastern


class GetAccountBalanceLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: Annotated[str, FieldRule(required=True)] = ""
    currency: str = ""  # empty means all
    start_time: Timestamp | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: Timestamp | None = None  # inclusive
    # empty means every public type
    entry_types: Annotated[list[Annotated[int, LedgerEntryType]], FieldRule(bare_enum="LEDGER_ENTRY_TYPE_", other_prefix="LEDGER_ENTRY_TYPE_BALANCE_")] = []
    symbol: str = ""
    description: str = ""  # part of the text, at most 200 characters
    newest_first: bool = False  # descending by time
    page_size: Int32 = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before


class GetAccountBalanceLedgerResponse(Message, kw_only=True):
    """One page of entries."""

    entries: list[BalanceLedgerEntry] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class DownloadBalanceLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: Annotated[str, FieldRule(required=True)] = ""
    currency: str = ""  # empty means all
    start_time: Timestamp | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: Timestamp | None = None  # inclusive
    # empty means every public type
    entry_types: Annotated[list[Annotated[int, LedgerEntryType]], FieldRule(bare_enum="LEDGER_ENTRY_TYPE_", other_prefix="LEDGER_ENTRY_TYPE_BALANCE_")] = []
    symbol: str = ""
    description: str = ""  # part of the text, at most 200 characters
    newest_first: bool = False  # descending by time
    page_size: Int32 = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before


class DownloadBalanceLedgerResponse(Message, kw_only=True):
    """A piece of the file."""

    data: bytes = b""  # next piece of the CSV


class CreateBalanceLedgerSubscriptionRequest(Message, kw_only=True):
    """Which account, from when."""

    account: Annotated[str, FieldRule(required=True)] = ""
    currency: str = ""  # empty means all
    # empty means every public type
    entry_types: Annotated[list[Annotated[int, LedgerEntryType]], FieldRule(bare_enum="LEDGER_ENTRY_TYPE_", other_prefix="LEDGER_ENTRY_TYPE_BALANCE_")] = []
    # inclusive, floor 2026-05-01T00:00:00Z; unset means live only
    resume_time: Timestamp | None = None


class CreateBalanceLedgerSubscriptionResponse(Message, kw_only=True):
    """Entries, or a heartbeat."""

    entries: list[BalanceLedgerEntry] = []  # empty in a heartbeat


class ComboLeg(Message, kw_only=True):
    """One market of a combo and the side taken in it."""

    symbol: Annotated[str, FieldRule(required=True)] = ""
    # BUY wins at a settlement of one dollar, SELL at zero
    side: Annotated[Annotated[int, Side], FieldRule(required=True)] = 0


class ComboInstrument(Message, kw_only=True):
    """An instrument that pays when all its legs win. The same legs are always the same combo."""

    id: str = ""  # its symbol
    legs: list[ComboLeg] = []
    state: Annotated[int, InstrumentState] = 0
    created_time: Timestamp | None = None
    tick_size: float = 0.0  # dollars


class CreateComboRequest(Message, kw_only=True):
    """Which legs, in any order."""

    legs: Annotated[list[ComboLeg], FieldRule(required=True)] = []  # 2 to 10


class CreateComboResponse(Message, kw_only=True):
    """The combo."""

    combo: ComboInstrument | None = None


class GetCombosRequest(Message, kw_only=True):
    """Which combo."""

    symbol: Annotated[str, FieldRule(required=True)] = ""


class GetCombosResponse(Message, kw_only=True):
    """The combo, or none."""

    combos: list[ComboInstrument] = []


class TradingHours(Message, kw_only=True):
    """A weekly segment and the state the instrument has in it."""

    days_of_week: list[Int32] = []  # 1 is Monday, 7 is Sunday
    time_of_day: TimeOfDay | None = None
    duration: Duration | None = None
    state: Annotated[int, InstrumentState] = 0  # held during the segment
    hide_market_data: bool = False  # book is not shown
    expire_all_orders: bool = False  # at the start of the segment


class PriceLimit(Message, kw_only=True):
    """Bounds of a limit price."""

    low: Int64 = 0  # scaled
    high: Int64 = 0  # scaled
    low_set: bool = False
    high_set: bool = False
    relative_low: float = 0.0
    relative_high: float = 0.0
    relative_low_set: bool = False
    relative_high_set: bool = False


class OrderSizeLimit(Message, kw_only=True):
    """Bounds of an order's quantity and notional."""

    low: Int64 = 0  # scaled
    high: Int64 = 0  # scaled
    low_set: bool = False
    high_set: bool = False
    total_notional_low: Int64 = 0
    total_notional_high: Int64 = 0
    total_notional_low_set: bool = False
    total_notional_high_set: bool = False


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


class Instrument(Message, kw_only=True):
    """A tradable instrument: scales, schedule, limits and metadata. Scales are read here and never inferred (§2.6)."""

    symbol: str = ""
    tick_size: float = 0.0  # dollars
    base_currency: str = ""
    multiplier: float = 0.0
    minimum_trade_qty: Int64 = 0  # scaled
    start_date: Date | None = None
    expiration_date: Date | None = None
    termination_date: Date | None = None
    trading_schedule: list[TradingHours] = []
    description: str = ""
    clearing_house: str = ""
    minimum_unaffiliated_firms: Int64 = 0
    non_tradable: bool = False  # reference only
    json_attributes: str = ""  # JSON text
    product_id: str = ""
    price_limit: PriceLimit | None = None
    order_size_limit: OrderSizeLimit | None = None
    expiration_time: TimeOfDay | None = None
    trade_settlement_period: Int64 = 0
    state: Annotated[int, InstrumentState] = 0
    price_scale: Int64 = 0  # divides prices
    fractional_qty_scale: Int64 = 0  # divides quantities; 0 means 1
    settlement_currency: str = ""
    settlement_price_scale: Int64 = 0
    metadata: dict[str, str] = {}
    event_attributes: EventAttributes | None = None
    create_time: Timestamp | None = None
    update_time: Timestamp | None = None


class Position(Message, kw_only=True):
    """What an account holds of one instrument."""

    account: str = ""
    symbol: str = ""
    net_position: Int64 = 0  # signed, scaled
    qty_bought: Int64 = 0  # only grows, scaled
    qty_sold: Int64 = 0  # only grows, scaled
    cost: Int64 = 0  # price × quantity units, buys positive
    realized: Int64 = 0  # price × quantity units
    bod_position: Int64 = 0  # net at the last 17:00 Eastern
    expired: bool = False  # its instrument expired or has paid
    update_time: Timestamp | None = None


class ListAccountPositionsRequest(Message, kw_only=True):
    """Which positions."""

    name: Annotated[str, FieldRule(required=True)] = ""  # account resource name
    symbol: str = ""
    as_of_time: Timestamp | None = None  # excludes as_of_date
    as_of_date: Date | None = None  # close of that trade day
    page_size: Int32 = 0  # 0 means the default
    page_token: str = ""  # next_page_token of the page before
    active_only: bool = False  # without expired positions
    non_zero_only: bool = False  # without flat positions


class ListAccountPositionsResponse(Message, kw_only=True):
    """One page of positions."""

    positions: list[Position] = []
    available_position: list[Int64] = []  # parallel to positions
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class GetAccountBalanceRequest(Message, kw_only=True):
    """Which account and currency."""

    name: str = ""  # account resource name
    currency: str = ""  # ISO 4217 code
    account: str = ""  # the same, as recordings send it

    __needs__ = ("name | account",)


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
    update_time: Timestamp | None = None


class SecurityEntry(Message, kw_only=True):
    """Valuation of one security held as collateral."""

    balance: str = ""  # decimal text
    market_value: str = ""  # decimal text
    haircut: Int64 = 0
    notional_value: str = ""  # decimal text
    available_value: str = ""  # decimal text


class ListAccountBalancesRequest(Message, kw_only=True):
    """Which account."""

    name: Annotated[str, FieldRule(required=True)] = ""  # account resource name


class ListAccountBalancesResponse(Message, kw_only=True):
    """Balances of an account."""

    balances: dict[str, GetAccountBalanceResponse] = {}  # by currency


class CreatePositionSubscriptionRequest(Message, kw_only=True):
    """Whose positions to follow."""

    accounts: list[str] = []  # resource names; empty means all of the caller's


class CreatePositionSubscriptionResponse(Message, kw_only=True):
    """One message of the position stream."""

    heartbeat: Annotated[Heartbeat | None, FieldRule(oneof="event")] = None
    snapshot: Annotated[CreatePositionSubscriptionResponse_Snapshot | None, FieldRule(oneof="event")] = None
    update: Annotated[CreatePositionSubscriptionResponse_Update | None, FieldRule(oneof="event")] = None


class CreatePositionSubscriptionResponse_Snapshot(Message, kw_only=True):
    """Positions when the stream began."""

    positions: list[Position] = []


class CreatePositionSubscriptionResponse_Update(Message, kw_only=True):
    """Positions that changed."""

    positions: list[Position] = []


class PositionLedgerEntry(Message, kw_only=True):
    """One change of a position."""

    id: str = ""
    account: str = ""
    symbol: str = ""
    quantity_change: Int64 = 0
    cost_change: Int64 = 0
    realized_change: Int64 = 0
    net_position: Int64 = 0  # after the change
    cost: Int64 = 0  # after the change
    realized: Int64 = 0  # after the change
    update_time: Timestamp | None = None
    update_business_date: str = ""  # YYYY-MM-DD; the day rolls at 17:00 Eastern
    description: str = ""


class GetPositionLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: Annotated[str, FieldRule(required=True)] = ""
    symbol: str = ""
    start_time: Timestamp | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: Timestamp | None = None  # inclusive
    page_size: Int32 = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before
    newest_first: bool = False  # descending by time


class GetPositionLedgerResponse(Message, kw_only=True):
    """One page of entries."""

    entries: list[PositionLedgerEntry] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class DownloadPositionLedgerRequest(Message, kw_only=True):
    """Which entries."""

    account: Annotated[str, FieldRule(required=True)] = ""
    symbol: str = ""
    start_time: Timestamp | None = None  # inclusive; raised to 2026-05-01T00:00:00Z
    end_time: Timestamp | None = None  # inclusive
    page_size: Int32 = 0  # at most 1000
    page_token: str = ""  # next_page_token of the page before
    newest_first: bool = False  # descending by time


class DownloadPositionLedgerResponse(Message, kw_only=True):
    """A piece of the file."""

    data: bytes = b""  # next piece of the CSV


class Trade(Message, kw_only=True):
    """Two executions that met; sent again under the same id when its state changes."""

    id: str = ""
    aggressor: Execution | None = None  # taker's side
    passive: Execution | None = None  # maker's side
    trade_type: Annotated[int, TradeType] = 0
    state: Annotated[int, TradeState] = 0
    reporting_counterparty: Annotated[int, Side] = 0  # which side reports
    text: str = ""
    trade_link_id: str = ""  # shared by the trades of one event
    metadata: dict[str, str] = {}


class CreateDropCopySubscriptionRequest(Message, kw_only=True):
    """From where, and which executions."""

    resume_token: bytes = b""  # opaque
    resume_time: Timestamp | None = None  # replay from here; excludes resume_token
    symbols: list[str] = []  # empty means all
    firms: list[str] = []  # empty means the caller's


class CreateDropCopySubscriptionResponse(Message, kw_only=True):
    """Executions, or a heartbeat."""

    resume_token: bytes = b""  # opaque
    executions: list[Execution] = []  # empty in a heartbeat


class CreateTradeCaptureReportSubscriptionRequest(Message, kw_only=True):
    """From where, and which trades."""

    resume_token: bytes = b""  # opaque
    resume_time: Timestamp | None = None  # replay from here; excludes resume_token
    symbols: list[str] = []  # empty means all
    firms: list[str] = []  # empty means the caller's


class CreateTradeCaptureReportSubscriptionResponse(Message, kw_only=True):
    """Trades, or a heartbeat."""

    resume_token: bytes = b""  # opaque
    trade_capture_reports: list[Trade] = []  # empty in a heartbeat


class CreateInstrumentStateChangeSubscriptionRequest(Message, kw_only=True):
    """Which instruments."""

    resume_token: bytes = b""  # has no effect
    resume_time: Timestamp | None = None  # has no effect
    symbols: list[str] = []  # empty means all
    slow_consumer_skip_to_head: bool = False  # drop the backlog instead of the connection


class CreateInstrumentStateChangeSubscriptionResponse(Message, kw_only=True):
    """Instruments, or a heartbeat."""

    resume_token: bytes = b""  # never filled (§6.2)
    instruments: list[Instrument] = []  # empty in a heartbeat


class PositionChange(Message, kw_only=True):
    """A position that changed, with the settlement result once there is one."""

    position: Position | None = None  # as it is after the change
    change_time: Timestamp | None = None
    settlement_px: Int64 | None = None  # scaled by price_scale; set once known
    settlement_preliminary: bool | None = None  # may still change
    settlement_set_time: Timestamp | None = None
    resolved: bool = False  # the market has settled for good


class CreatePositionChangeSubscriptionRequest(Message, kw_only=True):
    """From where, and which positions."""

    resume_token: bytes = b""  # opaque
    resume_time: Timestamp | None = None  # replay from here; excludes resume_token
    symbols: list[str] = []  # empty means all
    firms: list[str] = []  # empty means the caller's


class CreatePositionChangeSubscriptionResponse(Message, kw_only=True):
    """Position changes, or a heartbeat."""

    resume_token: bytes = b""  # opaque
    position_changes: list[PositionChange] = []  # empty in a heartbeat


class FieldFilter(Message, kw_only=True):
    """One comparison; the value is in the member that fits the column's type."""

    field: Annotated[str, FieldRule(required=True)] = ""
    operator: Annotated[Annotated[int, FilterOperator], FieldRule(required=True)] = 0
    string_value: str = ""
    int_value: Int64 = 0
    double_value: float = 0.0
    string_list: StringList | None = None


class StringList(Message, kw_only=True):
    """The values of IN and NOT_IN."""

    values: list[str] = []


class InstrumentFilter(Message, kw_only=True):
    """A filter as text, as comparisons, or both."""

    where_clause: str = ""  # column operator 'value', joined by AND
    field_filters: list[FieldFilter] = []


class FundingTimeOfDay(Message, kw_only=True):
    """A time of day."""

    hour: Int32 = 0
    minute: Int32 = 0
    second: Int32 = 0


class FundingAddress(Message, kw_only=True):
    """A postal address."""

    address_line1: str = ""
    address_line2: str = ""
    city: str = ""
    state: str = ""
    country: str = ""
    zip: str = ""


class FundingAccount(Message, kw_only=True):
    """An account that holds money for trading."""

    id: str = ""
    name: str = ""
    account_type: Annotated[int, FundingAccountType] = 0
    clearing_house_id: str = ""
    clearing_member_id: str = ""
    associated_funding_sources: list[str] = []
    risk_account_id: str = ""
    destination_funding_source: str = ""
    allowed_destination_funding_sources: list[str] = []
    clearing_house_funding_sources: list[str] = []
    aliases: dict[str, str] = {}
    creation_time: Timestamp | None = None


class FundingSource(Message, kw_only=True):
    """Where money comes from or goes to."""

    id: str = ""
    type: Annotated[int, FundingSourceType] = 0
    business_schedule: BusinessSchedule | None = None
    transaction_limits: TransactionLimits | None = None
    disabled: bool = False
    bank_account_details: Annotated[BankAccountDetails | None, FieldRule(oneof="details")] = None
    aeropay_bank_account_details: Annotated[AeropayBankAccountDetails | None, FieldRule(oneof="details")] = None
    checkout_card_payment_method_details: Annotated[CheckoutCardPaymentMethodDetails | None, FieldRule(oneof="details")] = None
    checkout_apple_pay_payment_method_details: Annotated[CheckoutApplePayPaymentMethodDetails | None, FieldRule(oneof="details")] = None


class BankAccountDetails(Message, kw_only=True):
    """A bank account."""

    bank_id: str = ""
    bank_account_id: str = ""
    bank_id_type: Annotated[int, FundingBankIdType] = 0
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


class AeropayBankAccountDetails(Message, kw_only=True):
    """A bank account linked by a payment provider."""

    user_id: str = ""
    bank_account_id: str = ""
    name: str = ""
    bank_name: str = ""
    account_last_4: str = ""
    account_type: str = ""


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
    account_holder_type: Annotated[int, FundingCheckoutAccountHolderType] = 0
    first_name: str = ""
    last_name: str = ""
    company_name: str = ""
    phone_number: str = ""  # E.164


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
    account_holder_type: Annotated[int, FundingCheckoutAccountHolderType] = 0
    first_name: str = ""
    last_name: str = ""
    company_name: str = ""
    phone_number: str = ""  # E.164
    display_last4: str = ""


class TransactionLimits(Message, kw_only=True):
    """Limits of a source."""

    currency_limits: list[CurrencyTransactionLimits] = []


class CurrencyTransactionLimits(Message, kw_only=True):
    """Limits in one currency; an absent one does not bind."""

    currency: str = ""  # ISO 4217 code
    max_deposit_request_amount: StringValue | None = None
    max_deposit_daily_amount: StringValue | None = None
    max_deposit_60day_amount: StringValue | None = None


class StringValue(Message, kw_only=True):
    """A decimal that may be absent."""

    value: str = ""  # decimal text


class BusinessSchedule(Message, kw_only=True):
    """When a source works."""

    business_hours: list[BusinessHours] = []
    timezone: str = ""


class BusinessHours(Message, kw_only=True):
    """One span of a schedule."""

    days_of_week: list[Annotated[int, FundingDayOfWeek]] = []
    start_time: FundingTimeOfDay | None = None
    duration: Duration | None = None


class FundingDate(Message, kw_only=True):
    """A business date."""

    year: Int32 = 0
    month: Int32 = 0
    day: Int32 = 0


class FundingTransaction(Message, kw_only=True):
    """Money that moves into, out of or between funding accounts."""

    transaction_id: str = ""
    amount: str = ""  # decimal text
    currency: str = ""  # ISO 4217 code
    description: str = ""
    ledger_entry_type: Annotated[int, FundingTransaction_FundingLedgerEntryType] = 0
    transaction_type: Annotated[int, FundingTransactionType] = 0
    transaction_state: Annotated[int, FundingTransactionState] = 0
    transact_time: Timestamp | None = None
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
    create_time: Timestamp | None = None
    balance_reservation: str = ""  # decimal text
    funding_source_type: Annotated[int, FundingSourceType] = 0
    clearing_house_funding_source_type: Annotated[int, FundingSourceType] = 0
    margin_requirement: str = ""  # decimal text
    review_status: Annotated[int, FundingReviewStatus] = 0
    status_message: str = ""


class ListFundingSourcesRequest(Message, kw_only=True):
    """Which sources."""

    page_size: Int32 = 0
    page_token: str = ""  # next_page_token of the page before
    funding_source_ids: list[str] = []
    funding_source_type: Annotated[int, FundingSourceType] = 0


class ListFundingSourcesResponse(Message, kw_only=True):
    """One page of sources."""

    funding_sources: list[FundingSource] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class ListFundingAccountsRequest(Message, kw_only=True):
    """Which accounts."""

    page_size: Int32 = 0
    page_token: str = ""  # next_page_token of the page before
    account_ids: list[str] = []
    funding_source_ids: list[str] = []
    risk_account_ids: list[str] = []
    account_type: Annotated[int, FundingAccountType] = 0
    clearing_member_ids: list[str] = []
    clearing_house_funding_source_ids: list[str] = []
    clearing_house_ids: list[str] = []
    aliases: dict[str, str] = {}


class ListFundingAccountsResponse(Message, kw_only=True):
    """One page of accounts."""

    accounts: list[FundingAccount] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class UpdateFundingAccountRequest(Message, kw_only=True):
    """The account as it shall be."""

    account: FundingAccount | None = None  # its id is required


class UpdateFundingAccountResponse(Message, kw_only=True):
    """The account after the change."""

    account: FundingAccount | None = None


class ListFundingTransactionsRequest(Message, kw_only=True):
    """Which transactions."""

    page_size: Int32 = 0
    page_token: str = ""  # next_page_token of the page before
    account_id: str = ""
    currency: str = ""  # empty means all
    funding_transaction_id: str = ""
    transaction_types: list[Annotated[int, FundingTransactionType]] = []
    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    start_date: FundingDate | None = None
    end_date: FundingDate | None = None
    newest_first: bool = False  # descending by time
    transaction_ids: list[str] = []
    transaction_states: list[Annotated[int, FundingTransactionState]] = []
    parent_transaction_ids: list[str] = []
    review_statuses: list[Annotated[int, FundingReviewStatus]] = []
    funding_source_types: list[Annotated[int, FundingSourceType]] = []


class ListFundingTransactionsResponse(Message, kw_only=True):
    """One page of transactions."""

    transactions: list[FundingTransaction] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class GetFundingTransactionRequest(Message, kw_only=True):
    """Which transaction."""

    transaction_id: str = ""


class GetFundingTransactionResponse(Message, kw_only=True):
    """The transaction."""

    transaction: FundingTransaction | None = None


class ListTransactionRequirementsRequest(Message, kw_only=True):
    """Whose requirements."""

    page_size: Int32 = 0
    page_token: str = ""  # next_page_token of the page before
    account_ids: list[str] = []


class ListTransactionRequirementsResponse(Message, kw_only=True):
    """One page of requirements."""

    transaction_requirements: list[TransactionRequirement] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class TransactionRequirement(Message, kw_only=True):
    """A transaction that has to be made."""

    id: str = ""
    account_id: str = ""
    transaction_type: Annotated[int, FundingTransactionType] = 0
    funding_source_id: str = ""
    amount: str = ""  # decimal text
    currency: str = ""  # ISO 4217 code
    description: str = ""
    triggers: list[str] = []


class CreateFundingTransactionSubscriptionRequest(Message, kw_only=True):
    """From when, and which transactions."""

    resume_time: Timestamp | None = None  # server_time of the last message read
    account_ids: list[str] = []
    transaction_types: list[Annotated[int, FundingTransactionType]] = []


class CreateFundingTransactionSubscriptionResponse(Message, kw_only=True):
    """Changes since the last look."""

    changes: list[FundingTransactionChange] = []
    server_time: Timestamp | None = None  # where to resume


class FundingTransactionChange(Message, kw_only=True):
    """A transaction whose state changed."""

    transaction: FundingTransaction | None = None
    previous_state: Annotated[int, FundingTransactionState] = 0
    change_time: Timestamp | None = None


class HealthCheckRequest(Message, kw_only=True):
    """Nothing to say."""


class HealthCheckResponse(Message, kw_only=True):
    """"ok" when healthy."""

    status: str = ""


class GetIncentivesRequest(Message, kw_only=True):
    """Which programs."""

    page_size: Int32 = 0  # markets per page
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


class GetIncentivesResponse(Message, kw_only=True):
    """One page of programs."""

    programs: list[IncentiveProgram] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page


class IncentiveProgram(Message, kw_only=True):
    """The program of one market."""

    market_slug: str = ""
    time_periods: list[TimePeriod] = []
    instrument_state: str = ""  # INSTRUMENT_STATE_<STATE>
    category: str = ""
    subcategory: str = ""
    event_start_time: Timestamp | None = None
    instrument_product: str = ""


class TimePeriod(Message, kw_only=True):
    """One period of a program."""

    program_id: str = ""
    program_type: str = ""  # liquidityProgram, volumeProgram
    start: Timestamp | None = None
    # absent while ongoing
    end: Annotated[Timestamp | None, FieldRule(presence=True, omit_empty=True)] = None
    reward_pool: float = 0.0  # dollars
    status: str = ""  # active, closed or pending
    discount_factor: Annotated[float | None, FieldRule(omit_empty=True)] = None
    # smallest book size that qualifies
    target_size: Annotated[Int32 | None, FieldRule(omit_empty=True)] = None
    period: str = ""  # early, day_of, live
    created_at: Timestamp | None = None
    # dollars, for volume programs
    min_taker_notional: Annotated[Int32 | None, FieldRule(omit_empty=True)] = None
    # dollars, half width around the midpoint
    max_spread: Annotated[float | None, FieldRule(since=parse_instant("2026-09-01"), omit_empty=True)] = None


class GetIncentiveEarningsRequest(Message, kw_only=True):
    """Which rewards."""

    start_date: str = ""  # YYYY-MM-DD; empty means since launch
    end_date: str = ""  # YYYY-MM-DD; empty means through today
    market_slug: str = ""
    program_type: str = ""


class GetIncentiveEarningsResponse(Message, kw_only=True):
    """Rewards."""

    rewards: list[UserReward] = []


class UserReward(Message, kw_only=True):
    """What one market earned on one date."""

    reward: float = 0.0  # dollars
    program_type: str = ""
    market_slug: str = ""
    date: str = ""  # YYYY-MM-DD, Eastern
    status: str = ""  # PAID, PENDING or SKIPPED


class CreateMarketDataSubscriptionRequest(Message, kw_only=True):
    """Which books to stream, and how."""

    symbols: list[str] = []  # at most 1000; empty means all
    unaggregated: bool = False  # single orders instead of levels
    depth: Int32 = 0  # levels per side; 0 means 10
    snapshot_only: bool = False  # end after the snapshot
    slow_consumer_skip_to_head: bool = False  # drop the backlog instead of the connection


class CreateMarketDataSubscriptionResponse(Message, kw_only=True):
    """One message of the stream."""

    heartbeat: Annotated[Heartbeat | None, FieldRule(oneof="event")] = None
    update: Annotated[MarketDataUpdate | None, FieldRule(oneof="event")] = None


class BiDirectionalStreamMarketDataRequest(Message, kw_only=True):
    """One frame of the client."""

    subscribe: Annotated[SubscribeCommand | None, FieldRule(oneof="command")] = None
    unsubscribe: Annotated[UnsubscribeCommand | None, FieldRule(oneof="command")] = None
    keepalive: Annotated[KeepAliveCommand | None, FieldRule(oneof="command")] = None
    unaggregated: bool = False  # first frame only
    depth: Int32 = 0  # levels per side; 0 means 10; first frame only
    snapshot_only: bool = False  # first frame only
    slow_consumer_skip_to_head: bool = False  # first frame only


class BiDirectionalStreamMarketDataResponse(Message, kw_only=True):
    """One frame of the exchange."""

    heartbeat: Annotated[Heartbeat | None, FieldRule(oneof="event")] = None
    update: Annotated[MarketDataUpdate | None, FieldRule(oneof="event")] = None
    subscription_ack: Annotated[SubscriptionAck | None, FieldRule(oneof="event")] = None
    subscription_error: Annotated[SubscriptionError | None, FieldRule(oneof="event")] = None


class SubscribeCommand(Message, kw_only=True):
    """Add symbols."""

    symbols: list[str] = []  # empty means all


class UnsubscribeCommand(Message, kw_only=True):
    """Remove symbols."""

    symbols: list[str] = []


class KeepAliveCommand(Message, kw_only=True):
    """Puts a client frame on the wire and does nothing else."""


class SubscriptionAck(Message, kw_only=True):
    """What a subscribe or unsubscribe did."""

    symbols_added: list[str] = []  # left empty above 1000
    symbols_removed: list[str] = []  # left empty above 1000
    active_symbols: list[str] = []  # left empty above 1000
    symbol_scales: list[SymbolScales] = []  # of the symbols added
    active_symbol_count: Int32 = 0
    active_symbols_truncated: bool = False
    symbols_added_count: Int32 = 0
    symbols_added_truncated: bool = False
    symbols_removed_count: Int32 = 0
    symbols_removed_truncated: bool = False


class SymbolScales(Message, kw_only=True):
    """How to read the integers of one symbol."""

    symbol: str = ""
    price_scale: Int64 = 0  # divides prices
    quantity_scale: Int64 = 0  # divides quantities


class SubscriptionError(Message, kw_only=True):
    """Symbols that were refused."""

    error_code: str = ""  # INVALID_SYMBOL, ALREADY_SUBSCRIBED or NOT_SUBSCRIBED
    message: str = ""
    symbols: list[str] = []  # the ones refused


class GetOrderBookRequest(Message, kw_only=True):
    """Which book, how deep."""

    symbol: Annotated[str, FieldRule(required=True)] = ""
    depth: Int32 = 0  # levels per side; 0 means 3, at most 10


class GetOrderBookResponse(Message, kw_only=True):
    """A book (§2.5)."""

    symbol: str = ""
    bids: list[BookEntry] = []  # best first
    offers: list[BookEntry] = []  # best first
    state: Annotated[int, InstrumentState] | None = None
    stats: InstrumentStats | None = None
    transact_time: Timestamp | None = None


class GetBBORequest(Message, kw_only=True):
    """Which instrument."""

    symbol: Annotated[str, FieldRule(required=True)] = ""


class GetBBOResponse(Message, kw_only=True):
    """Top of a book (§2.5)."""

    symbol: str = ""
    best_bid: BookEntry | None = None
    best_offer: BookEntry | None = None
    spread: Int64 = 0  # best offer less best bid
    # mean of best bid and best offer; "57.5" in JSON, where gRPC has 57
    mid_price: Annotated[Int64, FieldRule(halves=True)] = 0
    state: Annotated[int, InstrumentState] | None = None
    transact_time: Timestamp | None = None
    stats: InstrumentStats | None = None  # §2.5 names it, the public schema does not


class CreateParticipantAPITokenRequest(Message, kw_only=True):
    """For whom, with which scopes, for how long."""

    participant_id: Annotated[str, FieldRule(required=True)] = ""
    scopes: list[str] = []
    ttl_seconds: Int64 = 0


class CreateParticipantAPITokenResponse(Message, kw_only=True):
    """The token."""

    participant_token: Annotated[str, FieldRule(secret=True)] = ""
    issue_time: Timestamp | None = None
    expiration_time: Timestamp | None = None
    participant_id: str = ""
    from_cache: bool = False  # an unexpired token was handed out again


class CreateParticipantAdminTokenRequest(Message, kw_only=True):
    """For whom, with which scopes, for how long."""

    participant_id: Annotated[str, FieldRule(required=True)] = ""
    scopes: list[str] = []
    ttl_seconds: Int64 = 0


class CreateParticipantAdminTokenResponse(Message, kw_only=True):
    """The token."""

    participant_admin_token: Annotated[str, FieldRule(secret=True)] = ""
    issue_time: Timestamp | None = None
    expiration_time: Timestamp | None = None
    participant_id: str = ""
    from_cache: bool = False  # an unexpired token was handed out again


class ListInstrumentsRequest(Message, kw_only=True):
    """Which instruments to list; every filter set must hold."""

    page_size: Int32 = 0  # 0 means 50, at most 1000
    page_token: str = ""  # next_page_token of the page before
    symbols: list[str] = []  # empty means all
    product_id: str = ""
    tradable_filter: Annotated[int, TradableFilter] = 0
    states: list[Annotated[int, InstrumentState]] = []
    type: Annotated[int, InstrumentType] = 0
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


class ListInstrumentsResponse(Message, kw_only=True):
    """One page of instruments."""

    instruments: list[Instrument] = []
    next_page_token: Annotated[str, FieldRule(omit_empty=True)] = ""  # absent on the last page
    eof: bool = False  # true on the last page


class GetInstrumentRequest(Message, kw_only=True):
    """Which instrument."""

    symbol: Annotated[str, FieldRule(required=True)] = ""


class GetInstrumentResponse(Message, kw_only=True):
    """The instrument."""

    instrument: Instrument | None = None


class ListSymbolsRequest(Message, kw_only=True):
    """Nothing to say."""


class ListSymbolsResponse(Message, kw_only=True):
    """Every symbol."""

    symbols: list[str] = []


class GetInstrumentMetadataRequest(Message, kw_only=True):
    """Nothing to say."""


class GetInstrumentMetadataResponse(Message, kw_only=True):
    """Facts by name."""

    metadata: dict[str, str] = {}  # exchange_name, server_version, timezone


class TradeStats(Message, kw_only=True):
    """Statistics of one span; all zero where nothing traded (§2.4)."""

    first: Int64 = 0
    last: Int64 = 0
    high: Int64 = 0
    low: Int64 = 0
    total_trade_count: Int64 = 0
    cleared_trade_count: Int64 = 0  # 0 until clearing
    volume: Int64 = 0
    cleared_volume: Int64 = 0  # 0 until clearing
    notional: Int64 = 0
    cleared_notional: Int64 = 0  # 0 until clearing


class SearchOrdersRequest(Message, kw_only=True):
    """Which orders to find."""

    page_size: Int32 = 0
    page_token: str = ""  # next_page_token of the page before
    order_id: str = ""
    clord_id: str = ""
    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    symbol: str = ""
    accounts: list[str] = []  # resource names; empty means all of the caller's
    side: Annotated[int, Side] = 0
    type: Annotated[int, OrderType] = 0
    order_state_filter: Annotated[int, OrderStateFilter] = 0
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


class SearchOrdersResponse(Message, kw_only=True):
    """One page of orders."""

    order: list[Order] = []  # singular name, many rows
    # absent on the last page
    next_page_token: Annotated[str, FieldRule(omit_empty=True, written_by="report.empty_page_token")] = ""
    last_executions: list[Execution] = []  # one per row of order


class GetOrderRequest(Message, kw_only=True):
    """Which order to read."""

    order_id: Annotated[str, FieldRule(required=True)] = ""


class GetOrderResponse(Message, kw_only=True):
    """The order."""

    order: Order | None = None


class DownloadOrdersRequest(Message, kw_only=True):
    """Which orders to download."""

    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    accounts: list[str] = []  # resource names; empty means all of the caller's


class DownloadOrdersResponse(Message, kw_only=True):
    """A piece of the file."""

    filechunk: str = ""  # next piece of the CSV text


class SearchExecutionsRequest(Message, kw_only=True):
    """Which executions to find."""

    page_size: Int32 = 0
    page_token: str = ""  # next_page_token of the page before
    order_id: str = ""
    clord_id: str = ""
    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    symbol: str = ""
    types: list[Annotated[int, ExecutionType]] = []
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


class SearchExecutionsResponse(Message, kw_only=True):
    """One page of executions."""

    executions: list[Execution] = []
    # absent on the last page
    next_page_token: Annotated[str, FieldRule(omit_empty=True, written_by="report.empty_page_token")] = ""
    eof: bool = False  # true on the last page


class GetExecutionRequest(Message, kw_only=True):
    """Which execution to read."""

    exec_id: Annotated[str, FieldRule(required=True)] = ""


class GetExecutionResponse(Message, kw_only=True):
    """The execution."""

    execution: Execution | None = None


class DownloadExecutionsRequest(Message, kw_only=True):
    """Which executions to download."""

    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    accounts: list[str] = []  # resource names; empty means all of the caller's


class DownloadExecutionsResponse(Message, kw_only=True):
    """A piece of the file."""

    filechunk: str = ""  # next piece of the CSV text


class SearchTradesRequest(Message, kw_only=True):
    """Which trades to find."""

    page_size: Int32 = 0
    page_token: str = ""  # next_page_token of the page before
    order_id: str = ""
    trade_id: str = ""
    exec_id: str = ""
    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    symbol: str = ""
    accounts: list[str] = []  # resource names; empty means all of the caller's
    states: list[Annotated[int, TradeState]] = []
    trade_link_id: str = ""
    where_clause: str = ""  # column operator 'value', joined by AND
    field_filter: list[FieldFilter] = []  # only over the allowed columns (§4.3)
    # both of them as ListInstruments takes them; all that is given must hold
    filter: InstrumentFilter | None = None


class SearchTradesResponse(Message, kw_only=True):
    """One page of trades."""

    trade: list[Trade] = []  # singular name, many rows
    # absent on the last page
    next_page_token: Annotated[str, FieldRule(omit_empty=True, written_by="report.empty_page_token")] = ""


class DownloadTradesRequest(Message, kw_only=True):
    """Which trades to download."""

    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    accounts: list[str] = []  # resource names; empty means all of the caller's


class DownloadTradesResponse(Message, kw_only=True):
    """A piece of the file."""

    filechunk: str = ""  # next piece of the CSV text


class GetTradeStatsRequest(Message, kw_only=True):
    """Which window to summarise, and in how many bars."""

    symbol: Annotated[str, FieldRule(required=True)] = ""
    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None
    bars: Int32 = 0  # number of equal slices of the window; 0 gives totals only
    start_trade_date: Date | None = None
    end_trade_date: Date | None = None
    where_clause: str = ""  # column operator 'value', joined by AND
    field_filter: list[FieldFilter] = []  # only over the allowed columns (§4.3)
    # both of them as ListInstruments takes them; all that is given must hold
    filter: InstrumentFilter | None = None


class GetTradeStatsResponse(Message, kw_only=True):
    """Statistics of the window and of its bars."""

    stats: TradeStats | None = None  # the whole window
    bars: list[TradeStats] = []  # one per slice, empty slices all zero
    bar_start_time: list[Timestamp] = []  # parallel to bars
    bar_end_time: list[Timestamp] = []  # parallel to bars


class RFQComboLeg(Message, kw_only=True):
    """One market of the combo that a request is about, and the side taken in it."""

    symbol: str = ""
    side: Annotated[int, Side] = 0
    # of the market's yes side, dollars; once the leg is settled
    settlement_price: str | None = None


class RFQ(Message, kw_only=True):
    """A request for quotes on a combo."""

    id: str = ""
    qty_decimal: str | None = None  # contracts
    cash_order_qty: str | None = None  # dollars
    symbol: str = ""
    rfq_creator_user_id: str = ""
    created_time: Timestamp | None = None
    rest_remainder: bool = False  # what the requester's order leaves may rest
    status: Annotated[int, RFQStatus] = 0
    updated_time: Timestamp | None = None
    combo_legs: list[RFQComboLeg] = []
    tick_size: float | None = None  # dollars


class Quote(Message, kw_only=True):
    """An answer to a request for quotes."""

    id: str = ""
    rfq_id: str = ""
    creator_rfq_user_id: str = ""
    symbol: str = ""
    status: Annotated[int, QuoteStatus] = 0
    created_time: Timestamp | None = None
    buy_price: str = ""  # dollars, decimal: the requester buys, the maker sells; 0 = not offered
    sell_price: str = ""  # dollars, decimal: the requester sells, the maker buys; 0 = not offered
    rest_remainder: bool = False  # what the maker's order leaves may rest
    post_only: bool = False  # the maker's order must not trade at once
    rfq_creator_user_id: str = ""
    rfq_cash_order_qty: str | None = None  # dollars
    buy_qty_decimal: str = ""  # contracts
    sell_qty_decimal: str = ""  # contracts
    updated_time: Timestamp | None = None
    accepted_side: Annotated[int, Side] = 0  # what the requester does
    accepted_time: Timestamp | None = None
    confirmed_time: Timestamp | None = None
    confirmation_deadline: Timestamp | None = None
    execution_deadline: Timestamp | None = None
    executed_time: Timestamp | None = None
    rfq_creator_order_id: str | None = None
    creator_order_id: str | None = None


class RFQTrade(Message, kw_only=True):
    """A fill of an order that came from a quote, without names."""

    trade_id: str = ""
    symbol: str = ""
    price: str = ""  # dollars, decimal
    qty_decimal: str = ""  # contracts
    aggressor_side: Annotated[int, Side] = 0
    executed_time: Timestamp | None = None


class GetRFQUserIDRequest(Message, kw_only=True):
    """No fields."""


class GetRFQUserIDResponse(Message, kw_only=True):
    """A pseudonym that never changes."""

    rfq_user_id: str = ""


class GetRFQsRequest(Message, kw_only=True):
    """Which requests; every filter must match."""

    limit: Int32 = 0  # 1 to 100; 0 = 100
    cursor: str = ""  # of the page before, with the same filters
    rfq_id: str = ""  # excludes cursor
    symbol: str = ""
    status: Annotated[int, RFQStatus] = 0
    user_filter: Annotated[int, UserFilter] = 0  # SELF: asked by the caller


class GetRFQsResponse(Message, kw_only=True):
    """One page of requests."""

    rfqs: list[RFQ] = []
    cursor: str = ""  # empty = the end


class CreateRFQRequest(Message, kw_only=True):
    """Exactly one of qty_decimal and cash_order_qty."""

    qty_decimal: str = ""  # contracts
    cash_order_qty: str = ""  # dollars, at most four decimals
    symbol: Annotated[str, FieldRule(required=True)] = ""  # of a combo
    rest_remainder: Annotated[bool | None, FieldRule(required=True)] = None
    account: Annotated[str, FieldRule(required=True)] = ""  # the participant's

    __needs__ = ("qty_decimal | cash_order_qty",)


class CreateRFQResponse(Message, kw_only=True):
    """The request."""

    rfq_id: str = ""


class DeleteRFQRequest(Message, kw_only=True):
    """Which request."""

    rfq_id: Annotated[str, FieldRule(required=True)] = ""


class DeleteRFQResponse(Message, kw_only=True):
    """No fields."""


class GetQuotesRequest(Message, kw_only=True):
    """Which quotes; every filter must match."""

    limit: Int32 = 0  # 1 to 100; 0 = 100
    cursor: str = ""  # of the page before, with the same filters
    quote_id: str = ""  # needs rfq_id, excludes cursor
    rfq_id: str = ""
    status: Annotated[int, QuoteStatus] = 0
    user_filter: Annotated[int, UserFilter] = 0  # SELF: made by the caller
    rfq_user_filter: Annotated[int, UserFilter] = 0  # SELF: on requests of the caller


class GetQuotesResponse(Message, kw_only=True):
    """One page of quotes."""

    quotes: list[Quote] = []
    cursor: str = ""  # empty = the end


class CreateQuoteRequest(Message, kw_only=True):
    """The prices; all but post_only are required."""

    rfq_id: Annotated[str, FieldRule(required=True)] = ""
    # dollars, decimal: the requester buys; 0 = not offered
    buy_price: Annotated[str, FieldRule(required=True)] = ""
    # dollars, decimal: the requester sells; 0 = not offered
    sell_price: Annotated[str, FieldRule(required=True)] = ""
    rest_remainder: Annotated[bool | None, FieldRule(required=True)] = None
    post_only: bool = False
    account: Annotated[str, FieldRule(required=True)] = ""  # the participant's


class CreateQuoteResponse(Message, kw_only=True):
    """The quote. A maker has one id per request here; the retail host gives each replacement a new one."""

    quote_id: str = ""


class DeleteQuoteRequest(Message, kw_only=True):
    """Which quote."""

    rfq_id: str = ""
    quote_id: Annotated[str, FieldRule(required=True)] = ""


class DeleteQuoteResponse(Message, kw_only=True):
    """No fields."""


class AcceptQuoteRequest(Message, kw_only=True):
    """Which quote and which side of the requester."""

    rfq_id: str = ""
    quote_id: Annotated[str, FieldRule(required=True)] = ""
    accepted_side: Annotated[Annotated[int, Side], FieldRule(required=True)] = 0


class AcceptQuoteResponse(Message, kw_only=True):
    """No fields."""


class ConfirmQuoteRequest(Message, kw_only=True):
    """Which quote."""

    rfq_id: str = ""
    quote_id: Annotated[str, FieldRule(required=True)] = ""


class ConfirmQuoteResponse(Message, kw_only=True):
    """No fields."""


class GetRFQTradesRequest(Message, kw_only=True):
    """Which fills."""

    limit: Int32 = 0  # 1 to 100; 0 = 100
    cursor: str = ""  # of the page before, with everything else the same
    start_time: Timestamp | None = None  # inclusive
    end_time: Timestamp | None = None  # exclusive
    symbol: str = ""


class GetRFQTradesResponse(Message, kw_only=True):
    """One page of fills."""

    trades: list[RFQTrade] = []
    cursor: str = ""  # empty = the end; a page may be empty while it is not


class StreamRFQEventsRequest(Message, kw_only=True):
    """No fields."""


class StreamRFQEventsResponse(Message, kw_only=True):
    """What happened: exactly one of these. A heartbeat has none."""

    rfq_created: Annotated[RFQCreatedEvent | None, FieldRule(oneof="event")] = None  # to everybody
    rfq_closed: Annotated[RFQClosedEvent | None, FieldRule(oneof="event")] = None  # to everybody
    # to requester and maker, as all of quotes
    quote_created: Annotated[QuoteCreatedEvent | None, FieldRule(oneof="event")] = None
    quote_deleted: Annotated[QuoteDeletedEvent | None, FieldRule(oneof="event")] = None
    quote_accepted: Annotated[QuoteAcceptedEvent | None, FieldRule(oneof="event")] = None
    quote_confirmed: Annotated[QuoteConfirmedEvent | None, FieldRule(oneof="event")] = None
    quote_executed: Annotated[QuoteExecutedEvent | None, FieldRule(oneof="event")] = None
    rfq_trade: Annotated[RFQTradeEvent | None, FieldRule(oneof="event")] = None  # to everybody

    __omit_unset__ = True


class RFQCreatedEvent(Message, kw_only=True):
    """A new request."""

    rfq: RFQ | None = None


class RFQClosedEvent(Message, kw_only=True):
    """A request that was withdrawn, or one of whose quotes was accepted."""

    rfq: RFQ | None = None


class QuoteCreatedEvent(Message, kw_only=True):
    """A quote, or what replaces it."""

    quote: Quote | None = None


class QuoteDeletedEvent(Message, kw_only=True):
    """A quote that is gone."""

    quote: Quote | None = None


class QuoteAcceptedEvent(Message, kw_only=True):
    """A quote that its maker may confirm or decline."""

    quote: Quote | None = None
    confirmation_deadline: Timestamp | None = None


class QuoteConfirmedEvent(Message, kw_only=True):
    """A quote whose orders are about to be entered."""

    quote: Quote | None = None
    execution_deadline: Timestamp | None = None


class QuoteExecutedEvent(Message, kw_only=True):
    """A quote whose orders were entered."""

    quote: Quote | None = None
    order_id: str = ""  # the reader's own
    client_order_id: str = ""
    executed_time: Timestamp | None = None


class RFQTradeEvent(Message, kw_only=True):
    """A fill of an order that came from a quote."""

    trade: RFQTrade | None = None


class LSport(Message, kw_only=True):
    """A sport as the data source names it."""

    id: Int32 = 0
    name: str = ""
    sport: str = ""
    abbreviation: str = ""
    league_id: Int32 = 0
    home_away: bool = False
    enabled: bool = False


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


class TeamProviderRef(Message, kw_only=True):
    """A team's id with a data provider."""

    provider: Annotated[int, SportsDataProvider] = 0
    provider_team_id: str = ""


class Team(Message, kw_only=True):
    """A team."""

    id: Int64 = 0
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
    ranking: Int64 | None = None
    conference: str | None = None
    provider_refs: list[TeamProviderRef] = []
    long_icon_dark: str | None = None
    short_icon_dark: str | None = None


class TeamsFilters(Message, kw_only=True):
    """Which teams; empty lists match all."""

    league: list[str] = []
    name: list[str] = []
    abbreviation: list[str] = []
    id: list[Int64] = []


class GetSportsRequest(Message, kw_only=True):
    """Nothing to say."""


class GetSportsResponse(Message, kw_only=True):
    """Sports."""

    sports: list[Sport] = []


class GetSportsTeamsRequest(Message, kw_only=True):
    """Which teams, in what order."""

    limit: Int32 | None = None
    offset: Int32 | None = None
    order_by: str | None = None
    order_direction: str | None = None  # asc or desc
    filters: TeamsFilters | None = None


class GetSportsTeamsResponse(Message, kw_only=True):
    """Teams."""

    teams: list[Team] = []


class GetSportsTeamsForProviderRequest(Message, kw_only=True):
    """Which provider and ids."""

    team_ids: list[str] = []
    provider: Annotated[int, SportsDataProvider] = 0
    league: str = ""


class GetSportsTeamsForProviderResponse(Message, kw_only=True):
    """Teams found."""

    teams: dict[str, Team] = {}  # by the provider's team id


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
    kyc_status: Annotated[int, KYCStatusType] = 0
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    firm_id: str = ""


class ListUsersRequest(Message, kw_only=True):
    """Nothing to say."""


class ListUsersResponse(Message, kw_only=True):
    """Participant ids, with names and firms in parallel."""

    users: list[str] = []  # firms/<firm>/users/<user>
    display_names: list[str] = []  # parallel
    firms: list[str] = []  # parallel
    firms_display_names: list[str] = []  # parallel


class CreateUserRequest(Message, kw_only=True):
    """A new user."""

    user_id: Annotated[str, FieldRule(required=True)] = ""
    email: str = ""
    phone_number: str = ""  # E.164
    first_name: str = ""
    last_name: str = ""
    display_name: str = ""
    date_of_birth: str = ""  # YYYY-MM-DD
    profile_image_url: str = ""


class CreateUserResponse(Message, kw_only=True):
    """The user, new or found."""

    user: ISVUser | None = None
    participant_id: str = ""
    created: bool = False


class UpdateUserRequest(Message, kw_only=True):
    """New values of a user; empty ones stay."""

    user_id: Annotated[str, FieldRule(required=True)] = ""
    email: str = ""
    phone_number: str = ""  # E.164
    first_name: str = ""
    last_name: str = ""
    display_name: str = ""
    date_of_birth: str = ""
    profile_image_url: str = ""


class UpdateUserResponse(Message, kw_only=True):
    """The user after the change."""

    user: ISVUser | None = None
