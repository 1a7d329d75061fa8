"""`sim compare FILE`: recorded answers and frames held against contract and specification."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from sim.cli.main import main
from tests.evidence.conftest import differences
from tests.evidence.in_process import lines, record
from tests.evidence.session import recorded

ORDER = "RetailOrdersAPI.GetOrder"
GRPC_BOOK = "OrderBookAPI.GetOrderBook"


def answer(found: list[dict[str, Any]], path: str, status: int = 200) -> dict[str, Any]:
    """The answer to the first call of a path that begins so."""
    calls = [line for line in found if "request" in line]
    return next(
        line["answer"]
        for line in calls
        if line["request"]["path"].startswith(path) and line["answer"]["status"] == status
    )


def frame(found: list[dict[str, Any]], member: str) -> dict[str, Any]:
    """The body of the first frame of the service with a member."""
    return next(
        line["frame"]["body"]
        for line in found
        if line.get("frame", {}).get("from") == "service" and member in line["frame"]["body"]
    )


def order(found: list[dict[str, Any]]) -> dict[str, Any]:
    return answer(found, "/v1/order/")["body"]["order"]  # type: ignore[no-any-return]


def csv_line(found: list[dict[str, Any]], path: str, old: str, new: str) -> None:
    """Another word in a report, where it comes first."""
    told = answer(found, path)
    text = json.dumps(told["body"])
    assert old in text, text
    told["body"] = json.loads(text.replace(old, new, 1))


def renamed(found: list[dict[str, Any]]) -> None:
    order(found)["averagePx"] = order(found).pop("avgPx")


# What is changed, and where that is told: operation, place, kind.
CHANGES: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str, str, str]] = {
    "a field is renamed": (renamed, ORDER, "answer.body.order.avgPx", "missing name"),
    "its new name": (renamed, ORDER, "answer.body.order.averagePx", "unknown name"),
    "a number is text": (
        lambda found: order(found).update(quantity="5"),
        ORDER,
        "answer.body.order.quantity",
        "type",
    ),
    "a misspelt enum": (
        lambda found: order(found).update(state="ORDER_STATE_OPEN"),
        ORDER,
        "answer.body.order.state",
        "enum",
    ),
    "an instant without zone": (
        lambda found: order(found).update(createTime="2026-09-08 18:00:02"),
        ORDER,
        "answer.body.order.createTime",
        "format",
    ),
    "null for absent": (
        lambda found: answer(found, "/v1/account/balances")["body"]["balances"][0].pop(
            "lastUpdated"
        ),
        "RetailAccountAPI.GetBalances",
        "answer.body.balances[0].lastUpdated",
        "missing name",
    ),
    "absent for null": (
        lambda found: answer(found, "/v1/markets/")["body"]["marketData"]["stats"].update(
            highPx=None
        ),
        "RetailMarketDataAPI.GetBook",
        "answer.body.marketData.stats.highPx",
        "null",
    ),
    "another good status": (
        lambda found: answer(found, "/v1/order/").update(status=201),
        ORDER,
        "answer.status",
        "status",
    ),
    "a failure with a good body": (
        lambda found: answer(found, "/v1/order/").update(status=500),
        ORDER,
        "answer.status",
        "status",
    ),
    "a status that is not that of its body": (
        lambda found: answer(found, "/v1/trading/orders", 400).update(status=403),
        "OrderEntryAPI.InsertOrder",
        "answer.status",
        "status",
    ),
    "a refusal in the form of another plane": (
        lambda found: answer(found, "/v1/order/", 404).update(
            body={"code": 5, "message": "unknown order", "details": []}
        ),
        ORDER,
        "answer.body.status",
        "error form",
    ),
    "another content type": (
        lambda found: answer(found, "/v1/order/")["headers"].update({"content-type": "text/html"}),
        ORDER,
        "answer.headers.content-type",
        "header",
    ),
    "a frame of a socket": (
        lambda found: frame(found, "marketData")["marketData"].update(state="OPEN"),
        "RetailStreamsAPI.MarketsStream",
        "frame.body.marketData.state",
        "enum",
    ),
    "a message of a gRPC stream": (
        lambda found: frame(found, "update")["update"]["executions"][0].update(lastShares=2),
        "OrderEntryAPI.CreateOrderSubscription",
        "frame.body.update.executions[0].lastShares",
        "type",
    ),
    "an answer of gRPC": (
        lambda found: answer(found, "/exchange.v1.OrderBook", 0)["body"]["bids"][0].update(px="x"),
        GRPC_BOOK,
        "answer.body.bids[0].px",
        "format",
    ),
    "two decimals for four": (
        lambda found: order(found)["avgPx"].update(value="0.00"),
        ORDER,
        "answer.body.order.avgPx.value",
        "format",
    ),
    "a decimal moved behind a leading zero": (
        lambda found: order(found)["avgPx"].update(value="03.7000"),
        ORDER,
        "answer.body.order.avgPx.value",
        "format",
    ),
    "a padded quantity of a book": (
        lambda found: answer(found, "/v1/markets/")["body"]["marketData"].update(
            bids=[{"px": {"value": "0.40", "currency": "USD"}, "qty": "5.0000"}]
        ),
        "RetailMarketDataAPI.GetBook",
        "answer.body.marketData.bids[0].px.value",
        "format",
    ),
    "a state in a line of CSV": (
        lambda found: csv_line(found, "/v1/report/orders/csv", "ORDER_STATE_", "STATE_"),
        "ReportAPI.DownloadOrders",
        "answer.body[0].state",
        "format",
    ),
    "an instant in a line of CSV": (
        lambda found: csv_line(found, "/v1/funding/balance-ledger/download", "T18:00:00Z", " 18h"),
        "FundingAPI.DownloadBalanceLedger",
        "answer.body[0].update_time",
        "format",
    ),
    "a column of CSV": (
        lambda found: csv_line(found, "/v1/report/trades/csv", "trade_link_id", "link"),
        "ReportAPI.DownloadTrades",
        "answer.body.trade_link_id",
        "missing name",
    ),
    "a token": (
        lambda found: answer(found, "/oauth/token")["body"].update(expires_in="180"),
        "TokenIssuerAPI.IssueToken",
        "answer.body.expires_in",
        "type",
    ),
}


def test_what_we_record_of_ourselves_differs_in_nothing(session, compare):
    code, found = compare(session)
    assert (code, differences(found)) == (0, [])
    totals = found["totals"]
    assert totals["seen"] == totals["agree"] > 30
    assert len(found["operations"]) + len(found["not_seen"]) >= 150


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_is_found_at_its_place_and_is_the_recordings(change, spoil, compare):
    spoilt, operation, where, kind = CHANGES[change]
    code, found = compare(spoil(spoilt))
    told = [(name, one["where"], one["kind"], one["culprit"]) for name, one in differences(found)]
    assert (operation, where, kind, "recording") in told
    assert len(told) <= 4
    assert code == 1
    assert found["operations"][operation]["differ"] == 1
    assert found["totals"]["differ"] == 1


def test_a_leading_zero_is_named_as_what_is_wrong(spoil, compare):
    _, found = compare(spoil(lambda found: order(found)["avgPx"].update(value="03.7000")))
    ((_, one),) = differences(found)
    assert (one["recorded"], one["ours"]) == ("03.7000", "no zero in front")


def test_a_difference_tells_its_line_and_both_sides(spoil, session, compare):
    _, found = compare(spoil(lambda found: order(found).update(state="ORDER_STATE_OPEN")))
    ((_, one),) = differences(found)
    line = next(
        line
        for line in lines(session)[1:]
        if line.get("request", {}).get("path", "")[:10] == "/v1/order/"
    )
    assert one["n"] == line["n"]
    assert one["recorded"] == "ORDER_STATE_OPEN"
    assert "ORDER_STATE_NEW" in one["ours"]


@pytest.mark.reading("documented")
def test_what_an_observation_explains_is_the_specifications(tmp_path, compare):
    observed = tmp_path / "observed.ndjson"
    record(observed, "extends: quickstart\nname: seen\nreading: observed\n").gateway.get(
        "/v1/markets?limit=2"
    )
    code, found = compare(observed)
    told = {(one["observation"], one["culprit"]) for _, one in differences(found)}
    assert code == 1
    assert told == {
        ("markets.deprecated_fields", "specification"),
        ("markets.quote_value", "specification"),
    }
    assert compare(observed, "--reading", "observed")[0] == 0

    documented = tmp_path / "documented.ndjson"
    record(documented).gateway.get("/v1/markets?limit=2")
    code, found = compare(documented, "--reading", "observed")
    assert {one["culprit"] for _, one in differences(found)} == {"contract"}


def test_bytes_that_do_not_fit_are_the_contracts_where_it_chose_the_numbers(spoil, compare):
    def change(found: list[dict[str, Any]]) -> None:
        answer(found, "/exchange.v1.OrderBook", 0).update(body={"unreadable": 3})
        settled = next(line for line in found if line.get("plane") == "grpc" and "request" in line)
        settled = json.loads(json.dumps(settled))
        settled["request"]["path"] = (
            "/exchange.settlement.v1.SettlementService/GetInstrumentSettlement"
        )
        found.append(settled)

    _, found = compare(spoil(change))
    told = {(name, one["kind"], one["culprit"]) for name, one in differences(found)}
    assert told == {
        (GRPC_BOOK, "bytes", "recording"),
        ("SettlementService.GetInstrumentSettlement", "bytes", "contract"),
    }


def test_an_unknown_address_is_no_evidence_and_no_agreement(spoil, compare):
    def change(found: list[dict[str, Any]]) -> None:
        answer(found, "/v1/nothing", 404).update(status=200, body={"anything": 1})

    code, found = compare(spoil(change))
    unknown = found["operations"]["gateway (unknown address)"]
    assert code == 0
    assert (unknown["seen"], unknown["agree"], unknown["no_evidence"]) == (1, 0, 1)
    assert found["totals"]["no_evidence"] == 1


def test_an_answer_to_head_is_no_evidence(spoil, compare):
    def change(found: list[dict[str, Any]]) -> None:
        line = next(one for one in found[1:] if one.get("answer", {}).get("status") == 200)
        line["request"]["method"] = "HEAD"
        line["answer"] |= {"status": 405, "body": None}

    code, found = compare(spoil(change))
    assert (code, found["totals"]["no_evidence"]) == (0, 1)


def test_the_text_fits_a_screen(tmp_path, capsys, spoil):
    def change(found: list[dict[str, Any]]) -> None:
        for line in found:
            if "answer" in line:
                line["answer"]["status"] = 299
                line["answer"]["headers"] = {"content-type": "x" * 300}

    assert main(["compare", str(spoil(change))]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) <= 50
    assert max(map(len, out)) <= 80
    assert "differ" in out[1]


def test_a_thousand_equal_differences_are_one_place(tmp_path, capsys, spoil, compare):
    def change(found: list[dict[str, Any]]) -> None:
        wrong = next(line for line in found if line.get("request", {}).get("path") == "/v2/leagues")
        wrong["answer"]["body"]["leagues"] = 7
        found += [wrong] * 1000

    file = spoil(change)
    _, found = compare(file)
    operation = found["operations"]["GatewayLeaguesAPI.ListLeagues"]
    assert operation["differ"] == 1001
    assert len(operation["differences"]) + operation["left_out"] == 1001
    assert found["totals"]["differences"] == 1001
    capsys.readouterr()
    main(["compare", str(file)])
    assert capsys.readouterr().out.count("answer.body.leagues") == 1


HOSTILE = {
    "no recording": "{}\n",
    "another version": '{"recording": 99}\n',
    "a line that is none": '{"recording": 1}\nnonsense\n{}\n',
    "a wrong plane": '{"recording": 1}\n{"n": 1, "at": "x", "plane": "moon"}\n',
    "brackets": '{"recording": 1}\n' + "[" * 200_000 + "\n",
    "ten megabytes of nothing": '{"recording": 1}\n' + " " * 5_000_000 + "x" * 5_000_000 + "\n",
    "neither call nor stream": '{"recording": 1}\n{"n": 1, "at": "2026-09-08T18:00:00Z", "plane": "auth"}\n',
    "no instant": '{"recording": 1}\n{"n": 1, "at": "noon", "plane": "auth", "request": {"path": "/"}}\n',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_cannot_be_read_is_told_in_a_line_and_exits_with_2(text, tmp_path, capsys):
    file = tmp_path / "hostile.ndjson"
    file.write_text(text)
    assert main(["compare", str(file)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert "hostile.ndjson" in told[0]
    assert len(told[0]) < 400


def test_odd_values_are_differences_and_no_errors(spoil, compare):
    odd = ["1" * 400, 10**300, -1, [], {}, True, {"a": [[[[]]]]}, "fp:", "\x00", 0.5]

    def change(found: list[dict[str, Any]]) -> None:
        calls = [line for line in found if "answer" in line]
        for number, value in enumerate(odd * 3):
            body = calls[number % len(calls)]["answer"]["body"]
            if isinstance(body, dict):
                for name in list(body):
                    body[name] = value

    code, found = compare(spoil(change))
    assert code == 1
    assert found["totals"]["differences"] > 10


def test_a_cut_last_line_is_a_warning(session, tmp_path, compare):
    cut = tmp_path / "cut.ndjson"
    cut.write_bytes(session.read_bytes()[:-30])
    code, found = compare(cut)
    assert code == 0
    assert "was cut" in found["warnings"][0]


def test_a_har_file_is_compared_too(session, tmp_path, compare):
    """What a browser would have exported of two calls; the second answer is spoilt."""
    calls = [line for line in lines(session)[1:] if line["plane"] == "gateway"][:2]
    calls[1]["answer"]["body"]["market"]["slug"] = 7
    exported = [
        {
            "startedDateTime": call["at"],
            "request": {
                "method": "GET",
                "url": f"https://gateway.example{call['request']['path']}",
                "headers": [],
            },
            "response": {
                "status": 200,
                "headers": [
                    {"name": name, "value": value}
                    for name, value in call["answer"]["headers"].items()
                ],
                "content": {"text": json.dumps(call["answer"]["body"])},
            },
        }
        for call in calls
    ]
    file = tmp_path / "browser.har"
    file.write_text(json.dumps({"log": {"entries": exported}}))
    code, found = compare(file)
    ((name, one),) = differences(found)
    assert (code, name) == (1, "GatewayMarketsAPI.GetMarketBySlug")
    assert one["where"] == "answer.body.market.slug"


@pytest.mark.parametrize("status", [200, 404])
def test_a_body_that_a_browser_did_not_export_is_no_evidence(status, session, tmp_path, compare):
    """Chromium keeps no body that its page never read, and says that its size is -1."""
    length = {"name": "Content-Length", "value": "45"}
    exported = {
        "startedDateTime": "2026-09-08T18:00:00Z",
        "request": {"method": "GET", "url": "https://gateway.example/v1/markets", "headers": []},
        "response": {"status": status, "headers": [length], "content": {"size": -1}},
    }
    file = tmp_path / "browser.har"
    file.write_text(json.dumps({"log": {"entries": [exported]}}))
    code, found = compare(file)
    assert (code, differences(found)) == (0, [])
    assert "or was not exported" in json.dumps(found)


def test_two_seeds_give_the_same_verdict(tmp_path, compare):
    assert compare(recorded(tmp_path / "other.ndjson", seed=11))[0] == 0


def test_a_long_recording_takes_no_more_memory_than_a_short_one(session, tmp_path):
    kept = lines(session)
    repeated = [line for line in kept[1:] if line["plane"] == "gateway"][:2]

    def most(count: int) -> int:
        file = tmp_path / f"{count}.ndjson"
        told = [kept[0], *repeated * (count // 2)]
        file.write_text("".join(json.dumps(line) + "\n" for line in told))
        tracemalloc.start()
        try:
            assert main(["compare", str(file), "--json", str(tmp_path / "out.json")]) == 0
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    most(20)  # what is read and compiled once
    assert most(400) < 1.5 * most(100)
