"""Several requests on one connection: answers from the read callback and answers from a task are
indistinguishable for a client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from fake_simulation import FakeSimulation
from patience import until

from sim.api.pipeline.inputs import Reply
from sim.kernel.instants import seconds
from sim.server.host import Host
from sim.server.http import fast_path
from sim.server.http.fast_path import AVAILABLE
from sim.server.http.rest import rest_server

GET = b"GET /%d HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"


async def kept(served: Any) -> Any:
    """A keep-alive connection to the exchange listener. The first request meets one whose task has not
    begun yet; those after it are the usual case.
    """
    line = await served.line(GET % 0)
    await line.answer()
    return line


@pytest.fixture
async def line(served):
    """The same to a service whose settings nobody gave."""
    return await kept(served)


def printed(names: Iterable[object]) -> list[bytes]:
    """The bodies of the answers to GET of these."""
    return [f'{{"path":"/{name}"}}'.encode() for name in names]


def paths(sim: FakeSimulation) -> list[str]:
    return [value[3] for value in sim.inputs if value[0] == "rest"]


class _Pipe(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.9", 4711) if name == "peername" else default

    def close(self) -> None:
        """Nothing to close."""

    abort = close


async def test_a_whole_request_is_answered_before_the_callback_returns():
    assert AVAILABLE, "this release of aiohttp is built differently: see fast_path.py"
    sim, pipe = FakeSimulation(), _Pipe()
    connection = rest_server(Host(sim), "exchange")()  # type: ignore[arg-type]
    connection.connection_made(pipe)
    await until(lambda: connection._waiter is not None)
    tasks = len(asyncio.all_tasks())
    connection.data_received(GET % 1 + POST + b"body" + GET % 2)
    assert [answer.partition(b"\r\n\r\n")[2] for answer in pipe.written] == printed("1x2")
    assert [value[-2] for value in sim.inputs] == [b"", b"body", b""]
    assert len(asyncio.all_tasks()) == tasks
    connection.connection_lost(None)


async def test_with_another_aiohttp_every_request_goes_the_long_way_and_is_answered_the_same(
    serve, monkeypatch
):
    monkeypatch.setattr(fast_path, "AVAILABLE", False)
    served = await serve()
    line = await kept(served)
    line.send(GET % 1 + POST + b"body" + GET % 2)
    assert [(await line.answer())[1] for _ in range(3)] == printed("1x2")
    assert [value[-2] for value in served.sim.inputs] == [b"", b"", b"body", b""]


async def test_a_body_that_comes_in_pieces_arrives_whole(served, line):
    for first in range(5):
        line.send(POST + b"body"[:first])
        await until(lambda: not line.writer.transport.get_write_buffer_size())
        await asyncio.sleep(0)
        line.send(b"body"[first:] + POST + b"next")
        assert (await line.answer())[1] == (await line.answer())[1] == b'{"path":"/x"}'
    assert [value[-2] for value in served.sim.inputs[1:]] == [b"body", b"next"] * 5


async def test_a_chunked_body_that_is_there_whole_is_taken_as_it_is(served, line):
    line.send(
        b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:"
        b" chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"
    )
    await line.answer()
    assert served.sim.inputs[-1][-2] == b"body"


async def test_answers_keep_their_order_when_one_of_them_is_held(serve):
    served = await serve(latency="hold")
    served.sim.replies["/2"] = lambda: Reply(body=b"slow", ready_at=served.sim.now + seconds(31))
    line = await kept(served)
    line.send(b"".join(GET % number for number in (1, 2, 3, 4)))
    assert (await line.answer())[1] == b'{"path":"/1"}'
    await until(lambda: bool(served.host.replies))
    line.send(GET % 5)
    assert paths(served.sim) == ["/0", "/1", "/2"]
    await served.host.advance(served.sim.now + seconds(31))
    assert [(await line.answer())[1] for _ in range(4)] == [b"slow", *printed("345")]
    assert paths(served.sim) == ["/0", "/1", "/2", "/3", "/4", "/5"]


async def test_a_flood_of_requests_is_answered_in_order(served, line):
    line.send(b"".join(GET % number for number in range(1, 400)))
    assert [(await line.answer())[1] for _ in range(1, 400)] == printed(range(1, 400))


async def test_a_client_that_does_not_read_is_not_answered_without_end(served, line):
    served.sim.replies["/9"] = lambda: Reply(body=b"x" * 60_000)
    line.send((GET % 9) * 1_000)
    before = -1
    while before != len(served.sim.inputs):
        before = len(served.sim.inputs)
        for _ in range(50):
            await asyncio.sleep(0)
    assert before < 900
    assert sum([len((await line.answer())[1]) for _ in range(1_000)]) == 60_000_000


async def test_a_failure_inside_is_a_500_and_the_end_of_the_connection(served, line, caplog):

    def broken() -> Reply:
        raise ZeroDivisionError("secret detail")

    served.sim.replies["/1"] = broken
    line.send(GET % 1 + GET % 2)
    head, body = await line.answer()
    assert head.startswith(b"HTTP/1.1 500 ")
    assert body == b'{"code":13,"message":"internal error","details":[]}'
    assert await line.reader.read() == b""
    assert "secret detail" in caplog.text
    assert paths(served.sim) == ["/0", "/1"]


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
async def test_a_head_request_leaves_the_connection_in_step(served, line, version):
    line.send(b"HEAD /1 HTTP/%b\r\nHost: h\r\nConnection: keep-alive\r\n\r\n" % version)
    head = await line.head()
    assert b"Content-Length: 13" in head
    assert (b"Connection: keep-alive" in head) is (version == b"1.0")
    line.send(GET % 2)
    assert (await line.answer())[1] == b'{"path":"/2"}'


async def test_what_is_no_http_after_good_requests_is_answered_after_them(served, line):
    line.send(GET % 1)
    assert (await line.answer())[1] == b'{"path":"/1"}'
    line.send(b"rubbish\r\n\r\n")
    head, _ = await line.answer()
    assert head.startswith(b"HTTP/1.1 400 ")
    assert await line.reader.read() == b""


async def test_a_client_that_closes_its_side_after_its_requests_is_answered(served):
    for count in (1, 2, 40):
        for begun in (False, True):  # the task of the connection
            line = await (kept(served) if begun else served.line())
            line.send(b"".join(GET % number for number in range(count)))
            line.writer.write_eof()
            assert (await line.rest()).count(b"HTTP/1.1 200 OK") == count


async def test_half_a_request_is_not_answered(served):
    for half in (b"GET / HTTP/1.1\r\nHost: h\r\n", POST + b"bo"):
        line = await served.line(half)
        line.writer.write_eof()
        assert await line.rest() == b""
    assert served.sim.inputs == []


async def test_a_client_that_is_gone_does_not_wait_for_a_held_answer(serve, monkeypatch):
    monkeypatch.setattr(fast_path, "_HALF_CLOSED_S", 0.05)
    served = await serve(latency="hold")
    served.sim.replies["/1"] = lambda: Reply(body=b"slow", ready_at=served.sim.now + seconds(31))
    line = await kept(served)
    line.send(GET % 1)
    await until(lambda: bool(served.host.replies))
    line.writer.write_eof()
    assert await line.rest() == b""
    await until(lambda: not served.host.replies)
