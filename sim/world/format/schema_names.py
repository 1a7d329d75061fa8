"""Names in the JSON schema: quirks, assumptions, limits and operations, each with its description,
so that an editor can complete and explain them.
"""

from __future__ import annotations

import re
from typing import Any

from sim.contract.contract import Operation, load_contract
from sim.core.catalogue import assumptions, quirks
from sim.core.catalogue.assumption import Assumption
from sim.core.service.fault_spec import ENGINE, FRAMES, PLANES
from sim.core.service.rate_limits import LIMITS, TIER
from sim.core.webhooks.payloads import WEBHOOK_TYPES
from sim.kernel.instants import format_span

Schema = dict[str, Any]


def add_names(root: Schema, definitions: Schema) -> None:
    """Add the names to the properties of the file and of its entries."""
    file, step = root["properties"], definitions["Step"]["properties"]
    for section in (file["quirks"], step["quirk"]):
        _keys(section, {name: quirk.summary for name, quirk in quirks.catalogue().items()})
    for section in (file["assumptions"], step["assumption"]):
        choices = assumptions.catalogue()
        _keys(section, {name: assumption.reason for name, assumption in choices.items()})
        for name, assumption in choices.items():
            section["properties"][name] |= _values_of(assumption)
    limits = {name: _limit(name) for name in LIMITS}
    _keys(file["limits"], limits)
    for entry in ("FirmEntry", "ApiKeyEntry"):
        tier = {TIER: "1 to 4: the published limits of that tier for order entry and quotes"}
        _keys(definitions[entry]["properties"]["limits"], limits | tier)
    _add_operations(definitions)


def _add_operations(definitions: Schema) -> None:
    operations = load_contract().operations
    described = {
        name: _about(operation)
        for operation in operations
        for name in (operation.rpc, operation.name)
    }
    webhooks = {name: f"webhook: {text}" for name, text in WEBHOOK_TYPES.items()}
    engine = dict.fromkeys(ENGINE, "a command to the engine; use it with plane: engine")
    match = definitions["FaultMatch"]["properties"]
    match["operation"] = _one_of(match["operation"], {**described, **webhooks, **engine}, "*")
    match["plane"] |= {"enum": ["", *PLANES]}
    match["frame"] |= {"enum": ["", *FRAMES]}
    called = definitions["CallWhen"]["properties"]
    called["operation"] = _one_of(called["operation"], described, "*")
    for entry, streams in (("CallStep", False), ("SubscribeStep", True)):
        rpc = definitions[entry]["properties"]
        names = {
            operation.name: _about(operation)
            for operation in operations
            if _is_callable(operation, streams=streams)
        }
        rpc["rpc"] = _one_of(rpc["rpc"], names)


def _about(operation: Operation) -> str:
    return operation.summary.partition(". ")[0].rstrip(".")


def _is_callable(operation: Operation, *, streams: bool) -> bool:
    return operation.grpc and (operation.kind != "unary") is streams


def _keys(section: Schema, described: dict[str, str]) -> None:
    """Restrict a mapping to these keys, and describe each."""
    value = section["additionalProperties"]
    section["properties"] = {
        name: {**value, "description": text} for name, text in described.items()
    }
    section["additionalProperties"] = False


def _values_of(assumption: Assumption) -> Schema:
    """The values that an assumption accepts."""
    default = assumption.show(assumption.default)
    if isinstance(assumption.default, bool):
        return {"type": "boolean", "default": default}
    if assumption.options:
        return {"type": "string", "enum": [*assumption.options], "default": default}
    kinds = ["string"] if assumption.span or isinstance(default, str) else ["integer", "string"]
    return {"type": kinds, "default": default}


def _limit(name: str) -> str:
    limit = LIMITS[name]
    return f"{limit.source}; {limit.count} calls in {format_span(limit.period)} by default"


def _one_of(schema: Schema, described: dict[str, str], *marks: str) -> Schema:
    """One of some names, or text that contains one of the marks."""
    names = [{"const": name, "description": text} for name, text in described.items()]
    patterns = [{"type": "string", "pattern": re.escape(mark)} for mark in (*marks, "${")]
    empty = {"const": ""}
    return {
        **{key: value for key, value in schema.items() if key == "description"},
        "anyOf": [*names, *patterns, empty],
    }
