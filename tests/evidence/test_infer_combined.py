"""Two changes that gain only together: on a session that is a table, and recorded."""

from __future__ import annotations

from typing import Any, cast

import pytest

from sim.evidence.infer.combined import best_pair
from sim.evidence.infer.outcome import Decisions, Setting, TrialOutcome, ValueTrial, change
from sim.evidence.infer.search import Search, varying
from sim.evidence.validation.difference import Misfit
from tests.evidence.clients import Clients
from tests.evidence.conftest import Inferred, named
from tests.journeys import retail_order

VALUES = {"fee": ("0", "250"), "session": ("keep", "cancel"), "idle": ("5m", "1h"), "wait": ("0",)}
BASE = {name: values[0] for name, values in VALUES.items()}
SHOWS_FEE, NEEDS_SESSION = range(1, 7), range(10, 30)


class Table:
    """A session in which the fee shows in six lines, and breaks twenty while `session` is ours."""

    def __init__(self) -> None:
        self.stood: list[Setting] = []

    def rebase(self, setting: Setting, outcome: TrialOutcome) -> None:
        self.stood.append(setting)

    def trial_of(
        self, setting: Setting, against: TrialOutcome | None = None, certain: int = 3
    ) -> TrialOutcome:
        now = {**BASE, **setting.values}
        differ = [] if now["fee"] == "250" else [*SHOWS_FEE]
        if now["fee"] == "250" and now["session"] == "keep":
            differ += NEEDS_SESSION
        lines = {n: {"answer.body": Misfit("answer.body", 1, 2, "value")} for n in differ}
        return TrialOutcome(lines=lines, asked={*VALUES}, until=99)


class Descent:
    """What a search looks like where no single change gains."""

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

    def trial_of(self, name: str, value: str) -> ValueTrial:
        setting = self.setting.with_value(name, value)
        outcome = self.session.trial_of(setting)
        return ValueTrial(name, value, setting, outcome, change(self.outcome, outcome))

    def decisions(self, name: str) -> Decisions:
        return Decisions(False)


def stuck(**leads: str) -> Any:
    return cast(Search, Descent(leads))


def test_a_change_that_breaks_more_than_it_explains_is_taken_with_what_mends_it() -> None:
    search = stuck(fee="250", idle="1h")
    pair = best_pair(search)
    assert pair is not None
    setting, outcome = pair
    assert (setting.values, outcome.lines) == ({"fee": "250", "session": "cancel"}, {})
    assert search.session.stood[-1] == search.setting  # trials begin there again


def test_where_no_other_change_mends_it_nothing_is_taken() -> None:
    for lead in ({"fee": "250"}, {"idle": "1h"}):
        search = stuck(**lead)
        search.catalogue = {name: VALUES[name] for name in ("fee", "idle", "wait")}
        assert best_pair(search) is None


def test_a_change_is_found_that_no_single_trial_has_shown() -> None:
    pair = best_pair(stuck())
    assert pair is not None
    assert pair[0].values == {"fee": "250", "session": "cancel"}


def test_names_that_show_in_lines_are_found_by_halves() -> None:
    search = stuck()
    broken = Setting({"fee": "250"})
    outcome = search.session.trial_of(broken)
    assert varying(search, broken, outcome, {*NEEDS_SESSION}, {"fee"}) == ["session"]
    assert varying(search, broken, outcome, {*SHOWS_FEE}, {"fee"}) == []


@pytest.mark.long
@pytest.mark.reading("documented")
def test_two_changes_of_which_neither_explains_anything_alone(inferred: Inferred) -> None:
    """The order blocks its call until the upstream's time-out: it waits until it is done, and the
    exchange blocks a call for longer than ours. With one of these our answer is a 200 all the same.
    """

    def act(clients: Clients) -> None:
        body = retail_order(clients.market, "BUY_LONG", 40, 2, synchronousExecution=True)
        clients.retail.post("/v1/orders", json=body)
        clients.retail.get("/v1/orders/open")

    values = {"retail.synchronous_until": "done", "retail.block_time": "4m"}
    result = inferred(values, act)
    assert named(result) == values.keys()
    low, high = result["assumptions"]["retail.block_time"]["between"]
    assert (low, high) == ("30.4s", None)
    assert result["unexplained"] == []
