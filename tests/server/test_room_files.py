"""The control room's files as a browser asks for them, and what the page needs of the control
plane. `test_room.py` opens the page itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import stat

import pytest
from patience import until

from sim.kernel.instants import NS_PER_S
from sim.run.actors.operator.views import ViewFilter, view
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.server.room_files import FOLDER
from sim.testing.control import ControlError
from tests.kit.clients import Partner, place
from tests.kit.http import call
from tests.kit.processes import serve


def ask(address, path, verb="GET", **headers):
    """Status, headers and body of a request to a listener."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return call(f"{address}{path}", verb=verb, headers=headers)


# ---- files


def test_the_page_and_its_parts_are_served_with_a_strict_policy(exchange):
    status, headers, page = ask(exchange.control, "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "connect-src 'self'"} <= set(policy)
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert b"<script>" not in page and b" on" not in page.partition(b"<body>")[2]
    for file in sorted(FOLDER.rglob("*")):
        if file.suffix in (".js", ".css", ".svg"):
            status, headers, body = ask(exchange.control, f"/{file.relative_to(FOLDER)}")
            assert (status, body) == (200, file.read_bytes()), file
            assert headers["X-Content-Type-Options"] == "nosniff"


def test_no_part_of_the_page_names_another_machine():
    for file in FOLDER.rglob("*.js"):
        if file.parent.name != "vendor":
            text = file.read_text("utf-8")
            assert "://" not in text, file


def test_a_browser_that_has_a_file_is_answered_304(exchange):
    _, headers, _ = ask(exchange.control, "/main.js")
    status, again, body = ask(exchange.control, "/main.js", If_None_Match=headers["ETag"])
    assert (status, body, again["ETag"]) == (304, b"", headers["ETag"])
    assert ask(exchange.control, "/main.js", If_None_Match='"other"')[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing.js", "/../server/room.py", "/%2e%2e/cli/main.py", "/vendor"),
        *("/vendor/manifest.json", "/panels/../main.js", "//etc/passwd", "/main.js/x"),
    ],
)
def test_what_is_no_file_of_the_page_is_404(exchange, path):
    status, _, body = ask(exchange.control, path)
    assert status == 404
    assert "/_sim/v1" in json.loads(body)["message"]


def test_files_take_get_and_head_only(exchange):
    assert ask(exchange.control, "/", "POST")[0] == 405
    status, headers, body = ask(exchange.control, "/", "HEAD")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 100


def test_a_link_from_another_page_opens_the_room_and_calls_nothing(exchange):
    link = {"Sec_Fetch_Site": "cross-site"}
    assert ask(exchange.control, "/", **link)[0] == 200
    assert ask(exchange.control, "/_sim/v1/clock", **link)[0] == 403
    assert ask(exchange.control, "/", Host="evil.example")[0] == 403
    assert ask(exchange.control, "/main.js", Host="evil.example")[0] == 403


