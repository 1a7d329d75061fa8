"""Cryptography and secrets end at this door: what was found is the input (docs/architecture.md).

A call comes in with tokens, signatures, SSNs and signing secrets; the sealed call that is
journalled carries verdicts and keyed fingerprints. So a journal holds no secret, a replay verifies
nothing, and the wall clock of a client leaves no trace in the digest. Fingerprints hide secrets
from eyes and logs; somebody who holds the journal and its seed could still try all SSNs.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode

import msgspec
from msgspec.structs import replace

from sim.api.pipeline.authentication import Parties
from sim.api.pipeline.inputs import NOBODY, Input, RestCall, RpcCall, Sealed, StreamOpened
from sim.api.pipeline.signatures import judge_assertion, judge_request
from sim.contract.contract import PLANES, Plane, load_contract
from sim.core.catalogue.assumptions import ASSERTION_LIFE_MAX, CLIENT_CLOCK
from sim.core.identity.credentials import fingerprint
from sim.core.webhooks.payloads import secret_key
from sim.kernel.instants import Instant

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings

SEALED = re.compile(r"sealed:[a-z]\d+:[0-9a-f]{32}", re.ASCII)
VAULT_MAX = 10_000

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SEEN = "sealed"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
# A JSON Web Token or a signing secret, in text that may be percent-encoded.
_SPELT = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*|whsec_[\w+/=%-]+", re.ASCII)
_NAMED_IN_QUERY = re.compile(
    r"(?:^|(?<=&))(ssn|otp|access_?token|client_?assertion|client_?secret|signing_?secret|session_?token)=[^&]*",
    re.ASCII | re.IGNORECASE,
)
_EMPTY_OF_TYPE: dict[type, Any] = {int: 0, float: 0, bool: False, list: [], dict: {}}

Given = TypeVar("Given", RestCall, RpcCall, StreamOpened)


class RedactionContext(Protocol):
    """What the door needs of a simulation: who is registered, whose clock counts, and where clear
    signing keys are kept (outside journal and state).
    """

    @property
    def exchange(self) -> Parties: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def signing_secrets(self) -> dict[str, bytes]: ...


# ---- calls


def seal_rest(
    house: RedactionContext,
    plane: Plane,
    verb: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
    peer: str,
    wall: Instant | None,
    oversize: int = 0,
) -> RestCall:
    """One HTTP request as it is journalled. `headers` answers to lower-case names; `oversize` is
    the size of a body that was not read.
    """
    form = False
    if plane == "exchange":
        credential = bearer(headers.get("authorization"))
    elif plane == "retail":
        credential = api_key(house, verb, path, query, headers, wall)
    elif plane == "auth":
        form = (
            headers.get("content-type", "").partition(";")[0].strip().lower()
            == "application/x-www-form-urlencoded"
        )
        credential, body = _token_call(house, headers.get("host", ""), path, body, form, wall)
    else:
        credential = NOBODY
    if body and plane != "auth":
        secrets = _secrets_of(plane, path) or _misplaced(plane, body)
        if secrets:
            body = seal_body(body, secrets, _key(house), house.signing_secrets)
    text, binary = _text(body)
    text, path, query = _unspoken(text), _unspoken(path), seal_query(query) if query else query
    return RestCall(
        plane,
        verb,
        path,
        query,
        text,
        binary,
        headers.get("x-participant-id"),
        credential,
        peer,
        form,
        oversize,
    )


def seal_rpc(
    house: RedactionContext,
    method: str,
    metadata: Mapping[str, str],
    message: bytes,
    peer: str,
    wall: Instant | None,
) -> RpcCall:
    """One unary gRPC request as it is journalled."""
    return RpcCall(
        method,
        message,
        metadata.get("x-participant-id"),
        bearer(metadata.get("authorization")),
        peer,
    )


def seal_open(
    house: RedactionContext,
    method: str,
    metadata: Mapping[str, str],
    message: bytes,
    peer: str,
    wall: Instant | None,
    web_socket: bool = False,
) -> StreamOpened:
    """The beginning of a stream as it is journalled. A WebSocket handshake is signed as GET of its
    path; `method` may carry a query.
    """
    if web_socket:
        path, _, query = method.partition("?")
        credential = api_key(house, "GET", path, query, metadata, wall)
    else:
        credential = bearer(metadata.get("authorization"))
    return StreamOpened(
        method, message, metadata.get("x-participant-id"), credential, peer, web_socket
    )


def without_nonce(given: Given | Input) -> Input:
    """The part of a sealed call that the digest covers: all but what the client drew at random."""
    if isinstance(given, RestCall | RpcCall | StreamOpened):
        return replace(given, credential=replace(given.credential, nonce=""))
    return given


# ---- credentials


@lru_cache(maxsize=4096)
def bearer(header: str | None) -> Sealed:
    """Finding on an Authorization header: the token's fingerprint, never the token. Kind "none"
    when there is no header.
    """
    if not header:
        return NOBODY
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        return Sealed("bearer", problem="scheme")
    token = token.strip()
    return (
        Sealed("bearer", fingerprint(token))
        if _TOKEN.fullmatch(token)
        else Sealed("bearer", problem="malformed")
    )


def api_key(
    house: RedactionContext,
    verb: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    wall: Instant | None,
) -> Sealed:
    """Finding on the three retail headers. Kind "none" when none of them was sent. The path is
    signed without its query, or with it (gap G-3).
    """
    key_id = headers.get("x-pm-access-key", "")
    timestamp = headers.get("x-pm-timestamp", "")
    signature = headers.get("x-pm-signature", "")
    if not (key_id or timestamp or signature):
        return NOBODY
    target = verb.upper() + path
    texts = (target, f"{target}?{query}") if query else (target,)
    known = house.exchange.firms.api_key(key_id)
    if known is not None and known.environment != house.exchange.credentials.environment.name:
        known = None
    return Sealed(
        "api_key",
        key_id[:64],
        judge_request(key_id, timestamp, signature, texts, known, _clocks(house, wall)),
    )


def _token_call(
    house: RedactionContext, host: str, path: str, body: bytes, form: bool, wall: Instant | None
) -> tuple[Sealed, bytes]:
    """Finding on the assertion in a token request, and the body without it. An address of this
    environment becomes its name: ports are not reproducible.
    """
    fields = _fields(body, form)
    if fields is None:
        return NOBODY, seal_text(body, _key(house), house.signing_secrets).encode()
    credentials = house.exchange.credentials
    addresses = {
        name.rstrip("/")
        for name in (credentials.environment.audience, *_spellings(credentials.addresses))
    }
    official = f"{credentials.environment.issuer}/oauth/token"
    endpoints = {
        official,
        house.settings.token_url.rstrip("/") or official,
        f"http://{host}{path}",
        f"https://{host}{path}",
    }
    assertion = fields.get("client_assertion", "")
    life_max = house.exchange.ctx.assumptions.number(ASSERTION_LIFE_MAX)
    given = assertion if isinstance(assertion, str) else ""
    judged = judge_assertion(
        given,
        house.exchange.firms,
        credentials.environment.name,
        addresses | endpoints,
        _clocks(house, wall),
        life_max,
    )
    if "client_secret" in fields:
        fields["client_secret"] = _SEEN  # no field of this call, but one that stock clients know
    if assertion:
        fields["client_assertion"] = (
            _SEEN if isinstance(assertion, str) else _EMPTY_OF_TYPE.get(type(assertion))
        )
    audience = fields.get("audience")
    known = isinstance(audience, str) and audience.rstrip("/") in addresses
    if known:
        fields["audience"] = credentials.environment.audience
    sealed = Sealed(
        "assertion",
        judged.client_id,
        judged.problem,
        {"audience": "known" if known else "other"},
        judged.nonce,
    )
    return sealed, urlencode(fields).encode() if form else msgspec.json.encode(fields)


@lru_cache(maxsize=64)
def _spellings(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses as clients may write them: a machine has three names for itself."""
    found = []
    for address in addresses:
        own = next((name for name in _LOOPBACK if f"//{name}:" in address), "")
        found += [address.replace(own, name) for name in _LOOPBACK] if own else [address]
    return tuple(found)


