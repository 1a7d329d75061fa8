"""The whole exchange: constructs every component and connects those that need each other.

Components do not import each other's state. Where one needs another (verification opens an account,
maintenance cancels orders), it receives a function or a narrow component at construction; the
`_compose` methods below describe which. The table `_consequences` lists the effects of an event on
other components. Events are collected on the context, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from msgspec import Struct

from sim.core.accounts.fee_schedule import FeeRow
from sim.core.funding.funding import Funding, FundingLog
from sim.core.funding.partners import PartnerFunding, PartnersState
from sim.core.identity.credentials import Credentials, CredentialsState, Environment
from sim.core.identity.firms import Firms, FirmsState
from sim.core.identity.isv_users import IsvUsers, IsvUsersState
from sim.core.identity.kyc import Kyc, KycState
from sim.core.identity.prefill import Prefills, PrefillState
from sim.core.identity.referrals import Referrals, ReferralsState
from sim.core.incentives.incentives import Incentives, IncentivesState
from sim.core.incentives.rebates import Rebates, RebatesState
from sim.core.incentives.scoring import PeriodScore, Scoring
from sim.core.lifecycle.games import GameReports, Games
from sim.core.lifecycle.maintenance_pause import MaintenancePause
from sim.core.lifecycle.settlement import SETTLEMENT_TIMER
from sim.core.market_data.assets import Asset, Assets
from sim.core.matching.clearing import CLEARING_TIMER
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState
from sim.core.model.events import BookChanged, Event, Executed, KycDecided, Settled, StateChanged
from sim.core.model.games import Game
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.reference_data import ReferenceData
from sim.core.model.timer_priority import DORMANT_TIMER, EDGE_TIMER, EXPIRY_TIMER
from sim.core.recurring.feed import RECURRING_TIMER, RecurringFeed, RecurringFeedState
from sim.core.recurring.markets import RecurringMarkets
from sim.core.rfq.combos import Combos, CombosState
from sim.core.rfq.rfqs import Rfqs, RfqsState
from sim.core.service.faults import Faults, FaultsState
from sim.core.service.listeners import Listeners, ListenersState
from sim.core.service.maintenance import Maintenance, MaintenanceState
from sim.core.service.maintenance_calendar import AnnouncedWindow, MaintenanceCalendar
from sim.core.service.rate_limits import RateLimits, RateLimitsState
from sim.core.trading.order_sessions import OrderSession, OrderSessions
from sim.core.trading.synchronous import SynchronousOrders, SynchronousOrdersState
from sim.core.trading.trading import Trading, TradingState
from sim.core.webhooks.webhooks import WebhookService, WebhooksState
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import Timer, TimerHandlers, merge_owners

# Timers that wait for the end of maintenance (rule W7).
POSTPONABLE = frozenset(
    {EXPIRY_TIMER, EDGE_TIMER, DORMANT_TIMER, SETTLEMENT_TIMER, RECURRING_TIMER}
)


class State(Struct):
    """The changing state of an exchange, with one field for each component.

    It excludes the terms of instruments that existed from the start.
    """

    now: Instant
    timers: tuple[int, list[Timer], list[Timer]]
    entropy: dict[str, int]
    ids: dict[str, int]
    assumptions: dict[str, bool | int | str]
    quirks: dict[str, tuple[int, int]]
    instruments: list[Instrument]
    trading: TradingState
    firms: FirmsState
    credentials: CredentialsState
    kyc: KycState
    prefills: PrefillState
    isv_users: IsvUsersState
    referrals: ReferralsState
    webhooks: WebhooksState
    rate_limits: RateLimitsState
    maintenance_calendar: list[AnnouncedWindow]
    maintenance: MaintenanceState
    faults: FaultsState
    listeners: ListenersState
    assets: list[Asset]
    games: dict[str, Game]
    incentives: IncentivesState
    rebates: RebatesState
    funding: FundingLog
    order_sessions: dict[str, OrderSession]
    combos: CombosState
    rfqs: RfqsState
    partners: PartnersState
    recurring_feed: RecurringFeedState
    awaited: SynchronousOrdersState
    fees: list[FeeRow]
    scoring: list[PeriodScore]


class Component(Protocol):
    """A part of the exchange with state of its own."""

    def save(self) -> Any:
        """Return the state itself, not a copy."""

    def load(self, state: Any, /) -> None:
        """Restore a saved state. The component takes ownership of its objects."""


class Exchange:
    """Every component, and virtual now.

    It starts empty: `world.populate` lists instruments, enrols firms and opens accounts.
    `reference` holds the leagues, events and markets of the gateway; `answer_caches` are the
    handlers' caches. The core stores both and never reads them.
    """

    reference: ReferenceData

    def __init__(
        self,
        *,
        seed: int,
        now: Instant,
        environment: Environment | None = None,
        webhook_hosts: tuple[str, ...] = (),
        receivers: Collection[str] = (),
    ) -> None:
        ctx = self.ctx = Context(seed=seed, now=now)
        self._compose_trading(ctx)
        self._compose_time(ctx)
        self._compose_people(ctx, environment, webhook_hosts, receivers)
        self._compose_money(ctx)
        self.answer_caches: dict[object, dict[Any, Any]] = {}
        self.began = now
        self.published = 0
        self._flushed = 0
        self._components = self._table()
        self._consequences: dict[type[Event], Callable[[Any], object]] = {
            Executed: self._after_execution,
            BookChanged: self.scoring.book_changed,
            KycDecided: self.webhooks.decided,
            Settled: self._after_settlement,
            StateChanged: self._after_state_change,
        }

    # ---- composition

    def _compose_trading(self, ctx: Context) -> None:
        """Build everything between an order and its money.

        Trading gets functions of other components: maintenance says when it follows a date, games
        say when an event ends and what its markets pay, and faults say how long the engine is
        delayed. Partners are notified when the engine takes an order from its queue. They are built
        after trading, so they are looked up at the time of the call.
        """
        self.instruments = Instruments()
        self.faults = Faults(ctx)
        self.listeners = Listeners(ctx, self.faults)
        self.assets = Assets(ctx)
        self.games = Games(ctx)
        self.maintenance_calendar = MaintenanceCalendar(ctx)
        trading = self.trading = Trading(
            ctx,
            self.instruments,
            self.faults.engine_delay,
            self.assets,
            defer_past_maintenance=self.maintenance_calendar.free_from,
            event_end=self.games.instrument_end,
            planned_worth=self.games.planned_worth,
            on_order_taken=(lambda order: self.partners.on_order_taken(order),),
        )
        self.awaited = SynchronousOrders(ctx)
        self.order_sessions = OrderSessions(ctx, trading)
        self.combos = Combos(ctx, self.instruments, trading)
        self.rfqs = Rfqs(ctx, self.instruments, trading)

    def _compose_time(self, ctx: Context) -> None:
        """Build what moves instruments besides trading: maintenance and recurring markets."""
        trading, lifecycle = self.trading, self.trading.lifecycle
        self.pause = MaintenancePause(lifecycle, trading.listings)
        self.maintenance = Maintenance(ctx, self.maintenance_calendar, self.pause)
        self.recurring = RecurringMarkets(self.maintenance_calendar, lifecycle, trading.resolution)
        self.instruments.add_recurring(self.recurring)
        self.recurring_feed = RecurringFeed(
            ctx, self.recurring, lifecycle, trading.resolution, trading.settlements, trading.books
        )

    def _compose_people(
        self,
        ctx: Context,
        environment: Environment | None,
        webhook_hosts: tuple[str, ...],
        receivers: Collection[str],
    ) -> None:
        """Build identity and webhooks: who may call, and what firms are notified of.

        A person is enrolled once verified.
        """
        self.firms = Firms(ctx)
        self.credentials = Credentials(ctx, self.firms, environment)
        self.kyc = Kyc(ctx, self.enroll)
        self.prefills = Prefills(ctx)
        self.isv_users = IsvUsers(ctx)
        self.referrals = Referrals()
        self.webhooks = WebhookService(
            ctx,
            hosts=webhook_hosts,
            scripted=receivers,
            tamper=self.faults.of_webhook,
            alter=self.faults.alter_delivery,
        )
        self.rate_limits = RateLimits(ctx)

    def _compose_money(self, ctx: Context) -> None:
        """Build what moves cash without a trade. Incentive programs pay through the funding log."""
        trading = self.trading
        self.funding = Funding(ctx, trading)
        self.partners = PartnerFunding(ctx, self.firms, trading, self.funding)
        self.incentives = Incentives(ctx, self.funding.pay_incentive)
        self.scoring = Scoring(ctx, trading, self.incentives)
        self.rebates = Rebates(ctx, self.instruments, trading.execution_log, self.incentives.grant)
        self.game_reports = GameReports(
            self.games,
            self.instruments,
            trading.listings,
            lifecycle=trading.lifecycle,
            settlements=trading.settlements,
            books=trading.books,
            on_abandoned=self.scoring.void,
        )

    def _table(self) -> dict[str, Component]:
        """Return the components by their field of `State`, in loading order.

        A component's attribute has the name of its field, here or where `owners` says.
        """
        owners: dict[str, object] = {"fees": self.trading}
        owners |= dict.fromkeys(("timers", "entropy", "ids", "assumptions", "quirks"), self.ctx)
        names = State.__struct_fields__[1:]
        return {name: getattr(owners.get(name, self), name) for name in names}

    def begin_as(self, other: Exchange) -> None:
        """Share the initial, immutable part of another exchange's world."""
        self.instruments.begin_as(other.instruments)
        self.recurring.begin_as(other.recurring)
        self.games.begin(other.games.plan)

    # ---- across components

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.ctx.now

    def add_service_time(self, span: Span) -> None:
        """Add virtual time to the service time of the current answer."""
        self.ctx.service_time += span

    def enroll(self, firm: str, display_name: str, transferable: bool = True) -> tuple[str, str]:
        """Create a user of the firm and an empty account for a person.

        Return (participant, account).
        """
        user = self.firms.onboard(firm, display_name, transferable=transferable)
        self.trading.open_account(user.account)
        return user.name, user.account

    # ---- time and events

    def postpones(self, timer: Timer) -> bool:
        """Return whether a timer must wait for the end of maintenance (rule W7).

        It must from the instant on at which maintenance begins.
        """
        return timer.kind in POSTPONABLE and self.maintenance.begun(self.ctx.now)

    @property
    def timers(self) -> TimerHandlers:
        """Return the timer kinds that the components own, with their handlers.

        Raises an error if two components own the same kind.
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
                self.listeners.timers,
            )
        )
        # owned by trading, but with a consequence outside it
        owned[CLEARING_TIMER] = self._clear_trades
        return owned

    def _clear_trades(self, _timer: Timer) -> None:
        self.trading.clear()
        self.rebates.wait()

    def flush(self) -> None:
        """Apply the consequences of new events in other components until there are none left."""
        self.trading.flush()
        events, consequences = self.ctx.events, self._consequences
        while new := events[self._flushed :]:
            self._flushed = len(events)
            for event in new:
                consequence = consequences.get(type(event))
                if consequence is not None:
                    consequence(event)

    @property
    def settled(self) -> bool:
        """Whether all events were processed and published, and no answer is about to leave."""
        return (
            self._flushed == self.published == len(self.ctx.events)
            and not self.trading.books.unannounced
            and not self.awaited.ended
        )

    def _after_execution(self, event: Executed) -> None:
        """Release the synchronous answer that waits for this order, if any."""
        if self.awaited.any:
            self.awaited.on_execution(event.execution.order)

    def _after_settlement(self, event: Settled) -> None:
        """Settle the combos of which this instrument is a leg."""
        if self.combos.settled(event):
            self.trading.flush()

    def _after_state_change(self, event: StateChanged) -> None:
        """Settle a leg that terminates, for the sake of its combo."""
        if event.state is InstrumentState.TERMINATED and self.combos.has_leg(event.symbol):
            self.trading.listings.settle_leg(event.symbol)

    def take_events(self) -> list[Event]:
        """Return the events since the last call, in order."""
        events = self.ctx.events
        self.ctx.events = []
        self.published = self._flushed = 0
        return events

    # ---- state

    def save(self) -> State:
        """Return the whole state, not copied. Encode it before anything else changes."""
        saved = {name: component.save() for name, component in self._components.items()}
        return State(now=self.ctx.now, **saved)

    def load(self, state: State) -> None:
        """Restore a saved state."""
        self.ctx.now = state.now
        for name, component in self._components.items():
            component.load(getattr(state, name))
        self.take_events()
