"""Two changes that gain only together: one that explains lines and breaks others, and one that
mends what it broke.

The descent takes single changes that gain. A maker's fee that the recording shows may also let an
order through that ours refuses, because another value is not found yet: alone it makes more lines
worse than better. So where nothing gains any more, the values that explained most lines
(`Search.leads`) are tried once more, each with everything that shows in the lines that it breaks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set

from sim.fidelity.inference.dull import dull_of
from sim.fidelity.inference.outcome import ALL, Decisions, Outcome, Setting, change
from sim.fidelity.inference.search import Search, ValueTrial

_LEADS = 3  # maximum number of leads that are tried with another change


def best_pair(search: Search) -> tuple[Setting, Outcome] | None:
    """Return the best setting with one of the leads and another change; None if none gains."""
    if not search.outcome.lines:
        return None
    whole = sorted(_lead_trials(search), key=lambda one: -len(one.change.better))
    for lead in whole[:_LEADS]:
        search.session.rebase(lead.setting, lead.outcome)
        best, gain = None, 0
        for setting in _partners(search, lead):
            trial = search.session.trial_of(setting, lead.outcome, certain=ALL)
            gained = change(search.outcome, trial).gain
            if gained > gain and trial.whole and not trial.failure:
                best, gain = (setting, trial), gained
        search.session.rebase(search.setting, search.outcome)
        if best is not None:
            return best
    return None


def lively(
    search: Search, setting: Setting, outcome: Outcome, lines: Set[int], but: Collection[str]
) -> list[str]:
    """Return names of which some value changes one of these lines, compared with the outcome of a
    setting.
    """
    asked = sorted(outcome.asked & search.catalogue.keys() - set(but))
    rows = {name: values for name in asked if (values := search.others(name))}
    dull = set(dull_of(search.session, rows, setting, outcome, lines))
    return [name for name in rows if name not in dull]


def _lead_trials(search: Search) -> Iterator[ValueTrial]:
    """Yield a full trial of each lead on top of the present setting."""
    for name, value in sorted(search.leads.items()):
        if value == search.text(name, search.value(name)):
            continue
        setting = search.setting.with_value(name, value)
        outcome = search.session.trial_of(setting, search.outcome, certain=ALL)
        lead = ValueTrial(name, value, setting, outcome, change(search.outcome, outcome))
        if lead.change.better and not outcome.failure:
            yield lead


def _partners(search: Search, lead: ValueTrial) -> Iterator[Setting]:
    """Yield settings with another change that affects the lines that a lead broke."""
    for name in lively(search, lead.setting, lead.outcome, set(lead.change.worse), {lead.name}):
        for value in search.others(name):
            yield lead.setting.with_value(name, value)
    for name in sorted(lead.outcome.asks):
        yield lead.setting.with_quirk(name, Decisions(not search.decisions(name).after))
