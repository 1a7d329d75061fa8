"""Random sessions from every beginning of the hunt: all judges agree with the exchange, the law
after each input. What the hunt draws in longer runs is `make soak`'s and the users'.
"""

from __future__ import annotations

import pytest

from sim.kernel.entropy import Entropy
from sim.search.hunt.episode import Episode
from sim.search.hunt.roots import roots_of, start_of
from sim.search.hunt.sequences import random_sequence

ROOTS = roots_of()
EPISODES = 3


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(ROOTS)))
def test_random_sessions_keep_the_law(number: int) -> None:
    for episode in range(EPISODES):
        draws = Entropy(number).stream(f"session {episode}")
        result = Episode(start_of(ROOTS[number], episode)).run(random_sequence(draws))
        assert [str(trouble) for trouble in result.troubles] == [], f"episode {episode}"
