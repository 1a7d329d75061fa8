"""Resume tokens: a point in a stream as 576 opaque bytes (§6.2, rules S2-S4).

Only the exchange that issued a token can read it. A token consists of a tag and a masked body. The
tag is a keyed hash of the plain body and of what the token is bound to: kind of stream, firm and
filters; the key depends on the environment. The keystream that masks the body is derived from the
tag. So equal points give equal tokens, nothing is stored or drawn at random, and a token of another
stream or with a changed bit is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b, shake_256
from hmac import compare_digest
from typing import NamedTuple

from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import Instant, Span

TOKEN_BYTES = 576
_TAG_BYTES = 32
_BODY_BYTES = TOKEN_BYTES - _TAG_BYTES
_FIELD_BYTES = 8
_REMEDY = (
    "send the last token of the same stream type, firm and filters, unchanged; or start without one"
)


class ResumePoint(NamedTuple):
    """A point in a stream: every row below `seq`, and every row up to `at`, was delivered."""

    seq: int
    at: Instant


class ResumeTokens:
    """Issues and reads the tokens of one environment. `key` is 32 secret bytes."""

    def __init__(self, key: bytes) -> None:
        self._tag_key = blake2b(b"tag", digest_size=32, key=key).digest()
        self._mask_key = blake2b(b"mask", digest_size=32, key=key).digest()

    def issue(self, binding: bytes, point: ResumePoint) -> bytes:
        """Return the token for a point in the stream that `binding` identifies."""
        plain = point.seq.to_bytes(_FIELD_BYTES, "big") + point.at.to_bytes(_FIELD_BYTES, "big")
        body = plain.ljust(_BODY_BYTES, b"\0")
        tag = self._tag(binding, body)
        return tag + self._masked(tag, body)

    def read(self, token: bytes, binding: bytes, *, now: Instant, lifetime: Span) -> ResumePoint:
        """Return the point of a token.

        Refuses a token of another stream, a changed one and one older than `lifetime`.
        """
        tag = token[:_TAG_BYTES]
        body = self._masked(tag, token[_TAG_BYTES:]) if len(token) == TOKEN_BYTES else b""
        if not body or not compare_digest(tag, self._tag(binding, body)):
            raise InvalidRequest("invalid resume_token", rule="S3", remedy=_REMEDY)
        seq, at = body[:_FIELD_BYTES], body[_FIELD_BYTES : 2 * _FIELD_BYTES]
        point = ResumePoint(int.from_bytes(seq, "big"), int.from_bytes(at, "big"))
        if point.at > now or now - point.at > lifetime:
            remedy = "start without a token or from a resume_time"
            raise InvalidRequest("resume_token has expired", rule="S3", remedy=remedy)
        return point

    def _tag(self, binding: bytes, body: bytes) -> bytes:
        digest = blake2b(binding, digest_size=_TAG_BYTES, key=self._tag_key)
        digest.update(body)
        return digest.digest()

    def _masked(self, tag: bytes, body: bytes) -> bytes:
        keystream = shake_256(self._mask_key + tag).digest(_BODY_BYTES)
        masked = int.from_bytes(body, "big") ^ int.from_bytes(keystream, "big")
        return masked.to_bytes(_BODY_BYTES, "big")


def binding_of(*names: str, symbols: Iterable[str]) -> bytes:
    """Return 32 bytes that identify a stream by names and by its set of symbols."""
    digest = blake2b(digest_size=32)
    for group in (names, sorted(set(symbols))):
        digest.update(len(group).to_bytes(4, "big"))
        for name in group:
            raw = name.encode()
            digest.update(len(raw).to_bytes(4, "big"))
            digest.update(raw)
    return digest.digest()