def test_vendored_libraries_are_the_published_files():
    manifest = json.loads((FOLDER / "vendor" / "manifest.json").read_text())
    present = {
        file.name for file in (FOLDER / "vendor").iterdir() if file.suffix in (".js", ".css")
    }
    assert present == set(manifest)
    for name, about in manifest.items():
        content = (FOLDER / "vendor" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == about["sha256"], name
        assert all((FOLDER / "vendor" / text.split()[0]).is_file() for text in about["licences"])


# ---- how it is found


def test_serve_prints_the_address_of_the_room_and_opens_it(tmp_path, monkeypatch):
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BROWSER", str(browser))
    with serve(tmp_path, "--open", "--control-token", "s3cret") as served:
        asyncio.run(until(opened.exists))
        assert opened.read_text() == f"{served.ready['control']}/#token=s3cret"
        status, _, page = ask(served.ready["control"], "/")
        assert status == 200 and b"s3cret" not in page
        assert ask(served.ready["control"], "/_sim/v1/clock")[0] == 401
        _, out, _ = served.end(2)
    (line,) = [line for line in out.splitlines() if "room" in line.split()]
    assert line.split() == ["room", f"{served.ready['control']}/#token=s3cret"]
    assert served.ready["room"] == f"{served.ready['control']}/"


# ---- what the page needs of the control plane


def trade(exchange, symbol, price, qty):
    for caller, side in (("maker", "sell"), ("taker", "buy")):
        place(exchange, symbol, side, price, qty, caller)


@pytest.fixture
def traded(exchange):
    """An instrument with three trades of its own."""
    terms = {"symbol": "watched", "tick_size": "0.01", "state": "OPEN"}
    exchange.control("POST", "/instruments", terms)
    for price, qty in (("0.40", "1"), ("0.45", "2"), ("0.50", "3")):
        trade(exchange, "watched", price, qty)
    return "watched"


def test_views_are_narrowed_to_a_symbol_an_account_and_the_last_rows(exchange, traded):
    def rows(view, query=""):
        return exchange.control("GET", f"/state/{view}{query}")[view]

    trades = rows("trades", f"?symbol={traded}")
    displayed = [(row["price"], row["qty"], row["side"]) for row in trades]
    assert displayed == [("0.4", "1", "BUY"), ("0.45", "2", "BUY"), ("0.5", "3", "BUY")]
    assert rows("trades", f"?symbol={traded}&last=1") == trades[-1:]
    assert [row for row in rows("trades") if row["symbol"] == traded] == trades
    taker = trades[0]["taker"]
    mine = rows("orders", f"?symbol={traded}&account={taker}")
    every = [row for row in rows("orders") if row["account"] == taker]
    assert mine == [row for row in every if row["symbol"] == traded] and len(mine) == 3
    assert rows("orders", f"?account={taker}&last=2") == rows("orders", f"?account={taker}")[-2:]
    ledger = rows("ledger", f"?account={taker}")
    assert ledger[-1]["balance"] == rows("accounts", f"?account={taker}")[0]["balance"]
    assert ledger[-3:] == rows("ledger", f"?account={taker}&last=3")
    books = [row for row in rows("books") if row["symbol"] == traded]
    assert rows("books", f"?symbol={traded}") == books
    assert [row["symbol"] for row in rows("instruments", f"?symbol={traded}")] == [traded]


def test_several_views_are_of_one_moment_and_say_what_each_says(exchange, traded):
    views = ("books", "trades", "orders", "breakers")
    query = "?" + "&".join(f"view={name}" for name in views) + f"&symbol={traded}&last=2"
    narrowings = {"books": f"?symbol={traded}", "breakers": ""}
    last = exchange.control("GET", "/digest")
    for base in ("", *(f"/history/{seq}" for seq in (last["seq"], last["seq"] - 2))):
        moment = exchange.control("GET", f"{base}/state{query}")
        for name in views:
            item = narrowings.get(name, f"?symbol={traded}&last=2")
            assert moment[name] == exchange.control("GET", f"{base}/state/{name}{item}")[name]
        record = exchange.control("GET", f"/history/{moment['seq']}")
        assert moment["digest"] == record["digest"] and moment["branch"] == record["branch"]
        assert moment["at"] == record["at"]  # no input here moves the clock
    assert exchange.control("GET", "/digest") == last
    assert exchange.control("GET", "/history/0/state").keys() == {"seq", "at", "branch", "digest"}


@pytest.mark.parametrize(
    ("query", "output"),
    [
        ("?view=books&last=1", "none of these views can be narrowed by last"),
        ("?symbol=watched", "can be narrowed by symbol"),
        ("?view=book", "book"),
        ("?view=books&symbol=nothing", "unknown symbol: nothing"),
    ],
)
def test_a_mistake_in_the_query_of_several_views_is_told(exchange, traded, query, output):
    for base in ("", "/history/1"):
        _, _, body = ask(exchange.control, f"/_sim/v1{base}/state{query}")
        assert output in json.loads(body)["message"]


@pytest.mark.parametrize(
    ("query", "status", "output"),
    [
        ("limits?symbol=watched", 3, "cannot be narrowed by symbol"),
        ("books?account=x", 3, "cannot be narrowed by account"),
        ("trades?symbol=nothing", 5, "unknown symbol: nothing"),
        ("ledger?account=nothing", 5, "nothing"),
        ("trades?last=many", 3, "last must be an integer"),
        ("trades?first=1", 3, "unknown parameter 'first'"),
    ],
)
def test_a_mistake_in_the_query_of_a_view_is_told(exchange, query, status, output):
    _, _, body = ask(exchange.control, f"/_sim/v1/state/{query}")
    answer = json.loads(body)
    assert answer["code"] == status and output in answer["message"], answer


def test_instruments_are_found_by_words_of_their_symbol(exchange, traded):
    result = exchange.control("GET", "/instruments?text=WATCHED")
    assert result == {"instruments": [{"symbol": "watched", "state": "OPEN"}], "found": 1}
    some = exchange.control("GET", "/instruments?text=nba+bos&limit=2")
    assert len(some["instruments"]) == 2 < some["found"]
    assert all("nba" in row["symbol"] and "bos" in row["symbol"] for row in some["instruments"])
    assert exchange.control("GET", "/instruments?text=no-such-thing")["found"] == 0
    assert ask(exchange.control, "/_sim/v1/instruments?limit=1001")[0] == 400


def test_an_entry_may_be_sent_in_yaml(exchange):
    def send(text, kind):
        url = f"{exchange.control}/_sim/v1/faults"
        answer = call(url, text.encode(), headers={"Content-Type": kind})
        return answer.status, answer.json()

    entry = "match: {operation: CreateOrder, nth: 2}\nact: {status: 503}\n"
    status, answer = send(entry, "application/yaml; charset=utf-8")
    assert status == 200
    (fault,) = exchange.control("GET", "/faults")["faults"]
    assert (fault["id"], fault["match"]) == (answer["id"], {"operation": "CreateOrder", "nth": 2})
    status, answer = send("match: {operation: CreateOrder\n", "application/yaml")
    assert status == 400 and "not YAML" in answer["message"]
    status, answer = send("- a list\n", "text/yaml")
    assert status == 400 and "mapping" in answer["message"]
    status, answer = send(
        "match: {operatoin: CreateOrder}\nact: {status: 503}\n", "application/yaml"
    )
    assert status == 400 and "operation" in answer["message"]


def test_every_call_says_what_it_does_and_which_step_does_the_same(exchange):
    rows = {row["call"]: row for row in exchange.control("GET", "/calls")["calls"]}
    assert all(row["does"] for row in rows.values())
    state = rows["POST /instruments/{symbol}/state"]
    assert (state["step"], state["subject"], state["form"]) == ("state", "symbol", "entry")
    assert (rows["PUT /preset"]["form"], rows["PUT /quirks/{name}"]["form"]) == ("text", "pair")
    assert "step" not in rows["GET /clock"]
    assert rows["GET /state/{view}"]["query"] == ["symbol", "account", "last"]


def test_one_event_is_sent_again_acknowledged_or_not(exchange):
    partner = Partner(exchange)
    partner.verified(exchange.webhooks.url)
    (event,) = {
        row["event_id"] for row in exchange.webhooks.deliveries if row["type"] == "kyc.approved"
    }
    before = len(exchange.webhooks.received)
    again = exchange.control("POST", "/webhooks/atlas/redeliver", {"event_id": event})
    assert again == {"redelivered": [event]}
    exchange.clock.advance("1s")
    assert len(exchange.webhooks.received) == before + 1
    with pytest.raises(ControlError) as refused:
        exchange.control("POST", "/webhooks/atlas/redeliver", {"event_id": "evt_none"})
    assert refused.value.status == 404


def test_a_session_made_by_hand_is_a_scenario(exchange, traded, tmp_path):
    exchange.clock.advance("30s")
    exchange.control("POST", f"/instruments/{traded}/state", {"state": "HALTED"})
    status, headers, text = ask(exchange.control, "/_sim/v1/scenario")
    assert (status, headers["Content-Type"]) == (200, "application/yaml")
    path = tmp_path / "session.yaml"
    path.write_bytes(text)
    simulation = Simulation(load_scenario(str(path)))
    simulation.advance_to(simulation.now + 60 * NS_PER_S)
    engine = simulation.engine
    kept = {"trades": ("at", "price", "qty", "side"), "instruments": ("state",)}
    for name, keys in kept.items():
        again = view(engine, name, ViewFilter(symbol=traded))[name]
        there = exchange.control("GET", f"/state/{name}?symbol={traded}")[name]
        reported = [[row[key] for key in keys] for row in there]
        assert [[row[key] for key in keys] for row in again] == reported
    assert reported == [["HALTED"]]
    assert not [result for result in simulation.script.results if result.failures]


def test_answers_name_the_input_after_which_they_held(exchange, traded):
    _, headers, _ = ask(exchange.control, "/_sim/v1/state/books")
    assert int(headers["x-sim-seq"]) == exchange.control("GET", "/digest")["seq"] > 0
