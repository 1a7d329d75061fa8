"""The bounds of the state: the limits of quantities, sums, counts and names, in one table.

The exchange could compute with values beyond a bound, because its integers are unlimited, but it
could not report them: the contract has 64 bits for a number. So a bound is checked where a value
enters (a scenario, a call, a control call), and a value beyond it is refused there. Everything
derived then fits: sums have bounds of their own, which leave room for more than one input can add.

The sums, in units of which an int64 holds 9.22 x 10^18:

* Accounts together hold at most `MONEY`, 4 x 10^18 units of cash. This is checked when money comes
in. Without money from outside, only rebates of maker fees add to it, and these have a bound, too
(`REBATES`). A correction may leave one account in debt and another with the money, so the sum
includes all debts. * Money received less money paid out, the balance of house accounts, is between
-`MONEY` and `MONEY`. * At most `CONTRACTS` trade in one instrument. A contract costs at most a
dollar, so volume, notional, profit and fees of an instrument fit at every scale (price_scale x
qty_scale divides 10^8). Orders that rest when the bound is reached can add what their money buys:
`MONEY` again.

Limits that the specification states (§8) are not here: they are rules of the service.
"""

from __future__ import annotations

from typing import NamedTuple


class OutOfBounds(ValueError):
    """A value beyond its bound. The message names the bound and the accepted values."""


class Bound(NamedTuple):
    """A bound: values from `low` to `high` of a unit are accepted, for a reason."""

    name: str
    low: int
    high: int
    unit: str
    where: str
    reason: str

    def check(self, value: int, scale: int = 1) -> int:
        """Return the value, in units of 1/scale. Raises OutOfBounds if it is outside."""
        if self.low * scale <= value <= self.high * scale:
            return value
        raise OutOfBounds(self.text())

    def text(self) -> str:
        """Describe the accepted values."""
        return f"{self.name}: from {self.low} to {self.high} {self.unit}".rstrip()


MONEY = Bound(
    "money",
    0,
    40_000_000_000,
    "dollars",
    "the sum of all accounts; money paid in less money paid out",
    "a 64-bit number of 10^-8 dollars holds 92 billion",
)
REBATES = Bound(
    "rebates",
    0,
    10_000_000_000,
    "dollars",
    "maker rebates and rewards paid, less fees taken",
    "with all money they still fit in 64 bits",
)
ORDER_QUANTITY = Bound(
    "order quantity",
    0,
    1_000_000_000_000,
    "units",
    "quantity and minimum quantity of an order; quantity of a request for quotes",
    "with every price and scale the notional fits in 64 bits",
)
CONTRACTS = Bound(
    "contracts traded",
    0,
    40_000_000_000,
    "contracts",
    "traded in one instrument since it was listed",
    "volume, notional and profit fit in 64 bits at every scale",
)
INDEX_PRICE = Bound(
    "index price", 0, 1_000_000_000, "dollars", "a tick of an asset", "a price has 64 bits"
)
GAMES = Bound(
    "games",
    0,
    20_000,
    "games",
    "`world.games`",
    "eight times the real season; each has rows in the indexes of the lists",
)
LIMIT_CALLS = Bound(
    "calls of a limit", 1, 1_000_000, "calls", "`limits`, raised limits", "`off` is without limit"
)
LIMIT_PERIOD = Bound(
    "period of a limit",
    1,
    86_400_000,
    "milliseconds",
    "`limits`",
    "Retry-After counts seconds, and clients wait for it",
)
COUNT = Bound(
    "count",
    0,
    1_000_000_000,
    "",
    "numbers of faults, scores, minutes, sizes, statuses; assumptions that are integers",
    "the contract has 32 bits for them",
)
SPAN_DAYS = Bound(
    "duration",
    0,
    76_701,
    "days",
    "every duration",
    "from the first to the last day of the calendar, 1990 to 2199",
)
ODDS = Bound("odds", 0, 999_999_999, "", "either number of a chance", "nine digits are read")
YEAR = Bound(
    "year",
    1000,
    9000,
    "",
    "dates of instruments, events, assets, programs, rewards and maintenance",
    "further dates follow from these, and the contract has none beyond 9999",
)
SEED = Bound(
    "seed",
    0,
    2**63 - 1,
    "",
    "`seed` of scenarios and control calls, `--seed`, `--seeds`",
    "journals and answers hold it as a 64-bit number",
)
NAME = Bound(
    "name",
    1,
    200,
    "characters",
    "names of scenarios, firms, users, accounts, API keys and funding sources",
    "they stand in headers, paths, file names and reports",
)
BOUNDS = (
    MONEY,
    REBATES,
    ORDER_QUANTITY,
    CONTRACTS,
    INDEX_PRICE,
    GAMES,
    LIMIT_CALLS,
    LIMIT_PERIOD,
    COUNT,
    SPAN_DAYS,
    ODDS,
    YEAR,
    SEED,
    NAME,
)
