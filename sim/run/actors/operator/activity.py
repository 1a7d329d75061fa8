"""Operator actions on the market's surroundings: index prices, simulated traders, games."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict

from sim.core.model.games import Goal
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.run.actors.operator.action import operator_action
from sim.run.actors.operator.answers import Answer
from sim.run.actors.participants.fair_prices import UNIT
from sim.run.actors.participants.participants import participants_of
from sim.run.engine.engine import Engine
from sim.world.format.steps import EventStep, FairPriceStep, ParticipantStep, PriceStep
from sim.world.start.orders import in_units

_SCALARS = ("home_score", "away_score", "period", "elapsed", "live", "ended", "advances", "result")


@operator_action("price.tick", "POST /prices/{asset}", step="price")
def tick(engine: Engine, entry: PriceStep) -> Answer:
    """Publish an index tick of an asset now. An unknown asset is created."""
    exchange = engine.exchange
    if entry.at is not None and entry.at < exchange.now:
        remedy = "leave out `at`: the tick is published now"
        raise InvalidRequest("a tick cannot be in the past", rule="T1", remedy=remedy)
    exchange.assets.tick(entry.asset, entry.price, entry.at)
    return {}


@operator_action("fair_price.set", "POST /fair-prices/{symbol}", step="fair_price")
def set_fair_price(engine: Engine, entry: FairPriceStep) -> Answer:
    """Set the fair price of an instrument."""
    price = in_units(entry.price, UNIT, "price")
    if not 0 < price < UNIT:
        message = f"a fair price must be between 0 and 1 dollar, not {entry.price}"
        raise InvalidRequest(message, rule="T1")
    engine.exchange.instruments.require(entry.symbol)
    participants_of(engine).set_fair_price(entry.symbol, price)
    return {}


@operator_action("participant.switch", "PUT /participants/{name}", step="participant")
def switch_participant(engine: Engine, entry: ParticipantStep) -> Answer:
    """Stop or resume a simulated trader."""
    participants_of(engine).switch(entry.name, entry.active)
    return {"name": entry.name, "active": entry.active}


@operator_action("event.update", "POST /events/{slug}", step="event")
def update_event(engine: Engine, entry: EventStep) -> Answer:
    """Report the state of a game. When it has ended, its markets close, and settle if its
    result decides them.
    """
    exchange = engine.exchange
    event = engine.world.reference.event_called(entry.slug)
    if event is None:
        remedy = "use the slug or number of an event; GET /v1/events of the gateway lists them"
        raise NotFound(f"there is no event {entry.slug}", rule="T1", remedy=remedy)
    facts = _facts(entry)
    game = exchange.game_reports.report_game(event.slug, **facts)
    values = ((name, getattr(game, name)) for name in facts)
    answer: Answer = {"slug": event.slug}
    answer |= {name: to_builtins(value) for name, value in values if value is not None}
    if game.ended:
        answer["settles"] = exchange.game_reports.end_game(event.slug)
    return answer


def _facts(entry: EventStep) -> dict[str, Any]:
    """The values that an entry states about a game, by field of the game."""
    facts: dict[str, Any] = {name: getattr(entry, name) for name in _SCALARS}
    if entry.periods:
        facts["periods"] = entry.periods
    if entry.players:
        facts["players"] = entry.players
    if entry.goals is not None:
        facts["goals"] = tuple(Goal(**asdict(goal)) for goal in entry.goals)
    return facts
