"""gRPC as clients see it: bytes in and out, status and trailers, streams and every way they end."""

from __future__ import annotations

import asyncio
import itertools
import threading

import grpc
import grpc.aio
import pytest
from patience import until

from sim.api.pipeline.inputs import Close, Reply, Send
from sim.kernel.instants import seconds


@pytest.fixture
async def channel(served):
    """A channel to it."""
    async with grpc.aio.insecure_channel(served.at.grpc) as channel:
        yield channel


def trailers(call):
    return dict(call.trailing_metadata() or ())


async def test_a_unary_call_carries_bytes_metadata_and_trailers(served, channel):
    call = channel.unary_unary("/t.T/Unary")(b"\x08\x01", metadata=(("authorization", "Bearer t"),))
    assert await call == b"re:\x08\x01"
    assert dict(await call.trailing_metadata())["x-request-id"] == "req-1"
    *value, metadata, message, peer = served.sim.inputs[0]
    assert (*value, message) == ("rpc", "/t.T/Unary", b"\x08\x01")
    assert metadata["authorization"] == "Bearer t"
    assert peer in ("127.0.0.1", "::1")


async def test_of_metadata_that_come_twice_the_first_count_as_over_rest(served, channel):
    twice = (("x-participant-id", "a"), ("authorization", "b"), ("x-participant-id", "c"))
    await channel.unary_unary("/t.T/Unary")(b"", metadata=twice)
    assert served.sim.inputs[0][2] == {"x-participant-id": "a", "authorization": "b"}


