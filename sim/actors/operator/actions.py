"""The table of everything that a tester or an operator can do to a running exchange.

To add an action, write its function beside its kin, give it a row here, and, if scenarios shall
have it, a field of `Step`. `action.py` says what a row means and what is checked on import.
Actions draw no randomness of their own, and are neither faulted nor limited.
"""

from __future__ import annotations

from sim.actors.operator import accounts, activity, chaos, markets
from sim.actors.operator.action import Action, Route, check_actions
from sim.actors.operator.answers import Answer
from sim.api.pipeline.inputs import Outcome
from sim.core.model.refusals import NotFound
from sim.engine.engine import Engine
from sim.scenario.control_entries import (
    FaultReference,
    PresetEntry,
    RedeliveryEntry,
    SettingEntry,
    StreamReference,
    TradeEntry,
    WindowReference,
)
from sim.scenario.steps import (
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
from sim.scenario.world_entries import InstrumentEntry, MaintenanceEntry, OrderEntry

_CASE = (
    '{"external_id": "u-1", "decision": "APPROVED", "status": "COMPLETED", "sub_status": "",'
    ' "participant_id": "firms/atlas/users/u-1",'
    ' "provisioned_account": "firms/atlas-fcm/accounts/u-1"}'
)

_TABLE = (
    # ---- markets
    Action(
        "instrument.create",
        InstrumentEntry,
        markets.create_instrument,
        Route(
            "POST /instruments",
            "list an instrument: an entry of a scenario's `world.instruments`",
            '{"symbol": "by-hand", "tick_size": "0.01", "state": "OPEN"}',
            '{"symbol": "by-hand", "state": "OPEN", "tick_size": "0.01", "price_scale": 100,'
            ' "fractional_qty_scale": 1, "minimum_trade_qty": 1,'
            ' "price_limit": {"low": "0.01", "high": "0.99"}, "start": "2026-09-08T18:00:00Z",'
            ' "expiration": "2026-10-08T18:00:00Z", "termination": "2026-10-15T18:00:00Z"}',
        ),
    ),
    Action(
        "instrument.state",
        StateStep,
        markets.change_state,
        Route(
            "POST /instruments/{symbol}/state",
            "move an instrument to a state, or back to its SCHEDULE",
            '{"state": "SUSPENDED"}',
            '{"symbol": "by-hand", "state": "SUSPENDED", "was": "OPEN"}',
        ),
        subject="symbol",
        step="state",
    ),
    Action(
        "instrument.settle",
        SettleStep,
        markets.settle,
        Route(
            "POST /instruments/{symbol}/settle",
            "settle an instrument at a price and pay; `paid` counts the positions",
            '{"price": "1"}',
            '{"symbol": "by-hand", "price": "1", "paid": 2}',
        ),
        subject="symbol",
        step="settle",
    ),
    Action(
        "trade.bust",
        TradeEntry,
        markets.bust_trade,
        Route(
            "POST /trades/{id}/bust",
            "undo a trade: contracts, cash and fees go back",
            answer='{"id": "T1", "symbol": "by-hand", "state": "BUSTED"}',
        ),
        subject="id",
        step="bust",
    ),
    Action(
        "order.place",
        OrderEntry,
        markets.place_order,
        Route(
            "POST /orders",
            "an order of a scripted participant: an `order` step",
            '{"as": "maker", "symbol": "by-hand", "side": "buy", "price": "0.45", "qty": "10"}',
            '{"order_id": "0A1B2C3D4E5F", "state": "ORDER_STATE_NEW", "filled": "0"}',
        ),
        step="order",
    ),
    Action("order.cancel", CancelStep, markets.cancel_orders, step="cancel"),
    # ---- what other people do
    Action(
        "price.tick",
        PriceStep,
        activity.tick,
        Route("POST /prices/{asset}", "publish an index tick", '{"price": "63000.5"}'),
        subject="asset",
        step="price",
    ),
    Action(
        "fair_price.set",
        FairPriceStep,
        activity.set_fair_price,
        Route(
            "POST /fair-prices/{symbol}",
            "change what scripted participants think an instrument is worth from now on",
            '{"price": "0.80"}',
        ),
        subject="symbol",
        step="fair_price",
    ),
    Action(
        "participant.switch",
        ParticipantStep,
        activity.switch_participant,
        Route(
            "PUT /participants/{name}",
            "stop a scripted participant, or let it go on",
            '{"active": false}',
            '{"name": "mm", "active": false}',
        ),
        subject="name",
        step="participant",
    ),
    Action(
        "event.update",
        EventStep,
        activity.update_event,
        Route(
            "POST /events/{slug}",
            "report a game's score and state: an `event` step; {slug} may be its number",
            '{"home_score": 1, "away_score": 0, "period": "Q1", "live": true}',
            '{"slug": "nba-bos-nyk-2026-09-08", "home_score": 1, "away_score": 0,'
            ' "period": "Q1", "live": true}',
        ),
        subject="slug",
        step="event",
    ),
    # ---- accounts
    Action(
        "account.fund",
        FundStep,
        accounts.fund,
        Route(
            "POST /accounts/{account*}/fund",
            "money for an account, at once or through a source: a `fund` step",
            '{"amount": "5.00"}',
            '{"transaction": "0A1B2C3D4E5F", "account": "firms/atlas-fcm/accounts/mara-voss",'
            ' "amount": "5.00", "state": "COMPLETED", "review": "NONE", "source": "",'
            ' "balance": "10005.00"}',
        ),
        subject="account",
        step="fund",
    ),
    Action(
        "funding.decide",
        FundingStep,
        accounts.decide_funding,
        Route(
            "POST /funding/{transaction}",
            "complete, cancel or refund a funding transaction",
            '{"state": "refunded", "amount": "2.50"}',
            '{"transaction": "0A1B2C3D4E5F", "account": "firms/atlas-fcm/accounts/mara-voss",'
            ' "amount": "-2.50", "state": "COMPLETED", "review": "NONE", "source": "atlas-bank",'
            ' "balance": "10002.50"}',
        ),
        subject="transaction",
    ),
    Action(
        "kyc.decide",
        KycStep,
        accounts.decide_verification,
        Route(
            "POST /kyc/{external_id}/decision",
            "approve or reject a verification",
            '{"decision": "approve"}',
            _CASE,
        ),
        subject="external_id",
        step="kyc",
    ),
    Action(
        "kyc.document",
        KycStep,
        accounts.decide_verification,
        Route(
            "POST /kyc/{external_id}/document",
            "report the upload of a document: uploaded or failed",
            '{"result": "uploaded"}',
            _CASE,
        ),
        subject="external_id",
        step="kyc",
    ),
    # ---- the service
    Action(
        "fault.add",
        FaultEntry,
        chaos.add_fault,
        Route(
            "POST /faults",
            "inject a fault: an entry of a scenario's `faults`",
            '{"match": {"operation": "CreateOrder", "nth": 2}, "act": {"status": 503}}',
            '{"id": "f1"}',
        ),
        step="fault",
    ),
    Action(
        "fault.remove",
        FaultReference,
        chaos.remove_fault,
        Route("DELETE /faults/{id}", "remove a fault"),
        subject="id",
        step="clear_fault",
    ),
    Action(
        "maintenance.add",
        MaintenanceEntry,
        chaos.add_maintenance,
        Route(
            "POST /maintenance",
            "add a one-off maintenance window; at once without `begins`",
            '{"begins": "+5h", "length": "10m"}',
            '{"name": "window-1", "begins": "2026-09-08T23:00:00Z",'
            ' "ends": "2026-09-08T23:10:00Z"}',
        ),
        step="maintenance",
    ),
    Action(
        "maintenance.cancel",
        WindowReference,
        chaos.cancel_maintenance,
        Route("DELETE /maintenance/{name}", "call a one-off window off, or end it now"),
        subject="name",
    ),
    Action(
        "preset.set",
        PresetEntry,
        chaos.set_preset,
        Route(
            "PUT /preset",
            "set all quirks and faults at once: ideal, realistic, hostile",
            '{"name": "ideal"}',
            '{"name": "ideal", "summary": "nothing goes wrong", "faults": 0}',
        ),
        step="preset",
    ),
    Action(
        "quirk.set",
        SettingEntry,
        chaos.set_quirk,
        Route(
            "PUT /quirks/{name}",
            "set the odds of a quirk: always, never or a fraction",
            '{"value": "1/2"}',
            '{"name": "webhook_duplicates", "value": "1/2", "default": "1/20"}',
        ),
        subject="name",
        step="quirk",
    ),
    Action(
        "assumption.set",
        SettingEntry,
        chaos.set_assumption,
        Route(
            "PUT /assumptions/{name}",
            "set the value of an assumption",
            '{"value": "2m"}',
            '{"name": "clearing.delay", "value": "2m", "default": "60s"}',
        ),
        subject="name",
        step="assumption",
    ),
    Action(
        "webhook.redeliver",
        RedeliveryEntry,
        chaos.redeliver_webhooks,
        Route(
            "POST /webhooks/{firm*}/redeliver",
            "send a firm's unacknowledged events again",
            answer='{"redelivered": ["evt_1"]}',
        ),
        subject="firm",
    ),
    Action(
        "stream.close",
        StreamReference,
        chaos.close_stream,
        Route("DELETE /streams/{id}", "end a stream with UNAVAILABLE"),
        subject="id",
    ),
)

ACTIONS = check_actions(_TABLE)


def perform(engine: Engine, action: Action, entry: object, outcome: Outcome) -> Answer:
    """Perform an action as part of an input; refusals say what is wrong."""
    answer = action.perform(engine, entry)
    if isinstance(answer, dict):
        return answer
    outcome.effects += answer
    return {}


def act(
    engine: Engine, name: str, subject: str, body: dict[str, object], outcome: Outcome
) -> Answer:
    """Perform the action of a name on a subject, with the body of a control call."""
    action = ACTIONS.get(name)
    if action is None:
        raise NotFound(f"there is no action {name!r}", rule="control")
    return perform(engine, action, action.read(subject, body), outcome)
