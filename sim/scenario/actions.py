"""What a tester or an operator can do to a running exchange, by name: the control plane and the steps of a scenario do the same things here.

Bodies are entries of the scenario format, so both are written alike and refused alike. Actions draw no randomness of their own, and are neither faulted nor
limited.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Values
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, json, to_builtins

from sim.api.traffic import Outcome
from sim.core.commands import CancelOrder, PlaceOrder
from sim.core.exchange import Exchange
from sim.core.funding import sources_of
from sim.core.funding_records import FundingSource, FundingState, FundingTransaction, FundingType
from sim.core.games import Goal
from sim.core.instruments import Instrument
from sim.core.kyc import KycCase
from sim.core.presets import PRESETS
from sim.core.presets import apply as apply_preset
from sim.core.quantities import CASH_SCALE, CENT, Cash, NotADecimal, cash_text, decimal_text, scaled
from sim.core.refusals import AlreadyExists, Conflict, InvalidRequest, NotFound
from sim.core.vocabulary import Channel, InstrumentState, LedgerEntryType, OrderType, Side
from sim.kernel.instants import format_instant, parse_span
from sim.scenario.document import Mapping, Node, Problem, ScenarioError, Sequence, read_text
from sim.scenario.entries import InstrumentEntry, MaintenanceEntry, OrderEntry
from sim.scenario.fair_prices import UNIT
from sim.scenario.fault_names import unknown_operation
from sim.scenario.listing import ListingError, list_instrument
from sim.scenario.parties import SANDBOX_FIRM
from sim.scenario.shapes import record
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

if TYPE_CHECKING:
    from sim.scenario.parties import Parties
    from sim.simulation import Simulation

T = TypeVar("T", bound=Struct)
Answer = dict[str, Any]


def entry_of(kind: type[T], body: Values[str, object], **fixed: object) -> T:
    """An entry of the scenario format from a JSON body. InvalidRequest names every problem."""
    problems: list[Any] = []
    try:
        node = read_text(json.encode({**body, **fixed}).decode(), "body")
    except ScenarioError as error:
        raise InvalidRequest(str(error)) from error
    found = record(kind).read(node, problems)
    if problems:
        told = "; ".join(f"{_key_at(node, problem)}{problem.message}" for problem in problems)
        raise InvalidRequest(told, rule="control", remedy="`sim schema` describes every entry")
    return found  # type: ignore[no-any-return]


def _key_at(node: Node, problem: Problem, path: str = "") -> str:
    """`tick_size: ` where the value of that key of a body is what a problem is about: a body has no lines to point at."""
    if path and node.at == problem[:3]:
        return f"{path}: "
    if isinstance(node, Mapping):
        inner = ((f"{path}.{key}" if path else key, item) for key, item in node.items.items())
    elif isinstance(node, Sequence):
        inner = ((f"{path}[{index}]", item) for index, item in enumerate(node.items))
    else:
        return ""
    return next((found for name, item in inner if (found := _key_at(item, problem, name))), "")


# ---- instruments


def create_instrument(sim: Simulation, entry: InstrumentEntry) -> Answer:
    """List an instrument; it appears on every surface at once."""
    if entry.symbol in sim.exchange.instruments:
        raise AlreadyExists(f"{entry.symbol} is listed already", rule="control")
    try:
        instrument = list_instrument(entry, sim.now)
    except ListingError as error:
        raise InvalidRequest(str(error), rule="control") from error
    instrument = sim.world.add(instrument, entry, sim.now)
    sim.exchange.reference = sim.world.reference
    sim.exchange.trading.list_instrument(instrument)
    return shown_instrument(sim.exchange, instrument)


def shown_instrument(exchange: Exchange, instrument: Instrument) -> Answer:
    """Terms and state of an instrument."""
    return {
        "symbol": instrument.symbol,
        "state": exchange.trading.state(instrument.symbol).name,
        "tick_size": decimal_text(instrument.tick, instrument.price_scale),
        "price_scale": instrument.price_scale,
        "fractional_qty_scale": instrument.qty_scale,
        "minimum_trade_qty": instrument.min_qty,
        "price_limit": {
            "low": decimal_text(instrument.price_low, instrument.price_scale),
            "high": decimal_text(instrument.price_high, instrument.price_scale),
        },
        "start": format_instant(instrument.start),
        "expiration": format_instant(instrument.expiration),
        "termination": format_instant(instrument.termination),
    }


def change_state(sim: Simulation, step: StateStep) -> Answer:
    """Move an instrument to a state by hand, or let it follow its schedule again. IllegalTransition for an edge that does not exist."""
    trading = sim.exchange.trading
    sim.exchange.instruments.require(step.symbol)
    was = trading.change_state(step.symbol, None if step.state == "SCHEDULE" else InstrumentState[step.state])
    return {"symbol": step.symbol, "state": trading.state(step.symbol).name, "was": was.name}


def settle(sim: Simulation, step: SettleStep) -> Answer:
    """Set the settlement price and pay at once; an open instrument is closed first."""
    instrument = sim.exchange.instruments.require(step.symbol)
    price = _scaled(step.price, instrument.price_scale, "price")
    if not 0 <= price <= instrument.price_scale:
        raise InvalidRequest(f"a settlement price lies between 0 and 1 dollar, not {step.price}", rule="L26")
    paid = sim.exchange.trading.settle(step.symbol, price, text=step.text)
    return {"symbol": step.symbol, "price": decimal_text(price, instrument.price_scale), "paid": paid}


# ---- orders


def place_order(sim: Simulation, entry: OrderEntry, name: str = "") -> Answer:
    """An order of a scripted participant or of any user."""
    order = sim.exchange.trading.place(order_command(sim.exchange, sim.world.parties, entry, name))
    scale = order.qty_scale
    return {"order_id": order.id, "state": f"ORDER_STATE_{order.state.name}", "filled": decimal_text(order.cum_qty, scale)}


def order_command(exchange: Exchange, parties: Parties, entry: OrderEntry, name: str = "") -> PlaceOrder:
    """The command an order entry means."""
    instrument = exchange.instruments.require(entry.symbol)
    user = parties.user(entry.as_)
    if user is None:
        raise NotFound(f"nobody is called {entry.as_}", rule="control", remedy="maker, taker, noise, or firms/<firm>/users/<user>")
    clord_id = entry.clord_id or name
    return PlaceOrder(
        symbol=entry.symbol,
        account=user.account,
        participant=user.name,
        side=Side(entry.side),
        qty=_scaled(entry.qty, instrument.qty_scale, "qty") if entry.qty else 0,
        price=_scaled(entry.price, instrument.price_scale, "price") if entry.price else 0,
        type=OrderType(entry.type),
        tif=entry.tif,
        clord_id=clord_id,
        channel=Channel.SCRIPT,
        deferred=True,
        stop_price=_scaled(entry.stop_price, instrument.price_scale, "stop_price") if entry.stop_price else 0,
        min_qty=_scaled(entry.min_qty, instrument.qty_scale, "min_qty") if entry.min_qty else 0,
        cash_qty=_scaled(entry.cash, instrument.price_scale, "cash") if entry.cash else 0,
        all_or_none=entry.all_or_none,
        post_only=entry.post_only,
        good_till=entry.good_till,
        smp_id=user.name if user.name.startswith(f"{SANDBOX_FIRM}/") else "",  # scripted participants never trade with themselves
        submitter=user.name,
    )


def cancel_orders(sim: Simulation, step: CancelStep) -> Answer:
    """Take out one order by its client order id, or all of a participant's."""
    user = sim.world.parties.user(step.as_)
    if user is None:
        raise NotFound(f"nobody is called {step.as_}", rule="control")
    trading = sim.exchange.trading
    if not step.all:
        command = CancelOrder(accounts=(user.account,), participant=user.name, clord_id=step.order)
        return {"canceled": [trading.cancel(command).id]}
    found = trading.orders.open_of((user.account,), (step.symbol,) if step.symbol else ())
    return {"canceled": [trading.cancel(CancelOrder(accounts=(user.account,), participant=user.name, order_id=order.id)).id for order in found]}


