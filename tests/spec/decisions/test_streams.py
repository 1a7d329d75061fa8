"""Decisions about streams: each rule that can be met, in one situation, and what the journal and
`explain` name as its reason.
"""

from __future__ import annotations

from itertools import islice

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.read.explain import explain
from sim.run.client.client import RpcError
from tests.kit.streams import (
    BIDIRECTIONAL,
    MARKETS,
    PRIVATE,
    books,
    drop_copy,
    orders,
    socket,
    subscribe,
    talk,
)
from tests.spec.decisions.decided import Decided, decides, ending, event, few_games, refusal, report

# ---- streams


@decides
def test_s1_a_message_of_a_stream_may_come_twice() -> Decided:
    desk = few_games()
    desk.quirk("stream_duplicates", "always")
    drop_copy(desk)
    desk.place(desk.listed(), "buy", 40)
    return event(desk, "RuleApplied", subject="")


@decides
def test_s2_a_token_continues_after_its_message() -> Decided:
    desk = few_games()
    first = drop_copy(desk)
    desk.place(desk.listed(), "buy", 40)
    token = first.frames[-1].resume_token
    second = drop_copy(desk, resume_token=token)
    return event(desk, "RuleApplied", subject=f"stream/{second.number}")


@decides
def test_s3_a_malformed_resume_token_is_refused() -> Decided:
    desk = few_games()
    with pytest.raises(RpcError) as refused:
        drop_copy(desk, resume_token=b"nonsense")
    assert refused.value.code == 3
    return refusal(desk)


@decides
def test_s6_a_second_subscription_of_an_identity_ends_the_first() -> Decided:
    desk = few_games()
    first = drop_copy(desk)
    drop_copy(desk)
    return ending(desk, first)


@decides
def test_s7_a_firm_has_twenty_streams() -> Decided:
    desk = few_games()
    symbol = desk.listed().symbol
    for _ in range(20):
        books(desk, symbol)
    with pytest.raises(RpcError) as refused:
        books(desk, symbol)
    assert refused.value.code == 8
    return refusal(desk)


@decides
def test_s8_a_subscription_takes_a_thousand_symbols() -> Decided:
    desk = few_games()
    with pytest.raises(RpcError):
        books(desk, *(f"m{number}" for number in range(1001)))
    return refusal(desk)


@decides
def test_s10_a_frame_without_a_command_ends_the_bidirectional_stream() -> Decided:
    desk = few_games()
    stream = desk.rpc_trader().stream(BIDIRECTIONAL)
    talk(stream)
    return ending(desk, stream)


@decides
def test_s10_the_bidirectional_stream_names_a_mistake() -> Decided:
    desk = few_games()
    stream = desk.rpc_trader().stream(BIDIRECTIONAL)
    talk(stream, subscribe=wire.SubscribeCommand(symbols=["nothing"]))
    assert stream.end is None
    applied = event(desk, "RuleApplied", subject=f"stream/{stream.number}")
    assert applied.facts == {"error": "INVALID_SYMBOL"}
    return applied


@decides
def test_s11_a_stream_that_asked_for_a_snapshot_only_ends_with_ok() -> Decided:
    desk = few_games()
    return ending(desk, orders(desk, snapshot_only=True))


@decides
def test_s12_a_reader_that_is_too_slow_is_disconnected() -> Decided:
    desk = few_games()
    stream = drop_copy(desk)
    desk.simulation.hangup(stream.number, slow=True)
    return event(desk, "RuleApplied", subject=f"stream/{stream.number}")


@decides
def test_s13_a_silent_stream_is_ended_by_the_load_balancer() -> Decided:
    desk = few_games()
    desk.assume("stream.heartbeat", "0s")
    stream = drop_copy(desk)
    desk.advance("11m")
    return ending(desk, stream)


@decides
def test_s13_a_bidirectional_stream_ends_an_hour_after_the_last_frame() -> Decided:
    desk = few_games()
    stream = desk.rpc_trader().stream(BIDIRECTIONAL)
    talk(stream, subscribe=wire.SubscribeCommand(symbols=[desk.listed().symbol]))
    desk.advance("61m")
    return ending(desk, stream)


@decides
def test_s15_a_firm_sends_a_hundred_frames_a_second_over_a_minute() -> Decided:
    desk = few_games()
    stream = desk.rpc_trader().stream(BIDIRECTIONAL)
    talk(stream, subscribe=wire.SubscribeCommand(symbols=[desk.listed().symbol]))
    for _ in range(6000):
        talk(stream, keepalive=wire.KeepAliveCommand())
    return ending(desk, stream)


@decides
def test_s16_a_socket_has_ten_subscriptions() -> Decided:
    desk = few_games()
    stream = socket(desk, PRIVATE)
    for number, market in enumerate(islice(desk.core.instruments, 10)):
        assert subscribe(stream, f"r{number}", "ORDER", [market.symbol]) == []
    (answer,) = subscribe(stream, "r10", "POSITION")
    assert "error" in answer
    return event(desk, "RuleApplied", subject=f"stream/{stream.number}")


@decides
def test_s16_a_subscription_takes_a_hundred_slugs() -> Decided:
    desk = few_games()
    stream = socket(desk, MARKETS)
    (answer,) = subscribe(stream, "r", "MARKET_DATA", [f"m{number}" for number in range(101)])
    assert "error" in answer
    return event(desk, "RuleApplied", subject=f"stream/{stream.number}")


def test_s19_a_client_ends_its_stream() -> None:
    """S19: what the client did is the input itself, so no event repeats it."""
    desk = few_games()
    stream = drop_copy(desk)
    stream.close()
    explanation = explain(desk.simulation, f"stream/{stream.number}")
    assert explanation is not None and explanation["chain"][-1]["rule"] == "S19"


@decides
def test_m39_an_order_ends_with_its_stream_where_that_is_switched_on() -> Decided:
    desk = few_games()
    desk.assume("orders.session_id", "cancel_on_end")
    stream = orders(desk)
    session = stream.frames[0].session_id
    placed = desk.place(desk.listed(), "buy", 40, sessionId=session)
    stream.close()
    desk.advance("1s")
    return report(desk, placed)


@decides
def test_t1_an_operator_ends_a_stream_at_once() -> Decided:
    desk = few_games()
    stream = drop_copy(desk)
    desk.operate("stream.close", str(stream.number))
    return ending(desk, stream)


@decides
def test_t5_a_rewind_ends_every_stream() -> Decided:
    desk = few_games()
    stream = drop_copy(desk)
    desk.place(desk.listed(), "buy", 40)
    _, effects = desk.simulation.rewind(seq=desk.simulation.seq - 1)
    (end,) = (effect for effect in effects if getattr(effect, "stream", 0) == stream.number)
    rule: str = getattr(end, "rule", "")
    return Decided(desk, desk.simulation.seq, rule, {})
