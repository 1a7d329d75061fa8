"""The record of a run as types: what is decoded from a line is everything that the line holds."""

from __future__ import annotations

import pytest
from msgspec import DecodeError, json

from sim import Simulation, load_scenario
from sim.read.headless_run import run_scenario
from sim.read.history.rows import rows
from sim.read.record import JournalEntry, entries

SCENARIOS = (
    *("combo-by-quote", "injected-faults", "kyc-approval-window", "maintenance-window"),
    *("settlement-and-payout", "webhook-trouble"),
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_outcome_that_is_decoded_encodes_to_the_bytes_of_its_line(name: str) -> None:
    scenario = load_scenario(name)
    simulation = Simulation(scenario)
    run_scenario(scenario, simulation=simulation, check_invariants=False)
    recorded = list(entries(simulation.journal.lines()))
    assert len(recorded) > 3
    for entry in recorded:
        assert json.encode(entry.out) == bytes(entry.line.out)


def test_the_parts_of_a_damaged_line_are_refused_when_they_are_read() -> None:
    entry = JournalEntry(b'{"seq":1,"at":2,"input":{"type":"advance"},"out":{"status":"x"}}')
    assert (entry.seq, entry.at, entry.mark) == (1, 2, "")
    with pytest.raises(DecodeError, match="to"):
        _ = entry.input
    with pytest.raises(DecodeError, match="status"):
        _ = entry.out


def test_a_call_without_the_status_of_its_answer_has_no_row() -> None:
    call = b'{"type":"rest","plane":"retail","verb":"GET","path":"/v1/markets"}'
    with pytest.raises(DecodeError, match="status"):
        list(rows([b'{"seq":1,"at":2,"input":%b,"out":{}}' % call]))
