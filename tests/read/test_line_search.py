"""Looking for lines that have a text gives the lines that looking at each one gives: whatever the
text, the branch and the stretch.
"""

from __future__ import annotations

import io
import random
import re

import pytest

from sim import Simulation, load_scenario
from sim.kernel.work import done
from sim.read import line_search
from sim.read.line_search import lines_with, prepare
from tests.journeys import FEW_GAMES
from tests.read.test_history_moments import Traveller

_SOME = re.compile(rb':"[^"\\]{2,40}"|"stream":\d+,|"[A-Z]\w+","symbol":"[^"]+"|[a-z.]{6,20}')


@pytest.mark.parametrize("block", [4, 64])
def test_the_lines_are_those_that_have_the_text(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_search, "BLOCK", block)
    draw = random.Random(block)
    run = Traveller(Simulation(load_scenario(FEW_GAMES), journal=io.BytesIO()))
    for _ in range(60):
        run.act(draw.randrange(400))
    journal = run.sim.journal
    for branch in journal.branches.values():
        every = list(journal.lines(0, None, branch))
        words = sorted({word for line in every for word in _SOME.findall(line)})
        for texts in [draw.sample(words, 2) for _ in range(40)] + [[b'"no such text"', b':"none"']]:
            after = draw.randrange(len(every))
            until = draw.randrange(after, len(every) + 1)
            naive = [line for line in every[after:until] if any(text in line for text in texts)]
            result = lines_with(journal, branch, texts, after, until)
            assert list(result) == naive, (branch.name, texts)
            back = lines_with(journal, branch, texts, after, until, backwards=True)
            assert list(back) == naive[::-1], (branch.name, texts)
        done(prepare(journal, branch))
    assert len(journal.branches) > 2
