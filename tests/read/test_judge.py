"""Conformance (`sim judge`): each rule passes for a client that follows the documentation, and
fails for one that does not, with the place.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sim.api.pipeline.inputs import recorded_input
from sim.cli.main import main
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import NotFound
from sim.kernel.journal_reader import read_line
from sim.read.conformance import check, rulebook
from sim.read.explain import explain
from sim.run.client.client import RpcError
from tests.api import test_retail_rfqs as rfqs
from tests.journeys import journalled
from tests.kit import APPLICATION, Desk, begin, order, retail_order
from tests.kit.streams import BIDIRECTIONAL, drop_copy, talk

Client = Callable[[Desk], object]
IOC = "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"
MINE, OTHERS = ("a", "900110001"), ("other", "900110001")


def fault(world: Desk, operation: str, status: int, times: int) -> None:
    match, act = {"operation": operation}, {"status": status}
    world.operate("fault.add", match=match, act=act, times=times)


def repeat(*waits: str) -> Client:
    """A client that repeats a failing operation after these waits."""

    def act(world: Desk) -> None:
        fault(world, "ListLeagues", 503, 9)
        world.gateway.get("/v2/leagues")
        for wait in waits:
            world.advance(wait)
            world.gateway.get("/v2/leagues")

    return act


def search(*bodies: Any) -> Client:
    """A client of reports, on an exchange where unfiltered reports always time out."""

    def act(world: Desk) -> None:
        world.quirk("unfiltered_search_times_out", "always")
        for filtered in bodies:
            body = {"symbol": world.quiet().symbol} if filtered else {}
            world.trader().post("/v1/report/trades/search", json=body)
            world.advance("5s")

    return act


def too_often(*waits: str) -> Client:
    """A client that exhausts a rate limit and calls again after these waits."""

    def act(world: Desk) -> None:
        body = {"symbol": world.quiet().symbol}
        while world.trader().post("/v1/report/trades/search", json=body).status == 200:
            pass
        for wait in waits:
            world.advance(wait)
            world.trader().post("/v1/report/trades/search", json=body)

    return act


def books(times: int) -> Client:
    """A client that reads an order book a number of times within a minute."""

    def act(world: Desk) -> None:
        for _ in range(times):
            world.trader().get(f"/v1/orderbook/{world.quiet().symbol}")
            world.advance("1s")

    return act


def bodies(*sent: bytes) -> Client:
    def act(world: Desk) -> None:
        for body in sent:
            world.trader().post("/v1/trading/orders", body=body)

    return act


def orders(*ids: str) -> Client:
    """A client whose order is not answered, and that sends it again."""

    def act(world: Desk) -> None:
        fault(world, "InsertOrder", 502, 1)
        for number in ids:
            world.enter(world.quiet(), "buy", 40, 1, clordId=number)
            world.advance("2s")

    return act


def ages(*waits: str, forget: bool = False) -> Client:
    """A client that uses one token after these waits; with `forget` a new one after a refusal."""

    def act(world: Desk) -> None:
        headers = world.bearer(world.firm)
        for wait in waits:
            world.advance(wait)
            outcome = world.simulation.rest("exchange", "GET", "/v1/whoami", "", headers, b"")
            if forget and outcome.reply is not None and outcome.reply.status == 401:
                world.forget_tokens()
                headers = world.bearer(world.firm)

    return act


def same_assertion(world: Desk) -> None:
    world.token(world.firm)
    (line,) = world.simulation.journal_lines()
    world.simulation.handle(recorded_input(read_line(line)))


def fetches(wait: str) -> Client:
    def act(world: Desk) -> None:
        for _ in range(5):
            world.token(world.firm)
            world.advance(wait)

    return act


def shut(*deeds: str) -> Client:
    """A client of a halted market: "order" sends an order, a state name changes the state."""

    def act(world: Desk) -> None:
        symbol = world.quiet()
        for action in ("order", "HALTED", *deeds):
            if action == "order":
                world.enter(symbol, "buy", 40, 1)
            else:
                world.move(symbol, action)
            world.advance("10s")

    return act


def tick(*, read: bool) -> Client:
    def act(world: Desk) -> None:
        instrument = world.quiet(tick=5)
        if read:
            world.trader().get(f"/v1/refdata/instruments/{instrument.symbol}")
        world.enter(instrument, "buy", 40, 1, price=str(instrument.tick * 40 + (0 if read else 1)))

    return act


def prices(*sent: str) -> Client:
    """A retail client that enters, changes and enters in a batch at these prices."""

    def act(world: Desk) -> None:
        instrument, retail = world.quiet(tick=1), world.customer()
        resting = world.retail_place(instrument, "BUY_LONG", 30)
        for price in sent:
            body = retail_order(instrument, "BUY_LONG", 30) | {"price": {"value": price}}
            retail.post("/v1/orders/batched", json={"orders": [body]})
            retail.post(f"/v1/order/{resting}/modify", json=body)

    return act


def dropped(**resume: Any) -> Client:
    def act(world: Desk) -> None:
        stream = drop_copy(world)
        world.advance("1m")
        token = stream.frames[-1].resume_token
        world.operate("stream.close", str(stream.number))
        again = {"resume_token": token} if "token" in resume else resume
        drop_copy(world, **again)

    return act


def sessions(count: int) -> Client:
    def act(world: Desk) -> None:
        for _ in range(count):
            drop_copy(world)
            world.advance("5s")

    return act


def talks(*waits: str) -> Client:
    """A client of the bidirectional stream that sends a keepalive after each of these waits."""

    def act(world: Desk) -> None:
        stream = world.rpc_trader().stream(BIDIRECTIONAL)
        talk(stream, subscribe=wire.SubscribeCommand(symbols=[world.quiet().symbol]))
        for wait in waits:
            world.advance(wait)
            if stream.end is None:
                talk(stream, keepalive=wire.KeepAliveCommand())

    return act


def reconnects(wait: str) -> Client:
    def act(world: Desk) -> None:
        drop_copy(world)
        world.operate("maintenance.add", length="1h")
        for _ in range(4):
            world.advance(wait)
            with suppress(RpcError):
                drop_copy(world)

    return act


def person(name: str, ssn: str) -> dict[str, object]:
    return {**APPLICATION, "external_id": name, "ssn": ssn}


def starts(*people: tuple[str, str], poll: bool = False) -> Client:
    """Verifications that partners start; one whose name begins with "other" is the second partner's
    customer.
    """

    def act(world: Desk) -> None:
        firms = [firm for firm in world.firms if len(firm.scopes) >= 14]
        for name, ssn in people:
            partner = world.exchange(firms[name.startswith("other")])
            partner.post("/v1/kyc/start", json=person(name, ssn))
            world.advance("30s")
            if poll:
                partner.get("/v1/kyc/status", params={"external_id": name})

    return act


def receives(*statuses: int) -> Client:
    """A receiver with these answers to deliveries, and 200 to the test at its registration. Every
    event is delivered twice.
    """

    def act(world: Desk) -> None:
        answers = [200, *statuses]
        world.receive = lambda post: answers.pop(0) if answers else 200
        world.quirk("webhook_duplicates", "always")
        world.partner.post("/v1/kyc/webhook", json={"webhook_url": "http://127.0.0.1:1/"})
        starts(MINE)(world)
        world.advance("1h")

    return act


def quotes(buy: str, sell: str, confirmed_after: str = "1s") -> Client:
    """A client that requests quotes with one account, and quotes and confirms with another."""

    def client(world: Desk) -> None:
        rfq = rfqs.ask(world, rfqs.combo(world)["id"]).json()["rfqId"]
        created = rfqs.quote(world, rfq, buyPrice=buy, sellPrice=sell)
        if created.status == 200:
            rfqs.accept(world, created.json()["quoteId"])
            world.advance(confirmed_after)
            rfqs.confirm(world, created.json()["quoteId"])

    return client


CLIENTS: dict[str, tuple[Client, Client]] = {
    "quotes-by-the-requester": (quotes("0.30", "0.20"), quotes("0.20", "0.30")),
    "confirm-in-time": (quotes("0.30", "0.20"), quotes("0.30", "0.20", confirmed_after="3s")),
    "retry-after": (too_often("6s"), too_often("1s")),
    "backoff": (repeat("1s", "2s", "4s", "8s"), repeat("1s", "1s")),
    "at-most-five-attempts": (repeat("1s", "2s", "4s", "8s"), repeat("1s", "2s", "4s", "8s", "8s")),
    "no-hopeless-retry": (bodies(b"{no", b"{}"), bodies(b"{no", b"{no")),
    "published-limits": (books(12), books(16)),
    "narrow-reports": (search(False, True), search(False, False)),
    "idempotent-retry": (orders("a", "a"), orders("", "")),
    "token-refreshed-in-time": (ages("10s", "130s"), ages("160s")),
    "no-dead-token": (ages("200s", "1s", forget=True), ages("200s", "1s")),
    "fresh-jti": (fetches("150s"), same_assertion),
    "token-kept": (fetches("150s"), fetches("1s")),
    "market-state": (shut("order", "OPEN", "order"), shut("order", "order")),
    "not-after-expiry": (shut("CLOSED", "EXPIRED"), shut("OPEN", "CLOSED", "EXPIRED", "order")),
    "scales-are-read": (tick(read=True), tick(read=False)),
    "price-precision": (prices("0.30", "0.31"), prices("0.30", "0.309")),
    "streams-are-resumed": (dropped(token=True), dropped()),
    "no-revocation-storm": (sessions(2), sessions(5)),
    "keepalive": (talks("40m", "40m", "40m"), talks("2h")),
    "reconnect-backoff": (reconnects("2s"), reconnects("100ms")),
    "ssn-conflict-is-a-stop": (starts(MINE, OTHERS), starts(MINE, OTHERS, OTHERS)),
    "poll-kyc-status": (starts(MINE, poll=True), starts(MINE, MINE)),
    "webhooks-acknowledged": (receives(200, 200), receives(500, 200)),
    "duplicates-acknowledged": (receives(200, 200), receives(200, 500)),
    "within-limits": (too_often("6s"), too_often("100ms", "100ms", "100ms")),
    "snake-case-queries": (
        lambda w: w.customer().get("/v1/incentives", params={"page_size": 1}),
        lambda w: w.customer().get("/v1/incentives", params={"pageSize": 1}),
    ),
    "known-fields": (orders("a"), lambda w: w.enter(w.quiet(), "buy", 40, colour="blue")),
    "filtered-reports": (search(True), search(False)),
}


@pytest.mark.parametrize("name", list(rulebook()))
def test_a_rule_is_kept_by_a_good_client_and_broken_by_a_bad_one(name: str) -> None:
    good, bad = CLIENTS[name]
    verdicts = []
    for client in (good, bad):
        world = begin()
        client(world)
        digest = world.simulation.digest
        (verdict,) = check(world.simulation, rules=(name,)).verdicts
        assert world.simulation.digest == digest
        verdicts.append(verdict)
        for result in verdict.applied:
            assert 1 <= result.seq <= world.simulation.seq
            assert result.because_of <= result.seq
    kept, broken = verdicts
    assert kept.word == "kept", kept.broken
    assert broken.word == ("advice" if rulebook()[name].advice else "broken"), broken.applied
    assert broken.rule.section[0].isdigit()


def test_a_client_that_does_everything_right_breaks_no_rule(world: Desk) -> None:
    instrument = world.quiet()
    world.trader().get(f"/v1/refdata/instruments/{instrument.symbol}")
    for number in range(6):
        world.enter(instrument, "buy", 40, 1, clordId=f"c{number}")
        world.trader().post("/v1/report/trades/search", json={"symbol": instrument.symbol})
        world.advance("40s")
    report = check(world.simulation)
    assert report.ok and report.broken() == []
    kept = {verdict.rule.name for verdict in report.verdicts if verdict.word == "kept"}
    assert kept >= {"token-refreshed-in-time", "fresh-jti", "scales-are-read"}


def test_a_key_that_changes_with_the_retry_is_no_key(world: Desk) -> None:
    orders("a", "b")(world)
    (result,) = check(world.simulation, rules=("idempotent-retry",)).verdicts[0].broken
    assert "another clord_id" in result.broken


def _enter(**fields: Any) -> Client:
    return lambda world: world.enter(world.instrument("resent"), "buy", 40, 1, **fields)


def _ioc(world: Desk) -> None:
    world.enter(world.instrument("resent"), "buy", 40, 1, clordId="a", timeInForce=IOC)


def _listed(*ids: str) -> Client:
    def act(world: Desk) -> None:
        orders = [order(world.instrument("resent"), "BUY", 40, 1, clordId=number) for number in ids]
        world.trader().post("/v1/trading/orders/list", json={"requests": orders})

    return act


def _retail(world: Desk) -> None:
    world.retail_enter(world.instrument("resent"), "BUY_LONG", 40)


def _batched(world: Desk) -> None:
    orders = [retail_order(world.instrument("resent"), "BUY_LONG", 40, 1)]
    world.customer().post("/v1/orders/batched", json={"orders": orders})


def _wait(span: str) -> Client:
    return lambda world: world.advance(span)


def _look(world: Desk) -> None:
    world.trader().get("/v1/trading/orders/open")
    world.customer().get("/v1/orders/open")


OLD, NEW = _enter(clordId="a"), _enter(clordId="b")
# How the first answer is lost, what the client does, and the verdict.
RESENDS: list[tuple[dict[str, object], list[Client], str]] = [
    ({"status": 504}, [OLD, OLD], "kept"),
    ({"status": 504, "handled": True}, [OLD, OLD], "kept"),  # the second one is refused
    ({"status": 504, "handled": True}, [_ioc, _ioc], "broken"),  # two orders
    *(
        ({how: True, "handled": True} if how == "reset" else {how: True}, [OLD, NEW], "broken")
        for how in ("reset", "refuse", "half_close", "hang")
    ),
    ({"status": 503}, [OLD, NEW], "broken"),
    ({"status": 503}, [OLD, _look, NEW], "kept"),
    ({"status": 504, "handled": True}, [OLD, OLD, NEW], "kept"),  # answered in between
    ({"status": 504}, [OLD, _enter(clordId="b", orderQty="7")], "skipped"),  # another order
    ({"status": 504}, [OLD, _wait("3m"), NEW], "skipped"),
    ({"status": 429}, [OLD, NEW], "skipped"),  # an answer
    ({"status": 504, "handled": True}, [_listed("a", "b"), _listed("a", "b")], "kept"),
    ({"status": 504, "handled": True}, [_listed("a", "b"), _listed("c", "d")], "broken"),
    ({"status": 504, "handled": True}, [_retail, _retail], "broken"),
    ({"status": 504, "handled": True}, [_retail, _look, _retail], "kept"),
    ({"status": 504}, [_batched, _batched], "broken"),
]


@pytest.mark.parametrize(("act", "client", "word"), RESENDS)
def test_a_resend_is_judged_by_what_was_unresolved(
    world: Desk, act: dict[str, object], client: list[Client], word: str
) -> None:
    world.listed("resent")
    if _ioc in client:
        world.place(world.instrument("resent"), "sell", 40, 5, user=1)
    for operation in ("InsertOrder*", "CreateOrder*"):
        world.operate("fault.add", match={"operation": operation}, act=act, times=1)
    for step in client:
        step(world)
        world.advance("2s")
    (verdict,) = check(world.simulation, rules=("idempotent-retry",)).verdicts
    assert verdict.word == word, verdict.applied


def test_what_another_caller_does_is_not_held_against_this_one(world: Desk) -> None:
    too_often("1s")(world)
    mine = world.firm.users[0].name
    for caller, ok in (
        (mine, False),
        (world.firm.name, False),
        (world.firm.users[1].name, True),
        ("firms/at", True),
    ):
        assert check(world.simulation, caller=caller, rules=("retry-after",)).ok is ok


def test_a_finding_says_who_when_where_and_after_what(world: Desk) -> None:
    too_often("1s")(world)
    (result,) = check(world.simulation, rules=("retry-after",)).verdicts[0].broken
    displayed = result.document()
    assert displayed["caller"] == world.firm.users[0].name
    assert (
        displayed["seq"] == world.simulation.seq
        and displayed["because_of"] == world.simulation.seq - 2
    )
    assert displayed["request_id"] == f"{world.simulation.seq:016x}"
    assert "after 1s, Retry-After was 5s" in displayed["broken"]
    assert explain(world.simulation, displayed["request_id"]) is not None


def test_an_unknown_rule_is_refused(world: Desk) -> None:
    with pytest.raises(NotFound, match="unknown rule 'backof'"):
        check(world.simulation, rules=("backof",))


def test_the_command_judges_a_journal_for_people_and_for_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, junit = tmp_path / "run.ndjson", tmp_path / "judge.xml"
    with journalled(path) as world:
        too_often("1s")(world)

    def sim(*arguments: str) -> tuple[int, str, str]:
        return main(["conformance", *arguments]), *capsys.readouterr()

    code, output, _ = sim(str(path), "--junit", str(junit))
    assert code == 1
    assert "1 rule broken" in output.splitlines()[0]
    assert any(line.startswith("broken retry-after, §7.1") for line in output.splitlines())
    code, output, _ = sim(str(path), "--json")
    result = json.loads(output)
    assert (code, result["ok"]) == (1, False)
    broken = [rule["rule"] for rule in result["rules"] if rule["verdict"] == "broken"]
    assert broken == ["retry-after"]
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(rulebook())), "1")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    skipped = [case for case in suite if case.find("skipped") is not None]
    assert failed == ["retry-after"]
    assert suite.get("skipped") == str(len(skipped)) != "0"
    assert sim(str(path), "--rule", "backoff")[0] == 0
    assert sim(str(path), "--until", "2026-09-08T17:00:00Z")[0] == 0
    code, _, problem = sim(str(path), "--rule", "backof")
    assert code == 2 and "unknown rule 'backof'" in problem
    assert sim()[0] == 2
    code, output, _ = sim("--list")
    assert code == 0 and {line.split(" ")[0] for line in output.splitlines()} >= {*rulebook()}
