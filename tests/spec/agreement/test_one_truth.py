"""One fact has one value, wherever it is read: state, prices, positions, money, times, names, on
every surface and stream, after everything that can happen, in both readings.
"""

from __future__ import annotations

from typing import get_args

import pytest

from sim.core.model.events import Event
from tests.spec.agreement.facts import FACTS
from tests.spec.agreement.walk import KNOWN, STAGES, Walk


@pytest.mark.parametrize(
    "reading", ["documented", pytest.param("observed", marks=pytest.mark.soak)]
)
@pytest.mark.long
def test_all_surfaces_say_the_same_after_every_event(reading: str) -> None:
    walk = Walk(reading)
    walk.agree("the start")
    for stage in STAGES:
        for name, step in stage():
            step(walk)
            walk.agree(name)
    assert not walk.contradictions, "\n".join(walk.contradictions)
    silent = [
        f"{kind}: {fact} in the words of {dialect}"
        for kind, facts in FACTS.items()
        for fact, readers in facts.items()
        for dialect in readers
        if dialect not in walk.spoken.get((kind, fact), ())
        and (kind, fact, dialect) not in KNOWN[reading]
    ]
    assert not silent, f"the walk meets nobody who says: {silent}"
    happened = walk.surfaces.happened()
    missing = {str(event.__struct_config__.tag) for event in get_args(Event)} - happened
    assert not missing, f"the walk leaves out {missing}"
