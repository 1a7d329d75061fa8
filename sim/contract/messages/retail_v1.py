# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum
from typing import Any

from sim.contract.messages import Message, exchange_v1, gateway_v1


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
    creation_time: int | None = None
    destination_account_name: str = ""

    __full_name__ = "retail.v1.PendingWithdrawal"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "balance", "balance", "double", "", "", ()),
        (4, "description", "description", "string", "", "", ()),
        (5, "acknowledged", "acknowledged", "bool", "", "", ()),
        (6, "bank_id", "bankId", "string", "", "", ()),
        (7, "creation_time", "creationTime", "timestamp", "", "", ()),
        (8, "destination_account_name", "destinationAccountName", "string", "", "", ()),
    )


class UserBalance(Message, kw_only=True):
    """Money of an account in one currency, in dollars.
    buying_power = current_balance + asset_available - open_orders - margin_requirement.
    """

    current_balance: float = 0.0
    currency: str = ""
    last_updated: int | None = None  # null
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
    bonus_hold: float | None = None

    __full_name__ = "retail.v1.UserBalance"
    __wire__ = (
        (1, "current_balance", "currentBalance", "double", "", "", ()),
        (2, "currency", "currency", "string", "", "", ()),
        (3, "last_updated", "lastUpdated", "timestamp", "", "", ()),
        (4, "buying_power", "buyingPower", "double", "", "", ()),
        (5, "asset_notional", "assetNotional", "double", "", "", ()),
        (6, "asset_available", "assetAvailable", "double", "", "", ()),
        (7, "pending_credit", "pendingCredit", "double", "", "", ()),
        (8, "open_orders", "openOrders", "double", "", "", ()),
        (9, "unsettled_funds", "unsettledFunds", "double", "", "", ()),
        (10, "margin_requirement", "marginRequirement", "double", "", "", ()),
        (11, "pending_withdrawals", "pendingWithdrawals", "message", "repeated", "retail.v1.PendingWithdrawal", ()),
        (12, "balance_reservation", "balanceReservation", "double", "optional", "", ()),
        (13, "deposit_reservation", "depositReservation", "double", "optional", "", ()),
        (14, "bonus_reservation", "bonusReservation", "double", "optional", "", ()),
        (15, "displayed_bonus", "displayedBonus", "double", "optional", "", ()),
        (16, "displayed_available_soon", "displayedAvailableSoon", "double", "optional", "", ()),
        (17, "displayed_cash", "displayedCash", "double", "optional", "", ()),
        (18, "available_to_withdraw", "availableToWithdraw", "double", "optional", "", ()),
        (19, "bonus_hold", "bonusHold", "double", "optional", "", (("since", 1789704000000000000),)),
    )


class GetBalancesRequest(Message, kw_only=True):
    __full_name__ = "retail.v1.GetBalancesRequest"


class GetBalancesResponse(Message, kw_only=True):
    balances: list[UserBalance] = []

    __full_name__ = "retail.v1.GetBalancesResponse"
    __wire__ = (
        (1, "balances", "balances", "message", "repeated", "retail.v1.UserBalance", ()),
    )


class ListIncentivesRequest(Message, kw_only=True):
    page_size: int = 0  # markets, not periods
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

    __full_name__ = "retail.v1.ListIncentivesRequest"
    __wire__ = (
        (1, "page_size", "pageSize", "int32", "", "", ()),
        (2, "page_token", "pageToken", "string", "", "", ()),
        (3, "symbols", "symbols", "string", "repeated", "", ()),
        (4, "order_by", "orderBy", "string", "", "", ()),
        (5, "order_direction", "orderDirection", "string", "", "", ()),
        (6, "statuses", "statuses", "string", "repeated", "", ()),
        (7, "program_type", "programType", "string", "", "", ()),
        (8, "query", "query", "string", "", "", ()),
        (9, "instrument_states", "instrumentStates", "string", "repeated", "", ()),
        (10, "category", "category", "string", "", "", ()),
        (11, "subcategory", "subcategory", "string", "", "", ()),
    )


class ListIncentivesResponse(Message, kw_only=True):
    programs: list[IncentiveProgram] = []
    next_page_token: str = ""  # empty on the last page

    __full_name__ = "retail.v1.ListIncentivesResponse"
    __wire__ = (
        (1, "programs", "programs", "message", "repeated", "retail.v1.IncentiveProgram", ()),
        (2, "next_page_token", "nextPageToken", "string", "", "", ()),
    )


class IncentiveProgram(Message, kw_only=True):
    """All incentive periods of one market."""

    market_slug: str = ""
    time_periods: list[TimePeriod] = []
    instrument_state: str = ""  # INSTRUMENT_STATE_<STATE>
    category: str = ""
    subcategory: str = ""
    event_start_time: int | None = None
    instrument_product: str = ""

    __full_name__ = "retail.v1.IncentiveProgram"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", ()),
        (2, "time_periods", "timePeriods", "message", "repeated", "retail.v1.TimePeriod", ()),
        (3, "instrument_state", "instrumentState", "string", "", "", ()),
        (4, "category", "category", "string", "", "", ()),
        (5, "subcategory", "subcategory", "string", "", "", ()),
        (6, "event_start_time", "eventStartTime", "timestamp", "", "", ()),
        (7, "instrument_product", "instrumentProduct", "string", "", "", ()),
    )


class TimePeriod(Message, kw_only=True):
    """One period of one program."""

    program_id: str = ""
    program_type: str = ""  # liquidityProgram, volumeProgram
    start: int | None = None
    end: int | None = None  # absent while the program goes on
    reward_pool: float = 0.0  # dollars
    status: str = ""  # active, closed, pending
    discount_factor: float | None = None
    target_size: int | None = None  # contracts
    period: str = ""  # early, day_of, live
    created_at: int | None = None
    min_taker_notional: int | None = None  # dollars
    max_spread: float | None = None  # dollars, half the width around the midpoint

    __full_name__ = "retail.v1.TimePeriod"
    __wire__ = (
        (1, "program_id", "programId", "string", "", "", ()),
        (2, "program_type", "programType", "string", "", "", ()),
        (3, "start", "start", "timestamp", "", "", ()),
        (4, "end", "end", "timestamp", "optional", "", ()),
        (5, "reward_pool", "rewardPool", "double", "", "", ()),
        (6, "status", "status", "string", "", "", ()),
        (7, "discount_factor", "discountFactor", "double", "optional", "", ()),
        (8, "target_size", "targetSize", "int32", "optional", "", ()),
        (9, "period", "period", "string", "", "", ()),
        (10, "created_at", "createdAt", "timestamp", "", "", ()),
        (11, "min_taker_notional", "minTakerNotional", "int32", "optional", "", ()),
        (12, "max_spread", "maxSpread", "double", "optional", "", ()),
    )


class ListEarningsRequest(Message, kw_only=True):
    start_date: str = ""  # YYYY-MM-DD, Eastern Time; empty = since the programs began
    end_date: str = ""  # YYYY-MM-DD, Eastern Time; empty = through today
    market_slug: str = ""
    program_type: str = ""

    __full_name__ = "retail.v1.ListEarningsRequest"
    __wire__ = (
        (1, "start_date", "startDate", "string", "", "", ()),
        (2, "end_date", "endDate", "string", "", "", ()),
        (3, "market_slug", "marketSlug", "string", "", "", ()),
        (4, "program_type", "programType", "string", "", "", ()),
    )


class ListEarningsResponse(Message, kw_only=True):
    rewards: list[UserReward] = []

    __full_name__ = "retail.v1.ListEarningsResponse"
    __wire__ = (
        (1, "rewards", "rewards", "message", "repeated", "retail.v1.UserReward", ()),
    )