# ---- money, prices, games, people


def fund(sim: Simulation, step: FundStep) -> Answer:
    """Pay dollars into an account, or out of it with a minus sign; at most two decimals (§8). Through a funding source it takes its course."""
    account = sim.account_named(step.account)
    amount = _cents(step.amount)
    funding, trading = sim.exchange.funding, sim.exchange.trading
    if step.source:
        made = funding.begin(account, amount, _source(sim.exchange, account, step.source), step.course)
    elif amount < 0 and trading.buying_power(account) < -amount:
        raise Conflict(f"{account} has only {cash_text(trading.buying_power(account))} to pay out", rule="P6")
    elif amount >= 0:
        made = funding.move(account, amount, FundingType.DEPOSIT, LedgerEntryType.DEPOSIT, "by hand")
    else:
        made = funding.move(account, amount, FundingType.WITHDRAWAL, LedgerEntryType.WITHDRAWAL, "by hand")
    return {**shown_funding(made), "balance": cash_text(trading.ledger.balance(account))}


def shown_funding(found: FundingTransaction) -> Answer:
    """A funding transaction as the control plane shows it; a withdrawal has a minus sign."""
    return {
        "transaction": found.id,
        "account": found.account,
        "amount": cash_text(found.amount if found.credit else -found.amount),
        "state": found.state.name,
        "review": found.review.name,
        "source": found.source,
    }


