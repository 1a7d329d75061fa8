"""A fuzzer of the network edge: bytes that are almost HTTP, almost frames, almost HTTP/2, to every
listener of a served exchange.

`python -m tools.soak.edge [--minutes N] [--seed N] [--preset NAME]`. A case is a function of the seed and its
number, so a finding is repeated with `--seed N --case M`. After every case, the answer must not be
an unexplained 5xx or show internals of the program, and every listener must still answer a valid
request. At the end the journal must replay.
"""

from __future__ import annotations

import argparse
import gzip
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

HTTP_PLANES = ("gateway", "retail", "exchange", "auth", "control", "docs")
# Text that no answer may contain.
TELLTALES = (b"Traceback", b"aiohttp", b"Python/", b"site-packages", b"internal error")
_WAIT_S = 0.2

_METHODS = (b"GET", b"POST", b"PUT", b"DELETE", b"HEAD", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE")
_TARGETS = (
    *(b"/", b"/v1/health", b"/v1/orders", b"/v1/ws/markets", b"/oauth/token", b"/_sim/v1/clock"),
    *(b"/_sim/v1/state/books", b"/openapi/retail.json", b"/docv/x", b"*", b"//", b"/%00", b"/%ff"),
    *(b"http://localhost/v1/health", b"http://[/", b"/v1/markets?limit=1&limit=2", b"/../../etc"),
    *(b"/v1/markets?" + b"a=b&" * 1500, b"/" + b"a/" * 3000, b"/v1/markets?x=%zz", b"?", b""),
)
_FIELDS = (
    *(b"Host: localhost", b"Host: ", b"Host: a\r\nHost: b", b"Content-Length: 5", b"X: \xff\xfe"),
    *(b"Content-Length: -1", b"Content-Length: 5, 5", b"Content-Length: 99999999999999999999"),
    *(
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: chunked, chunked",
        b"Transfer-Encoding: x",
    ),
    *(b"Transfer-Encoding : chunked", b"Transfer-Encoding:\tchunked", b"Content-Encoding: gzip"),
    *(b"Content-Encoding: deflate", b"Content-Encoding: br", b"Content-Encoding: gzip, gzip"),
    *(b"Expect: 100-continue", b"Expect: more", b"Connection: close", b"Connection: Upgrade, x"),
    *(b"Upgrade: websocket", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__", b" folded: x"),
    *(b"Content-Type: application/json", b"Content-Type: multipart/form-data; boundary=", b": x"),
    *(b"Authorization: Bearer \x80", b"Authorization: " + b"x" * 8000, b"Cookie: a=b", b"X-\0: y"),
    *(b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"X: a\rb"),
    *(b"Origin: null", b"Sec-Fetch-Site: cross-site", b"Access-Control-Request-Method: \x7f"),
)
_BODIES = (
    *(
        b"",
        b"{}",
        b"[" * 5000,
        b'{"a":' * 2000,
        b"5\r\nhello\r\n0\r\n\r\n",
        b"ffffffffffffffff\r\n",
    ),
    *(
        b"-1\r\n\r\n",
        b"0;" + b"x" * 9000 + b"\r\n\r\n",
        b"5\r\nhel",
        gzip.compress(b"{}" * 99)[:-3],
    ),
    *(gzip.compress(bytes(4 << 20)), b"\x1f\x8b\x08", b"\xff" * 300, b"1e999999", b'"\\ud800"'),
    *(b"grant_type=client_credentials&" * 200, b"0\r\nX: " + b"y" * 9000 + b"\r\n\r\n"),
)
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HANDSHAKE = (
    b"GET /v1/ws/markets HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Case(NamedTuple):
    """Bytes for a listener, in the pieces that are sent."""

    plane: str
    pieces: list[bytes]


class Found(AssertionError):
    """A violation of the conditions above."""


def case(seed: int, number: int) -> Case:
    """Return the case with a number."""
    rng = random.Random(f"{seed}.{number}")
    kind = rng.choice(("http", "http", "http", "frames", "http2"))
    if kind == "http2":
        return Case("grpc", [_PREFACE if rng.random() < 0.8 else b"", *_http2(rng)])
    if kind == "frames":
        return Case("retail", [_HANDSHAKE, *_frames(rng)])
    requests = b"".join(_request(rng) for _ in range(rng.choice((1, 1, 2, 4))))
    return Case(rng.choice(HTTP_PLANES), _cut(rng, _spoilt(rng, requests)))


def _request(rng: random.Random) -> bytes:
    version = rng.choice(
        (b"HTTP/1.1",) * 6 + (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"http/1.1", b"")
    )
    fields = [b"Host: localhost"] if rng.random() < 0.7 else []
    fields += rng.choices(_FIELDS, k=rng.choice((0, 1, 2, 3, 5, 140)))
    body = rng.choice(_BODIES)
    if rng.random() < 0.5:
        fields.append(b"Content-Length: %d" % (len(body) + rng.choice((0, 0, 0, -1, 1, 100))))
    line = b" ".join((rng.choice(_METHODS), rng.choice(_TARGETS), version))
    end = rng.choice((b"\r\n",) * 8 + (b"\n", b"\r"))
    return end.join((line, *fields, b"", body))


def _frames(rng: random.Random) -> Iterator[bytes]:
    for _ in range(rng.randrange(1, 6)):
        payload = rng.choice((b"", b"{}", b"\xff", b'{"subscribe":{}}', b"x" * 200, b"\x03\xee"))
        first = rng.choice((0x81, 0x82, 0x88, 0x89, 0x8A, 0x01, 0x00, 0x80, rng.randrange(256)))
        size = rng.choice((len(payload),) * 4 + (126, 127, rng.randrange(128)))
        masked = 0x80 if rng.random() < 0.8 else 0
        yield bytes([first, masked | size & 0x7F]) + rng.randbytes(4 if masked else 0) + payload


def _http2(rng: random.Random) -> Iterator[bytes]:
    for _ in range(rng.randrange(1, 8)):
        payload = rng.randbytes(rng.choice((0, 4, 5, 6, 8, 16, 100)))
        size = rng.choice((len(payload),) * 5 + (0, 1 << 20))
        stream = rng.choice((0, 1, 1, 3, 2, (1 << 31) - 1))
        head = size.to_bytes(3, "big") + bytes((rng.randrange(12), rng.randrange(256)))
        yield head + stream.to_bytes(4, "big") + payload


def _spoilt(rng: random.Random, sent: bytes) -> bytes:
    """Return the bytes with a few of them changed, omitted or duplicated."""
    changed = bytearray(sent)
    for _ in range(rng.choice((0, 0, 1, 2, 8))):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(3):
            case 0:
                changed[at : at + 1] = rng.randbytes(1)
            case 1:
                del changed[at : at + rng.randrange(20)]
            case _:
                changed[at:at] = changed[at : at + rng.randrange(50)]
    return bytes(changed)


def _cut(rng: random.Random, sent: bytes) -> list[bytes]:
    cuts = sorted(rng.randrange(len(sent) + 1) for _ in range(rng.choice((0, 0, 1, 3))))
    return [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]


def answer_to(address: str, pieces: list[bytes], wait_s: float = _WAIT_S) -> bytes:
    """Send bytes; return the answer until the listener closes or sends no more for a while."""
    parts = urlsplit(address if "//" in address else f"//{address}")
    result = bytearray()
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=5) as plain:
        plain.settimeout(wait_s)
        try:
            for piece in pieces:
                plain.sendall(piece)
            plain.shutdown(socket.SHUT_WR)
            while piece := plain.recv(65536):
                result += piece
        except (TimeoutError, ConnectionError, OSError):
            pass
    return bytes(result)


def check_answer(tried: Case, answer: bytes, *, faults: bool = False) -> None:
    """Raise Found if an answer must not be sent to a client. An answer that names the fault that
    caused it is permitted with any status (gRPC answers to faults of a preset are not
    distinguished).
    """
    explained = b"x-sim-fault: " in answer or (faults and tried.plane == "grpc")
    for word in TELLTALES:
        if word in answer and not (explained and word == b"internal error"):
            raise Found(f"the {tried.plane} listener showed {word!r}")
    if tried.plane == "grpc" or explained:
        return
    for line in answer.split(b"\r\n"):
        if line.startswith(b"HTTP/1.1 5") and line[9:12] not in (b"501", b"503", b"504", b"505"):
            raise Found(f"the {tried.plane} listener answered {line.decode()}")


def check_alive(addresses: dict[str, str], *, faults: bool = False) -> None:
    """Raise Found if a listener does not answer a valid request, or with faults one of several."""
    for attempt in range(20 if faults else 1):
        try:
            _check_alive(addresses, 1 if faults else 10)
            return
        except Found:
            if not faults or attempt == 19:
                raise


def _check_alive(addresses: dict[str, str], wait_s: float) -> None:
    sent = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    for plane in HTTP_PLANES:
        answer = answer_to(addresses[plane], [sent], wait_s)
        if not answer.startswith(b"HTTP/1.1 4"):  # unknown path, no credentials, rate limit
            raise Found(f"the {plane} listener answers a good request with {answer[:80]!r}")
    settings = answer_to(addresses["grpc"], [_PREFACE + b"\0\0\0\4\0\0\0\0\0"], wait_s)
    if settings[3:4] != b"\4":
        raise Found("the gRPC listener begins no HTTP/2 connection")


def run(
    addresses: dict[str, str],
    seed: int,
    numbers: Iterator[int],
    *,
    show: Callable[[str], object],
    faults: bool = False,
) -> int:
    """Run the cases with some numbers; return their count. Raises Found with the case."""
    tried = 0
    for number in numbers:
        item = case(seed, number)
        try:
            check_answer(item, answer_to(addresses[item.plane], item.pieces), faults=faults)
            if number % 50 == 49:
                check_alive(addresses, faults=faults)
        except Found as result:
            raise Found(f"--seed {seed} --case {number}: {result}\n{str(item)[:3000]}") from None
        tried += 1
        if number % 1000 == 999:
            show(f"{number + 1} cases")
    check_alive(addresses, faults=faults)
    return tried


def _until(deadline: float) -> Iterator[int]:
    number = 0
    while time.monotonic() < deadline:
        yield number
        number += 1


def main() -> int:
    from benchmarks.serving import served

    parser = argparse.ArgumentParser(prog="python -m tools.soak.edge")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="ideal", help="how the exchange behaves")
    parser.add_argument("--case", type=int, help="this one alone")
    args = parser.parse_args()
    numbers = _until(time.monotonic() + 60 * args.minutes)
    with tempfile.TemporaryDirectory() as folder:
        journal = f"{folder}/edge.ndjson"
        with served("quickstart", "--journal", journal, "--preset", args.preset) as ready:
            try:
                item = iter((args.case,)) if args.case is not None else numbers
                faults = args.preset != "ideal"
                show = partial(print, flush=True)
                tried = run(ready, args.seed, item, show=show, faults=faults)
            except Found as result:
                print(result, file=sys.stderr)
                return 1
        replayed = subprocess.run([sys.executable, "-m", "sim", "replay", journal], check=False)
    print(f"{tried} cases, {'nothing found' if replayed.returncode == 0 else 'no replay'}")
    return replayed.returncode


if __name__ == "__main__":
    sys.exit(main())
