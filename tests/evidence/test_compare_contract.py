"""`sim compare FILE`: recorded answers and frames held against contract and specification."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from sim.cli.main import main
from tests.evidence.conftest import differences
from tests.evidence.in_process import record
from tests.evidence.lines import Change, Line, called, in_report, lines, put, write
from tests.evidence.session import recorded
from tests.journeys import trader

GRPC_BOOK = "OrderBookAPI.GetOrderBook"
GET_ORDER, GET_BOOK, LEDGER = "/v1/order/", "/v1/markets/", "/v1/funding/balance-ledger/download"


POSITIONS = "/v1/positions/ledger/download"
REFUSAL = {"status": 404, "message": "unknown order"}  # as only 429 has it
BIDS = "answer.body.marketData.bids"
PADDED = [{"px": {"value": "0.40", "currency": "USD"}, "qty": "5.0000"}]


def renamed(row: Line) -> None:
    """An order whose average price has another name."""
    order = row["answer"]["body"]["order"]
    order["averagePx"] = order.pop("avgPx")


CHANGES = {
    "a field is renamed": Change(GET_ORDER, "answer.body.order.avgPx", "missing name", renamed),
    "its new name": Change(GET_ORDER, "answer.body.order.averagePx", "unknown name", renamed),
    "a number is text": Change(GET_ORDER, "answer.body.order.quantity", "type", "5"),
    "a misspelt enum": Change(GET_ORDER, "answer.body.order.state", "enum", "ORDER_STATE_OPEN"),
    "an instant without zone": Change(
        GET_ORDER, "answer.body.order.createTime", "format", "2026-09-08 18:00:02"
    ),
    "null for absent": Change(
        "/v1/account/balances", "answer.body.balances[0].lastUpdated", "missing name"
    ),
    "absent for null": Change(GET_BOOK, "answer.body.marketData.stats.highPx", "null", None),
    "another good status": Change(GET_ORDER, "answer.status", "status", 201),
    "a failure with a good body": Change(GET_ORDER, "answer.status", "status", 500),
    "a status that is not that of its body": Change(
        "/v1/trading/orders", "answer.status", "status", 403, status=400
    ),
    "a refusal in the form of another plane": Change(
        GET_ORDER, "answer.body.code", "error form", REFUSAL, "answer.body", 404
    ),
    "another content type": Change(GET_ORDER, "answer.headers.content-type", "header", "text/html"),
    "a frame of a socket": Change("marketData", "frame.body.marketData.state", "enum", "OPEN"),
    "a message of a gRPC stream": Change(
        "update", "frame.body.update.executions[0].lastShares", "type", 2
    ),
    "an answer of gRPC": Change(
        "/exchange.v1.OrderBook", "answer.body.bids[0].px", "format", "x", status=0
    ),
    "two decimals for four": Change(GET_ORDER, "answer.body.order.avgPx.value", "format", "0.00"),
    "a decimal moved behind a leading zero": Change(
        GET_ORDER, "answer.body.order.avgPx.value", "format", "03.7000"
    ),
    "a padded quantity of a book": Change(GET_BOOK, f"{BIDS}[0].px.value", "format", PADDED, BIDS),
    "a kind in a line of CSV": Change(
        LEDGER, "answer.body[0].entry_type", "format", in_report(",DEPOSIT", ",DEPOSITED")
    ),
    "an instant in a line of CSV": Change(
        LEDGER, "answer.body[0].update_time", "format", in_report("T18:00:00.000000000Z", " 18h")
    ),
    "a column of CSV": Change(
        POSITIONS, "answer.body.net_position", "missing name", in_report("net_position", "net")
    ),
    "a token": Change("/oauth/token", "answer.body.expires_in", "type", "180"),
}


def test_what_we_record_of_ourselves_differs_in_nothing(session, compare):
    code, result = compare(session)
    assert (code, differences(result)) == (0, [])
    totals = result["totals"]
    assert totals["seen"] == totals["agree"] > 30
    assert len(result["operations"]) + len(result["not_seen"]) >= 150


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_is_found_at_its_place_and_is_the_recordings(change, spoil, compare):
    change = CHANGES[change]
    code, result = compare(spoil(change.make))
    reported = [
        (name, item["where"], item["kind"], item["culprit"]) for name, item in differences(result)
    ]
    assert (change.operation, change.where, change.kind, "recording") in reported
    assert len(reported) <= 4
    assert code == 1
    assert result["operations"][change.operation]["differ"] == 1
    assert result["totals"]["differ"] == 1


def test_a_leading_zero_is_named_as_what_is_wrong(spoil, compare):
    _, result = compare(spoil(CHANGES["a decimal moved behind a leading zero"].make))
    ((_, item),) = differences(result)
    assert (item["recorded"], item["ours"]) == ("03.7000", "no zero in front")


def test_a_difference_tells_its_line_and_both_sides(spoil, session, compare):
    _, result = compare(spoil(CHANGES["a misspelt enum"].make))
    ((_, item),) = differences(result)
    assert item["n"] == called(lines(session), GET_ORDER)["n"]
    assert item["recorded"] == "ORDER_STATE_OPEN"
    assert "ORDER_STATE_NEW" in item["ours"]


@pytest.mark.reading("documented")
def test_what_an_observation_explains_is_the_specifications(tmp_path, compare):
    observed = tmp_path / "observed.ndjson"
    world = record(observed, "extends: quickstart\nname: seen\nreading: observed\n")
    world.gateway.get("/v1/markets?limit=2")
    trader(world).post("/v1/report/orders/csv", json={})
    code, result = compare(observed)
    reported = {(item["observation"], item["culprit"]) for _, item in differences(result)}
    assert code == 1
    assert reported == {
        ("markets.deprecated_fields", "specification"),
        ("gateway.unset_fields", "specification"),
        ("markets.quote_value", "specification"),
        ("reports.as_csv", "specification"),
    }
    assert compare(observed, "--reading", "observed")[0] == 0

    documented = tmp_path / "documented.ndjson"
    record(documented).gateway.get("/v1/markets?limit=2")
    code, result = compare(documented, "--reading", "observed")
    assert {item["culprit"] for _, item in differences(result)} == {"contract"}


def test_bytes_that_do_not_fit_are_the_contracts_where_it_chose_the_numbers(spoil, compare):
    def change(answer: list[Line]) -> None:
        put(called(answer, "/exchange.v1.OrderBook", 0), "answer.body", {"unreadable": 3})
        settled = next(line for line in answer if line.get("plane") == "grpc" and "request" in line)
        settled = json.loads(json.dumps(settled))
        settled["request"]["path"] = (
            "/exchange.settlement.v1.SettlementService/GetInstrumentSettlement"
        )
        answer.append(settled)

    _, result = compare(spoil(change))
    reported = {(name, item["kind"], item["culprit"]) for name, item in differences(result)}
    assert reported == {
        (GRPC_BOOK, "bytes", "recording"),
        ("SettlementService.GetInstrumentSettlement", "bytes", "contract"),
    }


def test_an_unknown_address_is_no_evidence_and_no_agreement(spoil, compare):
    def change(outcome: list[Line]) -> None:
        answer = called(outcome, "/v1/nothing", 404)["answer"]
        answer |= {"status": 200, "body": {"anything": 1}}

    code, result = compare(spoil(change))
    unknown = result["operations"]["gateway (unknown address)"]
    assert code == 0
    assert (unknown["seen"], unknown["agree"], unknown["no_evidence"]) == (1, 0, 1)
    assert result["totals"]["no_evidence"] == 1


def test_an_answer_to_head_is_no_evidence(spoil, compare):
    def change(answer: list[Line]) -> None:
        line = next(item for item in answer[1:] if item.get("answer", {}).get("status") == 200)
        line["request"]["method"] = "HEAD"
        line["answer"] |= {"status": 405, "body": None}

    code, result = compare(spoil(change))
    assert (code, result["totals"]["no_evidence"]) == (0, 1)


def test_the_text_fits_a_screen(tmp_path, capsys, spoil):
    def change(result: list[Line]) -> None:
        for line in result:
            if "answer" in line:
                line["answer"]["status"] = 299
                line["answer"]["headers"] = {"content-type": "x" * 300}

    assert main(["compare", str(spoil(change))]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) <= 50
    assert max(map(len, out)) <= 80
    assert "differ" in out[1]


def test_a_thousand_equal_differences_are_one_place(tmp_path, capsys, spoil, compare):
    def change(answer: list[Line]) -> None:
        wrong = called(answer, "/v2/leagues")
        put(wrong, "answer.body.leagues", 7)
        answer += [wrong] * 1000

    file = spoil(change)
    _, result = compare(file)
    operation = result["operations"]["GatewayLeaguesAPI.ListLeagues"]
    assert operation["differ"] == 1001
    assert len(operation["differences"]) + operation["left_out"] == 1001
    assert result["totals"]["differences"] == 1001
    capsys.readouterr()
    main(["compare", str(file)])
    assert capsys.readouterr().out.count("answer.body.leagues") == 1


FIRST, LINE = '{"recording": 1}\n', '{"n": 1, "at": '
HOSTILE = {
    "an empty file": ("", ":1: this is not a recording"),
    "no recording": ("{}\n", ":1: this is not a recording"),
    "another version": ('{"recording": 99}\n', ":1: a recording of format 99"),
    "a line that is none": (f"{FIRST}nonsense\n{{}}\n", ":2: "),
    "a line that was cut": (f"{FIRST}{LINE}\n{{}}\n", ":2: "),
    "a wrong plane": (f'{FIRST}{LINE}"x", "plane": "moon"}}\n', ":2: "),
    "brackets": (FIRST + "[" * 200_000 + "\n", ":2: "),
    "ten megabytes of nothing": (f"{FIRST}{' ' * 5_000_000}{'x' * 5_000_000}\n", ":2: "),
    "neither call nor stream": (
        f'{FIRST}{LINE}"2026-09-08T18:00:00Z", "plane": "auth"}}\n',
        "line 2: neither",
    ),
    "no instant": (
        f'{FIRST}{LINE}"noon", "plane": "auth", "request": {{"path": "/"}}}}\n',
        "line 2: at is not an instant",
    ),
}


@pytest.mark.parametrize("command", [("compare",), ("infer", "--scenario", "quickstart")])
@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_read_is_told_in_a_line_and_exits_with_2(name, command, tmp_path, capsys):
    file, (text, reason) = tmp_path / "hostile.ndjson", HOSTILE[name]
    file.write_text(text)
    assert main([*command, str(file)]) == 2
    reported = capsys.readouterr().err.splitlines()
    assert len(reported) == 1
    assert f"hostile.ndjson{reason}" in reported[0] or f"hostile.ndjson: {reason}" in reported[0]
    assert len(reported[0]) < 400


def test_odd_values_are_differences_and_no_errors(spoil, compare):
    odd = ["1" * 400, 10**300, -1, [], {}, True, {"a": [[[[]]]]}, "fp:", "\x00", 0.5]

    def change(answer: list[Line]) -> None:
        calls = [line for line in answer if "answer" in line]
        for number, value in enumerate(odd * 3):
            body = calls[number % len(calls)]["answer"]["body"]
            if isinstance(body, dict):
                for name in list(body):
                    body[name] = value

    code, result = compare(spoil(change))
    assert code == 1
    assert result["totals"]["differences"] > 10


def test_a_cut_last_line_is_a_warning(session, tmp_path, compare):
    cut = tmp_path / "cut.ndjson"
    cut.write_bytes(session.read_bytes()[:-30])
    code, result = compare(cut)
    assert code == 0
    assert "was cut" in result["warnings"][0]


def har(path: str, headers: dict[str, str], at: str = "2026-09-08T18:00:00Z", **more: Any) -> Line:
    """An entry of a HAR file."""
    pairs = [{"name": name, "value": value} for name, value in headers.items()]
    request = {"method": "GET", "url": f"https://gateway.example{path}", "headers": []}
    response = {"status": 200, "headers": pairs, **more}
    return {"startedDateTime": at, "request": request, "response": response}


def exported(file: Path, *entries: Line) -> Path:
    file.write_text(json.dumps({"log": {"entries": entries}}))
    return file


def test_a_har_file_is_compared_too(session, tmp_path, compare):
    """What a browser would have exported of two calls; the second answer is spoilt."""
    calls = [line for line in lines(session)[1:] if line["plane"] == "gateway"][:2]
    calls[1]["answer"]["body"]["market"]["slug"] = 7
    entries = [
        har(
            *(call["request"]["path"], call["answer"]["headers"], call["at"]),
            content={"text": json.dumps(call["answer"]["body"])},
        )
        for call in calls
    ]
    code, result = compare(exported(tmp_path / "browser.har", *entries))
    ((name, item),) = differences(result)
    assert (code, name) == (1, "GatewayMarketsAPI.GetMarketBySlug")
    assert item["where"] == "answer.body.market.slug"


@pytest.mark.parametrize("status", [200, 404])
def test_a_body_that_a_browser_did_not_export_is_no_evidence(status, tmp_path, compare):
    """Chromium keeps no body that its page never read, and says that its size is -1."""
    entry = har("/v1/markets", {"Content-Length": "45"}, status=status, content={"size": -1})
    code, result = compare(exported(tmp_path / "browser.har", entry))
    assert (code, differences(result)) == (0, [])
    assert "or was not exported" in json.dumps(result)


def test_two_seeds_give_the_same_verdict(tmp_path, compare):
    assert compare(recorded(tmp_path / "other.ndjson", seed=11))[0] == 0


def test_a_long_recording_takes_no_more_memory_than_a_short_one(session, tmp_path):
    kept = lines(session)
    repeated = [line for line in kept[1:] if line["plane"] == "gateway"][:2]

    def most(count: int) -> int:
        file = tmp_path / f"{count}.ndjson"
        write(file, [kept[0], *repeated * (count // 2)])
        tracemalloc.start()
        try:
            assert main(["compare", str(file), "--json", str(tmp_path / "out.json")]) == 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    most(20)  # what is read and compiled once
    assert most(400) < 1.5 * most(100)
