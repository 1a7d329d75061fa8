"""`sim sweep`: many seeds and other readings of what is not documented, in one table; what breaks
is named.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.core.catalogue.assumptions import catalogue
from sim.core.matching.fills import Fills
from sim.search.sweep import _VARYING

LEANING = """
name: leaning
extends: quickstart
world: {instruments: [{symbol: lean, tick_size: "0.01", state: OPEN}]}
steps:
  - {name: bid, order: {as: maker, symbol: lean, side: buy, price: "0.45", qty: "10"}}
  - name: deep
    call: {plane: exchange, get: /v1/orderbook/lean, query: {depth: "50"}, as: firms/atlas}
    expect: {status: 200}
"""
FOLLOWS = """
name: follows
extends: quickstart
world: {instruments: [{symbol: x, tick_size: "0.01", state: OPEN}]}
steps:
  - {subscribe: {name: fills, rpc: OrderEntryAPI.CreateOrderSubscription, as: firms/atlas/users/mara-voss, json: {symbols: [x]}}}
  - {order: {as: firms/atlas/users/mara-voss, symbol: x, side: buy, price: "0.44", qty: "5"}}
  - {at: +1s, disconnect: fills}
"""
TRADE = """
name: trade
extends: quickstart
matrix: {price: ["0.60", "0.50"]}
world: {instruments: [{symbol: t, tick_size: "0.01", state: OPEN}]}
steps:
  - {name: bid, order: {as: maker, symbol: t, side: buy, price: "${price}", qty: "10"}}
  - {at: +1s, name: sale, order: {as: taker, symbol: t, side: sell, price: "${price}", qty: "10"}, expect: {order: {state: FILLED}}}