async def test_a_refusal_is_a_status_with_trailers(served, channel):
    served.sim.replies["/t.T/Unary"] = lambda: Reply(
        code=8,
        message="rate limit",
        headers=(("Retry-After", "2"),),
        ready_at=served.sim.now + seconds(3),
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await channel.unary_unary("/t.T/Unary")(b"")
    code, details = refused.value.code(), refused.value.details()
    assert (code, details) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate limit")
    reported = {"retry-after": "2", "x-request-id": "req-1", "x-sim-elapsed": "3"}
    got = trailers(refused.value)
    assert got.pop("x-sim-clock").startswith("stands still; ")  # the clock is manual
    assert got == reported


async def test_opaque_trailers_say_nothing_of_the_simulator(serve):
    served = await serve(opaque=True)
    served.sim.replies["/t.T/Unary"] = lambda: Reply(
        code=5, headers=(("x-sim-explain", "why"),), ready_at=served.sim.now + seconds(3)
    )
    async with grpc.aio.insecure_channel(served.at.grpc) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await channel.unary_unary("/t.T/Unary")(b"")
    assert trailers(refused.value) == {"x-request-id": "req-1"}


async def test_a_download_leaves_as_it_is_made_and_other_calls_have_their_turn(served):
    # nobody could wait for its end
    served.sim.refuse_streams = Reply(chunks=itertools.repeat(b"x" * 1000))
    async with grpc.aio.insecure_channel(served.at.grpc) as channel:
        download = channel.unary_stream("/t.T/Server")(b"")
        assert await download.read() == b"x" * 1000
        assert await channel.unary_unary("/t.T/Unary")(b"") == b"re:"
        download.cancel()
    served.sim.refuse_streams = Reply(chunks=iter((b"a", b"b")))
    async with grpc.aio.insecure_channel(served.at.grpc) as channel:
        assert [message async for message in channel.unary_stream("/t.T/Server")(b"")] == [
            b"a",
            b"b",
        ]


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream", "stream_stream"])
async def test_an_unknown_method_is_an_input_and_unimplemented_however_it_is_called(
    served, channel, kind
):
    call = getattr(channel, kind)("/no.Such/Method")
    call = call() if kind == "stream_stream" else call(b"")
    assert await call.code() == grpc.StatusCode.UNIMPLEMENTED
    assert await call.details() == "unknown service"
    assert [value[:2] for value in served.sim.inputs] == [("rpc", "/no.Such/Method")]


# HealthCheckRequest{service: name}
HEALTH_NAMED = {name: bytes((10, len(name))) + name.encode() for name in ("t.T", "no.Such")}


async def test_health_is_checked_by_service_and_is_no_input(served, channel):
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    assert await check(b"") == await check(HEALTH_NAMED["t.T"]) == b"\x08\x01"
    served.sim.serving = False
    assert await check(b"") == b"\x08\x02"
    for message, code in (
        (HEALTH_NAMED["no.Such"], grpc.StatusCode.NOT_FOUND),
        (b"\xff", grpc.StatusCode.INVALID_ARGUMENT),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await check(message)
        assert refused.value.code() == code
    assert served.sim.inputs == []


async def test_health_is_watched_and_told_again_when_it_changes(served, channel):
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
    existing, unknown = watch(b""), watch(HEALTH_NAMED["no.Such"])
    assert (await existing.read(), await unknown.read()) == (b"\x08\x01", b"\x08\x03")
    for serving in (True, False, True):
        served.sim.serving = serving
        served.host.watchers.wake()
        if not serving:
            assert await existing.read() == b"\x08\x02"
    assert await existing.read() == b"\x08\x01"
    existing.cancel()
    unknown.cancel()
    assert served.sim.inputs == []


async def test_a_server_stream_sends_what_there_is_and_ends_as_the_exchange_says(served, channel):
    served.sim.first_frames = (b"snapshot", b"delta")
    call = channel.unary_stream("/t.T/Server")(b"symbols")
    assert [await call.read(), await call.read()] == [b"snapshot", b"delta"]
    served.host.apply([Send(1, b"later"), Close(1, 13, "Subscription manager revoked session")])
    assert await call.read() == b"later"
    assert await call.code() == grpc.StatusCode.INTERNAL
    assert await call.details() == "Subscription manager revoked session"
    assert served.kinds == ["open"]


async def test_a_stream_that_ends_well_is_ok(served, channel):
    call = channel.unary_stream("/t.T/Server")(b"")
    await until(lambda: served.kinds == ["open"])
    served.host.apply([Close(1, 0, "")])
    assert await call.code() == grpc.StatusCode.OK


async def test_a_refused_stream_is_a_status(served, channel):
    served.sim.refuse_streams = Reply(code=7, message="permission denied")
    for call in (channel.unary_stream("/t.T/Server")(b""), channel.stream_stream("/t.T/Bidi")()):
        assert await call.code() == grpc.StatusCode.PERMISSION_DENIED


async def test_a_reader_with_too_much_waiting_is_a_slow_consumer(served, channel):
    """Rule S12: code 8."""
    served.sim.stream_buffer = 10
    call = channel.unary_stream("/t.T/Server")(b"")
    await until(lambda: served.kinds == ["open"])
    served.host.apply([Send(1, b"%d" % number) for number in range(10)])
    assert [await call.read() for _ in range(10)] == [b"%d" % number for number in range(10)]
    # a snapshot, say: too much at once makes nobody slow
    served.host.apply([Send(1, b"x") for _ in range(11)])
    served.host.apply([Send(1, b"x")])
    assert await call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert await call.details() == "slow consumer"
    await until(lambda: served.kinds == ["open", "slow"])


async def test_a_slow_consumer_may_ask_to_lose_what_waits_instead_of_the_stream(served, channel):
    """Rule S12."""
    served.sim.stream_buffer = 10
    served.sim.head = [b"as it is now"]
    call = channel.unary_stream("/t.T/Server")(b"")
    await until(lambda: served.kinds == ["open"])
    served.host.apply([Send(1, b"%d" % number) for number in range(1, 15)])
    served.host.apply([Send(1, b"%d" % number) for number in range(15, 18)])
    assert [await call.read() for _ in range(3)] == [b"as it is now", b"16", b"17"]
    served.host.apply([Send(1, b"on it goes")])
    assert await call.read() == b"on it goes"


async def test_a_client_that_cancels_hangs_up(served, channel):
    served.sim.first_frames = (b"snapshot",)
    call = channel.unary_stream("/t.T/Server")(b"")
    await call.read()
    call.cancel()
    await until(lambda: served.kinds == ["open", "hangup"])


@pytest.mark.parametrize("kind", ["/t.T/Server", "/t.T/Bidi"])
async def test_the_headers_of_a_stream_say_that_it_is_open_before_anything_is_on_it(
    served, channel, kind
):
    call = (
        channel.stream_stream(kind)() if kind.endswith("Bidi") else channel.unary_stream(kind)(b"")
    )
    assert tuple(await asyncio.wait_for(call.initial_metadata(), 5)) == ()
    assert served.kinds == ["open"]
    served.host.apply([Send(1, b"first")])
    assert await call.read() == b"first"
    call.cancel()
    await until(lambda: served.kinds == ["open", "hangup"])


async def test_a_bidirectional_stream_carries_frames_both_ways_and_outlives_a_half_close(
    served, caplog
):
    async with grpc.aio.insecure_channel(served.at.grpc) as channel:
        call = channel.stream_stream("/t.T/Bidi")()
        await call.write(b"one")
        assert await call.read() == b"echo:one"
        await call.write(b"two")
        await call.done_writing()
        assert await call.read() == b"echo:two"
        served.host.apply([Send(1, b"still flowing")])
        assert await call.read() == b"still flowing"
        call.cancel()
        await until(lambda: served.kinds == ["open", "frame", "frame", "hangup"])
    assert not caplog.records


async def test_stopping_ends_streams_with_unavailable(served, channel):
    call = channel.unary_stream("/t.T/Server")(b"")
    await until(lambda: served.kinds == ["open"])
    await served.host.stop()
    assert await call.code() == grpc.StatusCode.UNAVAILABLE


async def test_a_connection_fault_is_unavailable(served, channel):
    served.sim.replies["/t.T/Unary"] = lambda: Reply(connection_fault="reset")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await channel.unary_unary("/t.T/Unary")(b"")
    assert failed.value.code() == grpc.StatusCode.UNAVAILABLE


async def test_a_failure_inside_is_internal_and_says_nothing(served, channel, caplog):

    def broken() -> Reply:
        raise ZeroDivisionError("secret detail")

    served.sim.replies["/t.T/Unary"] = broken
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await channel.unary_unary("/t.T/Unary")(b"")
    code, details = failed.value.code(), failed.value.details()
    assert (code, details) == (grpc.StatusCode.INTERNAL, "internal error")
    assert "secret detail" in caplog.text


async def test_blocking_clients_in_other_threads_are_served_too(served):
    output = []

    def blocking() -> None:
        with grpc.insecure_channel(served.at.grpc) as channel:
            output.append(channel.unary_unary("/t.T/Unary")(b"x"))

    thread = threading.Thread(target=blocking)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert output == [b"re:x"]
