"""Our answers where the specification says "not shown": each with a name, a reason, a source and a
switch.

`sim catalogue assumptions` prints this file. A scenario or the control plane changes a value by its
name; an unknown name or an impossible value is refused with the nearest name. Values are plain:
booleans, integers, words from a list, or spans.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from sim.kernel.instants import format_span, hours, minutes, parse_span, seconds

Value: TypeAlias = bool | int | str


class Assumption(Struct, frozen=True, kw_only=True):
    """One choice. `span` marks a default in nanoseconds, written as "60s" outside; `options` lists
    the words a text value may take; `least` bounds a number.
    """

    name: str
    default: Value
    reason: str
    source: str
    options: tuple[str, ...] = ()
    span: bool = False
    least: int = 0

    def parse(self, given: object) -> Value:
        """Value from a scenario or a control call; ValueError says what would have been accepted."""
        if self.span:
            if isinstance(given, str) and (span := parse_span(given)) >= self.least:
                return span
        elif isinstance(self.default, bool):
            if isinstance(given, bool):
                return given
            if isinstance(given, str) and given in ("true", "false"):
                return given == "true"
        elif isinstance(self.default, int):
            if (
                isinstance(given, str)
                and given.removeprefix("-").isdecimal()
                and given.isascii()
                and len(given) < 20
            ):
                given = int(given)
            if isinstance(given, int) and not isinstance(given, bool) and given >= self.least:
                return given
        elif isinstance(given, str) and (not self.options or given in self.options):
            return given
        raise ValueError(f"{self.name} takes {self.accepts()}, not {given!r}")

    def accepts(self) -> str:
        """What values are accepted, in words."""
        if self.span:
            return (
                "a duration such as"
                f' "60s"{f", at least {format_span(self.least)}" if self.least else ""}'
            )
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, int):
            return f"an integer from {self.least}"
        return "one of " + ", ".join(self.options) if self.options else "text"

    def alternatives(self) -> list[str]:
        """Other values than the default that are worth trying, as they are written: every word; of
        a number or a span, a smaller and a larger one.
        """
        if isinstance(self.default, bool):
            return ["false" if self.default else "true"]
        if isinstance(self.default, str):
            return [word for word in self.options if word != self.default]
        larger = self.default * 2 if self.default > 0 else seconds(10) if self.span else 10
        tried = (max(self.least, self.default // 2), larger)
        return [str(self.show(value)) for value in tried if value != self.default]

    def show(self, value: Value) -> Value:
        """Value as people write it."""
        return format_span(value) if self.span and isinstance(value, int) else value


# ---- lifecycle
COLLAPSE_TO_EXPIRED = Assumption(
    name="lifecycle.collapse_to_expired",
    default=True,
    reason=(
        "An expiration that finds the instrument not CLOSED passes through CLOSED in the same"
        " instant, so client state machines stay legal"
    ),
    source="rule L9",
)
SETTLEMENT_DELAY = Assumption(
    name="settlement.delay_after_close",
    default=seconds(60),
    span=True,
    reason="How long after close an outcome becomes the settlement price",
    source="rule L25",
)
SETTLEMENT_PRELIMINARY = Assumption(
    name="settlement.preliminary_for",
    default=0,
    span=True,
    reason="How long a settlement price stays preliminary before it pays",
    source="rule L25",
)

# ---- orders
EXCHANGE_REJECTS = Assumption(
    name="orders.sync_reject",
    default="spec",
    options=("spec", "async"),
    reason=(
        "Exchange order entry answers business rejects at once (409, 422) as §7.1 says; `async`"
        " gives 200 and a REJECTED execution, as integrators saw"
    ),
    source="rule M7, U5",
)
ORDER_PARENT = Assumption(
    name="orders.parent",
    default="none",
    options=("none", "list"),
    reason=(
        "No request can name a parent order, so no order has one and a search by parent_order_id"
        " finds none; `list` makes the orders of a list call children of its first, so that a"
        " client's parent_order_id can be tried"
    ),
    source="our choice: exchange facts 1.4 name the field (Order 25) and nothing that fills it",
)
RETAIL_REJECTS = Assumption(
    name="retail.sync_reject",
    default="async",
    options=("spec", "async"),
    reason=(
        "Retail order entry answers 200 with an id and rejects by execution, as the public client"
        " expects"
    ),
    source="rule M7, U5",
)
RETAIL_FUNDS = Assumption(
    name="retail.funds_refusal",
    default="execution",
    options=("execution", "400"),
    reason=(
        "An order the retail account cannot pay for is rejected by execution like any other; `400`"
        " refuses the call, as integrators saw"
    ),
    source="rule P4, U25",
)
BLOCK_TIME = Assumption(
    name="retail.block_time",
    default=seconds(10),
    span=True,
    reason=(
        "A synchronous order without maxBlockTime waits so long for its outcome; the edge cuts it"
        " off after 30 s in any case"
    ),
    source="retail facts G-17",
)
READ_LAG = Assumption(
    name="retail.read_lag",
    default=0,
    span=True,
    reason=(
        "How long retail reads of orders and positions trail what happened; integrators saw an"
        " order missing for a moment after an asynchronous answer"
    ),
    source="retail facts §0",
)
SYNCHRONOUS_UNTIL = Assumption(
    name="retail.synchronous_until",
    default="first",
    options=("first", "done"),
    reason=(
        "A synchronous order is answered at its first outcome, be it only NEW, as answers within"
        " half a second show; `done` waits until nothing of it works"
    ),
    source="retail facts §5.3",
)
BATCH_SYNCHRONOUS = Assumption(
    name="retail.batch_synchronous",
    default=True,
    reason=(
        "synchronousExecution in an entry of a batch holds the batch's answer for the longest block"
        " time, though that has no executions"
    ),
    source="retail facts §2.1 (not shown)",
)
BAND_REASON = Assumption(
    name="price_band.reject_reason",
    default="by_plane",
    options=("by_plane", "EXCHANGE_OPTION", "PRICE_OUT_OF_BOUNDS"),
    reason=(
        "A price outside the band is EXCHANGE_OPTION on the exchange and PRICE_OUT_OF_BOUNDS on the"
        " retail API"
    ),
    source="rule M5, U6",
)
LOT_STEP_IS_MIN_QTY = Assumption(
    name="lot.step_is_min_qty",
    default=False,
    reason="Above the minimum any scaled integer quantity is accepted, not only its multiples",
    source="rule M4",
)
RETAIL_CHANGE_REJECTS = Assumption(
    name="retail.change_rejects",
    default="told",
    options=("told", "silent"),
    reason=(
        "A failed change or cancel has no frame of its own on the private socket: an execution of"
        " type REJECTED carries its text and the order as it is"
    ),
    source="§7.2, rules M33, M37",
)

ORDER_SESSIONS = Assumption(
    name="orders.session_id",
    default="check",
    options=("check", "cancel_on_end", "ignore"),
    reason=(
        "session_id names an order stream of the order's account, else it is refused;"
        " `cancel_on_end` cancels the order when that stream ends"
    ),
    source="wire 1.4 (not shown)",
)
SESSION_CANCEL_AFTER = Assumption(
    name="orders.session_cancel_after",
    default=0,
    span=True,
    reason=(
        "With `cancel_on_end`: how long after the end of their stream orders bound to it are"
        " canceled"
    ),
    source="wire 1.4 (not shown)",
)
CROSS_ACCOUNTS = Assumption(
    name="orders.cross_accounts",
    default="firm",
    options=("firm", "participant"),
    reason=(
        "The sides of a cross trade on two different accounts of the calling firm; `participant`"
        " allows only the account of x-participant-id, for both"
    ),
    source="wire 1.4 (not shown)",
)
CROSS_PRICE = Assumption(
    name="orders.cross_price",
    default="at_or_inside",
    options=("at_or_inside", "inside", "any"),
    reason=(
        "A cross trades past the book, so its price may not be worse for anybody than the best bid"
        " and offer; `inside` must better both"
    ),
    source="wire 1.4 (not shown)",
)
CROSS_FEE_MODE = Assumption(
    name="orders.cross_fee_mode",
    default="maker_taker",
    options=("maker_taker", "both_taker", "none"),
    reason=(
        "In a cross the side with priority, the first one unless said otherwise, is the maker and"
        " the other the taker"
    ),
    source="wire 1.4 (not shown)",
)

COMBO_PAYOUT = Assumption(
    name="combos.payout",
    default="product",
    options=("product", "all_or_nothing"),
    reason=(
        "A combo pays the product of what its legs pay, so a leg that pays a half halves it;"
        " `all_or_nothing` pays only if every leg pays a dollar"
    ),
    source="retail wire 2.9 (not shown)",
)
COMBO_LEG_PRICES = Assumption(
    name="combos.leg_prices",
    default="market",
    options=("market", "none"),
    reason=(
        "A fill of a combo tells what the market of each leg is worth at that moment, whose product"
        " need not be the combo's price; the first leg is the anchor. `none` tells no legs"
    ),
    source="§2.8 names legPrices, how they are derived is not shown",
)
COMBOS_PER_WEEK = Assumption(
    name="combos.per_week",
    default=1000,
    reason="New combos of one account in seven days, as documented; more are refused with 429",
    source="retail wire 2.9",
)

RFQ_CONFIRM_WITHIN = Assumption(
    name="rfq.confirm_within",
    default=seconds(30),
    span=True,
    reason=(
        "How long the maker of an accepted quote has to confirm it; then the quote is gone and the"
        " request goes on"
    ),
    source="retail wire 2.9 (not shown)",
)
RFQ_EXECUTE_AFTER = Assumption(
    name="rfq.execute_after",
    default=seconds(1),
    span=True,
    reason="How long after its confirmation a quote trades",
    source="retail wire 2.9 (not shown)",
)
RFQ_ACCEPTED_SIDE = Assumption(
    name="rfq.accepted_side",
    default="quote",
    options=("quote", "requester"),
    reason=(
        "acceptedSide is a side of the quote: with SIDE_SELL its selling price is taken;"
        " `requester` reads it as what the one who asked does"
    ),
    source="retail wire 2.9 (not shown)",
)

# ---- money
CLEARING_DELAY = Assumption(
    name="clearing.delay",
    default=seconds(30),
    span=True,
    reason="A trade is CLEARED this long after it was made",
    source="rule M42, U23",
)
LEDGER_COMMISSION = Assumption(
    name="ledger.commission",
    default="combined",
    options=("combined", "separate"),
    reason=(
        "A fill is one ORDER_EXECUTION entry of principal plus commission; `separate` adds a"
        " COMMISSION entry"
    ),
    source="rule P21, U11",
)
BUYING_POWER_NET = Assumption(
    name="balances.buying_power_net",
    default=False,
    reason=(
        "buying_power is gross of open orders, which are reported separately; true subtracts the"
        " largest reservation"
    ),
    source="U10",
)

# ---- funding
FUNDING_STEP = Assumption(
    name="funding.step",
    default=seconds(30),
    span=True,
    reason=(
        "How long a transaction through a funding source stays in each state on its way to"
        " COMPLETED or CANCELLED"
    ),
    source="wire 1.10 (not shown)",
)
FUNDING_POLL = Assumption(
    name="funding.stream_poll",
    default=seconds(15),
    span=True,
    least=seconds(1),
    reason=(
        "The transaction stream looks for changes this often, as documented, and sends nothing when"
        " there are none"
    ),
    source="wire 1.10",
)
FUNDING_TRANSFERS = Assumption(
    name="funding.transfers_shown_as",
    default="transfer",
    options=("transfer", "direction"),
    reason=(
        "Each leg of a partner's transfer is a TRANSFER; `direction` shows DEPOSIT and WITHDRAWAL,"
        " as the balance ledger does"
    ),
    source="wire 1.10 (not shown)",
)
FUNDING_UPDATE = Assumption(
    name="funding.update",
    default="merge",
    options=("merge", "replace"),
    reason=(
        "UpdateFundingAccount has no field mask: fields that are empty stay as they were; `replace`"
        " clears name, sources, destination and aliases"
    ),
    source="wire 1.10 (not shown)",
)
FUNDING_PARTICIPANT_TYPE = Assumption(
    name="funding.participant_account_type",
    default="HOLDING",
    options=("HOLDING", "CLEARING"),
    reason=(
        "A firm's pool is a CLEARING funding account; what a participant's account is called is not"
        " shown"
    ),
    source="wire 1.10 (not shown)",
)
FUNDING_REQUIREMENTS = Assumption(
    name="funding.requirements",
    default=True,
    reason=(
        "An account whose buying power is below zero requires a deposit of what is missing; false"
        " requires nothing ever"
    ),
    source="wire 1.10 (not shown)",
)

# ---- surfaces
MID_PRICE_ROUNDING = Assumption(
    name="book.mid_price_rounding",
    default="down",
    options=("down", "up", "even"),
    reason=(
        "midPrice is a scaled integer, so the mean of two prices an odd number of units apart is"
        " rounded; spread and midPrice are 0 while a side is empty"
    ),
    source="§2.5 (not shown)",
)
DEPTH_ABOVE_MAXIMUM = Assumption(
    name="book.depth_above_maximum",
    default="clamp",
    options=("clamp", "refuse"),
    reason="A depth above 10 is answered with 10 levels rather than an error",
    source="§4.3 (not shown)",
)
DEAD_BOOK = Assumption(
    name="book.pending_and_terminated",
    default="not_found",
    options=("not_found", "empty"),
    reason="PENDING never appears in the book and TERMINATED is removed: both answer 404",
    source="U26",
)
GATEWAY_ORDER_BY = Assumption(
    name="gateway.order_by",
    default="refuse",
    options=("refuse", "ignore"),
    reason=(
        "What a gateway list may be sorted by is published nowhere. Every field of its rows may be"
        " named, those without a figure sort nothing; any other name is 400, because a misspelt one"
        " would otherwise give rows in an order nobody asked for. `ignore` passes it over"
    ),
    source="our choice: §4.1 names no orderBy; retail facts G-5 leave its values open",
)


# ---- credentials
CLIENT_CLOCK = Assumption(
    name="auth.client_clock",
    default="either",
    options=("either", "virtual", "wall"),
    reason=(
        "Assertions and retail timestamps carry the client's clock: they are fresh by virtual now"
        " or by the wall clock, whichever fits"
    ),
    source="design D3",
)

PARTICIPANT_TOKEN_LIFE = Assumption(
    name="participant_token.life",
    default=seconds(180),
    span=True,
    least=seconds(1),
    reason=(
        "How long a participant's token holds when no ttl_seconds is asked for: as long as a firm's"
    ),
    source="wire 1.16 (not shown)",
)
PARTICIPANT_TOKEN_LIFE_MAX = Assumption(
    name="participant_token.life_max",
    default=hours(1),
    span=True,
    least=seconds(1),
    reason="Longest ttl_seconds of a participant's token; more is refused",
    source="wire 1.16 (not shown)",
)
USERS_ONBOARD = Assumption(
    name="users.create_onboards",
    default=False,
    reason=(
        "CreateUser only registers a person, whom KYC makes a participant; true gives a participant"
        " and an empty account at once, unverified"
    ),
    source="wire 1.16 (not shown)",
)

# ---- partners
PARTNER_GAME_IDS = Assumption(
    name="partners.game_ids",
    default="sportradar",
    reason=(
        "The partner key under which an event is found by its gameId or sportradarGameId; other ids"
        " are the scenario's"
    ),
    source="retail wire 2.7 (not shown)",
)
PARTNER_SIDES = Assumption(
    name="partners.mapped_sides",
    default="all",
    options=("all", "moneyline"),
    reason=(
        "mappedMarketSides are the sides of all the event's markets; `moneyline` keeps those that"
        " ask who wins"
    ),
    source="retail wire 2.7 (not shown)",
)

# ---- verification
KYC_OUTCOME_RULES = Assumption(
    name="kyc.outcome_rules",
    default="sandbox",
    options=("sandbox", "approve", "document", "review", "reject"),
    reason=(
        "Outcomes follow the public sandbox triggers (an e-mail, a name, five dates of birth); any"
        " other word forces that outcome"
    ),
    source="rule K5",
)
KYC_PROVISION_DELAY = Assumption(
    name="kyc.provision_delay",
    default=0,
    span=True,
    reason=(
        "From approval to a usable participant; 0s draws it log-uniformly between 500 ms and 26"
        " minutes"
    ),
    source="rule K3, U19",
)
KYC_DOCUMENT_DELAY = Assumption(
    name="kyc.document_delay",
    default=seconds(5),
    span=True,
    reason="How long an uploaded document is looked at before it decides the case",
    source="rule K4 (not shown)",
)
KYC_REVIEW_OUTCOME = Assumption(
    name="kyc.review_outcome",
    default="approve",
    options=("approve", "reject", "hold"),
    reason=(
        "How a manual review ends by itself after its one or two business days; `hold` leaves it to"
        " the control plane"
    ),
    source="rule K4 (not shown)",
)
KYC_SSN_CONFLICT = Assumption(
    name="kyc.ssn_conflict_status",
    default="400",
    options=("400", "409"),
    reason=(
        "HTTP status of an SSN that belongs to somebody else; §7.2 says 400 where the contract"
        " elsewhere says 409"
    ),
    source="rule K6, C6",
)
KYC_PROVISIONING_STATUS = Assumption(
    name="kyc.provisioning_status",
    default="CLOSED",
    options=("CLOSED", "ON_HOLD"),
    reason=(
        "Status text of an approved case that is not provisioned yet: the specification's word, or"
        " the documentation's"
    ),
    source="rule C4",
)
KYC_DOCV_SUB_STATUS = Assumption(
    name="kyc.docv_substatus",
    default="docv_required",
    options=("docv_required", "Document Request Initiated"),
    reason="Sub-status while a document is owed: the specification's word, or the documentation's",
    source="rule C5",
)

KYC_PREFILL_MATCH = Assumption(
    name="kyc.prefill_match",
    default="sandbox",
    options=("sandbox", "always", "never"),
    reason=(
        "Prefill knows the one phone and birthday the documents call a match; nobody else is known,"
        " which the right code tells as no_match"
    ),
    source="wire 2.7 (not shown)",
)
KYC_PREFILL_ATTEMPTS = Assumption(
    name="kyc.prefill_attempts",
    default=3,
    least=1,
    reason="Wrong codes before a new one has to be sent",
    source="wire 2.7 (not shown)",
)
KYC_PREFILL_CODE_LIFE = Assumption(
    name="kyc.prefill_code_life",
    default=minutes(10),
    span=True,
    reason="How long a one-time code is good",
    source="wire 2.7 (not shown)",
)

# ---- webhooks
WEBHOOK_SHAPE = Assumption(
    name="webhook.shape",
    default="spec",
    options=("spec", "docs", "both"),
    reason=(
        "Body keys: the specification's (`type`, top-level `participant_id`), the newer"
        " documentation's (`event_type`, nested `data`), or all of them"
    ),
    source="rule K9, U18, C7",
)
WEBHOOK_ALLOW_PRIVATE = Assumption(
    name="webhook.allow_private",
    default=True,
    reason="Loopback receivers, also without TLS, are allowed: that is what a sandbox is for",
    source="rule K8, design D9",
)
WEBHOOK_TIMEOUT = Assumption(
    name="webhook.timeout",
    default=seconds(5),
    span=True,
    reason="How long an attempt waits for the receiver's answer",
    source="rule K11, U17",
)
WEBHOOK_ATTEMPTS = Assumption(
    name="webhook.attempts",
    default=8,
    reason="Attempts before a delivery is given up",
    source="rule K11, U17",
)
WEBHOOK_RETRY_FIRST = Assumption(
    name="webhook.retry_first",
    default=seconds(1),
    span=True,
    reason="Wait before the second attempt; doubles from there, give or take 20 %",
    source="rule K11, U17",
)
WEBHOOK_RETRY_LONGEST = Assumption(
    name="webhook.retry_longest",
    default=seconds(300),
    span=True,
    reason="Longest wait between two attempts, before jitter",
    source="rule K11, U17",
)
WEBHOOK_BREAKER_THRESHOLD = Assumption(
    name="webhook.breaker_threshold",
    default=5,
    reason="Failed attempts in a row that open a firm's circuit breaker",
    source="rule K12, U17",
)
WEBHOOK_BREAKER_COOLDOWN = Assumption(
    name="webhook.breaker_cooldown",
    default=seconds(60),
    span=True,
    reason="First pause of an open breaker; doubles at each re-opening",
    source="rule K12, U17",
)
WEBHOOK_BREAKER_LONGEST = Assumption(
    name="webhook.breaker_longest",
    default=seconds(3600),
    span=True,
    reason="Longest pause of an open breaker",
    source="rule K12, U17",
)
WEBHOOK_BREAKER_BUFFERS = Assumption(
    name="webhook.breaker_buffers",
    default=False,
    reason=(
        "Events raised while the breaker is open are lost, and recovered by polling (§6.1.4); true"
        " keeps them for later"
    ),
    source="rule K12, C8",
)

# ---- limits and windows
EXTRA_LIMITS = Assumption(
    name="limits.extra",
    default=False,
    reason=(
        "Published limits beyond the specification's table (order entry, books, ledgers, cash"
        " movements) are not enforced"
    ),
    source="rule R1",
)
CANCEL_LEAD = Assumption(
    name="maintenance.cancel_lead",
    default=seconds(60),
    span=True,
    reason="Open orders are canceled and instruments suspended this long before a window begins",
    source="rule W2, U24",
)
MAINTENANCE_HOURS = Assumption(
    name="maintenance.windows",
    default="spec",
    options=("spec", "docs"),
    reason=(
        "The specification's weekly hours; `docs` goes back to 06:00-08:00 Eastern from 2026-09-24"
        " as newer documentation says"
    ),
    source="rule W1, C9",
)

# ---- trading
FEES_TAKER = Assumption(
    name="fees.taker_theta",
    default=-1,
    least=-1,
    reason=(
        "Taker theta in ten-thousandths (695 is 0.0695) for every date and class; -1 follows the"
        " dated schedule, which no endpoint publishes"
    ),
    source="rule P13",
)
FEES_MAKER = Assumption(
    name="fees.maker_theta",
    default=-1,
    least=-1,
    reason=(
        "Maker rebate theta in ten-thousandths (125 is 0.0125) for every date and class; -1 follows"
        " the dated schedule"
    ),
    source="rule P13",
)
INCENTIVES_SCORED = Assumption(
    name="incentives.scored",
    default=True,
    reason=(
        "Programs reward what quotes and takers did, scored by the published formula; false leaves"
        " only the rewards that a scenario tells"
    ),
    source="retail facts §6.3",
)
INCENTIVES_SPLIT = Assumption(
    name="incentives.split",
    default="by_score",
    options=("by_score", "by_second"),
    reason=(
        "A day's part of a liquidity pool goes to those who scored; with `by_second` every second"
        " and side is worth the same, and lost if nobody scores"
    ),
    source="retail facts §6.3 (not shown)",
)
INCENTIVES_TARGET = Assumption(
    name="incentives.target_qualifies",
    default=True,
    reason=(
        "A side of the book below targetSize scores nothing, which §2.3 calls the minimum book size"
        " to qualify; false scores as much of it as there is"
    ),
    source="§2.3, retail facts §6.3",
)
INCENTIVES_MINIMUM = Assumption(
    name="incentives.minimum_payout",
    default=100,
    reason="Cents below which a market's reward of a date is SKIPPED",
    source="retail facts §6.3, U28",
)
INCENTIVES_PAY_AFTER = Assumption(
    name="incentives.pay_after",
    default=hours(12),
    span=True,
    reason=(
        "How long after its Eastern date a scored reward is paid: the next day; the documents speak"
        " of up to seven business days"
    ),
    source="U28, retail facts §6.3",
)
DAY_ROLL_EXPIRES = Assumption(
    name="day_roll.expire_day_orders",
    default="auto",
    options=("auto", "always", "never"),
    reason=(
        "DAY orders expire at the 17:00 Eastern roll before 2026-09-13 and no longer from then on"
    ),
    source="rule L12, U4",
)
AUCTION_FEE_MODE = Assumption(
    name="auction.fee_mode",
    default="maker_taker",
    options=("maker_taker", "both_taker", "none"),
    reason="In an auction trade the earlier order pays as maker and the later as taker",
    source="rule L19",
)
STRICT_LIMIT_MODE = Assumption(
    name="strict_limit.mode",
    default="rest",
    options=("rest", "expire"),
    reason=(
        "A strict limit that could only trade at a better price trades nothing and rests; `expire`"
        " takes it out, so a book never looks crossed"
    ),
    source="rule M22, U7",
)
CASH_QTY_LIMIT = Assumption(
    name="cash_qty.allow_limit",
    default=True,
    reason="A cash quantity is taken with LIMIT orders too, as the partner call does",
    source="rule M24",
)
REQUIRE_REFERENCE_PRICE = Assumption(
    name="risk.require_reference_price",
    default=False,
    reason=(
        "The best opposite price is reference enough for a market-to-limit order; true refuses it"
        " where nothing has traded or settled"
    ),
    source="rule M11",
)
AUCTION_TIEBREAK = Assumption(
    name="auction.tiebreak",
    default="reference",
    options=("reference", "lowest", "highest"),
    reason=(
        "Where volume and surplus leave several auction prices, the nearest to the reference price"
        " is taken; or the lowest, or the highest"
    ),
    source="rule L17, U1",
)
TAKER_REBATES = Assumption(
    name="fees.taker_rebates",
    default=True,
    reason=(
        "At the Eastern midnight that ends a Sunday 10, 25 or 50 % of the week's taker fees are"
        " paid back to accounts that traded 250,000, 1 or 10 million dollars in the calendar month"
        " before; false pays none"
    ),
    source="rule P16",
)
AUTO_CANCEL_ORDER = Assumption(
    name="risk.auto_cancel_order",
    default="newest_first",
    options=("newest_first", "oldest_first"),
    reason=(
        "In which order of time the open orders of an instrument are canceled that can no longer be"
        " paid for"
    ),
    source="rule P5, U9",
)
COLLATERAL_RETURN = Assumption(
    name="collateral_return.enabled",
    default=False,
    reason=(
        "Margin of related shorts is given back only to accounts that have the switch; true gives"
        " it to every account opened from then on"
    ),
    source="rule P8",
)
SETTLEMENT_AUTO_EXPIRE = Assumption(
    name="settlement.auto_expire",
    default=False,
    reason=(
        "A final settlement leaves the instrument CLOSED until its expiration; true expires it at"
        " once"
    ),
    source="rule L25",
)
GAMES_ARE_PLAYED = Assumption(
    name="games.played",
    default=True,
    reason=(
        "Games of the default world go live at their start, are scored by the clock up to the"
        " planned result and close their markets when they end; `false` shows nothing until their"
        " markets have expired, and settles them when these are terminated"
    ),
    source="our choice: §2.11 names live, ended, score and period, and nothing that moves them",
)
UNRESOLVED_SETTLES_AT = Assumption(
    name="settlement.unresolved_at_termination",
    default="last_price",
    options=("last_price", "zero"),
    reason=(
        "Termination closes positions (§3.1); where no outcome is known they are paid at the last"
        " traded price, the last fair one"
    ),
    source="§3.1, rule L26",
)
WINDOW_TIE = Assumption(
    name="windows.tie",
    default="up",
    options=("up", "down", "half"),
    reason=(
        "An automated crypto window whose index ends exactly where it began pays Up; `half` pays"
        " both sides 0.50 as for no result"
    ),
    source="rule L7, §2.10 (not shown)",
)

ASSERTION_LIFE_MAX = Assumption(
    name="token.assertion_life_max",
    default=hours(1),
    span=True,
    reason=(
        "The reference client signs for 4 minutes, no maximum is stated, and stock OAuth clients"
        " sign for an hour; public docs say 5 minutes (set 5m)"
    ),
    source="§5.1 item 2, rule E3",
)
TOKEN_CLIENT_ID_REQUIRED = Assumption(
    name="token.client_id_required",
    default=False,
    reason=(
        "The assertion already names the client, and stock private_key_jwt clients leave the"
        " client_id field out (RFC 7523); one that is sent must match"
    ),
    source="§5.1 item 3",
)


# ---- engine
ENGINE_LATENCY = Assumption(
    name="engine.latency",
    default=0,
    span=True,
    reason=(
        "Time between the receipt of an order, change or cancel and its processing; above 5 s"
        " retail orders and changes are rejected (§7.2)"
    ),
    source="rules M36, M37",
)

# ---- streams
STREAM_HEARTBEAT = Assumption(
    name="stream.heartbeat",
    default=seconds(30),
    span=True,
    reason=(
        "Every stream gives a sign of life this often; clients call 75 s to 180 s of silence dead."
        " 0s: none, and the edge ends idle streams"
    ),
    source="rule S5, U13",
)
IDLE_TIMEOUT = Assumption(
    name="edge.idle_timeout",
    default=minutes(10),
    span=True,
    least=seconds(1),
    reason=(
        "The load balancer ends a stream on which nothing was sent for so long; with the default"
        " heartbeat that never happens"
    ),
    source="§8, rule S13",
)
BIDI_IDLE_TIMEOUT = Assumption(
    name="edge.bidi_idle_timeout",
    default=hours(1),
    span=True,
    least=seconds(1),
    reason=(
        "A bidirectional stream without a client frame ends after so long; keepalive prevents it"
    ),
    source="§8, rule S13",
)
MARKET_DATA_REFRESH = Assumption(
    name="md.refresh",
    default=seconds(60),
    span=True,
    least=seconds(1),
    reason="Books that did not change are sent again after so long",
    source="rule S9",
)
MARKET_DATA_REFRESH_ALL = Assumption(
    name="md.refresh_everything",
    default=True,
    reason=(
        "A stream of every instrument gets unchanged books again too, as rule S9 has it; `false`"
        " spares it thousands a minute: it hears of a book when that changes, and only streams that"
        " named a book get it again"
    ),
    source="rule S9, which does not tell streams apart",
)
RETAIL_DEBOUNCE = Assumption(
    name="retail.debounce",
    default=250_000_000,
    span=True,
    reason=(
        "Updates that a WebSocket client allows to be merged are sent so long after the first of"
        " them; the period is unpublished"
    ),
    source="rule S16",
)
RETAIL_SOCKETS = Assumption(
    name="retail.sockets_per_key",
    default=5,
    least=1,
    reason=(
        "Open WebSockets of one key, both kinds together, while `limits.extra` is on: an"
        " independent client met this, §8 does not list it"
    ),
    source="§8, retail wire 4",
)
POSITION_CHANGE_SNAPSHOT = Assumption(
    name="stream.position_change_snapshot",
    default=False,
    reason=(
        "A position change stream opened without a resume field starts with what happens next; true"
        " sends the positions held first"
    ),
    source="§6.2, conflict C2",
)
MAINTENANCE_STREAM_END = Assumption(
    name="maintenance.stream_end",
    default="unavailable",
    options=("unavailable", "ok"),
    reason=(
        "Streams end with UNAVAILABLE when maintenance begins; `ok` closes them as if all was said"
    ),
    source="rule W5, U24",
)
RESUME_TOKEN_TTL = Assumption(
    name="stream.resume_token_ttl",
    default=hours(24 * 7),
    span=True,
    reason="A resume token older than this starts nothing: executions are kept as long",
    source="rule S3, U15",
)
STREAM_BUFFER_MESSAGES = Assumption(
    name="stream.buffer_messages",
    default=10_000,
    least=1,
    reason=(
        "A reader with more messages than this waiting is a slow consumer: its stream ends with"
        " code 8, or skips them where it asked for that"
    ),
    source="rule S12, U16",
)
REVOCATION_SCOPE = Assumption(
    name="stream.revocation_scope",
    default="rpc",
    options=("rpc", "identity"),
    reason=(
        "A subscription takes the session of another of the same identity and rpc; `identity` lets"
        " any account-scoped stream take it"
    ),
    source="rule S6, U14",
)

SYMBOLS_SPARE = Assumption(
    name="stream.symbols_spare",
    default="order_stream",
    options=("order_stream", "all"),
    reason=(
        "An explicit market list keeps CreateOrderSubscription out of sessions, for which alone"
        " §6.2 says so; `all` spares every stream that takes a list"
    ),
    source="§6.2, rule S6, U14",
)

USERS_REQUIRE_PARTICIPANT = Assumption(
    name="users.require_participant",
    default=False,
    reason=(
        "GET /v1/users needs a scope only (§4.3), else nobody learns the first participant; the"
        " documentation also asks for x-participant-id"
    ),
    source="§4.3, U27",
)
MINUTE_LIMITS = Assumption(
    name="limits.per_minute",
    default="bucket",
    options=("bucket", "sliding"),
    reason=(
        "A limit of N a minute is a bucket of N that refills steadily; `sliding` counts the calls"
        " of the last 60 seconds"
    ),
    source="rule R2, U20",
)
ENDPOINT_TEXT = Assumption(
    name="limits.endpoint_text",
    default="rate limit exceeded: method={method} rung={rung}, retry after {wait}",
    reason=(
        "What a limit of one method says: §7.2 asks for the method, the rung and the wait, and"
        " shows no text"
    ),
    source="§7.2, rule R5, U21",
)
RETAIL_CLOSED_NAME = Assumption(
    name="retail.closed_state_name",
    default="MARKET_STATE_CLOSED",
    options=("MARKET_STATE_CLOSED", "MARKET_STATE_SUSPENDED", "MARKET_STATE_EXPIRED"),
    reason=(
        "A closed market is MARKET_STATE_CLOSED on the retail API, though its published enumeration"
        " lacks the name: clients need a safe unknown branch (§9)"
    ),
    source="rule L15",
)
RETAIL_POSITIONS_PAGING = Assumption(
    name="retail.positions_paging",
    default=True,
    reason=(
        "Retail positions come in pages of a hundred with nextCursor and eof; false answers all of"
        " them at once, as before paging was enabled"
    ),
    source="rule R14",
)

# ---- reports
REVERSED_WINDOW = Assumption(
    name="report.reversed_window",
    default="refuse",
    options=("refuse", "empty"),
    reason=(
        "A search or ledger query whose end lies before its start is a bad combination (400);"
        " `empty` finds nothing instead"
    ),
    source="§7.1 (not shown for windows)",
)
STATS_KEPT = Assumption(
    name="retention.trade_stats",
    default="trades",
    options=("trades", "market_data"),
    reason=(
        "Trade statistics are sums over trades, which are kept; `market_data` counts them as market"
        " data, which is kept for 45 days (§8)"
    ),
    source="§8, rule R10",
)
WIPE_DATES = Assumption(
    name="retention.wipe_dates",
    default="none",
    options=("none", "announced"),
    reason=(
        "Executions are kept for their days (§8); `announced` also wipes all of them in the windows"
        " of 2026-08-27, 09-01 and 09-02, as was once announced"
    ),
    source="rule R10",
)
STATS_REQUIRE_PARTICIPANT = Assumption(
    name="report.stats_requires_participant",
    default=False,
    reason=(
        "Trade statistics need no x-participant-id, yet some environments answer code 7 without it"
    ),
    source="§4.3, rule R11",
)
STATS_BARS = Assumption(
    name="report.bars",
    default="slices",
    options=("slices", "edges"),
    reason=(
        "`bars` is the number of equal slices; the document's own example (6 bars over 14 days give"
        " 2.8-day buckets) counts their edges"
    ),
    source="§4.3, design §3 (b)",
)


def catalogue() -> dict[str, Assumption]:
    """Every assumption by name, in the order of this file."""
    return {value.name: value for value in globals().values() if isinstance(value, Assumption)}


class Assumptions:
    """The values in force."""

    __slots__ = ("_catalogue", "_values")

    def __init__(self) -> None:
        self._catalogue = catalogue()
        self._values: dict[str, Value] = {
            name: assumption.default for name, assumption in self._catalogue.items()
        }

    def text(self, assumption: Assumption) -> str:
        """Value of a word-valued assumption."""
        value = self._values[assumption.name]
        if not isinstance(value, str):
            raise TypeError(f"{assumption.name} is no word")
        return value

    def number(self, assumption: Assumption) -> int:
        """Value of an integer or span assumption (nanoseconds)."""
        value = self._values[assumption.name]
        if not isinstance(value, int):
            raise TypeError(f"{assumption.name} is no number")
        return value

    def flag(self, assumption: Assumption) -> bool:
        """Value of a yes-or-no assumption."""
        return self._values[assumption.name] is True

    def change(self, name: str, given: object) -> Assumption:
        """Set a value by name. KeyError names the nearest; ValueError says what is accepted."""
        assumption = self._catalogue.get(name)
        if assumption is None:
            raise KeyError(unknown_name("assumption", name, self._catalogue))
        self._values[name] = assumption.parse(given)
        return assumption

    def shown(self, name: str) -> Value:
        """Value of a named assumption as people write it."""
        return self._catalogue[name].show(self._values[name])

    def save(self) -> dict[str, Value]:
        """Values by name."""
        return self._values

    def load(self, state: dict[str, Value]) -> None:
        """Take saved values."""
        self._values = dict(state)


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Message for a name that is in no catalogue, with the nearest one that is."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"unknown {what} {name!r}" + (f", did you mean {near[0]!r}?" if near else "")
