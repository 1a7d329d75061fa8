"""A share of the witness campaign (`tools/soak/witness.py`): scenarios with random clients behind
them, under faults that drop, double and swap frames. What was flagged falsely before stays here.
"""

from __future__ import annotations

import pytest

from tools.soak.witness import Case, judged


@pytest.mark.parametrize(
    ("scenario", "seed", "steps"),
    [
        ("quickstart", 44, 40),  # the first frames of a new stream are swapped
        ("price-time-priority", 3, 100),
        ("injected-faults", 8, 60),
        ("money-through-a-bank", 5, 60),
    ],
)
def test_what_clients_saw_of_a_disturbed_run_contradicts_itself_nowhere(
    scenario: str, seed: int, steps: int
) -> None:
    witness = judged(Case(scenario, seed), steps)
    assert [contradiction.sentence for contradiction in witness.contradictions] == []
    assert witness.observations > 20
