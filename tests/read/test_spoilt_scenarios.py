"""A scenario with something wrong in it is told so, or runs: it never ends in a mistake of ours. The
same holds for journals and the commands that read them.

These are small shares, from fixed seeds, of the searches in `tools/soak`.
"""

from __future__ import annotations

import pytest

from sim import load_scenario
from sim.read.headless_run import run_scenario
from tools.soak import journal_mutants, scenario_mutants
from tools.soak.corpus import WHOLE

SHARES = 6


def test_the_whole_document_is_sound() -> None:
    assert not run_scenario(load_scenario(WHOLE)).broken


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.long
def test_what_check_accepts_runs_and_what_it_refuses_has_a_place(share: int) -> None:
    verdicts = []
    for verdict, finding in scenario_mutants.search(180 // SHARES, seed=100 + share, seconds=10):
        assert finding is None, finding
        verdicts.append(verdict)
    assert {"ran", "refused"} <= set(verdicts)


@pytest.mark.long
def test_commands_that_read_journals_end_with_a_sentence_whatever_the_lines_say() -> None:
    for _, finding in journal_mutants.search(60, seed=100):
        assert finding is None, finding
