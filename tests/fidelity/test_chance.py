"""What chance decides is no evidence, and nothing else is excused as chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fidelity import fresh_session as fresh
from tests.fidelity.conftest import Compare, differences
from tests.fidelity.in_process import lines
from tests.fidelity.wide_session import PARTS, base, planted

SEED = 3


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of all surfaces, with new accounts and searches that may time out."""
    folder = tmp_path_factory.mktemp("chance")
    return planted(folder, "wide", {}, seed=SEED, parts=(*PARTS.values(), fresh.drawn(SEED)))


@pytest.fixture
def spoilt(session: Path, tmp_path: Path) -> Any:
    """A copy of the session in which the answer of a line was changed."""

    def spoil(path: str, status: int, change: Any) -> tuple[Path, int]:
        found = lines(session)
        line = next(
            one
            for one in found
            if one.get("request", {}).get("path", "").startswith(path)
            and one["answer"]["status"] == status
        )
        change(line["answer"])
        file = tmp_path / "spoilt.ndjson"
        file.write_text("".join(json.dumps(one) + "\n" for one in found))
        return file, line["n"]

    return spoil


def scenario(session: Path) -> str:
    return str(base(session.parent))


@pytest.mark.parametrize("seed", [SEED, 103, 203, 303])
def test_with_any_seed_nothing_differs(seed: int, session: Path, compare: Compare) -> None:
    code, found = compare(session, "--scenario", scenario(session), "--seed", str(seed))
    assert (code, differences(found)) == (0, [])
    why = [text for one in found["operations"].values() for text in one.get("unknown", ())]
    assert any("chance decides" in text for text in why) == (seed != SEED)
    assert found["totals"]["agree"] > 0.95 * found["totals"]["seen"]


def timed_out(answer: dict[str, Any]) -> None:
    answer |= {"status": 504, "body": {"code": 4, "message": "deadline exceeded", "details": []}}


def test_with_the_seed_of_the_recording_chance_is_no_excuse(
    session: Path, spoilt: Any, compare: Compare
) -> None:
    file, n = spoilt("/v1/report/trades/search", 200, timed_out)
    code, found = compare(file, "--scenario", scenario(session), "--seed", str(SEED))
    (name, one), *more = differences(found)
    assert (code, name, one["n"], one["where"], more) == (
        1,
        "ReportAPI.SearchTrades",
        n,
        "answer.status",
        [],
    )


def test_what_no_luck_explains_differs_with_every_seed(
    session: Path, spoilt: Any, compare: Compare
) -> None:
    def dearer(answer: dict[str, Any]) -> None:
        answer["body"]["order"]["price"]["value"] = "9.00"

    file, n = spoilt("/v1/order/", 200, dearer)
    code, found = compare(file, "--scenario", scenario(session), "--seed", "103")
    told = [(one["n"], one["where"]) for _, one in differences(found)]
    assert (code, told) == (1, [(n, "answer.body.order.price.value")])
