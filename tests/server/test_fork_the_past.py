"""Forks that begin in the past: `POST /fork` with a moment."""

from __future__ import annotations

from typing import Any

import pytest

from sim.testing.control import Control, ControlError

ORDER = {"as": "maker", "symbol": "mine", "side": "buy", "qty": "1"}


def place(control: Any, price: str) -> None:
    control("POST", "/orders", ORDER | {"price": price})


def books(control: Any, of: str = "") -> Any:
    return control("GET", f"{of}/state/books?symbol=mine")["books"]


@pytest.mark.scenario("../told.yaml")
def test_a_fork_begins_as_any_moment_was_and_goes_its_own_way(exchange):
    control = exchange.control
    exchange.clock.advance("3m")  # the script has a stream open
    for price in ("0.30", "0.31", "0.32"):
        place(control, price)
    last = control("GET", "/digest")["seq"]
    control("POST", "/rewind", {"seq": last - 2})
    place(control, "0.35")
    control("POST", "/reset", {"seed": 5})
    place(control, "0.37")
    tree = control("GET", "/branches")["branches"]
    moments = [("main", last - 1), ("main", 2), ("branch-1", last - 1), ("branch-2", 1)]
    for branch, seq in moments:
        digest = control("GET", f"/history/{seq}?branch={branch}")["digest"]
        created = control("POST", "/fork", {"seq": seq, "branch": branch})
        fork = Control(created["control"])
        assert fork("GET", "/digest") == {"digest": digest, "seq": seq}
        past = control("GET", f"/history/{seq}/state/books?symbol=mine&branch={branch}")
        assert books(fork) == past["books"]
        assert fork("GET", f"/history/{seq}")["digest"] == digest
        place(fork, "0.39")
        assert books(fork, f"/history/{fork('GET', '/digest')['seq']}") == books(fork)
        assert books(fork, f"/history/{seq}") == past["books"]
        (row,) = [
            row
            for row in control("GET", "/branches")["branches"]
            if row["forked"] == created["world"]
        ]
        assert (row["parent"], row["from_seq"]) == (branch, seq)
        assert row["last_seq"] == fork("GET", "/digest")["seq"]
        control("DELETE", f"/worlds/{created['world']}")
    assert control("GET", "/branches")["branches"] == tree


def test_a_fork_of_the_present_with_streams_can_look_back_across_its_beginning(exchange):
    control = exchange.control
    control("POST", "/instruments", {"symbol": "mine", "tick_size": "0.01", "state": "OPEN"})
    place(control, "0.30")
    fork = Control(control("POST", "/fork")["control"])
    place(fork, "0.31")
    here = fork("GET", "/branches")["branches"]
    assert [(row["name"], row["begun"], row["current"]) for row in here] == [
        ("main", "start", False),
        ("branch-1", "fork", True),
    ]
    assert books(fork, "/history/2") == books(control)
    assert books(fork, "/history/3") == books(fork)


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"seq": 9}, 404, "main has the inputs 0..1, not 9"),
        ({"seq": -1}, 404, "main has the inputs 0..1, not -1"),
        ({"seq": 1, "branch": "trunk"}, 400, "unknown branch 'trunk'"),
        ({"branch": "main"}, 400, "a branch needs a seq"),
    ],
)
def test_a_moment_that_there_is_not_is_refused_and_nothing_is_forked(exchange, body, status, text):
    exchange.control("POST", "/prices/crypto:btc", {"price": "61000"})
    worlds = exchange.control("GET", "/worlds")
    with pytest.raises(ControlError) as error:
        exchange.control("POST", "/fork", body)
    assert error.value.status == status
    assert text in error.value.body["message"]
    assert exchange.control("GET", "/worlds") == worlds
