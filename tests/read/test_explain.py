"""Explanations: every refusal, order, stream, account and instrument can be asked why, with
instants, journal positions, rules and sections.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import load_scenario
from sim.cli.main import main
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import OrderState, Side
from sim.core.model.instrument import Instrument
from sim.read.explain import explain
from sim.read.explain.text import lines
from sim.run.actors.operator.views import deliveries
from sim.run.client.client import Http, RpcError
from tests.deeds import do
from tests.journeys import journalled
from tests.kit import FEW_GAMES, Desk, begin

IOC, FOK, DAY = (
    "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL",
    "TIME_IN_FORCE_FILL_OR_KILL",
    "TIME_IN_FORCE_DAY",
)


def why(world: Desk, subject: str) -> dict[str, Any]:
    """The explanation of something that can be explained; asking changes nothing."""
    before = world.simulation.digest, world.simulation.seq
    result = explain(world.simulation, subject)
    assert (world.simulation.digest, world.simulation.seq) == before
    assert result is not None
    assert "\n".join(lines(result))
    assert [link["seq"] for link in result["chain"]] == sorted(
        link["seq"] for link in result["chain"]
    )
    return result


def bid(world: Desk, instrument: Instrument | None = None, contracts: int = 1, **rest: Any) -> str:
    """Id of an order to buy that was taken, at 0.40 unless `cents` says otherwise."""
    cents = rest.pop("cents", 40)
    return world.place(instrument or world.quiet(), "buy", cents, contracts, **rest)


def _maintenance(world: Desk) -> str:
    created = bid(world)
    world.operate("maintenance.add", begins="+10m", length="1h")
    world.advance("10m")
    return created


def _state(world: Desk, *states: str, tif: str = "TIME_IN_FORCE_GOOD_TILL_CANCEL") -> str:
    instrument = world.quiet()
    created = bid(world, instrument, timeInForce=tif)
    world.move(instrument, *states)
    return created


def _unfunded(world: Desk) -> str:
    """Two orders that are each affordable; the fill of one leaves too little for the other."""
    trading = world.trading
    ready = (item for item in world.in_state() if not trading.book(item.symbol).ladder(Side.BUY))
    first, second = next(ready), next(ready)
    world.fund(0, f"-{trading.buying_power(world.account()) // 10**8 - 100}")
    created = bid(world, second, 180, cents=50)
    bid(world, first, 180, cents=50)
    sale = {"as": "taker", "symbol": first.symbol, "side": "sell", "price": "0.50", "qty": "180"}
    world.operate("order.place", **sale)
    return created


def _gtt(world: Desk) -> str:
    until = "2026-09-08T18:10:00Z"
    created = bid(world, timeInForce="TIME_IN_FORCE_GOOD_TILL_TIME", goodTillTime=until)
    world.advance("11m")
    return created


def _roll(world: Desk) -> str:
    created = bid(world, timeInForce=DAY)
    world.advance("5h")
    return created


def _canceled(world: Desk) -> str:
    created = bid(world)
    world.cancel(created)
    return created


def _filled(world: Desk) -> str:
    instrument = world.quiet()
    created = bid(world, instrument, 2, cents=60)
    world.retail_enter(instrument, "BUY_SHORT", 60, 2)
    return created


def _rejected(world: Desk) -> str:
    return str(world.retail_enter(world.quiet(), "BUY_LONG", 60, 10**9).json()["id"])


@pytest.mark.parametrize(
    ("make", "part", "rule", "section", "assumption"),
    [
        (_filled, "2 traded at 0.6", "M1", "§3.4", ""),
        (_canceled, "canceled: as requested", "M43", "§3.4", ""),
        (_maintenance, "maintenance empties every book", "W2", "§8", "maintenance.cancel_lead"),
        (_gtt, "its good-till time came", "L23", "§3.4", ""),
        (_roll, "the trade date ends day orders", "L12", "§3.4", "day_roll.expire_day_orders"),
        (
            lambda w: _state(w, "CLOSED", tif=DAY),
            *("the close ends day orders", "L12", "§3.4", "day_roll.expire_day_orders"),
        ),
        (
            lambda w: _state(w, "CLOSED", "EXPIRED"),
            *("the instrument became EXPIRED", "L8", "§3.1", ""),
        ),
        (lambda w: _state(w, tif=IOC), "must not rest", "M16", "§3.4", ""),
        (lambda w: _state(w, tif=FOK), "0 of 1 were there", "M17", "§3.4", ""),
        (_unfunded, "could no longer pay for it", "P5", "§3.4", "risk.auto_cancel_order"),
        (_rejected, "rejected: ", "P4", "§3.4", ""),
    ],
)
def test_the_end_of_an_order_names_its_cause(
    world: Desk, make: Callable[[Desk], str], part: str, rule: str, section: str, assumption: str
) -> None:
    result = why(world, make(world))
    last = result["chain"][-1]
    assert part in result["summary"] and result["summary"] == last["what"]
    assert (last["rule"], last["section"]) == (rule, section)
    assert next((item["name"] for item in last.get("assumptions", ())), "") == assumption
    assert result["state"] not in ("NEW", "PARTIALLY_FILLED")
    assert 1 <= last["seq"] <= world.simulation.seq
    assert last["at"].startswith("2026-09-08T")


def test_an_open_order_says_what_it_waits_for(world: Desk) -> None:
    instrument = world.quiet()
    first, second = bid(world, instrument, 2), bid(world, instrument, user=1)
    assert why(world, first)["summary"] == "it rests at 0.4: the other side is empty"
    assert why(world, second)["summary"].endswith("2 are ahead of it at its price")
    offer = {"as": "maker", "symbol": instrument.symbol, "side": "sell", "qty": "1"}
    world.operate("order.place", **offer, price="0.45")
    assert "the best price on the other side is 0.45" in why(world, first)["summary"]
    world.move(instrument, "HALTED")
    assert "is HALTED, where nothing trades" in why(world, first)["summary"]
    world.cancel(first)
    assert why(world, first)["state"] == "NEW"


def _refused(world: Desk) -> str:
    refused = [row["explain"] for row in world.simulation.requests() if row["explain"]]
    return str(refused[-1])


def test_a_refusal_by_state_names_who_brought_the_state_about(world: Desk) -> None:
    instrument = world.quiet()
    world.advance("90s")
    world.move(instrument, "HALTED")
    halted = world.simulation.seq
    world.advance("30s")
    world.enter(instrument, "buy", 40, 1)
    refused = _refused(world)
    request = wire.InsertOrderRequest(
        symbol=instrument.symbol, type=2, side=1, order_qty=100, price=40, time_in_force=2
    )
    with pytest.raises(RpcError):
        world.rpc_trader().call("OrderEntryAPI.InsertOrder", request)
    assert why(world, refused)["status"] == 422
    for subject in (refused, _refused(world)):  # over REST and over gRPC
        result = why(world, subject)
        assert (result["code"], result["rule"], result["stage"]) == (9, "S3.1-10", "handle")
        assert result["facts"] == {"state": "HALTED"}
        assert [assumption["name"] for assumption in result["assumptions"]] == [
            "orders.sync_reject"
        ]
        cause, itself = result["chain"]
        assert (cause["seq"], cause["at"], cause["rule"]) == (halted, "2026-09-08T18:01:30Z", "L5")
        assert "OPEN → HALTED" in cause["what"] and "instrument.state" in cause["by"]
        assert (itself["seq"], itself["at"]) == (int(subject, 16), "2026-09-08T18:02:00Z")


def test_a_refusal_about_an_order_tells_what_became_of_it(world: Desk) -> None:
    canceled = _canceled(world)
    world.cancel(canceled)
    result = why(world, _refused(world))
    assert result["status"] == 409 and result["rule"] == "M34"
    assert [link["what"] for link in result["chain"]][1:] == [
        "canceled: as requested",
        "refused: Unknown order",
    ]
    holder = bid(world, cents=41, clordId="mine")
    world.enter(world.quiet(), "buy", 41, 1, clordId="mine")
    result = why(world, _refused(world))
    assert result["rule"] == "M6"
    assert result["chain"][0]["request_id"] == f"{why(world, holder)['chain'][0]['seq']:016x}"


def test_a_refusal_for_the_rate_shows_the_calls_that_used_the_limit_up(world: Desk) -> None:
    user, symbol = world.trader(), world.quiet().symbol
    while user.post("/v1/report/trades/search", json={"symbol": symbol}).status == 200:
        pass
    result = why(world, _refused(world))
    assert result["status"] == 429 and result["retry"] and result["retry_after_s"] == "5"
    assert result["caller"] == world.firm.users[0].name
    assert len(result["chain"]) == 6
    assert {link["what"] for link in result["chain"][:-1]} == {"counted against the limit"}


def test_a_refusal_in_maintenance_names_the_window(world: Desk) -> None:
    world.operate("maintenance.add", length="1h")
    world.advance("1s")
    world.simulation.rest("exchange", "GET", "/v1/whoami", "", {}, b"")
    result = why(world, _refused(world))
    assert (result["status"], result["stage"]) == (503, "maintenance")
    assert result["chain"][0]["what"] == "a maintenance window began"
    assert result["retry"]


def test_a_refusal_by_a_fault_shows_the_fault_and_one_by_a_quirk_the_quirk(world: Desk) -> None:
    world.operate("fault.add", match={"operation": "ListLeagues"}, act={"status": 503})
    world.gateway.get("/v2/leagues")
    result = why(world, _refused(world))
    assert result["fault"]["spec"]["match"]["operation"] == "ListLeagues"
    world.quirk("unfiltered_search_times_out", "always")
    world.trader().post("/v1/report/trades/search", json={})
    result = why(world, _refused(world))
    assert result["status"] == 504
    quirk = {"name": "unfiltered_search_times_out", "odds": "always", "section": "§4.3"}
    assert result["quirk"] == quirk


def test_a_token_that_is_no_longer_good_is_traced_to_where_it_was_issued(world: Desk) -> None:
    headers = world.bearer(world.firm)
    issued = world.simulation.seq
    world.advance("10m")
    world.simulation.rest("exchange", "GET", "/v1/whoami", "", headers, b"")
    result = why(world, _refused(world))
    assert result["status"] == 401
    assert result["chain"][0]["seq"] == issued
    assert "180 s" in result["chain"][0]["what"]


def test_the_end_of_a_stream_names_its_cause(world: Desk) -> None:
    drop_copy = "DropCopyAPI.CreateDropCopySubscription"
    first, second = (world.rpc_trader().stream(drop_copy) for _ in range(2))
    result = why(world, f"stream/{first.number}")
    assert result["end"] == {"code": 13, "message": "Subscription manager revoked session"}
    successor = f"stream {second.number}, opened by the same identity"
    assert result["summary"] == f"{successor}, took its session"
    assert result["chain"][-1]["quirk"]["name"] == "session_revocation"
    assert result["retry"]
    assert why(world, str(second.number))["state"] == "OPEN"
    world.operate("maintenance.add", length="1h")
    world.advance("1s")
    result = why(world, f"stream/{second.number}")
    assert (result["end"]["code"], result["chain"][-1]["section"]) == (14, "§8")
    assert explain(world.simulation, "stream/99") is None


def test_streams_that_were_hung_up_closed_or_left_behind_say_so(world: Desk) -> None:
    gone, closed, left = (
        world.rpc_trader(user).stream("OrderEntryAPI.CreateOrderSubscription") for user in (0, 1, 2)
    )
    gone.close()
    world.operate("stream.close", str(closed.number))
    world.simulation.rewind(seq=world.simulation.seq)
    assert [why(world, f"stream/{each.number}")["summary"] for each in (gone, closed, left)] == [
        "the client disconnected",
        "the tester ended it",
        "the simulation was moved to another moment",
    ]


def test_an_account_tells_every_row_with_its_cause(world: Desk) -> None:
    _filled(world)
    user = world.firm.users[0]
    result = why(world, user.name)
    assert result["subject"] == user.account
    assert result["balance"] in result["summary"]
    rules = {link["rule"] for link in result["chain"]}
    assert {"P21", "P9"} <= rules
    switches = [item for link in result["chain"] for item in link.get("assumptions", ())]
    assert "ledger.commission" in {switch["name"] for switch in switches}
    world.operate("account.fund", user.account, amount="12.50")
    assert why(world, user.account)["chain"][-1]["what"].startswith("+12.50 USD DEPOSIT")
    assert why(world, "maker")["kind"] == "account"


def test_of_an_account_with_a_long_history_the_latest_rows_are_told(world: Desk) -> None:
    account = world.firm.users[0].account
    for number in range(1, 131):
        world.operate("account.fund", account, amount=f"{number}.00")
    result = why(world, account)
    assert len(result["chain"]) == 100 and not result["complete"]
    assert [result["chain"][index]["what"].split()[0] for index in (0, -1)] == ["+31.00", "+130.00"]
    assert why(world, "taker")["complete"]


def test_an_instrument_tells_its_edges_and_what_comes_next(world: Desk) -> None:
    instrument = world.quiet()
    symbol = instrument.symbol
    assert why(world, symbol)["next"]
    world.move(symbol, "SUSPENDED")
    result = why(world, symbol)
    assert result["held"] and "until an operator moves it" in result["summary"]
    assert result["orders"] == "refused"
    world.settle(symbol)
    world.operate("instrument.create", symbol="by-hand", tick_size="0.01", state="OPEN")
    chain = why(world, symbol)["chain"]
    for link, part in zip(chain[:3], ("SUSPENDED", "CLOSED", "settlement price 1"), strict=True):
        assert part in link["what"]
    assert chain[2]["assumptions"][0]["name"] == "settlement.delay_after_close"
    assert why(world, "by-hand")["chain"][0]["what"] == "listed by the operator"


@settings(max_examples=10)
@given(numbers=st.lists(st.integers(0, 300), min_size=6, max_size=14))
def test_whatever_happened_everything_can_be_asked_why(numbers: list[int]) -> None:
    world = begin(FEW_GAMES)
    sim = world.simulation
    for number in numbers:
        do(world, number)
    for row in sim.requests():
        if row["explain"]:
            result = why(world, row["explain"])
            assert result["chain"][-1]["seq"] == row["seq"]
            assert result["rule"] or result["section"]
        else:
            assert explain(sim, f"request/{row['seq']:016x}") is None
    ends = {
        OrderState.FILLED: "traded",
        OrderState.CANCELED: "canceled",
        OrderState.EXPIRED: "expired",
        OrderState.REJECTED: "rejected",
    }
    every = sim.exchange.trading.orders.all()
    for placed in [answer for answer in every if answer.participant.startswith("firms/")][-40:]:
        result = why(world, placed.id)
        assert ends.get(placed.state, "") in result["summary"]
    for account in sim.exchange.trading.ledger:
        assert why(world, account.name)["kind"] == "account"
    for instrument in list(sim.exchange.instruments)[::25]:
        assert why(world, instrument.symbol)["kind"] == "instrument"


def test_a_journal_explains_itself_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.ndjson"
    with journalled(path) as world:
        canceled = _canceled(world)
        world.advance("1m")
        world.cancel(canceled)
        refused = _refused(world)

    def sim(*arguments: str) -> tuple[int, str, str]:
        return main(["explain", str(path), *arguments]), *capsys.readouterr()

    assert f"{refused}  409  refused  POST /v1/trading/orders/cancel  M34: Unknown" in sim()[1]
    _, output, _ = sim(refused)
    assert output.startswith(f"request {refused}: firms/atlas/users/mara-voss was refused: 409")
    assert "canceled: as requested (rule M43, section 3.4)" in output
    assert "retry          no" in output
    assert json.loads(sim(canceled, "--json")[1])["state"] == "CANCELED"
    code, output, problem = sim(refused, "--until", "2026-09-08T18:00:30Z")
    assert (code, output) == (2, "")
    assert problem.startswith("sim: nothing is called")
    path.write_text("nonsense")
    assert sim(refused)[0] == 2


# ---- verifications and webhooks

PERSON = load_scenario("kyc-approval-window").steps[0].call.json  # type: ignore[union-attr]


def partner(world: Desk, *answers: int) -> Http:
    """A firm with a webhook whose receiver gives these answers, then 200."""
    waiting = [200, *answers]  # the test delivery of the registration is taken
    world.receive = lambda post: waiting.pop(0) if waiting else 200
    result, hook = of_firm(world, "firms/atlas"), {"webhook_url": "http://127.0.0.1:9/hook"}
    assert result.post("/v1/kyc/webhook", json=hook).status == 200
    return result


def of_firm(world: Desk, name: str) -> Http:
    return world.exchange(world.simulation.exchange.firms.require(name))


def notified(world: Desk) -> str:
    """The id of the only event about a person."""
    rows = deliveries(world.simulation.exchange)
    (event,) = {row["event_id"] for row in rows if row["external_id"]}
    return str(event)


def test_a_verification_tells_every_stage_with_its_cause(world: Desk) -> None:
    atlas = partner(world)
    body = {**PERSON, "date_of_birth": "1985-09-02", "docv_eligible": True}
    token = atlas.post("/v1/kyc/start", json=body).json()["docv"]["docvTransactionToken"]
    answer = why(world, "kyc/person-1")
    assert (answer["state"], answer["retry"], answer["due"]) == ("DOCUMENT", False, "")
    assert "document is required" in answer["summary"]
    world.operate("kyc.document", token, result="uploaded")
    answer = why(world, "person-1")
    assert (
        answer["state"] == "UPLOADED"
        and answer["summary"].endswith(answer["due"])
        and answer["due"]
    )
    world.advance("5s")
    answer = why(world, "kyc/person-1")
    assert (answer["state"], answer["participant"]) == ("PROVISIONING", "")
    assert "participantId is empty" in answer["summary"]
    assert atlas.post("/v1/kyc/start", json=body).status == 409
    world.advance("26m")
    answer = why(world, "kyc/firms/atlas/person-1")
    assert answer["state"] == "TRADABLE" and answer["participant"]
    assert [link["what"].split(":")[0] for link in answer["chain"]] == [
        "started; its status was REVIEW ON_HOLD docv_required", "the document was uploaded", "the document was examined",
        "a start was refused with 409", "tradable",
    ]  # fmt: skip
    assert answer["chain"][-1]["quirk"]["name"] == "empty_participant_window"
    event = {"event_id": notified(world), "type": "kyc.approved", "state": "DELIVERED"}
    assert answer["webhooks"] == [event]


def test_a_verification_that_waits_for_people_says_until_when_and_who_decided(world: Desk) -> None:
    atlas = partner(world)
    world.assume("kyc.review_outcome", "hold")
    atlas.post("/v1/kyc/start", json={**PERSON, "date_of_birth": "1985-09-25"})
    assert "will not end by itself" in why(world, "kyc/person-1")["summary"]
    world.operate("kyc.decide", "person-1", decision="reject")
    result = why(world, "kyc/person-1")
    assert result["state"] == "REJECTED"
    assert [link["what"] for link in result["chain"]][-2:] == ["decided: reject", "rejected"]
    assert "the tester called kyc.decide" in result["chain"][-1]["by"]
    assert explain(world.simulation, "kyc/person-2") is None


def test_two_firms_with_one_external_id_are_asked_apart(world: Desk) -> None:
    for name, ssn in (("firms/atlas", "900110001"), ("firms/borealis", "900110002")):
        answer = of_firm(world, name).post("/v1/kyc/start", json={**PERSON, "ssn": ssn})
        assert answer.status == 200
    assert "kyc/firms/borealis/person-1" in why(world, "kyc/person-1")["remedy"]
    assert why(world, "kyc/firms/borealis/person-1")["firm"] == "firms/borealis"


def test_a_verification_by_a_script_is_traced_to_the_step() -> None:
    world = begin("kyc-approval-window")
    world.advance("30m")
    result = why(world, "kyc/person-1")
    assert result["state"] == "TRADABLE"
    assert [link["by"] for link in result["chain"]] == [
        "start of the scenario",
        "timer kyc.provision firms/atlas|person-1 fired",
    ]


SCRIPTED = f"""
name: a-document-and-a-decision
extends: quickstart
assumptions: {{kyc.review_outcome: hold}}
steps:
  - call: {{plane: exchange, post: /v1/kyc/start, as: firms/atlas, json: {json.dumps({**PERSON, "date_of_birth": "1985-09-25", "docv_eligible": True})}}}
    save: {{token: docv.docvTransactionToken}}
  - {{at: +1m, name: papers, kyc: {{external_id: "${{token}}", document: uploaded}}}}
  - {{at: +1m, name: too-early, kyc: {{external_id: person-1, document: uploaded}}, expect: {{refused: true}}}}
  - {{when: {{call: {{operation: GetKYCStatus}}}}, name: second-thoughts, kyc: {{external_id: person-1, decision: reject}}}}
