# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from sim.contract.messages import (
    FieldRule, Int32, Int64, JsonObject, Message, Timestamp, exchange_v1, gateway_v1,
)
from sim.kernel.instants import parse_instant


class MarketState(IntEnum):
    """Lifecycle state as retail clients see it; numbered as the exchange's instrument states. PENDING is never shown."""

    MARKET_STATE_CLOSED = 0
    MARKET_STATE_OPEN = 1
    MARKET_STATE_PREOPEN = 2
    MARKET_STATE_SUSPENDED = 3
    MARKET_STATE_EXPIRED = 4
    MARKET_STATE_TERMINATED = 5
    MARKET_STATE_HALTED = 6
    MARKET_STATE_MATCH_AND_CLOSE_AUCTION = 7


class SettlementPriceCalculationMethod(IntEnum):
    """How a settlement price was found; EVENT_TIER_1 = from the final result."""

    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_1 = 0
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_1 = 1
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_2 = 2
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_3 = 3
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_4 = 4
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_5 = 5
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_6 = 6
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_7 = 7
    SETTLEMENT_PRICE_CALCULATION_METHOD_VWAP_TIER_2_RULE_8 = 8
    SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_1 = 9
    SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_2 = 10
    SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_3 = 11
    SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_4 = 12
    SETTLEMENT_PRICE_CALCULATION_METHOD_OVERRIDE = 13


class MarketsSubscribe_SubscriptionType(IntEnum):
    """The two sockets number their subscription types apart, hence the nesting."""

    SUBSCRIPTION_TYPE_UNSPECIFIED = 0
    SUBSCRIPTION_TYPE_MARKET_DATA = 1
    SUBSCRIPTION_TYPE_MARKET_DATA_LITE = 2
    SUBSCRIPTION_TYPE_TRADE = 3


class OrderIntent(IntEnum):
    """What the trader means; the long form of OutcomeSide and OrderAction together."""

    ORDER_INTENT_BUY_LONG = 0
    ORDER_INTENT_SELL_LONG = 1
    ORDER_INTENT_BUY_SHORT = 2
    ORDER_INTENT_SELL_SHORT = 3


class OutcomeSide(IntEnum):
    """The outcome an order is about."""

    OUTCOME_SIDE_UNSPECIFIED = 0
    OUTCOME_SIDE_YES = 1
    OUTCOME_SIDE_NO = 2


class OrderAction(IntEnum):
    """Whether an order adds to or takes from the holding of its outcome."""

    ORDER_ACTION_UNSPECIFIED = 0
    ORDER_ACTION_BUY = 1
    ORDER_ACTION_SELL = 2


class OrderSide(IntEnum):
    """Side on the YES instrument."""

    ORDER_SIDE_BUY = 0
    ORDER_SIDE_SELL = 1


class OrderType(IntEnum):
    """How an order is priced."""

    ORDER_TYPE_LIMIT = 0
    ORDER_TYPE_MARKET = 1


class TimeInForce(IntEnum):
    """How long an order stays."""

    TIME_IN_FORCE_DAY = 0
    TIME_IN_FORCE_GOOD_TILL_CANCEL = 1
    TIME_IN_FORCE_GOOD_TILL_DATE = 2
    TIME_IN_FORCE_IMMEDIATE_OR_CANCEL = 3
    TIME_IN_FORCE_FILL_OR_KILL = 4


class OrderState(IntEnum):
    """Where an order stands. The zero member carries meaning: a new order is NEW."""

    ORDER_STATE_NEW = 0
    ORDER_STATE_PARTIALLY_FILLED = 1
    ORDER_STATE_FILLED = 2
    ORDER_STATE_CANCELED = 3
    ORDER_STATE_REPLACED = 4
    ORDER_STATE_REJECTED = 5
    ORDER_STATE_EXPIRED = 6
    ORDER_STATE_PENDING_NEW = 7
    ORDER_STATE_PENDING_REPLACE = 8
    ORDER_STATE_PENDING_CANCEL = 9
    ORDER_STATE_PENDING_RISK = 10


class ExecutionType(IntEnum):
    """What an execution reports. Only REJECTED means that an order was rejected."""

    EXECUTION_TYPE_NEW = 0
    EXECUTION_TYPE_PARTIAL_FILL = 1
    EXECUTION_TYPE_FILL = 2
    EXECUTION_TYPE_CANCELED = 3
    EXECUTION_TYPE_REPLACE = 4
    EXECUTION_TYPE_REJECTED = 5
    EXECUTION_TYPE_EXPIRED = 6
    EXECUTION_TYPE_DONE_FOR_DAY = 7


