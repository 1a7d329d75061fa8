"""Operator actions on the service: faults, maintenance, presets, readings, quirks, assumptions,
webhooks and streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sim.api.pipeline.inputs import Effect
from sim.core.catalogue import observations
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.core.service.fault_spec import CALLS
from sim.core.service.presets import PRESETS
from sim.core.service.presets import apply as apply_preset
from sim.run.actors.operator.action import operator_action
from sim.run.actors.operator.answers import Answer, window_answer
from sim.run.actors.receivers import receivers_of
from sim.run.engine.engine import Engine
from sim.world.format.control_entries import (
    DropEntry,
    FaultReference,
    ListenerEntry,
    PresetEntry,
    ReadingEntry,
    RedeliveryEntry,
    SettingEntry,
    StreamReference,
    WindowReference,
)
from sim.world.format.fault_names import has_no_effect, unknown_operation
from sim.world.format.party_entries import ReceiverStep
from sim.world.format.steps import FaultEntry
from sim.world.format.world_entries import MaintenanceEntry
from sim.world.start import populate


@operator_action("fault.add", "POST /faults", step="fault")
def add_fault(engine: Engine, entry: FaultEntry) -> Answer:
    """Add a fault."""
    if problem := unknown_operation(entry.match.operation) or has_no_effect(entry):
        remedy = "`sim catalogue operations` lists them"
        raise InvalidRequest(problem, rule="T1", remedy=remedy)
    symbol = entry.match.symbol
    if symbol and "*" not in symbol and not engine.world.has(symbol):
        engine.exchange.instruments.require(symbol)
    try:
        return {"id": engine.exchange.faults.add(entry)}
    except ValueError as error:
        raise InvalidRequest(str(error), rule="T1") from error


@operator_action("fault.remove", "DELETE /faults/{id}", step="clear_fault")
def remove_fault(engine: Engine, entry: FaultReference) -> Answer:
    """Remove a fault."""
    if not engine.exchange.faults.remove(entry.id):
        remedy = "GET /_sim/v1/faults lists them"
        raise NotFound(f"there is no fault {entry.id!r}", rule="T1", remedy=remedy)
    return {}


@operator_action("maintenance.add", "POST /maintenance", step="maintenance")
def add_maintenance(engine: Engine, entry: MaintenanceEntry) -> Answer:
    """Add a one-off maintenance window. Without `begins` it begins at once."""
    return window_answer(populate.add_maintenance(engine.exchange, entry))


@operator_action("maintenance.cancel", "DELETE /maintenance/{name}")
def cancel_maintenance(engine: Engine, entry: WindowReference) -> Answer:
    """Cancel a one-off maintenance window, or end it if it has begun."""
    if not engine.exchange.maintenance.cancel(entry.name):
        remedy = "GET /_sim/v1/state/maintenance lists them"
        raise NotFound(f"there is no one-off window {entry.name!r}", rule="T1", remedy=remedy)
    return {}


@operator_action("preset.set", "PUT /preset", step="preset")
def set_preset(engine: Engine, entry: PresetEntry) -> Answer:
    """Apply a preset: set every quirk, and replace the faults of the former preset.

    Faults that were added one by one remain.
    """
    preset = PRESETS.get(entry.name)
    if preset is None:
        remedy = "one of " + ", ".join(PRESETS)
        raise NotFound(f"unknown preset {entry.name!r}", rule="T1", remedy=remedy)
    ctx = engine.exchange.ctx
    reading = observations.reading_in_force(ctx.assumptions, ctx.quirks)
    apply_preset(preset, ctx.assumptions, ctx.quirks, engine.exchange.faults)
    if reading == observations.OBSERVED:  # the odds that the reading sets hold in every preset
        observations.apply(reading, ctx.assumptions, ctx.quirks)
    return {"name": preset.name, "summary": preset.summary, "faults": len(preset.faults)}


@operator_action("reading.set", "PUT /reading", step="reading")
def set_reading(engine: Engine, entry: ReadingEntry) -> Answer:
    """Set the switches as a reading of the service defines them."""
    if entry.name not in observations.READINGS:
        remedy = "one of " + ", ".join(observations.READINGS)
        raise NotFound(f"unknown reading {entry.name!r}", rule="T1", remedy=remedy)
    ctx = engine.exchange.ctx
    observations.apply(entry.name, ctx.assumptions, ctx.quirks)
    return {"name": entry.name, "summary": observations.READINGS[entry.name]}


@operator_action("quirk.set", "PUT /quirks/{name}", step="quirk")
def set_quirk(engine: Engine, entry: SettingEntry) -> Answer:
    """Set the odds of a quirk."""
    quirks = engine.exchange.ctx.quirks
    with _refused("quirks"):
        quirk = quirks.change(entry.name, entry.value)
    value, default = quirks.as_written(entry.name), str(quirk.default)
    return {"name": entry.name, "value": value, "default": default}


@operator_action("assumption.set", "PUT /assumptions/{name}", step="assumption")
def set_assumption(engine: Engine, entry: SettingEntry) -> Answer:
    """Set an assumption."""
    exchange, name = engine.exchange, entry.name
    assumptions = exchange.ctx.assumptions
    with _refused("assumptions"):
        assumption = assumptions.change(name, entry.value)
    if name.startswith("maintenance."):
        exchange.maintenance.reschedule()
    if name.startswith("limits."):
        exchange.rate_limits.reread()
    default = assumption.show(assumption.default)
    return {"name": name, "value": assumptions.as_written(name), "default": default}


@contextmanager
def _refused(catalogue: str) -> Iterator[None]:
    """The refusal of an unknown name, or of a value that is not accepted."""
    try:
        yield
    except KeyError as error:
        remedy = f"GET /_sim/v1/catalogue/{catalogue} lists them"
        raise NotFound(str(error.args[0]), rule="T1", remedy=remedy) from error
    except ValueError as error:
        raise InvalidRequest(str(error), rule="T1") from error


@operator_action("receiver.change", "PUT /receivers/{name}", step="receiver")
def change_receiver(engine: Engine, entry: ReceiverStep) -> Answer:
    """Change the answers of a scripted webhook receiver."""
    receivers_of(engine).change(entry.name, entry.answers)
    return {"name": entry.name}


@operator_action("webhook.redeliver", "POST /webhooks/{firm*}/redeliver")
def redeliver_webhooks(engine: Engine, entry: RedeliveryEntry) -> Answer:
    """Deliver webhook events of a firm again: the unacknowledged ones, or one event."""
    firm = "firms/" + entry.firm.removeprefix("firms/")
    if firm not in (names := [each_firm.name for each_firm in engine.exchange.firms.all()]):
        remedy = f"known: {', '.join(names)}"
        raise NotFound(f"there is no firm {entry.firm}", rule="T1", remedy=remedy)
    return {"redelivered": engine.exchange.webhooks.redeliver(firm, entry.event_id)}


@operator_action("listener.change", "POST /listeners/{plane}", step="listener")
def change_listener(engine: Engine, entry: ListenerEntry) -> Answer:
    """Let a plane refuse new connections, or accept them again."""
    _require_plane(entry.plane)
    engine.exchange.listeners.change(entry.plane, accept=entry.accept, span=entry.for_)
    return {"plane": entry.plane, "accept": entry.accept}


@operator_action("connections.drop", "POST /connections/{plane}/drop", step="drop_connections")
def drop_connections(engine: Engine, entry: DropEntry) -> list[Effect]:
    """End all connections of a plane at once."""
    _require_plane(entry.plane)
    possible = ("close", "goaway") if entry.plane == "grpc" else ("close", "reset")
    if entry.how not in possible:
        reason = "grpcio does not let us reset connections" if entry.plane == "grpc" else ""
        reason = reason or "GOAWAY is of HTTP/2, which only gRPC speaks here"
        problem = f"how must be {' or '.join(possible)} on {entry.plane}, not {entry.how!r}"
        raise InvalidRequest(f"{problem}: {reason}", rule="T1")
    return engine.hub.disconnect(entry.plane, entry.how)


def _require_plane(plane: str) -> None:
    if plane not in CALLS:
        raise InvalidRequest(f"plane must be one of {', '.join(CALLS)}, not {plane!r}", rule="T1")


@operator_action("stream.close", "DELETE /streams/{id}")
def close_stream(engine: Engine, entry: StreamReference) -> list[Effect]:
    """End a stream with UNAVAILABLE."""
    return engine.hub.close(entry.id, 14, "closed by the tester")
