"""Other names that explain the same lines as well as the one that the descent has changed.

The descent takes what gains first. A life of tokens of 90 seconds and a longest life of 90 seconds
answer alike while nobody asks for a longer one: then neither is refuted, and both are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.fidelity.inference.numbers import ladder, proportional
from sim.fidelity.inference.outcome import Outcome, Setting, change
from sim.fidelity.inference.search import Search

_LINES_MAX = 40  # what is seen in so many lines is no coincidence of two names


class Rivals:
    """Looks for a name that does what another was changed for."""

    def __init__(self, search: Search, name: str) -> None:
        self._search, self._name = search, name
        base = search.text(name, search.base[name])
        self._against = frozenset(search.tried(name, base).change.worse)
        values = {one: value for one, value in search.setting.values.items() if one != name}
        self._without = Setting(values, search.setting.quirks)

    def found(self) -> dict[str, Any]:
        """The best value of each rival, by its name."""
        search = self._search
        if not self._against or len(self._against) > _LINES_MAX:
            return {}
        known = search.session.tried(self._without)
        rivals: dict[str, Any] = {}
        for name in self._candidates(known):
            for value in self._values(name, known):
                outcome = self._tried(name, value)
                if outcome.whole and not outcome.failure and self._explains(outcome):
                    rivals[name] = search.catalogue[name].show(search.catalogue[name].parse(value))
                    break
        return rivals

    def _candidates(self, known: Outcome) -> Iterator[str]:
        """Names that show in all these lines, as far as the verdicts have tried them, and those
        that are asked for only without the other.
        """
        search, dull = self._search, set(self._search.still_dull())
        for name in sorted(known.asked & search.catalogue.keys() - {self._name}):
            if name not in search.outcome.asked:
                yield name
            elif name not in dull:
                tries = [search.tried(name, text) for text in search.others(name)]
                if self._against <= {n for one in tries for n in one.change.touched}:
                    yield name

    def _explains(self, outcome: Outcome) -> bool:
        return not change(self._search.outcome, outcome).worse

    def _tried(self, name: str, value: str) -> Outcome:
        setting = self._without.with_value(name, value)
        return self._search.session.tried(setting, self._search.outcome)

    def _values(self, name: str, known: Outcome) -> Iterator[str]:
        """Values to try, if the name shows in all these lines: words, or some of a number first,
        then the number that the other has, what the lines themselves say, and what people choose.
        """
        search = self._search
        texts = search.others(name)
        outcomes = {
            text: search.session.tried(self._without.with_value(name, text)) for text in texts
        }
        touched = {n for one in outcomes.values() for n in change(known, one).touched}
        if not self._against <= touched:
            return
        yield from texts
        now = search.value(name)
        if isinstance(now, bool) or not isinstance(now, int):
            return
        parse = search.catalogue[name].parse
        seen = [(int(parse(text)), outcome) for text, outcome in outcomes.items()]
        seen = sorted([*seen, (now, known)], key=lambda one: one[0])
        other = search.value(self._name)
        tried = [other] if isinstance(other, int) and not isinstance(other, bool) else []
        for first in range(len(seen) - 1):
            tried += proportional(seen[first : first + 2])
        for value in [*tried, *ladder(search.catalogue[name], search.session, search.length)]:
            try:
                yield search.text(name, parse(search.text(name, value)))
            except ValueError:
                continue