"""


def test_what_steps_of_a_scenario_do_to_a_verification_is_part_of_its_story() -> None:
    world = begin(SCRIPTED)
    simulation = world.simulation
    world.advance("1h")
    assert [
        (link["what"].partition(",")[0], link["by"].partition(" ")[0])
        for link in why(world, "kyc/person-1")["chain"]
    ] == [
        ("started; its status was REVIEW ON_HOLD docv_required", "step"),
        ("the document was uploaded", "papers"),
        ("the document was examined", "timer"),
        ("the document was uploaded", "too-early"),
    ]
    assert why(world, "kyc/person-1")["chain"][-1]["what"].endswith("requires no document")
    of_firm(world, "firms/atlas").get("/v1/kyc/status?external_id=person-1")
    result = why(world, "kyc/person-1")
    assert result["state"] == "REJECTED"
    assert [(link["what"], link["seq"]) for link in result["chain"][-2:]] == [
        ("decided: reject", simulation.seq),
        ("rejected", simulation.seq),
    ]
    assert result["chain"][-2]["by"] == "second-thoughts of the scenario"


def test_a_webhook_tells_its_attempts_answers_and_retries(world: Desk) -> None:
    atlas = partner(world, 500, 503)
    atlas.post("/v1/kyc/start", json=PERSON)
    world.advance("26m")
    event = notified(world)
    result = why(world, f"webhook/{event}")
    assert (result["state"], result["attempts"], result["external_id"]) == (
        "DELIVERED",
        3,
        "person-1",
    )
    assert [link["what"].partition(" to http")[0] for link in result["chain"]] == [
        "firms/atlas is to be notified: person-1 was approved",
        "attempt 1 was sent", "attempt 1: the receiver answered 500",
        "attempt 2 was sent", "attempt 2: the receiver answered 503",
        "attempt 3 was sent", "attempt 3: the receiver answered 200",
    ]  # fmt: skip
    assert result["chain"][3]["rule"] == "K11" and "webhook.due" in result["chain"][3]["by"]
    rows = deliveries(world.simulation.exchange)
    test = next(row["event_id"] for row in rows if row["type"] == "webhook.test")
    assert why(world, test)["state"] == "DELIVERED"


LOST = {"match": {"plane": "webhook"}, "act": {"drop": True}}
FAILS_ONCE = {"match": {"plane": "webhook"}, "act": {"status": 503}, "times": 1}
TWO_ATTEMPTS = ("assumption.set", "webhook.attempts", {"value": "2"})
DUPLICATES = ("quirk.set", "webhook_duplicates", {"value": "always"})


@pytest.mark.parametrize(
    ("setting", "answers", "state", "part"),
    [
        (TWO_ATTEMPTS, (500,) * 9, "GIVEN_UP", "that was the last of 2 attempts"),
        (DUPLICATES, (), "DELIVERED", "2 times: deduplicate by event_id"),
        (("fault.add", "", LOST), (), "LOST", "it was never sent: fault f1"),
        (("fault.add", "", FAILS_ONCE), (), "DELIVERED", "acknowledged with 200"),
    ],
)
def test_a_webhook_that_came_twice_late_or_never_says_why(
    world: Desk,
    setting: tuple[str, str, dict[str, Any]],
    answers: tuple[int, ...],
    state: str,
    part: str,
) -> None:
    atlas, (action, subject, arguments) = partner(world, *answers), setting
    world.operate(action, subject, **arguments)
    atlas.post("/v1/kyc/start", json=PERSON)
    world.advance("1h")
    result = why(world, notified(world))
    assert result["state"] == state and part in result["summary"]
    struck = [link for link in result["chain"] if "fault" in link]
    assert bool(struck) is (action == "fault.add")
    assert all(link["fault"]["id"] == "f1" for link in struck)
    if state == "LOST":
        assert "/webhooks/atlas/redeliver" in result["remedy"]
        world.operate("fault.remove", "f1")
        world.operate("webhook.redeliver", "firms/atlas")
        again = why(world, result["subject"])
        assert again["state"] == "DELIVERED"
        assert again["chain"][-2]["what"].startswith("attempt 1 was sent")


def test_a_webhook_behind_an_open_breaker_says_until_when(world: Desk) -> None:
    atlas = partner(world, *(500,) * 40)
    for name, value in (("threshold", "1"), ("buffers", "true"), ("cooldown", "1h")):
        world.assume(f"webhook.breaker_{name}", value)
    atlas.post("/v1/kyc/start", json=PERSON)
    world.advance("45m")
    result = why(world, notified(world))
    assert result["state"] == "PARKED" and result["retry"]
    assert "circuit breaker is open until" in result["summary"]