class UserReward(Message, kw_only=True):
    """Everything one market paid the caller on one Eastern date."""

    reward: float = 0.0  # dollars
    program_type: str = ""
    market_slug: str = ""
    date: str = ""  # YYYY-MM-DD, Eastern Time
    status: str = ""  # PAID, PENDING, SKIPPED

    __full_name__ = "retail.v1.UserReward"
    __wire__ = (
        (1, "reward", "reward", "double", "", "", ()),
        (2, "program_type", "programType", "string", "", "", ()),
        (3, "market_slug", "marketSlug", "string", "", "", ()),
        (4, "date", "date", "string", "", "", ()),
        (5, "status", "status", "string", "", "", ()),
    )


class Amount(Message, kw_only=True):
    """A sum of money or a price per contract, exact: never a float."""

    value: str = ""  # decimal without exponent; negative allowed; may have more than two decimals
    currency: str = ""  # always "USD"

    __full_name__ = "retail.v1.Amount"
    __wire__ = (
        (1, "value", "value", "string", "", "", (("required", True),)),
        (2, "currency", "currency", "string", "", "", ()),
    )


class BookLevel(Message, kw_only=True):
    """All orders at one price."""

    px: Amount | None = None
    qty: str = ""  # contracts, four decimals

    __full_name__ = "retail.v1.BookLevel"
    __wire__ = (
        (1, "px", "px", "message", "", "retail.v1.Amount", ()),
        (2, "qty", "qty", "string", "", "", ()),
    )


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
    settlement_price_calculation_method: int | None = None
    open_set_time: int | None = None
    close_set_time: int | None = None
    high_set_time: int | None = None
    low_set_time: int | None = None
    last_trade_set_time: int | None = None
    indicative_open_set_time: int | None = None
    settlement_set_time: int | None = None
    open_interest_set_time: int | None = None
    notional_set_time: int | None = None
    trading_reference_set_time: int | None = None

    __full_name__ = "retail.v1.MarketStats"
    __wire__ = (
        (1, "open_px", "openPx", "message", "", "retail.v1.Amount", ()),
        (2, "close_px", "closePx", "message", "", "retail.v1.Amount", ()),
        (3, "low_px", "lowPx", "message", "", "retail.v1.Amount", ()),
        (4, "high_px", "highPx", "message", "", "retail.v1.Amount", ()),
        (5, "last_trade_px", "lastTradePx", "message", "", "retail.v1.Amount", ()),
        (6, "indicative_open_px", "indicativeOpenPx", "message", "", "retail.v1.Amount", ()),
        (7, "settlement_px", "settlementPx", "message", "", "retail.v1.Amount", ()),
        (8, "trading_reference_px", "tradingReferencePx", "message", "", "retail.v1.Amount", ()),
        (9, "current_px", "currentPx", "message", "", "retail.v1.Amount", ()),
        (10, "notional_traded", "notionalTraded", "message", "", "retail.v1.Amount", ()),
        (11, "shares_traded", "sharesTraded", "string", "", "", ()),
        (12, "last_trade_qty", "lastTradeQty", "string", "", "", ()),
        (13, "open_interest", "openInterest", "string", "", "", ()),
        (14, "settlement_preliminary_flag", "settlementPreliminaryFlag", "bool", "optional", "", ()),
        (15, "settlement_price_calculation_method", "settlementPriceCalculationMethod", "enum", "optional", "retail.v1.SettlementPriceCalculationMethod", ()),
        (16, "open_set_time", "openSetTime", "timestamp", "", "", ()),
        (17, "close_set_time", "closeSetTime", "timestamp", "", "", ()),
        (18, "high_set_time", "highSetTime", "timestamp", "", "", ()),
        (19, "low_set_time", "lowSetTime", "timestamp", "", "", ()),
        (20, "last_trade_set_time", "lastTradeSetTime", "timestamp", "", "", ()),
        (21, "indicative_open_set_time", "indicativeOpenSetTime", "timestamp", "", "", ()),
        (22, "settlement_set_time", "settlementSetTime", "timestamp", "", "", ()),
        (23, "open_interest_set_time", "openInterestSetTime", "timestamp", "", "", ()),
        (24, "notional_set_time", "notionalSetTime", "timestamp", "", "", ()),
        (25, "trading_reference_set_time", "tradingReferenceSetTime", "timestamp", "", "", ()),
    )
    __omit_unset__ = True


class PriceSample(Message, kw_only=True):
    """The latest price point of both sides; its shape is our reading, the field itself is on the record."""

    timestamp: int | None = None
    long_price: Amount | None = None
    short_price: Amount | None = None

    __full_name__ = "retail.v1.PriceSample"
    __wire__ = (
        (1, "timestamp", "timestamp", "timestamp", "", "", ()),
        (2, "long_price", "longPrice", "message", "", "retail.v1.Amount", ()),
        (3, "short_price", "shortPrice", "message", "", "retail.v1.Amount", ()),
    )


class MarketBook(Message, kw_only=True):
    """Order book of one market: bids falling, offers rising."""

    market_slug: str = ""
    bids: list[BookLevel] = []
    offers: list[BookLevel] = []
    state: int = 0
    stats: MarketStats | None = None
    transact_time: int | None = None
    last_price_sample: PriceSample | None = None

    __full_name__ = "retail.v1.MarketBook"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", ()),
        (2, "bids", "bids", "message", "repeated", "retail.v1.BookLevel", ()),
        (3, "offers", "offers", "message", "repeated", "retail.v1.BookLevel", ()),
        (4, "state", "state", "enum", "", "retail.v1.MarketState", ()),
        (5, "stats", "stats", "message", "", "retail.v1.MarketStats", ()),
        (6, "transact_time", "transactTime", "timestamp", "", "", ()),
        (7, "last_price_sample", "lastPriceSample", "message", "", "retail.v1.PriceSample", (("until", 1783051200000000000), ("kept_by", "market_data.last_price_sample"),)),
    )


class MarketLite(Message, kw_only=True):
    """Best prices and summary of one market."""

    market_slug: str = ""
    current_px: Amount | None = None
    last_trade_px: Amount | None = None
    settlement_px: Amount | None = None
    best_bid: Amount | None = None
    best_ask: Amount | None = None
    long_quote: Amount | None = None  # what buying YES costs now; absent unless both sides quote
    # what buying NO costs now, not padded; absent like long_quote
    short_quote: Amount | None = None
    shares_traded: str = ""  # contracts, four decimals; empty when there are none
    open_interest: str = ""  # contracts, four decimals; empty when there are none
    bid_depth: int = 0  # price levels
    ask_depth: int = 0  # price levels
    bid_shares: str | None = None  # contracts, rounded down to two figures; on the socket only
    ask_shares: str | None = None  # contracts, rounded down to two figures; on the socket only
    state: int = 0
    last_price_sample: PriceSample | None = None

    __full_name__ = "retail.v1.MarketLite"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", ()),
        (2, "current_px", "currentPx", "message", "", "retail.v1.Amount", ()),
        (3, "last_trade_px", "lastTradePx", "message", "", "retail.v1.Amount", ()),
        (4, "settlement_px", "settlementPx", "message", "", "retail.v1.Amount", ()),
        (5, "best_bid", "bestBid", "message", "", "retail.v1.Amount", ()),
        (6, "best_ask", "bestAsk", "message", "", "retail.v1.Amount", ()),
        (7, "long_quote", "longQuote", "message", "optional", "retail.v1.Amount", ()),
        (8, "short_quote", "shortQuote", "message", "optional", "retail.v1.Amount", ()),
        (9, "shares_traded", "sharesTraded", "string", "", "", ()),
        (10, "open_interest", "openInterest", "string", "", "", ()),
        (11, "bid_depth", "bidDepth", "int32", "", "", ()),
        (12, "ask_depth", "askDepth", "int32", "", "", ()),
        (13, "bid_shares", "bidShares", "string", "optional", "", ()),
        (14, "ask_shares", "askShares", "string", "optional", "", ()),
        (15, "state", "state", "enum", "", "retail.v1.MarketState", ()),
        (16, "last_price_sample", "lastPriceSample", "message", "", "retail.v1.PriceSample", (("until", 1783051200000000000), ("kept_by", "market_data.last_price_sample"),)),
    )


class GetBookRequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "retail.v1.GetBookRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetBookResponse(Message, kw_only=True):
    market_data: MarketBook | None = None

    __full_name__ = "retail.v1.GetBookResponse"
    __wire__ = (
        (1, "market_data", "marketData", "message", "", "retail.v1.MarketBook", ()),
    )


class GetBBORequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "retail.v1.GetBBORequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetBBOResponse(Message, kw_only=True):
    market_data: MarketLite | None = None

    __full_name__ = "retail.v1.GetBBOResponse"
    __wire__ = (
        (1, "market_data", "marketData", "message", "", "retail.v1.MarketLite", ()),
    )


class SlippageTolerance(Message, kw_only=True):
    """How far from a reference price a market order may trade."""

    current_price: Amount | None = None  # the reference, YES-side
    bips: int = 0  # of the reference; ignored when ticks is given
    ticks: int = 0

    __full_name__ = "retail.v1.SlippageTolerance"
    __wire__ = (
        (1, "current_price", "currentPrice", "message", "", "retail.v1.Amount", (("required", True),)),
        (2, "bips", "bips", "int32", "", "", ()),
        (3, "ticks", "ticks", "int32", "", "", ()),
    )


class MetadataSubject(Message, kw_only=True):
    """Whom or what a market is about, among the markets of its event."""

    id: int = 0
    name: str = ""
    subject_type: str = ""

    __full_name__ = "retail.v1.MetadataSubject"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "subject_type", "subjectType", "string", "", "", ()),
    )


class MarketMetadata(Message, kw_only=True):
    """What a screen shows about the market of an order or a position."""

    slug: str = ""
    icon: str = ""
    title: str = ""  # the question of the event
    outcome: str = ""  # Yes or No; None once the market has paid
    event_slug: str = ""
    event_id: str = ""
    team_id: int | None = None
    team: gateway_v1.Team | None = None
    subject: MetadataSubject | None = None

    __full_name__ = "retail.v1.MarketMetadata"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "icon", "icon", "string", "", "", ()),
        (3, "title", "title", "string", "", "", ()),
        (4, "outcome", "outcome", "string", "", "", ()),
        (5, "event_slug", "eventSlug", "string", "", "", ()),
        (6, "event_id", "eventId", "string", "", "", ()),
        (7, "team_id", "teamId", "int32", "optional", "", ()),
        (8, "team", "team", "message", "optional", "gateway.v1.Team", ()),
        (9, "subject", "subject", "message", "optional", "retail.v1.MetadataSubject", ()),
    )


class Order(Message, kw_only=True):
    """One order; every price is the YES price, also for short orders."""

    id: str = ""
    market_slug: str = ""
    side: int = 0
    type: int = 0
    price: Amount | None = None
    quantity: float = 0.0  # contracts
    cum_quantity: float = 0.0  # contracts filled so far
    leaves_quantity: float = 0.0  # contracts still open
    tif: int = 0
    intent: int = 0
    outcome_side: int = 0
    action: int = 0
    state: int = 0
    avg_px: Amount | None = None  # four decimals; 0.0000 while nothing is filled
    cash_order_qty: Amount | None = None  # four decimals; 0.0000 where the order has a quantity
    good_till_time: int | None = None
    insert_time: int | None = None
    create_time: int | None = None
    commission_notional_total_collected: Amount | None = None  # negative = rebate
    commissions_basis_points: str = ""  # 0: commissions are not proportional
    maker_commissions_basis_points: str = ""  # 0
    market_metadata: MarketMetadata | None = None
    last_transact_time: int | None = None
    manual_order_indicator: int = 0

    __full_name__ = "retail.v1.Order"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "market_slug", "marketSlug", "string", "", "", ()),
        (3, "side", "side", "enum", "", "retail.v1.OrderSide", ()),
        (4, "type", "type", "enum", "", "retail.v1.OrderType", ()),
        (5, "price", "price", "message", "", "retail.v1.Amount", ()),
        (6, "quantity", "quantity", "double", "", "", ()),
        (7, "cum_quantity", "cumQuantity", "double", "", "", ()),
        (8, "leaves_quantity", "leavesQuantity", "double", "", "", ()),
        (9, "tif", "tif", "enum", "", "retail.v1.TimeInForce", ()),
        (10, "intent", "intent", "enum", "", "retail.v1.OrderIntent", ()),
        (11, "outcome_side", "outcomeSide", "enum", "", "retail.v1.OutcomeSide", (("since", 1775707200000000000),)),
        (12, "action", "action", "enum", "", "retail.v1.OrderAction", (("since", 1775707200000000000),)),
        (13, "state", "state", "enum", "", "retail.v1.OrderState", ()),
        (14, "avg_px", "avgPx", "message", "", "retail.v1.Amount", ()),
        (15, "cash_order_qty", "cashOrderQty", "message", "", "retail.v1.Amount", ()),
        (16, "good_till_time", "goodTillTime", "timestamp", "", "", ()),
        (17, "insert_time", "insertTime", "timestamp", "", "", ()),
        (18, "create_time", "createTime", "timestamp", "", "", ()),
        (19, "commission_notional_total_collected", "commissionNotionalTotalCollected", "message", "", "retail.v1.Amount", ()),
        (20, "commissions_basis_points", "commissionsBasisPoints", "string", "", "", ()),
        (21, "maker_commissions_basis_points", "makerCommissionsBasisPoints", "string", "", "", ()),
        (22, "market_metadata", "marketMetadata", "message", "", "retail.v1.MarketMetadata", ()),
        (23, "last_transact_time", "lastTransactTime", "timestamp", "", "", ()),
        (24, "manual_order_indicator", "manualOrderIndicator", "enum", "", "retail.v1.ManualOrderIndicator", ()),
    )


class LegPrice(Message, kw_only=True):
    """One leg of a fill on a combo market."""

    market_slug: str = ""
    anchor: bool = False
    px: Amount | None = None
    qty: str = ""  # contracts, decimal
    side: int = 0
    reference_px: int = 0

    __full_name__ = "retail.v1.LegPrice"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", ()),
        (2, "anchor", "anchor", "bool", "", "", ()),
        (3, "px", "px", "message", "", "retail.v1.Amount", ()),
        (4, "qty", "qty", "string", "", "", ()),
        (5, "side", "side", "enum", "", "retail.v1.OrderSide", ()),
        (6, "reference_px", "referencePx", "int64", "", "", ()),
    )


