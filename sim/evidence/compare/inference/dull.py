"""Finds names without effect: many are tried at once, and a half that changes nothing is not
searched further.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from sim.evidence.compare.inference.outcome import ALL, CERTAIN, Outcome, Setting, change
from sim.evidence.compare.inference.session import Session


def dull_of(
    session: Session,
    rows: Mapping[str, list[str]],
    setting: Setting,
    outcome: Outcome,
    lines: Set[int] | None = None,
) -> list[str]:
    """Return the names of `rows` of which no value changes one of `lines` (or any line), compared
    with the outcome of a setting.
    """
    certain = CERTAIN if lines is None else ALL
    for turn in range(max(map(len, rows.values()), default=0)):
        values = {name: row[turn] for name, row in rows.items() if turn < len(row)}
        together = Setting({**setting.values, **values}, setting.quirks)
        trial = session.trial_of(together, outcome, certain=certain)
        touched = set(change(outcome, trial).touched)
        if trial.failure or (touched if lines is None else touched & lines):
            names, half = list(rows), len(rows) // 2
            if not half:
                return []
            parts = [{name: rows[name] for name in part} for part in (names[:half], names[half:])]
            return [
                one for part in parts for one in dull_of(session, part, setting, outcome, lines)
            ]
    return list(rows)
