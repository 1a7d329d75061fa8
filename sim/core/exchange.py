"""The whole exchange: knows every component, hands each timer to the one it concerns, and wires
what one asks of another.

Components do not import each other's state; where one needs another (verification opens an account,
maintenance cancels orders) the wiring is here. Events are collected in order on the context;
`flush` adds the book changes they caused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

from msgspec import Struct

from sim.core.accounts.fee_schedule import FeeRow, FeeSchedule
from sim.core.catalogue.assumptions import GAMES_ARE_PLAYED
from sim.core.funding.funding import Funding, FundingLog
from sim.core.funding.partners import Partners, PartnersState
from sim.core.identity.credentials import Credentials, CredentialsState, Environment
from sim.core.identity.firms import Firms, FirmsState
from sim.core.identity.isv_users import IsvUsers, IsvUsersState
from sim.core.identity.kyc import Kyc, KycState
from sim.core.identity.prefill import Prefills, PrefillState
from sim.core.identity.referrals import Referrals, ReferralsState
from sim.core.incentives.incentives import Incentives, IncentivesState
from sim.core.incentives.rebates import Rebates, RebatesState
from sim.core.incentives.scoring import Score, Scoring
from sim.core.lifecycle.outcomes import outcome_of
from sim.core.lifecycle.settlement import SETTLEMENT_TIMER
from sim.core.market_data.assets import Asset, Assets
from sim.core.matching.clearing import CLEARING_TIMER
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState, LedgerEntryType
from sim.core.model.events import BookChanged, Event, Executed, KycDecided, Settled, StateChanged
from sim.core.model.funding_records import FundingType
from sim.core.model.games import Game, Games
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.quantities import Cash
from sim.core.model.reference_data import ReferenceData
from sim.core.model.timer_priority import EDGE_TIMER, EXPIRY_TIMER, SHELF_TIMER
from sim.core.recurring.feed import RECURRING_TIMER, RecurringFeed, RecurringFeedState
from sim.core.recurring.markets import RecurringMarkets
from sim.core.rfq.combos import Combos, CombosState
from sim.core.rfq.rfqs import Rfqs, RfqsState
from sim.core.service.fault_spec import FaultAction
from sim.core.service.faults import Faults, FaultsState
from sim.core.service.maintenance import Maintenance, MaintenanceState
from sim.core.service.rate_limits import RateLimits, RateLimitsState
from sim.core.trading.order_sessions import OrderSessions, Session
from sim.core.trading.synchronous import SynchronousOrders, SynchronousOrdersState
from sim.core.trading.trading import Trading, TradingState
from sim.core.webhooks.webhooks import Webhooks, WebhooksState
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import Timer, TimerHandlers, merge_owners

# what waits for the end of maintenance (rule W7)
POSTPONABLE = frozenset({EXPIRY_TIMER, EDGE_TIMER, SHELF_TIMER, SETTLEMENT_TIMER, RECURRING_TIMER})
# States from which the end of a game closes a market.
CLOSEABLE = frozenset(
    (
        InstrumentState.OPEN,
        InstrumentState.PREOPEN,
        InstrumentState.SUSPENDED,
        InstrumentState.HALTED,
        InstrumentState.MATCH_AND_CLOSE_AUCTION,
    )
)


class Results(Protocol):
    """How what the world begins with goes and ends if nobody says."""

    def event_end(self, slug: str) -> Instant:
        """When a game is over; 0 for what is no game of the world."""

    def state_at(self, slug: str, now: Instant) -> Game | None:
        """How a game stands at an instant; None before its start."""

    def final_game(self, slug: str) -> Game | None:
        """The final facts of a game."""

    def outcome(self, instrument: Instrument) -> tuple[Fraction, str] | None:
        """What a market pays, in dollars and in words."""


class _Unknown:
    def event_end(self, slug: str) -> Instant:
        """Nobody knows."""
        return 0

    def state_at(self, slug: str, now: Instant) -> Game | None:
        """Nobody knows."""
        return None

    def final_game(self, slug: str) -> Game | None:
        """Nobody knows."""
        return None

    def outcome(self, instrument: Instrument) -> tuple[Fraction, str] | None:
        """Nobody knows."""
        return None


class State(Struct):
    """Everything about an exchange that changes, as one value. Terms of instruments that were there
    from the start are not in it.
    """

    now: Instant
    timers: tuple[int, list[Timer], list[Timer]]
    entropy: dict[str, int]
    ids: dict[str, int]
    assumptions: dict[str, bool | int | str]
    quirks: dict[str, tuple[int, int]]
    listed: list[Instrument]
    trading: TradingState
    firms: FirmsState
    credentials: CredentialsState
    kyc: KycState
    prefills: PrefillState
    isv_users: IsvUsersState
    referrals: ReferralsState
    webhooks: WebhooksState
    rate_limits: RateLimitsState
    maintenance: MaintenanceState
    faults: FaultsState
    assets: list[Asset]
    games: dict[str, Game]
    incentives: IncentivesState
    rebates: RebatesState
    funding: FundingLog
    order_sessions: dict[str, Session]
    combos: CombosState
    rfqs: RfqsState
    partners: PartnersState
    recurring_feed: RecurringFeedState
    suspended: list[str]
    awaited: SynchronousOrdersState
    fees: list[FeeRow]
    scores: list[Score]


class Exchange:
    """Every component, and virtual now. Bare at first: a scenario lists instruments, enrols firms
    and opens accounts.

    `reference` is what the gateway shows of leagues, events and markets, `memos` are answers that
    handlers keep; the core carries both and never looks inside.
    """

    def __init__(
        self,
        *,
        seed: int,
        now: Instant,
        environment: Environment | None = None,
        webhook_hosts: tuple[str, ...] = (),
    ) -> None:
        ctx = self.ctx = Context(seed=seed, now=now)
        self.instruments = Instruments()
        self.faults = Faults(ctx)
        self.assets = Assets(ctx)
        # listeners are looked up when they are called: both are built on top of trading
        self.trading = Trading(
            ctx,
            self.instruments,
            self._engine_delay,
            self.assets,
            on_order_taken=(lambda order: self.partners.on_order_taken(order),),
            on_quote_taken=(lambda quote, orders: self.rfqs.on_quote_taken(quote, orders),),
        )
        self.awaited = SynchronousOrders(ctx)
        self.order_sessions = OrderSessions(ctx, self.trading)
        self.combos = Combos(ctx, self.instruments, self.trading)
        self.rfqs = Rfqs(ctx, self.instruments, self.trading)
        self.firms = Firms(ctx)
        self.credentials = Credentials(ctx, self.firms, environment)
        self.kyc = Kyc(ctx, self.enroll)
        self.prefills = Prefills(ctx)
        self.isv_users = IsvUsers(ctx)
        self.referrals = Referrals()
        self.webhooks = Webhooks(ctx, hosts=webhook_hosts, tamper=self._tamper)
        self.rate_limits = RateLimits(ctx)
        self.maintenance = Maintenance(ctx, self)
        self._suspended: list[str] = []
        trading = self.trading
        trading.lifecycle.defer_past_maintenance = self.maintenance.free_from
        trading.lifecycle.event_end = lambda instrument: (
            0 if instrument.game_condition is None else self.event_end(instrument.event)
        )
        self.recurring = RecurringMarkets(self.maintenance, trading.lifecycle, trading.resolution)
        self.recurring_feed = RecurringFeed(
            ctx,
            self.recurring,
            trading.lifecycle,
            trading.resolution,
            trading.settlements,
            trading.books,
        )
        self.instruments.recurring = self.recurring
        self.games = Games(ctx)
        self.incentives = Incentives(ctx, self._reward)
        self.scoring = Scoring(ctx, self.trading, self.incentives)
        self.rebates = Rebates(
            ctx, self.instruments, self.trading.execution_log, self.incentives.grant
        )
        self.funding = Funding(ctx, self.trading)
        self.partners = Partners(ctx, self.firms, self.trading, self.funding)
        self.results: Results = _Unknown()
        trading.resolution.planned = self._planned
        self.reference: ReferenceData
        self.answer_caches: dict[object, dict[Any, Any]] = {}
        self.published = 0
        self._told = 0

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.ctx.now

    def begin_as(self, other: Exchange) -> None:
        """Have the beginning of another's world, which never changes."""
        self.instruments.begin_as(other.instruments)
        self.recurring.begin_as(other.recurring)
        self.results = other.results

    def takes(self, span: Span) -> None:
        """The answer being made takes so much virtual time."""
        self.ctx.service_time += span

    def report_game(self, slug: str, **facts: Any) -> Game:
        """Somebody says how a game stands: from here on only that counts. What has settled by
        itself, because nobody had said, stays as it is.

        A game that was being played stands still at what it had come to, where the facts do not say
        otherwise. Markets that it had closed open again.
        """
        trading, simulated = self.trading, self.simulated_game(slug)
        if not self.games.is_reported(slug):
            for instrument in self.instruments.of_event(slug):
                if trading.settlements.final(instrument.symbol):
                    trading.listings.write_down(instrument.symbol)
            if simulated is not None:
                anew = any(
                    facts.get(name) not in (None, "")
                    for name in ("home_score", "away_score", "periods", "goals", "result")
                )
                self.games.begin(slug, simulated.summary() if anew else simulated)
        game = self.games.update(slug, **facts)
        trading.books.game_reported(slug)
        if simulated is not None and simulated.ended and not game.ended:
            for instrument in self.instruments.of_event(slug):
                trading.listings.follow(instrument.symbol)
        return game

    def simulated_game(self, slug: str) -> Game | None:
        """How a game of the world stands by the clock; None before its start, for one that somebody
        has told of, and where games are not simulated.
        """
        if self.games.is_reported(slug) or not self.ctx.assumptions.flag(GAMES_ARE_PLAYED):
            return None
        return self.results.state_at(slug, self.ctx.now)

    def event_end(self, slug: str) -> Instant:
        """When a game of the world is over by the clock; 0 for one that somebody has told of, and
        where games are not simulated.
        """
        if self.games.is_reported(slug) or not self.ctx.assumptions.flag(GAMES_ARE_PLAYED):
            return 0
        return self.results.event_end(slug)

    def planned_final(self, slug: str) -> Game | None:
        """The facts with which a game ends if nobody tells of it; None where somebody has, and for
        what is no game of the world.
        """
        return None if self.games.is_reported(slug) else self.results.final_game(slug)

    def _planned(self, instrument: Instrument) -> tuple[Fraction, str] | None:
        """What a market pays that nobody settled: as its game was told of, else as the world has
        planned it.
        """
        if instrument.game_condition is not None and self.games.is_reported(instrument.event):
            found = outcome_of(instrument.game_condition, self.games.get(instrument.event))
            return None if found is None else found.worth
        return self.results.outcome(instrument)

    def end_game(self, slug: str) -> dict[str, str]:
        """A game is over: the markets its facts decide close and settle some time later (§2.10,
        rule L25); outcome by symbol.

        An abandoned game's markets take their last fair price. What the facts do not decide goes on
        until somebody settles it.
        """
        game, found = self.games.get(slug), {}
        for instrument in [
            one for one in self.instruments.of_event(slug) if one.game_condition is not None
        ]:
            if instrument.game_condition is None or self.trading.settlements.final(
                instrument.symbol
            ):
                continue
            if game.result == "abandoned":
                self.scoring.void(instrument.symbol)
                price, text = (
                    self.trading.listings.fair_price(instrument.symbol),
                    "abandoned: last fair price",
                )
            elif (outcome := outcome_of(instrument.game_condition, game)) is not None:
                price, text = int(outcome.value * instrument.price_scale), outcome.name.title()
            else:
                continue
            if self.trading.state(instrument.symbol) in CLOSEABLE:
                self.trading.listings.change_state(instrument.symbol, InstrumentState.CLOSED)
            self.trading.listings.record_outcome(instrument.symbol, price, text)
            found[instrument.symbol] = text
        return found

    # ---- wiring

    def enroll(self, firm: str, display_name: str) -> tuple[str, str]:
        """A person gets a user of the firm and an empty account: (participant, account)."""
        user = self.firms.onboard(firm, display_name)
        self.trading.open_account(user.account)
        return user.name, user.account

    # Maintenance (rule W2): orders are canceled and open instruments suspended before the window,
    # and open again after it.

    def on_lead(self) -> None:
        """The lead before a window."""
        self._clear()
        self.trading.lifecycle.suspend_dormant()

    def on_begin(self) -> None:
        """The window begins: dates wait, the pipeline refuses from here on, and the hub ends
        streams when it hears of it.

        What came into a book since the lead, before an opening or in an instrument that opened
        meanwhile, goes too: books are empty afterwards (rule W2).
        """
        self._clear()
        self.trading.lifecycle.stop_dates(sudden=self.maintenance.sudden)

    def _clear(self) -> None:
        """Cancel every open order, suspend every open instrument."""
        trading = self.trading
        trading.listings.cancel_all()
        for symbol in trading.lifecycle.symbols(InstrumentState.OPEN):
            trading.listings.change_state(symbol, InstrumentState.SUSPENDED, pin=False)
            self._suspended.append(symbol)

    def on_end(self) -> None:
        """The window is over: dates are followed again, unless another one begins at this instant."""
        if not self.maintenance.begun(self.ctx.now):
            self.trading.lifecycle.resume_dates()

    def on_reopen(self) -> None:
        """What was open before opens again."""
        for symbol in (*self._suspended, *self.trading.lifecycle.resume_dormant()):
            if self.trading.state(symbol) is InstrumentState.SUSPENDED:
                self.trading.listings.change_state(symbol, InstrumentState.OPEN, pin=False)
        self._suspended = []

    def _reward(
        self, account: str, amount: Cash, description: str, symbol: str, reference: str
    ) -> None:
        """A program pays an account (rule P16)."""
        self.funding.move(
            account,
            amount,
            FundingType.INCENTIVE,
            LedgerEntryType.MANUAL_ADJUSTMENT,
            description,
            symbol=symbol,
            reference=reference,
        )

    def _engine_delay(self, kind: str, names: tuple[str, ...], symbol: str) -> Span:
        if not self.faults.armed:
            return 0
        struck = self.faults.pick("engine", kind, names) or self.faults.pick(
            "engine", kind, names, (symbol,)
        )
        return struck.delay if struck else 0

    def _tamper(self, kind: str, firm: str) -> FaultAction | None:
        return self.faults.pick("webhook", kind, (firm,))

    # ---- time and events

    def postpones(self, timer: Timer) -> bool:
        """Whether a timer must wait for the end of maintenance (rule W7), as it does from the
        instant on at which that begins.
        """
        return timer.kind in POSTPONABLE and self.maintenance.begun(self.ctx.now)

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that its components own, with what each does; two owners of one kind
        are an error.
        """
        owned = merge_owners(
            (
                self.trading.timers,
                self.rebates.timers,
                self.recurring_feed.timers,
                self.kyc.timers,
                self.webhooks.timers,
                self.maintenance.timers,
                self.incentives.timers,
                self.scoring.timers,
                self.funding.timers,
                self.order_sessions.timers,
                self.rfqs.timers,
                self.awaited.timers,
            )
        )
        owned[CLEARING_TIMER] = self._clear_trades  # trading's, with a consequence outside of it
        return owned

    def _clear_trades(self, _timer: Timer) -> None:
        self.trading.clear()
        self.rebates.wait()

    def flush(self) -> None:
        """Let events have their consequences: firms are told of verifications, combos settle with
        their legs, answers are due, quotes score, books are told.
        """
        self.trading.flush()
        events = self.ctx.events
        awaited = self.awaited
        while untold := events[self._told :]:
            self._told = len(events)
            for event in untold:
                kind = type(event)
                if kind is Executed:
                    if awaited.any:
                        awaited.on_execution(event.execution.order)  # type: ignore[union-attr]
                elif kind is BookChanged:
                    self.scoring.book_changed(event)  # type: ignore[arg-type]
                elif kind is KycDecided:
                    self.webhooks.decided(event)  # type: ignore[arg-type]
                elif kind is Settled and self.combos.settled(event):  # type: ignore[arg-type]
                    self.trading.flush()
                elif kind is StateChanged and self._ends_a_leg(event):  # type: ignore[arg-type]
                    self.trading.listings.write_down(event.symbol, tell=True)  # type: ignore[union-attr]

    def _ends_a_leg(self, event: StateChanged) -> bool:
        """Whether an instrument was terminated of which a combo waits for the settlement."""
        return event.state is InstrumentState.TERMINATED and self.combos.waits_for(event.symbol)

    def take_events(self) -> list[Event]:
        """Everything that has happened since the last take, in order."""
        events = self.ctx.events
        self.ctx.events = []
        self.published = self._told = 0
        return events

    # ---- state

    def save(self) -> State:
        """The whole state, not copied: encode it before anything else happens."""
        ctx = self.ctx
        return State(
            now=ctx.now,
            timers=ctx.timers.save(),
            entropy=ctx.entropy.save(),
            ids=ctx.ids.save(),
            assumptions=ctx.assumptions.save(),
            quirks=ctx.quirks.save(),
            listed=self.instruments.added(),
            trading=self.trading.save(),
            firms=self.firms.save(),
            credentials=self.credentials.save(),
            kyc=self.kyc.save(),
            prefills=self.prefills.save(),
            isv_users=self.isv_users.save(),
            referrals=self.referrals.save(),
            webhooks=self.webhooks.save(),
            rate_limits=self.rate_limits.save(),
            maintenance=self.maintenance.save(),
            faults=self.faults.save(),
            assets=self.assets.save(),
            games=self.games.save(),
            incentives=self.incentives.save(),
            rebates=self.rebates.save(),
            funding=self.funding.save(),
            order_sessions=self.order_sessions.save(),
            combos=self.combos.save(),
            rfqs=self.rfqs.save(),
            partners=self.partners.save(),
            recurring_feed=self.recurring_feed.save(),
            suspended=self._suspended,
            awaited=self.awaited.save(),
            fees=self.trading.fees.schedule.rows,
            scores=self.scoring.save(),
        )

    def load(self, state: State) -> None:
        """Become what was saved."""
        ctx = self.ctx
        ctx.now = state.now
        ctx.timers.load(state.timers)
        ctx.entropy.load(state.entropy)
        ctx.ids.load(state.ids)
        ctx.assumptions.load(state.assumptions)
        ctx.quirks.load(state.quirks)
        self.instruments.restore(state.listed)
        self.trading.load(state.trading)
        self.firms.load(state.firms)
        self.credentials.load(state.credentials)
        self.kyc.load(state.kyc)
        self.prefills.load(state.prefills)
        self.isv_users.load(state.isv_users)
        self.referrals.load(state.referrals)
        self.webhooks.load(state.webhooks)
        self.rate_limits.load(state.rate_limits)
        self.maintenance.load(state.maintenance)
        self.faults.load(state.faults)
        self.assets.load(state.assets)
        self.games.load(state.games)
        self.incentives.load(state.incentives)
        self.rebates.load(state.rebates)
        self.funding.load(state.funding)
        self.order_sessions.load(state.order_sessions)
        self.combos.load(state.combos)
        self.rfqs.load(state.rfqs)
        self.partners.load(state.partners)
        self.recurring_feed.load(state.recurring_feed)
        self._suspended = list(state.suspended)
        self.awaited.load(state.awaited)
        self.trading.fees.schedule = FeeSchedule(state.fees)
        self.scoring.load(state.scores)
        self.take_events()
