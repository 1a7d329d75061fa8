"""Callers that move the clock at the same time, and files that nobody can read to their end."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sim.kernel.instants import parse_instant
from sim.testing.control import Control
from tests.kit.http import call
from tests.kit.processes import Process

SERVE = ("serve", "--port-base", "0", "--clock", "manual", "--quiet")


def now(control: Control) -> int:
    return parse_instant(control("GET", "/clock")["now"])


@pytest.fixture
def control(start) -> Control:
    return start(*SERVE).control


def test_moves_of_the_clock_add_up(control: Control) -> None:
    began = now(control)
    with ThreadPoolExecutor() as callers:
        moves = [{"by": "10h", "fired": "none"}] * 3
        list(callers.map(lambda body: control("POST", "/clock/advance", body), moves))
    assert now(control) == began + 30 * 3600 * 10**9


def test_a_condition_is_that_of_its_caller(control: Control) -> None:
    """The second caller waits for what never happens while the first one's happens."""
    bodies = [
        {"until": {"maintenance": True}, "within": "7d", "fired": "none"},
        {"until": {"kyc": {"external_id": "nobody"}}, "within": "1h", "fired": "none"},
        {"until": {"maintenance": True}, "within": "1h", "fired": "none"},
    ]
    for order in (bodies, bodies[::-1]):
        control("POST", "/reset", {})
        with ThreadPoolExecutor() as callers:
            futures = [callers.submit(control, "POST", "/clock/advance", body) for body in order]
            answers = {str(body): f.result() for body, f in zip(order, futures, strict=True)}
        assert answers[str(bodies[0])]["happened"]
        assert not answers[str(bodies[1])]["happened"]


def test_a_condition_that_holds_already_is_answered_at_once(control: Control) -> None:
    until = {"until": {"maintenance": True}, "within": "7d"}
    assert control("POST", "/clock/advance", until)["happened"]
    began = now(control)
    answer = control("POST", "/clock/advance", until)
    assert (answer["happened"], answer["fired"], now(control)) == (True, [], began)


def spoil(path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else path)


@pytest.mark.parametrize("kind", ["fifo", "device", "loop"])
@pytest.mark.parametrize("name", ["flow.csv", "world.yaml"])
def test_only_regular_files_are_read_and_nothing_holds_a_server_that_stops(
    tmp_path: Path, kind: str, name: str
) -> None:
    spoil(tmp_path / name, kind)
    sources = {"flow.csv": "name: x\nparticipants: {flows: [{name: a, file: flow.csv}]}\n"}
    source = sources.get(name, "name: x\nextends: world.yaml\n")
    with Process(tmp_path, *SERVE, "--scenarios", str(tmp_path)) as served:
        address = served.ready["control"] + "/_sim/v1/worlds"
        for scenario in (source, "world.yaml"):
            assert call(address, {"scenario": scenario}).status == 400
        assert served.end(signal.SIGTERM)[0] == 0
