"""What chance decides is no evidence, and nothing else is excused as chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sim.evidence.compare import chance
from sim.evidence.compare import compare as comparing
from tests.evidence import fresh_session as fresh
from tests.evidence.clients import Clients, base, planted
from tests.evidence.conftest import Compare, differences
from tests.evidence.lines import ABSENT, called, frames, lines, put, write

SEED = 3


def searches(clients: Clients) -> None:
    """Searches without a filter, which time out now and then."""
    for _ in range(6):
        clients.buyer.post("/v1/report/trades/search", json={})
        clients.world.advance("30s")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of all surfaces, with new accounts and searches that may time out."""
    folder = tmp_path_factory.mktemp("chance")
    parts = (*fresh.PARTS.values(), searches, fresh.drawn(SEED))
    return planted(folder, "wide", {}, seed=SEED, parts=parts)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with orders and streams."""
    folder = tmp_path_factory.mktemp("short")
    parts = [fresh.PARTS[name] for name in ("enter", "stream")]
    return planted(folder, "short", {}, seed=SEED, parts=parts)


@pytest.fixture
def spoilt(session: Path, tmp_path: Path) -> Any:
    """A copy of the session in which the answer of a line was changed."""

    def spoil(path: str, status: int, change: Any) -> tuple[Path, int]:
        rows = lines(session)
        row = called(rows, path, status)
        change(row["answer"])
        return write(tmp_path / "spoilt.ndjson", rows), row["n"]

    return spoil


def scenario(session: Path) -> str:
    return str(base(session.parent))


@pytest.mark.soak
@pytest.mark.parametrize("seed", [SEED, 103, 203, 303])
def test_with_any_seed_nothing_differs(seed: int, session: Path, compare: Compare) -> None:
    code, result = compare(session, "--scenario", scenario(session), "--seed", str(seed))
    assert (code, differences(result)) == (0, [])
    why = [
        text for operation in result["operations"].values() for text in operation.get("unknown", ())
    ]
    assert any("chance decides" in text for text in why) == (seed != SEED)
    assert result["totals"]["agree"] > 0.95 * result["totals"]["seen"]


def test_an_interrupt_while_chance_is_weighed_leaves_a_warning(
    session: Path, compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed, seeds = chance._replayed, []

    def interrupted(streams: Any, variant: Any) -> Any:
        seeds.append(variant.seed)
        if len(seeds) == 4:
            raise KeyboardInterrupt
        return replayed(streams, variant)

    monkeypatch.setattr(chance, "_replayed", interrupted)
    code, result = compare(session, "--scenario", scenario(session), "--seed", "103")
    assert (code, result["interrupted"]) == (130, True)
    (warning,) = result["warnings"]
    assert warning.endswith("interrupted; some of what differs may be due to chance")
    assert differences(result)


def test_so_does_one_while_orders_of_arrival_are_tried(
    session: Path, compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "likely_order", interrupted)
    code, result = compare(session, "--scenario", scenario(session), "--seed", "103")
    assert (code, result["interrupted"]) == (130, True)
    assert result["warnings"][0].endswith("some of what differs may be due to chance")


def timed_out(answer: dict[str, Any]) -> None:
    answer |= {"status": 504, "body": {"code": 4, "message": "deadline exceeded", "details": []}}


@pytest.mark.long
def test_with_the_seed_of_the_recording_chance_is_no_excuse(
    session: Path, spoilt: Any, compare: Compare
) -> None:
    file, n = spoilt("/v1/report/trades/search", 200, timed_out)
    code, result = compare(file, "--scenario", scenario(session), "--seed", str(SEED))
    (name, item), *more = differences(result)
    assert (code, name, item["n"], item["where"], more) == (
        1,
        "ReportAPI.SearchTrades",
        n,
        "answer.status",
        [],
    )


@pytest.mark.long
def test_what_no_luck_explains_differs_with_every_seed(
    session: Path, spoilt: Any, compare: Compare
) -> None:
    def dearer(answer: dict[str, Any]) -> None:
        answer["body"]["order"]["price"]["value"] = "9.00"

    file, n = spoilt("/v1/order/", 200, dearer)
    code, result = compare(file, "--scenario", scenario(session), "--seed", "103")
    reported = [(item["n"], item["where"]) for _, item in differences(result)]
    assert (code, reported) == (1, [(n, "answer.body.order.price.value")])


ORDER = "frame.body.orderSubscriptionUpdate.execution.order"


@pytest.mark.long
@pytest.mark.parametrize("seed", [SEED, 103])
@pytest.mark.parametrize(
    ("member", "value"),
    [("stateX", "ORDER_STATE_NEW"), ("price.value", "0.041"), ("side", "ORDER_SIDE_BYU")],
)
def test_what_is_wrong_in_a_frame_is_found_with_every_seed(
    member: str, value: str, seed: int, short: Path, tmp_path: Path, compare: Compare
) -> None:
    result, where = lines(short), f"{ORDER}.{member}"
    line = frames(result, "orderSubscriptionUpdate")[1]
    if member == "stateX":  # a field is renamed
        put(line, f"{ORDER}.state", ABSENT)
    put(line, where, value)
    file = write(tmp_path / "spoilt.ndjson", result)
    code, document = compare(file, "--scenario", scenario(short), "--seed", str(seed))
    reported = {(item["n"], item["where"]) for _, item in differences(document)}
    assert code == 1
    assert (line["n"], where) in reported
    assert {n for n, _ in reported} == {line["n"]}


@pytest.mark.long
@pytest.mark.parametrize("seed", [SEED, 103])
@pytest.mark.parametrize("holding", ["orderSubscriptionUpdate", "positionChanges", "tradeTime"])
def test_a_frame_that_is_missing_is_found_with_every_seed(
    holding: str, seed: int, short: Path, tmp_path: Path, compare: Compare
) -> None:
    result = lines(short)
    result.remove(frames(result, holding)[-1])
    file = write(tmp_path / "spoilt.ndjson", result)
    code, document = compare(file, "--scenario", scenario(short), "--seed", str(seed))
    assert (code, [item["kind"] for _, item in differences(document)]) == (1, ["missing frame"])
