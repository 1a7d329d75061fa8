"""Events: what has happened, in the past tense, frozen.

They are emitted in order during one input. Projections, streams, webhooks and the journal read
them. The tag and the field names of a class appear in journals, so renaming one changes the format.

An event that reports a decision ends with `rule` and `facts`, the parts of its `Why` (`why.py`).
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct, UnsetType

from sim.core.model.enums import CancelRejectReason, InstrumentState, LedgerEntryType, TradeState
from sim.core.model.orders import Execution, Trade
from sim.core.model.quantities import Cash, Notional, Price, Qty
from sim.core.model.rfq_records import Quote, Rfq
from sim.core.model.why import NO_FACTS, Facts
from sim.kernel.instants import Instant


class Executed(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """An execution report of any kind."""

    execution: Execution
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class CancelRejected(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A cancel or replace was refused; the order did not change."""

    id: str
    account: str
    symbol: str
    order_id: str
    clord_id: str
    reason: CancelRejectReason
    text: str
    is_replace: bool
    at: Instant
    trace_id: str = ""
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class Traded(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """Two orders traded, or the clearing state of a trade changed (under the same id)."""

    trade: Trade
    state: TradeState
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class BookChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """Levels, state or statistics of a symbol changed. Emitted once per input, after its causes."""

    symbol: str
    at: Instant


class StateChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """An instrument changed its lifecycle state (§3.1)."""

    symbol: str
    was: InstrumentState
    state: InstrumentState
    at: Instant
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class InstrumentListed(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """An instrument was listed while the exchange was running."""

    symbol: str
    state: InstrumentState
    at: Instant
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class DormantInstrumentsMoved(Struct, frozen=True, tag="ShelfMoved", tag_field="event", gc=False):
    """Maintenance moved every dormant instrument that was in one state to another."""

    was: InstrumentState
    state: InstrumentState
    at: Instant
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class Settled(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A settlement price was set, corrected, or became final (rules L25-L27)."""

    symbol: str
    price: Price
    preliminary: bool
    text: str
    at: Instant
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class PositionChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """One row of the position ledger: the changes, and the position right after (rule P23).

    `settlement` is the price of a resolution, else None. `bought`, `sold` and `fees` are totals of
    the position, `fee` is what this row added to the fees; `fee_exact` and `fees_exact` are the
    same before rounding, in the units of `accounts/fees.py`. `bod` is the net at the beginning of
    the current trade date, 17:00 Eastern.
    """

    id: str
    account: str
    symbol: str
    qty_change: Qty
    cost_change: Notional
    realized_change: Notional
    net: Qty
    cost: Notional
    realized: Notional
    at: Instant
    description: str
    trade_id: str = ""
    settlement: Price | None = None
    bought: Qty = 0
    sold: Qty = 0
    bod: Qty = 0
    fee: Notional = 0
    fees: Notional = 0
    fee_exact: int = 0
    fees_exact: int = 0
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class CashMoved(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """One row of an account's cash ledger (rules P17-P22); it moved `after` - `before`."""

    id: str
    account: str
    type: LedgerEntryType
    before: Cash
    after: Cash
    description: str
    at: Instant
    symbol: str = ""
    reference: str = ""
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class KycDecided(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A verification ended: approved or rejected (§3.5)."""

    firm: str
    external_id: str
    approved: bool
    participant: str
    account: str
    at: Instant
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class MaintenanceChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A maintenance window began or ended (§8)."""

    active: bool
    at: Instant
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class RfqChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A request for quotes, or a quote on it, changed.

    `kind` is the name in the wire format: rfq_created, quote_accepted and so on.
    """

    kind: str
    rfq: Rfq
    quote: Quote | None
    at: Instant
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class FaultInjected(Struct, frozen=True, tag="FaultStruck", tag_field="event", omit_defaults=True):
    """An injected fault affected a call, a frame, a delivery or one attempt of it, or the engine.

    `subject` names the target if it is not a call: a stream, an event of a webhook, an instrument.
    `attempt` is 0 except for an attempt of a delivery. `act` describes the effect in words.
    """

    fault: str
    plane: str
    operation: str
    act: str
    at: Instant
    caller: str = ""
    subject: str = ""
    attempt: int = 0
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class RuleApplied(Struct, frozen=True, tag=True, tag_field="event"):
    """A rule decided something that no other event reports: the price of an auction, an attempt to
    deliver a webhook, the state of a circuit breaker, a quirk, an answer that retention shortened.

    `subject` names what it was applied to: a symbol, an operation, `webhook/<event id>`, a firm.
    """

    subject: str
    at: Instant
    rule: str
    facts: Facts | UnsetType = NO_FACTS


# Every event but a trade, which the journal only names (`engine/journal_record.py`).
EventInFull: TypeAlias = (
    Executed
    | CancelRejected
    | BookChanged
    | StateChanged
    | InstrumentListed
    | DormantInstrumentsMoved
    | Settled
    | PositionChanged
    | CashMoved
    | KycDecided
    | MaintenanceChanged
    | RfqChanged
    | FaultInjected
    | RuleApplied
)
Event: TypeAlias = EventInFull | Traded
