"""Simulated traders trade inside the simulation, on timers, in the same way for `serve`, `sim run`
and a replay.

This module decides when they act, `strategies.py` what they do, and `fair_prices.py` computes what
they think that an instrument is worth.

The unit is one trader on one instrument (`TraderOnInstrument`). It has one timer while its market
is open and none otherwise: a timer that finds the market closed sets no other, and the event that
opens the market sets the next. Traders on recurring markets begin and end with these
(`RecurringTraders`). A scenario without traders costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from msgspec import Struct, field

from sim.api.pipeline.inputs import Outcome, OutcomeHandlers
from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.model.events import Event, StateChanged
from sim.core.model.refusals import Conflict, NotFound
from sim.core.recurring.markets import Slot
from sim.kernel.instants import DAY, NS_PER_MS, Instant, Span
from sim.kernel.timers import Timer
from sim.run.actors.participants.fair_prices import FairPrices
from sim.run.actors.participants.order_flow_player import ROW_TIMER, FlowPlayer, FlowState
from sim.run.actors.participants.strategies import KINDS
from sim.run.actors.participants.trader_on_instrument import TraderOnInstrument, TraderState
from sim.run.engine.engine import Engine
from sim.run.engine.extension import Extension
from sim.world.format.participant_entries import Trader

ACT_TIMER = "participant.act"


class ParticipantsState(Struct):
    """The state of all participants: traders and flows by name, fair prices that were set by symbol
    with the instant, and the names of stopped participants.
    """

    traders: dict[str, TraderState] = field(default_factory=dict)
    flows: dict[str, FlowState] = field(default_factory=dict)
    prices_set: dict[str, tuple[Instant, int]] = field(default_factory=dict)
    stopped: dict[str, bool] = field(default_factory=dict)


class Participants(Extension):
    """The simulated traders of one engine."""

    name = "participants"
    state_type = ParticipantsState

    fair_prices: FairPrices
    _recurring: RecurringTraders

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ctx = engine.exchange.ctx
        section = engine.scenario.participants
        self._flows = {entry.name: FlowPlayer(engine, entry) for entry in section.flows}
        self._entries = {entry.name: entry for entry in section.traders}
        self._traders: dict[str, TraderOnInstrument] = {}
        self._by_symbol: dict[str, list[TraderOnInstrument]] = {}
        self._stopped: dict[str, bool] = {}

    def _take_places(self, first_prices: Mapping[str, int]) -> None:
        """Create a trader for each participant and instrument, once these are listed.

        `first_prices` are the prices of instruments at the start; others are looked up now.
        """
        engine, exchange = self._engine, self._engine.exchange
        entries = engine.scenario.participants.fair_prices
        self.fair_prices = FairPrices(exchange, entries, engine.run.start, first_prices)
        self._recurring = RecurringTraders(exchange, tuple(self._entries.values()))
        if self._entries:
            slot_of = exchange.recurring.slot_of_symbol
            symbols = list(exchange.instruments.symbols())
            for entry in self._entries.values():
                for symbol in matching(symbols, entry.symbols):
                    if slot_of(symbol) is None:
                        self._add(entry, symbol)

    def _add(self, entry: Trader, symbol: str) -> TraderOnInstrument:
        exchange = self._engine.exchange
        user = self._engine.world.parties.require_user(entry.as_ or entry.name)
        trader = KINDS[type(entry)](exchange, entry, user, symbol, self.fair_prices.of(symbol))
        self._traders[trader.name] = trader
        self._by_symbol.setdefault(symbol, []).append(trader)
        return trader

    def _remove(self, trader: TraderOnInstrument) -> None:
        del self._traders[trader.name]
        others = self._by_symbol[trader.symbol]
        others.remove(trader)
        if not others:
            del self._by_symbol[trader.symbol]
            self.fair_prices.forget(trader.symbol)

    def begin_as(self, original: Participants) -> None:
        """Begin like the participants of another engine at its start."""
        self._take_places(original.fair_prices.first)

    def begin(self) -> None:
        """Begin: flows send the rows that are due and makers quote; the others set their timers."""
        self._take_places({})
        for flow in self._flows.values():
            flow.begin()
        for trader in list(self._traders.values()):
            if trader.open:
                self._start(trader)
        if self._recurring:
            self._recurring.begin()
            self._join(self._recurring.open())

    def _start(self, trader: TraderOnInstrument) -> None:
        trader.state.asleep = False
        wait = trader.first_wait()
        if not wait:
            trader.act(trader.fair.at(self._ctx.now))
        self._schedule(trader, wait or trader.next_wait())

    def _join(self, pairs: Iterable[tuple[Trader, str]]) -> None:
        """Start traders on new recurring markets, unless they are stopped.

        Traders on markets that have ended are removed first.
        """
        asleep = [trader for trader in self._traders.values() if trader.state.asleep]
        for trader in asleep:
            if self._recurring.has_ended(trader.symbol):
                self._remove(trader)
        for entry, symbol in list(pairs):
            if f"{entry.name} {symbol}" not in self._traders and entry.name not in self._stopped:
                self._engine.exchange.recurring.materialise(symbol)
                self._start(self._add(entry, symbol))

    # ---- timers and events

    @property
    def timers(self) -> OutcomeHandlers:
        """The kinds of timers that participants own."""
        return {ROW_TIMER: self._row_due, LISTED_TIMER: self._listed, ACT_TIMER: self._act}

    def _row_due(self, timer: Timer, _outcome: Outcome) -> None:
        self._flows[timer.subject].fire()

    def _listed(self, timer: Timer, _outcome: Outcome) -> None:
        self._join(self._recurring.fire(timer.subject))

    def _act(self, timer: Timer, _outcome: Outcome) -> None:
        trader = self._traders[timer.subject]
        if trader.recurring and self._recurring.has_ended(trader.symbol):
            self._remove(trader)
        elif trader.open and trader.state.active:
            trader.act(trader.fair.at(self._ctx.now))
            self._schedule(trader, trader.next_wait())
        else:
            trader.state.asleep = True

    def on_events(self, events: Sequence[Event], outcome: Outcome) -> None:
        """Wake the traders of a market that opens."""
        if not self._traders:
            return
        for event in events:
            if type(event) is StateChanged and event.state is InstrumentState.OPEN:
                for trader in self._by_symbol.get(event.symbol, ()):
                    self._wake(trader)

    def _wake(self, trader: TraderOnInstrument) -> None:
        if trader.state.asleep and trader.state.active:
            trader.state.asleep = False
            self._schedule(trader, trader.first_wait())

    def _schedule(self, trader: TraderOnInstrument, wait: Span) -> None:
        self._ctx.timers.schedule(self._ctx.now + wait, ACT_TIMER, trader.name)

    # ---- operator actions and views

    def switch(self, name: str, active: bool) -> None:
        """Stop a participant, which cancels its orders if possible, or resume it.

        NotFound if there is none of this name.
        """
        if name not in self._entries:
            names = ", ".join(self._entries)
            remedy = f"known: {names}" if names else "this scenario has none"
            raise NotFound(f"no participant is called {name!r}", rule="T1", remedy=remedy)
        self._stopped.pop(name, None)
        if not active:
            self._stopped[name] = True
        for trader in [each for each in self._traders.values() if each.entry.name == name]:
            trader.state.active = active
            if not active:
                trader.cancel_all()
            elif trader.open:
                self._wake(trader)
        if active:
            self._join(self._recurring.open())

    def set_fair_price(self, symbol: str, price: int) -> None:
        """Set an instrument's fair price, in UNITs; it walks from there.

        Conflict if no participant trades the instrument.
        """
        if symbol not in self._by_symbol:
            remedy = "add the instrument to a trader under `participants` of the scenario"
            raise Conflict(f"no participant trades {symbol}", rule="T1", remedy=remedy)
        self.fair_prices.of(symbol).set_price((self._ctx.now, price))

    def rows(self) -> Iterator[tuple[TraderOnInstrument, int]]:
        """Every trader with its fair price now, in order."""
        for trader in self._traders.values():
            yield trader, trader.fair.at(self._ctx.now)

    @property
    def flows(self) -> list[FlowPlayer]:
        """Every order flow."""
        return list(self._flows.values())

    # ---- state

    def save(self) -> ParticipantsState:
        """The state, not a copy."""
        return ParticipantsState(
            {name: trader.state for name, trader in self._traders.items()},
            {name: flow.state for name, flow in self._flows.items()},
            self.fair_prices.save(),
            self._stopped,
        )

    def load(self, state: ParticipantsState) -> None:
        """Continue from a saved state."""
        for trader in [each for name, each in self._traders.items() if name not in state.traders]:
            self._remove(trader)
        for name in state.traders:
            if name not in self._traders:
                participant, _, symbol = name.partition(" ")
                self._add(self._entries[participant], symbol)
        self._stopped = dict(state.stopped)
        self.fair_prices.load(state.prices_set)
        self._traders = {name: self._traders[name] for name in state.traders}
        for name, trader in self._traders.items():
            trader.state = state.traders[name]
        for name, flow in self._flows.items():
            flow.load(state.flows[name])


def participants_of(engine: Engine) -> Participants:
    """The scripted participants of an engine."""
    return cast(Participants, engine.extensions[Participants.name])


def matching(symbols: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """The symbols that are named or match a pattern, in listing order."""
    named = frozenset(patterns)
    globs = [pattern for pattern in patterns if any(mark in pattern for mark in "*?[")]
    if not globs:
        return (symbol for symbol in symbols if symbol in named)
    return (
        symbol
        for symbol in symbols
        if symbol in named or any(fnmatchcase(symbol, pattern) for pattern in globs)
    )


LISTED_TIMER = "participant.listed"
# After a listing, so that subscribers to all instruments get it first.
_AFTER_LISTING: Span = NS_PER_MS
# How far ahead the next listing is searched, for long maintenance.
_SEARCHED = 3 * DAY


class RecurringTraders:
    """The participants on each series, and the instants of the next listings.

    A trader that names a series trades each of its instruments, from a moment after its listing
    until it has ended. There is one timer for each named series, due at the next listing. An
    instrument with a trader is materialised, as when anybody else trades it.
    """

    def __init__(self, exchange: Exchange, entries: Sequence[Trader]) -> None:
        self._exchange = exchange
        self._by_series: dict[int, list[Trader]] = {}
        for number, series in enumerate(exchange.recurring.series):
            interested = [entry for entry in entries if named(series.name, entry.windows)]
            if interested:
                self._by_series[number] = interested

    def __bool__(self) -> bool:
        return bool(self._by_series)

    def begin(self) -> None:
        """Set a timer for the next listing of each series. `open` has the instruments that
        are already listed.
        """
        for number in self._by_series:
            self._wait(number)

    def fire(self, subject: str) -> Iterator[tuple[Trader, str]]:
        """Handle a listing: return the participants and symbols of its series that trade now."""
        number = int(subject)
        self._wait(number)
        return self.open(number)

    def open(self, only: int | None = None) -> Iterator[tuple[Trader, str]]:
        """Participants and symbols that trade now, of all series or of one."""
        recurring, lifecycle = self._exchange.recurring, self._exchange.trading.lifecycle
        for slot in recurring.listed_slots():
            if only in (None, slot.series) and slot.series in self._by_series:
                symbol = recurring.symbol(slot)
                if lifecycle.state(symbol) is InstrumentState.OPEN:
                    yield from ((entry, symbol) for entry in self._by_series[slot.series])

    def has_ended(self, symbol: str) -> bool:
        """Whether a symbol belongs to a recurring market that no longer trades."""
        recurring = self._exchange.recurring
        slot = recurring.slot_of_symbol(symbol)
        if slot is None:
            return False
        return self._exchange.now >= slot.begins + recurring.series[slot.series].every

    def _wait(self, number: int) -> None:
        ctx, recurring = self._exchange.ctx, self._exchange.recurring
        series = recurring.series[number]
        first = (ctx.now + series.lead) // series.every
        instants = (
            recurring.opens(Slot(number, index * series.every))
            for index in range(first, first + _SEARCHED // series.every)
        )
        listings = (at + _AFTER_LISTING for at in instants if at is not None)
        due = next((at for at in listings if at > ctx.now), ctx.now + _SEARCHED)
        ctx.timers.schedule(due, LISTED_TIMER, str(number))


def named(name: str, patterns: Sequence[str]) -> bool:
    """Whether a series is named or matches a pattern."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