class Execution(Message, kw_only=True):
    """One thing that happened to an order."""

    id: str = ""
    order: Order | None = None  # as it stands after this execution
    last_shares: str = ""  # contracts of this fill, four decimals; "0" when no fill
    last_px: Amount | None = None
    type: int = 0
    text: str = ""
    order_reject_reason: int = 0
    transact_time: int | None = None
    transact_trade_date: int | None = None  # midnight UTC of the trade date
    leg_prices: list[LegPrice] = []  # empty for plain markets
    trade_id: str = ""
    aggressor: bool = False  # true = taker
    commission_notional_collected: Amount | None = None  # negative = rebate
    commission_spread_px: Amount | None = None  # of a fill: what a contract of the own side costs
    unsolicited_cancel_reason: int = 0
    trace_id: str = ""

    __full_name__ = "retail.v1.Execution"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "order", "order", "message", "", "retail.v1.Order", ()),
        (3, "last_shares", "lastShares", "string", "", "", ()),
        (4, "last_px", "lastPx", "message", "", "retail.v1.Amount", ()),
        (5, "type", "type", "enum", "", "retail.v1.ExecutionType", ()),
        (6, "text", "text", "string", "", "", ()),
        (7, "order_reject_reason", "orderRejectReason", "enum", "", "retail.v1.OrdRejectReason", ()),
        (8, "transact_time", "transactTime", "timestamp", "", "", ()),
        (9, "transact_trade_date", "transactTradeDate", "timestamp", "", "", ()),
        (10, "leg_prices", "legPrices", "message", "repeated", "retail.v1.LegPrice", ()),
        (11, "trade_id", "tradeId", "string", "", "", ()),
        (12, "aggressor", "aggressor", "bool", "", "", ()),
        (13, "commission_notional_collected", "commissionNotionalCollected", "message", "", "retail.v1.Amount", ()),
        (14, "commission_spread_px", "commissionSpreadPx", "message", "", "retail.v1.Amount", ()),
        (15, "unsolicited_cancel_reason", "unsolicitedCancelReason", "enum", "", "retail.v1.UnsolicitedCancelReason", ()),
        (16, "trace_id", "traceId", "string", "", "", ()),
    )


class Unsubscribe(Message, kw_only=True):
    """Ends the subscription that was made with the same request id."""

    request_id: str = ""

    __full_name__ = "retail.v1.Unsubscribe"
    __wire__ = (
        (1, "request_id", "requestId", "string", "", "", (("required", True),)),
    )


class Heartbeat(Message, kw_only=True):
    """A sign of life; always the only key of its frame."""

    __full_name__ = "retail.v1.Heartbeat"


class MarketsRequestFrame(Message, kw_only=True):
    """What a client sends on the markets socket: one of the two."""

    subscribe: MarketsSubscribe | None = None
    unsubscribe: Unsubscribe | None = None

    __full_name__ = "retail.v1.MarketsRequestFrame"
    __wire__ = (
        (1, "subscribe", "subscribe", "message", "", "retail.v1.MarketsSubscribe", ()),
        (2, "unsubscribe", "unsubscribe", "message", "", "retail.v1.Unsubscribe", ()),
    )
    __needs__ = ("subscribe | unsubscribe",)


class MarketsSubscribe(Message, kw_only=True):
    """A subscription to some markets."""

    request_id: str = ""
    subscription_type: int = 0
    market_slugs: list[str] = []  # at most 100
    responses_debounced: bool = False  # updates may be merged

    __full_name__ = "retail.v1.MarketsSubscribe"
    __wire__ = (
        (1, "request_id", "requestId", "string", "", "", (("required", True),)),
        (2, "subscription_type", "subscriptionType", "enum", "", "retail.v1.MarketsSubscribe.SubscriptionType", (("required", True),)),
        (3, "market_slugs", "marketSlugs", "string", "repeated", "", ()),
        (4, "responses_debounced", "responsesDebounced", "bool", "", "", ()),
    )


class MarketsFrame(Message, kw_only=True):
    """What the server sends on the markets socket: one payload, and never an empty key,
    since clients tell frames apart by which keys are there.
    """

    request_id: str | None = None  # empty in the error of a request without one
    subscription_type: int = 0
    market_data: MarketBook | None = None
    market_data_lite: MarketLite | None = None
    trade: TradeTick | None = None
    heartbeat: Heartbeat | None = None
    error: str = ""
    unsubscribed: bool = False  # the end of a subscription, acknowledged

    __full_name__ = "retail.v1.MarketsFrame"
    __wire__ = (
        (1, "request_id", "requestId", "string", "optional", "", ()),
        (2, "subscription_type", "subscriptionType", "enum", "", "retail.v1.MarketsSubscribe.SubscriptionType", ()),
        (3, "market_data", "marketData", "message", "", "retail.v1.MarketBook", ()),
        (4, "market_data_lite", "marketDataLite", "message", "", "retail.v1.MarketLite", ()),
        (5, "trade", "trade", "message", "", "retail.v1.TradeTick", ()),
        (6, "heartbeat", "heartbeat", "message", "", "retail.v1.Heartbeat", ()),
        (7, "error", "error", "string", "", "", ()),
        (8, "unsubscribed", "unsubscribed", "bool", "", "", ()),
    )
    __omit_unset__ = True


class TradeTick(Message, kw_only=True):
    """One trade, without names."""

    market_slug: str = ""
    price: Amount | None = None  # YES-side
    quantity: Amount | None = None  # counts contracts in spite of its shape
    trade_time: int | None = None
    maker: TradeParty | None = None
    taker: TradeParty | None = None

    __full_name__ = "retail.v1.TradeTick"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", ()),
        (2, "price", "price", "message", "", "retail.v1.Amount", ()),
        (3, "quantity", "quantity", "message", "", "retail.v1.Amount", ()),
        (4, "trade_time", "tradeTime", "timestamp", "", "", ()),
        (5, "maker", "maker", "message", "", "retail.v1.TradeParty", ()),
        (6, "taker", "taker", "message", "", "retail.v1.TradeParty", ()),
    )


class TradeParty(Message, kw_only=True):
    """What one side of a trade wanted."""

    side: int = 0
    intent: int = 0

    __full_name__ = "retail.v1.TradeParty"
    __wire__ = (
        (1, "side", "side", "enum", "", "retail.v1.OrderSide", ()),
        (2, "intent", "intent", "enum", "", "retail.v1.OrderIntent", ()),
    )


class CreateOrderRequest(Message, kw_only=True):
    """An order to place. Give intent, or outcome_side with action; where both are given the pair holds."""

    market_slug: str = ""
    type: int | None = None  # unset means ORDER_TYPE_LIMIT
    price: Amount | None = None  # YES-side; required for a limit order
    quantity: float | None = None  # contracts
    tif: int | None = None
    intent: int | None = None
    outcome_side: int = 0
    action: int = 0
    participate_dont_initiate: bool = False  # post-only
    good_till_time: int | None = None  # required for GOOD_TILL_DATE
    cash_order_qty: Amount | None = None  # market orders: money to spend, in place of quantity
    manual_order_indicator: int | None = None
    synchronous_execution: bool = False  # hold the answer until the outcome is known
    max_block_time: int = 0  # seconds to hold it at most
    slippage_tolerance: SlippageTolerance | None = None

    __full_name__ = "retail.v1.CreateOrderRequest"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", (("required", True),)),
        (2, "type", "type", "enum", "optional", "retail.v1.OrderType", ()),
        (3, "price", "price", "message", "", "retail.v1.Amount", ()),
        (4, "quantity", "quantity", "double", "optional", "", ()),
        (5, "tif", "tif", "enum", "optional", "retail.v1.TimeInForce", ()),
        (6, "intent", "intent", "enum", "optional", "retail.v1.OrderIntent", ()),
        (7, "outcome_side", "outcomeSide", "enum", "", "retail.v1.OutcomeSide", ()),
        (8, "action", "action", "enum", "", "retail.v1.OrderAction", ()),
        (9, "participate_dont_initiate", "participateDontInitiate", "bool", "", "", ()),
        (10, "good_till_time", "goodTillTime", "timestamp", "", "", ()),
        (11, "cash_order_qty", "cashOrderQty", "message", "", "retail.v1.Amount", ()),
        (12, "manual_order_indicator", "manualOrderIndicator", "enum", "optional", "retail.v1.ManualOrderIndicator", ()),
        (13, "synchronous_execution", "synchronousExecution", "bool", "", "", ()),
        (14, "max_block_time", "maxBlockTime", "int64", "", "", ()),
        (15, "slippage_tolerance", "slippageTolerance", "message", "", "retail.v1.SlippageTolerance", ()),
    )
    __needs__ = ("intent | outcome_side, action", "quantity | cash_order_qty",)


