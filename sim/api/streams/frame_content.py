"""What a frame of a stream holds, and frames that an injected patch alters.

Only faults ask, so frames are decoded here and not where they are made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import json

from sim.api.codecs.protobuf import message_class
from sim.api.pipeline.altered import patched_protobuf
from sim.api.streams.feed import FeedStream
from sim.contract.contract import load_contract
from sim.core.service.faults import FrameContent
from sim.core.service.json_patch import Patch, patched_json

_NAMES_SYMBOL = frozenset({"symbol", "symbols", "marketSlug", "slug"})
_EXECUTION = "EXECUTION_TYPE_"


def content_of(stream: FeedStream, frame: bytes, *, answers: bool) -> FrameContent:
    """Read a frame. `answers`: it answers a subscription of its stream."""
    kind = "snapshot" if answers else "data"
    if frame == stream.feed.heartbeat(stream):
        return FrameContent("heartbeat", frozenset(), frozenset())
    texts = [*_texts(_plain(stream, frame))]
    symbols = frozenset(text for name, text in texts if name in _NAMES_SYMBOL)
    types = [text for _, text in texts if text.startswith(_EXECUTION)]
    return FrameContent(kind, symbols, frozenset(text.removeprefix(_EXECUTION) for text in types))


def patched_frame(stream: FeedStream, frame: bytes, patch: Patch) -> bytes | None:
    """Return an altered frame, None if that is impossible."""
    operation = load_contract().by_name(stream.operation)
    if operation.content == "web_socket":
        return patched_json(patch, frame)
    return patched_protobuf(patch, operation.response, frame)


def _plain(stream: FeedStream, frame: bytes) -> Any:
    operation = load_contract().by_name(stream.operation)
    if operation.content == "web_socket":
        return json.decode(frame)
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(message_class(operation.response).FromString(frame))


def _texts(node: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text of a document with the name of its field."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _texts(value, key)
    elif isinstance(node, list):
        for item in node:
            yield from _texts(item, name)
    elif isinstance(node, str):
        yield name, node
