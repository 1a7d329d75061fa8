"""What can have happened: past tense, frozen. Emitted in order during one input; projections,
streams, webhooks and the journal read them.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from sim.core.model.enums import CancelRejectReason, InstrumentState, LedgerEntryType, TradeState
from sim.core.model.orders import Execution, Trade
from sim.core.model.quantities import Cash, Notional, Price, Qty
from sim.core.model.rfq_records import Quote, Rfq
from sim.kernel.instants import Instant


class Executed(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """An execution report of any kind."""

    execution: Execution


class CancelRejected(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A cancel or replace that was refused; the order is as it was."""

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


class Traded(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """Two orders met, or a trade's clearing state moved on (same id)."""

    trade: Trade
    state: TradeState


class BookChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """Levels, state or statistics of a symbol are not what they were; sent once per symbol and
    input, after its causes.
    """

    symbol: str
    at: Instant


class StateChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """An instrument moved along an edge of §3.1."""

    symbol: str
    was: InstrumentState
    state: InstrumentState
    at: Instant


class InstrumentListed(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """An instrument joined those that exist, while others were watching."""

    symbol: str
    state: InstrumentState
    at: Instant


class DormantInstrumentsMoved(Struct, frozen=True, tag="ShelfMoved", tag_field="event", gc=False):
    """Every instrument on the shelf that was in the one state is in the other now (maintenance)."""

    was: InstrumentState
    state: InstrumentState
    at: Instant


class Settled(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A settlement price was set, corrected, or became final (rules L25-L27)."""

    symbol: str
    price: Price
    preliminary: bool
    text: str
    at: Instant


class PositionChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """One row of the position ledger: deltas and the state right after (rule P23). `settlement` is
    the price for a resolution, else None.

    `bought`, `sold` and `fees` are totals of the position, `bod` its net at the last 17:00 Eastern
    roll; `fee` is what this row added to the fees.
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


class CashMoved(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """One row of the cash ledger of one account (rules P17-P22): `after` - `before` is the move."""

    id: str
    account: str
    type: LedgerEntryType
    before: Cash
    after: Cash
    description: str
    at: Instant
    symbol: str = ""
    reference: str = ""


class KycDecided(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A verification became terminal: tradable or rejected (§3.5)."""

    firm: str
    external_id: str
    approved: bool
    participant: str
    account: str
    at: Instant


class MaintenanceChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """A maintenance window began or ended (§8)."""

    active: bool
    at: Instant


class RfqChanged(Struct, frozen=True, tag=True, tag_field="event", gc=False):
    """Something happened to a request for quotes or to a quote on it. `kind` is the word of the
    wire: rfq_created, quote_accepted, rfq_trade, …
    """

    kind: str
    rfq: Rfq
    quote: Quote | None
    at: Instant


Event: TypeAlias = (
    Executed
    | CancelRejected
    | Traded
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
)
