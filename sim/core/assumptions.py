"""Our answers where the specification says "not shown": each with a name, a reason, a source and a switch.

`sim catalogue assumptions` prints this file. A scenario or the control plane changes a value by its name; an unknown name or an impossible value is
refused with the nearest name. Values are plain: booleans, integers, words from a list, or spans.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from sim.kernel.instants import format_span, parse_span, seconds

Value: TypeAlias = bool | int | str


class Assumption(Struct, frozen=True, kw_only=True):
    """One choice. `span` marks a default in nanoseconds, written as "60s" outside; `options` lists the words a text value may take."""

    name: str
    default: Value
    reason: str
    source: str
    options: tuple[str, ...] = ()
    span: bool = False

    def parse(self, given: object) -> Value:
        """Value from a scenario or a control call; ValueError says what would have been accepted."""
        if self.span:
            if isinstance(given, str):
                return parse_span(given)
        elif isinstance(self.default, bool):
            if isinstance(given, bool):
                return given
            if isinstance(given, str) and given in ("true", "false"):
                return given == "true"
        elif isinstance(self.default, int):
            if isinstance(given, int) and not isinstance(given, bool):
                return given
            if isinstance(given, str) and given.lstrip("-").isdigit():
                return int(given)
        elif isinstance(given, str) and (not self.options or given in self.options):
            return given
        raise ValueError(f"{self.name} takes {self.accepts()}, not {given!r}")

    def accepts(self) -> str:
        """What values are accepted, in words."""
        if self.span:
            return 'a duration such as "60s"'
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, int):
            return "an integer"
        return "one of " + ", ".join(self.options) if self.options else "text"

    def show(self, value: Value) -> Value:
        """Value as people write it."""
        return format_span(value) if self.span and isinstance(value, int) else value


# ---- lifecycle
COLLAPSE_TO_EXPIRED = Assumption(
    name="lifecycle.collapse_to_expired",
    default=True,
    reason="An expiration that finds the instrument not CLOSED passes through CLOSED in the same instant, so client state machines stay legal",
    source="rule L9",
)
SETTLEMENT_DELAY = Assumption(
    name="settlement.delay_after_close", default=seconds(60), span=True, reason="How long after close an outcome becomes the settlement price", source="rule L25"
)
SETTLEMENT_PRELIMINARY = Assumption(
    name="settlement.preliminary_for", default=0, span=True, reason="How long a settlement price stays preliminary before it pays", source="rule L25"
)

# ---- orders
EXCHANGE_REJECTS = Assumption(
    name="orders.sync_reject",
    default="spec",
    options=("spec", "async"),
    reason="Exchange order entry answers business rejects at once (409, 422) as §7.1 says; `async` gives 200 and a REJECTED execution, as integrators saw",
    source="rule M7, U5",
)
RETAIL_REJECTS = Assumption(
    name="retail.sync_reject",
    default="async",
    options=("spec", "async"),
    reason="Retail order entry answers 200 with an id and rejects by execution, as the public client expects",
    source="rule M7, U5",
)
LOT_STEP_IS_MIN_QTY = Assumption(
    name="lot.step_is_min_qty", default=False, reason="Above the minimum any scaled integer quantity is accepted, not only its multiples", source="rule M4"
)

# ---- money
CLEARING_DELAY = Assumption(name="clearing.delay", default=seconds(30), span=True, reason="A trade is CLEARED this long after it was made", source="rule M42, U23")
LEDGER_COMMISSION = Assumption(
    name="ledger.commission",
    default="combined",
    options=("combined", "separate"),
    reason="A fill is one ORDER_EXECUTION entry of principal plus commission; `separate` adds a COMMISSION entry",
    source="rule P21, U11",
)
BUYING_POWER_NET = Assumption(
    name="balances.buying_power_net",
    default=False,
    reason="buying_power is gross of open orders, which are reported separately; true subtracts the largest reservation",
    source="U10",
)

# ---- surfaces
DEPTH_ABOVE_MAXIMUM = Assumption(
    name="book.depth_above_maximum",
    default="clamp",
    options=("clamp", "refuse"),
    reason="A depth above 10 is answered with 10 levels rather than an error",
    source="§4.3 (not shown)",
)
DEAD_BOOK = Assumption(
    name="book.pending_and_terminated",
    default="not_found",
    options=("not_found", "empty"),
    reason="PENDING never appears in the book and TERMINATED is removed: both answer 404",
    source="U26",
)


def catalogue() -> dict[str, Assumption]:
    """Every assumption by name, in the order of this file."""
    return {value.name: value for value in globals().values() if isinstance(value, Assumption)}


class Assumptions:
    """The values in force."""

    __slots__ = ("_catalogue", "_values")

    def __init__(self) -> None:
        self._catalogue = catalogue()
        self._values: dict[str, Value] = {name: assumption.default for name, assumption in self._catalogue.items()}

    def text(self, assumption: Assumption) -> str:
        """Value of a word-valued assumption."""
        value = self._values[assumption.name]
        if not isinstance(value, str):
            raise TypeError(f"{assumption.name} is no word")
        return value

    def number(self, assumption: Assumption) -> int:
        """Value of an integer or span assumption (nanoseconds)."""
        value = self._values[assumption.name]
        if not isinstance(value, int):
            raise TypeError(f"{assumption.name} is no number")
        return value

    def flag(self, assumption: Assumption) -> bool:
        """Value of a yes-or-no assumption."""
        return self._values[assumption.name] is True

    def change(self, name: str, given: object) -> Assumption:
        """Set a value by name. KeyError names the nearest; ValueError says what is accepted."""
        assumption = self._catalogue.get(name)
        if assumption is None:
            raise KeyError(unknown_name("assumption", name, self._catalogue))
        self._values[name] = assumption.parse(given)
        return assumption

    def shown(self, name: str) -> Value:
        """Value of a named assumption as people write it."""
        return self._catalogue[name].show(self._values[name])

    def save(self) -> dict[str, Value]:
        """Values by name."""
        return self._values

    def load(self, state: dict[str, Value]) -> None:
        """Take saved values."""
        self._values = dict(state)


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Message for a name that is in no catalogue, with the nearest one that is."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"unknown {what} {name!r}" + (f", did you mean {near[0]!r}?" if near else "")
