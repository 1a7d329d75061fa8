"""Compares two answers: values, order in lists, and identifiers.

Two instants agree if they are equal, or equally far from the begin of their session. The Date
header has whole seconds, so a tolerance of two seconds applies.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct

from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import Field, read_moment
from sim.evidence.compare.difference import ABSENT, SECRET, Difference
from sim.evidence.compare.identifier_map import IdentifierMap, fields_by_name, is_drawn, is_resource
from sim.kernel.instants import NS_PER_S, Instant

TOLERANCE = 2 * NS_PER_S
_FINGERPRINT = re.compile(re.escape(SECRET) + r"[0-9a-f]{16}")


class ValueComparer(Struct):
    """Compares messages of two sessions, given when each began and which identifiers belong
    together.
    """

    recorded_begin: Instant
    our_begin: Instant
    names: IdentifierMap

    def message(self, cls: type[Message], recorded: Any, ours: Any) -> list[Difference]:
        """Return the differences between two messages of a type."""
        differences: list[Difference] = []
        self._message(cls, recorded, ours, "", differences)
        return differences

    def messages(
        self, cls: type[Message], recorded: list[Any], ours: list[Any]
    ) -> list[Difference]:
        """Return the differences between two lists of messages of a type."""
        differences: list[Difference] = []
        for number, (one, other) in enumerate(zip(recorded, ours, strict=False)):
            self._message(cls, one, other, f"[{number}]", differences)
        for number in range(len(ours), len(recorded)):
            differences.append(Difference(f"[{number}]", recorded[number], ABSENT, "value"))
        for number in range(len(recorded), len(ours)):
            differences.append(Difference(f"[{number}]", ABSENT, ours[number], "value"))
        return differences

    def _message(
        self,
        cls: type[Message],
        recorded: Any,
        ours: Any,
        where: str,
        differences: list[Difference],
    ) -> None:
        if not (isinstance(recorded, dict) and isinstance(ours, dict)):
            _leaf(recorded, ours, where, differences)
            return
        fields = fields_by_name(cls)
        dot = "." if where else ""
        for name, value in recorded.items():
            place = f"{where}{dot}{name}"
            if name not in ours:
                differences.append(Difference(place, value, ABSENT, "unknown name"))
            elif (field := fields.get(name)) is None:
                _leaf(value, ours[name], place, differences)
            else:
                self._field(field, value, ours[name], place, differences)
        for name, value in ours.items():
            if name not in recorded:
                place = f"{where}{dot}{name}"
                differences.append(Difference(place, ABSENT, value, "missing name"))

    def _field(
        self, field: Field, recorded: Any, ours: Any, where: str, differences: list[Difference]
    ) -> None:
        if field.key_kind and isinstance(recorded, dict) and isinstance(ours, dict):
            self._map(field, recorded, ours, where, differences)
        elif field.repeated and isinstance(recorded, list) and isinstance(ours, list):
            for number, (one, other) in enumerate(zip(recorded, ours, strict=False)):
                self._element(field, one, other, f"{where}[{number}]", differences)
            for number in range(len(ours), len(recorded)):
                place = f"{where}[{number}]"
                differences.append(Difference(place, recorded[number], ABSENT, "value"))
            for number in range(len(recorded), len(ours)):
                differences.append(Difference(f"{where}[{number}]", ABSENT, ours[number], "value"))
        else:
            self._element(field, recorded, ours, where, differences)

    def _map(
        self,
        field: Field,
        recorded: dict[str, Any],
        ours: dict[str, Any],
        where: str,
        differences: list[Difference],
    ) -> None:
        named = {self.names.to_ours(key): (key, value) for key, value in recorded.items()}
        for key, (was, value) in named.items():
            if key in ours:
                self._element(field, value, ours[key], f"{where}.{was}", differences)
            else:
                differences.append(Difference(f"{where}.{was}", value, ABSENT, "value"))
        for key in sorted(ours.keys() - named.keys()):
            differences.append(Difference(f"{where}.{key}", ABSENT, ours[key], "value"))

    def _element(
        self, field: Field, recorded: Any, ours: Any, where: str, differences: list[Difference]
    ) -> None:
        if field.kind == "message":
            self._message(find_message(field.type_name), recorded, ours, where, differences)
        elif not (isinstance(recorded, str) and isinstance(ours, str)):
            _leaf(recorded, ours, where, differences)
        elif field.kind == "timestamp":
            if not self._same_instant(recorded, ours):
                differences.append(Difference(where, recorded, ours, "value"))
        elif is_resource(recorded) and is_resource(ours):
            if not self.names.pair_resource(recorded, ours):
                differences.append(Difference(where, recorded, ours, "value"))
        elif recorded.count(SECRET) and not (recorded.startswith(SECRET) or field.address):
            if not self._around_secrets(recorded, ours):
                differences.append(Difference(where, recorded, ours, "value"))
        elif is_drawn(field) or recorded.startswith(SECRET):
            empty = not recorded or not ours
            if recorded != ours if empty else not self.names.pair(recorded, ours):
                differences.append(Difference(where, recorded, ours, "value"))
        elif self.names.to_ours(recorded) != ours:
            _leaf(recorded, ours, where, differences)

    def _around_secrets(self, recorded: str, ours: str) -> bool:
        """Return whether texts are equal outside the fingerprints of the recorded one."""
        parts = _FINGERPRINT.split(recorded)
        pattern = "(.+?)".join(map(re.escape, parts))
        match = re.fullmatch(pattern, ours, re.DOTALL)
        secrets = _FINGERPRINT.findall(recorded)
        return match is not None and all(map(self.names.pair, secrets, match.groups()))

    def _same_instant(self, recorded: str, ours: str) -> bool:
        if recorded == ours:
            return True
        try:
            one, other = read_moment(recorded), read_moment(ours)
        except ValueError:
            return False
        since = one - self.recorded_begin, other - self.our_begin
        return abs(since[0] - since[1]) <= TOLERANCE


def _leaf(recorded: Any, ours: Any, where: str, differences: list[Difference]) -> None:
    if recorded == ours and (recorded is True or recorded is False) == (
        ours is True or ours is False
    ):
        return
    same_number = (
        isinstance(recorded, str) and isinstance(ours, str) and _number(recorded) == _number(ours)
    )
    kind = "format" if same_number and _number(ours) is not None else "value"
    differences.append(Difference(where, recorded, ours, kind))  # type: ignore[arg-type]


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text) if len(text) <= 40 else None
    except InvalidOperation:
        return None
