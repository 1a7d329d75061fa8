"""Compares two answers: values, order in lists, and identifiers.

Two instants agree if they are equal, or equally far from the begin of their session. The Date
header has whole seconds, so a tolerance of two seconds applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import Field, read_moment
from sim.evidence.replay.identifier_map import IdentifierMap, fields_by_name, is_drawn, is_resource
from sim.evidence.validation.difference import ABSENT, SECRET, Misfit
from sim.kernel.instants import NS_PER_S, Instant

Differences: TypeAlias = Iterable[Misfit]
Compare: TypeAlias = Callable[[Any, Any, str], Differences]
TOLERANCE = 2 * NS_PER_S
_FINGERPRINT = re.compile(re.escape(SECRET) + r"[0-9a-f]{16}")


class ValueComparer(Struct):
    """Compares messages of two sessions, given when each began and which
    identifiers belong together.
    """

    recorded_begin: Instant
    our_begin: Instant
    names: IdentifierMap

    def message(self, cls: type[Message], recorded: Any, own: Any) -> list[Misfit]:
        """Return the differences between two messages of a type."""
        return list(self._message(cls, recorded, own, ""))

    def messages(self, cls: type[Message], recorded: list[Any], own: list[Any]) -> list[Misfit]:
        """Return the differences between two lists of messages of a type."""
        return list(self._list(partial(self._message, cls), recorded, own, ""))

    def _message(self, cls: type[Message], recorded: Any, own: Any, where: str) -> Differences:
        if not (isinstance(recorded, dict) and isinstance(own, dict)):
            yield from _leaf(recorded, own, where)
            return
        fields = fields_by_name(cls)
        parent = f"{where}." if where else ""
        for name, value in recorded.items():
            if name not in own:
                yield Misfit(f"{parent}{name}", value, ABSENT, "unknown name")
            elif (field := fields.get(name)) is None:
                yield from _leaf(value, own[name], f"{parent}{name}")
            else:
                yield from self._field(field, value, own[name], f"{parent}{name}")
        for name in own:
            if name not in recorded:
                yield Misfit(f"{parent}{name}", ABSENT, own[name], "missing name")

    def _field(self, field: Field, recorded: Any, own: Any, where: str) -> Differences:
        element = partial(self._element, field)
        if field.key_kind and isinstance(recorded, dict) and isinstance(own, dict):
            return self._map(element, recorded, own, where)
        if field.repeated and isinstance(recorded, list) and isinstance(own, list):
            return self._list(element, recorded, own, where)
        return element(recorded, own, where)

    def _list(
        self, compare: Compare, recorded: list[Any], own: list[Any], where: str
    ) -> Differences:
        for number, pair in enumerate(zip(recorded, own, strict=False)):
            yield from compare(*pair, f"{where}[{number}]")
        for number in range(len(own), len(recorded)):
            yield Misfit(f"{where}[{number}]", recorded[number], ABSENT, "value")
        for number in range(len(recorded), len(own)):
            yield Misfit(f"{where}[{number}]", ABSENT, own[number], "value")

    def _map(
        self, compare: Compare, recorded: dict[str, Any], own: dict[str, Any], where: str
    ) -> Differences:
        named = {self.names.to_ours(key): (key, value) for key, value in recorded.items()}
        for key, (was, value) in named.items():
            if key in own:
                yield from compare(value, own[key], f"{where}.{was}")
            else:
                yield Misfit(f"{where}.{was}", value, ABSENT, "value")
        for key in sorted(own.keys() - named.keys()):
            yield Misfit(f"{where}.{key}", ABSENT, own[key], "value")

    def _element(self, field: Field, recorded: Any, own: Any, where: str) -> Differences:
        if field.kind == "message":
            return self._message(find_message(field.type_name), recorded, own, where)
        if not (isinstance(recorded, str) and isinstance(own, str)):
            return _leaf(recorded, own, where)
        if field.kind == "timestamp":
            agree: bool | None = self._same_instant(recorded, own)
        else:
            agree = self._is_pair(field, recorded, own)
        if agree is None:
            return () if self.names.to_ours(recorded) == own else _leaf(recorded, own, where)
        return () if agree else (Misfit(where, recorded, own, "value"),)

    def _is_pair(self, field: Field, recorded: str, own: str) -> bool | None:
        """Return whether two texts name the same thing; None if they are no identifiers."""
        if is_resource(recorded) and is_resource(own):
            return self.names.pair_resource(recorded, own)
        if SECRET in recorded and not (recorded.startswith(SECRET) or field.address):
            return self._around_secrets(recorded, own)
        if not is_drawn(field) and not recorded.startswith(SECRET):
            return None
        return self.names.pair(recorded, own) if recorded and own else recorded == own

    def _around_secrets(self, recorded: str, own: str) -> bool:
        """Return whether texts are equal outside the fingerprints of the recorded one."""
        parts = _FINGERPRINT.split(recorded)
        pattern = "(.+?)".join(map(re.escape, parts))
        match = re.fullmatch(pattern, own, re.DOTALL)
        secrets = _FINGERPRINT.findall(recorded)
        return match is not None and all(map(self.names.pair, secrets, match.groups()))

    def _same_instant(self, recorded: str, own: str) -> bool:
        if recorded == own:
            return True
        try:
            since = read_moment(recorded) - self.recorded_begin
            our_since = read_moment(own) - self.our_begin
        except ValueError:
            return False
        return abs(since - our_since) <= TOLERANCE


def _leaf(recorded: Any, own: Any, where: str) -> Differences:
    if recorded == own and isinstance(recorded, bool) == isinstance(own, bool):
        return ()
    texts = isinstance(recorded, str) and isinstance(own, str)
    number = _number(own) if texts else None
    same_number = number is not None and _number(recorded) == number
    return (Misfit(where, recorded, own, "format" if same_number else "value"),)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text) if len(text) <= 40 else None
    except InvalidOperation:
        return None
