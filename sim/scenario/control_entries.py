"""Entries of operator actions that are less than a mapping in a step, or no step at all.

In a step `bust: T1` is text and `quirk: {name: odds}` a mapping from names to values. The control
plane takes the name from the path of a call. Either way the action gets one of these Structs.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct

from sim.scenario.scalar_types import COUNT


class TradeEntry(Struct, frozen=True):
    """A trade, by its id."""

    id: str


class FaultReference(Struct, frozen=True):
    """A fault in force, by its id: f1 is the first that was added."""

    id: str


class WindowReference(Struct, frozen=True):
    """A one-off maintenance window, by its name."""

    name: str


class PresetEntry(Struct, frozen=True):
    """A preset of all quirks and faults."""

    name: Annotated[str, "ideal, realistic or hostile"]


class ReadingEntry(Struct, frozen=True):
    """A reading of the service."""

    name: Annotated[str, "documented or observed"]


class SettingEntry(Struct, frozen=True):
    """A quirk or an assumption, and its new value."""

    name: str
    value: Annotated[Any, "odds of a quirk: always, never or a fraction; value of an assumption"]


class RedeliveryEntry(Struct, frozen=True):
    """A firm whose webhook events are sent again: those that were never acknowledged, or one event,
    acknowledged or not.
    """

    firm: Annotated[str, "firms/<firm>, or <firm>"]
    event_id: str = ""


class StreamReference(Struct, frozen=True):
    """An open stream, by its number."""

    id: Annotated[int, COUNT]
