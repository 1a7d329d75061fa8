"""Rules about tokens and assertions (§5.1)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.kernel.instants import NS_PER_S, Instant, Span, format_span, seconds
from sim.read.conformance.recorded_run import Call, ClientActivity, Finding
from sim.read.conformance.rules import rule

_REFRESH_BEFORE = seconds(30)
_EARLY = seconds(60)
_EARLY_ALLOWED = 2


def _issued(run: ClientActivity) -> Iterator[tuple[Call, str, Span]]:
    """Yield (call, fingerprint of the token, its lifetime) for every token that was issued."""
    for call in run.calls:
        token = call.body.get("access_token")
        if call.operation == "TokenIssuerAPI.IssueToken" and isinstance(token, str):
            lifetime = int(call.body.get("expires_in", 180)) * NS_PER_S
            yield call, token.removeprefix("sha256:"), lifetime


@rule("5.1", applies_to="a call with a token that was issued in the same run")
def token_refreshed_in_time(run: ClientActivity) -> Iterator[Finding]:
    """Refresh a token 30 seconds before its expires_in has passed."""
    tokens: dict[str, tuple[Instant, Span]] = {
        token: (call.at, lifetime) for call, token, lifetime in _issued(run)
    }
    for call in run.calls:
        token = tokens.get(call.credential.key) if call.credential.kind == "bearer" else None
        if token is None:
            continue
        issued, lifetime = token
        age = call.at - issued
        late = (
            f"its token was {format_span(age)} old and valid for {format_span(lifetime)}: refresh"
            " 30 s before"
        )
        yield call.finding(broken=late if age > lifetime - _REFRESH_BEFORE else "")


@rule("7.1", applies_to="a call with a token that was answered 401")
def no_dead_token(run: ClientActivity) -> Iterator[Finding]:
    """After a 401 get a new token instead of sending the old one again."""
    refused: dict[str, Call] = {}
    for call in run.calls:
        token = call.credential.key
        if call.credential.kind != "bearer" or not token:
            continue
        if token in refused:
            again = "sent a token that was refused before"
            yield call.finding(broken=again, because_of=refused[token])
        elif call.status == 401:
            refused[token] = call
            yield call.finding()


@rule("5.1", applies_to="a token request with a signed assertion")
def fresh_jti(run: ClientActivity) -> Iterator[Finding]:
    """Use a new jti for every assertion."""
    first_uses: dict[tuple[str, str], Call] = {}
    for call in run.calls:
        credential = call.credential
        if credential.kind != "assertion" or not credential.nonce:
            continue
        first = first_uses.setdefault((credential.key, credential.nonce), call)
        subject = f"assertion of {credential.key}"
        if first is call:
            yield call.finding(subject)
        else:
            yield call.finding(subject, "used the jti of an earlier assertion", first)


@rule("5.1", applies_to="the second token of a client", advice=True)
def token_kept(run: ClientActivity) -> Iterator[Finding]:
    """Use a token until shortly before its end instead of fetching one for each call."""
    latest: dict[str, tuple[Call, Span]] = {}
    early: dict[str, int] = {}
    for call, _, lifetime in _issued(run):
        client = call.credential.key
        if client in latest:
            before, lifetime_before = latest[client]
            left = before.at + lifetime_before - call.at
            early[client] = early.get(client, 0) + 1 if left > _EARLY else 0
            wasteful = f"valid for another {format_span(left)}: keep it until 30 s before its end"
            broken = wasteful if early[client] > _EARLY_ALLOWED else ""
            yield call.finding(f"token of {client}", broken, before)
        latest[client] = call, lifetime