def _clocks(house: RedactionContext, wall: Instant | None) -> tuple[Instant, ...]:
    """Instants a client's clock may agree with. Without a wall clock (in process, in scripts)
    virtual now is the only one.
    """
    chosen: str = house.settings.client_clock
    ctx = house.exchange.ctx
    if chosen == "either":
        chosen = ctx.assumptions.text(CLIENT_CLOCK)
    if wall is None or chosen == "virtual":
        return (ctx.now,)
    return (wall,) if chosen == "wall" else (ctx.now, wall)


# ---- bodies


def seal_body(
    body: bytes, secrets: Container[str], key: bytes, signing_secrets: dict[str, bytes]
) -> bytes:
    """A JSON body with its secret fields sealed. One that is no JSON object is sealed whole: it may
    hold the secret and is refused either way.
    """
    fields = _fields(body, form=False)
    if fields is None:
        return seal_text(body, key, signing_secrets).encode()
    return msgspec.json.encode(seal_fields(fields, secrets, key, signing_secrets))


def seal_fields(
    fields: dict[str, Any], secrets: Container[str], key: bytes, signing_secrets: dict[str, bytes]
) -> dict[str, Any]:
    """Fields with the secret ones replaced, at the top level. A value of a wrong type keeps only
    its type, so it is refused for the same reason.
    """
    sealed = {}
    for name, value in fields.items():
        if name not in secrets or value is None:
            sealed[name] = value
        elif isinstance(value, str):
            sealed[name] = seal_text(value, key, signing_secrets)
        else:
            sealed[name] = _EMPTY_OF_TYPE.get(type(value))
    return sealed


