"""Parameters of operator actions whose step has another form, or that have no step.

In a step, `bust: T1` is text and `quirk: {name: odds}` maps names to values; on the control plane
the name is in the path of the call. In both cases the action gets one of these Structs.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct, field

from sim.kernel.instants import Span
from sim.world.format.scalar_types import COUNT, SPAN


class TradeEntry(Struct, frozen=True):
    """A trade, by its id."""

    id: str


class FaultReference(Struct, frozen=True):
    """A fault in force, by its id. f1 is the fault that was added first."""

    id: str


class ListenerEntry(Struct, frozen=True):
    """Whether a plane accepts connections. While it accepts none, new ones are refused
    (ECONNREFUSED); those that are open stay open.
    """

    plane: str
    """gateway, retail, exchange, auth or grpc"""
    accept: bool
    """false: refuse new connections"""
    for_: Annotated[Span, SPAN] = field(default=0, name="for")
    """for how long, in virtual time; until it is changed by default"""


class DropEntry(Struct, frozen=True):
    """End all connections of a plane at once, and the streams on them."""

    plane: str
    """gateway, retail, exchange, auth or grpc"""
    how: str
    """close; reset (not on gRPC: grpcio does not reset connections); goaway (gRPC only: streams go
    on, new calls need a new connection)"""


class WindowReference(Struct, frozen=True):
    """A one-off maintenance window, by its name."""

    name: str


class PresetEntry(Struct, frozen=True):
    """A preset of all quirks and faults."""

    name: str
    """ideal, realistic or hostile"""


class ReadingEntry(Struct, frozen=True):
    """A reading of the service."""

    name: str
    """documented or observed"""


class SettingEntry(Struct, frozen=True):
    """A quirk or an assumption, and its new value."""

    name: str
    value: Any
    """odds of a quirk: always, never or a fraction; value of an assumption"""


class RedeliveryEntry(Struct, frozen=True):
    """Deliver webhook events of a firm again: all that were never acknowledged, or with `event_id`
    one event, whether it was acknowledged or not.
    """

    firm: str
    """firms/<firm>, or <firm>"""
    event_id: str = ""


class StreamReference(Struct, frozen=True):
    """An open stream, by its number."""

    id: Annotated[int, COUNT]
