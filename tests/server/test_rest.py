"""HTTP as clients see it: what reaches the simulation, what leaves, and that nothing of this
machine leaks out.
"""

from __future__ import annotations

import asyncio
import itertools

import aiohttp
import pytest
from fake_simulation import START
from patience import until

from sim.api.pipeline.inputs import Reply, Resolve
from sim.kernel.instants import seconds
from sim.server.http import fast_path
from sim.world.format.clock_mode import AUTOJUMP


@pytest.fixture(params=[True, False], ids=["fast path", "path of aiohttp"], autouse=True)
def path_taken(request, monkeypatch):
    """Every test of this file runs on both paths: they answer alike."""
    monkeypatch.setattr(fast_path, "AVAILABLE", request.param)


async def test_a_request_reaches_the_simulation_as_it_was_sent(served):
    sent = {"data": b"\xff{}", "headers": {"X-One": "1"}}
    answer = await served.ask("exchange", "/v1/a%2Fb?x=1&x=%20", "POST", **sent)
    assert (answer.status, answer.json()) == (200, {"path": "/v1/a%2Fb"})
    *value, headers, body, oversize = served.sim.inputs[0]
    assert value == ["rest", "exchange", "POST", "/v1/a%2Fb", "x=1&x=%20"]
    assert (body, oversize, headers["X-One"]) == (b"\xff{}", 0, "1")


@pytest.mark.parametrize("surface", ["gateway", "retail", "exchange", "auth"])
async def test_each_listener_speaks_for_its_plane(served, surface):
    await served.ask(surface)
    assert served.sim.inputs[0][1] == surface


async def test_headers_show_virtual_time_and_neither_versions_nor_the_wall_clock(served):
    headers = (await served.ask("gateway", headers={"poly-correlation-id": "c-1"})).headers
    assert headers["Date"] == "Tue, 08 Sep 2026 18:00:00 GMT"
    assert headers["Server"] == "sandbox-exchange"
    assert (headers["x-request-id"], headers["poly-correlation-id"]) == ("req-1", "c-1")


async def test_a_header_value_cannot_break_out_of_its_line(served):
    served.sim.replies["/x"] = lambda: Reply(
        headers=(("x-sim-explain", "no\r\nSet-Cookie: a=b é"),)
    )
    answer = await served.ask("gateway")
    assert answer.headers["x-sim-explain"] == "no\\r\\nSet-Cookie: a=b \\xe9"
    assert "Set-Cookie" not in answer.headers


async def test_a_reply_that_takes_time_leaves_at_once_on_a_manual_clock_and_names_the_time(served):
    served.sim.replies["/slow"] = lambda: Reply(status=504, ready_at=served.sim.now + seconds(31))
    answer = await served.ask("exchange", "/slow")
    assert answer.status == 504
    assert answer.headers["x-sim-elapsed"] == "31"


async def test_opaque_answers_carry_no_header_of_the_simulator(serve):
    served = await serve(opaque=True)
    served.sim.replies["/slow"] = lambda: Reply(
        ready_at=served.sim.now + seconds(31),
        headers=(("X-Sim-Explain", "why"), ("Retry-After", "1")),
    )
    answer = await served.ask("exchange", "/slow")
    assert not [name for name in answer.headers if name.lower().startswith("x-sim-")]
    assert answer.headers["Retry-After"] == "1"


async def test_a_held_reply_waits_for_the_clock(serve):
    served = await serve(latency="hold")
    served.sim.replies["/slow"] = lambda: Reply(ready_at=served.sim.now + seconds(31))
    slow = asyncio.ensure_future(served.ask("exchange", "/slow"))
    assert (await served.ask("exchange", "/quick")).status == 200
    assert not slow.done()
    await served.host.advance(served.sim.now + seconds(31))
    answer = await asyncio.wait_for(slow, 5)
    assert answer.status == 200
    assert "x-sim-elapsed" not in answer.headers


async def test_autojump_moves_from_due_instant_to_due_instant_while_a_reply_is_held_and_not_otherwise(
    serve,
):
    served = await serve(clock=AUTOJUMP)
    for after, name in ((10, "one"), (20, "two"), (3600, "three")):
        served.sim.after(after, name)
    await served.ask("exchange", "/quick")
    assert served.sim.now == START
    served.sim.replies["/slow"] = lambda: Reply(ready_at=served.sim.now + seconds(31))
    await served.ask("exchange", "/slow")
    moves = [value[1] for value in served.sim.inputs if value[0] == "advance"]
    assert moves == [seconds(10), seconds(20), seconds(31)]


async def test_a_client_that_leaves_while_its_reply_is_held_is_forgotten(serve):
    served = await serve(latency="hold")
    served.sim.replies["/slow"] = lambda: Reply(ready_at=served.sim.now + seconds(31))
    with pytest.raises(asyncio.TimeoutError):
        await served.ask("exchange", "/slow", timeout=aiohttp.ClientTimeout(total=0.2))
    while served.host.replies:
        await asyncio.sleep(0)
    assert served.host.next_stop() is None


async def test_a_body_over_the_limit_is_reported_by_its_size_and_not_read(serve):
    served = await serve(max_body=1000)

    async def pieces():
        for _ in range(20):
            yield b"b" * 100

    for data, status in ((b"a" * 1001, 413), (pieces(), 413), (b"a" * 1000, 200)):
        assert (await served.ask("exchange", verb="POST", data=data)).status == status
    assert [value[-1] > 1000 for value in served.sim.inputs] == [True, True, False]
    assert [value[-2] for value in served.sim.inputs[:2]] == [b"", b""]


