"""The verdict on each assumption and quirk after the search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from sim.core.catalogue.assumption import Value
from sim.core.catalogue.quirks import parse_chance
from sim.evidence.infer import numbers
from sim.evidence.infer.alternatives import Alternatives
from sim.evidence.infer.confidence_interval import Count
from sim.evidence.infer.numbers import Range
from sim.evidence.infer.outcome import Decisions, OutcomeChange, ValueTrial, change
from sim.evidence.infer.search import Search
from sim.evidence.infer.verdict import InferenceVerdict, Kind, not_exercised

_SEEDS = 8  # seeds that our value gets before it is refuted
_EVIDENCE_MAX = 20
_TIMES_MAX = 200  # times of a quirk that are examined


class Verdicts:
    """Changes each exercised value alone, starting from the setting of the search. What was not
    reached is undecided.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self.assumptions = {
            name: self._unreached(name) if name in search.catalogue else self._not_observed(name)
            for name in search.base
        }
        self.quirks = {
            name: InferenceVerdict("undecided", [own], [], own) for name, own in search.odds.items()
        }
        self.tables = {"assumptions": self.assumptions, "quirks": self.quirks}

    def find(self) -> None:
        """Fill the tables of verdicts."""
        search = self._search
        search.drop_unneeded()
        silent = {*search.catalogue.keys() - search.outcome.asked, *search.without_effect()}
        for name in silent:
            self.assumptions[name] = self._not_observed(name)
        for name in search.odds.keys() - search.outcome.asks.keys():
            self.quirks[name] = _unobserved_quirk(name, search.odds[name])
        for name in sorted(search.outcome.asks):
            self.quirks[name] = self._quirk_verdict(name)
        for name in search.catalogue:
            if name not in silent:
                self.assumptions[name] = self._assumption(name)
        self._doubt_quirks()
        for verdicts in self.tables.values():
            for name, verdict in verdicts.items():
                others = Alternatives(search, name).values() if verdict.verdict == "refuted" else {}
                if others:
                    values = [*verdict.consistent, verdict.own]
                    verdicts[name] = replace(
                        verdict, verdict="undecided", consistent=values, or_=others
                    )

    def _doubt_quirks(self) -> None:
        """A quirk that was not observed is undecided if another value fits only with it."""
        for verdict in self.assumptions.values():
            for quirks in verdict.only_with.values():
                for name, odds in quirks.items():
                    if self.quirks[name].verdict == "not observed":
                        own = self._search.odds[name]
                        self.quirks[name] = InferenceVerdict(
                            "undecided", [own, odds], verdict.evidence, own
                        )

    def _unreached(self, name: str) -> InferenceVerdict:
        own = self._as_written(name, self._search.base[name])
        return InferenceVerdict("undecided", [own], [], own)

    def _not_observed(self, name: str) -> InferenceVerdict:
        search = self._search
        base = search.base[name]
        own = self._as_written(name, base)
        values: list[Any] = [own]
        if isinstance(base, bool):
            values += [not base]
        elif isinstance(base, str) and name in search.catalogue:
            values += [word for word in search.catalogue[name].options if word != base]
        return InferenceVerdict("not observed", values, [], own, why=not_exercised(name))

    def _as_written(self, name: str, value: Value) -> Value:
        assumption = self._search.catalogue.get(name)
        return assumption.show(value) if assumption is not None else value

    # ---- assumptions

    def _assumption(self, name: str) -> InferenceVerdict:
        search = self._search
        tries = [search.trial_of(name, text) for text in search.others(name)]
        touched = {n for trial in tries for n in trial.change.touched}
        if not touched:
            return self._not_observed(name)
        if numbers.is_number(search.base[name]):
            return self._number_verdict(name, tries, touched)
        return self._option_verdict(name, tries, touched)

    def _verdict(
        self,
        name: str,
        values: list[Any],
        lines: Iterable[int],
        *,
        narrow: bool = False,
        between: list[Any] | None = None,
        only_with: dict[str, dict[str, str]] | None = None,
    ) -> InferenceVerdict:
        """Return the verdict where these values fit, and others with the quirks that they need."""
        search, base = self._search, self._search.base[name]
        if base not in values and self._fits_with_another_seed(name, search.text(name, base)):
            values.append(base)
        kind: Kind = "undecided"
        if base not in values:
            kind, only_with = "refuted", {}
        elif not only_with and (values == [base] or narrow):
            kind = "confirmed"
        values = [*values, *map(search.catalogue[name].parse, only_with or ())]
        texts = [self._as_written(name, value) for value in values]
        own, evidence = self._as_written(name, base), _evidence(lines)
        return InferenceVerdict(kind, texts, evidence, own, between, only_with=only_with or {})

    def _option_verdict(
        self, name: str, tries: list[ValueTrial], touched: set[int]
    ) -> InferenceVerdict:
        consistent: list[Value] = [self._search.value(name)]
        against: set[int] = set()
        only_with: dict[str, dict[str, str]] = {}
        for trial in tries:
            if trial.outcome.failure:
                continue
            if not _excluded(trial):
                consistent.append(self._search.catalogue[name].parse(trial.value))
                continue
            against.update(trial.change.worse)
            if quirk := self._needed_quirk(trial):
                only_with[trial.value] = quirk
        return self._verdict(name, consistent, against or touched, only_with=only_with)

    def _needed_quirk(self, trial: ValueTrial) -> dict[str, str]:
        """Return the quirk, with its odds, under which an excluded value fits.

        With this value the exchange asks a quirk where it does not ask it with the present one, so
        nothing shows whether the quirk occurs there.
        """
        search = self._search
        for name, lines in sorted(trial.outcome.asks.items()):
            if set(lines) <= set(search.outcome.asks.get(name, ())):
                continue
            other = search.decisions(name).opposite
            setting = trial.setting.with_quirk(name, other)
            outcome = search.session.trial_of(setting, search.outcome)
            if outcome.counts and not change(search.outcome, outcome).worse:
                return {name: str(other)}
        return {}

    def _fits_with_another_seed(self, name: str, own: str) -> bool:
        """Return whether our value explains the lines against it under another seed."""
        search = self._search
        against = set(search.trial_of(name, own).change.worse)
        setting = search.setting.with_value(name, own)
        seed = search.session.scenario.seed if search.session.seed is None else search.session.seed
        compared = search.session.trial_of(setting)
        for number in range(1, _SEEDS + 1):
            outcome = search.session.trial_of(setting, seed=seed + number)
            if not outcome.failure and not against & outcome.lines.keys():
                return True
            if number > 1 and all(compared.signature(n) == outcome.signature(n) for n in against):
                return False  # none of it depends on the seed
        return False

    def _number_verdict(
        self, name: str, tries: list[ValueTrial], touched: set[int]
    ) -> InferenceVerdict:
        number = _NumberRange(self._search, name, tries)
        allowed, between = number.allowed(), None
        if not number.is_special:
            ends = numbers.outward(allowed, number.grain) if number.span else allowed
            show = self._search.catalogue[name].show
            between = [None if end is None else show(end) for end in (ends.low, ends.high)]
        values = number.values(allowed)
        narrow = values[0] == number.base and _is_narrow(allowed, number.grain)
        lines = number.against or touched
        return self._verdict(name, values, lines, narrow=narrow, between=between)

    # ---- quirks

    def _quirk_verdict(self, name: str) -> InferenceVerdict:
        search = self._search
        own = search.odds[name]
        now = search.decisions(name)
        times = list(range(min(len(search.outcome.asks[name]), _TIMES_MAX)))
        visible: dict[int, OutcomeChange] = {}
        self._find_visible(name, now, times, visible)
        if not visible:
            return _unobserved_quirk(name, own)
        against = {
            time: shift for time, shift in visible.items() if shift.worse and not shift.better
        }
        evidence = _evidence(
            {n for shift in visible.values() for n in (shift.worse or shift.touched)}
        )
        count = Count(sum(now.at(time) for time in against), len(against))
        odds = parse_chance(own)
        consistent = count.consistent(odds)
        if not against:
            return InferenceVerdict("undecided", [own], evidence, own)
        kind: Kind = "undecided"
        if not count.allows(odds):
            kind = "refuted"
        elif count.narrow:
            kind, consistent = "confirmed", [own]
        ends: list[Any] = [round(end, 3) for end in count.between()]
        return InferenceVerdict(kind, consistent, evidence, own, ends, count.occurred, count.of)

    def _find_visible(
        self, name: str, now: Decisions, times: list[int], visible: dict[int, OutcomeChange]
    ) -> None:
        """Find the times at which a strike makes a difference. A half in which none does
        is not searched.
        """
        if not times:
            return
        flipped = now
        for time in times:
            flipped = flipped.flipped(time)
        search = self._search
        setting = search.setting.with_quirk(name, flipped)
        outcome_change = change(search.outcome, search.session.trial_of(setting))
        if not outcome_change.touched:
            return
        if len(times) == 1:
            visible[times[0]] = outcome_change
            return
        half = len(times) // 2
        self._find_visible(name, now, times[:half], visible)
        self._find_visible(name, now, times[half:], visible)


