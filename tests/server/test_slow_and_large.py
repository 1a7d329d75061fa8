"""Clients that send too much, too slowly, or data that expands: each is refused after a limited
amount of work, without effect on other clients. Limits are on bytes, tasks and calls, not on time.
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from copy import copy
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest

from sim.api.pipeline.inputs import Reply
from sim.server.http import body, fast_path, unread

MEBIBYTE = 1 << 20
HEAD = "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n"
PLANES = ["gateway", "retail", "exchange", "auth", "control", "docs"]


def head_of(size: int, *more: str) -> bytes:
    return (HEAD.format(size) + "".join(f"{line}\r\n" for line in more) + "\r\n").encode()


@pytest.fixture(scope="module")
def bomb():
    """Half a gigabyte in half a megabyte."""
    return gzip.compress(bytes(512 * MEBIBYTE), 9)


@pytest.fixture
def inflated(monkeypatch):
    """The sizes of the pieces that were inflated."""
    sizes: list[int] = []
    real = zlib.decompressobj

    class Counting:
        def __init__(self, bits: int) -> None:
            self._real = real(bits)

        def decompress(self, data: bytes, most: int) -> bytes:
            piece = self._real.decompress(data, most)
            sizes.append(len(piece))
            return piece

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    monkeypatch.setattr(body.zlib, "decompressobj", Counting)
    return sizes


def packed(coding: str, content: bytes) -> bytes:
    if coding == "gzip":
        return gzip.compress(content, 9)
    if coding == "deflate":
        return zlib.compress(content, 9)
    bare = zlib.compressobj(9, wbits=-15)
    return bare.compress(content) + bare.flush()


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare deflate"])
@pytest.mark.parametrize("size", [0, 1, 1000, 65_536, 65_537, 131_072, MEBIBYTE])
async def test_a_compressed_body_arrives_as_it_was_before(served, coding, size):
    content = bytes(index * 7 % 251 for index in range(1000)) * (size // 1000 + 1)
    small = packed(coding, content[:size])
    line = await served.line()
    named = f"Content-Encoding: {coding.split()[-1]}"
    for cut in (0, 1, len(small) // 2):
        line.send(head_of(len(small), named))
        line.send(small[:cut])
        await line.writer.drain()
        line.send(small[cut:])
        assert (await line.head(b"}")).startswith(b"HTTP/1.1 200 ")
    assert [value[-2] == content[:size] for value in served.sim.inputs] == [True] * 3


async def test_members_of_a_gzip_body_follow_each_other_up_to_a_number(served, raw_http):
    named = ("Content-Encoding: gzip", "Connection: close")
    for members, status in ((body.MEMBERS_MAX, b"200"), (body.MEMBERS_MAX + 1, b"400")):
        sent = gzip.compress(b"ab") * members
        answer = await raw_http(served.at.exchange, head_of(len(sent), *named) + sent)
        assert answer.split()[1] == status
    assert [value[-2] for value in served.sim.inputs] == [b"ab" * body.MEMBERS_MAX]


@pytest.mark.parametrize("plane", ["exchange", "retail", "control"])
@pytest.mark.parametrize(
    ("coding", "sent"),
    [
        pytest.param("gzip", gzip.compress(b"abc" * 99)[:-1], id="cut off"),
        pytest.param("gzip", gzip.compress(b"abc") + b"rest", id="something behind"),
        pytest.param("gzip", b"not gzip", id="no gzip"),
        pytest.param("gzip", b"\x1f\x8b", id="its first bytes"),
        pytest.param("deflate", b"not zlib", id="no deflate"),
    ],
)
async def test_what_is_not_what_its_encoding_says_is_a_bad_request(
    served, raw_http, plane, coding, sent, caplog
):
    head = head_of(len(sent), f"Content-Encoding: {coding}").replace(b"/x", b"/_sim/v1/reset")
    answer = await raw_http(getattr(served.at, plane), head + sent)
    assert not caplog.records
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Connection: close" in answer
    assert served.sim.inputs == []


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_bomb_is_inflated_to_the_limit_and_no_further(
    served, raw_http, inflated, chunked, bomb
):
    if chunked:
        head = b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
        sent = b"%sContent-Encoding: gzip\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (head, len(bomb), bomb)
    else:
        sent = head_of(len(bomb), "Content-Encoding: gzip") + bomb
    answer = await raw_http(served.at.exchange, sent)
    assert answer.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in answer
    assert sum(inflated) <= MEBIBYTE + body.PIECE
    assert max(inflated) <= body.PIECE
    kind, *_, value, oversize = served.sim.inputs[0]
    assert (kind, value, oversize) == ("rest", b"", MEBIBYTE + 1)


async def test_bombs_give_way_after_every_piece(served, inflated, bomb):
    loop, turns = asyncio.get_running_loop(), [0]  # pieces inflated up to each turn of the loop

    def turn() -> None:
        turns.append(len(inflated))
        loop.call_soon(turn)

    bombs = [await served.line() for _ in range(16)]
    turn()
    for line in bombs:
        line.send(head_of(len(bomb), "Content-Encoding: gzip") + bomb)
    for line in bombs:
        assert (await line.rest()).startswith(b"HTTP/1.1 413 ")
    pieces = [after - before for before, after in pairwise(turns)]
    assert sum(pieces) > 16 * 8
    assert max(pieces) <= 16


@pytest.mark.parametrize(
    ("plane", "path", "status"),
    [
        ("control", b"/_sim/v1/reset", 413),
        ("control", b"/_sim/v1/clock", 405),
        ("control", b"/", 405),
        ("docs", b"/no-such", 405),
        ("exchange", b"/x", 413),
    ],
)
async def test_whoever_does_not_read_a_body_to_its_end_says_that_the_connection_ends(
    served, plane, path, status
):
    """A client that keeps connections would send its next request into a reset."""
    line = await served.line(head_of(2 * MEBIBYTE).replace(b"/x", path) + bytes(MEBIBYTE), plane)
    head = await line.head()
    assert head.startswith(b"HTTP/1.1 %d " % status) and b"\r\nConnection: close\r\n" in head
    assert (b"\r\nAllow: GET" in head) == (status == 405)


async def test_of_a_refused_body_a_part_is_discarded_and_the_rest_is_not_read(served):
    line = await served.line(head_of(1 << 30) + bytes(MEBIBYTE // 2))
    assert (await line.head()).startswith(b"HTTP/1.1 413 ")
    sent = 0
    with pytest.raises(ConnectionError):
        while sent < 64 * MEBIBYTE:
            line.send(bytes(MEBIBYTE // 2))
            await line.writer.drain()
            sent += MEBIBYTE // 2
    assert served.sim.inputs[0][-1] == 1 << 30


@pytest.mark.parametrize("plane", PLANES)
async def test_a_client_that_sends_all_before_it_reads_gets_the_refusal(served, plane):
    line = await served.line(head_of(24 * MEBIBYTE), plane)
    for _ in range(24):
        line.send(bytes(MEBIBYTE))
        await line.writer.drain()
    assert (await line.head()).startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 404 ", b"HTTP/1.1 405 "))


async def test_a_client_that_ends_its_refused_body_reads_the_answer(served, raw_http):
    size = MEBIBYTE + 100_000
    answer = await raw_http(served.at.retail, head_of(size) + bytes(size))
    assert answer.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in answer


@pytest.mark.parametrize("plane", PLANES)
async def test_a_body_that_stops_on_its_way_is_given_up(serve, raw_http, monkeypatch, plane):
    monkeypatch.setattr(body, "STALL_S", 0.05)
    served = await serve()
    path = {"control": b"/_sim/v1/reset", "docs": b"/docv/x"}.get(plane, b"/x")
    sent = head_of(100).replace(b"/x", path) + b"{"
    answer = await raw_http(getattr(served.at, plane), sent)
    assert answer.startswith(b"HTTP/1.1 408 ") and b"Connection: close" in answer
    assert served.sim.inputs == []


async def test_a_body_that_trickles_is_given_up_in_the_end(serve, monkeypatch):
    monkeypatch.setattr(body, "WHOLE_S", 0.05)
    served = await serve()
    line = await served.line(head_of(10_000))
    ended = asyncio.create_task(line.head())
    for _ in range(1000):
        if ended.done():
            break
        line.send(b" ")
        await asyncio.wait((ended,), timeout=0.005)
    assert (await ended).startswith(b"HTTP/1.1 408 ")


async def test_stalled_bodies_hold_a_bounded_number_of_bytes(served, monkeypatch):
    limit = body.HELD_MAX
    held: list[int] = []
    grew = body.Uploads.grew

    def watched(uploads: body.Uploads, upload: body.Upload, size: int) -> None:
        grew(uploads, upload, size)
        held.append(uploads.held)

    monkeypatch.setattr(body.Uploads, "grew", watched)
    stalled, enough = [], limit // MEBIBYTE + 12
    for _ in range(enough):
        stalled.append(await served.line(head_of(MEBIBYTE) + bytes(MEBIBYTE - 1)))
        await stalled[-1].writer.drain()
    answers = await asyncio.gather(*(line.rest() for line in stalled[:10]))  # the oldest
    assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in answers)
    # What is given up leaves when its task has its turn: a few bodies more for a moment.
    assert max(held) <= limit + 4 * MEBIBYTE
    stalled[-1].send(b" ")
    assert (await stalled[-1].head(b"}")).startswith(b"HTTP/1.1 200 ")  # the newest goes on


@pytest.mark.parametrize("plane", PLANES)
async def test_a_head_that_never_ends_is_given_up(serve, raw_http, monkeypatch, plane):
    monkeypatch.setattr(fast_path, "_HEAD_S", 0.05)
    served = await serve()
    address = getattr(served.at, plane)
    for start in (b"G", b"GET /x HTTP/1.1\r\nHost: localhost\r\n", b"\r\n"):
        answer = await raw_http(address, start)
        assert answer.startswith(b"HTTP/1.1 408 ") and b"Connection: close" in answer
    after = await raw_http(
        address, b"GET /_sim/v1/clock HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert after.split()[1] in (b"200", b"404")


async def test_the_second_head_of_a_connection_is_watched_over_too(serve, monkeypatch):
    monkeypatch.setattr(fast_path, "_HEAD_S", 0.05)
    served = await serve()
    line = await served.line(b"GET /y HTTP/1.1\r\nHost: h\r\n\r\n")
    await line.head(b"}")
    line.send(b"GET /y HT")
    assert (await line.rest()).startswith(b"HTTP/1.1 408 ")


async def test_a_connection_that_says_nothing_stays(serve, monkeypatch):
    monkeypatch.setattr(fast_path, "_HEAD_S", 0.01)
    served = await serve()
    line = await served.line()
    slow = await served.line(b"GET /y")  # one that does is closed meanwhile
    assert (await slow.rest()).startswith(b"HTTP/1.1 408 ")
    line.send(b"GET /y HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await line.head(b"}")).startswith(b"HTTP/1.1 200 ")


async def test_a_head_of_many_fields_is_too_large(served):
    line = await served.line(b"GET /y HTTP/1.1\r\nHost: h\r\n")
    for _ in range(fast_path._HEAD_MAX // 4000 + 1):
        line.send(b"a: %s\r\n" % (b"x" * 4000))
    answer = await line.rest()
    assert answer.startswith(b"HTTP/1.1 431 ") and b"Connection: close" in answer
    assert served.sim.inputs == []


async def test_100_continue_is_said_where_a_body_is_wanted(served):
    line = await served.line(head_of(4, "Expect: 100-continue"))
    assert await line.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
    line.send(b"body")
    assert (await line.head(b"}")).startswith(b"HTTP/1.1 200 ")
    line.send(head_of(1 << 30, "Expect: 100-continue"))
    answer = await line.head(b"}")
    assert answer.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in answer


async def test_a_client_of_http_1_0_is_not_told_to_continue(served):
    line = await served.line(
        head_of(4, "Expect: 100-continue").replace(b"HTTP/1.1", b"HTTP/1.0") + b"bo"
    )
    await asyncio.sleep(0)
    line.send(b"dy")
    assert (await line.rest()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("crowded", [False, True])
async def test_a_client_that_does_not_read_its_answers_is_closed(served, monkeypatch, crowded):
    """After `STALL_S`; much earlier, after `SHORT_S`, if many bytes wait."""
    monkeypatch.setattr(unread, "STALL_S", 60.0 if crowded else 0.3)
    monkeypatch.setattr(unread, "SHORT_S", 0.3 if crowded else 60.0)
    monkeypatch.setattr(unread, "HELD_MAX", MEBIBYTE if crowded else 1 << 30)
    reply = Reply(body=bytes(32 * MEBIBYTE))
    served.sim.replies["/large"] = lambda: copy(reply)
    address = urlsplit(served.at.exchange)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1024)
    writer.transport.pause_reading()
    writer.write(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await asyncio.sleep(1.5)
    writer.transport.resume_reading()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(32 * MEBIBYTE)