class CreateOrderResponse(Message, kw_only=True):
    id: str = ""
    executions: list[Execution] = []  # empty unless executed synchronously

    __full_name__ = "retail.v1.CreateOrderResponse"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "executions", "executions", "message", "repeated", "retail.v1.Execution", ()),
    )


class PreviewOrderRequest(Message, kw_only=True):
    request: CreateOrderRequest | None = None

    __full_name__ = "retail.v1.PreviewOrderRequest"
    __wire__ = (
        (1, "request", "request", "message", "", "retail.v1.CreateOrderRequest", (("required", True),)),
    )


class PreviewOrderResponse(Message, kw_only=True):
    order: Order | None = None

    __full_name__ = "retail.v1.PreviewOrderResponse"
    __wire__ = (
        (1, "order", "order", "message", "", "retail.v1.Order", ()),
    )


class ListOpenOrdersRequest(Message, kw_only=True):
    slugs: list[str] = []  # none = all markets

    __full_name__ = "retail.v1.ListOpenOrdersRequest"
    __wire__ = (
        (1, "slugs", "slugs", "string", "repeated", "", ()),
    )


class ListOpenOrdersResponse(Message, kw_only=True):
    orders: list[Order] = []

    __full_name__ = "retail.v1.ListOpenOrdersResponse"
    __wire__ = (
        (1, "orders", "orders", "message", "repeated", "retail.v1.Order", ()),
    )


class CancelOpenOrdersRequest(Message, kw_only=True):
    slugs: list[str] = []  # none = all markets

    __full_name__ = "retail.v1.CancelOpenOrdersRequest"
    __wire__ = (
        (1, "slugs", "slugs", "string", "repeated", "", ()),
    )


class CancelOpenOrdersResponse(Message, kw_only=True):
    canceled_order_ids: list[str] = []

    __full_name__ = "retail.v1.CancelOpenOrdersResponse"
    __wire__ = (
        (1, "canceled_order_ids", "canceledOrderIds", "string", "repeated", "", ()),
    )


class GetOrderRequest(Message, kw_only=True):
    order_id: str = ""

    __full_name__ = "retail.v1.GetOrderRequest"
    __wire__ = (
        (1, "order_id", "orderId", "string", "", "", (("required", True),)),
    )


class GetOrderResponse(Message, kw_only=True):
    order: Order | None = None

    __full_name__ = "retail.v1.GetOrderResponse"
    __wire__ = (
        (1, "order", "order", "message", "", "retail.v1.Order", ()),
    )


class CancelOrderRequest(Message, kw_only=True):
    order_id: str = ""
    market_slug: str = ""

    __full_name__ = "retail.v1.CancelOrderRequest"
    __wire__ = (
        (1, "order_id", "orderId", "string", "", "", (("required", True),)),
        (2, "market_slug", "marketSlug", "string", "", "", (("required", True),)),
    )


class CancelOrderResponse(Message, kw_only=True):
    __full_name__ = "retail.v1.CancelOrderResponse"


class ModifyOrderRequest(Message, kw_only=True):
    """What to change; a field left out keeps its value."""

    order_id: str = ""
    market_slug: str = ""
    price: Amount | None = None
    quantity: float | None = None  # contracts
    tif: int | None = None
    participate_dont_initiate: bool | None = None
    good_till_time: int | None = None

    __full_name__ = "retail.v1.ModifyOrderRequest"
    __wire__ = (
        (1, "order_id", "orderId", "string", "", "", (("required", True),)),
        (2, "market_slug", "marketSlug", "string", "", "", (("required", True),)),
        (3, "price", "price", "message", "", "retail.v1.Amount", ()),
        (4, "quantity", "quantity", "double", "optional", "", ()),
        (5, "tif", "tif", "enum", "optional", "retail.v1.TimeInForce", ()),
        (6, "participate_dont_initiate", "participateDontInitiate", "bool", "optional", "", ()),
        (7, "good_till_time", "goodTillTime", "timestamp", "", "", ()),
    )


class ModifyOrderResponse(Message, kw_only=True):
    __full_name__ = "retail.v1.ModifyOrderResponse"


class ClosePositionRequest(Message, kw_only=True):
    market_slug: str = ""
    manual_order_indicator: int | None = None
    synchronous_execution: bool = False
    max_block_time: int = 0  # seconds
    slippage_tolerance: SlippageTolerance | None = None

    __full_name__ = "retail.v1.ClosePositionRequest"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", (("required", True),)),
        (2, "manual_order_indicator", "manualOrderIndicator", "enum", "optional", "retail.v1.ManualOrderIndicator", ()),
        (3, "synchronous_execution", "synchronousExecution", "bool", "", "", ()),
        (4, "max_block_time", "maxBlockTime", "int64", "", "", ()),
        (5, "slippage_tolerance", "slippageTolerance", "message", "", "retail.v1.SlippageTolerance", ()),
    )


class ClosePositionResponse(Message, kw_only=True):
    id: str = ""
    executions: list[Execution] = []  # empty unless executed synchronously

    __full_name__ = "retail.v1.ClosePositionResponse"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "executions", "executions", "message", "repeated", "retail.v1.Execution", ()),
    )


class CreateOrdersRequest(Message, kw_only=True):
    orders: list[CreateOrderRequest] = []

    __full_name__ = "retail.v1.CreateOrdersRequest"
    __wire__ = (
        (1, "orders", "orders", "message", "repeated", "retail.v1.CreateOrderRequest", (("required", True),)),
    )


class CreateOrdersResponse(Message, kw_only=True):
    created_order_ids: list[str] = []  # in the order of the request

    __full_name__ = "retail.v1.CreateOrdersResponse"
    __wire__ = (
        (1, "created_order_ids", "createdOrderIds", "string", "repeated", "", ()),
    )


class CancelOrdersRequest(Message, kw_only=True):
    orders: list[CancelOrderRequest] = []

    __full_name__ = "retail.v1.CancelOrdersRequest"
    __wire__ = (
        (1, "orders", "orders", "message", "repeated", "retail.v1.CancelOrderRequest", (("required", True),)),
    )


class CancelOrdersResponse(Message, kw_only=True):
    canceled_order_ids: list[str] = []  # those asked for, not those done

    __full_name__ = "retail.v1.CancelOrdersResponse"
    __wire__ = (
        (1, "canceled_order_ids", "canceledOrderIds", "string", "repeated", "", ()),
    )


class ModifyOrdersRequest(Message, kw_only=True):
    orders: list[ModifyOrderRequest] = []

    __full_name__ = "retail.v1.ModifyOrdersRequest"
    __wire__ = (
        (1, "orders", "orders", "message", "repeated", "retail.v1.ModifyOrderRequest", (("required", True),)),
    )


class ModifyOrdersResponse(Message, kw_only=True):
    modified_order_ids: list[str] = []  # those asked for, not those done

    __full_name__ = "retail.v1.ModifyOrdersResponse"
    __wire__ = (
        (1, "modified_order_ids", "modifiedOrderIds", "string", "repeated", "", ()),
    )


class ComboSettlement(Message, kw_only=True):
    """Result of a settled leg."""

    settlement_price: Amount | None = None
    settlement_set_time: int | None = None

    __full_name__ = "retail.v1.ComboSettlement"
    __wire__ = (
        (1, "settlement_price", "settlementPrice", "message", "", "retail.v1.Amount", ()),
        (2, "settlement_set_time", "settlementSetTime", "timestamp", "", "", ()),
    )


