"""The hearing of one input: what is judged now, and what is said of it."""

from __future__ import annotations

from sim.oracle.doubts import DOUBTS
from sim.oracle.exchange import NaiveExchange
from sim.oracle.state import Document
from sim.oracle.verdict import AuditVerdict, Disagreement
from sim.read.observed import ObservedInput


class Hearing:
    """The input that is being judged, and the exchange as it was before it.

    `observed` is the input, `event` the one of its events that is being judged, and `later` those
    that follow it. `doubt` is why something about the input could not be decided; "" if all was.
    """

    observed: ObservedInput
    event: Document
    later: list[Document]

    def __init__(self, exchange: NaiveExchange, verdict: AuditVerdict) -> None:
        self.exchange = exchange
        self.verdict = verdict
        self.doubt = ""

    def begin(self, observed: ObservedInput) -> None:
        """Turn to the next input."""
        self.observed, self.doubt = observed, ""

    def quirk(self, name: str) -> bool:
        """Return whether a quirk acts: by its odds or, where they are a matter of luck, by what
        the run tells of this input.
        """
        some, every = self.exchange.beginning.odds(name)
        if some in (0, every):
            return some > 0
        return self.applied(name)

    def applied(self, quirk: str) -> bool:
        """Return whether the run tells that a quirk acts in this input."""
        return any(event.get("facts") == {"quirk": quirk} for event in self.observed.events)

    def close(self) -> None:
        """Count the input that was judged."""
        self.verdict.inputs += 1
        if self.doubt:
            self.verdict.undecided[self.doubt] += 1
        else:
            self.verdict.decided += 1

    def disagree(self, rule: str, expected: str, observed: str, sentence: str) -> None:
        """Note a disagreement about the input."""
        self.verdict.disagreements.append(
            Disagreement(self.observed.seq, rule, expected, observed, sentence)
        )

    def undecided(self, kind: str) -> None:
        """Note that the law cannot decide something about the input, by a kind of `DOUBTS`."""
        if kind not in DOUBTS:
            raise KeyError(kind)
        self.doubt = self.doubt or kind
