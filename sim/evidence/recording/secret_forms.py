"""Forms of secrets: names of fields and headers, and shapes of values."""

from __future__ import annotations

import re
from functools import lru_cache

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
