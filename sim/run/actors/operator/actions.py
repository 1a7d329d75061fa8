"""The table of all operator actions.

To add an action, write its function beside similar ones and add a row here. If scenarios should
have it, add a field to `Step`. `action.py` explains the columns and what is checked on import.
Actions draw no random numbers, and neither faults nor rate limits apply to them.
"""

from __future__ import annotations

from itertools import islice

from sim.api.pipeline.inputs import Outcome
from sim.core.model.refusals import NotFound
from sim.run.actors.operator import accounts, activity, chaos, markets
from sim.run.actors.operator.action import Action, check_actions
from sim.run.actors.operator.answers import Answer
from sim.run.engine.engine import Engine
from sim.world.format.control_entries import (
    FaultReference,
    PresetEntry,
    ReadingEntry,
    RedeliveryEntry,
    SettingEntry,
    StreamReference,
    TradeEntry,
    WindowReference,
)
from sim.world.format.party_entries import ReceiverStep
from sim.world.format.steps import (
    CancelStep,
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
from sim.world.format.suggestions import suggestion
from sim.world.format.world_entries import InstrumentEntry, MaintenanceEntry, OrderEntry

_TABLE = (
    # ---- markets
    Action("instrument.create", InstrumentEntry, markets.create_instrument, "POST /instruments"),
    Action(
        "instrument.state",
        StateStep,
        markets.change_state,
        "POST /instruments/{symbol}/state",
        "state",
    ),
    Action(
        "instrument.settle",
        SettleStep,
        markets.settle,
        "POST /instruments/{symbol}/settle",
        "settle",
    ),
    Action("trade.bust", TradeEntry, markets.bust_trade, "POST /trades/{id}/bust", "bust"),
    Action("order.place", OrderEntry, markets.place_order, "POST /orders", "order"),
    Action("order.cancel", CancelStep, markets.cancel_orders, step="cancel"),
    # ---- prices, traders and games
    Action("price.tick", PriceStep, activity.tick, "POST /prices/{asset}", "price"),
    Action(
        "fair_price.set",
        FairPriceStep,
        activity.set_fair_price,
        "POST /fair-prices/{symbol}",
        "fair_price",
    ),
    Action(
        "participant.switch",
        ParticipantStep,
        activity.switch_participant,
        "PUT /participants/{name}",
        "participant",
    ),
    Action("event.update", EventStep, activity.update_event, "POST /events/{slug}", "event"),
    # ---- accounts
    Action("account.fund", FundStep, accounts.fund, "POST /accounts/{account*}/fund", "fund"),
    Action("funding.decide", FundingStep, accounts.decide_funding, "POST /funding/{transaction}"),
    Action(
        "kyc.decide",
        KycStep,
        accounts.decide_verification,
        "POST /kyc/{external_id}/decision",
        "kyc",
    ),
    Action(
        "kyc.document",
        KycStep,
        accounts.decide_verification,
        "POST /kyc/{external_id}/document",
        "kyc",
    ),
    # ---- the service
    Action("fault.add", FaultEntry, chaos.add_fault, "POST /faults", "fault"),
    Action(
        "fault.remove", FaultReference, chaos.remove_fault, "DELETE /faults/{id}", "clear_fault"
    ),
    Action(
        "maintenance.add",
        MaintenanceEntry,
        chaos.add_maintenance,
        "POST /maintenance",
        "maintenance",
    ),
    Action(
        "maintenance.cancel",
        WindowReference,
        chaos.cancel_maintenance,
        "DELETE /maintenance/{name}",
    ),
    Action("preset.set", PresetEntry, chaos.set_preset, "PUT /preset", "preset"),
    Action("reading.set", ReadingEntry, chaos.set_reading, "PUT /reading", "reading"),
    Action("quirk.set", SettingEntry, chaos.set_quirk, "PUT /quirks/{name}", "quirk"),
    Action(
        "assumption.set",
        SettingEntry,
        chaos.set_assumption,
        "PUT /assumptions/{name}",
        "assumption",
    ),
    Action(
        "receiver.change", ReceiverStep, chaos.change_receiver, "PUT /receivers/{name}", "receiver"
    ),
    Action(
        "webhook.redeliver",
        RedeliveryEntry,
        chaos.redeliver_webhooks,
        "POST /webhooks/{firm*}/redeliver",
    ),
    Action("stream.close", StreamReference, chaos.close_stream, "DELETE /streams/{id}"),
)

ACTIONS = check_actions(_TABLE)


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
