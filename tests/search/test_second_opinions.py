"""What the hunt works out or asks a second time: each opinion sees the bug that it is for, and says
nothing of the same episodes without it.
"""

from __future__ import annotations

import signal
from contextlib import nullcontext

import pytest

from sim.kernel.instants import minutes
from sim.search.hunt.arena import Arena
from sim.search.hunt.checkpoints import MomentPath, checkpoints_of
from sim.search.hunt.genes import Gene
from sim.search.hunt.oracles import Trouble
from sim.search.hunt.roots import roots_of
from tools.detection.exchange_bugs import EXCHANGE_BUGS
from tools.detection.rewriting import planted

ROOTS, TIGHT = roots_of(), 1
EPISODES = 40


def troubles(bug: str, kind: str, root: int) -> set[tuple[str, str]]:
    """Kind and subject of what is wrong in short episodes of one kind of gene; the first only
    where there is a bug.
    """
    seen: set[Trouble] = set()
    with planted(*EXCHANGE_BUGS[bug]) if bug else nullcontext():
        for seed in range(EPISODES):
            checkpoint = checkpoints_of(ROOTS, 1).checkpoint(MomentPath(root))
            seen.update(Arena(checkpoint).run([Gene(kind, seed)] * (1 + seed % 3)).troubles)
            if bug and seen:
                break
    return {(one.kind, one.subject) for one in seen}


@pytest.mark.parametrize(
    ("bug", "kind", "root", "found"),
    [
        ("average_price_of_last", "course sweep", 0, ("twin", "average price")),
        ("fee_rounded_down", "course sweep", 0, ("twin", "fee")),
        ("duplicate_order_id", "course same-name", 0, ("twin", "client order id")),
        ("lost_cancel", "course same-name", 0, ("twin", "cancel")),
        ("session_revoked_late", "course outlive", 0, ("twin", "ended token")),
        ("stale_balance", "course account", 0, ("twin", "retail balance")),
        ("limit_counts_refused", "course flood", TIGHT, ("twin", "refused call")),
        ("cursor_skips_a_row", "pages", 0, ("agreement", "RefDataAPI.ListInstruments pages")),
        ("resume_off_by_one", "course resume", 0, ("contradiction", "resumed")),
    ],
)
def test_a_second_opinion_sees_its_bug(
    bug: str, kind: str, root: int, found: tuple[str, str]
) -> None:
    assert troubles(bug, kind, root) in ({found}, {(found[0], found[1].replace("List", "Search"))})
    assert not troubles("", kind, root)


def test_an_input_that_does_not_end_is_found_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.search.hunt.watchdog.SECONDS", 0.2)
    with planted(*EXCHANGE_BUGS["timer_after_its_instant"]):
        checkpoint = checkpoints_of(ROOTS, 1).checkpoint(MomentPath(0))
        happened = Arena(checkpoint).run([Gene("course follow", 1), Gene("wait", 1, minutes(5))])
    (trouble,) = happened.troubles
    assert (trouble.kind, trouble.subject) == ("internal error", "InputTimeout")
    assert "time to 2026-" in trouble.says
    assert happened.over
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