class OrdRejectReason(IntEnum):
    """Why an order was rejected; the zero member also stands on every execution that is no reject."""

    ORD_REJECT_REASON_EXCHANGE_OPTION = 0
    ORD_REJECT_REASON_UNKNOWN_MARKET = 1
    ORD_REJECT_REASON_EXCHANGE_CLOSED = 2
    ORD_REJECT_REASON_INCORRECT_QUANTITY = 3
    ORD_REJECT_REASON_INVALID_PRICE_INCREMENT = 4
    ORD_REJECT_REASON_INCORRECT_ORDER_TYPE = 5
    ORD_REJECT_REASON_PRICE_OUT_OF_BOUNDS = 6
    ORD_REJECT_REASON_NO_LIQUIDITY = 7


class UnsolicitedCancelReason(IntEnum):
    """Why an order was canceled without being asked to."""

    UNSOLICITED_CXL_REASON_UNDEFINED = 0
    UNSOLICITED_CXL_REASON_CONNECTION_LOSS = 1
    UNSOLICITED_CXL_REASON_LOGOUT = 2
    UNSOLICITED_CXL_REASON_EXCHANGE_OPTION = 3
    UNSOLICITED_CXL_REASON_OTHER = 4


class ManualOrderIndicator(IntEnum):
    """Whether a person or a program entered the order."""

    MANUAL_ORDER_INDICATOR_MANUAL = 0
    MANUAL_ORDER_INDICATOR_AUTOMATIC = 1


class ActivityType(IntEnum):
    """What kind of activity; it decides which payload is there."""

    ACTIVITY_TYPE_UNSPECIFIED = 0
    ACTIVITY_TYPE_TRADE = 1
    ACTIVITY_TYPE_POSITION_RESOLUTION = 2
    ACTIVITY_TYPE_ACCOUNT_DEPOSIT = 3
    ACTIVITY_TYPE_ACCOUNT_ADVANCED_DEPOSIT = 4
    ACTIVITY_TYPE_ACCOUNT_WITHDRAWAL = 5
    ACTIVITY_TYPE_REFERRAL_BONUS = 6
    ACTIVITY_TYPE_TRANSFER = 7
    ACTIVITY_TYPE_TAKER_FEE_REBATE = 8
    ACTIVITY_TYPE_LIQUIDITY_PROGRAM = 9


class TradeState(IntEnum):
    """Clearing state of a trade."""

    TRADE_STATE_UNDEFINED = 0
    TRADE_STATE_NEW = 1
    TRADE_STATE_CLEARED = 2
    TRADE_STATE_BUSTED = 3
    TRADE_STATE_INFLIGHT = 4
    TRADE_STATE_PENDING_RISK = 5
    TRADE_STATE_PENDING_CLEARED = 6
    TRADE_STATE_REJECTED = 7
    TRADE_STATE_CLEARING_ACKNOWLEDGED = 8
    TRADE_STATE_RETRY_REQUEST = 9


class PositionResolutionSide(IntEnum):
    """Which holders a resolution paid."""

    POSITION_RESOLUTION_SIDE_LONG = 0
    POSITION_RESOLUTION_SIDE_SHORT = 1
    POSITION_RESOLUTION_SIDE_NEUTRAL = 2


class AccountBalanceChangeStatus(IntEnum):
    """How far a balance change has come."""

    ACCOUNT_BALANCE_CHANGE_STATUS_PENDING = 0
    ACCOUNT_BALANCE_CHANGE_STATUS_COMPLETED = 1
    ACCOUNT_BALANCE_CHANGE_STATUS_PARTIALLY_REFUNDED = 2
    ACCOUNT_BALANCE_CHANGE_STATUS_REJECTED = 3


class SortOrder(IntEnum):
    """Order of a list in time."""

    SORT_ORDER_DESCENDING = 0
    SORT_ORDER_ASCENDING = 1


class ComboLegState(IntEnum):
    """How a leg of a combo stands."""

    COMBO_LEG_STATE_UNSPECIFIED = 0
    COMBO_LEG_STATE_PENDING = 1
    COMBO_LEG_STATE_WON = 2
    COMBO_LEG_STATE_LOST = 3
    COMBO_LEG_STATE_INDETERMINATE = 4


class LedgerEntryType(IntEnum):
    """Why a position or a balance changed."""

    LEDGER_ENTRY_TYPE_UNDEFINED = 0
    LEDGER_ENTRY_TYPE_ORDER_EXECUTION = 1
    LEDGER_ENTRY_TYPE_DEPOSIT = 2
    LEDGER_ENTRY_TYPE_WITHDRAWAL = 3
    LEDGER_ENTRY_TYPE_RESOLUTION = 4
    LEDGER_ENTRY_TYPE_COMMISSION = 5
    LEDGER_ENTRY_TYPE_CORRECTION = 6
    LEDGER_ENTRY_TYPE_NETTING = 7
    LEDGER_ENTRY_TYPE_MANUAL_ADJUSTMENT = 8
    LEDGER_ENTRY_TYPE_CONTRACT_EXPIRATION = 9


