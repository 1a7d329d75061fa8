"""What a market pays that nobody settled: by its index, by the reports of its game, or by the plan
of the world.

A market on an index settles by itself some time after its end, traded or not, and a terminated
market has a settlement even where nobody recorded one. Settlements that pay somebody are recorded
when they happen (`settlement.py`). The others follow from dates, index and plan, and are computed
whenever somebody asks.
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

    `planned_worth` says what a market of the world pays, in dollars and in words; None where
    the world has no plan for it.
    """

    ctx: Context
    instruments: Instruments
    lifecycle: Lifecycle
    statistics: Statistics
    assets: Assets
    planned_worth: PlannedWorth

    def by_itself(self, symbol: str) -> Settlement | None:
        """The settlement of a symbol for which none was recorded; None while there is none."""
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
        """What the index says by now about a market that measures it."""
        if instrument.index_condition is None:
            return IndexObservation()
        return self.assets.observe(instrument.index_condition, self.lifecycle.followed_to)

    def measured(self, instrument: Instrument) -> tuple[Price, str]:
        """What a market on an index pays once it is over: price and reason."""
        measure = instrument.index_condition
        if measure is None:
            raise ValueError(f"{instrument.symbol} measures nothing")
        observation = self.assets.observe(measure, max(measure.ends, self.ctx.now))
        worth, text = outcome(measure, observation, Tie(self.ctx.assumptions.text(WINDOW_TIE)))
        return _price(worth, instrument), text

    def delays(self) -> tuple[Span, Span]:
        """How long after the close a price is set, and how long after that it is final."""
        number = self.ctx.assumptions.number
        return number(SETTLEMENT_DELAY), number(SETTLEMENT_PRELIMINARY)

    def indexed_from(self, asset: str) -> Instant:
        """When an asset begins to have an index; nobody knows of one that a tester will make."""
        ticker = self.assets.get(asset)
        return ticker.asset.since * NS_PER_S if ticker is not None else 0

    def set_by_hand(self, measure: IndexCondition) -> int:
        """How many prices of an asset were set by hand."""
        ticker = self.assets.get(measure.asset)
        return len(ticker.asset.by_hand) if ticker is not None else -1

    def in_the_end(self, instrument: Instrument) -> tuple[Price, str]:
        """What a terminated market without a known outcome pays: as its index or the plan of the
        world says, else as `settlement.unresolved_at_termination`.
        """
        result = self.decided(instrument)
        if result is not None:
            return result
        last = None
        if self.ctx.assumptions.text(UNRESOLVED_SETTLES_AT) == "last_price":
            last = self.statistics.last_price(instrument.symbol)
        return last or 0, "No outcome"

    def decided(self, instrument: Instrument) -> tuple[Price, str] | None:
        """What a market that is over pays, as its index or the plan of the world says; None where
        neither does.
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
