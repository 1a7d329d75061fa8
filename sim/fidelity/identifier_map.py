"""Identifiers of a recording and ours for the same things.

Two runs draw different ids, tokens and cursors. They are known by their field in the contract, not
by how they look. What stands in such a field is paired with ours where it first appears; from then
on the pair must hold in both directions, so an answer about another order is still a difference.
What a client wrote itself means itself.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from sim.contract.wire_fields import Field, fields_of
from sim.messages import Message

_DRAWN = re.compile(r"(?:^|_)(?:id|ids|token|cursor|uuid|referral_code|reference)$")
_WORDS = re.compile(r"[^/]+")
_LEAST = 4  # characters of an identifier; a shorter one is a number of something


def is_drawn(field: Field) -> bool:
    """Whether two services have other values for the same thing in a field: ids, tokens, places in
    lists, and addresses of the service itself.
    """
    if field.secret or field.address:
        return True
    return field.kind in ("string", "bytes", "int64") and _is_drawn_name(field.name)


@cache
def _is_drawn_name(name: str) -> bool:
    return _DRAWN.search(name) is not None


def is_resource(value: str) -> bool:
    """Whether a text is the name of a firm or of something that a firm has."""
    return value.startswith("firms/")


@cache
def fields_by_name(cls: type[Message]) -> dict[str, Field]:
    """Fields of a message by JSON name, in both spellings."""
    fields = {field.vendor_json: field for field in fields_of(cls) if field.vendor_json}
    return fields | {field.json_name: field for field in fields_of(cls)}


class IdentifierMap:
    """Pairs of identifiers, recorded and ours. `mark` and `undo_to` undo a trial."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._recorded: dict[str, str] = {}
        self._added: list[tuple[str, str]] = []
        self._states = [0]  # a number for the pairs so far and their order, after each

    def mark(self) -> int:
        """A point to which `undo_to` returns."""
        return len(self._added)

    def undo_to(self, mark: int) -> None:
        """Forget the pairs that were made since a mark."""
        for recorded, ours in self._added[mark:]:
            del self._ours[recorded], self._recorded[ours]
        del self._added[mark:], self._states[mark + 1 :]

    @property
    def state(self) -> int:
        """A number that is the same where the same pairs were made in the same order."""
        return self._states[-1]

    def pairs_since(self, mark: int) -> list[tuple[str, str]]:
        """The pairs that were made since a mark."""
        return self._added[mark:]

    def pair(self, recorded: str, ours: str) -> bool:
        """Whether both name the same thing. They are paired when neither was seen before."""
        known = self._ours.get(recorded)
        if known is not None or ours in self._recorded:
            return known == ours
        self._ours[recorded], self._recorded[ours] = ours, recorded
        self._added.append((recorded, ours))
        self._states.append(hash((self._states[-1], recorded, ours)))
        return True

    def pair_resource(self, recorded: str, ours: str) -> bool:
        """Whether two names such as firms/atlas/users/ada are the same, part by part: parts that
        differ are paired like identifiers.
        """
        parts = recorded.split("/"), ours.split("/")
        if len(parts[0]) != len(parts[1]):
            return False
        pairs = zip(*parts, strict=True)
        return all(one == other or self.pair(one, other) for one, other in pairs)

    def note_client_values(self, value: Any) -> None:
        """Note what a client wrote: it means itself unless the service drew it before."""
        if isinstance(value, str):
            known = value in self._ours or value in self._recorded
            if len(value) >= _LEAST and not known and not is_resource(value):
                self.pair(value, value)
        elif isinstance(value, dict):
            for inner in value.values():
                self.note_client_values(inner)
        elif isinstance(value, list):
            for inner in value:
                self.note_client_values(inner)

    def to_ours(self, value: Any) -> Any:
        """A JSON value in which our identifiers stand for those of the recording."""
        if isinstance(value, str):
            known = self._ours.get(value)
            if known is None and is_resource(value):
                return self.path_to_ours(value)
            return value if known is None else known
        if isinstance(value, dict):
            return {name: self.to_ours(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.to_ours(inner) for inner in value]
        return value

    def query_to_ours(self, query: str) -> str:
        """A query in which our identifiers stand; unchanged where it names none."""
        pairs = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
        changed = [(name, self.to_ours(value)) for name, value in pairs]
        return query if changed == pairs else urlencode(changed, errors="surrogateescape")

    def path_to_ours(self, text: str) -> str:
        """A path in which our identifiers stand for those of the recording."""
        return _WORDS.sub(lambda match: self._ours.get(match[0], match[0]), text)
