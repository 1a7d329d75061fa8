"""No memory, a full disk, no descriptors, a wall clock that jumps, each under the load of three
clients: the process stops as documented or answers again, and nothing acknowledged is lost.
`make soak` does forty rounds of this.
"""

from __future__ import annotations

from random import Random

import pytest

from tools.soak.load import SURFACES
from tools.soak.trouble import TROUBLES, trouble_round

SURFACE_OF = dict(zip(TROUBLES, 2 * tuple(SURFACES), strict=False))


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.long
def test_orders_taken_before_and_after_the_trouble_are_held(tmp_path, trouble):
    done = trouble_round(trouble, SURFACE_OF[trouble], tmp_path, Random(5))
    assert done.acknowledged and not done.lost
    assert (done.after >= 5) is (done.code is None)
    if trouble != "no memory":  # of which nobody can say where it is noticed
        # A journal that cannot be written ends the run; whatever else is missing comes back.
        assert done.code == (2 if trouble == "full disk" else None)