async def test_requests_may_be_pipelined_and_are_answered_in_order(served, raw_http):
    item = b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n"
    last = b"GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    output = await raw_http(served.at.gateway, item % 1 + item % 2 + last)
    assert [output.index(b'{"path":"/%d"}' % number) for number in (1, 2, 3)] == sorted(
        output.index(b'{"path":"/%d"}' % number) for number in (1, 2, 3)
    )
    assert output.count(b"HTTP/1.1 200 OK") == 3


async def test_old_clients_get_what_they_can_read(served, raw_http):
    kept = b"GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    output = await raw_http(served.at.gateway, kept + b"GET /old HTTP/1.0\r\n\r\n")
    first, _, second = output.partition(b'{"path":"/old"}')
    assert b"Connection: keep-alive" in first
    assert b"Connection: close" in second and second.endswith(b'{"path":"/old"}')


async def test_head_has_headers_and_no_body(served, raw_http):
    output = await raw_http(
        served.at.gateway, b"HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    )
    assert output.endswith(b"\r\n\r\n")
    assert b"Content-Length: 13" in output
    assert served.sim.inputs[0][2] == "HEAD"


@pytest.mark.parametrize(
    "sent",
    [
        b"this is no http\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_what_is_no_http_gets_a_plain_400_in_the_words_of_its_plane_without_a_traceback(
    served, raw_http, sent, caplog
):
    for plane, body in (
        ("gateway", b'{"code":3,"message":"bad request","details":[]}'),
        ("exchange", b'{"code":3,"message":"bad request","details":[]}'),
        ("retail", b'{"code":3,"message":"bad request","details":[]}'),
    ):
        output = await raw_http(getattr(served.at, plane), sent)
        assert output.startswith(b"HTTP/1.1 400 Bad Request")
        assert output.endswith(body)
        assert b"aiohttp" not in output and b"Traceback" not in output
    assert not caplog.records


async def test_a_failure_inside_is_a_500_that_says_nothing_and_a_log_entry_that_does(
    served, caplog
):

    def broken() -> Reply:
        raise ZeroDivisionError("secret detail")

    served.sim.replies["/x"] = broken
    answer = await served.ask("gateway")
    assert answer.status == 500
    assert answer.json() == {"code": 13, "message": "internal error", "details": []}
    assert "secret detail" in caplog.text


async def test_an_answer_that_depends_on_a_later_input_waits_for_it(served):
    served.sim.replies["/later"] = lambda: Reply(pending_on="w-1")
    waiting = asyncio.ensure_future(served.ask("exchange", "/later"))
    await until(lambda: bool(served.sim.inputs))
    assert not waiting.done()
    served.host.apply([Resolve("w-1", Reply(status=422, body=b"{}"))])
    assert (await waiting).status == 422
    served.sim.effects["/later"] = [Resolve("w-1", Reply(status=409, body=b"{}"))]
    assert (await served.ask("exchange", "/later")).status == 409


async def test_an_answer_that_will_never_come_is_unavailable_after_a_reset(served):
    served.sim.replies["/later"] = lambda: Reply(pending_on="w-1")
    waiting = asyncio.ensure_future(served.ask("exchange", "/later"))
    await until(lambda: bool(served.sim.inputs))
    await served.host.reset()
    assert (await waiting).status == 503


async def test_a_body_in_chunks_arrives_whole(served):
    served.sim.replies["/csv"] = lambda: Reply(
        content_type="text/csv", chunks=iter((b"a,b\n", b"1,2\n"))
    )
    answer = await served.ask("exchange", "/csv")
    assert answer.headers["Content-Type"] == "text/csv"
    assert answer.body == b"a,b\n1,2\n"
    assert answer.headers["Date"].startswith("Tue, 08 Sep 2026")


async def test_chunks_leave_as_they_are_made(served):
    # nobody could wait for its end
    served.sim.replies["/csv"] = lambda: Reply(
        content_type="text/csv", chunks=itertools.repeat(b"1,2\n" * 1000)
    )
    async with aiohttp.ClientSession() as http, http.get(f"{served.at.exchange}/csv") as endless:
        assert await endless.content.readexactly(8) == b"1,2\n1,2\n"
        assert (await served.ask("exchange")).status == 200


@pytest.mark.parametrize(
    ("disturbance", "error"),
    [
        ("reset", aiohttp.ClientConnectionError),
        ("refuse", aiohttp.ClientConnectionError),
        ("half_close", aiohttp.ClientPayloadError),  # it ends in the middle
    ],
)
async def test_a_disturbed_connection_is_an_error_and_no_answer(served, disturbance, error):
    served.sim.replies["/x"] = lambda: Reply(body=b"x" * 1000, connection_fault=disturbance)
    with pytest.raises(error):
        await served.ask("exchange")


async def test_a_slow_body_arrives_late_but_whole(served):
    served.sim.replies["/x"] = lambda: Reply(body=b"x" * 1000, connection_fault="slow_body")
    answer = await served.ask("exchange")
    assert answer.body == b"x" * 1000


async def test_an_absolute_target_is_its_path(served, raw_http):
    output = await raw_http(
        served.at.gateway,
        b"GET http://elsewhere/v1/x?a=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    )
    assert b'{"path":"/v1/x"}' in output
    assert served.sim.inputs[0][4] == "a=1"
