"""Files of earlier runs are never overwritten, and a journal that another program changes is told."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from sim.kernel.instants import seconds
from sim.kernel.journal import JournalLost
from sim.server.journal_file import open_journal
from sim.testing.control import ControlError
from tests.kit import begin
from tests.kit.processes import serve, sim


def test_a_journal_that_was_there_moves_aside(tmp_path):
    journal = tmp_path / "run.ndjson"
    for number in range(3):
        done = sim("run", "price-time-priority", "--seeds", f"{number}", "--journal", journal)
        assert done.returncode == 0
        assert ("was there already" in done.stderr) is bool(number)
    texts = [path.read_text() for path in sorted(tmp_path.glob("run.ndjson*"))]
    assert len(set(texts)) == 3
    with open_journal(journal) as file:
        file.write(b"x\n")
    assert (tmp_path / "run.ndjson.3").read_text() in texts
    with open_journal(tmp_path / "new.ndjson"):
        pass
    with open_journal(tmp_path / "new.ndjson"):  # an empty file holds nothing to keep
        assert not (tmp_path / "new.ndjson.1").exists()


@pytest.mark.parametrize(
    "change", [lambda path: os.truncate(path, 0), lambda path: path.open("a").write("x")]
)
def test_a_journal_that_another_program_changes_ends_the_run(tmp_path, change):
    path = tmp_path / "run.ndjson"
    with open_journal(path) as file:
        desk = begin(journal=file)
        desk.gateway.get("/v2/leagues")
        change(path)
        with pytest.raises(JournalLost, match="another program has changed the journal"):
            desk.gateway.get("/v2/leagues")


def test_a_rewind_over_changed_lines_ends_the_run(tmp_path):
    path = tmp_path / "run.ndjson"
    with open_journal(path) as file:
        desk = begin(journal=file)
        for _ in range(3):
            desk.advance_to(desk.now + seconds(1))
        desk.gateway.get("/v1/health")
        text = path.read_bytes()
        path.write_bytes(
            text.replace(b'"verb":"GET","path":"/v1/health"', b'"verb":"GET","path":"/v1/healtx"')
        )
        with pytest.raises(JournalLost, match="another program"):
            desk.simulation.rewind(seq=4)


def test_a_server_whose_journal_was_emptied_stops_and_says_so(tmp_path):
    journal = tmp_path / "run.ndjson"
    with serve(tmp_path, "--journal", str(journal)) as served:
        os.truncate(journal, 0)
        with suppress(OSError, ControlError):
            served.control("POST", "/clock/advance", {"by": "1s"})
        code, _, error = served.end()
    assert code == 2 and "another program has changed the journal" in error