class ComboLegDetail(Message, kw_only=True):
    """What a screen shows about one leg of a combo."""

    slug: str = ""
    icon: str = ""
    title: str = ""
    outcome: str = ""
    event_slug: str = ""
    event_id: str = ""
    team_id: int | None = None
    team: gateway_v1.Team | None = None
    subject: MetadataSubject | None = None
    outcome_side: int = 0
    event_group_title: str = ""
    event_start_time: int | None = None
    live: bool = False
    indicative_price: Amount | None = None
    settlement: ComboSettlement | None = None
    state: int = 0

    __full_name__ = "retail.v1.ComboLegDetail"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "icon", "icon", "string", "", "", ()),
        (3, "title", "title", "string", "", "", ()),
        (4, "outcome", "outcome", "string", "", "", ()),
        (5, "event_slug", "eventSlug", "string", "", "", ()),
        (6, "event_id", "eventId", "string", "", "", ()),
        (7, "team_id", "teamId", "int32", "optional", "", ()),
        (8, "team", "team", "message", "optional", "gateway.v1.Team", ()),
        (9, "subject", "subject", "message", "optional", "retail.v1.MetadataSubject", ()),
        (10, "outcome_side", "outcomeSide", "enum", "", "retail.v1.OutcomeSide", ()),
        (11, "event_group_title", "eventGroupTitle", "string", "", "", ()),
        (12, "event_start_time", "eventStartTime", "timestamp", "", "", ()),
        (13, "live", "live", "bool", "", "", ()),
        (14, "indicative_price", "indicativePrice", "message", "", "retail.v1.Amount", ()),
        (15, "settlement", "settlement", "message", "", "retail.v1.ComboSettlement", ()),
        (16, "state", "state", "enum", "", "retail.v1.ComboLegState", ()),
    )


class UserPosition(Message, kw_only=True):
    """The holding of one market; a negative net is a short (NO) holding.
    The integer forms are deprecated and rounded; the decimal ones are exact.
    """

    net_position: int = 0
    qty_bought: int = 0
    qty_sold: int = 0
    bod_position: int = 0  # at the beginning of the day
    qty_available: int | None = None
    net_position_decimal: str = ""
    qty_bought_decimal: str = ""
    qty_sold_decimal: str = ""
    bod_position_decimal: str = ""
    qty_available_decimal: str = ""
    # Money has four decimals. After a resolution average price, fees and base cost are null.
    cost: Amount | None = None
    realized: Amount | None = None  # without fees
    # market value of the holding; null while nobody knows a price
    cash_value: Amount | None = None
    avg_px: Amount | None = None  # YES-side
    fees: Amount | None = None  # commissions less rebates, before rounding to cents
    # what the holding cost: of a short one, a dollar less the price
    base_cost: Amount | None = None
    cost_per_share: Amount | None = None  # null
    expired: bool = False  # its market expired or has paid
    update_time: int | None = None
    market_metadata: MarketMetadata | None = None
    combo_leg_details: list[ComboLegDetail] = []  # empty for plain markets
    position_id: str = ""

    __full_name__ = "retail.v1.UserPosition"
    __wire__ = (
        (1, "net_position", "netPosition", "int64", "", "", ()),
        (2, "qty_bought", "qtyBought", "int64", "", "", ()),
        (3, "qty_sold", "qtySold", "int64", "", "", ()),
        (4, "bod_position", "bodPosition", "int64", "", "", ()),
        (5, "qty_available", "qtyAvailable", "int64", "optional", "", ()),
        (6, "net_position_decimal", "netPositionDecimal", "string", "", "", ()),
        (7, "qty_bought_decimal", "qtyBoughtDecimal", "string", "", "", ()),
        (8, "qty_sold_decimal", "qtySoldDecimal", "string", "", "", ()),
        (9, "bod_position_decimal", "bodPositionDecimal", "string", "", "", ()),
        (10, "qty_available_decimal", "qtyAvailableDecimal", "string", "", "", ()),
        (11, "cost", "cost", "message", "", "retail.v1.Amount", ()),
        (12, "realized", "realized", "message", "", "retail.v1.Amount", ()),
        (13, "cash_value", "cashValue", "message", "", "retail.v1.Amount", ()),
        (14, "avg_px", "avgPx", "message", "", "retail.v1.Amount", ()),
        (15, "fees", "fees", "message", "", "retail.v1.Amount", ()),
        (16, "base_cost", "baseCost", "message", "", "retail.v1.Amount", ()),
        (17, "cost_per_share", "costPerShare", "message", "", "retail.v1.Amount", ()),
        (18, "expired", "expired", "bool", "", "", ()),
        (19, "update_time", "updateTime", "timestamp", "", "", ()),
        (20, "market_metadata", "marketMetadata", "message", "", "retail.v1.MarketMetadata", ()),
        (21, "combo_leg_details", "comboLegDetails", "message", "repeated", "retail.v1.ComboLegDetail", ()),
        (22, "position_id", "positionId", "string", "", "", ()),
    )


class ListPositionsRequest(Message, kw_only=True):
    market: str = ""  # slug; empty = all
    limit: int = 0  # 0 = 100; at most 100
    cursor: str = ""

    __full_name__ = "retail.v1.ListPositionsRequest"
    __wire__ = (
        (1, "market", "market", "string", "", "", ()),
        (2, "limit", "limit", "int32", "", "", ()),
        (3, "cursor", "cursor", "string", "", "", ()),
    )


class ListPositionsResponse(Message, kw_only=True):
    positions: dict[str, UserPosition] = {}  # by market slug
    next_cursor: str = ""  # empty on the last page
    eof: bool = False
    available_positions: list[int] = []  # deprecated, rounded

    __full_name__ = "retail.v1.ListPositionsResponse"
    __wire__ = (
        (1, "positions", "positions", "message", "map:string", "retail.v1.UserPosition", ()),
        (2, "next_cursor", "nextCursor", "string", "", "", ()),
        (3, "eof", "eof", "bool", "", "", ()),
        (4, "available_positions", "availablePositions", "int64", "repeated", "", ()),
    )


class ListActivitiesRequest(Message, kw_only=True):
    limit: int = 0  # 0 = 100
    cursor: str = ""
    market_slug: str = ""
    types: list[int] = []  # none = all
    sort_order: int = 0
    start_time: int | None = None
    end_time: int | None = None

    __full_name__ = "retail.v1.ListActivitiesRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "cursor", "cursor", "string", "", "", ()),
        (3, "market_slug", "marketSlug", "string", "", "", ()),
        (4, "types", "types", "enum", "repeated", "retail.v1.ActivityType", ()),
        (5, "sort_order", "sortOrder", "enum", "", "retail.v1.SortOrder", ()),
        (6, "start_time", "startTime", "timestamp", "", "", ()),
        (7, "end_time", "endTime", "timestamp", "", "", ()),
    )


