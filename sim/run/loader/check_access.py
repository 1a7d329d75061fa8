"""Checks of callers: calls without credentials, with credentials for another API, or by a firm that
lacks the scope.

They report what the file shows, with its line. What only a run can know, such as an expired token
or a participant that a verification creates, is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.contract.contract import Operation
from sim.core.identity.firms import Firm
from sim.run.loader.check_calls import operation_called
from sim.run.loader.nodes import node_at, text_at
from sim.world.format.yaml_tree import Mapping, Problem, Scalar, problem

if TYPE_CHECKING:
    from sim.world.start.accounts import Parties

# A step with one of these expectations may expect a refusal.
_EXPECTED = ("status", "code", "refused", "json")
_CODES = {401: 16, 403: 7}


def access_problems(step: Mapping, parties: Parties) -> Iterator[Problem]:
    """Problems of the participants and callers of a step."""
    for key in ("order", "cancel"):
        trader = text_at(step, key, "as") or text_at(step, key, "account")
        if trader is not None and (firm := parties.firm(trader.text)) is not None:
            users = ", ".join(parties.users_of(firm)) or "it has none"
            text = f"{firm.name} is a firm, which cannot trade: name one of its participants"
            yield problem(trader.at, f"{text}: {users}")
    expect = node_at(step, "expect")
    if isinstance(expect, Mapping) and any(key in expect.items for key in _EXPECTED):
        return
    if (called := operation_called(step)) is not None:
        yield from _caller(*called, parties)


def _caller(operation: Operation, plane: str, part: Mapping, parties: Parties) -> Iterator[Problem]:
    credential = operation.credential_on(None if plane == "grpc" else plane)  # type: ignore[arg-type]
    if credential == "none" or "headers" in part.items:
        return
    if not {"as", "account"} & part.items.keys():
        who = (
            "a retail API key or its account"
            if credential == "api_key"
            else "a firm or participant"
        )
        yield problem(
            part.at,
            f"{operation.name} needs a caller: name {who} with `as` {_refusal_text(401, plane)}",
        )
        return
    name = text_at(part, "as") or text_at(part, "account")
    if name is None:
        return
    user = parties.user(name.text)
    firm = parties.firm(name.text if user is None else user.name.partition("/users/")[0])
    if credential == "api_key":
        yield from _key(operation, name, firm, parties)
    elif firm is not None:
        yield from _firm(operation, name, firm, _refusal_text(403, plane), acts=user is not None)


def _key(
    operation: Operation, name: Scalar, firm: Firm | None, parties: Parties
) -> Iterator[Problem]:
    """A problem where a firm is named and a retail API key is needed."""
    if firm is not None:
        keys = ", ".join(dict.fromkeys(key.account for key in parties.api_keys[:3]))
        text = f"{operation.name} takes a retail API key, not a firm: name one or its account"
        text += f", such as {keys}" if keys else ""
        yield problem(name.at, f"{text} {_refusal_text(401, 'retail')}")


def _firm(
    operation: Operation, name: Scalar, firm: Firm, meant: str, *, acts: bool
) -> Iterator[Problem]:
    """A problem where the firm lacks the scope, or where a participant is needed."""
    if operation.scope and operation.scope not in firm.scopes:
        text = f"{operation.name} needs the scope {operation.scope}, which {firm.name} lacks"
        yield problem(name.at, f"{text} {meant}")
    elif operation.participant == "required" and not acts:
        text = f"{operation.name} needs a participant: name one of {firm.name}"
        yield problem(name.at, f"{text} {meant}")


def _refusal_text(status: int, plane: str) -> str:
    """A hint how a step expects the refusal: by HTTP status, on gRPC by code."""
    expected = f"code: {_CODES[status]}" if plane == "grpc" else f"status: {status}"
    return f"(to test this, add `expect: {{{expected}}}`)"