class PrivateSubscribe_SubscriptionType(IntEnum):
    """The two sockets number their subscription types apart, hence the nesting."""

    SUBSCRIPTION_TYPE_UNSPECIFIED = 0
    SUBSCRIPTION_TYPE_ORDER = 1
    SUBSCRIPTION_TYPE_ORDER_SNAPSHOT = 2
    SUBSCRIPTION_TYPE_POSITION = 3
    SUBSCRIPTION_TYPE_ACCOUNT_BALANCE = 4
    SUBSCRIPTION_TYPE_RFQ = 5


class PendingWithdrawal(Message, kw_only=True):
    """A withdrawal that has been asked for and not yet paid."""

    id: str = ""
    name: str = ""
    balance: float = 0.0  # dollars
    description: str = ""
    acknowledged: bool = False
    bank_id: str = ""
    creation_time: Timestamp | None = None
    destination_account_name: str = ""


class UserBalance(Message, kw_only=True):
    """Money of an account in one currency, in dollars.
    buying_power = current_balance + asset_available - open_orders - margin_requirement.
    """

    current_balance: float = 0.0
    currency: str = ""
    last_updated: Timestamp | None = None  # null
    buying_power: float = 0.0
    asset_notional: float = 0.0
    asset_available: float = 0.0
    pending_credit: float = 0.0
    open_orders: float = 0.0
    unsettled_funds: float = 0.0
    margin_requirement: float = 0.0
    pending_withdrawals: list[PendingWithdrawal] = []
    balance_reservation: float | None = None
    deposit_reservation: float | None = None
    bonus_reservation: float | None = None
    displayed_bonus: float | None = None
    displayed_available_soon: float | None = None
    displayed_cash: float | None = None
    available_to_withdraw: float | None = None
    bonus_hold: Annotated[float | None, FieldRule(since=parse_instant("2026-09-18"))] = None


class GetBalancesRequest(Message, kw_only=True):
    pass


class GetBalancesResponse(Message, kw_only=True):
    balances: list[UserBalance] = []


class ListIncentivesRequest(Message, kw_only=True):
    page_size: Int32 = 0  # markets, not periods
    page_token: str = ""
    symbols: list[str] = []
    order_by: str = ""  # empty = created_at
    order_direction: str = ""  # asc or desc; empty = desc
    statuses: list[str] = []
    program_type: str = ""
    query: str = ""  # part of the market slug, any case
    instrument_states: list[str] = []
    category: str = ""
    subcategory: str = ""


class ListIncentivesResponse(Message, kw_only=True):
    programs: list[IncentiveProgram] = []
    next_page_token: str = ""  # empty on the last page


class IncentiveProgram(Message, kw_only=True):
    """All incentive periods of one market."""

    market_slug: str = ""
    time_periods: list[TimePeriod] = []
    instrument_state: str = ""  # INSTRUMENT_STATE_<STATE>
    category: str = ""
    subcategory: str = ""
    event_start_time: Timestamp | None = None
    instrument_product: str = ""


class TimePeriod(Message, kw_only=True):
    """One period of one program."""

    program_id: str = ""
    program_type: str = ""  # liquidityProgram, volumeProgram
    start: Timestamp | None = None
    # absent while the program goes on
    end: Annotated[Timestamp | None, FieldRule(presence=True)] = None
    reward_pool: float = 0.0  # dollars
    status: str = ""  # active, closed, pending
    discount_factor: float | None = None
    target_size: Int32 | None = None  # contracts
    period: str = ""  # early, day_of, live
    created_at: Timestamp | None = None
    min_taker_notional: Int32 | None = None  # dollars
    max_spread: float | None = None  # dollars, half the width around the midpoint


class ListEarningsRequest(Message, kw_only=True):
    start_date: str = ""  # YYYY-MM-DD, Eastern Time; empty = since the programs began
    end_date: str = ""  # YYYY-MM-DD, Eastern Time; empty = through today
    market_slug: str = ""
    program_type: str = ""


class ListEarningsResponse(Message, kw_only=True):
    rewards: list[UserReward] = []


class UserReward(Message, kw_only=True):
    """Everything one market paid the caller on one Eastern date."""

    reward: float = 0.0  # dollars
    program_type: str = ""
    market_slug: str = ""
    date: str = ""  # YYYY-MM-DD, Eastern Time
    status: str = ""  # PAID, PENDING, SKIPPED


class Amount(Message, kw_only=True):
    """A sum of money or a price per contract, exact: never a float."""

    # decimal without exponent; negative allowed; may have more than two decimals
    value: Annotated[str, FieldRule(required=True)] = ""
    currency: str = ""  # always "USD"


class BookLevel(Message, kw_only=True):
    """All orders at one price."""

    px: Amount | None = None
    qty: str = ""  # contracts, four decimals


