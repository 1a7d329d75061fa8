"""Other names that explain the same lines as well as the one that the search has changed.

The search takes what gains first. A life of tokens of 90 seconds and a longest life of 90 seconds
answer alike while nobody asks for a longer one; a trade whose fields were never cleared looks like
one whose clearing was over. Then neither is refuted, and both are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.evidence.infer.numbers import is_number, ladder, proportional
from sim.evidence.infer.outcome import Setting, TrialOutcome, change
from sim.evidence.infer.search import Search, varying


def best_swap(search: Search) -> tuple[Setting, TrialOutcome] | None:
    """Return a setting in which another name explains more than a changed one; None if there is
    none. Lines that nothing explains show that the wrong name of two was taken first.
    """
    if search.outcome.lines:
        for name in sorted(search.setting.values):
            better = Alternatives(search, name).better()
            if better is not None:
                return better
    return None


class Alternatives:
    """Looks for another assumption or quirk that explains what a changed name explains."""

    def __init__(self, search: Search, name: str) -> None:
        self._search, self._name = search, name
        now = search.setting
        self._without = Setting(
            {other: value for other, value in now.values.items() if other != name},
            {other: decisions for other, decisions in now.quirks.items() if other != name},
        )
        self._known = search.session.trial_of(self._without)
        self._against = frozenset(change(search.outcome, self._known).worse)

    def values(self) -> dict[str, Any]:
        """Return the best value of each alternative, by name."""
        alternatives: dict[str, Any] = dict(self._quirks()) if self._against else {}
        for name, value, outcome in self._trials():
            if name not in alternatives and self._explains(outcome):
                parse = self._search.catalogue[name].parse
                alternatives[name] = self._search.catalogue[name].show(parse(value))
        return alternatives

    def better(self) -> tuple[Setting, TrialOutcome] | None:
        """Return the best setting in which another name explains more lines than this one."""
        gain, best = 0, None
        for name, value, outcome in self._trials():
            gained = change(self._search.outcome, outcome).gain
            if gained > gain:
                gain, best = gained, (self._without.with_value(name, value), outcome)
        return best

    def _trials(self) -> Iterator[tuple[str, str, TrialOutcome]]:
        """Yield trials of other names in place of this one."""
        search, without = self._search, self._known
        if not self._against:
            return
        search.session.rebase(self._without, without)
        for name in varying(search, self._without, without, self._against, {self._name}):
            for value in self._tried_values(name, without):
                outcome = self._trial_of(name, value)
                if outcome.counts:
                    yield name, value, outcome
        search.session.rebase(search.setting, search.outcome)

    def _quirks(self) -> Iterator[tuple[str, str]]:
        """Yield the quirks that explain these lines if they strike always or never."""
        search = self._search
        for name in sorted(self._known.asks.keys() - {self._name}):
            other = search.decisions(name).opposite
            setting = self._without.with_quirk(name, other)
            outcome = search.session.trial_of(setting, search.outcome)
            if outcome.counts and self._explains(outcome):
                yield name, str(other)

    def _explains(self, outcome: TrialOutcome) -> bool:
        return not change(self._search.outcome, outcome).worse

    def _trial_of(self, name: str, value: str) -> TrialOutcome:
        setting = self._without.with_value(name, value)
        return self._search.session.trial_of(setting, self._search.outcome)

    def _tried_values(self, name: str, without: TrialOutcome) -> Iterator[str]:
        """Yield values to try if the name affects all these lines: options, or first some values of
        a number, then that of the changed name, values derived from the lines, and round values.
        """
        search = self._search
        texts = search.others(name)
        outcomes = {
            text: search.session.trial_of(self._without.with_value(name, text)) for text in texts
        }
        touched = {n for outcome in outcomes.values() for n in change(without, outcome).touched}
        if not self._against <= touched:
            return
        yield from texts
        now = search.value(name)
        if not is_number(now):
            return
        parse = search.catalogue[name].parse
        points = [(int(parse(text)), outcome) for text, outcome in outcomes.items()]
        points = sorted([*points, (now, without)], key=lambda point: point[0])
        other = search.value(self._name) if self._name in search.base else None
        trial_of = [other] if is_number(other) else []
        trial_of += proportional(points)
        for value in [
            *trial_of,
            *ladder(search.catalogue[name], search.session.entries, search.length),
        ]:
            try:
                yield search.text(name, parse(search.text(name, value)))
            except ValueError:
                continue
