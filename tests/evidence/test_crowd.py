"""What clients of our own exchange see contradicts itself nowhere, whatever they do; and what is
taken out of it is missed.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

import pytest

from sim.cli.main import main
from sim.evidence.witness import Witness, witness_file, witness_run
from sim.kernel.instants import NS_PER_S
from sim.search.hunt.oracles import replays
from sim.search.hunt.roots import journal_of
from sim.testing.exchange_fixture import ServedExchange
from tests.evidence.crowd import Crowd
from tests.evidence.lines import Line, frames, lines, write
from tests.evidence.story import Story, fill

STEPS = 40


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Crowd]:
    """A recording and the clients who made it."""
    file = tmp_path_factory.mktemp("witness") / "crowd.ndjson"
    clients = Crowd(file, seed=4)
    clients.go(STEPS)
    return file, clients


def notices(witness: Witness) -> list[str]:
    """Every contradiction."""
    return [contradiction.sentence for contradiction in witness.contradictions]


def test_a_recording_and_the_journal_of_its_run_are_free_of_contradictions(
    crowd: tuple[Path, Crowd],
) -> None:
    file, clients = crowd
    recorded, run = witness_file(file), witness_run(clients.simulation)
    assert notices(recorded) == notices(run) == []
    assert not recorded.illegible and not run.illegible
    for name in ("order life", "fills once", "nothing missed", "resumed", "position fills"):
        assert recorded.checks[name].applied and run.checks[name].applied, name
    assert recorded.observations == run.observations


@pytest.mark.parametrize("seed", [11, 12])
def test_frames_that_a_fault_lost_doubled_or_swapped_are_no_contradiction_of_a_run(
    seed: int, tmp_path: Path
) -> None:
    clients = Crowd(tmp_path / "crowd.ndjson", seed, "hostile")
    clients.go(STEPS)
    assert notices(witness_run(clients.simulation)) == []


@pytest.mark.parametrize("journey", ["fork", "rewind", "restore", "reset"])
def test_a_journey_in_time_ends_what_clients_had_open(journey: str, tmp_path: Path) -> None:
    clients = Crowd(tmp_path / "crowd.ndjson", seed=4)
    simulation = clients.simulation
    simulation.snapshot("begun")
    clients.go(10)
    assert simulation.engine.hub.operations()
    match journey:
        case "fork":
            simulation = simulation.fork()
        case "rewind":
            simulation.rewind(seq=simulation.seq - 5)
        case "restore":
            simulation.restore("begun")
        case "reset":
            simulation.reset(9)
    simulation.advance_to(simulation.now + 120 * NS_PER_S)
    assert notices(witness_run(simulation)) == []
    assert replays(journal_of(simulation))[0] == []


def is_fill(row: Line) -> bool:
    update = row["frame"]["body"].get("update")
    executions = update.get("executions") if isinstance(update, dict) else None
    return bool(executions) and executions[0].get("type") == "EXECUTION_TYPE_FILL"


def test_a_fill_that_is_lost_on_one_stream_is_missed(
    crowd: tuple[Path, Crowd], tmp_path: Path
) -> None:
    rows = lines(crowd[0])
    fills = [row for row in frames(rows, "executions") if is_fill(row)]
    gone = fills[len(fills) // 2]
    rows.remove(gone)
    missed = witness_file(write(tmp_path / "lost.ndjson", rows)).checks["nothing missed"]
    assert missed.contradictions
    assert all(
        "CreateOrderSubscription" in contradiction.sentence
        for contradiction in missed.contradictions
    )
    assert gone["n"] not in {
        line for contradiction in missed.contradictions for line in contradiction.evidence
    }


def test_the_fixture_tells_what_its_clients_saw(exchange: ServedExchange) -> None:
    with urlopen(f"{exchange.gateway}/v1/markets") as answer:
        assert answer.status == 200
    result = exchange.witness()
    assert (result.contradictions, result.observations) == ([], 1)


def test_a_sweep_asks_the_witness_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = ["sweep", "price-time-priority", "--seeds", "1..2", "--witness", "--jobs", "1"]
    assert main(sweep) == 0
    monkeypatch.setattr(
        "sim.evidence.witness.witness.contradiction_lines", lambda simulation: ["witness: planted"]
    )
    capsys.readouterr()
    assert main(sweep) == 1
    assert "witness: planted" in capsys.readouterr().out


# ---- files


def test_several_files_are_judged_each_by_itself(tmp_path: Path) -> None:
    fine, wrong = Story(), Story()
    fine.reports(fill("E1", 3, 3, 2))
    wrong.reports(fill("E1", 3, 3, 2), fill("E2", 4, 3, 3))
    files = [
        story.write(tmp_path / name) for story, name in ((fine, "a.ndjson"), (wrong, "b.ndjson"))
    ]
    out, junit = tmp_path / "verdict.json", tmp_path / "witness.xml"
    assert main(["witness", *map(str, files), "--json", str(out), "--junit", str(junit)]) == 1
    suites = list(ElementTree.parse(junit).getroot())
    assert [suite.attrib["name"] for suite in suites] == [str(file) for file in files]
    assert [suite.attrib["failures"] for suite in suites] == ["0", "1"]
    [broken] = [case for case in suites[1] if case.find("failure") is not None]
    assert broken.attrib["name"] == "fills once"
    document = json.loads(out.read_text())
    [result] = document["checks"]["fills once"]["contradictions"]
    assert result["file"] == str(files[1])
    assert document["files"][str(files[0])]["checks"]["fills once"]["contradictions"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ('{"recording": 9}\n', "format 9"),
        ('{"recording": 1}\n{"n": 1}\n', ":2:"),
        ("no JSON\n", "journal"),
    ],
)
def test_a_file_that_is_neither_is_refused(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.ndjson"
    file.write_text(text)
    assert main(["witness", str(file)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_values_that_no_message_has_are_counted_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = Story()
    story.reports(fill("E1", 3, 3, 2) | {"lastPx": "a lot"})
    story.get("/v1/trading/orders/open", {"orders": [{"id": "A", "orderQty": ["no"]}]})
    story.get("/v1/trading/orders/open", ["no", "object"])
    file = story.write(tmp_path / "story.ndjson")
    assert main(["witness", str(file)]) == 0
    assert "2 messages could not be read, the first in line 1" in " ".join(
        capsys.readouterr().out.split()
    )