class MarketStats(Message, kw_only=True):
    """Figures of a market since its opening; one without a value is absent."""

    open_px: Amount | None = None
    close_px: Amount | None = None
    low_px: Amount | None = None
    high_px: Amount | None = None
    last_trade_px: Amount | None = None
    indicative_open_px: Amount | None = None
    settlement_px: Amount | None = None
    trading_reference_px: Amount | None = None
    current_px: Amount | None = None
    notional_traded: Amount | None = None
    shares_traded: str = ""  # contracts, four decimals
    last_trade_qty: str = ""  # contracts, four decimals
    open_interest: str = ""  # contracts, four decimals
    settlement_preliminary_flag: bool | None = None
    settlement_price_calculation_method: Annotated[int, SettlementPriceCalculationMethod] | None = None
    open_set_time: Timestamp | None = None
    close_set_time: Timestamp | None = None
    high_set_time: Timestamp | None = None
    low_set_time: Timestamp | None = None
    last_trade_set_time: Timestamp | None = None
    indicative_open_set_time: Timestamp | None = None
    settlement_set_time: Timestamp | None = None
    open_interest_set_time: Timestamp | None = None
    notional_set_time: Timestamp | None = None
    trading_reference_set_time: Timestamp | None = None
    # Of a book; null on markets that expired. Recordings only: the specification has it in the book.
    last_price_sample: Annotated[PriceSample | None, FieldRule(until=parse_instant("2026-01-01"), kept_by="market_data.last_price_sample", written_by="market_data.last_price_sample")] = None

    __omit_unset__ = True


class PriceSample(Message, kw_only=True):
    """The current price of both sides, as recordings show it."""

    long_px: Amount | None = None  # current_px
    short_px: Amount | None = None
    ts: Timestamp | None = None  # transact_time


class MarketBook(Message, kw_only=True):
    """Order book of one market: bids falling, offers rising."""

    market_slug: str = ""
    bids: list[BookLevel] = []
    offers: list[BookLevel] = []
    state: Annotated[int, MarketState] = 0
    stats: MarketStats | None = None
    transact_time: Timestamp | None = None
    last_price_sample: Annotated[PriceSample | None, FieldRule(until=parse_instant("2026-07-03"))] = None


class MarketLite(Message, kw_only=True):
    """Best prices and summary of one market."""

    market_slug: str = ""
    current_px: Amount | None = None
    last_trade_px: Amount | None = None
    settlement_px: Amount | None = None
    best_bid: Amount | None = None
    best_ask: Amount | None = None
    # what buying YES costs now; absent unless both sides quote
    long_quote: Annotated[Amount | None, FieldRule(presence=True)] = None
    # what buying NO costs now, not padded; absent like long_quote
    short_quote: Annotated[Amount | None, FieldRule(presence=True)] = None
    shares_traded: str = ""  # contracts, four decimals; empty when there are none
    open_interest: str = ""  # contracts, four decimals; empty when there are none
    bid_depth: Int32 = 0  # price levels
    ask_depth: Int32 = 0  # price levels
    bid_shares: str | None = None  # contracts, cut to two figures; on REST from 2026-09-17
    ask_shares: str | None = None  # contracts, cut to two figures; on REST from 2026-09-17
    state: Annotated[int, MarketState] = 0
    last_price_sample: Annotated[PriceSample | None, FieldRule(until=parse_instant("2026-07-03"), kept_by="market_data.last_price_sample")] = None


class GetBookRequest(Message, kw_only=True):
    slug: str = ""


class GetBookResponse(Message, kw_only=True):
    market_data: MarketBook | None = None


class GetBBORequest(Message, kw_only=True):
    slug: str = ""


class GetBBOResponse(Message, kw_only=True):
    market_data: MarketLite | None = None


class SlippageTolerance(Message, kw_only=True):
    """How far from a reference price a market order may trade."""

    # the reference, YES-side
    current_price: Annotated[Amount | None, FieldRule(required=True)] = None
    bips: Int32 = 0  # of the reference; ignored when ticks is given
    ticks: Int32 = 0


class MetadataSubject(Message, kw_only=True):
    """Whom or what a market is about, among the markets of its event."""

    id: Int32 = 0
    name: str = ""
    subject_type: str = ""
    image: str | None = None  # in a resolution, from 2026-10-01


class MarketMetadata(Message, kw_only=True):
    """What a screen shows about the market of an order or a position."""

    slug: str = ""
    icon: str = ""
    title: str = ""  # the question of the event
    outcome: str = ""  # Yes or No; None once the market has paid
    event_slug: str = ""
    event_id: str = ""
    team_id: Int32 | None = None
    team: Annotated[gateway_v1.Team | None, FieldRule(presence=True)] = None
    subject: Annotated[MetadataSubject | None, FieldRule(presence=True)] = None


