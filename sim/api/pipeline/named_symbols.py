"""The instruments in a request, for faults that match by instrument."""

from __future__ import annotations

from sim.contract.messages import Message

_FIELDS = frozenset({"symbol", "symbols", "market_slug", "market_slugs", "slug", "slugs"})


def symbols_of(request: Message) -> tuple[str, ...]:
    """Return the symbols and slugs of a message and its parts, in order."""
    symbols: list[str] = []
    _collect(request, symbols)
    return tuple(symbols)


def _collect(message: Message, symbols: list[str]) -> None:
    for name in message.__struct_fields__:
        value = getattr(message, name)
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, Message):
                _collect(item, symbols)
            elif item and name in _FIELDS:
                symbols.append(str(item))
