"""`sim open`: a finished run, read at once, at any moment, forked from any, and never changed."""

from __future__ import annotations

import gzip
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim import Simulation
from sim.cli.main import main
from sim.run.actors.operator.views import view
from tests.kit.desk import Desk, begin
from tests.kit.http import call
from tests.kit.http import status as status_of
from tests.kit.processes import Process

Call = Callable[..., Any]


class Recorded:
    """A run with journeys in it, and what it was like after each of its inputs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.books: dict[tuple[str, int], Any] = {}
        self.digests: dict[tuple[str, int], str] = {}
        with path.open("w+b", buffering=0) as file:
            self._run(begin(journal=file))

    def _run(self, desk: Desk) -> None:
        sim = desk.simulation
        desk.rpc_trader().stream("DropCopyAPI.CreateDropCopySubscription")
        for number in range(24):
            desk.enter(desk.quiet(), "buy" if number % 2 else "sell", 40 + number)
            self._note(sim)
            if number % 6 == 5:
                desk.advance("20s")
                self._note(sim)
            match number:
                case 8:
                    sim.snapshot("kept")
                case 14:
                    sim.rewind(seq=6)
                case 18:
                    sim.restore("kept")
                case 21:
                    sim.reset(3)
        self.tree = [
            (branch.name, branch.from_seq, branch.seq) for branch in sim.journal.branches.values()
        ]
        self.end = (sim.seq, sim.digest)

    def _note(self, sim: Simulation) -> None:
        position = sim.journal.branch.name, sim.seq
        self.books[position] = json.loads(json.dumps(view(sim.engine, "books")))
        self.digests[position] = sim.digest


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return Recorded(tmp_path_factory.mktemp("open") / "run.ndjson")


@pytest.fixture
def opened(tmp_path):
    """Open a journal; its ready file, and how to call its control plane."""
    processes: list[Process] = []

    def begin(path: Path) -> tuple[dict[str, Any], Call]:
        processes.append(Process(tmp_path, "open", str(path), "--port-base", "0"))
        return processes[-1].ready, caller(processes[-1].ready["control"])

    yield begin
    for process in processes:
        code, out, err = process.end(signal.SIGTERM)
        assert code == (3 if "differs" in err else 0), err
        assert "room " in out


def caller(address: str) -> Call:
    def ask(verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = call(f"{address}/_sim/v1{path}", body, verb=verb)
        return answer.status, answer.json()

    return ask


def test_a_finished_run_is_read_at_every_moment_and_forked_and_not_changed(recorded, opened):
    facts, ask = opened(recorded.path)
    assert facts["gateway"] is facts["grpc"] is None
    assert facts["control"].startswith("http://127.0.0.1:")
    tree = ask("GET", "/branches")[1]["branches"]
    assert [(item["name"], item["from_seq"], item["last_seq"]) for item in tree] == recorded.tree
    assert {item["begun"] for item in tree} == {"start", "rewind", "restore", "reset"}
    for (branch, seq), books in recorded.books.items():
        at = f"/history/{seq}/state/books?branch={branch}"
        assert ask("GET", at) == (200, books)
    branch, seq = list(recorded.digests)[-4]
    record = ask("GET", f"/history/{seq}?branch={branch}")[1]
    assert record["digest"] == recorded.digests[branch, seq]
    first = ask("GET", "/history?branch=main&kind=timer&kind=stream")[1]["rows"]
    assert [row["caused_by"] for row in first[:2]] == [None, first[0]["seq"]]
    expected = {"digest": recorded.end[1], "seq": recorded.end[0]}
    assert ask("GET", "/digest") == (200, expected)
    for verb, path, body in (
        ("POST", "/clock/advance", {"by": "1h"}),
        ("POST", "/rewind", {"seq": 1}),
        ("POST", "/reset", {}),
        ("PUT", "/clock", {"mode": "paced"}),
        ("POST", "/prices/crypto:btc", {"price": "61000"}),
        ("POST", "/snapshots/here", {}),
        ("DELETE", "/faults/f1", None),
    ):
        status, answer = ask(verb, path, body)
        assert (status, "can be read and forked" in answer["message"]) == (409, True), path
    assert ask("GET", "/digest") == (200, expected)

    for position in (("main", 7), (branch, seq)):
        status, created = ask("POST", "/fork", {"branch": position[0], "seq": position[1]})
        assert status == 200
        fork = caller(created["control"])
        result = fork("GET", "/digest")[1]
        assert result == {"digest": recorded.digests[position], "seq": position[1]}
        assert fork("GET", "/state/books")[1] == recorded.books[position]
        assert fork("POST", "/clock/advance", {"by": "1h"})[0] == 200
        assert status_of(f"{created['gateway']}/v1/health") == 200
    assert ask("POST", "/fork", {})[1]["seed"] == 3


def test_a_compressed_journal_opens_too(recorded, opened, tmp_path):
    packed = tmp_path / "run.ndjson.gz"
    packed.write_bytes(gzip.compress(recorded.path.read_bytes()))
    _, ask = opened(packed)
    branch, seq = next(iter(recorded.digests))
    record = ask("GET", f"/history/{seq}?branch={branch}")[1]
    assert record["digest"] == recorded.digests[branch, seq]


def test_rows_of_a_run_that_no_longer_replays_can_be_read_and_states_say_why_not(
    recorded, opened, tmp_path
):
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    broken = tmp_path / "broken.ndjson"
    lines[5] = lines[5].replace(b'"status":200', b'"status":201', 1)
    broken.write_bytes(b"".join(lines))
    _, ask = opened(broken)
    assert ask("GET", "/history?branch=main&limit=20")[0] == 200
    status, answer = ask("GET", "/history/9/state/books?branch=main")
    assert status == 409
    assert "replays the run up to input" in answer["message"]
    assert ask("GET", "/history/2/state/books?branch=main")[0] == 200
    assert "differs" in ask("GET", "/health")[1]["replay"]["failed"]


@pytest.mark.parametrize("content", [None, b"", b"no journal\n", b'{"journal":1,"name":"x"}\n'])
def test_a_file_that_is_no_journal_is_a_usage_error(tmp_path, capfd, content):
    path = tmp_path / "none.ndjson"
    if content is not None:
        path.write_bytes(content)
    assert main(["open", str(path), "--port-base", "0"]) == 2
    assert str(path) in capfd.readouterr().err