class Order(Message, kw_only=True):
    """One order; every price is the YES price, also for short orders."""

    id: str = ""
    market_slug: str = ""
    side: Annotated[int, OrderSide] = 0
    type: Annotated[int, OrderType] = 0
    price: Amount | None = None
    quantity: float = 0.0  # contracts
    cum_quantity: float = 0.0  # contracts filled so far
    leaves_quantity: float = 0.0  # contracts still open
    tif: Annotated[int, TimeInForce] = 0
    intent: Annotated[int, OrderIntent] = 0
    outcome_side: Annotated[Annotated[int, OutcomeSide], FieldRule(since=parse_instant("2026-04-09"))] = 0
    action: Annotated[Annotated[int, OrderAction], FieldRule(since=parse_instant("2026-04-09"))] = 0
    state: Annotated[int, OrderState] = 0
    avg_px: Amount | None = None  # four decimals; 0.0000 while nothing is filled
    cash_order_qty: Amount | None = None  # four decimals; 0.0000 where the order has a quantity
    good_till_time: Timestamp | None = None
    insert_time: Timestamp | None = None
    create_time: Timestamp | None = None
    commission_notional_total_collected: Amount | None = None  # negative = rebate
    commissions_basis_points: str = ""  # 0: commissions are not proportional
    maker_commissions_basis_points: str = ""  # 0
    market_metadata: MarketMetadata | None = None
    last_transact_time: Timestamp | None = None
    manual_order_indicator: Annotated[int, ManualOrderIndicator] = 0


class LegPrice(Message, kw_only=True):
    """One leg of a fill on a combo market."""

    market_slug: str = ""
    anchor: bool = False
    px: Amount | None = None
    qty: str = ""  # contracts, decimal
    side: Annotated[int, OrderSide] = 0
    reference_px: Int64 = 0


class Execution(Message, kw_only=True):
    """One thing that happened to an order."""

    id: str = ""
    order: Order | None = None  # as it stands after this execution
    last_shares: str = ""  # contracts of this fill, four decimals; "0" when no fill
    last_px: Amount | None = None
    type: Annotated[int, ExecutionType] = 0
    text: str = ""
    order_reject_reason: Annotated[int, OrdRejectReason] = 0
    transact_time: Timestamp | None = None
    transact_trade_date: Timestamp | None = None  # midnight UTC of the trade date
    leg_prices: list[LegPrice] = []  # empty for plain markets
    trade_id: str = ""
    aggressor: bool = False  # true = taker
    commission_notional_collected: Amount | None = None  # negative = rebate
    commission_spread_px: Amount | None = None  # of a fill: what a contract of the own side costs
    unsolicited_cancel_reason: Annotated[int, UnsolicitedCancelReason] = 0
    trace_id: str = ""


class Unsubscribe(Message, kw_only=True):
    """Ends the subscription that was made with the same request id."""

    request_id: Annotated[str, FieldRule(required=True)] = ""


class Heartbeat(Message, kw_only=True):
    """A sign of life; always the only key of its frame."""


class MarketsRequestFrame(Message, kw_only=True):
    """What a client sends on the markets socket: one of the two."""

    subscribe: MarketsSubscribe | None = None
    unsubscribe: Unsubscribe | None = None

    __needs__ = ("subscribe | unsubscribe",)


class MarketsSubscribe(Message, kw_only=True):
    """A subscription to some markets."""

    request_id: Annotated[str, FieldRule(required=True)] = ""
    subscription_type: Annotated[Annotated[int, MarketsSubscribe_SubscriptionType], FieldRule(required=True)] = 0
    market_slugs: list[str] = []  # at most 100
    responses_debounced: bool = False  # updates may be merged


class MarketsFrame(Message, kw_only=True):
    """What the server sends on the markets socket: one payload, and never an empty key,
    since clients tell frames apart by which keys are there.
    """

    request_id: str | None = None  # empty in the error of a request without one
    subscription_type: Annotated[int, MarketsSubscribe_SubscriptionType] = 0
    market_data: MarketBook | None = None
    market_data_lite: MarketLite | None = None
    trade: TradeTick | None = None
    heartbeat: Heartbeat | None = None
    error: str = ""
    unsubscribed: bool = False  # the end of a subscription, acknowledged

    __omit_unset__ = True


class TradeTick(Message, kw_only=True):
    """One trade, without names."""

    market_slug: str = ""
    price: Amount | None = None  # YES-side
    quantity: Amount | None = None  # counts contracts in spite of its shape
    trade_time: Timestamp | None = None
    maker: TradeParty | None = None
    taker: TradeParty | None = None


class TradeParty(Message, kw_only=True):
    """What one side of a trade wanted."""

    side: Annotated[int, OrderSide] = 0
    intent: Annotated[int, OrderIntent] = 0


