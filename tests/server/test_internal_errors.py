"""The sandbox itself fails: nothing is answered out of a state that stands in no journal."""

from __future__ import annotations

import json
import urllib.request
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError

import pytest
from processes import Process

from sim.analysis.replay import replay_file

# The first fill fails, in the middle of an order.
BROKEN = """
import sys
from sim.cli.main import main
from sim.core.matching.fills import Fills

def fail(*_, **__):
    raise ZeroDivisionError("on purpose")

Fills._apply = fail
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def broken(tmp_path: Path):
    """A server whose first fill fails, and its journal."""
    journal = tmp_path / "run.ndjson"
    arguments = ("serve", "--port-base", "0", "--clock", "manual", "--journal", str(journal))
    served = Process(tmp_path, *arguments, program=("-c", BROKEN))
    yield served, journal
    with suppress(OSError):
        served.process.kill()
    served.process.communicate()


def order(served: Process, party: str, side: str, price: str) -> tuple[int, dict[str, object]]:
    body = {"as": party, "symbol": served.ready["symbols"]["open"][-1]} | {
        "side": side,
        "price": price,
        "qty": "1",
    }
    url = served.ready["control"] + "/_sim/v1/orders"
    try:
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=10) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def test_an_internal_error_stops_the_process_with_5_and_the_journal_holds_what_was_answered(
    broken,
) -> None:
    served, journal = broken
    status, first = order(served, "maker", "buy", "0.02")
    assert status == 200
    status, failed = order(served, "taker", "sell", "0.02")
    assert (status, failed) == (500, {"code": 13, "message": "internal error", "details": []})
    code, out, err = served.end()
    assert code == 5
    assert (
        err.rstrip()
        .splitlines()[-1]
        .startswith(
            f"sim: {journal}: internal error: ZeroDivisionError: on purpose: this exchange stops."
        )
    )
    again = replay_file(journal).simulation
    assert f"{again.seq} inputs, digest {again.digest}" in out
    assert f"sim replay {journal}" in out
    placed = {one.id for one in again.exchange.trading.orders.open()}
    assert first["order_id"] in placed