class ListActivitiesResponse(Message, kw_only=True):
    activities: list[Activity] = []
    next_cursor: str = ""  # empty on the last page
    eof: bool = False

    __full_name__ = "retail.v1.ListActivitiesResponse"
    __wire__ = (
        (1, "activities", "activities", "message", "repeated", "retail.v1.Activity", ()),
        (2, "next_cursor", "nextCursor", "string", "", "", ()),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class Activity(Message, kw_only=True):
    """One entry of the feed; only the payload that fits its type is there."""

    type: int = 0
    trade: TradeActivity | None = None
    position_resolution: PositionResolution | None = None
    account_balance_change: AccountBalanceChange | None = None

    __full_name__ = "retail.v1.Activity"
    __wire__ = (
        (1, "type", "type", "enum", "", "retail.v1.ActivityType", ()),
        (2, "trade", "trade", "message", "", "retail.v1.TradeActivity", ()),
        (3, "position_resolution", "positionResolution", "message", "", "retail.v1.PositionResolution", ()),
        (4, "account_balance_change", "accountBalanceChange", "message", "", "retail.v1.AccountBalanceChange", ()),
    )
    __omit_unset__ = True


class TradeActivity(Message, kw_only=True):
    id: str = ""
    market_slug: str = ""
    state: int = 0
    create_time: int | None = None
    update_time: int | None = None
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
    create_trade_date: int | None = None  # midnight UTC of the trade date
    update_trade_date: int | None = None  # midnight UTC of the trade date
    trade_link_id: str = ""
    combo_leg_details: list[ComboLegDetail] = []  # empty for plain markets

    __full_name__ = "retail.v1.TradeActivity"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "market_slug", "marketSlug", "string", "", "", ()),
        (3, "state", "state", "enum", "", "retail.v1.TradeState", ()),
        (4, "create_time", "createTime", "timestamp", "", "", ()),
        (5, "update_time", "updateTime", "timestamp", "", "", ()),
        (6, "price", "price", "message", "", "retail.v1.Amount", ()),
        (7, "qty", "qty", "string", "", "", ()),
        (8, "qty_decimal", "qtyDecimal", "string", "", "", ()),
        (9, "is_aggressor", "isAggressor", "bool", "", "", ()),
        (10, "cost_basis", "costBasis", "message", "", "retail.v1.Amount", ()),
        (11, "realized_pnl", "realizedPnl", "message", "", "retail.v1.Amount", ()),
        (12, "aggressor_execution", "aggressorExecution", "message", "", "retail.v1.Execution", ()),
        (13, "passive_execution", "passiveExecution", "message", "", "retail.v1.Execution", ()),
        (14, "aggressor", "aggressor", "message", "", "retail.v1.Order", ()),
        (15, "passive", "passive", "message", "", "retail.v1.Order", ()),
        (16, "cost", "cost", "message", "", "retail.v1.Amount", ()),
        (17, "market", "market", "message", "", "gateway.v1.Market", ()),
        (18, "reporting_counterparty", "reportingCounterparty", "string", "", "", ()),
        (19, "create_trade_date", "createTradeDate", "timestamp", "", "", ()),
        (20, "update_trade_date", "updateTradeDate", "timestamp", "", "", ()),
        (21, "trade_link_id", "tradeLinkId", "string", "", "", ()),
        (22, "combo_leg_details", "comboLegDetails", "message", "repeated", "retail.v1.ComboLegDetail", ()),
    )


class PositionResolution(Message, kw_only=True):
    market_slug: str = ""
    before_position: UserPosition | None = None
    after_position: UserPosition | None = None
    update_time: int | None = None
    trade_id: str = ""
    side: int = 0
    market: gateway_v1.Market | None = None
    combo_leg_details: list[ComboLegDetail] = []  # empty for plain markets

    __full_name__ = "retail.v1.PositionResolution"
    __wire__ = (
        (1, "market_slug", "marketSlug", "string", "", "", ()),
        (2, "before_position", "beforePosition", "message", "", "retail.v1.UserPosition", ()),
        (3, "after_position", "afterPosition", "message", "", "retail.v1.UserPosition", ()),
        (4, "update_time", "updateTime", "timestamp", "", "", ()),
        (5, "trade_id", "tradeId", "string", "", "", ()),
        (6, "side", "side", "enum", "", "retail.v1.PositionResolutionSide", ()),
        (7, "market", "market", "message", "", "gateway.v1.Market", ()),
        (8, "combo_leg_details", "comboLegDetails", "message", "repeated", "retail.v1.ComboLegDetail", ()),
    )


class BalanceTransaction(Message, kw_only=True):
    """One transaction of a balance change."""

    transaction_id: str = ""
    status: int = 0
    amount: Amount | None = None  # not padded
    update_time: int | None = None
    create_time: int | None = None
    description: str = ""
    external_id: str = ""
    payment_method: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    failure_reason: str = ""
    failure_code: str = ""
    failure_action: dict[str, Any] | None = None

    __full_name__ = "retail.v1.BalanceTransaction"
    __wire__ = (
        (1, "transaction_id", "transactionId", "string", "", "", ()),
        (2, "status", "status", "enum", "", "retail.v1.AccountBalanceChangeStatus", ()),
        (3, "amount", "amount", "message", "", "retail.v1.Amount", ()),
        (4, "update_time", "updateTime", "timestamp", "", "", ()),
        (5, "create_time", "createTime", "timestamp", "", "", ()),
        (6, "description", "description", "string", "", "", ()),
        (7, "external_id", "externalId", "string", "", "", ()),
        (8, "payment_method", "paymentMethod", "struct", "", "", ()),
        (9, "metadata", "metadata", "struct", "", "", ()),
        (10, "failure_reason", "failureReason", "string", "", "", ()),
        (11, "failure_code", "failureCode", "string", "", "", ()),
        (12, "failure_action", "failureAction", "struct", "", "", ()),
    )


class AccountBalanceChange(Message, kw_only=True):
    """A balance change: flat, and as a list of its one transaction."""

    transaction_id: str = ""
    status: int = 0
    amount: Amount | None = None  # not padded
    update_time: int | None = None
    create_time: int | None = None
    description: str = ""
    transactions: list[BalanceTransaction] = []
    external_id: str = ""
    payment_method: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    failure_reason: str = ""
    failure_code: str = ""
    failure_action: dict[str, Any] | None = None

    __full_name__ = "retail.v1.AccountBalanceChange"
    __wire__ = (
        (1, "transaction_id", "transactionId", "string", "", "", ()),
        (2, "status", "status", "enum", "", "retail.v1.AccountBalanceChangeStatus", ()),
        (3, "amount", "amount", "message", "", "retail.v1.Amount", ()),
        (4, "update_time", "updateTime", "timestamp", "", "", ()),
        (5, "create_time", "createTime", "timestamp", "", "", ()),
        (6, "description", "description", "string", "", "", ()),
        (7, "transactions", "transactions", "message", "repeated", "retail.v1.BalanceTransaction", ()),
        (8, "external_id", "externalId", "string", "", "", ()),
        (9, "payment_method", "paymentMethod", "struct", "", "", ()),
        (10, "metadata", "metadata", "struct", "", "", ()),
        (11, "failure_reason", "failureReason", "string", "", "", ()),
        (12, "failure_code", "failureCode", "string", "", "", ()),
        (13, "failure_action", "failureAction", "struct", "", "", ()),
    )


class PrivateRequestFrame(Message, kw_only=True):
    """What a client sends on the private socket: one of the two."""

    subscribe: PrivateSubscribe | None = None
    unsubscribe: Unsubscribe | None = None

    __full_name__ = "retail.v1.PrivateRequestFrame"
    __wire__ = (
        (1, "subscribe", "subscribe", "message", "", "retail.v1.PrivateSubscribe", ()),
        (2, "unsubscribe", "unsubscribe", "message", "", "retail.v1.Unsubscribe", ()),
    )
    __needs__ = ("subscribe | unsubscribe",)


class PrivateSubscribe(Message, kw_only=True):
    """A subscription to one kind of the caller's own data."""

    request_id: str = ""
    subscription_type: int = 0
    market_slugs: list[str] = []  # none = all; at most 100; not for balances and quotes
    responses_debounced: bool = False  # updates may be merged

    __full_name__ = "retail.v1.PrivateSubscribe"
    __wire__ = (
        (1, "request_id", "requestId", "string", "", "", (("required", True),)),
        (2, "subscription_type", "subscriptionType", "enum", "", "retail.v1.PrivateSubscribe.SubscriptionType", (("required", True),)),
        (3, "market_slugs", "marketSlugs", "string", "repeated", "", ()),
        (4, "responses_debounced", "responsesDebounced", "bool", "", "", ()),
    )


