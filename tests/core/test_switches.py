"""Switches of assumptions that no other test uses: each has its documented effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue import assumptions, quirks
from sim.kernel.instants import NS_PER_S
from sim.run.client.client import RpcError
from tests.api import test_exchange_funding as funding
from tests.api import test_exchange_kyc_prefill as prefill
from tests.api import test_exchange_participants as participants
from tests.api import test_retail_rfqs as rfqs
from tests.kit import PERSON, Desk, begin, order, retail_order, streams

HERE = Path(__file__).parents[1]


# ---- verifications and webhooks


def document_after_five_seconds(world: Desk) -> object:
    world.start_kyc(date_of_birth="1985-09-02", docv_eligible=True)
    world.operate("kyc.document", PERSON["external_id"], result="uploaded")
    world.advance("5s")
    return world.kyc_status()["status"]["decision"]


def after_two_wrong_codes(world: Desk) -> object:
    prefill.start(world)
    prefill.submit(world, "654321")
    return prefill.submit(world, "654321").status


def notified(world: Desk, *answers: int) -> None:
    """Let the receiver give these answers to kyc.approved, then 200."""
    waiting = [200, *answers]
    world.receive = lambda post: waiting.pop(0) if waiting else 200
    world.assume("webhook.breaker_threshold", "1000")
    assert world.register_webhook("http://127.0.0.1:9/hook").status == 200
    assert world.start_kyc().status == 200


def gap(world: Desk, number: int) -> int:
    """Return the whole seconds between a failed attempt and the next."""
    notified(world, *(500,) * number)
    world.advance("1h")
    at = [record.at for record in deliveries(world)]
    return (at[number] - at[number - 1]) // NS_PER_S


def deliveries(world: Desk) -> list[Any]:
    """Attempts to deliver kyc.approved."""
    return [row for row in world.core.webhooks.deliveries() if row.type == "kyc.approved"]


def unanswered(world: Desk) -> object:
    notified(world)
    last = world.now + 3600 * NS_PER_S
    while (due := world.simulation.next_due()) is not None and due <= last:
        world.simulation.advance_to(due)  # the receiver does not answer
    return deliveries(world)[0].error


def breaker_pause(world: Desk) -> object:
    world.assume("webhook.breaker_cooldown", "2h")
    notified(world, 500, 500)
    world.assume("webhook.breaker_threshold", "1")
    while (
        not (result := world.core.webhooks.breakers().get("firms/atlas")) or result.state != "open"
    ):
        world.advance_to(world.simulation.next_due() or 0)
    return (result.until - world.now) // NS_PER_S


# ---- orders


def odd_quantity(world: Desk) -> object:
    return world.enter(world.listed(minimum_trade_qty=5), "buy", 40, orderQty="7").status


def dollars_at_a_limit(world: Desk) -> object:
    return world.enter(world.listed(), "buy", 40, orderQty=None, cashOrderQty="1000").status


def market_without_a_reference(world: Desk) -> object:
    market = world.listed()
    world.place_as("maker", market, "sell", "0.4", "5")
    terms = {"type": "ORDER_TYPE_MARKET_TO_LIMIT", "price": None, "timeInForce": None}
    return world.enter(market, "buy", 40, **terms).status


# ---- streams


def open_after(stream: streams.Stream, span: str) -> object:
    stream._connection.advance(span)
    return stream.end is None


def quiet_stream(world: Desk) -> object:
    return open_after(streams.drop_copy(world), "12s")


def silent_client(world: Desk) -> object:
    talk = world.rpc_partner.stream(
        streams.BIDIRECTIONAL, wire.BiDirectionalStreamMarketDataRequest()
    )
    streams.talk(talk, subscribe=wire.SubscribeCommand(symbols=[world.quiet().symbol]))
    return open_after(talk, "3m")


def merged_frames(world: Desk) -> object:
    socket = streams.socket(world, streams.MARKETS)
    symbol = world.quiet()
    streams.subscribe(socket, "r", "MARKET_DATA", [symbol.symbol], responsesDebounced=True)
    world.place(symbol, "buy", 30)
    world.advance("250ms")
    return len(socket.take())


def second_socket(world: Desk) -> object:
    world.web_socket(world.keys[0], streams.MARKETS)
    headers = world.retail_headers(world.keys[0], "GET", streams.PRIVATE)
    reply = world.simulation.open(streams.PRIVATE, headers, b"", web_socket=True).reply
    return 101 if reply is None else reply.status


def old_token(world: Desk) -> object:
    stream = streams.drop_copy(world)
    world.trade(world.quiet())
    token = stream.take()[-1].resume_token
    world.advance("2m")
    try:
        return streams.drop_copy(world, resume_token=token).end is None
    except RpcError as refused:
        return refused.code


# ---- the rest


def statistics_without_a_participant(world: Desk) -> object:
    body = {
        "symbol": world.quiet().symbol,
        "startTime": "2026-09-01T00:00:00Z",
        "endTime": "2026-09-08T00:00:00Z",
        "bars": 1,
    }
    return world.partner.post("/v1/report/trades/stats", json=body).status


def life_of_a_token(world: Desk) -> object:
    token = participants.token_of(participants.grant(world))
    world.advance("4m")
    body = order(world.quiet(), "buy", 40)
    return participants.bearing(world, token).post("/v1/trading/orders", json=body).status


def life_that_an_issued_token_says(world: Desk) -> object:
    return world.token(world.firm).json()["expires_in"]


def order_that_costs_too_much_rests(world: Desk) -> object:
    world.customer().post("/v1/orders", json=retail_order(world.quiet(), "BUY_LONG", 40, 90_000))
    return bool(world.customer().read("/v1/orders/open", "orders"))


def token_for_two_hours(world: Desk) -> object:
    return participants.grant(world, ttl_seconds=7200).status


def kind_of_a_participants_account(world: Desk) -> object:
    return world.partner.get("/v1/funding/accounts").json()["accounts"][1]["accountType"]


def changes_after_a_second(world: Desk) -> object:
    stream = funding.follow(world)
    funding.fund(world, "10", source=funding.bank(world))
    world.advance("1s")
    return len(funding.changes(stream.take()))


def confirmed_late(world: Desk) -> object:
    _, _, quote = rfqs.under_way(world)
    rfqs.accept(world, quote)
    world.advance("40s")
    return rfqs.confirm(world, quote).status


def combo_of_three_legs(world: Desk) -> object:
    return world.customer(rfqs.ASKS).post("/v1/combos", json={"legs": rfqs.legs(world)}).status


def traded_after_a_second(world: Desk) -> object:
    _, _, quote = rfqs.under_way(world)
    rfqs.accept(world, quote)
    rfqs.confirm(world, quote)
    world.advance("1s")
    return rfqs.statuses(world)


TURNED: tuple[tuple[str, str, Callable[[Desk], object], object, object], ...] = (
    ("kyc.document_delay", "1m", document_after_five_seconds, "ACCEPT", "REVIEW"),
    ("kyc.prefill_attempts", "1", after_two_wrong_codes, 200, 409),
    ("webhook.timeout", "1m", unanswered, "no answer within 5s", "no answer within 1m"),
    ("webhook.breaker_longest", "1m", breaker_pause, 3600, 60),
    ("lot.step_is_min_qty", "true", odd_quantity, 200, 422),
    ("cash_qty.allow_limit", "false", dollars_at_a_limit, 200, 400),
    ("risk.require_reference_price", "true", market_without_a_reference, 200, 422),
    ("edge.idle_timeout", "10s", quiet_stream, True, False),
    ("edge.bidi_idle_timeout", "2m", silent_client, True, False),
    ("retail.debounce", "5s", merged_frames, 1, 0),
    ("retail.sockets_per_key", "1", second_socket, 101, 429),
    ("stream.resume_token_ttl", "1m", old_token, True, 3),
    ("report.stats_requires_participant", "true", statistics_without_a_participant, 200, 403),
    ("participant_token.life", "10m", life_of_a_token, 401, 200),
    ("token.life", "1d", life_that_an_issued_token_says, 180, 86_400),
    ("retail.shortfall", "trim", order_that_costs_too_much_rests, False, True),
    ("participant_token.life_max", "3h", token_for_two_hours, 400, 200),
    (
        "funding.participant_account_type",
        "CLEARING",
        kind_of_a_participants_account,
        "ACCOUNT_TYPE_HOLDING",
        "ACCOUNT_TYPE_CLEARING",
    ),
    ("funding.stream_poll", "1s", changes_after_a_second, 0, 1),
    ("combos.legs_most", "2", combo_of_three_legs, 200, 400),
    ("rfq.confirm_within", "1m", confirmed_late, 409, 200),
    ("rfq.execute_after", "1m", traded_after_a_second, ["EXECUTED"], ["CONFIRMED"]),
)


@pytest.mark.parametrize(
    ("name", "value", "observe", "usual", "turned"), TURNED, ids=[row[0] for row in TURNED]
)
def test_a_switch_does_what_it_says(
    name: str, value: str, observe: Callable[[Desk], object], usual: object, turned: object
) -> None:
    assert observe(begin()) == usual
    world = begin()
    world.assume(name, value)
    assert observe(world) == turned


@pytest.mark.parametrize(
    ("name", "value", "number"),
    [("webhook.retry_first", "1m", 1), ("webhook.retry_longest", "2s", 4)],
)
def test_a_switch_of_the_wait_between_attempts(name: str, value: str, number: int) -> None:
    """The documented wait doubles from one second, plus or minus 20 %."""
    assert int(0.8 * 2 ** (number - 1)) <= gap(begin(), number) <= 1.2 * 2 ** (number - 1)
    world = begin()
    world.assume(name, value)
    low, high = (48, 72) if value == "1m" else (1, 2)
    assert low <= gap(world, number) <= high


def test_every_assumption_and_quirk_is_turned_by_some_test() -> None:
    text = "\n".join(
        path.read_text()
        for path in (*HERE.rglob("*.py"), *(HERE.parent / "scenarios").glob("*.yaml"))
        if path != Path(__file__)
    )
    text += " ".join(("", *(row[0] for row in TURNED), "webhook.retry_first webhook.retry_longest"))
    constants = {
        entry.name: name
        for module in (assumptions, quirks)
        for name, entry in vars(module).items()
        if name.isupper() and hasattr(entry, "name")
    }
    existing = [*assumptions.catalogue(), *quirks.catalogue()]
    words = set(re.findall(r"[\w.]+", text)) | set(re.findall(r"[\w.]+", text.replace("__", ".")))
    assert not {name for name in existing if not {name, constants.get(name, "?")} & words}
