"""One-off maintenance windows that a scenario or a tester adds to the weekly one."""

from __future__ import annotations

from typing import NamedTuple

from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import Instant, parse_span
from sim.world.format.world_entries import MaintenanceEntry


class AddedWindow(NamedTuple):
    """A window that was added: its name, beginning and end."""

    name: str
    begins: Instant
    ends: Instant


def add_maintenance(exchange: Exchange, entry: MaintenanceEntry) -> AddedWindow:
    """Add a one-off window. Without `begins` it begins at once, without a warning (rule W9)."""
    maintenance = exchange.maintenance
    begins = exchange.now if entry.begins is None else entry.begins
    if isinstance(begins, str):
        begins = exchange.now + parse_span(begins)
    ends = begins + entry.length
    try:
        if entry.begins is None:
            name = maintenance.pause(entry.length)
        else:
            name = maintenance.add(begins, ends, lead=entry.lead)
    except ValueError as error:
        raise InvalidRequest(str(error), rule="T1") from error
    return AddedWindow(name, begins, ends)
