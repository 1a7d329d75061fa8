"""Which names change nothing: many of them are tried at once, and halves that change nothing are
not looked into.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from sim.fidelity.inference.outcome import ALL, CERTAIN, Outcome, Setting, change
from sim.fidelity.inference.session import Session


def dull_of(
    session: Session,
    rows: Mapping[str, list[str]],
    setting: Setting,
    outcome: Outcome,
    lines: Set[int] | None = None,
) -> list[str]:
    """Names of `rows` of which no value changes one of some lines, or any line, where a setting has
    an outcome.
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
