"""HAR files: recordings of a browser or a proxy (HAR 1.2, and Chromium's WebSocket messages).

A HAR has no planes. Each host is assigned to the plane that knows most of its requests; requests
that no plane knows (images, scripts, other services) are left out and counted in the warning. Lines
have the same form as those of the recorder: ordered by the instant of their completion, and without
secrets, so that no report shows one.

| Exported by | Difference |
|---|---|
| Chromium | `_webSocketMessages`; status 0 for blocked requests; header names such as `:path` |
| Firefox | offsets of the local zone in instants; no bodies of cached answers |
| mitmproxy | only the total in `time`, bodies that are not text in base64 |
"""

from __future__ import annotations

import base64
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from msgspec import DecodeError, Raw, Struct, field, json
from msgspec.structs import replace

from sim.api.pipeline.routing import Match
from sim.evidence.recording.files import (
    FORMAT,
    Frame,
    Plane,
    RecordedLine,
    RecordedMessage,
    Recording,
    RecordingHeader,
    UnreadableRecording,
    body_value,
)
from sim.evidence.recording.recorded_events import routers
from sim.evidence.recording.redactor import Redactor
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant, format_instant, parse_instant
from sim.read.layout import counted

_SIZE_MAX = 512 << 20


# ---- the parts of a HAR that are read


class _Pair(Struct, gc=False):
    """A header, or a field of a form."""

    name: str
    value: str = ""


class _PostData(Struct, gc=False):
    """The body of a request: its text, or the fields of a form, which some exports list instead."""

    text: str | None = None
    params: list[_Pair] | None = None


class _HarRequest(Struct, gc=False):
    method: str
    url: str
    headers: list[_Pair]
    posted: _PostData | None = field(default=None, name="postData")


class _Content(Struct, gc=False):
    text: str | None = None
    encoding: str | None = None
    size: int | None = None


class _Response(Struct, gc=False):
    status: int
    headers: list[_Pair]
    content: _Content | None = None


class _SocketMessage(Struct, gc=False):
    """A message of a WebSocket; `time` is in seconds since 1970."""

    type: str
    data: str
    time: float | None = None


class _Exchange(Struct, gc=False):
    """An entry; `time` is its duration in milliseconds."""

    started: str = field(name="startedDateTime")
    request: _HarRequest
    response: _Response
    time: float | None = None
    messages: list[_SocketMessage] | None = field(default=None, name="_webSocketMessages")

    @property
    def host(self) -> str:
        """The host of the request, with its port. ValueError if the URL has none."""
        return urlsplit(self.request.url).netloc


class _Log(Struct):
    entries: list[Raw]


class _Har(Struct):
    log: _Log


_HAR = json.Decoder(_Har, strict=False)
_read_exchange = json.Decoder(_Exchange, strict=False).decode
_ODD = (ValueError, OverflowError, RecursionError)


def read_har(path: Path) -> Recording:
    """Read a HAR file. An entry that cannot be understood is left out, with a warning. Raises
    UnreadableRecording if that is every entry, and OSError.
    """
    if path.stat().st_size > _SIZE_MAX:
        raise UnreadableRecording(f"{path}: larger than {_SIZE_MAX >> 20} MiB")
    try:
        exported = _HAR.decode(path.read_bytes().removeprefix(BOM_UTF8)).log.entries
    except RecursionError:
        raise UnreadableRecording(f"{path}: not a HAR file: nested too deeply") from None
    except (DecodeError, UnicodeDecodeError) as error:
        raise UnreadableRecording(f"{path}: not a HAR file: {error}") from None
    odd: dict[int, str] = {}  # reasons by the numbers of entries, counted from 1
    exchanges = dict(_exchanges(exported, odd))
    planes = _planes(exchanges.values())
    entries = _in_order(exchanges, planes, odd)
    if odd and len(odd) == len(exported):
        number, reason = next(iter(odd.items()))
        raise UnreadableRecording(f"{path}: entry {number}: {reason}")
    others = sum(exchange.host not in planes for exchange in exchanges.values())
    verb = "is" if others == 1 else "are"
    requests = f"{counted(others, 'request')} to other services {verb} left out"
    warnings = [requests] if others else []
    warnings += (f"entry {number} is left out: {reason}" for number, reason in sorted(odd.items()))
    warning = "\n".join(f"{path}: {line}" for line in warnings)
    upstream: dict[str, str] = {plane: f"https://{host}" for host, plane in planes.items()}
    return Recording(RecordingHeader(FORMAT, upstream=upstream, note=path.name), entries, warning)


