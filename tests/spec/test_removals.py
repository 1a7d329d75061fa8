"""What was removed on a date is served until that midnight in New York, and not from it on (§9).

The dates are copied from the changelog; these tests do not read them from the contract.
"""

from __future__ import annotations

import pytest

from tests.kit import begin, partner_order

BEFORE, AFTER = "03:59:59Z", "04:00:00Z"  # four hours behind London in summer
_SERVICE = "/exchange.orderfunding.v1.OrderFundingService/"


@pytest.mark.spec("S9-3")
@pytest.mark.parametrize(("time", "served"), [(BEFORE, True), (AFTER, False)])
def test_subjects_are_served_until_the_29th_of_june(time: str, served: bool) -> None:
    world = begin(start=f"2026-06-29T{time}", limits=False)
    assert (world.gateway.get("/v1/subjects").status == 200) is served


@pytest.mark.spec("S9-3", "S9-4", "S4.3-15")
@pytest.mark.parametrize(("time", "served"), [(BEFORE, True), (AFTER, False)])
def test_funded_orders_are_served_until_the_6th_of_august_and_what_replaces_them_stays(
    time: str, served: bool
) -> None:
    world = begin(start=f"2026-08-06T{time}", limits=False)
    for method in ("CreateFundedOrder", "GetFundedOrder", "CancelFundedOrder"):
        reply = world.rpc_trader().raw(f"{_SERVICE}{method}", b"")
        assert (reply.code != 12) is served, reply  # an empty request is refused while it is served
    instrument = world.quiet()
    world.place(instrument, "sell", 50, 1, user=1)
    request = partner_order(instrument, world.account())
    assert world.rpc_partner.call("OrderFundingService.CreateVendorOrder", request).id
    assert world.transfer("1.00").workflow_id


@pytest.mark.spec("S9-3", "S7.1-4")
def test_a_path_that_is_gone_is_unknown_with_every_verb_and_says_why_over_grpc_too() -> None:
    """§7.1: 404 is an unknown path, 405 a path that has other verbs."""
    world = begin(start=f"2026-06-29T{AFTER}", limits=False)
    for verb in ("GET", "POST"):
        answer = world.raw("gateway", verb, "/v1/subjects", {})
        assert (answer.status, answer.reply.rule, "allow" in answer.headers) == (404, "S9-3", False)
    world = begin(start=f"2026-08-06T{AFTER}", limits=False)
    assert world.rpc_trader().raw(f"{_SERVICE}GetFundedOrder", b"").rule == "S9-3"
