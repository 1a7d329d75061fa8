"""The longest value that each text and list of a request may have is accepted; one more character
or entry is refused, and the refusal says how many may be there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sim.run.client.client import Response, RpcError
from tests.kit import APPLICATION, Desk, begin, order, partner_order, retail_order

PREFILL = {"user_id": "u-1", "phone_number": "14155551212", "date_of_birth": "1985-03-30"}


class Longest(NamedTuple):
    """A value and its greatest length; `send` makes the call with a value of some length."""

    words: str
    length: int
    send: Callable[[Desk, int], Response]


def _partner(world: Desk, path: str, body: dict[str, Any]) -> Response:
    return world.partner.post(path, json=body)


def _field(path: str, name: str, body: dict[str, Any]) -> Callable[[Desk, int], Response]:
    return lambda world, length: _partner(world, path, body | {name: "x" * length})


def _description(world: Desk, length: int) -> Response:
    asked = {"account": world.account(), "description": "x" * length}
    return world.trader().get("/v1/funding/balance-ledger", params=asked)


def _where(world: Desk, length: int) -> Response:
    symbol = world.quiet().symbol
    clause = f"symbol = '{symbol}'"
    asked = {"symbol": symbol, "where_clause": clause.ljust(length)}
    return world.trader().post("/v1/report/orders/search", json=asked)


def _order_list(world: Desk, count: int) -> Response:
    orders = [order(world.quiet(), "buy", 30, 1)] * count
    return world.trader().post("/v1/trading/orders/list", json={"requests": orders})


def _batch(world: Desk, count: int) -> Response:
    good = retail_order(world.quiet(), "BUY_LONG", 30)
    return world.customer().post("/v1/orders/batched", json={"orders": [good] * count})


def _transfer(world: Desk, length: int) -> None:
    world.transfer("1", "x" * length)


def _partner_order(world: Desk, key: int = 1, clord_id: int = 1) -> None:
    asked = partner_order(world.quiet(), world.account(), key="k" * key, clord_id="x" * clord_id)
    world.rpc_partner.call("OrderFundingService.CreateVendorOrder", asked)


LONGEST = [
    Longest("user_id of a participant", 49, _field("/v1/users", "user_id", {})),
    Longest("user_id of a prefill", 49, _field("/v1/kyc/prefill", "user_id", PREFILL)),
    Longest("external_id", 49, _field("/v1/kyc/start", "external_id", APPLICATION)),
    Longest("first_name", 50, _field("/v1/kyc/start", "first_name", APPLICATION)),
    Longest("last_name", 50, _field("/v1/kyc/start", "last_name", APPLICATION)),
    Longest("display_name", 50, _field("/v1/users", "display_name", {"user_id": "u-2"})),
    Longest("description of ledger rows", 200, _description),
    Longest("where clause", 4096, _where),
    Longest("orders of a list", 20, _order_list),
    Longest("orders of a batch", 20, _batch),
]


@pytest.mark.spec("S4.2-13")
@pytest.mark.parametrize("longest", LONGEST, ids=lambda longest: longest.words)
def test_the_longest_value_is_accepted_and_one_more_is_refused(longest: Longest) -> None:
    world = begin(limits=False)
    refused = longest.send(world, longest.length + 1)
    assert refused.status == 400
    assert str(longest.length) in refused.json()["message"]
    accepted = longest.send(world, longest.length)
    assert accepted.status == 200, accepted


@pytest.mark.parametrize(
    ("length", "send"),
    [
        (128, _transfer),
        (128, lambda world, length: _partner_order(world, key=length)),
        (64, lambda world, length: _partner_order(world, clord_id=length)),
    ],
    ids=["key of a transfer", "key of a partner order", "clord_id of a partner order"],
)
def test_the_longest_value_of_a_grpc_request_is_accepted_and_one_more_is_refused(
    length: int, send: Callable[[Desk, int], None]
) -> None:
    world = begin(limits=False)
    with pytest.raises(RpcError, match=str(length)) as refused:
        send(world, length + 1)
    assert refused.value.code == 3
    send(world, length)
