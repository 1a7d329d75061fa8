"""Forty mistakes of clients, one at a time in a small client: `sim explore` finds them, and the
client without a mistake survives.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.bugs.reference_client import BUGS

ROOT = Path(__file__).parents[2]
JOURNEYS = Path(__file__).parent / "bugs" / "journeys.py"
OPERATIONS = {
    "read": "ListOpenOrders",
    "write": "CreateOrder",
    "page": "ListInstruments",
    "hook": "kyc.approved",
}
# What no single fault shows: a retry that fails too (`--pairs` finds it), a cursor that repeats more
# than once, and a field that is not the first of its message, which is what a ready patch takes.
BEYOND = {"one retry in all", "participant is there", "null is a participant", "cursor is new"}
# Found before any fault: the quirk of the scenario is enough.
AT_ONCE = {"bytes are written again"}


@pytest.mark.soak
@pytest.mark.parametrize("journey", BUGS)
def test_explore_finds_the_mistakes_and_none_in_the_good_client(
    journey: str, tmp_path: Path
) -> None:
    result = tmp_path / "trials.json"
    command = (
        f"-m sim explore {JOURNEYS} --operations {OPERATIONS[journey]} --seconds 5 --jobs 2"
        f" --max-occurrences 2 --json {result} -- -k test_{journey} -p no:cacheprovider"
    )
    done = subprocess.run(
        [sys.executable, *command.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.is_file(), done.stdout + done.stderr
    rows = json.loads(result.read_text())
    lost: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] not in ("survived", "not affected"):
            lost.setdefault(row["test"].partition("[")[2][:-1], []).append(row["kind"])
    assert lost.pop("", []) == []
    missed = {*BUGS[journey]} - {*lost} - BEYOND - AT_ONCE
    assert not missed, f"{missed} of {journey}, although it found {lost}"


def test_there_are_forty_mistakes() -> None:
    assert sum(map(len, BUGS.values())) == 40
