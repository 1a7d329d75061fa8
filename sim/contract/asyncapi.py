"""The contract's sockets and webhooks as an AsyncAPI 3.0 document, at an instant.

The document describes the exchange: it receives frames of clients on a socket, and sends frames and
webhooks. The schemas are those of the OpenAPI documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sim.contract.contract import Contract, Operation
from sim.contract.openapi import RETAIL_HEADERS, default_server
from sim.contract.openapi_schemas import Components, Schema, described, note_of
from sim.contract.wire_fields import Field, fields_of
from sim.kernel.instants import Instant, format_instant

# Fields that identify a frame; of all others, which are payloads, each frame has one.
_ENVELOPE = frozenset(("request_id", "subscription_type"))
_WEBHOOK_HEADERS = {
    "webhook-id": "The event's id, the same at every attempt",
    "webhook-timestamp": "Unix seconds of this attempt",
    "webhook-signature": "`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`",
}


class WebhookSample(NamedTuple):
    """A webhook as it is sent: its type, its description, and a payload with every possible key."""

    name: str
    summary: str
    payload: Mapping[str, Any]


def asyncapi_document(
    contract: Contract,
    now: Instant,
    *,
    webhooks: Iterable[WebhookSample] = (),
    vendor_prefix: bool = False,
    switches: frozenset[str] = frozenset(),
    server: str = "",
) -> dict[str, Any]:
    """The document at an instant, ready for JSON; `switches` as in a dialect.

    `server` is the retail address; without one it is that of `sim serve` with its default ports.
    """
    components = Components(now, vendor_prefix=vendor_prefix, switches=switches)
    channels: dict[str, Schema] = {}
    operations: dict[str, Schema] = {}
    for route in contract.routes("retail"):
        if route.operation.content == "web_socket" and route.operation.exists_at(now):
            _add_socket(channels, operations, components, route.template, route.operation)
    _add_webhooks(channels, operations, tuple(webhooks))
    scheme, _, host = (server or default_server("retail")).partition("://")
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Retail sockets and webhooks",
            "version": format_instant(now),
            "description": "The interface at the instant in `version`.",
        },
        "defaultContentType": "application/json",
        "servers": {
            "retail": {
                "host": host,
                "protocol": "wss" if scheme == "https" else "ws",
                "security": [{"$ref": "#/components/securitySchemes/key"}],
            },
            "receiver": {
                "host": "{receiver}",
                "protocol": "https",
                "description": "The firm's own server, as registered with SetWebhookURL.",
                "variables": {"receiver": {"default": "localhost:8443"}},
            },
        },
        "channels": channels,
        "operations": operations,
        "components": {
            "schemas": dict(sorted(components.schemas.items())),
            "securitySchemes": {
                "key": {
                    "type": "httpApiKey",
                    "in": "header",
                    "name": RETAIL_HEADERS["retailKey"],
                    "description": "With a timestamp and a signature, at the handshake (§5.2).",
                }
            },
        },
    }


# ---- sockets


def _add_socket(
    channels: dict[str, Schema],
    operations: dict[str, Schema],
    components: Components,
    path: str,
    operation: Operation,
) -> None:
    """A channel with one message for each payload, and an operation for each direction."""
    name = path.rpartition("/")[2]
    requests = _messages(components, operation.request, answer=False)
    sent = _messages(components, operation.response, answer=True)
    channels[name] = {
        "address": path,
        "summary": operation.summary,
        "servers": [{"$ref": "#/servers/retail"}],
        "messages": requests | sent,
        "bindings": {"ws": {"method": "GET", "headers": _handshake()}},
    }
    for action, messages in (("receive", requests), ("send", sent)):
        operations[f"{action}_{name}"] = _operation(action, name, messages, operation.summary)


def _handshake() -> Schema:
    properties = {header: {"type": "string"} for header in RETAIL_HEADERS.values()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _operation(action: str, channel: str, messages: Iterable[str], summary: str) -> Schema:
    return {
        "action": action,
        "summary": summary,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{message}"} for message in messages],
    }


def _messages(components: Components, cls: Any, *, answer: bool) -> dict[str, Schema]:
    """A message for each payload of a frame, under its JSON key."""
    fields = [field for field in fields_of(cls) if components.shows(field, answer=answer)]
    around = {field.name: field for field in fields if field.name in _ENVELOPE}
    return {
        field.json_name: _message(components, cls, field, around, answer=answer)
        for field in fields
        if field.name not in _ENVELOPE
    }


def _message(
    components: Components, cls: Any, payload: Field, around: dict[str, Field], *, answer: bool
) -> Schema:
    properties = {
        field.json_name: described(
            components.frame_field(field, answer=answer), f"{cls.__full_name__}.{field.name}"
        )
        for field in (*around.values(), payload)
    }
    summary = note_of(f"{cls.__full_name__}.{payload.name}") or note_of(payload.type_name)
    message = {
        "name": payload.json_name,
        "payload": {"type": "object", "properties": properties, "required": [payload.json_name]},
    }
    return message | ({"summary": summary} if summary else {})


# ---- webhooks


def _add_webhooks(
    channels: dict[str, Schema], operations: dict[str, Schema], samples: tuple[WebhookSample, ...]
) -> None:
    if not samples:
        return
    messages = {sample.name: _webhook(sample) for sample in samples}
    channels["webhook"] = {
        "address": "{path}",
        "summary": "Deliveries to the URL that a firm registered (§6.1).",
        "description": "Delivered at least once: recognise repetitions by the event id.",
        "servers": [{"$ref": "#/servers/receiver"}],
        "parameters": {"path": {"description": "The path of the registered URL."}},
        "messages": messages,
    }
    operations["send_webhook"] = _operation(
        "send", "webhook", messages, "Post a result to the firm's receiver."
    ) | {"bindings": {"http": {"method": "POST"}}}


def _webhook(sample: WebhookSample) -> Schema:
    headers = {
        name: {"type": "string", "description": description}
        for name, description in _WEBHOOK_HEADERS.items()
    }
    return {
        "name": sample.name,
        "summary": sample.summary,
        "headers": {"type": "object", "properties": headers},
        "payload": _payload(sample.payload, sample.name),
        "examples": [{"payload": sample.payload}],
    }


def _payload(value: Any, kind: str) -> Schema:
    if not isinstance(value, Mapping):
        return {"type": "string", "const": kind} if value == kind else {"type": "string"}
    properties = {name: _payload(each, kind) for name, each in value.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}
