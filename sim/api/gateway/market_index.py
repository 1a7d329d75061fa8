"""The incremental market index: what lists filter and sort by and what trading, games and the clock
change, kept for every place of the catalogue.

**What is kept.** Each `Column` (`market_columns.py`) holds one aspect of every market and,
aggregated, of every event: states, last changes, trades, resting orders, how games stand. A column
is made when a list first asks for it. Then most markets are dormant, and all dormant markets of an
event are alike: their state and last change follow from the event's dates, and nothing was traded
on them. So making a column takes one look at each event and one at each market that is not dormant.

**When it is refreshed.** A column that is asked for first catches up, and costs what has happened
since it was last asked for, not what there is:

- `Books` keeps the order in which symbols and events last changed. Markets that changed are looked
  at again (`refresh`), then events of which a market is not what it was (`aggregate`), then events
  of whose games somebody reported something (`on_events`).
- The passing of time changes some things of which nothing is reported: a game goes on or ends by
  itself, a trade is older than a day (`time_passed`). Only games that began and whose markets had
  not expired can be concerned, and a heap knows when trades leave a window of time.
- Recurring markets are looked at again whenever others are listed, and at their dated edges.
- Maintenance suspends or opens every dormant market at once. States allow for it when they are
  read; last changes are made anew.

**Why this equals a naive list.** Looking at a market or an event computes what its view shows
(`live_views.py`) by the same functions. So a column is right after it was made, and stays right if
whatever changes one of those values causes another look: values depend on the book, the trades, the
state and the settlement of the market (each change of which `Books` notes), on reports of the game
(noted too), and on now (the second and third case above). `tests/api/test_gateway_lists.py` lets
arbitrary things happen and compares lists with looking at everything.

After a journey in time, and once something was listed by hand, the index is made anew.
"""

from __future__ import annotations

from typing import TypeVar

from sim.api.gateway.market_columns import Column
from sim.core.exchange import Exchange
from sim.kernel.instants import DAY, Instant

C = TypeVar("C", bound=Column)


class MarketIndex:
    """The catalogue of an exchange with its columns, each up to date when it is asked for."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.reference = exchange.reference
        self.loaded = exchange.trading.books.loaded
        self.catalogue = self.reference.catalogue(exchange.recurring.most_listed())
        self._columns: dict[type[Column], Column] = {}
        self._due: Instant = 0  # when recurring markets next change by themselves
        self._recurring = 0  # how often they have
        self.follow_recurring()

    def follow_recurring(self) -> None:
        """Show the recurring markets that are listed now."""
        exchange = self.exchange
        slots = list(exchange.recurring.listed_slots())
        followed = exchange.trading.lifecycle.followed_to
        if self.catalogue.show_recurring(slots) or followed >= self._due:
            self._recurring += 1
            edges = (at for slot in slots for at in exchange.recurring.edges(slot))
            self._due = min((at for at in edges if at > followed), default=followed + DAY)

    def of(self, kind: type[C]) -> C:
        """Return a column, up to date."""
        column = self._columns.get(kind)
        if not isinstance(column, kind) or column.outdated:
            column = self._columns[kind] = kind(self.exchange, self.catalogue)
        column.catch_up(self._recurring)
        return column


def market_index(exchange: Exchange) -> MarketIndex:
    """Return the index of an exchange; a new one after a journey in time or a listing by hand."""
    table = exchange.answer_caches.setdefault(MarketIndex, {})
    index: MarketIndex | None = table.get("")
    if index is not None and index.loaded == exchange.trading.books.loaded:
        if index.reference is exchange.reference:
            index.follow_recurring()
            return index
    index = table[""] = MarketIndex(exchange)
    return index
