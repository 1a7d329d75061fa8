"""What an unsettled market pays: by its index, by the reports of its game, or by the world's plan.

A market on an index settles by itself some time after its end, traded or not, and a terminated
market always has a settlement, recorded or not. Settlements that pay somebody are recorded
when they happen (`settlement.py`). The others follow from dates, index and plan, and are
computed on demand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sim.core.catalogue.assumptions import (
    SETTLEMENT_DELAY,
    SETTLEMENT_PRELIMINARY,
    UNRESOLVED_SETTLES_AT,
    WINDOW_TIE,
)
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.settlement import Settlement
from sim.core.lifecycle.states import OVER_STATES
from sim.core.market_data.assets import Assets
from sim.core.market_data.statistics import Statistics
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState
from sim.core.model.index_conditions import IndexCondition, IndexObservation, Tie, outcome
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.quantities import Price
from sim.kernel.instants import NS_PER_S, Instant, Span

PlannedWorth = Callable[[Instrument], tuple[Fraction, str] | None]


@dataclass(slots=True, eq=False)
class Resolution:
    """Computes settlements and outcomes that nobody recorded.

    `planned_worth` returns what a market of the world pays, in dollars and in words; None if the
    world has no plan for it.
    """

    ctx: Context
    instruments: Instruments
    lifecycle: Lifecycle
    statistics: Statistics
    assets: Assets
    planned_worth: PlannedWorth

    def by_itself(self, symbol: str) -> Settlement | None:
        """Return the settlement of a symbol without a record; None if it has not settled yet."""
        lifecycle = self.lifecycle
        materialised = lifecycle.is_materialised(symbol)
        if materialised and lifecycle.state(symbol) is not InstrumentState.TERMINATED:
            return None
        instrument = self.instruments.get(symbol)
        if instrument is None:
            return None
        ends = instrument.index_condition is not None or lifecycle.dates.closes(instrument)
        if not materialised and ends:
            return self._of_dormant(instrument)
        if lifecycle.state(symbol) is not InstrumentState.TERMINATED:
            return None
        result = self.decided(instrument)
        if result is None:
            return None
        set_at = lifecycle.dates.defer_past_maintenance(instrument.termination)
        return Settlement(result[0], False, result[1], set_at)

    def reading(self, instrument: Instrument) -> IndexObservation:
        """Return what the index says by now about a market that measures it."""
        if instrument.index_condition is None:
            return IndexObservation()
        return self.assets.observe(instrument.index_condition, self.lifecycle.followed_to)

    def measured(self, instrument: Instrument) -> tuple[Price, str]:
        """Return the final price of a market on an index, and the reason."""
        measure = instrument.index_condition
        if measure is None:
            raise ValueError(f"{instrument.symbol} is not a market on an index")
        observation = self.assets.observe(measure, max(measure.ends, self.ctx.now))
        worth, text = outcome(measure, observation, Tie(self.ctx.assumptions.text(WINDOW_TIE)))
        return _price(worth, instrument), text

    def delays(self) -> tuple[Span, Span]:
        """Return the delay from the close to the price, and from there until it is final."""
        number = self.ctx.assumptions.number
        return number(SETTLEMENT_DELAY), number(SETTLEMENT_PRELIMINARY)

    def indexed_from(self, asset: str) -> Instant:
        """Return when the index of an asset begins.

        Unknown for an asset that a tester has yet to create.
        """
        ticker = self.assets.get(asset)
        return ticker.asset.since * NS_PER_S if ticker is not None else 0

    def set_by_hand(self, measure: IndexCondition) -> int:
        """Return how many prices of an asset were set by hand; -1 for an unknown asset."""
        ticker = self.assets.get(measure.asset)
        return len(ticker.asset.by_hand) if ticker is not None else -1

    def at_termination(self, instrument: Instrument) -> tuple[Price, str]:
        """Return what a terminated market without a known outcome pays.

        That is what its index or the world's plan says, else what the
        assumption `settlement.unresolved_at_termination` says.
        """
        result = self.decided(instrument)
        if result is not None:
            return result
        last = None
        if self.ctx.assumptions.text(UNRESOLVED_SETTLES_AT) == "last_price":
            last = self.statistics.last_price(instrument.symbol)
        return last or 0, "No outcome"

    def decided(self, instrument: Instrument) -> tuple[Price, str] | None:
        """Return what a market that is over pays by its index or the world's plan.

        None if neither decides.
        """
        if instrument.index_condition is not None:
            return self.measured(instrument)
        planned = self.planned_worth(instrument)
        return None if planned is None else (_price(planned[0], instrument), planned[1])

    def _of_dormant(self, instrument: Instrument) -> Settlement | None:
        followed, dates = self.lifecycle.followed_to, self.lifecycle.dates
        closes = dates.closes(instrument)
        if followed < closes:
            return None
        at, final = dates.settlement_times_of(closes, instrument.termination)
        if followed < at or self.lifecycle.dormant_state(instrument) not in OVER_STATES:
            return None
        result = self.decided(instrument)
        if result is None:
            return None
        price, text = result
        return Settlement(price, followed < final, text, at if followed < final else final)


def _price(worth: Fraction, instrument: Instrument) -> Price:
    return int(worth * instrument.price_scale)
