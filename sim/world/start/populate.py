"""Puts a world into an empty exchange: settings, listings, firms, accounts,
games, resting orders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from sim.core.accounts.fee_schedule import FeeSchedule
from sim.core.catalogue import observations
from sim.core.exchange import Exchange
from sim.core.model.enums import LedgerEntryType
from sim.core.model.funding_records import FundingType
from sim.core.model.games import Game
from sim.core.model.refusals import InvalidRequest
from sim.core.service import presets
from sim.kernel.instants import Instant, parse_span
from sim.world.format.fees_entries import fee_rows, rebate_steps
from sim.world.format.world_entries import BookEntry, MaintenanceEntry
from sim.world.start.orders import book_commands, order_command
from sim.world.start.world import FACTS, World

if TYPE_CHECKING:
    from sim.world.format.scenario import Scenario
    from sim.world.start.accounts import OpeningParties


def populate(exchange: Exchange, world: World, scenario: Scenario) -> None:
    """Put the world of a scenario into an empty exchange. Draws no random numbers
    except for identifiers.
    """
    _set_switches(exchange, scenario)
    _list_everything(exchange, world)
    enrol(exchange, world.parties)
    for period in world.periods:
        exchange.incentives.add(period)
    for reward in world.rewards:
        exchange.incentives.grant(structs.replace(reward))
    _report_games(exchange, world, scenario)
    for book in world.books:
        quote(exchange, world, book)
    for order in world.orders:
        # A run may begin later than its scenario says: orders that expired before are skipped.
        if order.good_till is not None and order.good_till <= exchange.now:
            continue
        exchange.trading.order_service.enter(order_command(exchange, world.parties, order))
    for entry in scenario.faults:
        exchange.faults.add(entry)
    exchange.maintenance.start()
    for window in scenario.maintenance:
        # A run may begin later than its scenario says: windows that have ended by then are skipped.
        if not isinstance(window.begins, int) or window.begins + window.length > exchange.now:
            add_maintenance(exchange, window)


def _set_switches(exchange: Exchange, scenario: Scenario) -> None:
    """Set assumptions, fees, quirks and limits; more specific settings come later."""
    ctx = exchange.ctx
    if scenario.preset:
        preset = presets.PRESETS[scenario.preset]
        presets.apply(preset, ctx.assumptions, ctx.quirks, exchange.faults)
    if scenario.reading != observations.DOCUMENTED:
        observations.apply(scenario.reading, ctx.assumptions, ctx.quirks)
    for assumption, value in scenario.assumptions.items():
        ctx.assumptions.change(assumption, value)
    for quirk, odds in scenario.quirks.items():
        ctx.quirks.change(quirk, odds)
    exchange.trading.fees.schedule = FeeSchedule(fee_rows(scenario.fees))
    exchange.rebates.change_steps(rebate_steps(scenario.fees))
    for name, limit in scenario.limits.items():
        exchange.rate_limits.replace(name, limit)


def _list_everything(exchange: Exchange, world: World) -> None:
    """List assets and instruments, and set the games to the state of the default world."""
    exchange.reference = world.reference
    exchange.games.begin(world.results)
    for event in world.reference.events[: world.reference.base]:
        if (score := event.score) is not None:
            game = Game(
                home_score=score["home"],
                away_score=score["away"],
                period=event.period,
                live=event.live,
                ended=event.ended,
            )
            exchange.games.set_start(event.slug, game)
    for asset in world.assets:
        exchange.assets.add(asset)
    for instrument in world.instruments:
        exchange.trading.listings.list_instrument(instrument)
    exchange.trading.listings.set_world_start(world.dormant)
    recurring = world.reference.recurring
    if recurring.series:
        exchange.recurring.begin(recurring.series, recurring.instrument)


def _report_games(exchange: Exchange, world: World, scenario: Scenario) -> None:
    """Report the state of the games in the scenario, and the ids of partners."""
    for game in scenario.world.events:
        facts = {name: value for name in FACTS if (value := getattr(game, name)) is not None}
        if not facts and world.reference.is_reported_game(game.slug):
            # A game that the scenario adds is not simulated; its state is as reported.
            facts = {"live": False}
        if facts:
            exchange.game_reports.report_game(game.slug, **facts)
        world.reference.partner_events.update(dict.fromkeys(game.partners.items(), game.slug))


def enrol(exchange: Exchange, parties: OpeningParties) -> None:
    """Register firms with users and retail keys, and open every account with its balance."""
    for firm in parties.firms:
        exchange.firms.add_firm(
            structs.replace(firm, users=[structs.replace(user) for user in firm.users])
        )
        for name, count in firm.limits.items():
            exchange.rate_limits.raise_limit(firm.name, name, count)
    for key in parties.api_keys:
        exchange.firms.add_api_key(key)
        for name, count in key.limits.items():
            exchange.rate_limits.raise_limit(key.key_id, name, count)
    for account in parties.accounts:
        kind = "clearing" if account.clearing else "trading"
        exchange.trading.open_account(
            account.name, kind=kind, collateral_return=account.collateral_return
        )
        if account.prior_volume:
            exchange.rebates.note(account.name, account.prior_volume)
        if account.opening_balance:
            exchange.funding.move(
                account.name,
                account.opening_balance,
                FundingType.DEPOSIT,
                LedgerEntryType.DEPOSIT,
                "opening balance",
            )


def quote(exchange: Exchange, world: World, book: BookEntry) -> None:
    """Place resting orders around a price: on each side one for each size, one tick apart."""
    instrument = exchange.instruments.require(book.symbol)
    user = world.parties.require_user(book.as_)
    for command in book_commands(instrument, user, book):
        exchange.trading.order_service.enter(command)


class AddedWindow(NamedTuple):
    """A window that was added: its name, beginning and end."""

    name: str
    begins: Instant
    ends: Instant


def add_maintenance(exchange: Exchange, entry: MaintenanceEntry) -> AddedWindow:
    """Add a one-off window. Without `begins` it begins at once, without a warning (rule W9)."""
    maintenance = exchange.maintenance
    begins = exchange.now if entry.begins is None else entry.begins
    if isinstance(begins, str):
        begins = exchange.now + parse_span(begins)
    ends = begins + entry.length
    try:
        if entry.begins is None:
            name = maintenance.pause(entry.length)
        else:
            name = maintenance.add(begins, ends, lead=entry.lead)
    except ValueError as error:
        raise InvalidRequest(str(error), rule="T1") from error
    return AddedWindow(name, begins, ends)
