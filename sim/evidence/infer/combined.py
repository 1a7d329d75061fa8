"""Two changes that gain only together: one that explains lines and breaks others, and one that
mends what it broke.

The search takes single changes that gain. A maker's fee that the recording shows may also let an
order through that ours refuses, because another value is not found yet: alone it makes more lines
worse than better. So where nothing gains any more, the values that explained most lines
(`Search.leads`) are tried once more, each with everything that shows in the lines that it breaks.

The first change may also explain nothing alone. An order may wait until it is done, but no longer
than the exchange blocks a call: the recorded time-out needs another value of both. So values that
change a line which nothing explains come next, each with everything that shows in that line.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from sim.evidence.infer.outcome import ALL, Decisions, Setting, TrialOutcome, ValueTrial, change
from sim.evidence.infer.search import Search, varying

_LEADS = 3  # maximum number of leads that are tried with another change
_TOUCHING = 8  # the same for values that change a line which nothing explains


def best_pair(search: Search) -> tuple[Setting, TrialOutcome] | None:
    """Return the best setting with one of the leads and another change; None if none gains."""
    if not search.outcome.lines:
        return None
    trials = [*_lead_trials(search), *_varying_trials(search)]
    explaining = [trial for trial in trials if trial.change.better]
    explaining.sort(key=lambda trial: -len(trial.change.better))
    for lead in explaining[:_LEADS]:
        if best := _with_partner(search, lead, set(lead.change.worse)):
            return best
    unexplained = search.outcome.lines.keys()
    touching = [trial for trial in trials if not trial.change.better]
    touching.sort(key=lambda trial: len(trial.change.worse))
    for lead in touching[:_TOUCHING]:
        if best := _with_partner(search, lead, unexplained & set(lead.change.touched)):
            return best
    return None


def _with_partner(
    search: Search, lead: ValueTrial, lines: Set[int]
) -> tuple[Setting, TrialOutcome] | None:
    """Return the best setting with a lead and a change that affects these lines, if it gains."""
    search.session.rebase(lead.setting, lead.outcome)
    best, gain = None, 0
    for setting in _partners(search, lead, lines):
        trial = search.session.trial_of(setting, lead.outcome, certain=ALL)
        gained = change(search.outcome, trial).gain
        if gained > gain and trial.counts:
            best, gain = (setting, trial), gained
    search.session.rebase(search.setting, search.outcome)
    return best


def _lead_trials(search: Search) -> Iterator[ValueTrial]:
    """Yield a full trial of each lead on top of the present setting."""
    for name, value in sorted(search.leads.items()):
        if value != search.text(name, search.value(name)):
            lead = _full_trial(search, name, value)
            if lead.change.better and not lead.outcome.failure:
                yield lead


def _varying_trials(search: Search) -> Iterator[ValueTrial]:
    """Yield a full trial of each value that changes a line which nothing explains.

    The search ends most trials early, and so may not have seen it. Tried by halves, a value may
    hide what another one changes. So names count that either way finds.
    """
    unexplained = search.outcome.lines.keys()
    names = set(varying(search, search.setting, search.outcome, unexplained, search.leads))
    for name in sorted(search.outcome.asked & search.catalogue.keys() - search.leads.keys()):
        for value in search.others(name):
            if name not in names:
                touched = search.trial_of(name, value).change.touched
                if not unexplained & set(touched):
                    continue
            trial = _full_trial(search, name, value)
            if unexplained & set(trial.change.touched) and not trial.outcome.failure:
                yield trial


def _full_trial(search: Search, name: str, value: str) -> ValueTrial:
    """Try another value, to the end of the recording."""
    setting = search.setting.with_value(name, value)
    outcome = search.session.trial_of(setting, search.outcome, certain=ALL)
    return ValueTrial(name, value, setting, outcome, change(search.outcome, outcome))


def _partners(search: Search, lead: ValueTrial, lines: Set[int]) -> Iterator[Setting]:
    """Yield settings with a lead and another change that affects some of these lines."""
    for name in varying(search, lead.setting, lead.outcome, lines, {lead.name}):
        for value in search.others(name):
            yield lead.setting.with_value(name, value)
    for name in sorted(lead.outcome.asks):
        yield lead.setting.with_quirk(name, Decisions(not search.decisions(name).after))
