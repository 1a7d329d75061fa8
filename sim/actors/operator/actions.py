"""What a tester or an operator can do to a running exchange, by name: the control plane and the
steps of a scenario do the same things here.

Bodies are entries of the scenario format, so both are written alike and refused alike. Actions draw
no randomness of their own, and are neither faulted nor limited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim.actors.operator.bodies import Answer, entry_of
from sim.actors.operator.chaos import (
    add_fault,
    add_maintenance,
    cancel_maintenance,
    remove_fault,
    set_assumption,
    set_preset,
    set_quirk,
)
from sim.actors.operator.markets import (
    bust_trade,
    change_state,
    create_instrument,
    place_order,
    settle,
)
from sim.actors.operator.people import (
    decide_funding,
    decide_verification,
    fund,
    set_fair_price,
    switch_participant,
    tick,
    update_event,
)
from sim.api.pipeline.inputs import Outcome
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.scenario.steps import (
    EventStep,
    FairPriceStep,
    FaultEntry,
    FundingStep,
    FundStep,
    KycStep,
    ParticipantStep,
    PriceStep,
    SettleStep,
    StateStep,
)
from sim.scenario.world_entries import InstrumentEntry, MaintenanceEntry, OrderEntry

if TYPE_CHECKING:
    from sim.simulation import Simulation

Action = Callable[["Simulation", str, dict[str, object], Outcome], Answer]


def _value(body: dict[str, object]) -> object:
    if set(body) != {"value"}:
        raise InvalidRequest('the body is {"value": …}', rule="control")
    return body["value"]


def _close_stream(sim: Simulation, subject: str, outcome: Outcome) -> Answer:
    if not subject.isdecimal():
        raise InvalidRequest("a stream's id is a number", rule="control")
    outcome.effects += sim.hub.close(int(subject), 14, "closed by the tester")
    return {}


ACTIONS: dict[str, Action] = {
    "instrument.create": lambda sim, subject, body, outcome: create_instrument(
        sim, entry_of(InstrumentEntry, body)
    ),
    "instrument.state": lambda sim, subject, body, outcome: change_state(
        sim, entry_of(StateStep, body, symbol=subject)
    ),
    "instrument.settle": lambda sim, subject, body, outcome: settle(
        sim, entry_of(SettleStep, body, symbol=subject)
    ),
    "trade.bust": lambda sim, subject, body, outcome: bust_trade(sim, subject),
    "order.place": lambda sim, subject, body, outcome: place_order(sim, entry_of(OrderEntry, body)),
    "price.tick": lambda sim, subject, body, outcome: tick(
        sim, entry_of(PriceStep, body, asset=subject)
    ),
    "fair_price.set": lambda sim, subject, body, outcome: set_fair_price(
        sim, entry_of(FairPriceStep, body, symbol=subject)
    ),
    "participant.switch": lambda sim, subject, body, outcome: switch_participant(
        sim, entry_of(ParticipantStep, body, name=subject)
    ),
    "event.update": lambda sim, subject, body, outcome: update_event(
        sim, entry_of(EventStep, body, slug=subject)
    ),
    "account.fund": lambda sim, subject, body, outcome: fund(
        sim, entry_of(FundStep, body, account=subject)
    ),
    "funding.decide": lambda sim, subject, body, outcome: decide_funding(
        sim, entry_of(FundingStep, body, transaction=subject)
    ),
    "kyc.decide": lambda sim, subject, body, outcome: decide_verification(
        sim, entry_of(KycStep, body, external_id=subject)
    ),
    "kyc.document": lambda sim, subject, body, outcome: decide_verification(
        sim,
        entry_of(
            KycStep,
            {"document" if key == "result" else key: value for key, value in body.items()},
            external_id=subject,
        ),
    ),
    "fault.add": lambda sim, subject, body, outcome: add_fault(sim, entry_of(FaultEntry, body)),
    "fault.remove": lambda sim, subject, body, outcome: remove_fault(sim, subject),
    "quirk.set": lambda sim, subject, body, outcome: set_quirk(sim, subject, _value(body)),
    "maintenance.add": lambda sim, subject, body, outcome: add_maintenance(
        sim, entry_of(MaintenanceEntry, body)
    ),
    "maintenance.cancel": lambda sim, subject, body, outcome: cancel_maintenance(sim, subject),
    "preset.set": lambda sim, subject, body, outcome: set_preset(sim, body.get("name")),
    "assumption.set": lambda sim, subject, body, outcome: set_assumption(
        sim, subject, _value(body)
    ),
    "webhook.redeliver": lambda sim, subject, body, outcome: {
        "redelivered": sim.exchange.webhooks.redeliver(subject)
    },
    "stream.close": lambda sim, subject, body, outcome: _close_stream(sim, subject, outcome),
}


def act(
    sim: Simulation, action: str, subject: str, body: dict[str, object], outcome: Outcome
) -> Answer:
    """Do the action of a name. Refusals say what is wrong."""
    found = ACTIONS.get(action)
    if found is None:
        raise NotFound(f"there is no action {action!r}", rule="control")
    return found(sim, subject, body, outcome)
