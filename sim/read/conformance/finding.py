"""A finding: one case in which a rule applied to what a client did."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from sim.api.pipeline.request_log import is_called
from sim.kernel.instants import Instant, format_instant


class Finding(Struct, frozen=True, kw_only=True):
    """One case in which a rule applied. `broken` says how the client broke it, or is "".

    `seq` is the position in the journal, and `subject` names the call there. `because_of` is the
    input that made the rule apply: the 429, the 5xx, the end of a stream.
    """

    seq: int
    at: Instant
    caller: str
    subject: str
    broken: str = ""
    because_of: int = 0

    def is_about(self, caller: str) -> bool:
        """Return whether it is about a caller, or a participant of that firm; "" means anybody."""
        if not caller or is_called(self.caller, caller):
            return True
        firms = (f"{caller}/", f"firms/{caller}/")
        return self.caller.startswith(firms)

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "seq": self.seq,
            "request_id": f"{self.seq:016x}",
            "at": format_instant(self.at),
            "caller": self.caller,
            "what": self.subject,
            "broken": self.broken,
            "because_of": self.because_of or None,
        }

    def line(self) -> str:
        """Return the finding as text."""
        return f"#{self.seq} {format_instant(self.at)} {self.caller}: {self.subject}: {self.broken}"
