"""The law agrees with what the exchange does, and tells every small lie about it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json

from sim.cli.main import main
from sim.evidence.audit import Audit, audit_run
from sim.kernel.instants import minutes
from sim.kernel.resources import bundled_scenarios
from sim.oracle.doubts import DOUBTS
from sim.run.simulation import Simulation
from tests.kit import Desk, begin

LONG = ("quickstart", "life-size", "living-windows")


class LyingAudit(Audit):
    """An audit to which the events of a run are altered before it looks at them."""

    def __init__(self, simulation: Simulation, alter: Any) -> None:
        self._alter = alter
        super().__init__(simulation)

    def after_input(self, engine: Any, input_: Any, outcome: Any, at: Any, out: bytes) -> None:
        """Judge an input whose outcome is altered."""
        record = json.decode(out)
        record["events"] = [
            each for event in record.get("events", []) if (each := self._alter(event)) is not None
        ]
        super().after_input(engine, input_, outcome, at, json.encode(record))


def session(desk: Desk) -> None:
    """Two orders of which one trades twice, a change, a cancel, an expiry, a payout."""
    instrument = desk.quiet()
    kept = desk.place(instrument, "sell", 60, 9, user=1)
    desk.place(instrument, "buy", 60, 2)
    desk.place(instrument, "buy", 65, 3)
    desk.place(instrument, "buy", 40, 5, timeInForce="TIME_IN_FORCE_DAY")
    desk.cancel(kept, user=1)
    desk.operate("instrument.state", instrument.symbol, state="CLOSED")
    desk.operate("instrument.settle", instrument.symbol, price="1")
    desk.advance_to(desk.now + minutes(5))


def lie(kind: str, field: str, change: int, nth: int = 0) -> Any:
    """A change of a field in the nth event that has it; `field` "" leaves the event out."""
    met = [0]

    def alter(event: dict[str, Any]) -> dict[str, Any] | None:
        execution = event.get("execution", {})
        part = execution if field in execution else event
        if event["event"] != kind or (field and field not in part):
            return event
        met[0] += 1
        if met[0] != nth + 1:
            return event
        if not field:
            return None
        part[field] += change
        return event

    return alter


@pytest.mark.parametrize(
    ("kind", "field", "rules"),
    [
        ("Executed", "last_px", {"M1"}),
        ("Executed", "last_qty", {"M1"}),
        ("Executed", "commission", {"M1", "P11", "P12"}),
        ("PositionChanged", "net", {"P9"}),
        ("PositionChanged", "cost", {"P9"}),
        ("PositionChanged", "realized", {"P9"}),
        ("CashMoved", "after", {"P21"}),
        ("Traded", "price", {"M1"}),
    ],
)
@pytest.mark.parametrize("nth", [0, 1])
def test_a_field_that_is_wrong_by_one_is_told(kind, field, rules, nth):
    desk = begin()
    audit = LyingAudit(desk.simulation, lie(kind, field, 1, nth))
    session(desk)
    assert {each.rule for each in audit.verdict.disagreements} & rules


@pytest.mark.parametrize(
    "kind", ["Executed", "Traded", "PositionChanged", "CashMoved", "StateChanged"]
)
@pytest.mark.parametrize("nth", [1, 2])
def test_an_event_that_is_missing_is_told(kind, nth):
    if kind == "StateChanged":
        nth = 0
    desk = begin()
    audit = LyingAudit(desk.simulation, lie(kind, "", 0, nth))
    session(desk)
    assert audit.verdict.disagreements


def test_the_law_agrees_with_an_honest_session():
    desk = begin()
    audit = Audit(desk.simulation)
    session(desk)
    assert audit.take() == [] and audit.verdict.decided > 5
    assert set(audit.verdict.undecided) <= set(DOUBTS)
    assert audit_run(desk.simulation).document() == audit.verdict.document()


def test_a_law_that_fails_is_told_and_the_run_goes_on():
    desk = begin()
    audit = LyingAudit(desk.simulation, lambda event: {"event": "Executed", "execution": {}})
    session(desk)
    assert any("the law failed" in each.sentence for each in audit.verdict.disagreements)
    assert desk.simulation.ended is None


@pytest.mark.parametrize("name", [name for name in bundled_scenarios() if name not in LONG])
def test_a_bundled_scenario_is_lawful(name, tmp_path, capsys):
    assert main(["run", name, "--verify", "--journal", str(tmp_path)]) == 0
    for journal in tmp_path.iterdir():
        capsys.readouterr()
        assert main(["audit", str(journal), "--json"]) == 0
        verdict = json.decode(capsys.readouterr().out)
        assert verdict["disagreements"] == []
        assert verdict["inputs"] == verdict["decided"] + sum(verdict["undecided"].values())


def test_an_audit_of_something_else_says_so(tmp_path, capsys):
    notes, recording = tmp_path / "notes.txt", tmp_path / "session.ndjson"
    notes.write_text("nothing")
    recording.write_text('{"recording":1}\n')
    assert main(["audit", str(notes)]) == 2
    assert main(["audit", str(recording)]) == 2
    assert f"`sim witness {recording}`" in capsys.readouterr().err
