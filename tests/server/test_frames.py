"""Frames that no client may send: the connection fails with the code that RFC 6455 names. Frames that
it may send arrive, however they are cut.
"""

from __future__ import annotations

import asyncio
import random
from itertools import pairwise

import pytest
from patience import until

from sim.server.http import body

MEBIBYTE = 1 << 20
HANDSHAKE = (
    b"GET /v1/ws/markets HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%b\r\n"
)
MASK = b"\x37\xfa\x21\x3d"


def frame(
    opcode: int, payload: bytes = b"", *, fin=True, masked=True, rsv=0, declared=None
) -> bytes:
    """A frame as a client sends it; `declared` is a length other than that of the payload."""
    size = len(payload) if declared is None else declared
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode])
    bit = 0x80 if masked else 0
    if size < 126:
        head += bytes([bit | size])
    elif size < 1 << 16:
        head += bytes([bit | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([bit | 127]) + size.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = (MASK * (len(payload) // 4 + 1))[: len(payload)]
    masked_bits = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return head + MASK + masked_bits.to_bytes(len(payload), "big")


async def connect(served, *more: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    line = await served.line(HANDSHAKE % b"".join(line + b"\r\n" for line in more), "retail")
    head = await line.head()
    assert head.startswith(b"HTTP/1.1 101 ") and b"permessage-deflate" not in head, head
    return line


async def received(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Opcode and payload of a frame of the server."""
    first, second = await reader.readexactly(2)
    assert first & 0x80 and not second & 0x80
    size = second
    if second >= 126:
        size = int.from_bytes(await reader.readexactly(2 if second == 126 else 8), "big")
    return first & 0x0F, await reader.readexactly(size)


TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 1, 2, 0, 8, 9, 10
WRONG = {
    "unmasked text": (frame(TEXT, b"hi", masked=False), 1002),
    "unmasked ping": (frame(PING, b"", masked=False), 1002),
    "unmasked close": (frame(CLOSE, b"\x03\xe8", masked=False), 1002),
    "unmasked, with a length of its own": (frame(TEXT, b"x" * 200, masked=False), 1002),
    "unmasked after a good one": (frame(TEXT, b"hi") + frame(TEXT, b"hi", masked=False), 1002),
    "unmasked inside a message": (
        frame(TEXT, b"h", fin=False) + frame(CONTINUATION, b"i", masked=False),
        1002,
    ),
    **{f"reserved bit {bit}": (frame(TEXT, b"hi", rsv=bit), 1002) for bit in (1, 2, 4)},
    **{f"opcode {code}": (frame(code), 1002) for code in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    "a length in two bytes that fits into one": (b"\x81\xfe\x00\x02" + MASK + b"hi", 1002),
    "a length in eight bytes that fits into two": (
        b"\x81\xff" + (200).to_bytes(8, "big") + MASK + b"x" * 200,
        1002,
    ),
    "a ping in parts": (frame(PING, b"x", fin=False), 1002),
    "a long ping": (frame(PING, b"x" * 126), 1002),
    "a continuation of nothing": (frame(CONTINUATION, b"x"), 1002),
    "a message inside a message": (frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), 1002),
    "a message inside an empty one": (frame(TEXT, fin=False) + frame(TEXT, b"b"), 1002),
    "a part inside a message": (
        frame(BINARY, b"a", fin=False) + frame(BINARY, b"b", fin=False),
        1002,
    ),
    "a close frame of one byte": (frame(CLOSE, b"\x03"), 1002),
    **{
        f"close code {code}": (frame(CLOSE, code.to_bytes(2, "big") + b"bye"), 1002)
        for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535)
    },
    "a reason that is not UTF-8": (frame(CLOSE, b"\x03\xe8\xff\xfe"), 1007),
    "text that is not UTF-8": (frame(TEXT, b"\xff\xfe"), 1007),
    "text that is cut": (frame(TEXT, b"\xc3", fin=False) + frame(CONTINUATION, b"x"), 1007),
    "a surrogate": (frame(TEXT, b"\xed\xa0\x80"), 1007),
    "too large": (frame(TEXT, declared=MEBIBYTE + 1), 1009),
    "much too large": (frame(TEXT, declared=1 << 62), 1009),
    "a length with its highest bit": (frame(TEXT, declared=(1 << 64) - 1), 1009),
    "too large in parts": (
        frame(TEXT, b"x" * (MEBIBYTE - 1), fin=False) + frame(CONTINUATION, b"xx"),
        1009,
    ),
}


async def printed(reader: asyncio.StreamReader) -> list[tuple[int, bytes]]:
    """The frames of the server up to its close frame."""
    frames = [await received(reader)]
    while frames[-1][0] != CLOSE:
        frames.append(await received(reader))
    return frames


@pytest.mark.parametrize(("sent", "code"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("byte_by_byte", [False, True])
async def test_a_frame_that_breaks_the_rules_fails_the_connection(served, sent, code, byte_by_byte):
    reader, writer = await connect(served)
    saying = asyncio.create_task(printed(reader))
    pieces = [sent[:20][at : at + 1] for at in range(20)] + [sent[20:]] if byte_by_byte else [sent]
    for piece in pieces:
        if not saying.done() and piece:  # a client that goes on would be reset
            writer.write(piece)
            await asyncio.wait((saying,), timeout=0.001)
    *echoes, (_, payload) = await asyncio.wait_for(saying, 10)
    assert int.from_bytes(payload[:2], "big") == code
    await until(lambda: served.sim.inputs[-1][0] == "hangup")
    assert len([value for value in served.sim.inputs if value[0] == "frame"]) == len(echoes)


GOOD_CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 4999]


@pytest.mark.parametrize("code", GOOD_CODES)
async def test_a_close_frame_with_a_code_that_may_be_sent_is_answered(served, code):
    reader, writer = await connect(served)
    writer.write(frame(CLOSE, code.to_bytes(2, "big") + "bye ä".encode()))
    assert (await received(reader))[0] == CLOSE
    assert await asyncio.wait_for(reader.read(), 15) == b""


async def test_good_frames_arrive_however_they_are_cut(serve):
    rng = random.Random(20_260_908)
    served = await serve()
    reader, writer = await connect(served)
    messages = [bytes(rng.choices(b"abc", k=size)) for size in (0, 1, 5, 125, 126, 70_000, 3)]
    sent = b""
    for message in messages:
        parts = sorted(rng.randrange(len(message) + 1) for _ in range(rng.randrange(4)))
        cuts = [0, *parts, len(message)]
        for number, (start, end) in enumerate(pairwise(cuts)):
            opcode, final = (CONTINUATION if number else TEXT), number == len(cuts) - 2
            sent += frame(opcode, message[start:end], fin=final)
            sent += frame(PONG, b"p" * rng.randrange(126))
    at = 0
    while at < len(sent):
        step = rng.choice((1, 2, 3, 7, 40, 5_000))
        writer.write(sent[at : at + step])
        at += step
        await asyncio.sleep(0)
    assert [await received(reader) for _ in messages] == [(TEXT, b"echo:" + m) for m in messages]


async def test_a_message_of_the_largest_size_is_accepted(served):
    reader, writer = await connect(served)
    writer.write(frame(BINARY, b"y" * MEBIBYTE))
    assert len((await received(reader))[1]) == MEBIBYTE + len("echo:")


async def test_compression_is_not_agreed_to(served):
    reader, writer = await connect(served, b"Sec-WebSocket-Extensions: permessage-deflate")
    writer.write(frame(TEXT, b"x", rsv=4))
    assert await received(reader) == (CLOSE, b"\x03\xea")


async def test_messages_that_never_end_hold_a_bounded_number_of_bytes(serve, monkeypatch):
    monkeypatch.setattr(body.Uploads.__init__, "__defaults__", (4 * MEBIBYTE,))
    served = await serve()
    part = frame(TEXT, b"x" * (MEBIBYTE - 1), fin=False)
    sockets = []
    for _ in range(8):
        reader, writer = await connect(served)
        writer.write(part)
        await writer.drain()
        sockets.append((reader, writer))
    for reader, _ in sockets[:3]:  # those that have waited longest are closed
        assert await asyncio.wait_for(reader.read(), 10) == b""
    reader, writer = sockets[-1]
    writer.write(frame(CONTINUATION, b"!"))
    assert (await received(reader))[1].endswith(b"x!")