class CreateOrderRequest(Message, kw_only=True):
    """An order to place. Give intent, or outcome_side with action; where both are given they must agree."""

    market_slug: Annotated[str, FieldRule(required=True)] = ""
    type: Annotated[int, OrderType] | None = None  # unset means ORDER_TYPE_LIMIT
    price: Amount | None = None  # YES-side; required for a limit order
    quantity: float | None = None  # contracts
    tif: Annotated[int, TimeInForce] | None = None
    intent: Annotated[int, OrderIntent] | None = None
    outcome_side: Annotated[int, OutcomeSide] = 0
    action: Annotated[int, OrderAction] = 0
    participate_dont_initiate: bool = False  # post-only
    good_till_time: Timestamp | None = None  # required for GOOD_TILL_DATE
    cash_order_qty: Amount | None = None  # market orders: money to spend, in place of quantity
    manual_order_indicator: Annotated[int, ManualOrderIndicator] | None = None
    synchronous_execution: bool = False  # hold the answer until the outcome is known
    max_block_time: Int64 = 0  # seconds to hold it at most
    slippage_tolerance: SlippageTolerance | None = None

    __needs__ = ("intent | outcome_side, action", "quantity | cash_order_qty",)


class CreateOrderResponse(Message, kw_only=True):
    id: str = ""
    executions: list[Execution] = []  # empty unless executed synchronously


class PreviewOrderRequest(Message, kw_only=True):
    request: Annotated[CreateOrderRequest | None, FieldRule(required=True)] = None


class PreviewOrderResponse(Message, kw_only=True):
    order: Order | None = None


class ListOpenOrdersRequest(Message, kw_only=True):
    slugs: list[str] = []  # none = all markets


class ListOpenOrdersResponse(Message, kw_only=True):
    orders: list[Order] = []


class CancelOpenOrdersRequest(Message, kw_only=True):
    slugs: list[str] = []  # none = all markets


class CancelOpenOrdersResponse(Message, kw_only=True):
    canceled_order_ids: list[str] = []


class GetOrderRequest(Message, kw_only=True):
    order_id: Annotated[str, FieldRule(required=True)] = ""


class GetOrderResponse(Message, kw_only=True):
    order: Order | None = None


class CancelOrderRequest(Message, kw_only=True):
    order_id: Annotated[str, FieldRule(required=True)] = ""
    market_slug: Annotated[str, FieldRule(required=True)] = ""


class CancelOrderResponse(Message, kw_only=True):
    pass


class ModifyOrderRequest(Message, kw_only=True):
    """What to change; a field left out keeps its value."""

    order_id: Annotated[str, FieldRule(required=True)] = ""
    market_slug: Annotated[str, FieldRule(required=True)] = ""
    price: Amount | None = None
    quantity: float | None = None  # contracts
    tif: Annotated[int, TimeInForce] | None = None
    participate_dont_initiate: bool | None = None
    good_till_time: Timestamp | None = None


class ModifyOrderResponse(Message, kw_only=True):
    pass


class ClosePositionRequest(Message, kw_only=True):
    market_slug: Annotated[str, FieldRule(required=True)] = ""
    manual_order_indicator: Annotated[int, ManualOrderIndicator] | None = None
    synchronous_execution: bool = False
    max_block_time: Int64 = 0  # seconds
    slippage_tolerance: SlippageTolerance | None = None


class ClosePositionResponse(Message, kw_only=True):
    id: str = ""
    executions: list[Execution] = []  # empty unless executed synchronously


class CreateOrdersRequest(Message, kw_only=True):
    orders: Annotated[list[CreateOrderRequest], FieldRule(required=True)] = []


class CreateOrdersResponse(Message, kw_only=True):
    created_order_ids: list[str] = []  # in the order of the request


class CancelOrdersRequest(Message, kw_only=True):
    orders: Annotated[list[CancelOrderRequest], FieldRule(required=True)] = []


class CancelOrdersResponse(Message, kw_only=True):
    canceled_order_ids: list[str] = []  # those asked for, not those done


class ModifyOrdersRequest(Message, kw_only=True):
    orders: Annotated[list[ModifyOrderRequest], FieldRule(required=True)] = []


class ModifyOrdersResponse(Message, kw_only=True):
    modified_order_ids: list[str] = []  # those asked for, not those done


class ComboSettlement(Message, kw_only=True):
    """Result of a settled leg."""

    settlement_price: Amount | None = None
    settlement_set_time: Timestamp | None = None


