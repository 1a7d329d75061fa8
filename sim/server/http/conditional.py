"""Conditional requests for market data that the gateway lets caches keep (RFC 9110 §13).

An answer with Cache-Control has Last-Modified: the second at which its content was first seen,
without its own timestamp. A client that sends that second gets 304 as long as the content is the
same. Content that changes twice within one second gets no 304, because a second cannot
distinguish the two.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from sim.kernel.instants import NS_PER_S
from sim.server.http.response import http_date

_REMEMBERED = 64  # bodies; a frequent answer is one object that is encoded once
_STAMP = re.compile(rb'"transactTime":"[^"]*"')
_KEPT_MAX = 4096  # addresses; limited, because clients can send any


class ContentVersion(NamedTuple):
    """The content of an address: its fingerprint, the second since which it is the same, also as an
    HTTP date, and whether other content was seen in that second.
    """

    content: bytes
    since: int
    date: str
    ambiguous: bool


class Modifications:
    """The instant since which each address has its present content."""

    def __init__(self) -> None:
        self._seen: dict[str, ContentVersion] = {}

    def since(self, target: str, body: bytes, second: int) -> ContentVersion:
        """Note the content of an address at a second, and return since when it is the same."""
        content = _fingerprint(body)
        before = self._seen.get(target)
        if before is not None and before.content == content and before.since <= second:
            return before
        if len(self._seen) >= _KEPT_MAX:
            self._seen.clear()
        ambiguous = before is not None and before.since >= second
        version = ContentVersion(content, second, http_date(second * NS_PER_S), ambiguous)
        self._seen[target] = version
        return version


@lru_cache(maxsize=_REMEMBERED)
def _fingerprint(body: bytes) -> bytes:
    return blake2b(_STAMP.sub(b"", body), digest_size=16).digest()


def is_unchanged(version: ContentVersion, asked: str) -> bool:
    """Whether If-Modified-Since is the second of the present content; a malformed date is not."""
    if not asked:
        return False
    try:
        at = int(parsedate_to_datetime(asked).timestamp())
    except (ValueError, TypeError, OverflowError):
        return False
    return at >= version.since and not version.ambiguous
