"""kill -9 in the middle of load: the journal left behind replays, and holds everything that was
acknowledged (design D5).
"""

from __future__ import annotations

import pytest

from tools.soak.kills import kill_round
from tools.soak.load import SURFACES

FIRST, *REST = SURFACES


@pytest.mark.parametrize(
    "surface", [FIRST, *(pytest.param(name, marks=pytest.mark.long) for name in REST)]
)
def test_orders_taken_on_a_surface_survive_the_kill(tmp_path, surface):
    """Three clients at once until the process is gone: what was answered is in the journal, and the
    exchange it replays to still has it. `make soak` does a hundred rounds of this.
    """
    done = kill_round(surface, tmp_path, 60)
    assert done.acknowledged >= 60
    assert not done.lost
