"""Tokens and assertions (§5.1)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.analysis.conformance.recorded_run import Call, Run
from sim.analysis.conformance.rules import Finding, Rule
from sim.kernel.instants import NS_PER_S, Instant, Span, format_span, seconds

_BUFFER = seconds(30)
_EARLY = seconds(60)
_EARLY_ALLOWED = 2


def _issued(run: Run) -> Iterator[tuple[Call, str, Span]]:
    """(call, fingerprint of the token, its life) of every token that was issued."""
    for call in run.calls:
        token = call.body.get("access_token")
        if call.operation == "TokenIssuerAPI.IssueToken" and isinstance(token, str):
            yield (
                call,
                token.removeprefix("sha256:"),
                int(call.body.get("expires_in", 180)) * NS_PER_S,
            )


def _buffer(run: Run) -> Iterator[Finding]:
    lives: dict[str, tuple[Instant, Span]] = {
        token: (call.at, life) for call, token, life in _issued(run)
    }
    for call in run.calls:
        known = lives.get(call.credential.key) if call.credential.kind == "bearer" else None
        if known is not None:
            age = call.at - known[0]
            late = age > known[1] - _BUFFER
            yield call.found(
                broken=(
                    f"its token was {format_span(age)} old and lives {format_span(known[1])}:"
                    " refresh 30 s before"
                    if late
                    else ""
                )
            )


def _dead(run: Run) -> Iterator[Finding]:
    refused: dict[str, Call] = {}
    for call in run.calls:
        token = call.credential.key
        if call.credential.kind != "bearer" or not token:
            continue
        if token in refused:
            yield call.found(broken="the token that was refused before", because_of=refused[token])
        elif call.status == 401:
            refused[token] = call
            yield call.found()


def _fresh_assertions(run: Run) -> Iterator[Finding]:
    seen: dict[tuple[str, str], Call] = {}
    for call in run.calls:
        nonce = call.credential.nonce
        if call.credential.kind == "assertion" and nonce:
            first = seen.setdefault((call.credential.key, nonce), call)
            what = f"assertion of {call.credential.key}"
            yield (
                call.found(what)
                if first is call
                else call.found(what, "the jti of an earlier assertion", first)
            )


def _kept(run: Run) -> Iterator[Finding]:
    latest: dict[str, tuple[Call, Span]] = {}
    early: dict[str, int] = {}
    for call, _, life in _issued(run):
        client = call.credential.key
        before = latest.get(client)
        if before is not None:
            left = before[0].at + before[1] - call.at
            early[client] = early.get(client, 0) + 1 if left > _EARLY else 0
            broken = (
                f"the last one lives {format_span(left)} more: keep it until 30 s before its end"
                if early[client] > _EARLY_ALLOWED
                else ""
            )
            yield call.found(f"token of {client}", broken, before[0])
        latest[client] = call, life


TOKEN_BUFFER = Rule(
    "token-refreshed-in-time",
    "5.1",
    "Refresh a token 30 seconds before its expires_in has passed.",
    _buffer,
)
DEAD_TOKEN = Rule(
    "no-dead-token",
    "7.1",
    "After a 401 get a new token instead of sending the old one again.",
    _dead,
)
FRESH_JTI = Rule("fresh-jti", "5.1", "Every assertion has a jti of its own.", _fresh_assertions)
TOKEN_KEPT = Rule(
    "token-kept",
    "5.1",
    "Use a token until shortly before its end instead of fetching one for each call.",
    _kept,
    advice=True,
)