def _exchanges(exported: list[Raw], odd: dict[int, str]) -> Iterator[tuple[int, _Exchange]]:
    """Yield the entries with their numbers. `odd` gets the reason of each one that is left out."""
    for number, raw in enumerate(exported, start=1):
        try:
            exchange = _read_exchange(raw)
            urlsplit(exchange.request.url), parse_instant(exchange.started)
        except _ODD as error:
            odd[number] = str(error)
        else:
            yield number, exchange


def _in_order(
    exchanges: dict[int, _Exchange], planes: dict[str, Plane], odd: dict[int, str]
) -> list[RecordedLine]:
    """Return every line, ordered by the instant at which it was complete. `odd` gets the reason of
    each entry that is left out.
    """
    secrets, lines = Redactor(), list[tuple[Instant, RecordedLine]]()
    for number, exchange in exchanges.items():
        plane = planes.get(exchange.host)
        if plane is not None:
            try:
                lines += secrets.settled(partial(_entries, exchange, plane, number, secrets))
            except _ODD as error:
                odd[number] = str(error)
    # the sort is stable: lines of the same instant keep their order
    lines.sort(key=lambda line: line[0])
    return [replace(entry, n=n) for n, (_, entry) in enumerate(lines, start=1)]


def _planes(exchanges: Iterable[_Exchange]) -> dict[str, Plane]:
    """Return the plane of each host that serves one."""
    votes: dict[str, Counter[Plane]] = {}
    for exchange in exchanges:
        url = urlsplit(exchange.request.url)
        counter = votes.setdefault(url.netloc, Counter())
        for plane, router in routers().items():
            if isinstance(router.match(exchange.request.method, url.path), Match):
                counter[plane] += 1
    return {host: counter.most_common(1)[0][0] for host, counter in votes.items() if counter}


def _entries(
    exchange: _Exchange, plane: Plane, stream: int, secrets: Redactor
) -> list[tuple[Instant, RecordedLine]]:
    """Yield the call of an entry, or the lines of its stream, each with its instant."""
    request, response = exchange.request, exchange.response
    url, began = urlsplit(request.url), parse_instant(exchange.started)
    asked = RecordedMessage(
        method=request.method,
        path=secrets.text(url.path),
        query=secrets.query(url.query),
        headers=secrets.headers(_headers(request.headers)),
        body=secrets.body(body_value(_posted(request.posted or _PostData()))),
    )
    at = format_instant(began)
    if exchange.messages is None:
        done = began + max(0, round((exchange.time or 0) * NS_PER_MS))
        answered = RecordedMessage(
            status=response.status,
            headers=secrets.headers(_headers(response.headers)),
            body=_answer_body(secrets, response),
            at=format_instant(done),
        )
        came = answered if answered.status else None
        entry = RecordedLine(0, at, plane, url.netloc, asked, came, cut=came is None)
        return [(done, entry)]
    opened = {"path": asked.path, "request": {"query": asked.query, "headers": asked.headers}}
    lines = [(began, RecordedLine(0, at, plane, url.netloc, stream=stream, opened=opened))]
    for message in exchange.messages:
        frame = Frame(
            "client" if message.type == "send" else "service",
            secrets.body(body_value(message.data.encode())),
        )
        came_at = began if message.time is None else round(message.time * NS_PER_S)
        text = format_instant(came_at)
        lines.append(
            (came_at, RecordedLine(0, text, plane, url.netloc, stream=stream, frame=frame))
        )
    return lines


def _answer_body(secrets: Redactor, response: _Response) -> Any:
    """Return the body of an answer. Browsers do not export bodies that the page never read, and
    some exports have none at all: then only the length is known, or -1.
    """
    content, headers = response.content or _Content(), dict(_headers(response.headers))
    length = {name.lower(): value for name, value in headers.items()}.get("content-length", "")
    size = int(length) if length.isdecimal() else content.size or 0
    if not content.text and size:
        return {"left_out": size}
    return secrets.body(body_value(_content(content)))


def _posted(posted: _PostData) -> bytes:
    if posted.text:
        return posted.text.encode()
    return urlencode([(pair.name, pair.value) for pair in posted.params or ()]).encode()


def _headers(pairs: list[_Pair]) -> list[tuple[str, str]]:
    return [(pair.name, pair.value) for pair in pairs if not pair.name.startswith(":")]


def _content(content: _Content) -> bytes:
    text = content.text or ""
    if content.encoding == "base64":
        return base64.b64decode("".join(text.split()), validate=True)
    return text.encode()
