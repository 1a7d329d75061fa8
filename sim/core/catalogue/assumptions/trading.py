"""Assumptions about orders, auctions, cross trades, combos and requests for quotes."""

from sim.core.catalogue.assumption import choice, flag, number, span

EXCHANGE_REJECTS = choice("orders.sync_reject", "spec", "async", source="rule M7").because(
    "Exchange order entry answers business rejects at once (409, 422), as §7.1 says. `async` "
    "answers 200 and sends a REJECTED execution, as integrators report."
)
ORDER_PARENT = choice(
    "orders.parent",
    "none",
    "list",
    source="our choice: the public contract has the field, and nothing that sets it",
).because(
    "No request can name a parent order, so no order has one, and a search by parent_order_id "
    "finds none. `list` makes the orders of a list call children of its first order, so that a "
    "client can try its parent_order_id."
)
BAND_REASON = choice(
    "price_band.reject_reason",
    "by_plane",
    "EXCHANGE_OPTION",
    "PRICE_OUT_OF_BOUNDS",
    source="rule M5",
).because(
    "A price outside the band is rejected with EXCHANGE_OPTION on the exchange API and with "
    "PRICE_OUT_OF_BOUNDS on the retail API."
)
LOT_STEP_IS_MIN_QTY = flag("lot.step_is_min_qty", False, source="rule M4").because(
    "Above the minimum, every scaled integer quantity is accepted. `true` accepts only multiples "
    "of the minimum."
)
ORDER_SESSIONS = choice("orders.session_id", "check", "cancel_on_end", "ignore").because(
    "session_id must name an order stream of the order's account, or the order is refused. "
    "`cancel_on_end` also cancels the order when that stream ends."
)
SESSION_CANCEL_AFTER = span("orders.session_cancel_after", "0s").because(
    "With `cancel_on_end`, orders are canceled this long after their stream has ended."
)
CASH_QTY_LIMIT = flag("cash_qty.allow_limit", True, source="rule M24").because(
    "A cash quantity is accepted with LIMIT orders too, because the partner call sends it so."
)
STRICT_LIMIT_MODE = choice("strict_limit.mode", "rest", "expire", source="rule M22").because(
    "A strict limit that could only trade at a better price does not trade and rests. `expire` "
    "removes it, so that a book never looks crossed."
)
REQUIRE_REFERENCE_PRICE = flag("risk.require_reference_price", False, source="rule M11").because(
    "A market-to-limit order takes the best opposite price as its reference. `true` refuses it "
    "where nothing has traded or settled yet."
)
AUTO_CANCEL_ORDER = choice(
    "risk.auto_cancel_order", "newest_first", "oldest_first", source="rule P5"
).because(
    "Open orders of an instrument that an account can no longer pay for are canceled in this order "
    "of time."
)
AUCTION_TIEBREAK = choice(
    "auction.tiebreak", "reference", "lowest", "highest", source="rule L17"
).because(
    "Where volume and surplus leave several auction prices, the auction takes the one nearest to "
    "the reference price. The other values take the lowest or the highest."
)
AUCTION_FEE_MODE = choice(
    "auction.fee_mode", "maker_taker", "both_taker", "none", source="rule L19"
).because("In an auction trade, the earlier order pays as maker and the later one as taker.")
CROSS_ACCOUNTS = choice("orders.cross_accounts", "firm", "participant").because(
    "The two sides of a cross trade on different accounts of the calling firm. `participant` "
    "allows only the account of x-participant-id, for both sides."
)
CROSS_PRICE = choice("orders.cross_price", "at_or_inside", "inside", "any").because(
    "A cross trades without the book, so its price may not be worse for anybody than the best bid "
    "and offer. `inside` must improve on both."
)
CROSS_FEE_MODE = choice("orders.cross_fee_mode", "maker_taker", "both_taker", "none").because(
    "In a cross, the side with priority (the first one unless the call says otherwise) pays as "
    "maker and the other as taker."
)
COMBO_PAYOUT = choice("combos.payout", "product", "all_or_nothing").because(
    "A combo pays the product of what its legs pay, so a leg that pays a half halves the combo. "
    "`all_or_nothing` pays only if every leg pays a dollar."
)
COMBO_LEG_PRICES = choice(
    "combos.leg_prices",
    "market",
    "none",
    source="§2.8 names legPrices, but not how they are derived",
).because(
    "A fill of a combo reports the market price of each leg at that moment; their product need "
    "not equal the combo's price. The first leg is the anchor. `none` reports no legs."
)
COMBOS_PER_WEEK = number("combos.per_week", 1000, source="public API reference").because(
    "A participant may create this many new combos in a week that begins on Monday at 00:00 UTC, "
    "as documented. More are refused with 429; a request for an existing combo does not count."
)
COMBO_LEGS = number("combos.legs_most", 10, least=2, source="public API reference").because(
    "A combo has 2 to 10 legs according to the guide and the published schemas of both hosts; an "
    "older schema of the exchange allowed 50."
)
RFQ_CONFIRM_WITHIN = span("rfq.confirm_within", "3s", source="public guide to combos").because(
    "The maker of an accepted quote has this long to confirm or decline it (last look). After "
    "that the quote is deleted, while the request stays closed."
)
RFQ_EXECUTE_AFTER = span("rfq.execute_after", "1s", source="public guide to combos").because(
    "The two orders of a confirmed quote enter the book this long after its confirmation."
)
RFQ_PAIR_WINDOW = span("rfq.pair_window", "1s", least="1ms").because(
    "The rest of a maker's order expires this long after the two orders were entered, unless the "
    "quote has restRemainder. The documentation gives no time."
)
RFQ_LEFT_QUOTES = choice("rfq.left_quotes", "kept", "deleted").because(
    "When a request closes, quotes that were not accepted stay ACTIVE, although nobody can accept "
    "them any more: DELETED means that the maker deleted a quote. `deleted` deletes them."
)
CLEARING_DELAY = span("clearing.delay", "30s", source="rule M42").because(
    "A trade becomes CLEARED this long after it was made."
)
ENGINE_LATENCY = span("engine.latency", "0s", source="rules M36, M37").because(
    "The engine processes an order, a change or a cancel this long after it was received. Above 5 "
    "s, retail orders and changes are rejected (§7.2)."
)