def decide_funding(sim: Simulation, step: FundingStep) -> Answer:
    """Complete, cancel or refund a transaction through a source."""
    funding = sim.exchange.funding
    if step.state is FundingState.REFUNDED:
        found = funding.refund(step.transaction, None if step.amount is None else _cents(step.amount))
    elif step.amount is not None:
        raise InvalidRequest("amount belongs to a refund", rule="control")
    else:
        found = funding.decide(step.transaction, step.state)
    return {**shown_funding(found), "balance": cash_text(sim.exchange.trading.ledger.balance(found.account))}


def _source(exchange: Exchange, account: str, name: str) -> FundingSource:
    firm = exchange.firms.owner_of(account)
    sources = {source.id: source for source in sources_of(firm)} if firm else {}
    if name not in sources:
        known = ", ".join(sources) or "none: it belongs to no firm"
        raise NotFound(f"{account} has no funding source {name!r}", rule="control", remedy=f"its sources: {known}")
    return sources[name]


def _cents(text: str) -> Cash:
    amount = _scaled(text, CASH_SCALE, "amount")
    if amount % CENT:
        raise InvalidRequest("transfers have at most 2 decimal places", rule="S8-6")
    return amount


def tick(sim: Simulation, step: PriceStep) -> Answer:
    """An index tick of an asset now; an asset never seen before is created."""
    sim.exchange.assets.tick(step.asset, step.price)
    return {}


def set_fair_price(sim: Simulation, step: FairPriceStep) -> Answer:
    """What scripted participants think an instrument worth, from now on."""
    price = _scaled(step.price, UNIT, "price")
    if not 0 < price < UNIT:
        raise InvalidRequest(f"a fair price lies between 0 and 1 dollar, not {step.price}", rule="control")
    sim.exchange.instruments.require(step.symbol)
    sim.participants.news(step.symbol, price)
    return {}


def switch_participant(sim: Simulation, step: ParticipantStep) -> Answer:
    """Stop a scripted participant, or let it go on."""
    sim.participants.switch(step.name, step.active)
    return {"name": step.name, "active": step.active}


