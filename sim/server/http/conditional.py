"""Conditional requests for market data that the gateway lets caches keep (RFC 9110 §13).

An answer with Cache-Control carries Last-Modified: the second at which its content was first seen,
its own time stamp apart. A client that names that second is answered 304 as long as the content is
the same. What changed twice within one second has no such answer, because a second cannot tell the
two apart.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from sim.kernel.instants import NS_PER_S
from sim.server.http.response import http_date

_REMEMBERED = 64  # bodies; what is answered often is one object, encoded once
_STAMP = re.compile(rb'"transactTime":"[^"]*"')
_KEPT_MAX = 4096  # addresses; clients could invent them without end


class ContentVersion(NamedTuple):
    """The content of an address: its fingerprint, since which second, also as a date of HTTP, and
    whether another content was seen in that second.
    """

    content: bytes
    since: int
    date: str
    ambiguous: bool


class Modifications:
    """Since when each address has had its present content."""

    def __init__(self) -> None:
        self._seen: dict[str, ContentVersion] = {}

    def since(self, target: str, body: bytes, second: int) -> ContentVersion:
        """Note the content of an address at a second, and return since when it is there."""
        content = _fingerprint(body)
        known = self._seen.get(target)
        if known is not None and known.content == content and known.since <= second:
            return known
        if len(self._seen) >= _KEPT_MAX:
            self._seen.clear()
        ambiguous = known is not None and known.since >= second
        seen = ContentVersion(content, second, http_date(second * NS_PER_S), ambiguous)
        self._seen[target] = seen
        return seen


@lru_cache(maxsize=_REMEMBERED)
def _fingerprint(body: bytes) -> bytes:
    return blake2b(_STAMP.sub(b"", body), digest_size=16).digest()


def is_unchanged(seen: ContentVersion, asked: str) -> bool:
    """Whether If-Modified-Since names the content that is there; a malformed date names none."""
    if not asked:
        return False
    try:
        at = int(parsedate_to_datetime(asked).timestamp())
    except (ValueError, TypeError, OverflowError):
        return False
    return at >= seen.since and not seen.ambiguous
