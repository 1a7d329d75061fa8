"""`sim compare` as a drift alarm: what was accepted, what is new, and what rings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pytest

from sim.cli.main import main
from tests.evidence.conftest import Compare
from tests.evidence.lines import Line, called, put

Spoil: TypeAlias = Callable[[Callable[[list[Line]], None]], Path]
BALANCES, ORDER = "RetailAccountAPI.GetBalances", "RetailOrdersAPI.GetOrder"


def renamed(result: list[Line]) -> None:
    order = called(result, "/v1/order/", 200)["answer"]["body"]["order"]
    order["averagePx"] = order.pop("avgPx")


def both(result: list[Line]) -> None:
    renamed(result)
    put(called(result, "/v1/account/balances"), "answer.body.balances[0].currency", 7)


@pytest.fixture
def accepted(tmp_path: Path) -> Callable[..., Path]:
    """A file of reviewed differences."""

    def write(*entries: dict[str, str]) -> Path:
        path = tmp_path / "accepted.yaml"
        path.write_text(json.dumps({"accepted": entries}))
        return path

    return write


def entry(operation: str, where: str, **more: str) -> dict[str, str]:
    return {"operation": operation, "where": where, "reason": "known since May", **more}


RENAMED = entry(ORDER, "answer.body.order.a*gePx"), entry(ORDER, "answer.body.order.avgPx")


def places(rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(row["operation"], row["where"].rpartition(".")[2]) for row in rows}


def test_what_was_accepted_does_not_ring_and_what_was_not_does(
    spoil: Spoil, compare: Compare, accepted: Callable[..., Path]
) -> None:
    file = spoil(both)
    code, result = compare(file, "--accepted", str(accepted(*RENAMED)))
    drift = result["drift"]
    assert (code, drift["rings"]) == (1, True)
    assert places(drift["open"]) == {(BALANCES, "currency")}
    assert places(drift["accepted"]) == {(ORDER, "averagePx"), (ORDER, "avgPx")}
    assert {row["reason"] for row in drift["accepted"]} == {"known since May"}

    everything = accepted(*RENAMED, entry(BALANCES, "answer.body.balances[].currency"))
    code, result = compare(file, "--accepted", str(everything))
    assert (code, result["drift"]["rings"], result["drift"]["open"]) == (0, False, [])


@pytest.mark.parametrize("kind", ["missing name", "unknown name"])
def test_an_entry_with_a_kind_accepts_no_other(
    spoil: Spoil, compare: Compare, accepted: Callable[..., Path], kind: str
) -> None:
    item = entry("*", "answer.body.order.*", kind=kind)
    _, result = compare(spoil(renamed), "--accepted", str(accepted(item)))
    assert {row["kind"] for row in result["drift"]["accepted"]} == {kind}
    assert len(result["drift"]["open"]) == 1


def test_an_entry_that_nothing_needs_is_named(
    session: Path, compare: Compare, accepted: Callable[..., Path]
) -> None:
    code, result = compare(session, "--accepted", str(accepted(*RENAMED)))
    assert code == 0
    assert [item["where"] for item in result["drift"]["not_needed"]] == [
        e["where"] for e in RENAMED
    ]


def test_positions_in_lists_stand_for_each_other(
    session: Path, spoil: Spoil, compare: Compare, accepted: Callable[..., Path]
) -> None:
    def each(answer: list[Line]) -> None:
        for market in called(answer, "/v1/markets", 200)["answer"]["body"]["markets"]:
            market["extra"] = 1

    item = entry("GatewayMarketsAPI.ListMarkets", "answer.body.markets[].extra")
    code, result = compare(spoil(each), "--accepted", str(accepted(item)))
    assert (code, result["drift"]["accepted"][0]["count"]) == (0, 3)


def test_only_what_is_new_since_the_last_time_is_called_new(
    spoil: Spoil, compare: Compare, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = tmp_path / "last.json"
    assert main(["compare", str(spoil(renamed)), "--json", str(last)]) == 1
    capsys.readouterr()
    code, result = compare(spoil(both), "--against", str(last))
    assert code == 1
    assert {row["operation"]: row["new"] for row in result["drift"]["open"]} == {
        ORDER: False,
        BALANCES: True,
    }
    reported = capsys.readouterr().out
    assert "3 places in 2 operations, 1 of them new" in reported
    assert reported.index(BALANCES) < reported.index(ORDER)  # what is new stands first


def test_what_is_gone_and_what_was_not_called_any_more_is_told(
    session: Path, spoil: Spoil, compare: Compare, tmp_path: Path
) -> None:
    last = tmp_path / "last.json"
    main(["compare", str(spoil(renamed)), "--json", str(last)])

    def without_balances(answer: list[Line]) -> None:
        path = "/v1/account/balances"
        answer[:] = [line for line in answer if line.get("request", {}).get("path") != path]

    code, result = compare(spoil(without_balances), "--against", str(last))
    assert code == 0
    assert {row["where"] for row in result["drift"]["gone"]} == {
        "answer.body.order.avgPx",
        "answer.body.order.averagePx",
    }
    assert result["drift"]["not_seen_any_more"] == [BALANCES]


def test_one_file_may_be_last_time_and_this_time(session: Path, tmp_path: Path) -> None:
    last = str(tmp_path / "last.json")
    assert main(["compare", str(session), "--json", last]) == 0
    assert main(["compare", str(session), "--against", last, "--json", last]) == 0
    assert json.loads(Path(last).read_text())["drift"]["gone"] == []


def test_an_alarm_that_compared_nothing_rings(
    spoil: Spoil, compare: Compare, accepted: Callable[..., Path], tmp_path: Path
) -> None:
    silent = spoil(lambda answer: answer.__delitem__(slice(1, None)))
    junit = tmp_path / "drift.xml"
    code, result = compare(silent, "--accepted", str(accepted()), "--junit", str(junit))
    assert (code, result["drift"]["rings"], result["drift"]["open"]) == (1, True, [])
    (case,) = ElementTree.parse(junit).iter("testcase")
    assert case.find("failure") is not None


def test_junit_has_a_case_for_each_operation_that_was_seen(
    spoil: Spoil, compare: Compare, accepted: Callable[..., Path], tmp_path: Path
) -> None:
    junit = tmp_path / "drift.xml"
    options = "--accepted", str(accepted(*RENAMED)), "--junit", str(junit)
    _, result = compare(spoil(both), *options)
    cases = {case.get("name"): case for case in ElementTree.parse(junit).iter("testcase")}
    assert set(cases) == set(result["operations"])
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {BALANCES}
    assert "known since May" in (cases[ORDER].findtext("system-out") or "")
    skipped = {name for name, case in cases.items() if case.find("skipped") is not None}
    unknown = {
        name for name, item in result["operations"].items() if item["seen"] == item["no_evidence"]
    }
    assert skipped == unknown


def test_a_proposal_is_accepted_once_it_has_reasons(
    spoil: Spoil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, proposal = str(spoil(both)), tmp_path / "proposed.yaml"
    assert main(["compare", file, "--propose", str(proposal)]) == 1
    assert main(["compare", file, "--accepted", str(proposal)]) == 2
    assert "its reason is empty" in capsys.readouterr().err
    proposal.write_text(proposal.read_text().replace('reason: ""', "reason: asked the service"))
    assert main(["compare", file, "--accepted", str(proposal)]) == 0
    assert main(["compare", file, "--propose", str(proposal)]) == 2
    assert "is not overwritten" in capsys.readouterr().err


MISTAKES = {
    "accepted: [{operation: x, wher: y, reason: z}]": "wher",
    "accepted: [{operation: x, where: y}]": "reason",
    "accepted: [{operation: x, where: y, reason: z, kind: colour}]": "no kind 'colour'",
    "accepted: 7": "expected a list",
    "{": "not YAML",
}


@pytest.mark.parametrize("text", [*MISTAKES])
def test_a_mistake_in_the_file_is_told_with_its_place(
    session: Path, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "accepted.yaml"
    path.write_text(text)
    assert main(["compare", str(session), "--accepted", str(path)]) == 2
    error = capsys.readouterr().err
    assert MISTAKES[text] in error and "accepted.yaml:" in error


@pytest.mark.parametrize("text", ["[]", "{", '{"operations": {"x": 1}}'])
def test_what_is_no_comparison_is_refused(
    session: Path, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "last.json"
    path.write_text(text)
    assert main(["compare", str(session), "--against", str(path)]) == 2
    assert "is not a comparison" in capsys.readouterr().err


def test_a_person_reads_the_verdict_first_and_no_line_is_wide(
    spoil: Spoil, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["compare", str(spoil(both)), "--junit", str(tmp_path / "drift.xml")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "DRIFT: 3 places in 2 operations"
    assert len(lines) <= 20 and max(map(len, lines)) <= 80