"""


@pytest.mark.long
def test_seeds_are_gathered_in_one_row_and_the_document_is_the_same_whatever_the_processes(
    sim, tmp_path
):
    documents = []
    for jobs in (1, 2):
        options = f"--seeds 3..8 --jobs {jobs} --json {tmp_path}/{jobs}.json"
        code, out, _ = sim(f"sweep price-time-priority {options}")
        assert code == 0
        assert "6 runs, 6 passed, 0 failed" in out and "every check of the invariants held" in out
        documents.append((tmp_path / f"{jobs}.json").read_bytes())
    assert documents[0] == documents[1]
    (row,) = json.loads(documents[0])["rows"]
    assert (row["scenario"], row["change"]) == ("price-time-priority", "as it is")
    assert row["runs"] == row["outcomes"] == len(row["digests"]) == 6


def test_an_expectation_that_leans_on_our_reading_of_a_silence_is_found(sim, file, tmp_path):
    path = file("leaning.yaml", LEANING)
    saved = f"--json {tmp_path}/found.json --save-failures {tmp_path}/kept"
    varied = "--vary assumptions --only book.[dp]*"
    code, out, _ = sim(f"sweep {path} {varied} --jobs 1 {saved}")
    assert code == 1
    assert "these scenarios pass as they are and fail under: book.depth_above_maximum=refuse" in out
    assert "1 alternative made no expectation fail" in out
    result = json.loads((tmp_path / "found.json").read_text())
    assert [(row["change"], row["failed"]) for row in result["rows"]] == [
        ("as it is", 0), ("book.depth_above_maximum=refuse", 1), ("book.pending_and_terminated=empty", 0)
    ]  # fmt: skip
    (failure,) = result["failures"]
    assert failure["lines"][0].startswith("deep at 2026-09-08T18:00:00Z: status is 400, not 200")
    assert Path(failure["journal"]).is_file()
    assert sim("replay", failure["journal"])[0] == 0


def test_streams_and_what_they_send_are_features_of_a_run_as_of_a_hunt(sim, file, tmp_path):
    result = tmp_path / "found.json"
    code, _, _ = sim(f"sweep {file('follows.yaml', FOLLOWS)} --seeds 1 --jobs 1 --json {result}")
    assert code == 0
    # the stream is opened, sends a snapshot and an update, and its client leaves
    assert json.loads(result.read_text())["features"]["streams"] == 4


@pytest.mark.soak
def test_without_more_words_every_assumption_and_quirk_is_tried(sim, file, tmp_path):
    result = tmp_path / "all.json"
    assert sim("sweep", file("leaning.yaml", LEANING), "--json", result)[0] == 1
    changes = {row["change"] for row in json.loads(result.read_text())["rows"]}
    assert changes >= {
        f"{item.name}={value}" for item in catalogue().values() for value in item.alternatives()
    }
    assert "session_revocation=never" in changes


def test_what_a_scenario_itself_sets_is_left_alone_and_the_default_is_tried_instead(
    sim, file, tmp_path
):
    result = tmp_path / "set.json"
    own = "assumptions: {book.depth_above_maximum: refuse}\nsteps:"
    path = file("set.yaml", LEANING.replace("steps:", own))
    options = f"--vary assumptions --only book.d* --jobs 1 --json {result}"
    assert sim(f"sweep {path} {options}")[0] == 1
    rows = json.loads(result.read_text())["rows"]
    failed = {row["change"]: row["failed"] for row in rows}
    assert failed == {"as it is": 1, "book.depth_above_maximum=clamp": 0}


@pytest.mark.usefixtures("leaking_money")
def test_money_from_nowhere_is_a_broken_invariant_though_every_expectation_holds(sim, file):
    code, out, _ = sim("sweep", file("trade.yaml", TRADE), "--seeds", "1..2", "--jobs", 1)
    assert code == 1
    assert "4 runs, 2 passed, 2 failed, 2 of them broke an invariant" in out
    reported = " ".join(out.split())  # lines wrap where a terminal does
    text = "trade[price=0.60] seed 1: broken: money: all balances sum to 100000000, not to zero"
    assert text in reported
    assert "trade[price=0.50] seed" not in out
    code, out, _ = sim("run", file("trade.yaml", TRADE), "--junit", file("junit.xml", ""))
    assert code == 1
    assert "FAILED  trade[price=0.60]" in out


def test_an_internal_error_ends_its_run_only(sim, file, monkeypatch):
    def mistaken(*args, **kwargs):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(Fills, "_apply", mistaken)
    code, out, _ = sim("sweep", file("trade.yaml", TRADE), "--jobs", 1, "--seeds", 1)
    assert code == 1
    text = "broken: internal error: ZeroDivisionError: on purpose (in input "
    assert text in " ".join(out.split())
    assert "2 runs, 0 passed, 2 failed" in out


def test_a_sweep_goes_on_where_it_was_stopped(sim, tmp_path):
    names = ("results.ndjson", "first.json", "again.json")
    results, first, again = (tmp_path / name for name in names)
    command = f"sweep price-time-priority --seeds 1..4 --jobs 1 --results {results}"
    assert sim(command, "--json", first)[0] == 0
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:2]) + lines[2][:30])
    assert sim(command, "--resume", "--json", again)[0] == 0
    assert first.read_bytes() == again.read_bytes()
    assert results.read_bytes().splitlines(keepends=True) == lines


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("no-such-scenario", "there is no bundled scenario and no file of this name"),
        ("quickstart --seeds 9..3", "an ascending range"),
        ("quickstart --vary quirks --only nothing", "no name in quirks matches 'nothing'"),
        ("quickstart --resume", "--results"),
        ("quickstart --param x", "NAME=VALUE"),
        ("quickstart --seeds 1 --json /dev/null/x.json", "/dev/null"),
    ],
)
def test_what_cannot_be_swept_is_exit_2_and_says_why(sim, arguments, text):
    code, _, err = sim(f"sweep {arguments} --jobs 1")
    assert code == 2
    assert text in err


@pytest.mark.long
def test_a_cluster_of_two_workers_tells_the_same_story_also_of_a_file_they_do_not_have(
    sim, file, tmp_path
):
    from distributed import LocalCluster

    here, there = tmp_path / "here.json", tmp_path / "there.json"
    path = file("leaning.yaml", LEANING)
    command = f"sweep {path} --vary assumptions --only book.* --seeds 1..2"
    assert sim(f"{command} --jobs 1 --json {here}")[0] == 1
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        code, _, err = sim(f"{command} --cluster {cluster.scheduler_address} --json {there}")
    assert code == 1, err
    assert here.read_bytes() == there.read_bytes()


@pytest.mark.long
def test_a_cluster_that_is_not_there_is_exit_2(sim):
    code, _, err = sim("sweep", "quickstart", "--seeds", 1, "--cluster", "tcp://127.0.0.1:9")
    assert code == 2 and "no cluster answers at tcp://127.0.0.1:9" in err


RARE = """
name: rare
extends: quickstart
matrix: {n: ["7", "8", "9"]}
steps:
  - {name: one, call: {plane: gateway, get: "/v2/leagues/${n}"}, expect: {status: 200}}
  - {name: other, call: {plane: gateway, get: /v1/health}, expect: {header: {date: "${n}"}}}
"""


def test_failures_are_grouped_by_what_failed_and_the_rarest_is_shown(sim, file):
    text = RARE.replace("expect: {status: 200}", 'expect: {status: 404, json: {message: "${n}"}}')
    alike, rare = file("alike.yaml", RARE), file("rare.yaml", text.replace("name: rare", "name: r"))
    code, out, _ = sim("sweep --seeds 1..2 --jobs 1 --param n=7", alike, rare, "--json")
    assert code == 1
    groups = json.loads(out[out.index("{") :])["groups"]
    assert [group["runs"] for group in groups] == [2, 2]
    assert groups[0]["example"] == {"seed": 1, "values": {"n": "7"}}
    code, out, _ = sim("sweep --seeds 1..1 --jobs 1", alike)
    assert "(and 2 runs like it)" in " ".join(out.split())


@pytest.mark.parametrize("status", [404, 503])
def test_a_signature_keeps_statuses_and_drops_what_varies(status):
    lines = [
        f"x at 2026-09-08T18:0{n}:00Z: status is {status}, not 200: order CI40V8PPFF3{n}, {n}.5"
        for n in (1, 2)
    ]
    first, second = (_VARYING.sub("…", line) for line in lines)
    assert first == second and str(status) in first