class _NumberRange:
    """The values of a number that fit. `against` are the lines that exclude others."""

    def __init__(self, search: Search, name: str, tries: list[ValueTrial]) -> None:
        self._search, self._name = search, name
        assumption = search.catalogue[name]
        self.base, self._now = int(search.base[name]), int(search.value(name))
        self._least, self.span = assumption.least, assumption.span
        self.against = {n for trial in tries if _excluded(trial) for n in trial.change.worse}
        self.grain = numbers.resolution(search.session.clock) if self.span else 1
        most = 3 * search.length if self.span else 1_000
        self._most = max(most, (3 if self.span else 100) * self._now)  # the highest that is tried
        self.is_special = False  # whether the value means none or never, and no other fits

    def _fits(self, value: int) -> bool:
        search = self._search
        if value == self._now:
            return True
        trial = search.trial_of(self._name, search.text(self._name, value), certain=1)
        if trial.outcome.failure:
            return True
        if _excluded(trial):
            self.against.update(trial.change.worse)
            return False
        return True

    def allowed(self) -> Range:
        """Return the range of values that fit, widened by what clocks cannot tell apart."""
        if self._now <= 0:  # a number such as 0 or -1 that means none or never
            found = self._above()
            self.is_special = found.low == found.high
        else:
            found = self._around()
        if self.is_special or not self.span:
            return found
        low, high, grain = found.low, found.high, self.grain
        return Range(
            None if low is None else max(self._least, low - grain),
            None if high is None else high + grain,
        )

    def _above(self) -> Range:
        """Return the range of a value that means "none": the value alone, or with all values
        that never had an effect. If 0 is the shortest span, spans that cannot be told from
        it are included.
        """
        now, most, grain = self._now, self._most, self.grain
        if not self._fits(most):
            if not (self.span and now == 0 and self._fits(grain)):
                return Range(now, now)
            steps = numbers.steps_up(grain, most)
            return Range(now, numbers.edge(self._fits, grain, steps, grain))
        down = numbers.steps_down(most, self._least)
        above = (value for value in down if value > max(now, self._least))
        return Range(numbers.edge(self._fits, most, above, grain), None)

    def _around(self) -> Range:
        now, most, grain = self._now, self._most, self.grain
        # clocks cannot tell a span below their grain from the grain, and some are slow to replay
        lowest = max(self._least, min(grain, now)) if self.span else self._least
        low = numbers.edge(self._fits, now, numbers.steps_down(now, lowest), grain)
        # all spans longer than the session have the same effect
        if now < most and self._fits(most):
            return Range(low, None)
        return Range(low, numbers.edge(self._fits, now, numbers.steps_up(now, most), grain))

    def values(self, allowed: Range) -> list[int]:
        """Return round values that fit, ours first if it fits."""
        now, base, least = self._now, self.base, self._least
        if allowed.low == allowed.high == now:
            values = [now]
        else:
            low = least if allowed.low is None else allowed.low
            high = max(now, base, low) * 100 if allowed.high is None else allowed.high
            values = numbers.round_values(max(low, 0), high, span=self.span) or [now]
            if now <= 0 and now not in values:
                values = [now, *values]
        if allowed.has(base) and (allowed.low != allowed.high):
            values = [base, *(value for value in values if value != base)]
        elif base not in values and base <= max(least, 0) and self._fits(base):
            values = [base, *values]
        below = least not in values and allowed.low is not None and least < allowed.low
        if below and self._fits(least):
            values.append(least)
        return values


def _excluded(trial: ValueTrial) -> bool:
    """Return whether the present value dominates another."""
    outcome_change = trial.change
    if trial.outcome.complete:
        return bool(outcome_change.worse) and not outcome_change.better
    return len(outcome_change.worse) > len(outcome_change.better)


def _is_narrow(allowed: Range, grain: int) -> bool:
    if allowed.low is None or allowed.high is None:
        return False
    return allowed.high - allowed.low <= max(4 * grain, allowed.high // 10)


def _unobserved_quirk(name: str, own: str) -> InferenceVerdict:
    return InferenceVerdict("not observed", [own], [], own, why=not_exercised(name))


def _evidence(lines: Iterable[int]) -> list[int]:
    return sorted(lines)[:_EVIDENCE_MAX]
