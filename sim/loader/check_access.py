"""Checks of who does what: calls without credentials, with those of another surface, or with a firm
that lacks the scope. What the file knows is told here, with its line; a token that has expired, or
a participant that a verification creates, only a run knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.contract.contract import Operation
from sim.core.identity.firms import Firm
from sim.loader.check_calls import operation_called
from sim.loader.nodes import node_at, text_at
from sim.scenario.yaml_tree import Mapping, Problem, Scalar, problem

if TYPE_CHECKING:
    from sim.world.accounts import Parties

# A step that expects one of these may be about a refusal.
_EXPECTED = ("status", "code", "refused", "json")
_CODES = {401: 16, 403: 7}


def access_problems(step: Mapping, parties: Parties) -> Iterator[Problem]:
    """Problems of who calls, subscribes, orders or cancels in a step."""
    for key in ("order", "cancel"):
        trader = text_at(step, key, "as") or text_at(step, key, "account")
        if trader is not None and (firm := parties.firm(trader.text)) is not None:
            users = ", ".join(parties.users_of(firm)) or "it has none"
            text = f"{firm.name} is a firm, and a firm cannot trade: name one of its participants"
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
    """A firm where a retail key is asked for."""
    if firm is not None:
        keys = ", ".join(dict.fromkeys(key.account for key in parties.api_keys[:3]))
        text = f"{operation.name} takes a retail API key, not a firm: name one or its account"
        text += f", such as {keys}" if keys else ""
        yield problem(name.at, f"{text} {_refusal_text(401, 'retail')}")


def _firm(
    operation: Operation, name: Scalar, firm: Firm, meant: str, *, acts: bool
) -> Iterator[Problem]:
    """A scope that a firm lacks, and a participant that a firm needs."""
    if operation.scope and operation.scope not in firm.scopes:
        text = f"{operation.name} needs the scope {operation.scope}, which {firm.name} lacks"
        yield problem(name.at, f"{text} {meant}")
    elif operation.participant == "required" and not acts:
        text = f"{operation.name} acts for a participant: name one of {firm.name}"
        yield problem(name.at, f"{text} {meant}")


def _refusal_text(status: int, plane: str) -> str:
    """How a step says that it expects to be refused; gRPC has codes of its own."""
    expected = f"code: {_CODES[status]}" if plane == "grpc" else f"status: {status}"
    return f"(to test this, add `expect: {{{expected}}}`)"
