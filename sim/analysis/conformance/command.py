"""`sim conformance`: a recorded run's clients held against the rulebook."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TextIO

from msgspec import json

from sim.analysis.conformance import check, rulebook
from sim.analysis.replay import replayed
from sim.core.model.refusals import NotFound
from sim.kernel.instants import Instant

FAILED, USAGE = 1, 2


def check_journal(
    path: str,
    out: TextIO,
    problems: TextIO,
    *,
    until: Instant | None,
    caller: str,
    rules: tuple[str, ...],
    as_json: bool = False,
    junit: Path | None = None,
) -> int:
    """Replay a run and check it. The exit code: 1 when a rule was broken."""
    said = io.StringIO()
    sim = replayed(path, until, said)
    if isinstance(sim, int):
        problems.write(said.getvalue())
        return sim
    try:
        report = check(sim, caller=caller, rules=rules)
    except NotFound as refusal:
        print(f"sim: {refusal.message}: {refusal.remedy}", file=problems)
        return USAGE
    if junit is not None:
        junit.write_bytes(report.junit())
    print(
        (
            json.format(json.encode(report.shown()), indent=2).decode()
            if as_json
            else "\n".join(report.lines())
        ),
        file=out,
    )
    return 0 if report.ok else FAILED


def list_rules(out: TextIO) -> int:
    """Print the rulebook."""
    for rule in rulebook().values():
        print(
            f"{rule.name:<28} §{rule.section:<5} {rule.says}{' (advice)' if rule.advice else ''}",
            file=out,
        )
    return 0
