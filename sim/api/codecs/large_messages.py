"""Events and markets of the gateway: large messages whose JSON is encoded once.

A page of events has megabytes, and the next page contains mostly the same events. Handlers return
the same object again as long as nothing has changed in it, and never change a returned object. So
its bytes are cached by the object's identity, and a list of such messages is joined from cached
bytes without becoming text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sim.contract.messages import Message

LARGE_MESSAGES = frozenset(("gateway.v1.Event", "gateway.v1.Market"))
# A placeholder for a list of large messages. JSON text never contains this character.
LIST_MARK = "\0"

_GENERATION_MAX = 12_000_000  # bytes of a generation, for each message type and dialect


def large_parts(message: Message) -> Iterator[Message]:
    """Yield the large messages in the lists of a message."""
    for name in message.__struct_fields__:
        values = getattr(message, name)
        if isinstance(values, list) and values and isinstance(values[0], Message):
            if values[0].__full_name__ in LARGE_MESSAGES:
                yield from values


def caching_encoder(write: Callable[[Message], str]) -> Callable[[Message], bytes]:
    """Return an encoder that caches the output of `write` for each object.

    The cache has two generations. When the young one is full it becomes the old one, and the
    entries of the old one that were not used in the meantime are dropped.
    """
    young: dict[int, tuple[Message, bytes]] = {}
    old: dict[int, tuple[Message, bytes]] = {}
    size = 0

    def encode(message: Message) -> bytes:
        nonlocal young, old, size
        # An entry keeps its message alive, so its id cannot belong to another object.
        entry = young.get(id(message))
        if entry is not None:
            return entry[1]
        entry = old.get(id(message)) or (message, write(message).encode())
        size += len(entry[1])
        if size > _GENERATION_MAX:
            young, old = {}, young
            size = len(entry[1])
        young[id(message)] = entry
        return entry[1]

    return encode


def splicing_encoder(
    write: Callable[[Any], str], attribute: str, encode_element: Callable[[Message], bytes]
) -> Callable[[Any], bytes]:
    """Return an encoder for messages with a list of large ones, for which `write`
    writes a placeholder.
    """

    def encode(message: Any) -> bytes:
        before, _, after = write(message).partition(LIST_MARK)
        parts = [before.encode()]
        for element in getattr(message, attribute):
            parts += (encode_element(element), b",")
        if len(parts) > 1:
            parts.pop()
        parts.append(after.encode())
        return b"".join(parts)  # one copy only, because it is megabytes

    return encode
