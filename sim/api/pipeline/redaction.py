"""Redaction: no secret enters the journal.

**What is secret.** Bearer tokens, client assertions, request signatures, client secrets, webhook
signing secrets, social security numbers, one-time codes and session tokens. The contract marks the
fields of request bodies that hold one (option `field`, `secret`). API key ids, client ids and
account names are public.

**Where it is replaced.** In one place: the server passes the raw call to `redact_rest`,
`redact_rpc` or `redact_open`, and only what these return (`RestCall`, `RpcCall`, `StreamOpened`) is
handled and journalled. Nothing below this module ever sees a secret. Three replacements are made:

1. Credentials are verified (`verification.py`), and a `VerifiedCredential` takes their place: the
   claimed identity, and the first problem with it. Signatures and tokens themselves are dropped.
2. A secret field of a body becomes `sealed:<shape>:<fingerprint>` (`redact_text`). The shape keeps
   what validation needs (nine digits, the number of bytes of a key), so an invalid value is refused
   for the same reason as without redaction. A value of a wrong type keeps its type only.
3. A token or signing secret that a client sent in a wrong place (in a path, a query, another field
   or header, or as the name of a field of a form) becomes the word `sealed`. Such a call is refused
   or the value is ignored, but it would be in the journal otherwise. So does the value of a key of
   a body or a frame with a name such as `passphrase`, and the user information of a webhook's URL.

**Fingerprints.** BLAKE2b with a key that depends on the run's seed. Equal secrets have equal
fingerprints within a run, so the exchange can still notice that an SSN is used twice. The same
secret has another fingerprint in another run. A fingerprint hides a secret from readers; somebody
who has the journal and its seed could still try all SSNs.

**Why a replay needs no secret.** The journal holds the result of verification, not what was
verified. A replay uses that result and verifies nothing, so it needs no private key, and the clock
of the client does not matter. The random part of a client's call (the id of an assertion) is
journalled beside the call and left out of the digest, so two runs of the same client have one
digest.

**The exception.** To sign webhooks the sender needs the signing secret itself. `signing_secrets`
holds it by fingerprint, in memory only; a replay has none and signs nothing. The URL of a webhook
is in the journal unchanged, so that a run that continues from there reaches its receiver;
everything that is printed, sent or written to be shared has `shown_url` instead.

gRPC messages are not changed: no request of gRPC has a secret field (a test holds the contract to
that). Responses are masked in `masking.py`, with the same aim.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlencode

import msgspec

from sim.api.pipeline.inputs import NOBODY, RestCall, RpcCall, StreamOpened, VerifiedCredential
from sim.api.pipeline.verification import (
    Headers,
    VerificationContext,
    api_key,
    bearer,
    token_request,
    valid_text,
)
from sim.contract.contract import PLANES, Plane, load_contract
from sim.contract.wire_fields import fields_of
from sim.core.webhooks.payloads import secret_key
from sim.kernel.instants import Instant
from sim.kernel.journal_reader import UNREADABLE

REDACTED = re.compile(r"sealed:[a-z]\d+:[0-9a-f]{32}", re.ASCII)
SIGNING_SECRETS_MAX = 10_000

_PLACEHOLDER = "sealed"
# A JSON Web Token or a signing secret, in text that may be percent-encoded.
_TOKEN_OR_KEY = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*|whsec_[\w+/=%-]+", re.ASCII)
_SECRET_PARAMETER = re.compile(
    r"(?:^|(?<=&))"
    r"(ssn|otp|(?:access|session|auth)?_?token|client_?assertion|(?:client|signing)?_?secret"
    r"|(?:secret|private|api)_?key|password|signature|authorization)=[^&]*",
    re.ASCII | re.IGNORECASE,
)
# A JSON key with the name of a secret, and its text value.
_SECRET_KEY = re.compile(
    r'("(?:(?:access|session|auth|refresh|id)?_?token|(?:client|signing|api)?_?secret(?:_?key)?'
    r'|private_?key|passphrase|password|otp|client_?assertion)"\s*:\s*)"(?!sealed[:"])(?:[^"\\]|\\.)*"',
    re.IGNORECASE,
)
# The user information of a webhook's URL: such a registration is refused.
_URL_USER = re.compile(r'("webhook_?url"\s*:\s*"[^"@]*?:(?:\\?/){2})[^"/?#]*@', re.IGNORECASE)
_HINTS = ("oken", "ecret", "ass", "rivate", "TOKEN", "SECRET", "PASS", "PRIVATE", '"otp')
_FRAME_HINTS = tuple(hint.encode() for hint in (*_HINTS, "eyJ", "whsec_"))
# The name of a field of a form. A JSON body sent as a form is one field whose name is the body.
_FORM_NAME = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)
_EMPTY_OF_TYPE: dict[type, Any] = {int: 0, float: 0, bool: False, list: [], dict: {}}


class RedactionContext(VerificationContext, Protocol):
    """The context of redaction: verification, and the store of signing secrets outside
    journal and state.
    """

    @property
    def signing_secrets(self) -> dict[str, bytes]: ...


# ---- calls


def _is_form(headers: Headers) -> bool:
    media_type = headers.get("content-type").partition(";")[0].strip().lower()
    return media_type == "application/x-www-form-urlencoded"


def redact_rest(
    context: RedactionContext,
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
    """Return one HTTP request in the form for the journal.

    `headers` accepts lower-case names; `oversize` is the size of a body that was not read.
    """
    form = False
    credential = NOBODY
    texts = Headers(headers)
    path, query = valid_text(path), valid_text(query)
    if plane == "auth":
        form = _is_form(texts)
        credential, body = _token_call(context, body, form, wall)
    else:
        if plane == "exchange":
            credential = bearer(texts.optional("authorization"))
        elif plane == "retail":
            credential = api_key(context, verb, path, texts, wall)
        if body and (secrets := _secrets_of(plane, path) or _misplaced_secrets(plane, body)):
            body = redact_body(body, secrets, _redaction_key(context), context.signing_secrets)
    text, binary = _text(body)
    return RestCall(
        plane,
        verb,
        _without_tokens(path),
        redact_query(query) if query else query,
        _without_secrets(text),
        binary,
        _participant(texts),
        credential,
        peer,
        form,
        oversize,
    )


def redact_rpc(method: str, metadata: Mapping[str, str], message: bytes, peer: str) -> RpcCall:
    """Return one unary gRPC request in the form for the journal."""
    texts = Headers(metadata)
    credential = bearer(texts.optional("authorization"))
    return RpcCall(valid_text(method), message, _participant(texts), credential, peer)


def redact_open(
    context: RedactionContext,
    method: str,
    metadata: Mapping[str, str],
    message: bytes,
    peer: str,
    wall: Instant | None,
    web_socket: bool = False,
) -> StreamOpened:
    """Return the opening of a stream in the form for the journal.

    A WebSocket handshake is signed as GET of its path; `method` may contain a query.
    """
    texts, method = Headers(metadata), valid_text(method)
    if web_socket:
        path, mark, query = method.partition("?")
        credential = api_key(context, "GET", path, texts, wall)
        method = _without_tokens(path) + mark + redact_query(query)
    else:
        credential = bearer(texts.optional("authorization"))
    return StreamOpened(method, message, _participant(texts), credential, peer, web_socket)


def _participant(headers: Headers) -> str | None:
    """The participant of a call. A token that was sent there by mistake is replaced."""
    participant = headers.optional("x-participant-id")
    return participant and _without_tokens(participant)


def _token_call(
    context: RedactionContext, body: bytes, form: bool, wall: Instant | None
) -> tuple[VerifiedCredential, bytes]:
    """Verify a token request; return the result, and the body without assertion and secret.

    An address of this environment becomes the environment's name, because ports differ between
    runs; the credential keeps it, outside the digest.
    """
    fields = _fields(body, form)
    if fields is None:
        return NOBODY, _redact_whole(body, _redaction_key(context), context.signing_secrets)
    if form and (names := _repeated_names(body)):
        return NOBODY, urlencode([(name, "") for name in names]).encode()
    request = token_request(context, fields, wall)
    if "client_secret" in fields:  # not a field of this call, but generic OAuth clients may send it
        fields["client_secret"] = _PLACEHOLDER
    if assertion := fields.get("client_assertion"):
        is_text = isinstance(assertion, str)
        fields["client_assertion"] = (
            _PLACEHOLDER if is_text else _EMPTY_OF_TYPE.get(type(assertion))
        )
    if request.audience_known:
        fields["audience"] = context.exchange.credentials.environment.audience
    return request.credential, urlencode(fields).encode() if form else msgspec.json.encode(fields)


# ---- bodies and text


def redact_body(
    body: bytes, secrets: Container[str], key: bytes, signing_secrets: dict[str, bytes]
) -> bytes:
    """Replace the secret fields of a JSON body.

    A body that is not a JSON object is replaced as a whole: it may contain the secret, and is
    refused in any case.
    """
    fields = _fields(body, form=False)
    if fields is None:
        return _redact_whole(body, key, signing_secrets)
    return msgspec.json.encode(redact_fields(fields, secrets, key, signing_secrets))


def _redact_whole(body: bytes, key: bytes, signing_secrets: dict[str, bytes]) -> bytes:
    """Replace a whole body. JSON stays JSON, so that it is refused for its real problem."""
    redacted = redact_text(body, key, signing_secrets)
    return redacted.encode() if _decoded(body) is msgspec.UNSET else msgspec.json.encode(redacted)


def redact_fields(
    fields: dict[str, Any], secrets: Container[str], key: bytes, signing_secrets: dict[str, bytes]
) -> dict[str, Any]:
    """Replace secret fields at the top level. A value of a wrong type keeps its type only."""
    redacted = {}
    for name, value in fields.items():
        if name not in secrets or value is None:
            redacted[name] = value
        elif isinstance(value, str):
            redacted[name] = redact_text(value, key, signing_secrets)
        else:
            redacted[name] = _EMPTY_OF_TYPE.get(type(value))
    return redacted


@lru_cache(maxsize=1024)
def redact_query(query: str) -> str:
    """Replace secrets in a query string. Queries should have none, but clients send them."""
    return _without_tokens(_SECRET_PARAMETER.sub(r"\1=" + _PLACEHOLDER, query))


def redact_text(value: str | bytes, key: bytes, signing_secrets: dict[str, bytes]) -> str:
    """Return "sealed:<shape>:<fingerprint>" for a secret.

    The shape is d<n> for n digits, w<n> for a signing secret of n bytes, x<n> for any other n
    characters. Empty text and redacted text stay unchanged. The key of a webhook signing secret
    goes to `signing_secrets`, where it may replace the oldest.
    """
    text = value if isinstance(value, str) else value.decode("latin-1")
    if not text or REDACTED.fullmatch(text):
        return text
    signing = secret_key(text)
    if signing is not None:
        shape = f"w{len(signing)}"
    else:
        shape = f"{'d' if text.isascii() and text.isdigit() else 'x'}{len(text)}"
    redacted = f"sealed:{shape}:{blake2b(text.encode(), digest_size=16, key=key).hexdigest()}"
    if signing is not None:
        signing_secrets.pop(redacted, None)
        signing_secrets[redacted] = signing
        if len(signing_secrets) > SIGNING_SECRETS_MAX:
            del signing_secrets[next(iter(signing_secrets))]
    return redacted


def redact_frame(message: bytes) -> bytes:
    """Return a client's frame in the form for the journal. Frames should have no credentials, but
    clients of other services send some. A protobuf message is not changed.
    """
    if not message.startswith((b"{", b"[")) or not any(part in message for part in _FRAME_HINTS):
        return message
    try:
        return _without_secrets(message.decode()).encode()
    except UnicodeDecodeError:
        return message


def _without_secrets(text: str) -> str:
    """Replace tokens and signing secrets in the text of a message, and the values of JSON keys that
    have the name of a secret.
    """
    text = _without_tokens(text)
    if "@" in text and "webhook" in text:
        text = _URL_USER.sub(rf"\1{_PLACEHOLDER}@", text)
    if '"' in text and any(part in text for part in _HINTS):
        return _SECRET_KEY.sub(rf'\1"{_PLACEHOLDER}"', text)
    return text


def _without_tokens(text: str) -> str:
    """Replace tokens and signing secrets anywhere in a text."""
    if "eyJ" in text or "whsec_" in text:
        return _TOKEN_OR_KEY.sub(_PLACEHOLDER, text)
    return text


def _redaction_key(context: RedactionContext) -> bytes:
    return context.exchange.ctx.entropy.key("sealing")


def _text(body: bytes) -> tuple[str, bytes]:
    """Return a body as (text, b""), or as ("", body) if it is not UTF-8."""
    try:
        return body.decode(), b""
    except UnicodeDecodeError:
        return "", body


def _fields(body: bytes, form: bool) -> dict[str, Any] | None:
    """Return the fields of a form or a JSON object; None for anything else."""
    if form:
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=64)
            return {
                (name if _FORM_NAME.fullmatch(name) else _PLACEHOLDER): value
                for name, value in pairs
            }
        except ValueError:
            return None
    fields = _decoded(body or b"{}")
    return fields if isinstance(fields, dict) else None


def _repeated_names(body: bytes) -> list[str]:
    """The repeated names of a form, for which it is refused."""
    names = [name for name, _ in parse_qsl(body.decode(), keep_blank_values=True)]
    repeats = len(set(names)) < len(names)
    return [name if _FORM_NAME.fullmatch(name) else _PLACEHOLDER for name in names if repeats]


def _decoded(body: bytes) -> Any:
    """The value of a JSON text; UNSET if it is not JSON."""
    try:
        return msgspec.json.decode(body)
    except UNREADABLE:
        return msgspec.UNSET


# ---- which fields are secret


def _secrets_of(plane: str, path: str) -> frozenset[str]:
    """Names of the secret body fields at a path.

    A misspelt path (escapes, a trailing slash) answers 404, but its body is redacted all the same.
    """
    table = _secret_table()
    names = table.get((plane, path))
    if names is None and ("%" in path or path.endswith("/")):
        names = table.get((plane, unquote(path).rstrip("/")))
    return names or frozenset()


def _misplaced_secrets(plane: str, body: bytes) -> frozenset[str]:
    """Names of all secret fields of a plane, for a body with a secret in a call that has
    no secret field.
    """
    keys = _secret_keys().get(plane)
    return frozenset(keys.values()) if keys and any(key in body for key in keys) else frozenset()


@lru_cache(maxsize=1)
def _secret_keys() -> dict[str, dict[bytes, str]]:
    """Names of the secret body fields of each plane, by how a JSON body spells them as keys."""
    keys: dict[str, dict[bytes, str]] = {}
    for (plane, _), names in _secret_table().items():
        keys.setdefault(plane, {}).update((f'"{name}"'.encode(), name) for name in sorted(names))
    return keys


@lru_cache(maxsize=1)
def _secret_table() -> dict[tuple[str, str], frozenset[str]]:
    """Names of secret fields in request bodies, in both casings, by (plane, path)."""
    table: dict[tuple[str, str], frozenset[str]] = {}
    for plane in PLANES:
        for route in load_contract().routes(plane):
            names = frozenset(
                name
                for field in fields_of(route.operation.request)
                if field.secret
                for name in (field.name, field.json_name)
            )
            if names and route.body:
                table[plane, route.template] = names
    return table
