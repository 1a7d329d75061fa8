"""What an assumption is: our answer to a question that the specification leaves open.

It has a name, a default, a reason, a source and a set of accepted values. Values are plain:
booleans, integers, options from a list, text, or spans. `assumptions/` holds the catalogue,
`assumption_values.py` the current values.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sim.core.catalogue.bounds import COUNT
from sim.kernel.instants import format_span, parse_span, seconds

Value: TypeAlias = bool | int | str

UNDOCUMENTED = "our choice: no document says"


class Assumption(Struct, frozen=True, kw_only=True):
    """One choice.

    `span` marks a number of nanoseconds, which people write as "60s". `options` lists the accepted
    texts; if it is empty, any text is accepted. `least` is the minimum of a number.
    """

    name: str
    default: Value
    source: str
    reason: str = ""
    options: tuple[str, ...] = ()
    span: bool = False
    least: int = 0

    def because(self, reason: str) -> Assumption:
        """Return the same assumption with its reason."""
        return replace(self, reason=reason)

    def parse(self, value: object) -> Value:
        """Return the value for text or data of a scenario or control call. Raises ValueError."""
        if self.span:
            if isinstance(value, str) and (span := parse_span(value)) >= self.least:
                return span
        elif isinstance(self.default, bool):
            if isinstance(value, bool):
                return value
            if value in ("true", "false"):
                return value == "true"
        elif isinstance(self.default, int):
            if isinstance(value, str) and _is_integer(value):
                value = int(value)
            if isinstance(value, int) and not isinstance(value, bool):
                if self.least <= value <= COUNT.high:
                    return value
        elif isinstance(value, str) and (not self.options or value in self.options):
            return value
        raise ValueError(f"{self.name} accepts {self.accepts()}, not {value!r}")

    def accepts(self) -> str:
        """Describe the accepted values."""
        if self.span:
            least = f", at least {format_span(self.least)}" if self.least else ""
            return f'a duration such as "60s"{least}'
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, int):
            return f"an integer from {self.least} to {COUNT.high}"
        return "one of " + ", ".join(self.options) if self.options else "text"

    def alternatives(self) -> list[str]:
        """Return values other than the default that are worth trying, as people write them.

        These are all other options, or a smaller and a larger number or span.
        """
        if isinstance(self.default, bool):
            return ["false" if self.default else "true"]
        if isinstance(self.default, str):
            return [word for word in self.options if word != self.default]
        larger = self.default * 2 if self.default > 0 else seconds(10) if self.span else 10
        tried = (max(self.least, self.default // 2), larger)
        return [str(self.show(value)) for value in tried if value != self.default]

    def show(self, value: Value) -> Value:
        """Return a value as people write it."""
        return format_span(value) if self.span and isinstance(value, int) else value


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20


def flag(name: str, default: bool, *, source: str = UNDOCUMENTED) -> Assumption:
    """Return an assumption that is true or false."""
    return Assumption(name=name, default=default, source=source)


def number(name: str, default: int, *, least: int = 0, source: str = UNDOCUMENTED) -> Assumption:
    """Return an assumption that is an integer."""
    return Assumption(name=name, default=default, source=source, least=least)


def span(name: str, default: str, *, least: str = "0s", source: str = UNDOCUMENTED) -> Assumption:
    """Return an assumption that is a duration."""
    length = parse_span(default)
    return Assumption(name=name, default=length, source=source, span=True, least=parse_span(least))


def choice(name: str, *options: str, default: str = "", source: str = UNDOCUMENTED) -> Assumption:
    """Return an assumption with a list of options, by default the first."""
    return Assumption(name=name, default=default or options[0], options=options, source=source)


def text(name: str, default: str, *, source: str = UNDOCUMENTED) -> Assumption:
    """Return an assumption that is any text."""
    return Assumption(name=name, default=default, source=source)