class ComboLegDetail(Message, kw_only=True):
    """What a screen shows about one leg of a combo."""

    slug: str = ""
    icon: str = ""
    title: str = ""
    outcome: str = ""
    event_slug: str = ""
    event_id: str = ""
    team_id: Int32 | None = None
    team: Annotated[gateway_v1.Team | None, FieldRule(presence=True)] = None
    subject: Annotated[MetadataSubject | None, FieldRule(presence=True)] = None
    outcome_side: Annotated[int, OutcomeSide] = 0
    event_group_title: str = ""
    event_start_time: Timestamp | None = None
    live: bool = False
    indicative_price: Amount | None = None
    settlement: ComboSettlement | None = None
    state: Annotated[int, ComboLegState] = 0


class UserPosition(Message, kw_only=True):
    """The holding of one market; a negative net is a short (NO) holding.
    The integer forms are deprecated and rounded; the decimal ones are exact.
    """

    net_position: Int64 = 0
    qty_bought: Int64 = 0
    qty_sold: Int64 = 0
    bod_position: Int64 = 0  # at the beginning of the day
    qty_available: Int64 | None = None
    net_position_decimal: str = ""
    qty_bought_decimal: str = ""
    qty_sold_decimal: str = ""
    bod_position_decimal: str = ""
    qty_available_decimal: str | None = None
    # Money has four decimals. After a resolution average price, fees and base cost are null.
    cost: Amount | None = None
    realized: Amount | None = None  # without fees
    # market value of the holding; null while nobody knows a price
    cash_value: Amount | None = None
    avg_px: Amount | None = None  # base_cost / net_position: of a short position in NO terms
    fees: Amount | None = None  # commissions less rebates, as collected
    # what the holding cost: of a short one, a dollar less the price
    base_cost: Amount | None = None
    cost_per_share: Amount | None = None  # null
    expired: bool = False  # its market expired or has paid
    update_time: Timestamp | None = None
    market_metadata: MarketMetadata | None = None
    combo_leg_details: list[ComboLegDetail] = []  # empty for plain markets
    position_id: str = ""


class ListPositionsRequest(Message, kw_only=True):
    market: str = ""  # slug; empty = all
    limit: Int32 = 0  # 0 = 100; at most 100
    cursor: str = ""


class ListPositionsResponse(Message, kw_only=True):
    positions: dict[str, UserPosition] = {}  # by market slug
    next_cursor: str | None = None  # empty on the last page; absent with the filter market
    eof: bool = False
    available_positions: list[Int64] = []  # deprecated, rounded


class ListActivitiesRequest(Message, kw_only=True):
    limit: Int32 = 0  # 0 = 100
    cursor: str = ""
    market_slug: str = ""
    types: list[Annotated[int, ActivityType]] = []  # none = all
    sort_order: Annotated[int, SortOrder] = 0
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None


class ListActivitiesResponse(Message, kw_only=True):
    activities: list[Activity] = []
    next_cursor: str = ""  # empty on the last page
    eof: bool = False


class Activity(Message, kw_only=True):
    """One entry of the feed; only the payload that fits its type is there."""

    type: Annotated[int, ActivityType] = 0
    trade: TradeActivity | None = None
    position_resolution: PositionResolution | None = None
    account_balance_change: AccountBalanceChange | None = None

    __omit_unset__ = True


class TradeActivity(Message, kw_only=True):
    id: str = ""
    market_slug: str = ""
    state: Annotated[int, TradeState] = 0
    create_time: Timestamp | None = None
    update_time: Timestamp | None = None
    price: Amount | None = None  # YES-side
    qty: str = ""  # deprecated, rounded
    qty_decimal: str = ""  # contracts
    is_aggressor: bool = False
    cost_basis: Amount | None = None
    realized_pnl: Amount | None = None
    # Both sides of the trade, the counterparty's too: the own order tells the side of the trade.
    aggressor_execution: Execution | None = None
    passive_execution: Execution | None = None
    aggressor: Order | None = None
    passive: Order | None = None
    cost: Amount | None = None  # price x quantity, YES-side, four decimals
    market: gateway_v1.Market | None = None
    reporting_counterparty: str = ""
    create_trade_date: Timestamp | None = None  # midnight UTC of the trade date
    update_trade_date: Timestamp | None = None  # midnight UTC of the trade date
    trade_link_id: str = ""
    combo_leg_details: list[ComboLegDetail] = []  # empty for plain markets


class PositionResolution(Message, kw_only=True):
    market_slug: str = ""
    before_position: UserPosition | None = None
    after_position: UserPosition | None = None
    update_time: Timestamp | None = None
    trade_id: str = ""
    side: Annotated[int, PositionResolutionSide] = 0
    market: gateway_v1.Market | None = None
    combo_leg_details: list[ComboLegDetail] = []  # empty for plain markets