def update_event(sim: Simulation, step: EventStep) -> Answer:
    """How a game stands."""
    if sim.world.reference.event_named(step.slug) is None:
        raise NotFound(f"no event is called {step.slug}", rule="control")
    facts: dict[str, Any] = {name: getattr(step, name) for name in ("home_score", "away_score", "period", "elapsed", "live", "ended", "advances", "result")}
    facts |= {name: found for name, found in (("periods", step.periods), ("players", step.players)) if found}
    if step.goals is not None:
        facts["goals"] = tuple(Goal(team=goal.team, minute=goal.minute, stoppage=goal.stoppage) for goal in step.goals)
    game = sim.exchange.games.update(step.slug, **facts)
    answer = {"slug": step.slug, **{name: to_builtins(value) for name in facts if (value := getattr(game, name)) is not None}}
    return answer | {"settles": sim.exchange.end_game(step.slug)} if game.ended else answer


def decide_verification(sim: Simulation, step: KycStep) -> Answer:
    """A compliance decision or a document upload by hand."""
    kyc = sim.exchange.kyc
    case = kyc.document(step.external_id, step.document) if step.document else kyc.decide(step.external_id, step.decision)
    return shown_case(case)


def shown_case(case: KycCase) -> Answer:
    """A verification as the control plane shows it."""
    return {
        "external_id": case.external_id,
        "decision": case.decision,
        "status": case.status,
        "sub_status": case.sub_status,
        "participant_id": case.participant,
        "provisioned_account": case.provisioned_account,
    }


# ---- chaos


def add_fault(sim: Simulation, entry: FaultEntry) -> Answer:
    """Put a fault in force."""
    wrong = unknown_operation(entry.match.operation)
    if wrong:
        raise InvalidRequest(wrong, rule="control", remedy="`sim catalogue operations` lists them")
    try:
        return {"id": sim.exchange.faults.add(entry)}
    except ValueError as error:
        raise InvalidRequest(str(error), rule="control") from error


def remove_fault(sim: Simulation, name: str) -> Answer:
    """End a fault."""
    if not sim.exchange.faults.remove(name):
        raise NotFound(f"no fault is called {name!r}", rule="control", remedy="GET /_sim/v1/faults lists them")
    return {}


def add_maintenance(exchange: Exchange, entry: MaintenanceEntry) -> Answer:
    """A one-off window; without a beginning it begins at once, with nobody warned."""
    now = exchange.now
    begins = now if entry.begins is None else now + parse_span(entry.begins) if isinstance(entry.begins, str) else entry.begins
    lead = 0 if entry.begins is None and entry.lead is None else entry.lead
    try:
        name = exchange.maintenance.add(begins, begins + entry.length, lead=lead)
    except ValueError as error:
        raise InvalidRequest(str(error), rule="control") from error
    return {"name": name, "begins": format_instant(begins), "ends": format_instant(begins + entry.length)}


def cancel_maintenance(sim: Simulation, name: str) -> Answer:
    """Call a one-off window off, or end it now."""
    if not sim.exchange.maintenance.cancel(name):
        raise NotFound(f"no one-off window is called {name!r}", rule="control", remedy="GET /_sim/v1/state/maintenance lists them")
    return {}


def set_preset(sim: Simulation, name: object) -> Answer:
    """Put the whole exchange into a mood: every quirk, and the preset's faults in the place of another preset's. Faults added by hand stay."""
    preset = PRESETS.get(name) if isinstance(name, str) else None
    if preset is None:
        raise NotFound(f"there is no preset {name!r}", rule="control", remedy="one of " + ", ".join(PRESETS))
    apply_preset(preset, sim.exchange.ctx.quirks, sim.exchange.faults)
    return {"name": preset.name, "summary": preset.summary, "faults": len(preset.faults)}


def set_quirk(sim: Simulation, name: str, value: object) -> Answer:
    """Change the odds of a quirk."""
    quirks = sim.exchange.ctx.quirks
    try:
        quirk = quirks.change(name, value)
    except KeyError as error:
        raise NotFound(str(error.args[0]), rule="control") from error
    except ValueError as error:
        raise InvalidRequest(str(error), rule="control") from error
    return {"name": name, "value": quirks.shown(name), "default": str(quirk.default)}


