"""Pairs of identifiers for the same thing, recorded and ours.

Two runs draw different ids, tokens and cursors. The contract says which fields hold them; their
text does not matter. The first value in such a field is paired with ours. From then on the pair
must hold in both directions, so an answer about another order is still a difference. A value that
the client itself wrote is the same on both sides.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from sim.contract.messages import Message
from sim.contract.wire_fields import Field, fields_of

_DRAWN = re.compile(r"(?:^|_)(?:id|ids|token|cursor|uuid|referral_code|reference)$")
_WORDS = re.compile(r"[^/]+")
_LEAST = 4  # minimum length of an identifier; a shorter text is an ordinary number


def is_drawn(field: Field) -> bool:
    """Return whether the value of a field differs between two services for the same thing: ids,
    tokens, positions in lists, and addresses of the service itself.
    """
    if field.secret or field.address:
        return True
    return field.kind in ("string", "bytes", "int64") and _is_drawn_name(field.name)


@cache
def _is_drawn_name(name: str) -> bool:
    return _DRAWN.search(name) is not None


def is_resource(value: str) -> bool:
    """Return whether a text is the resource name of a firm or of something below a firm."""
    return value.startswith("firms/")


@cache
def fields_by_name(cls: type[Message]) -> dict[str, Field]:
    """Return the fields of a message by JSON name, in both spellings."""
    fields = {field.vendor_json: field for field in fields_of(cls) if field.vendor_json}
    return fields | {field.json_name: field for field in fields_of(cls)}


class IdentifierMap:
    """Pairs of identifiers, recorded and ours. `mark` and `undo_to` undo a trial."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._recorded: dict[str, str] = {}
        self._added: list[tuple[str, str]] = []

    def mark(self) -> int:
        """Return a point to which `undo_to` can return."""
        return len(self._added)

    def undo_to(self, mark: int) -> None:
        """Forget the pairs that were made after a mark."""
        for recorded, own in self._added[mark:]:
            del self._ours[recorded], self._recorded[own]
        del self._added[mark:]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every pair, in the order in which they were made."""
        return self._added

    def pair(self, recorded: str, own: str) -> bool:
        """Return whether both identifiers name the same thing; pair them if both are new."""
        paired = self._ours.get(recorded)
        if paired is not None or own in self._recorded:
            return paired == own
        self._ours[recorded], self._recorded[own] = own, recorded
        self._added.append((recorded, own))
        return True

    def pair_resource(self, recorded: str, own: str) -> bool:
        """Return whether two resource names such as firms/atlas/users/ada match part by part. Parts
        that differ are paired like identifiers.
        """
        parts = recorded.split("/"), own.split("/")
        if len(parts[0]) != len(parts[1]):
            return False
        pairs = zip(*parts, strict=True)
        return all(part == other or self.pair(part, other) for part, other in pairs)

    def note_client_values(self, value: Any) -> None:
        """Pair each text that a client wrote with itself, unless the service drew it before."""
        if isinstance(value, str):
            paired = value in self._ours or value in self._recorded
            if len(value) >= _LEAST and not paired and not is_resource(value):
                self.pair(value, value)
        elif isinstance(value, dict):
            for inner in value.values():
                self.note_client_values(inner)
        elif isinstance(value, list):
            for inner in value:
                self.note_client_values(inner)

    def to_ours(self, value: Any) -> Any:
        """Return a JSON value with our identifiers in place of the recorded ones."""
        if isinstance(value, str):
            paired = self._ours.get(value)
            if paired is None and is_resource(value):
                return self.path_to_ours(value)
            return value if paired is None else paired
        if isinstance(value, dict):
            return {name: self.to_ours(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.to_ours(inner) for inner in value]
        return value

    def query_to_ours(self, query: str) -> str:
        """Return a query with our identifiers; unchanged if it contains none."""
        pairs = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
        changed = [(name, self.to_ours(value)) for name, value in pairs]
        return query if changed == pairs else urlencode(changed, errors="surrogateescape")

    def path_to_ours(self, text: str) -> str:
        """Return a path with our identifiers in place of the recorded ones."""
        return _WORDS.sub(lambda match: self._ours.get(match[0], match[0]), text)
