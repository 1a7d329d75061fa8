"""Secrets become fingerprints before anything is written.

A secret is found in three ways, because traffic repeats what it should not: by the **name** of its
field or header (`Authorization`, `ssn`, `access_token`, …), by its **shape** (a JWT, a PEM block,
an SSN with dashes, `Bearer …`), and by its **value**: what was a secret once is one wherever it
comes again, in another field, a path or the text of an error.

A fingerprint is `fp:` and sixteen hexadecimal digits of an HMAC-SHA256 with a key that lives as
long as the recorder. Equal secrets have equal fingerprints within one recording, so that it still
shows who called; nothing leads back from them, and two recordings cannot be linked.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Any
from urllib.parse import parse_qsl, urlencode

# Names are compared without case, "-" and "_".
_NAMES = frozenset(
    (
        *("authorization", "proxyauthorization", "cookie", "setcookie", "xapikey", "apikey"),
        *("xpmaccesskey", "xpmsignature", "pmaccesskey", "pmsignature", "accesskey", "signature"),
        *("accesstoken", "refreshtoken", "idtoken", "token", "sessiontoken", "clientassertion"),
        *("assertion", "clientsecret", "secret", "secretkey", "secretkeybase64", "privatekey"),
        *("privatekeypem", "password", "passphrase", "webhooksecret", "signingsecret"),
        *("webhooksignature", "keyid", "ssn", "ssnlast4", "ssn4", "socialsecuritynumber", "taxid"),
        *("tin", "itin", "participanttoken", "participantadmintoken", "docvtransactiontoken"),
        *("bearertoken", "jwt", "simcontroltoken", "controltoken", "issuedid", "nationalid"),
    )
)
_NAMED = re.compile(r"(?:signature|secret|password|passphrase|assertion|privatekey|apikey)$|token$")
# Names that end like a secret's and are none: places in lists, and kinds.
_HARMLESS = frozenset(
    ("pagetoken", "nextpagetoken", "previouspagetoken", "tokentype", "clientassertiontype")
)
_SHAPES = re.compile(
    r"eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*"  # a JWT
    r"|-----BEGIN [A-Z ]+-----.*?-----END [A-Z ]+-----"
    r"|whsec_[A-Za-z0-9+/=_-]{8,}"
    r"|(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])"  # an SSN
    r"|(?<=[Bb]earer )[^\s\"',;]+",
    re.DOTALL,
)
# `"ssn": "523…`, `ssn=523…`, `<ssn>523…`: a name, and its value up to where it ends.
_NAMED_VALUE = re.compile(
    r"""(?P<before>["'<]?\b(?P<name>[A-Za-z][\w-]{1,40})["']?\s*(?:[:=]|>)\s*["']?)"""
    r"""(?P<value>[^"'\s,;&<>{}\[\]]+)"""
)
# What a value may be in a text: a long word with the signs of base64 and URLs, or a part of it.
_WORDS = (re.compile(r"[\w+/=.~-]{6,}"), re.compile(r"[\w-]{6,}"))
_LEAST = 6  # a shorter value is not looked for elsewhere: it would be found in everything
_MOST = 20_000  # values remembered; the oldest go first
_PREFIX = "fp:"


class Fingerprints:
    """Replaces secrets; remembers the values that it has met."""

    def __init__(self, key: bytes = b"") -> None:
        self._key = key or secrets.token_bytes(32)
        self._seen: dict[str, str] = {}

    def of(self, secret: str) -> str:
        """The fingerprint of a secret."""
        digest = hmac.new(self._key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return _PREFIX + digest.hexdigest()[:16]

    def headers(self, pairs: list[tuple[str, str]]) -> dict[str, str]:
        """Headers by name in lower case, as they may be written; repeated ones are joined."""
        redacted: dict[str, str] = {}
        for name, value in pairs:
            name = name.lower()
            text = self._secret(value) if is_secret(name) else self.text(value)
            redacted[name] = f"{redacted[name]}, {text}" if name in redacted else text
        return redacted

    def query(self, text: str) -> str:
        """A query or form, as it may be written. What needs no change keeps its spelling."""
        pairs = parse_qsl(text, keep_blank_values=True, errors="surrogateescape")
        if not any(is_secret(name) for name, _ in pairs):
            return self.text(text)
        redacted = [
            (name, self._secret(value) if is_secret(name) else self.text(value))
            for name, value in pairs
        ]
        return urlencode(redacted, safe=":", errors="surrogateescape")

    def json(self, value: Any, name: str = "") -> Any:
        """A JSON value as it may be written; `name` is that of its field."""
        if isinstance(value, dict):
            secret = is_secret(name)  # then everything in it is
            return {
                self.text(key): self.json(inner, name if secret else key)
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [self.json(inner, name) for inner in value]
        if isinstance(value, bool) or value is None:
            return value
        if is_secret(name):
            return self._secret(str(value)) if value != "" else value
        if isinstance(value, str):
            return self.text(value)
        return self._seen.get(str(value), value)

    def named_text(self, text: str) -> str:
        """A text as it may be written that may be a document: JSON lines, JSON that was cut, XML, a
        form. The values of secret names in it are secrets too.
        """

        def shown(match: re.Match[str]) -> str:
            value = match["value"]
            return match["before"] + (self._secret(value) if is_secret(match["name"]) else value)

        return self.text(_NAMED_VALUE.sub(shown, text))

    def text(self, text: str) -> str:
        """Text as it may be written: secrets in it by value and by shape."""
        if self._seen and len(text) >= _LEAST:
            seen = self._seen
            for words in _WORDS:
                text = words.sub(lambda match: seen.get(match[0], match[0]), text)
        return _SHAPES.sub(lambda match: self._secret(match[0]), text)

    def _secret(self, value: str) -> str:
        """The fingerprint of a value, which is looked for everywhere from now on. A scheme such as
        "Bearer" stays readable.
        """
        scheme, blank, rest = value.partition(" ")
        if blank and scheme.lower() in ("bearer", "basic", "digest"):
            return f"{scheme} {self._secret(rest)}"
        if value.startswith(_PREFIX):
            return value
        fingerprint = self.of(value)
        bare = value.replace("-", "")
        for spelling in {value, bare} if bare.isdecimal() and len(bare) == 9 else {value}:
            if len(spelling) >= _LEAST and spelling not in self._seen:
                if len(self._seen) >= _MOST:
                    del self._seen[next(iter(self._seen))]
                self._seen[spelling] = fingerprint
        return fingerprint


def is_secret(name: str) -> bool:
    """Whether a field or header of this name holds a secret."""
    plain = name.lower().replace("-", "").replace("_", "")
    if plain in _HARMLESS:
        return False
    return plain in _NAMES or _NAMED.search(plain) is not None