class PrivateFrame(Message, kw_only=True):
    """What the server sends on the private socket: one payload, and never an empty key,
    since clients tell frames apart by which keys are there.
    """

    request_id: str | None = None  # empty in the error of a request without one
    subscription_type: int = 0
    order_subscription_update: OrderUpdate | None = None
    order_subscription_snapshot: OrderSnapshot | None = None
    position_subscription: PositionUpdate | None = None
    account_balances_snapshot: AccountBalancesSnapshot | None = None
    account_balances_update: AccountBalancesUpdate | None = None
    rfq_event: exchange_v1.StreamRFQEventsResponse | None = None
    heartbeat: Heartbeat | None = None
    error: str = ""
    unsubscribed: bool = False  # the end of a subscription, acknowledged

    __full_name__ = "retail.v1.PrivateFrame"
    __wire__ = (
        (1, "request_id", "requestId", "string", "optional", "", ()),
        (2, "subscription_type", "subscriptionType", "enum", "", "retail.v1.PrivateSubscribe.SubscriptionType", ()),
        (3, "order_subscription_update", "orderSubscriptionUpdate", "message", "", "retail.v1.OrderUpdate", ()),
        (4, "order_subscription_snapshot", "orderSubscriptionSnapshot", "message", "", "retail.v1.OrderSnapshot", ()),
        (5, "position_subscription", "positionSubscription", "message", "", "retail.v1.PositionUpdate", ()),
        (6, "account_balances_snapshot", "accountBalancesSnapshot", "message", "", "retail.v1.AccountBalancesSnapshot", ()),
        (7, "account_balances_update", "accountBalancesUpdate", "message", "", "retail.v1.AccountBalancesUpdate", ()),
        (8, "rfq_event", "rfqEvent", "message", "", "exchange.v1.StreamRFQEventsResponse", ()),
        (9, "heartbeat", "heartbeat", "message", "", "retail.v1.Heartbeat", ()),
        (10, "error", "error", "string", "", "", ()),
        (11, "unsubscribed", "unsubscribed", "bool", "", "", ()),
    )
    __omit_unset__ = True


class OrderUpdate(Message, kw_only=True):
    execution: Execution | None = None

    __full_name__ = "retail.v1.OrderUpdate"
    __wire__ = (
        (1, "execution", "execution", "message", "", "retail.v1.Execution", ()),
    )


class OrderSnapshot(Message, kw_only=True):
    """Open orders at the time of asking; a long list comes in several frames."""

    orders: list[Order] = []
    eof: bool = False  # the last frame

    __full_name__ = "retail.v1.OrderSnapshot"
    __wire__ = (
        (1, "orders", "orders", "message", "repeated", "retail.v1.Order", ()),
        (2, "eof", "eof", "bool", "", "", ()),
    )


class PositionUpdate(Message, kw_only=True):
    """A position before and after one change; before is null for the first."""

    before_position: UserPosition | None = None
    after_position: UserPosition | None = None
    update_time: int | None = None
    entry_type: int = 0
    trade_id: str = ""
    reference_id: str = ""
    description: str = ""
    allocation_group_id: str = ""
    transfer_reference_trade_ids: list[str] = []
    short_transfer: bool = False
    update_trade_date: int | None = None

    __full_name__ = "retail.v1.PositionUpdate"
    __wire__ = (
        (1, "before_position", "beforePosition", "message", "", "retail.v1.UserPosition", ()),
        (2, "after_position", "afterPosition", "message", "", "retail.v1.UserPosition", ()),
        (3, "update_time", "updateTime", "timestamp", "", "", ()),
        (4, "entry_type", "entryType", "enum", "", "retail.v1.LedgerEntryType", ()),
        (5, "trade_id", "tradeId", "string", "", "", ()),
        (6, "reference_id", "referenceId", "string", "", "", ()),
        (7, "description", "description", "string", "", "", ()),
        (8, "allocation_group_id", "allocationGroupId", "string", "", "", ()),
        (9, "transfer_reference_trade_ids", "transferReferenceTradeIds", "string", "repeated", "", ()),
        (10, "short_transfer", "shortTransfer", "bool", "", "", ()),
        (11, "update_trade_date", "updateTradeDate", "timestamp", "", "", ()),
    )


class AccountBalancesSnapshot(Message, kw_only=True):
    balances: list[UserBalance] = []

    __full_name__ = "retail.v1.AccountBalancesSnapshot"
    __wire__ = (
        (1, "balances", "balances", "message", "repeated", "retail.v1.UserBalance", ()),
    )


class AccountBalancesUpdate(Message, kw_only=True):
    balance_change: BalanceChange | None = None

    __full_name__ = "retail.v1.AccountBalancesUpdate"
    __wire__ = (
        (1, "balance_change", "balanceChange", "message", "", "retail.v1.BalanceChange", ()),
    )


class BalanceChange(Message, kw_only=True):
    """A balance before and after one change."""

    before_balance: UserBalance | None = None
    after_balance: UserBalance | None = None
    description: str = ""
    update_time: int | None = None
    modified_security_id: str = ""
    entry_type: int = 0
    account_name: str = ""
    id: str = ""

    __full_name__ = "retail.v1.BalanceChange"
    __wire__ = (
        (1, "before_balance", "beforeBalance", "message", "", "retail.v1.UserBalance", ()),
        (2, "after_balance", "afterBalance", "message", "", "retail.v1.UserBalance", ()),
        (3, "description", "description", "string", "", "", ()),
        (4, "update_time", "updateTime", "timestamp", "", "", ()),
        (5, "modified_security_id", "modifiedSecurityId", "string", "", "", ()),
        (6, "entry_type", "entryType", "enum", "", "retail.v1.LedgerEntryType", ()),
        (7, "account_name", "accountName", "string", "", "", ()),
        (8, "id", "id", "string", "", "", ()),
    )


class CreateRfqRequest(Message, kw_only=True):
    """Exactly one of qty_decimal and cash_order_qty. The API key says which account asks."""

    symbol: str = ""
    rest_remainder: bool | None = None
    qty_decimal: str = ""  # contracts
    cash_order_qty: str = ""  # dollars, at most four decimals

    __full_name__ = "retail.v1.CreateRfqRequest"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", (("required", True),)),
        (2, "rest_remainder", "restRemainder", "bool", "optional", "", (("required", True),)),
        (3, "qty_decimal", "qtyDecimal", "string", "", "", ()),
        (4, "cash_order_qty", "cashOrderQty", "string", "", "", ()),
    )
    __needs__ = ("qty_decimal | cash_order_qty",)


class CreateQuoteRequest(Message, kw_only=True):
    """The prices; all but post_only are required. The API key says which account quotes."""

    rfq_id: str = ""
    buy_price: str = ""  # dollars, decimal: the requester buys; 0 = not offered
    sell_price: str = ""  # dollars, decimal: the requester sells; 0 = not offered
    rest_remainder: bool | None = None
    post_only: bool = False

    __full_name__ = "retail.v1.CreateQuoteRequest"
    __wire__ = (
        (1, "rfq_id", "rfqId", "string", "", "", (("required", True),)),
        (2, "buy_price", "buyPrice", "string", "", "", (("required", True),)),
        (3, "sell_price", "sellPrice", "string", "", "", (("required", True),)),
        (4, "rest_remainder", "restRemainder", "bool", "optional", "", (("required", True),)),
        (5, "post_only", "postOnly", "bool", "", "", ()),
    )