class BalanceTransaction(Message, kw_only=True):
    """One transaction of a balance change."""

    transaction_id: str = ""
    status: Annotated[int, AccountBalanceChangeStatus] = 0
    amount: Amount | None = None  # not padded
    update_time: Timestamp | None = None
    create_time: Timestamp | None = None
    description: str = ""
    external_id: str = ""
    payment_method: JsonObject | None = None
    metadata: JsonObject | None = None
    failure_reason: str = ""
    failure_code: str = ""
    failure_action: JsonObject | None = None


class AccountBalanceChange(Message, kw_only=True):
    """A balance change: flat, and as a list of its one transaction."""

    transaction_id: str = ""
    status: Annotated[int, AccountBalanceChangeStatus] = 0
    amount: Amount | None = None  # not padded
    update_time: Timestamp | None = None
    create_time: Timestamp | None = None
    description: str = ""
    transactions: list[BalanceTransaction] = []
    external_id: str = ""
    payment_method: JsonObject | None = None
    metadata: JsonObject | None = None
    failure_reason: str = ""
    failure_code: str = ""
    failure_action: JsonObject | None = None


class PrivateRequestFrame(Message, kw_only=True):
    """What a client sends on the private socket: one of the two."""

    subscribe: PrivateSubscribe | None = None
    unsubscribe: Unsubscribe | None = None

    __needs__ = ("subscribe | unsubscribe",)


class PrivateSubscribe(Message, kw_only=True):
    """A subscription to one kind of the caller's own data."""

    request_id: Annotated[str, FieldRule(required=True)] = ""
    subscription_type: Annotated[Annotated[int, PrivateSubscribe_SubscriptionType], FieldRule(required=True)] = 0
    market_slugs: list[str] = []  # none = all; at most 100; not for balances and quotes
    responses_debounced: bool = False  # updates may be merged


class PrivateFrame(Message, kw_only=True):
    """What the server sends on the private socket: one payload, and never an empty key,
    since clients tell frames apart by which keys are there.
    """

    request_id: str | None = None  # empty in the error of a request without one
    subscription_type: Annotated[int, PrivateSubscribe_SubscriptionType] = 0
    order_subscription_update: OrderUpdate | None = None
    order_subscription_snapshot: OrderSnapshot | None = None
    position_subscription: PositionUpdate | None = None
    account_balances_snapshot: AccountBalancesSnapshot | None = None
    account_balances_update: AccountBalancesUpdate | None = None
    rfq_event: exchange_v1.StreamRFQEventsResponse | None = None
    heartbeat: Heartbeat | None = None
    error: str = ""
    unsubscribed: bool = False  # the end of a subscription, acknowledged

    __omit_unset__ = True


class OrderUpdate(Message, kw_only=True):
    execution: Execution | None = None


class OrderSnapshot(Message, kw_only=True):
    """Open orders at the time of asking; a long list comes in several frames."""

    orders: list[Order] = []
    eof: bool = False  # the last frame


class PositionUpdate(Message, kw_only=True):
    """A position before and after one change; before is null for the first."""

    before_position: UserPosition | None = None
    after_position: UserPosition | None = None
    update_time: Timestamp | None = None
    entry_type: Annotated[int, LedgerEntryType] = 0
    trade_id: str = ""
    reference_id: str = ""
    description: str = ""
    allocation_group_id: str = ""
    transfer_reference_trade_ids: list[str] = []
    short_transfer: bool = False
    update_trade_date: Timestamp | None = None


class AccountBalancesSnapshot(Message, kw_only=True):
    balances: list[UserBalance] = []


class AccountBalancesUpdate(Message, kw_only=True):
    balance_change: BalanceChange | None = None


class BalanceChange(Message, kw_only=True):
    """A balance before and after one change."""

    before_balance: UserBalance | None = None
    after_balance: UserBalance | None = None
    description: str = ""
    update_time: Timestamp | None = None
    modified_security_id: str = ""
    entry_type: Annotated[int, LedgerEntryType] = 0
    account_name: str = ""
    id: str = ""


class CreateRfqRequest(Message, kw_only=True):
    """Exactly one of qty_decimal and cash_order_qty. The API key says which account asks."""

    symbol: Annotated[str, FieldRule(required=True)] = ""
    rest_remainder: Annotated[bool | None, FieldRule(required=True)] = None
    qty_decimal: str = ""  # contracts
    cash_order_qty: str = ""  # dollars, at most four decimals

    __needs__ = ("qty_decimal | cash_order_qty",)


class CreateQuoteRequest(Message, kw_only=True):
    """The prices; all but post_only are required. The API key says which account quotes."""

    rfq_id: Annotated[str, FieldRule(required=True)] = ""
    # dollars, decimal: the requester buys; 0 = not offered
    buy_price: Annotated[str, FieldRule(required=True)] = ""
    # dollars, decimal: the requester sells; 0 = not offered
    sell_price: Annotated[str, FieldRule(required=True)] = ""
    rest_remainder: Annotated[bool | None, FieldRule(required=True)] = None
    post_only: bool = False
