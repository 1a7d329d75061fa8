"""The verdict on each assumption and quirk after the search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """Changes each exercised value alone, starting from the setting of the search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.assumptions: dict[str, InferenceVerdict] = {}
        self.quirks: dict[str, InferenceVerdict] = {}

    def find(self) -> None:
        """Fill the tables of verdicts."""
        search = self._search
        search.drop_unneeded()
        for name in search.catalogue:
            if name not in search.outcome.asked:
                self.assumptions[name] = self._not_observed(name)
        for name in search.without_effect():
            self.assumptions[name] = self._not_observed(name)
        for name in search.odds:
            if name not in search.outcome.asks:
                self.quirks[name] = _unobserved_quirk(search.odds[name])
        for name in sorted(search.outcome.asks):
            self.quirks[name] = self._quirk_verdict(name)
        for name in search.catalogue:
            if name not in self.assumptions:
                self.assumptions[name] = self._assumption(name)
        self._doubt_quirks()
        for verdicts in (self.assumptions, self.quirks):
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

    def all_assumptions(self) -> dict[str, InferenceVerdict]:
        """Return a verdict on every assumption of the catalogue; names that were not
        reached are undecided.
        """
        search = self._search
        verdicts = {name: self._not_observed(name) for name in search.base}
        for name in search.catalogue:
            reached = self.assumptions.get(name)
            verdicts[name] = reached or self._unreached(name)
        return _explained(verdicts)

    def all_quirks(self) -> dict[str, InferenceVerdict]:
        """Return a verdict on every quirk; quirks that were not reached are undecided."""
        odds = self._search.odds
        return _explained(
            {
                name: self.quirks.get(name) or InferenceVerdict("undecided", [now], [], now)
                for name, now in odds.items()
            }
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
        return InferenceVerdict("not observed", values, [], own)

    def _as_written(self, name: str, value: Value) -> Value:
        assumption = self._search.catalogue.get(name)
        return assumption.show(value) if assumption is not None else value

    # ---- assumptions

    def _assumption(self, name: str) -> InferenceVerdict:
        base = self._search.base[name]
        if numbers.is_number(base):
            return self._number_verdict(name, base)
        return self._option_verdict(name, base)

    def _option_verdict(self, name: str, base: Value) -> InferenceVerdict:
        search = self._search
        now = search.value(name)
        consistent: list[Value] = [now]
        tries = [search.trial_of(name, text) for text in search.others(name)]
        touched = {n for trial in tries for n in trial.change.touched}
        if not touched:
            return self._not_observed(name)
        against: set[int] = set()
        only_with: dict[str, dict[str, str]] = {}
        for trial in tries:
            if trial.outcome.failure:
                continue
            if not _excluded(trial):
                consistent.append(search.catalogue[name].parse(trial.value))
                continue
            against.update(trial.change.worse)
            if quirk := self._needed_quirk(trial):
                only_with[trial.value] = quirk
        if base not in consistent and self._fits_with_another_seed(name, search.text(name, base)):
            consistent.append(base)
        texts = [self._as_written(name, value) for value in consistent]
        own = self._as_written(name, base)
        evidence = _evidence(against or touched)
        if base not in consistent:
            return InferenceVerdict("refuted", texts, evidence, own)
        if len(consistent) == 1 and not only_with:
            return InferenceVerdict("confirmed", texts, evidence, own)
        texts += [self._as_written(name, search.catalogue[name].parse(text)) for text in only_with]
        return InferenceVerdict("undecided", texts, evidence, own, only_with=only_with)

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
            fits = outcome.counts
            if fits and not change(search.outcome, outcome).worse:
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

    # ---- numbers

    def _number_verdict(self, name: str, base: int) -> InferenceVerdict:
        search, assumption = self._search, self._search.catalogue[name]
        now = int(search.value(name))
        tries = [search.trial_of(name, text) for text in search.others(name)]
        touched = {n for trial in tries for n in trial.change.touched}
        if not touched:
            return self._not_observed(name)
        against = {n for trial in tries if _excluded(trial) for n in trial.change.worse}
        grain = numbers.resolution(search.session.clock) if assumption.span else 1
        fits = self._fits(name, against)
        special = now <= 0  # a number such as 0 or -1 that means none or never
        if special:
            trial = self._range_above(now, assumption.least, fits, grain, assumption.span)
            special = trial.low == trial.high
        else:
            trial = self._range(now, assumption.least, fits, grain, assumption.span)
        if not special and assumption.span:
            trial = Range(
                None if trial.low is None else max(assumption.least, trial.low - grain),
                None if trial.high is None else trial.high + grain,
            )
        values = self._values(name, now, base, trial, fits)
        if base not in values and self._fits_with_another_seed(name, search.text(name, base)):
            values.append(base)
        between = None
        if not special:
            ends = numbers.outward(trial, grain) if assumption.span else trial
            between = [
                None if end is None else assumption.show(end) for end in (ends.low, ends.high)
            ]
        kind: Kind = "undecided"
        if base not in values:
            kind = "refuted"
        elif values == [base] or (values[0] == base and _is_narrow(trial, grain)):
            kind = "confirmed"
        texts = [assumption.show(value) for value in values]
        evidence = _evidence(against or touched)
        return InferenceVerdict(kind, texts, evidence, assumption.show(base), between)

    def _fits(self, name: str, against: set[int]) -> Callable[[int], bool]:
        search = self._search

        def fits(value: int) -> bool:
            if value == search.value(name):
                return True
            trial = search.trial_of(name, search.text(name, value), certain=1)
            if trial.outcome.failure:
                return True
            if _excluded(trial):
                against.update(trial.change.worse)
                return False
            return True

        return fits

    def _range_above(
        self, now: int, least: int, fits: Callable[[int], bool], grain: int, span: bool
    ) -> Range:
        """Return the range of a value that means "none": the value alone, or with all values
        that never had an effect. If 0 is the shortest span, spans that cannot be told from
        it are included.
        """
        most = self._highest_tried(now, span)
        if not fits(most):
            if not (span and now == 0 and fits(grain)):
                return Range(now, now)
            return Range(now, numbers.edge(fits, grain, numbers.steps_up(grain, most), grain))
        steps = (value for value in numbers.steps_down(most, least) if value > max(now, least))
        return Range(numbers.edge(fits, most, steps, grain), None)

    def _highest_tried(self, now: int, span: bool) -> int:
        return max(3 * self._search.length, 3 * now) if span else max(1_000, 100 * now)

    def _range(
        self, now: int, least: int, fits: Callable[[int], bool], grain: int, span: bool
    ) -> Range:
        most = self._highest_tried(now, span)
        # clocks cannot tell a span below their grain from the grain, and some are slow to replay
        lowest = max(least, min(grain, now)) if span else least
        low = numbers.edge(fits, now, numbers.steps_down(now, lowest), grain)
        # all spans longer than the session have the same effect
        endless = now < most and fits(most)
        high = None if endless else numbers.edge(fits, now, numbers.steps_up(now, most), grain)
        return Range(low, high)

    def _values(
        self, name: str, now: int, base: int, allowed: Range, fits: Callable[[int], bool]
    ) -> list[int]:
        """Return round values that fit, ours first if it fits."""
        assumption = self._search.catalogue[name]
        if allowed.low == allowed.high == now:
            values = [now]
        else:
            low = assumption.least if allowed.low is None else allowed.low
            high = max(now, base, low) * 100 if allowed.high is None else allowed.high
            values = numbers.round_values(max(low, 0), high, span=assumption.span) or [now]
            if now <= 0 and now not in values:
                values = [now, *values]
        if allowed.has(base) and (allowed.low != allowed.high):
            values = [base, *(value for value in values if value != base)]
        elif base not in values and base <= max(assumption.least, 0) and fits(base):
            values = [base, *values]
        least = assumption.least
        if least not in values and allowed.low is not None and least < allowed.low and fits(least):
            values.append(least)
        return values

    # ---- quirks

    def _quirk_verdict(self, name: str) -> InferenceVerdict:
        search = self._search
        own = search.odds[name]
        now = search.decisions(name)
        times = list(range(min(len(search.outcome.asks[name]), _TIMES_MAX)))
        visible: dict[int, OutcomeChange] = {}
        self._find_visible(name, now, times, visible)
        if not visible:
            return _unobserved_quirk(own)
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


def _explained(verdicts: dict[str, InferenceVerdict]) -> dict[str, InferenceVerdict]:
    """Add to each verdict "not observed" the reason why no recording can show the name."""
    return {
        name: replace(verdict, why=not_exercised(name))
        if verdict.verdict == "not observed"
        else verdict
        for name, verdict in verdicts.items()
    }


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


def _unobserved_quirk(own: str) -> InferenceVerdict:
    return InferenceVerdict("not observed", [own], [], own)


def _evidence(lines: Iterable[int]) -> list[int]:
    return sorted(lines)[:_EVIDENCE_MAX]
