"""The table of planted bugs is complete, agrees with its page, and is reproduced for some quick
bugs.
"""

from __future__ import annotations

import pytest

from tools.detection.__main__ import fits
from tools.detection.client_bugs import BELIEFS, CLIENTS, KNOWN, run_machine
from tools.detection.exchange_bugs import EXCHANGE_BUGS
from tools.detection.planted import EXCHANGE, MISSED, PLANTED
from tools.detection.results import COLUMNS, Results
from tools.detection.rewriting import Rewrite, planted
from tools.detection.tools import TOOLS
from tools.detection.trial import attempt, fingerprint

RESULTS = Results.read()
NAMES = [bug.name for bug in PLANTED]


def test_the_forty_bugs_are_planted_and_stand_in_the_results() -> None:
    assert len(set(NAMES)) == 40 and len(EXCHANGE) == 20
    assert {bug.name for bug in EXCHANGE} == set(EXCHANGE_BUGS)
    assert {*NAMES} - set(EXCHANGE_BUGS) == {*CLIENTS, *KNOWN, *BELIEFS}
    assert set(RESULTS.trials) == set(NAMES) and set(RESULTS.controls) <= set(TOOLS)
    columns = {column for bug in NAMES for column in RESULTS.finders(bug)}
    assert columns <= set(COLUMNS)


def test_the_results_are_of_these_bugs_and_nine_of_ten_are_found() -> None:
    for bug in NAMES:
        assert {trial["bug"] for trial in RESULTS.trials[bug].values()} == {fingerprint(bug)}, bug
    assert sum(bool(RESULTS.finders(bug)) for bug in NAMES) >= 36


def test_what_no_tool_finds_has_a_reason() -> None:
    missed = {name for name in NAMES if not RESULTS.finders(name)}
    asked = {
        bug.name
        for bug in PLANTED
        if all(tool in RESULTS.trials[bug.name] for tool in TOOLS if fits(tool, bug))
    }
    assert missed & asked <= set(MISSED) <= missed


def test_a_find_is_nothing_that_is_said_without_the_bug() -> None:
    results = {output for control in RESULTS.controls.values() for output in control["every"]}
    assert not results & {output for bug in NAMES for output, _ in RESULTS.finders(bug).values()}


@pytest.mark.parametrize("bug", EXCHANGE_BUGS)
def test_each_bug_of_the_exchange_can_be_planted_and_is_taken_out_again(bug: str) -> None:
    with planted(*EXCHANGE_BUGS[bug]):
        pass
    with planted(*EXCHANGE_BUGS[bug]):  # its source was restored
        pass


def test_a_bug_whose_place_has_changed_is_no_bug() -> None:
    gone = Rewrite("sim.core.accounts.fees:rounded", "no such text", "")
    with pytest.raises(ValueError, match="occurs 0 times"), planted(gone):
        pass


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "bug", "text"),
    [
        ("hunt", "reservation_kept", "invariant: orders: "),
        ("hunt", "session_revoked_late", "law: input "),
        ("hunt", "fee_rounded_down", "law: input "),
        ("judge", "clock_trusted", "token-refreshed-in-time: "),
        ("certify", "backoff_ignored", "retry-after: "),
        ("certify", "retry_without_key", "idempotent-retry: "),
        ("beliefs", "decimals_as_floats", "knows what it spent"),
    ],
)
def test_what_is_found_in_a_moment_is_still_found(tool: str, bug: str, text: str) -> None:
    output = attempt(tool, bug, TOOLS[tool].seconds)["said"]
    assert [sentence for sentence, _ in output.values() if sentence.startswith(text)]


def test_without_a_bug_they_are_silent() -> None:
    assert not attempt("judge", "none", 10)["every"]
    assert not run_machine("none", examples=5)
