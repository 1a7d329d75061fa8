"""One HTTP call with the standard library, whatever it is answered."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.error import HTTPError


class Answer(NamedTuple):
    """Status, headers and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


def call(
    url: str,
    body: object = None,
    *,
    verb: str | None = None,
    headers: Mapping[str, str] | None = None,
    ca: str | None = None,
    timeout: float = 10,
) -> Answer:
    """The answer to a call: GET without a body, else POST, unless a verb is given. A body that is
    not bytes is sent as JSON. `ca` is the certificate file of the authority to trust. OSError where
    there is no answer.
    """
    sent = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} | sent
    context = ssl.create_default_context(cafile=ca) if ca else None
    request = urllib.request.Request(url, body, sent, method=verb)
    try:
        with urllib.request.urlopen(request, timeout=timeout, context=context) as answer:
            return Answer(answer.status, answer.headers, answer.read())
    except HTTPError as refused:
        with refused:
            return Answer(refused.code, refused.headers, refused.read())


def status(url: str, **options: Any) -> int:
    """The status that a call is answered with."""
    return call(url, **options).status
