"""Decisions about streams: each rule that can be met, in one situation, and what the journal and
`explain` name as its reason.
"""

from __future__ import annotations

from itertools import islice

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.read.explain import explain
from sim.run.client.client import RpcError
from tests.journeys import rpc_trader
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
from tests.rules.decided import (
    Decided,
    assume,
    decides,
    ending,
    enter,
    entered,
    event,
    listed,
    operate,
    refusal,
    report,
    world_of,
)

# ---- streams


@decides
def test_s1_a_message_of_a_stream_may_come_twice() -> Decided:
    world = world_of()
    operate(world, "quirk.set", "stream_duplicates", value="always")
    drop_copy(world)
    entered(world, listed(world), "buy", 40)
    return event(world, "RuleApplied", subject="")


@decides
def test_s2_a_token_continues_after_its_message() -> Decided:
    world = world_of()
    first = drop_copy(world)
    entered(world, listed(world), "buy", 40)
    token = first.frames[-1].resume_token
    second = drop_copy(world, resume_token=token)
    return event(world, "RuleApplied", subject=f"stream/{second.number}")


@decides
def test_s3_a_malformed_resume_token_is_refused() -> Decided:
    world = world_of()
    with pytest.raises(RpcError) as refused:
        drop_copy(world, resume_token=b"nonsense")
    assert refused.value.code == 3
    return refusal(world)


@decides
def test_s6_a_second_subscription_of_an_identity_ends_the_first() -> Decided:
    world = world_of()
    first = drop_copy(world)
    drop_copy(world)
    return ending(world, first)


@decides
def test_s7_a_firm_has_twenty_streams() -> Decided:
    world = world_of()
    symbol = listed(world).symbol
    for _ in range(20):
        books(world, symbol)
    with pytest.raises(RpcError) as refused:
        books(world, symbol)
    assert refused.value.code == 8
    return refusal(world)


@decides
def test_s8_a_subscription_takes_a_thousand_symbols() -> Decided:
    world = world_of()
    with pytest.raises(RpcError):
        books(world, *(f"m{number}" for number in range(1001)))
    return refusal(world)


@decides
def test_s10_a_frame_without_a_command_ends_the_bidirectional_stream() -> Decided:
    world = world_of()
    stream = rpc_trader(world).stream(BIDIRECTIONAL)
    talk(stream)
    return ending(world, stream)


@decides
def test_s10_the_bidirectional_stream_names_a_mistake() -> Decided:
    world = world_of()
    stream = rpc_trader(world).stream(BIDIRECTIONAL)
    talk(stream, subscribe=wire.SubscribeCommand(symbols=["nothing"]))
    assert stream.end is None
    applied = event(world, "RuleApplied", subject=f"stream/{stream.number}")
    assert applied.facts == {"error": "INVALID_SYMBOL"}
    return applied


@decides
def test_s11_a_stream_that_asked_for_a_snapshot_only_ends_with_ok() -> Decided:
    world = world_of()
    return ending(world, orders(world, snapshot_only=True))


@decides
def test_s13_a_silent_stream_is_ended_by_the_load_balancer() -> Decided:
    world = world_of()
    assume(world, "stream.heartbeat", "0s")
    stream = drop_copy(world)
    world.advance("11m")
    return ending(world, stream)


@decides
def test_s13_a_bidirectional_stream_ends_an_hour_after_the_last_frame() -> Decided:
    world = world_of()
    stream = rpc_trader(world).stream(BIDIRECTIONAL)
    talk(stream, subscribe=wire.SubscribeCommand(symbols=[listed(world).symbol]))
    world.advance("61m")
    return ending(world, stream)


@decides
def test_s15_a_firm_sends_a_hundred_frames_a_second_over_a_minute() -> Decided:
    world = world_of()
    stream = rpc_trader(world).stream(BIDIRECTIONAL)
    talk(stream, subscribe=wire.SubscribeCommand(symbols=[listed(world).symbol]))
    for _ in range(6000):
        talk(stream, keepalive=wire.KeepAliveCommand())
    return ending(world, stream)


@decides
def test_s16_a_socket_has_ten_subscriptions() -> Decided:
    world = world_of()
    stream = socket(world, PRIVATE)
    for number, market in enumerate(islice(world.simulation.exchange.instruments, 10)):
        assert subscribe(stream, f"r{number}", "ORDER", [market.symbol]) == []
    (answer,) = subscribe(stream, "r10", "POSITION")
    assert "error" in answer
    return event(world, "RuleApplied", subject=f"stream/{stream.number}")


@decides
def test_s16_a_subscription_takes_a_hundred_slugs() -> Decided:
    world = world_of()
    stream = socket(world, MARKETS)
    (answer,) = subscribe(stream, "r", "MARKET_DATA", [f"m{number}" for number in range(101)])
    assert "error" in answer
    return event(world, "RuleApplied", subject=f"stream/{stream.number}")


def test_s19_a_client_ends_its_stream() -> None:
    """S19: what the client did is the input itself, so no event repeats it."""
    world = world_of()
    stream = drop_copy(world)
    stream.close()
    explanation = explain(world.simulation, f"stream/{stream.number}")
    assert explanation is not None and explanation["chain"][-1]["rule"] == "S19"


@decides
def test_m39_an_order_ends_with_its_stream_where_that_is_switched_on() -> Decided:
    world = world_of()
    assume(world, "orders.session_id", "cancel_on_end")
    stream = orders(world)
    session = stream.frames[0].session_id
    placed = entered(world, listed(world), "buy", 40, sessionId=session)
    stream.close()
    world.advance("1s")
    return report(world, placed)


@decides
def test_m39_a_session_that_is_no_stream_of_the_account_is_refused() -> Decided:
    world = world_of()
    assert enter(world, listed(world), "buy", 40, sessionId="nonsense").status == 400
    return refusal(world)


@decides
def test_t1_an_operator_ends_a_stream_at_once() -> Decided:
    world = world_of()
    stream = drop_copy(world)
    operate(world, "stream.close", str(stream.number))
    return ending(world, stream)


@decides
def test_t5_a_rewind_ends_every_stream() -> Decided:
    world = world_of()
    stream = drop_copy(world)
    entered(world, listed(world), "buy", 40)
    _, effects = world.simulation.rewind(seq=world.simulation.seq - 1)
    (end,) = (effect for effect in effects if getattr(effect, "stream", 0) == stream.number)
    rule: str = getattr(end, "rule", "")
    return Decided(world, world.simulation.seq, rule, {})
