"""HAR files: a browser or any proxy as recorder (HAR 1.2; Chromium's WebSocket messages too).

A HAR names no planes. A host is the plane that knows most of its requests; what no plane knows
(images, scripts, other services) is left out and counted in the warning.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import DecodeError, json

from sim.api.pipeline.routing import Match, Router
from sim.contract.contract import PLANES, load_contract
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

_SIZE_MAX = 512 << 20


def read_har(path: Path) -> Recording:
    """Read a HAR file. Raises UnreadableRecording and OSError."""
    if path.stat().st_size > _SIZE_MAX:
        raise UnreadableRecording(f"{path}: larger than {_SIZE_MAX >> 20} MiB")
    try:
        exported = json.decode(path.read_bytes())["log"]["entries"]
        planes = _planes(exported)
        entries: list[Entry] = []
        for one in exported:
            plane = planes.get(urlsplit(one["request"]["url"]).netloc)
            if plane is not None:
                entries += _entries(one, plane, len(entries) + 1)
    except (DecodeError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise UnreadableRecording(f"{path}: this is no HAR file: {error!r}") from None
    left_out = sum(urlsplit(one["request"]["url"]).netloc not in planes for one in exported)
    warning = f"{path}: {left_out} requests to other services are left out" if left_out else ""
    upstream: dict[str, str] = {plane: f"https://{host}" for host, plane in planes.items()}
    return Recording(Header(FORMAT, upstream=upstream, note=path.name), entries, warning)


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


def _entries(one: dict[str, Any], plane: Plane, first: int) -> Iterator[Entry]:
    """The call of an entry, or the stream that it became."""
    request, response = one["request"], one["response"]
    url, at = urlsplit(request["url"]), str(one["startedDateTime"])
    asked = Message(
        method=request["method"],
        path=url.path,
        query=url.query,
        headers=_headers(request),
        body=body_value(str((request.get("postData") or {}).get("text", "")).encode()),
    )
    messages = one.get("_webSocketMessages")
    if messages is None:
        request_line = Message(
            status=int(response["status"]),
            headers=_headers(response),
            body=body_value(_content(response.get("content") or {})),
            at=at,
        )
        answered = request_line if request_line.status else None
        yield Entry(first, at, plane, url.netloc, asked, answered, cut=answered is None)
        return
    opened = {"path": url.path, "request": {"query": url.query, "headers": asked.headers}}
    yield Entry(first, at, plane, url.netloc, stream=first, opened=opened)
    for number, message in enumerate(messages, start=first + 1):
        frame = Frame(
            "client" if message["type"] == "send" else "service",
            body_value(str(message["data"]).encode()),
        )
        yield Entry(number, at, plane, url.netloc, stream=first, frame=frame)


def _headers(message: dict[str, Any]) -> dict[str, str]:
    return {header["name"].lower(): header["value"] for header in message["headers"]}


def _content(content: dict[str, Any]) -> bytes:
    text = str(content.get("text", ""))
    return base64.b64decode(text) if content.get("encoding") == "base64" else text.encode()