@lru_cache(maxsize=1024)
def seal_query(query: str) -> str:
    """A query string without secrets. Nobody should write one there, and it is ignored or refused
    all the same; but people do.
    """
    return _unspoken(_NAMED_IN_QUERY.sub(r"\1=" + _SEEN, query))


def _unspoken(text: str) -> str:
    """Text in which tokens and signing secrets are not spelt out, wherever they stand."""
    return _SPELT.sub(_SEEN, text) if "eyJ" in text or "whsec_" in text else text


def seal_text(value: str | bytes, key: bytes, signing_secrets: dict[str, bytes]) -> str:
    """ "sealed:<shape>:<fingerprint>" of a secret, where the shape keeps what validation asks: d<n>
    digits, w<n> bytes of signing secret, x<n> anything else.

    Sealing what is sealed, or empty, changes nothing. The key of a webhook signing secret goes to
    the vault: the sender needs it, the journal does not.
    """
    text = value if isinstance(value, str) else value.decode("latin-1")
    if not text or SEALED.fullmatch(text):
        return text
    signing = secret_key(text)
    if signing is not None:
        shape = f"w{len(signing)}"
    else:
        shape = f"{'d' if text.isascii() and text.isdigit() else 'x'}{len(text)}"
    sealed = f"sealed:{shape}:{blake2b(text.encode(), digest_size=16, key=key).hexdigest()}"
    if signing is not None:
        signing_secrets.pop(sealed, None)
        signing_secrets[sealed] = signing
        if len(signing_secrets) > VAULT_MAX:
            del signing_secrets[next(iter(signing_secrets))]
    return sealed


def _key(house: RedactionContext) -> bytes:
    return house.exchange.ctx.entropy.key("sealing")


def _text(body: bytes) -> tuple[str, bytes]:
    """Body as text, or as it is when it is no UTF-8."""
    try:
        return body.decode(), b""
    except UnicodeDecodeError:
        return "", body


def _fields(body: bytes, form: bool) -> dict[str, Any] | None:
    if form:
        try:
            return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=64))
        except ValueError:
            return None
    try:
        found = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _secrets_of(plane: str, path: str) -> frozenset[str]:
    """Names of secret body fields at a path; misspelt paths (escapes, a trailing slash) seal the
    same, although they answer 404.
    """
    table = _secret_table()
    found = table.get((plane, path))
    if found is None and ("%" in path or path.endswith("/")):
        found = table.get((plane, unquote(path).rstrip("/")))
    return found or frozenset()


def _misplaced(plane: str, body: bytes) -> frozenset[str]:
    """Names of secret body fields of a plane, for a body that holds one where no call takes it."""
    keys = _secret_keys().get(plane)
    return frozenset(keys.values()) if keys and any(key in body for key in keys) else frozenset()


@lru_cache(maxsize=1)
def _secret_keys() -> dict[str, dict[bytes, str]]:
    """Names of secret body fields of each plane, by how a body spells them as keys."""
    found: dict[str, dict[bytes, str]] = {}
    for (plane, _), names in _secret_table().items():
        found.setdefault(plane, {}).update((f'"{name}"'.encode(), name) for name in sorted(names))
    return found


@lru_cache(maxsize=1)
def _secret_table() -> dict[tuple[str, str], frozenset[str]]:
    """(plane, path) → names of secret fields in request bodies, in both casings, as the contract
    marks them.
    """
    table: dict[tuple[str, str], frozenset[str]] = {}
    for plane in PLANES:
        for route in load_contract().routes(plane):
            names = [
                name
                for row in route.operation.request.__wire__
                if dict(row[6]).get("secret")
                for name in (row[1], row[2])
            ]
            if names and route.body:
                table[plane, route.template] = frozenset(names)
    return table
