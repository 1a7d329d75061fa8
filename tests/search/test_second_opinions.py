"""What the hunt works out or asks a second time: each opinion sees the bug that it is for, and says
nothing of the same episodes without it.
"""

from __future__ import annotations

import signal
from contextlib import nullcontext

import pytest

from sim.kernel.instants import minutes
from sim.search.hunt.episode import Episode
from sim.search.hunt.roots import roots_of, start_of
from sim.search.hunt.sequences import DrawnMove
from sim.search.hunt.troubles import Trouble
from tools.detection.exchange_bugs import EXCHANGE_BUGS
from tools.detection.rewriting import planted

ROOTS, TIGHT = roots_of(), 1
EPISODES = 40


def troubles(bug: str, kind: str, root: int) -> set[tuple[str, str]]:
    """Kind and subject of what is wrong in short episodes of one kind of move; the first only
    where there is a bug.
    """
    wrong: set[Trouble] = set()
    with planted(*EXCHANGE_BUGS[bug]) if bug else nullcontext():
        for seed in range(EPISODES):
            moves = [DrawnMove(kind, seed)] * (1 + seed % 3)
            wrong.update(Episode(start_of(ROOTS[root], 1)).run(moves).troubles)
            if bug and wrong:
                break
    return {(trouble.kind, trouble.subject) for trouble in wrong}


@pytest.mark.parametrize(
    ("bug", "kind", "root", "finding"),
    [
        ("average_price_of_last", "sweep", 0, ("law", "M1")),
        ("fee_rounded_down", "sweep", 0, ("law", "M1")),
        ("duplicate_order_id", "same name", 0, ("law", "M6")),
        ("lost_cancel", "same name", 0, ("law", "M7")),
        ("session_revoked_late", "outlive", 0, ("law", "S5.1-4")),
        ("stale_balance", "account", 0, ("law", "P2")),
        ("limit_counts_refused", "flood", TIGHT, ("law", "R4")),
        ("cursor_skips_a_row", "pages", 0, ("agreement", "RefDataAPI.ListInstruments pages")),
        ("resume_off_by_one", "resume", 0, ("law", "M9")),
    ],
)
def test_a_second_opinion_sees_its_bug(
    bug: str, kind: str, root: int, finding: tuple[str, str]
) -> None:
    other = finding[0], finding[1].replace("List", "Search")
    assert troubles(bug, kind, root) & {finding, other}
    assert not troubles("", kind, root)


def test_an_input_that_does_not_end_is_found_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.search.hunt.watchdog.SECONDS", 0.2)
    with planted(*EXCHANGE_BUGS["timer_after_its_instant"]):
        moves = [DrawnMove("follow", 1), DrawnMove("wait", 1, minutes(5))]
        result = Episode(start_of(ROOTS[0], 1)).run(moves)
    (trouble,) = result.troubles
    assert (trouble.kind, trouble.subject) == ("internal error", "InputTimeout")
    assert "time to 2026-" in trouble.text
    assert result.over
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
