"""`sim infer` replays what its trials have in common once, and says the same as without that."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sim.cli.main import main
from sim.evidence.compare.inference.trial import Trial
from tests.fidelity import fresh_session as fresh
from tests.fidelity.wide_session import Clients, base, planted

pytestmark = [
    pytest.mark.reading("documented"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system copies no processes"),
]

SETTINGS = {"assumptions": {"gateway.order_by": "ignore", "participant_token.life": "1m"}}


def acts(clients: Clients) -> None:
    """A few calls."""
    fresh.lists(fresh.Fresh(clients, Random(3)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short session."""
    folder = tmp_path_factory.mktemp("recorded")
    return planted(folder, "variant", SETTINGS, parts=(acts,))


def verdicts(file: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `sim infer` says of it."""
    out = folder / "verdicts.json"
    main(["infer", str(file), "--scenario", str(base(folder)), "--json", str(out)])
    capsys.readouterr()
    document: dict[str, Any] = json.loads(out.read_text())
    assert any(one["verdict"] == "refuted" for one in document["assumptions"].values())
    return document


def without_fork(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(os, "fork")


def processes_end(patch: pytest.MonkeyPatch) -> None:
    """Every other process ends before it has answered."""
    here, finish = os.getpid(), Trial.finish

    def ended(trial: Trial, *rest: Any, **more: Any) -> Any:
        if os.getpid() != here:
            os._exit(1)
        return finish(trial, *rest, **more)

    patch.setattr(Trial, "finish", ended)


@pytest.mark.long
@pytest.mark.parametrize(
    "spoil", [without_fork, pytest.param(processes_end, marks=pytest.mark.soak)]
)
def test_it_says_the_same_where_no_process_can_be_copied(
    spoil: Callable[[pytest.MonkeyPatch], None],
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    quick = verdicts(recorded, tmp_path, capsys)
    spoil(monkeypatch)
    assert verdicts(recorded, tmp_path, capsys) == quick


@pytest.mark.long
def test_no_process_is_left(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    forked: list[int] = []
    fork = os.fork

    def counted() -> int:
        child = fork()
        forked.append(child)
        return child

    monkeypatch.setattr(os, "fork", counted)
    verdicts(recorded, tmp_path, capsys)
    assert forked
    for child in forked:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
