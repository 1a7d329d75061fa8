"""Assumptions about fees, margin, balances, incentive programs and funding."""

from sim.core.catalogue.assumption import choice, flag, number, span

LEDGER_COMMISSION = choice("ledger.commission", "combined", "separate", source="rule P21").because(
    "A fill is one ORDER_EXECUTION entry of principal plus commission. `separate` adds a "
    "COMMISSION entry."
)
BUYING_POWER_NET = flag("balances.buying_power_net", False).because(
    "buying_power does not count open orders, which are reported separately. `true` subtracts the "
    "largest reservation."
)
COLLATERAL_RETURN = flag("collateral_return.enabled", False, source="rule P8").because(
    "Margin of related short positions is returned only to accounts that have the switch. `true` "
    "gives the switch to every account opened from then on."
)
FEES_TAKER = number("fees.taker_theta", -1, least=-1, source="rule P13").because(
    "Theta of takers in ten-thousandths (695 is 0.0695) for every date and class. -1 follows the "
    "dated schedule, which no endpoint publishes."
)
FEES_MAKER = number("fees.maker_theta", -1, least=-1, source="rule P13").because(
    "Theta of maker rebates in ten-thousandths (125 is 0.0125) for every date and class. -1 "
    "follows the dated schedule."
)
TAKER_REBATES = flag("fees.taker_rebates", True, source="rule P16").because(
    "At the Eastern midnight that ends a Sunday, accounts get back 10, 25 or 50 % of the week's "
    "taker fees if they traded 250,000, 1 million or 10 million dollars in the calendar month "
    "before. `false` pays none."
)
INCENTIVES_SCORED = flag("incentives.scored", True, source="public API reference").because(
    "Programs reward quotes and takers by the published formula. `false` leaves only the rewards "
    "that a scenario lists."
)
INCENTIVES_SPLIT = choice("incentives.split", "by_score", "by_second").because(
    "A day's part of a liquidity pool is shared by those who scored. With `by_second`, every "
    "second and side is worth the same amount, which nobody gets if nobody scores."
)
INCENTIVES_TARGET = flag("incentives.target_qualifies", True, source="§2.3").because(
    "A side of the book below targetSize scores nothing, because §2.3 calls it the minimum book "
    "size to qualify. `false` scores the size that is there."
)
INCENTIVES_MINIMUM = number(
    "incentives.minimum_payout", 100, source="public API reference"
).because("A market's reward of a date is SKIPPED if it is below this many cents.")
INCENTIVES_PAY_AFTER = span("incentives.pay_after", "12h", source="public API reference").because(
    "A scored reward is paid this long after its Eastern date has ended, that is at noon of the "
    "next day, or an hour earlier or later where clocks change in between. The documents speak of "
    "up to seven business days."
)
FUNDING_STEP = span("funding.step", "30s").because(
    "A transaction through a funding source stays this long in each state on its way to COMPLETED "
    "or CANCELLED."
)
FUNDING_POLL = span(
    "funding.stream_poll", "15s", least="1s", source="public API reference"
).because(
    "The stream of transactions looks for changes this often, as documented, and sends nothing "
    "when there are none."
)
FUNDING_TRANSFERS = choice("funding.transfers_shown_as", "transfer", "direction").because(
    "Each leg of a partner's transfer is a TRANSFER. `direction` shows DEPOSIT and WITHDRAWAL, as "
    "the balance ledger does."
)
FUNDING_UPDATE = choice("funding.update", "merge", "replace").because(
    "UpdateFundingAccount has no field mask, so empty fields keep their values. `replace` clears "
    "name, sources, destination and aliases."
)
FUNDING_PARTICIPANT_TYPE = choice(
    "funding.participant_account_type", "HOLDING", "CLEARING"
).because("A firm's pool is a CLEARING funding account. A participant's account has this type.")
FUNDING_REQUIREMENTS = flag("funding.requirements", True).because(
    "An account with a buying power below zero requires a deposit of the missing amount. `false` "
    "never requires one."
)
