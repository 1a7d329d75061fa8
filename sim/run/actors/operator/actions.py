"""All operator actions.

To add an action, write its function beside similar ones and declare it with `operator_action`. If
scenarios should have it, add a field to `Step`. `action.py` explains the declaration and what is
checked on import. Actions draw no random numbers, and neither faults nor rate limits apply to them.
"""

from __future__ import annotations

from itertools import islice

from sim.api.pipeline.inputs import Outcome
from sim.core.model.refusals import NotFound
from sim.run.actors.operator import accounts, activity, chaos, markets
from sim.run.actors.operator.action import Action, actions_of, check_actions
from sim.run.actors.operator.answers import Answer
from sim.run.engine.engine import Engine
from sim.world.format.suggestions import suggestion

ACTIONS = check_actions(
    action for module in (markets, activity, accounts, chaos) for action in actions_of(module)
)


COMPARED_MAX = 2_000  # symbols with which an unknown one is compared


def perform(engine: Engine, action: Action, entry: object, outcome: Outcome) -> Answer:
    """Perform an action as part of an input. Raises a refusal if it is impossible."""
    try:
        answer = action.perform(engine, entry)
    except NotFound as refusal:
        raise _with_nearest(engine, refusal) from None
    if isinstance(answer, dict):
        return answer
    outcome.effects += answer
    return {}


def _with_nearest(engine: Engine, refusal: NotFound) -> NotFound:
    """The refusal of an unknown symbol, with the nearest known symbol."""
    symbol = str((refusal.facts or {}).get("symbol", ""))
    if refusal.remedy or not symbol:
        return refusal
    symbols = (each.symbol for each in engine.exchange.instruments)
    near = suggestion(symbol, islice(symbols, COMPARED_MAX)).removeprefix("; ")
    refusal.remedy = near or "GET /_sim/v1/state/instruments lists them"
    return refusal


def act(
    engine: Engine, name: str, subject: str, body: dict[str, object], outcome: Outcome
) -> Answer:
    """Perform an action by name on a subject, with the body of a control call."""
    action = ACTIONS.get(name)
    if action is None:
        raise NotFound(f"unknown action {name!r}", rule="T1")
    return perform(engine, action, action.read(subject, body), outcome)
