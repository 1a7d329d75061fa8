"""Two changes that gain only together, on a session that is a table."""

from __future__ import annotations

from typing import Any, cast

from sim.fidelity.difference import Difference
from sim.fidelity.inference.joint import best_pair, lively
from sim.fidelity.inference.outcome import Decisions, Outcome, Setting
from sim.fidelity.inference.search import Search

VALUES = {"fee": ("0", "250"), "session": ("keep", "cancel"), "idle": ("5m", "1h"), "wait": ("0",)}
BASE = {name: values[0] for name, values in VALUES.items()}
SHOWS_FEE, NEEDS_SESSION = range(1, 7), range(10, 30)


class Table:
    """A session in which the fee shows in six lines, and breaks twenty while `session` is ours."""

    def __init__(self) -> None:
        self.stood: list[Setting] = []

    def rebase(self, setting: Setting, outcome: Outcome) -> None:
        self.stood.append(setting)

    def trial_of(
        self, setting: Setting, against: Outcome | None = None, certain: int = 3
    ) -> Outcome:
        now = {**BASE, **setting.values}
        differ = [] if now["fee"] == "250" else [*SHOWS_FEE]
        if now["fee"] == "250" and now["session"] == "keep":
            differ += NEEDS_SESSION
        lines = {n: {"answer.body": Difference("answer.body", 1, 2, "value")} for n in differ}
        return Outcome(lines=lines, asked={*VALUES}, until=99)


class Descent:
    """What a search looks like where its descent has ended."""

    def __init__(self, leads: dict[str, str]) -> None:
        self.session, self.setting, self.leads = Table(), Setting(), leads
        self.outcome = self.session.trial_of(self.setting)
        self.catalogue = VALUES

    def value(self, name: str) -> str:
        return {**BASE, **self.setting.values}[name]

    def text(self, name: str, value: str) -> str:
        return value

    def others(self, name: str) -> list[str]:
        return [value for value in VALUES[name] if value != self.value(name)]

    def decisions(self, name: str) -> Decisions:
        return Decisions(False)


def descent(**leads: str) -> Any:
    return cast(Search, Descent(leads))


def test_a_change_that_breaks_more_than_it_explains_is_taken_with_what_mends_it() -> None:
    search = descent(fee="250", idle="1h")
    pair = best_pair(search)
    assert pair is not None
    setting, outcome = pair
    assert (setting.values, outcome.lines) == ({"fee": "250", "session": "cancel"}, {})
    assert search.session.stood[-1] == search.setting  # trials begin there again


def test_where_no_other_change_mends_it_nothing_is_taken() -> None:
    assert best_pair(descent(idle="1h")) is None
    search = descent(fee="250")
    search.catalogue = {name: VALUES[name] for name in ("fee", "idle", "wait")}
    assert best_pair(search) is None


def test_names_that_show_in_lines_are_found_by_halves() -> None:
    search = descent()
    broken = Setting({"fee": "250"})
    outcome = search.session.trial_of(broken)
    assert lively(search, broken, outcome, {*NEEDS_SESSION}, {"fee"}) == ["session"]
    assert lively(search, broken, outcome, {*SHOWS_FEE}, {"fee"}) == []
