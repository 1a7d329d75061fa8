"""Replaces secrets by fingerprints before anything is written.

A secret is found in three ways, because traffic repeats secrets: by the **name** of its field or
header (`Authorization`, `ssn`, `access_token`, …), also within an address, a document or a form in
a value; by its **shape** (a JWT, a PEM block, an SSN, `Bearer …`); and by its **value**: once a
value is known to be a secret, it is replaced everywhere, in other fields, in paths and in the text
of errors, and also earlier in the same line.

A fingerprint is `fp:` and sixteen hexadecimal digits of an HMAC-SHA256 with a key that exists only
in the recorder's memory. Equal secrets have equal fingerprints within one recording, so that it
shows who called. The secret cannot be computed from them, and two recordings cannot be linked.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode

from msgspec import DecodeError, json

# Names are compared without case, "-", "_" and blanks, in singular and plural.
_NAMES = frozenset(
    (
        *("auth", "xauth", "accesskey", "xpmaccesskey", "pmaccesskey", "keyid", "jwt", "bearer"),
        *("ssn", "ssnlast4", "ssn4", "socialsecuritynumber", "taxid", "tin", "itin"),
        *("issuedid", "nationalid", "pin", "passwd", "pwd"),
        *("qrcode", "qr"),  # an image of an address that contains a token
    )
)
_NAMED = re.compile(
    r"secret|password|passphrase|privatekey|apikey|authorization|credential|cookie"
    r"|(?:signature|assertion|accesstoken|refreshtoken|idtoken|bearertoken|sessiontoken)"
    r"|(?:token|jwt|authkey|authcode|authentication)$"
)
# Names that look like a secret's but are not: cursors, types, lifetimes.
_HARMLESS = re.compile(
    r"^(?:next|previous)?pagetokens?$"
    r"|(?:type|types|algorithm|alg|format|method|methods|expiry|expires|expiresin|expiresat"
    r"|expiration|ttl|ttlseconds|life|lifetime|length|count|name|endpoint|url|uri|supported)$"
)
KEY_PARTS = frozenset(("d", "p", "q", "dp", "dq", "qi", "k", "oth"))  # of a JSON web key
SHAPES = re.compile(
    r"eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*"  # a JWT
    r"|ZXlK[\w+/=-]{20,}|LS0tLS1CRUdJTi[\w+/=-]*"  # in base64: a JWT, a PEM block
    r"|-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)"
    r"|whsec_[A-Za-z0-9+/=_-]{8,}"
    r"|(?<![\d-])\d{3}([- ])\d{2}\1\d{4}(?![\d-])"  # an SSN
    r"|(?<=[Bb]earer )[^\s\"',;]+"
    r"|(?<=[Bb]asic )[A-Za-z0-9+/=]{8,}"
    r"|data:image/[\w.+-]+;base64,[\w+/=-]+"  # a QR code, whatever its field is called
    r"|(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@)",  # user and password in an address
    re.DOTALL,
)
SIGNS = ("eyJ", "ZXlK", "LS0tLS1", "-----BEGIN ", "whsec_", "earer ", "asic ", "://", "data:image/")
# In a JSON value or a header: a quoted name (its quotes may be escaped), or one with an equals
# sign. Prose such as "invalid token: expired" names no secret.
QUOTED = re.compile(
    r"""(?P<before>\\*["'](?P<name>[A-Za-z][\w -]{1,40})\\*["']\s*:\s*\\*["']?)"""
    r"""(?P<value>[^"'\s,;&<>{}\[\]\\]+)"""
    r"""|(?P<before2>\b(?P<name2>[A-Za-z][\w-]{1,40})=\\*["']?)"""
    r"""(?P<value2>[^"'\s,;&<>{}\[\]\\]+)"""
)
# In a text body: also `ssn: 523…`, `<ssn>523…`, `password is: x`.
NAMED_VALUE = re.compile(
    r"""(?P<before>["'<]?\b(?P<name>[A-Za-z][\w-]{1,40})["']?(?: is)?\s*(?:[:=]|>)\s*["']?)"""
    r"""(?P<value>[^"'\s,;&<>{}\[\]]+)"""
)
# A part of a form with files: `name="client_secret"`, headers, an empty line, and the value.
PART = re.compile(
    r"""(?P<before>\bname="(?P<name>[^"\r\n]{1,60})"[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\n)"""
    r"""(?P<value>[^\r\n]+)"""
)
# A text without such a word contains no secret by name.
HINT = re.compile(
    r"token|secret|passw|passphrase|pwd|assertion|signature|api.?key|private.?key|access.?key"
    r"|auth|cookie|ssn|social|tax.?id|itin|\btin|jwt|credential|key.?id|pin\b|national|issued",
    re.IGNORECASE,
)


@lru_cache(maxsize=10_000)
def is_secret(name: str) -> bool:
    """Whether a field or header of this name holds a secret."""
    plain = name.lower().replace("-", "").replace("_", "").replace(" ", "")
    if plain in _NAMES or plain.removesuffix("s") in _NAMES:
        return True
    if _HARMLESS.search(plain):
        return False
    return _NAMED.search(plain) is not None or _NAMED.search(plain.removesuffix("s")) is not None


T = TypeVar("T")

# A possible value in a text: a long word of characters of base64 and URLs, or a part of it.
_WORDS = (re.compile(r"[\w+/=.~-]{6,}"), re.compile(r"[\w-]{6,}"))
_LEAST = 6  # a shorter value is not searched for elsewhere, because it would match everywhere
_MOST = 20_000  # known values; the oldest are removed first
_PREFIX = "fp:"
_SHORT = 200  # texts up to this many characters are cached
_PROTOCOL = "sec-websocket-protocol"  # browsers put tokens there, as they cannot set headers


class Redactor:
    """Replaces secrets by fingerprints, and remembers their values."""

    def __init__(self, key: bytes = b"") -> None:
        self._key = key or secrets.token_bytes(32)
        self._known: dict[str, str] = {}
        self._met = 0

    def settled(self, make: Callable[[], T]) -> T:
        """Return the result of `make` for a line. `make` is called again if the end of the line
        contained a secret that its beginning also contains.
        """
        met, line = self._met, make()
        return line if met == self._met else make()

    def body(self, value: Any, kind: str = "") -> Any:
        """Return a body without secrets; `kind` is its content type."""
        if not isinstance(value, str):
            return self.json(value)
        return self.query(value) if "form-urlencoded" in kind else self.named_text(value)

    def of(self, secret: str) -> str:
        """Return the fingerprint of a secret."""
        digest = hmac.new(self._key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return _PREFIX + digest.hexdigest()[:16]

    def headers(self, pairs: list[tuple[str, str]]) -> dict[str, str]:
        """Return headers by name in lower case, without secrets; repeated ones are joined."""
        redacted: dict[str, str] = {}
        for name, value in pairs:
            name = name.lower()
            if name == _PROTOCOL:
                text = self._protocols(value)
            else:
                secret = is_secret(name) or "session" in name
                text = self._secret(value) if secret else self.text(value)
            redacted[name] = f"{redacted[name]}, {text}" if name in redacted else text
        return redacted

    def _protocols(self, value: str) -> str:
        """Return the protocols of a socket; the one after a secret's name is a secret."""
        parts, secret = [part.strip() for part in value.split(",")], False
        for number, part in enumerate(parts):
            parts[number] = self._secret(part) if secret else self.text(part)
            secret = secret or is_secret(part)
        return ", ".join(parts)

    def query(self, text: str) -> str:
        """Return a query or form without secrets. Text that needs no change keeps its spelling."""
        pairs = parse_qsl(text, keep_blank_values=True, errors="surrogateescape")
        redacted = [
            (name, self._secret(value) if is_secret(name) else self.text(value))
            for name, value in pairs
        ]
        if redacted == pairs:
            return self.text(text)
        return urlencode(redacted, safe=":", errors="surrogateescape")

    def json(self, value: Any, name: str = "") -> Any:
        """Return a JSON value without secrets; `name` is the name of its field."""
        if isinstance(value, dict):
            return self._object(value, name)
        if isinstance(value, list):
            if len(value) == 2 and isinstance(value[0], str) and is_secret(value[0]):
                name = value[0]  # a pair of name and value
                return [name, self.json(value[1], name)]
            return [self.json(inner, name) for inner in value]
        if isinstance(value, bool) or value is None:
            return value
        if is_secret(name):
            return self._secret(str(value)) if value != "" else value
        if isinstance(value, str):
            return self.text(value)
        return self._known.get(str(value), value)

    def _object(self, value: dict[str, Any], name: str) -> dict[str, Any]:
        if is_secret(name):  # everything in a secret field is secret
            return {self._name(key): self.json(inner, name) for key, inner in value.items()}
        if "kty" in value:  # a JSON web key
            return {
                key: self.json(inner, "secret" if key in KEY_PARTS else key)
                for key, inner in value.items()
            }
        if "value" in value:  # {"name": "Authorization", "value": …}
            named = next((value[key] for key in ("name", "key") if key in value), None)
            if isinstance(named, str) and is_secret(named):
                value = {**value, "value": self.json(value["value"], named)}
        return {self._name(key): self.json(inner, key) for key, inner in value.items()}

    def named_text(self, text: str) -> str:
        """Return a text without secrets that may be a document: JSON lines, truncated JSON, XML or
        a form. The values of secret names in it are secrets too.
        """
        text = PART.sub(self._named, text)
        return self.text(NAMED_VALUE.sub(self._named, text))

    def text(self, text: str) -> str:
        """Return text without secrets, which are found by name, value and shape."""
        if len(text) < _LEAST:
            return text
        names, shapes, words = (_forms_known if len(text) <= _SHORT else _forms)(text)
        if names:
            text = self._inside(text)
        fingerprints = self._known
        if fingerprints and (names or not fingerprints.keys().isdisjoint(words)):
            for word in _WORDS:
                text = word.sub(lambda match: fingerprints.get(match[0], match[0]), text)
        return SHAPES.sub(lambda match: self._secret(match[0]), text) if shapes else text

    def _inside(self, text: str) -> str:
        """A text that names a secret: a document, an address or a form in a value."""
        if text[0] in "{[":
            try:
                inner = json.decode(text)
            except (DecodeError, RecursionError):
                pass
            else:
                redacted = self.json(inner)
                return text if redacted == inner else json.encode(redacted).decode()
        if "%" in text and (plain := unquote(text, errors="surrogateescape")) != text:
            redacted = self.text(plain)
            if redacted != plain:
                return redacted
        return QUOTED.sub(self._named, text)

    def _named(self, match: re.Match[str]) -> str:
        """Return a name and its value in a text, without secrets."""
        groups = match.groupdict()
        which = "2" if groups["name"] is None else ""
        before, name, value = (groups[part + which] for part in ("before", "name", "value"))
        if is_secret(name):
            return before + self._secret(value)
        return before + (QUOTED.sub(self._named, value) if "=" in value else value)

    def _name(self, key: str) -> str:
        """The name of a member as it may be written: most are one plain word."""
        return self._known.get(key, key) if key.isalnum() else self.text(key)

    def _secret(self, value: str) -> str:
        """Return the fingerprint of a value, which is replaced everywhere from now on. A scheme
        such as "Bearer" stays readable.
        """
        scheme, blank, rest = value.partition(" ")
        if blank and scheme.lower() in ("bearer", "basic", "digest"):
            return f"{scheme} {self._secret(rest)}"
        if value.startswith(_PREFIX):
            return value
        fingerprint = self.of(value)
        bare = value.replace("-", "")
        for spelling in {value, bare} if bare.isdecimal() and len(bare) == 9 else {value}:
            if len(spelling) >= _LEAST and spelling not in self._known:
                self._met += 1
                if len(self._known) >= _MOST:
                    del self._known[next(iter(self._known))]
                self._known[spelling] = fingerprint
        return fingerprint


def _forms(text: str) -> tuple[bool, bool, frozenset[str]]:
    """The parts of a text that must be checked: names of secrets, shapes, and possible values."""
    shapes = SHAPES.search(text) is not None if _may_have_shapes(text) else False
    words = frozenset(word for pattern in _WORDS for word in pattern.findall(text))
    return HINT.search(text) is not None, shapes, words


# Cached, because answers repeat names, words and sentences.
_forms_known = lru_cache(maxsize=20_000)(_forms)


def _may_have_shapes(text: str) -> bool:
    ssn = text.count("-") > 1 or text.count(" ") > 1
    return ssn or any(sign in text for sign in SIGNS)
