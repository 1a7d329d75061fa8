"""What the tests of decisions share: the desk they begin at, and the journal's record of a decision.

A test leads to one situation through the public surface and returns the decision that the journal
has of it. `decides` then asserts that the decision names the rule in the test's name, and that the
history and `explain` tell the same to whoever asks about its subject.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from sim.core.invariants import violations
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import Refusal
from sim.read.explain import explain
from sim.run.client.client import Stream
from tests.kit import FEW_GAMES, Desk, begin

# Rules that a test of this folder led to, by the tests.
MET: dict[str, list[str]] = {}

_RULE_IN_NAME = re.compile(r"test_([a-z]\d{1,2})_")


class Decided(NamedTuple):
    """A decision in the journal: the number of its input, its rule and facts, and the subject that
    can be asked about it ("" for none).
    """

    desk: Desk
    seq: int
    rule: str
    facts: dict[str, Any]
    subject: str = ""

    def check(self, rule: str) -> None:
        """Assert that the rule decided it, and that whoever asks about the subject hears so."""
        assert self.rule == rule, self[1:]
        assert violations(self.desk.trading) == []
        if self.subject:
            explanation = explain(self.desk.simulation, self.subject)
            reasons = [(link["seq"], link.get("rule")) for link in explanation["chain"]]
            assert (self.seq, rule) in reasons, reasons


def decides(situation: Callable[..., Decided]) -> Callable[..., None]:
    """Make a test of a situation: the rule in its name decided it, and whoever asks hears so."""
    name = re.match(_RULE_IN_NAME, situation.__name__)
    assert name is not None, f"{situation.__name__} names no rule"
    rule = name[1].upper()
    MET.setdefault(rule, []).append(situation.__name__)

    @functools.wraps(situation)
    def test(*fixtures: Any, **named: Any) -> None:
        situation(*fixtures, **named).check(rule)

    test.__annotations__["return"] = None
    return test


def situations(rows: dict[str, tuple[Any, ...]]) -> Callable[[Callable[..., Decided]], Any]:
    """Make a test of a table of situations: words, and the rule with what leads to it."""
    for words, (rule, *_) in rows.items():
        MET.setdefault(rule, []).append(words)

    def decorator(situation: Callable[..., Decided]) -> Any:
        @pytest.mark.parametrize(
            ("rule", "row"), [(row[0], row[1:]) for row in rows.values()], ids=rows
        )
        def test(rule: str, row: tuple[Any, ...]) -> None:
            situation(*row).check(rule)

        test.__doc__ = situation.__doc__
        return test

    return decorator


def few_games(more: str = "") -> Desk:
    """A desk at the quickstart with few games, and more lines of a scenario."""
    return begin(FEW_GAMES + more)


def with_market(**terms: Any) -> tuple[Desk, Instrument]:
    """Such a desk, and an instrument of its own, "market"."""
    desk = few_games()
    return desk, desk.listed(**terms)


# ---- the journal


def _decided(desk: Desk, seq: int, row: dict[str, Any], subject: str = "") -> Decided:
    return Decided(desk, seq, row.get("rule", ""), row.get("facts", {}), subject)


def refusal(desk: Desk) -> Decided:
    """The refusal of the last call."""
    seq, out = list(desk.journal.outcomes(desk.simulation.seq - 1))[-1]
    assert out.get("status", 0) >= 400 or out.get("code", 0), out
    return _decided(desk, seq, out, f"request/{seq:016x}")


def refused_action(desk: Desk, action: str, subject: str = "", /, **body: Any) -> Decided:
    """The refusal of an operator's action."""
    with suppress(Refusal):
        desk.operate(action, subject, **body)
    seq, out = list(desk.journal.outcomes(desk.simulation.seq - 1))[-1]
    assert out["message"], out
    return _decided(desk, seq, out)


def event(desk: Desk, kind: str, *, ask: str = "", **fields: Any) -> Decided:
    """The last event of a kind that has these fields; `ask` is its subject for `explain`."""
    matching = desk.journal.events(kind, **fields)
    assert matching, f"the journal has no {kind} with {fields}"
    return _decided(desk, *matching[-1], ask)


def report(desk: Desk, order_id: str, position: int = -1) -> Decided:
    """A report of an order: the last one, or that at a position."""
    reports = [
        (seq, row)
        for seq, row in desk.journal.events("Executed")
        if row["execution"]["order"]["id"] == order_id
    ]
    return _decided(desk, *reports[position], f"order/{order_id}")


def ending(desk: Desk, stream: Stream) -> Decided:
    """The end of a stream."""
    return next(
        _decided(desk, seq, row, f"stream/{stream.number}")
        for seq, out in desk.journal.outcomes()
        for row in out.get("closed", ())
        if row["stream"] == stream.number
    )
