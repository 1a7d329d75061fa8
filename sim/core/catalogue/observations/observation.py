"""What an observation is: behaviour of the service that recordings or newer public pages show, with
place, date and kind of the evidence.

Where the specification is silent, the exchange behaves as observed, and the observation has no
switch. Where the specification differs, it stays the default, and the observation names the switch
(an assumption or a quirk) and the value with which the exchange behaves as observed.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sim.core.catalogue.assumption import Assumption
from sim.core.catalogue.quirks import Quirk

Switch: TypeAlias = Assumption | Quirk

LIVE, DOCS, SDK, DOUBLE = "live", "docs", "sdk", "test double"
EVIDENCE = {
    LIVE: "answers of the real service that people published",
    DOCS: "public documentation that is newer than the specification",
    SDK: "types and tests of the official clients",
    DOUBLE: "imitations of the service by others: the weakest evidence",
}


def written(value: object) -> str:
    """Return a value as a scenario writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Observation(Struct, frozen=True):
    """One observation. `date` is the day of the newest evidence (YYYY-MM or YYYY-MM-DD)."""

    name: str
    date: str
    evidence: tuple[str, ...]
    source: str
    summary: str = ""
    section: str = ""  # of the specification, if that differs
    switch: Switch | None = None
    value: str = ""  # of the switch, for the observed behaviour
    in_observed: bool = True  # whether the reading `observed` sets the switch
    operations: tuple[str, ...] = ()  # operations that showed it; () means too many to list
    done: bool = True  # whether the exchange can behave so at all
    axes: tuple[str, ...] = ("answer",)  # what it is evidence of (`evidence/axes.py`)

    def shows(self, summary: str) -> Observation:
        """Return the same observation with a summary of what was observed."""
        return replace(self, summary=summary)

    def of(self, *operations: str) -> Observation:
        """Return the same observation with the operations and streams that showed it."""
        return replace(self, operations=operations)

    def about(self, *axes: str) -> Observation:
        """Return the same observation with the axes of evidence to which it belongs."""
        return replace(self, axes=axes)

    def against(self, section: str) -> Observation:
        """Return the same observation, marked as contradicting a section of the specification."""
        return replace(self, section=section)

    def set_by(self, switch: Switch, value: str, *, in_observed: bool = True) -> Observation:
        """Return the same observation with the switch and the value for the observed behaviour."""
        return replace(self, switch=switch, value=value, in_observed=in_observed)

    @property
    def overrides(self) -> str:
        """What the specification says about it: "silent", or the section that differs."""
        return f"§{self.section}" if self.section else "silent"

    @property
    def setting(self) -> str:
        """The switch and its value as a scenario writes them; "" if there is no switch."""
        if self.switch is None:
            return ""
        key = "quirks" if isinstance(self.switch, Quirk) else "assumptions"
        return f"{key}: {{{self.switch.name}: {self.value}}}"

    @property
    def default(self) -> str:
        """The default of the switch, as a scenario writes it."""
        if isinstance(self.switch, Quirk):
            return str(self.switch.default)
        return "" if self.switch is None else written(self.switch.show(self.switch.default))

    @property
    def holds(self) -> str:
        """The readings in which the exchange behaves as observed."""
        if not self.done:
            return "neither"
        if self.switch is None or self.default == self.value:
            return "both"
        return "observed" if self.in_observed else "neither"