def set_assumption(sim: Simulation, name: str, value: object) -> Answer:
    """Change an assumption."""
    assumptions = sim.exchange.ctx.assumptions
    try:
        assumption = assumptions.change(name, value)
    except KeyError as error:
        raise NotFound(str(error.args[0]), rule="control") from error
    except ValueError as error:
        raise InvalidRequest(str(error), rule="control") from error
    if name.startswith("maintenance."):
        sim.exchange.maintenance.reschedule()
    if name.startswith("limits."):
        sim.exchange.rate_limits.reread()
    return {"name": name, "value": assumptions.shown(name), "default": assumption.show(assumption.default)}


def _scaled(text: str, scale: int, name: str) -> int:
    try:
        return scaled(text, scale)
    except NotADecimal as error:
        raise InvalidRequest(f"{name}: {error}", rule="M3") from error


# ---- by name

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
    "instrument.create": lambda sim, subject, body, outcome: create_instrument(sim, entry_of(InstrumentEntry, body)),
    "instrument.state": lambda sim, subject, body, outcome: change_state(sim, entry_of(StateStep, body, symbol=subject)),
    "instrument.settle": lambda sim, subject, body, outcome: settle(sim, entry_of(SettleStep, body, symbol=subject)),
    "order.place": lambda sim, subject, body, outcome: place_order(sim, entry_of(OrderEntry, body)),
    "price.tick": lambda sim, subject, body, outcome: tick(sim, entry_of(PriceStep, body, asset=subject)),
    "fair_price.set": lambda sim, subject, body, outcome: set_fair_price(sim, entry_of(FairPriceStep, body, symbol=subject)),
    "participant.switch": lambda sim, subject, body, outcome: switch_participant(sim, entry_of(ParticipantStep, body, name=subject)),
    "event.update": lambda sim, subject, body, outcome: update_event(sim, entry_of(EventStep, body, slug=subject)),
    "account.fund": lambda sim, subject, body, outcome: fund(sim, entry_of(FundStep, body, account=subject)),
    "funding.decide": lambda sim, subject, body, outcome: decide_funding(sim, entry_of(FundingStep, body, transaction=subject)),
    "kyc.decide": lambda sim, subject, body, outcome: decide_verification(sim, entry_of(KycStep, body, external_id=subject)),
    "kyc.document": lambda sim, subject, body, outcome: decide_verification(
        sim, entry_of(KycStep, {"document" if key == "result" else key: value for key, value in body.items()}, external_id=subject)
    ),
    "fault.add": lambda sim, subject, body, outcome: add_fault(sim, entry_of(FaultEntry, body)),
    "fault.remove": lambda sim, subject, body, outcome: remove_fault(sim, subject),
    "quirk.set": lambda sim, subject, body, outcome: set_quirk(sim, subject, _value(body)),
    "maintenance.add": lambda sim, subject, body, outcome: add_maintenance(sim.exchange, entry_of(MaintenanceEntry, body)),
    "maintenance.cancel": lambda sim, subject, body, outcome: cancel_maintenance(sim, subject),
    "preset.set": lambda sim, subject, body, outcome: set_preset(sim, body.get("name")),
    "assumption.set": lambda sim, subject, body, outcome: set_assumption(sim, subject, _value(body)),
    "webhook.redeliver": lambda sim, subject, body, outcome: {"redelivered": sim.exchange.webhooks.redeliver(subject)},
    "stream.close": lambda sim, subject, body, outcome: _close_stream(sim, subject, outcome),
}


def act(sim: Simulation, action: str, subject: str, body: dict[str, object], outcome: Outcome) -> Answer:
    """Do the action of a name. Refusals say what is wrong."""
    found = ACTIONS.get(action)
    if found is None:
        raise NotFound(f"there is no action {action!r}", rule="control")
    return found(sim, subject, body, outcome)
