"""The search: changes the scenario's values until a replay differs least from a recording."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Set
from itertools import pairwise

from sim.core.catalogue.assumption import Value
from sim.core.catalogue.assumptions import catalogue
from sim.evidence.infer import numbers
from sim.evidence.infer.outcome import CERTAIN, Decisions, Setting, TrialOutcome, ValueTrial, change
from sim.evidence.infer.session import TrialSession, unvarying
from sim.evidence.infer.verdict import SIGNED

_ROUNDS = 24
_FLIPS_MAX = 64  # maximum number of single times of a quirk that are flipped
_PAIRS = 12
_BETWEEN = 12  # values tried between two neighbours


class Search:
    """Finds the setting with the fewest differing lines."""

    def __init__(self, session: TrialSession, progress: Callable[[str], None]) -> None:
        self.session, self._progress = session, progress
        self.catalogue = {
            name: assumption for name, assumption in catalogue().items() if name not in SIGNED
        }
        self.base, self.odds = session.base, session.odds
        self.length = numbers.session_length(session.entries)
        self.setting = Setting()
        self.outcome = TrialOutcome()
        self._known: dict[tuple[str, str], TrialOutcome] = {}  # trials under the present setting
        self._left_out = ""  # a quirk that the present search must not use
        # by name, the lines for which values of a number were tried
        self._climbed: dict[str, set[int]] = {}
        # by name and value, the lines that changed in the last trial
        self._touched: dict[tuple[str, str], frozenset[int]] = {}
        # by name, the value that explained most lines, and their number
        self._leads: dict[str, tuple[str, int]] = {}

    # ---- trials

    def begin(self) -> None:
        """Replay with the scenario's own values. Raises Unmatched."""
        self.take(self.setting, self.session.trial_of(self.setting))
        self.find_order()
        self._progress("")

    def find_order(self) -> bool:
        """Look for another order of arrival; return whether less differs in it."""
        outcome = self.session.find_order()
        if outcome is None:
            return False
        self.take(self.setting, outcome)
        return True

    def trial_of(self, name: str, value: str, certain: int = CERTAIN) -> ValueTrial:
        """Try the present setting with another value. The trial ends early once `certain` lines
        more are worse than can become better.
        """
        setting = self.setting.with_value(name, value)
        outcome = self._known.get((name, value))
        if outcome is None:
            outcome = self.session.trial_of(setting, self.outcome, certain=certain)
            self._known[name, value] = outcome
            self._note_progress()
        trial = ValueTrial(name, value, setting, outcome, change(self.outcome, outcome))
        explains = len(trial.change.better)
        if explains > self._leads.get(name, ("", 0))[1]:
            self._leads[name] = value, explains
        return trial

    def value(self, name: str) -> Value:
        """Return the present value of an assumption."""
        setting = self.setting.values.get(name)
        return self.base[name] if setting is None else self.catalogue[name].parse(setting)

    def text(self, name: str, value: Value) -> str:
        """Return a value as scenarios write it."""
        written = self.catalogue[name].show(value)
        return str(written).lower() if isinstance(written, bool) else str(written)

    @property
    def leads(self) -> dict[str, str]:
        """By name, the value that explained most lines, whether it was taken or not."""
        return {name: value for name, (value, _) in self._leads.items()}

    def others(self, name: str) -> list[str]:
        """Return values of an assumption other than the present one; for numbers, a few."""
        assumption, now = self.catalogue[name], self.value(name)
        if isinstance(now, bool):
            return [self.text(name, not now)]
        if isinstance(now, str):
            return [word for word in assumption.options if word != now]
        values = set(numbers.probes(assumption, now, self.length)) | {int(self.base[name])}
        return [self.text(name, value) for value in sorted(values - {now})]

    def _asked(self) -> list[str]:
        """Return the assumptions that the exchange read, of those that can be inferred."""
        return sorted(self.outcome.asked & self.catalogue.keys())

    def _note_progress(self) -> None:
        self._progress(f"{len(self.outcome.lines)} lines differ")

    def take(self, setting: Setting, outcome: TrialOutcome) -> None:
        """Continue from a setting and its outcome."""
        self.setting, self.outcome = setting, outcome
        self.session.rebase(setting, outcome)
        self._known.clear()

    # ---- the search

    def improve(self) -> None:
        """Take changes that gain until none does.

        A quirk that strikes at single times explains almost everything. So such a result must be
        better than those in which the quirk strikes always or never.
        """
        self._improve()
        for name, decisions in sorted(self.setting.quirks.items()):
            if decisions.times and self.odds[name] in ("never", "always"):
                self._improve_without_strikes(name)

    def _improve_without_strikes(self, name: str) -> None:
        """Search again with a quirk that strikes always or never; keep what is simpler.

        Another order of arrival may be needed for it: a message that the service took after an
        order changes the number of frames as a strike would.
        """
        setting, outcome, clock = self.setting, self.outcome, self.session.clock
        cost = self._cost()
        plain = [setting.with_quirk(name, Decisions(after)) for after in (True, False)]
        trials = [(self.session.trial_of(option), option) for option in plain]
        for start, other in sorted(trials, key=lambda trial: len(trial[0].lines)):
            self.take(other, start)
            self.find_order()
            self._climbed.clear()
            self._touched.clear()
            self._left_out = name
            self._improve()
            self._left_out = ""
            if self._cost() < cost:
                return
            self.session.clock = clock
            self.take(setting, outcome)

    def _cost(self) -> tuple[int, int]:
        """Return the number of differing lines, and of single decisions of quirks."""
        decisions = sum(len(decisions.times) for decisions in self.setting.quirks.values())
        return len(self.outcome.lines), decisions

    def _improve(self) -> None:
        self._fit_quirks()
        for number in range(_ROUNDS):
            if not self.outcome.lines:
                return
            stepped = self._step() or (number and self._step(wide=True))
            if not (stepped or self._number_step() or self._pair_step()):
                before = self.setting
                self._fit_quirks(one_by_one=True)
                if self.setting == before:
                    return
            self._fit_quirks()

    def _step(self, *, wide: bool = False) -> bool:
        """Take the changes that gain; return whether there was one. Values that changed no
        differing line in their last trial are skipped; in a wide step only those that changed no
        line at all.
        """
        gains: list[ValueTrial] = []
        differ = self.outcome.lines.keys()
        for name in self._asked():
            for value in self.others(name):
                last = self._touched.get((name, value))
                if last is not None and not (last if wide else last & differ):
                    continue
                trial = self.trial_of(name, value)
                self._touched[name, value] = frozenset(trial.change.touched)
                if trial.change.gain > 0 and trial.outcome.counts:
                    gains.append(trial)
        return self._take_best(gains)

    def _take_best(self, gains: list[ValueTrial]) -> bool:
        if not gains:
            return False
        gains.sort(key=lambda trial: (-trial.change.gain, len(trial.change.worse), trial.name))
        together, lines, names = self.setting, set[int](), set[str]()
        for trial in gains:
            touched = set(trial.change.touched)
            if trial.change.worse or lines & touched or trial.name in names:
                continue
            together, lines = together.with_value(trial.name, trial.value), lines | touched
            names.add(trial.name)
        best = gains[0]
        if len(names) > 1:
            outcome = self.session.trial_of(together, self.outcome)
            if change(self.outcome, outcome).gain > best.change.gain and outcome.complete:
                self.take(together, outcome)
                return True
        self.take(best.setting, best.outcome)
        return True

    def drop_unneeded(self) -> None:
        """Take back changes that another change has made unnecessary."""
        for name in sorted(self.setting.values):
            trial = self.trial_of(name, self.text(name, self.base[name]))
            if trial.outcome.failure or trial.change.worse or not trial.outcome.complete:
                continue
            if name not in self.outcome.asked or trial.change.better or not trial.change.touched:
                values = {
                    other: value for other, value in self.setting.values.items() if other != name
                }
                setting = Setting(values, self.setting.quirks)
                self.take(setting, trial.outcome)

    def without_effect(self) -> list[str]:
        """Return names whose values changed nothing before the search and, tried together,
        change nothing now.
        """
        rows = {
            name: values
            for name in self._asked()
            if name not in self.setting.values
            and (values := self.others(name))
            and not any(self._touched.get((name, value), True) for value in values)
        }
        self._note_progress()
        return unvarying(self.session, rows, self.setting, self.outcome)

    # ---- numbers

    def _number_step(self) -> bool:
        """Look for a number with which more lines agree; return whether one was taken."""
        gains: list[ValueTrial] = []
        for name in self._asked():
            if numbers.is_number(self.value(name)):
                gains += self._numbers(name)
        return self._take_best(gains)

    def _numbers(self, name: str) -> Iterator[ValueTrial]:
        """Return the best value of a number, if it gains."""
        differ = self.outcome.lines.keys()
        tries = [self.trial_of(name, value) for value in self.others(name)]
        lines = {n for trial in tries for n in trial.change.touched if n in differ}
        if lines <= self._climbed.get(name, set()):
            return  # touches nothing that differs, or only what no value of it explained before
        self._climbed.setdefault(name, set()).update(lines)
        parse = self.catalogue[name].parse
        # special values such as 0 and -1 are not proportional to anything
        points = all_points = [(int(parse(trial.value)), trial.outcome) for trial in tries]
        points = [point for point in points if point[0] > self.catalogue[name].least]
        now = int(self.value(name))
        points = [*points, *([(now, self.outcome)] if now > self.catalogue[name].least else [])]
        best = self._best(name, numbers.proportional(points))
        if best is None or best.change.worse or self._touches(best):
            values = numbers.ladder(self.catalogue[name], self.session.entries, self.length)
            values = sorted({*values, *self._between_points(name, all_points)})
            other = self._best(name, values)
            if other is not None and (best is None or other.change.gain > best.change.gain):
                best = self._between(name, other, values)
        if best is not None:
            del self._climbed[name]  # another change may be taken first
            yield best

    def _between_points(self, name: str, points: list[tuple[int, TrialOutcome]]) -> Iterator[int]:
        """Values that people choose between two under which lines that differ do so otherwise: a
        limit or a life of something may be longer than the session.
        """
        differ = self.outcome.lines.keys()
        now = int(self.value(name)), self.outcome
        ordered = sorted([*points, now], key=lambda point: point[0])
        for (low, before), (high, after) in pairwise(ordered):
            if any(before.signature(n) != after.signature(n) for n in differ):
                usual = sorted(numbers.round_values(low, high, span=self.catalogue[name].span))
                yield from usual[:: max(1, len(usual) // _BETWEEN)]

    def _touches(self, trial: ValueTrial) -> bool:
        """Return whether the lines that a value changes still differ."""
        return any(n in trial.outcome.lines for n in trial.change.touched)

    def _best(self, name: str, values: Iterable[int]) -> ValueTrial | None:
        assumption, now = self.catalogue[name], self.value(name)
        best: ValueTrial | None = None
        for value in dict.fromkeys(values):
            try:
                text = self.text(name, assumption.parse(self.text(name, value)))
            except ValueError:
                continue
            if value == now or (assumption.span and 0 < value < numbers.FINEST):
                continue
            trial = self.trial_of(name, text)
            gains = trial.change.gain > 0 and trial.outcome.counts
            if gains and (best is None or trial.change.gain > best.change.gain):
                best = trial
        return best

    def _between(self, name: str, best: ValueTrial, values: list[int]) -> ValueTrial:
        """Return a better value between the neighbours of the best one of a ladder."""
        parse = self.catalogue[name].parse
        middle = int(parse(best.value))
        below = max((value for value in values if value < middle), default=middle)
        above = min((value for value in values if value > middle), default=middle)
        for _ in range(5):
            if not self._touches(best) or above - below < 2:
                break
            tries = [(below + middle) // 2, (middle + above) // 2]
            nearest = self._best(name, tries)
            if nearest is not None and nearest.change.gain > best.change.gain:
                best = nearest
            new = int(parse(best.value))
            if new < middle:
                middle, above = new, middle
            elif new > middle:
                below, middle = middle, new
            else:
                below, above = tries
        return best

    # ---- pairs

    def _pair_step(self) -> bool:
        """Take a pair of changes that gain only together; return whether there was one."""
        differ = self.outcome.lines.keys()
        leads = [
            trial
            for name in self._asked()
            for value in self.others(name)
            if (trial := self.trial_of(name, value)).change.touched
            and differ & set(trial.change.touched)
            and not trial.outcome.failure
        ]
        leads.sort(
            key=lambda trial: (-len(trial.change.better), len(trial.change.worse), trial.name)
        )
        for lead in leads[:_PAIRS]:
            fresh = lead.outcome.asked - self.outcome.asked
            for name in sorted(fresh & self.catalogue.keys()):
                for value in self.others(name):
                    setting = lead.setting.with_value(name, value)
                    outcome = self.session.trial_of(setting, self.outcome)
                    self._progress("pairs")
                    if outcome.complete and change(self.outcome, outcome).gain > 0:
                        self.take(setting, outcome)
                        return True
        return False

    # ---- quirks

    def _fit_quirks(self, *, one_by_one: bool = False) -> None:
        """Let quirks strike where the recording shows it. Always and never come first;
        single times only where no assumption explains the lines, because single strikes
        explain almost everything.
        """
        for name in sorted(self.outcome.asks.keys() - {self._left_out}):
            if not self.outcome.lines:
                return
            other = self.decisions(name).opposite
            outcome = self._quirk(name, other)
            touched = change(self.outcome, outcome)
            if not set(touched.touched) & self.outcome.lines.keys():
                continue
            if touched.gain > 0 and not touched.worse:
                self.take(self.setting.with_quirk(name, other), outcome)
                continue
            if touched.gain > 0:
                self.take(self.setting.with_quirk(name, other), outcome)
            if one_by_one:
                self._flip_times(name)

    def decisions(self, name: str) -> Decisions:
        """Return the present decisions of a quirk."""
        return self.setting.quirks.get(name) or Decisions(self.odds[name] != "never")

    def _quirk(self, name: str, decisions: Decisions) -> TrialOutcome:
        trial = self.session.trial_of(self.setting.with_quirk(name, decisions), self.outcome)
        self._note_progress()
        return trial

    def _flip_times(self, name: str) -> None:
        """Flip single times of a quirk, those nearest to a differing line first."""
        budget = _FLIPS_MAX
        trial_of: set[int] = set()
        while budget and self.outcome.lines:
            differ = sorted(self.outcome.lines)
            times = [
                (min(abs(line - n) for n in differ), time)
                for time, line in enumerate(self.outcome.asks.get(name, ()))
                if time not in trial_of
            ]
            if not times:
                return
            _, time = min(times)
            trial_of.add(time)
            budget -= 1
            decisions = self.decisions(name).flipped(time)
            outcome = self._quirk(name, decisions)
            outcome_change = change(self.outcome, outcome)
            if outcome_change.gain > 0 and outcome.complete:
                self.take(self.setting.with_quirk(name, decisions), outcome)


def varying(
    search: Search, setting: Setting, outcome: TrialOutcome, lines: Set[int], but: Collection[str]
) -> list[str]:
    """Return names of which some value changes one of these lines, compared with the outcome
    of a setting.
    """
    asked = sorted(outcome.asked & search.catalogue.keys() - set(but))
    rows = {name: values for name in asked if (values := search.others(name))}
    without = unvarying(search.session, rows, setting, outcome, lines)
    return [name for name in rows if name not in without]
