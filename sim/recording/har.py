"""HAR files: a browser or any proxy as recorder (HAR 1.2; Chromium's WebSocket messages too).

A HAR names no planes. A host is the plane that knows most of its requests; what no plane knows
(images, scripts, other services) is left out and counted in the warning. Lines stand as the
recorder writes them: by the instant at which they were complete, and without secrets, so that no
report shows one.

| Exported by | Peculiar |
|---|---|
| Chromium | `_webSocketMessages`; status 0 of what was blocked; header names such as `:path` |
| Firefox | offsets of the local zone in instants; no bodies of what was cached |
| mitmproxy | `time` of the whole, bodies that are no text in base64 |
"""

from __future__ import annotations

import base64
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from msgspec import DecodeError, json
from msgspec.structs import replace

from sim.api.pipeline.routing import Match, Router
from sim.contract.contract import PLANES, load_contract
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant, format_instant, parse_instant
from sim.recording.files import (
    FORMAT,
    Entry,
    Frame,
    Header,
    Message,
    Plane,
    Recording,
    UnreadableRecording,
    body_value,
)
from sim.recording.fingerprints import Fingerprints

_SIZE_MAX = 512 << 20
_WRONG = (
    *(DecodeError, KeyError, TypeError, AttributeError, ValueError, RecursionError),
    *(OverflowError, IndexError),
)


def read_har(path: Path) -> Recording:
    """Read a HAR file. Raises UnreadableRecording and OSError."""
    if path.stat().st_size > _SIZE_MAX:
        raise UnreadableRecording(f"{path}: larger than {_SIZE_MAX >> 20} MiB")
    try:
        exported = json.decode(path.read_bytes())["log"]["entries"]
        planes = _planes(exported)
        entries = _in_order(exported, planes)
    except _WRONG as error:
        raise UnreadableRecording(f"{path}: this is no HAR file: {error!r}") from None
    left_out = sum(urlsplit(one["request"]["url"]).netloc not in planes for one in exported)
    warning = f"{path}: {left_out} requests to other services are left out" if left_out else ""
    upstream: dict[str, str] = {plane: f"https://{host}" for host, plane in planes.items()}
    return Recording(Header(FORMAT, upstream=upstream, note=path.name), entries, warning)


def _in_order(exported: list[dict[str, Any]], planes: dict[str, Plane]) -> list[Entry]:
    """Every line, by the instant at which it was complete."""
    secrets, lines = Fingerprints(), list[tuple[Instant, Entry]]()
    for stream, one in enumerate(exported, start=1):
        plane = planes.get(urlsplit(one["request"]["url"]).netloc)
        if plane is not None:
            lines += secrets.settled(partial(_entries, one, plane, stream, secrets))
    lines.sort(key=lambda line: line[0])  # stable: what came at once stays in its order
    return [replace(entry, n=n) for n, (_, entry) in enumerate(lines, start=1)]


def _planes(exported: list[dict[str, Any]]) -> dict[str, Plane]:
    """The plane of each host that is one of ours."""
    contract = load_contract()
    routers = {plane: Router(contract.routes(plane)) for plane in PLANES}
    votes: dict[str, Counter[Plane]] = {}
    for one in exported:
        url = urlsplit(one["request"]["url"])
        counter = votes.setdefault(url.netloc, Counter())
        for plane, router in routers.items():
            if isinstance(router.match(one["request"]["method"], url.path), Match):
                counter[plane] += 1
    return {host: counter.most_common(1)[0][0] for host, counter in votes.items() if counter}


def _entries(
    one: dict[str, Any], plane: Plane, stream: int, secrets: Fingerprints
) -> list[tuple[Instant, Entry]]:
    """The call of an entry, or the stream that it became, each line with its instant."""
    request, response = one["request"], one["response"]
    url, began = urlsplit(request["url"]), parse_instant(str(one["startedDateTime"]))
    asked = Message(
        method=request["method"],
        path=secrets.text(url.path),
        query=secrets.query(url.query),
        headers=secrets.headers(_headers(request)),
        body=_redacted(secrets, _posted(request.get("postData") or {})),
    )
    at = format_instant(began)
    messages = one.get("_webSocketMessages")
    if messages is None:
        done = began + max(0, round(float(one.get("time") or 0) * NS_PER_MS))
        answered = Message(
            status=int(response["status"]),
            headers=secrets.headers(_headers(response)),
            body=_answered(secrets, response),
            at=format_instant(done),
        )
        came = answered if answered.status else None
        entry = Entry(0, at, plane, url.netloc, asked, came, cut=came is None)
        return [(done, entry)]
    opened = {"path": asked.path, "request": {"query": asked.query, "headers": asked.headers}}
    lines = [(began, Entry(0, at, plane, url.netloc, stream=stream, opened=opened))]
    for message in messages:
        frame = Frame(
            "client" if message["type"] == "send" else "service",
            _redacted(secrets, str(message["data"]).encode()),
        )
        came_at = round(float(message["time"]) * NS_PER_S) if "time" in message else began
        text = format_instant(came_at)
        lines.append((came_at, Entry(0, text, plane, url.netloc, stream=stream, frame=frame)))
    return lines


def _redacted(secrets: Fingerprints, body: bytes) -> Any:
    value = body_value(body)
    return secrets.named_text(value) if isinstance(value, str) else secrets.json(value)


def _answered(secrets: Fingerprints, response: dict[str, Any]) -> Any:
    """The body of an answer. A browser exports none of what its page never read, and some exports
    none at all: then only its length is known, or that there was one (-1).
    """
    content, headers = response.get("content") or {}, dict(_headers(response))
    length = {name.lower(): value for name, value in headers.items()}.get("content-length", "")
    size = int(length) if length.isdecimal() else int(content.get("size") or 0)
    if not content.get("text") and size:
        return {"left_out": size}
    return _redacted(secrets, _content(content))


def _posted(posted: dict[str, Any]) -> bytes:
    """What was sent: its text, or the fields of a form, which some exports list instead."""
    text = posted.get("text")
    if text:
        return str(text).encode()
    fields = posted.get("params") or []
    return urlencode([(one["name"], one.get("value", "")) for one in fields]).encode()


def _headers(message: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (one["name"], one["value"]) for one in message["headers"] if not one["name"].startswith(":")
    ]


def _content(content: dict[str, Any]) -> bytes:
    text = str(content.get("text") or "")
    if content.get("encoding") == "base64":
        return base64.b64decode("".join(text.split()), validate=True)
    return text.encode()
