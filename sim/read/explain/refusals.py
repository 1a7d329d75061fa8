"""Why a call was refused: the stage and rule that decided, what would have worked, and what caused
the state that led to the refusal.
"""

from __future__ import annotations

import re
from typing import Any

from sim.api.pipeline.inputs import RestCall
from sim.api.pipeline.request_log import DONE, LoggedCall, Verdict
from sim.core.catalogue.assumptions import (
    ASSERTION_LIFE_MAX,
    BLOCK_TIME,
    CLIENT_CLOCK,
    ENGINE_LATENCY,
    EXCHANGE_REJECTS,
    EXTRA_LIMITS,
    KYC_SSN_CONFLICT,
    RETAIL_REJECTS,
)
from sim.core.catalogue.quirks import UNFILTERED_REPORTS_TIME_OUT, UNFILTERED_SEARCH_TIMES_OUT
from sim.core.model import refusals
from sim.core.model.events import MaintenanceChanged
from sim.kernel.instants import format_instant, parse_instant
from sim.read.explain.accounts import account_chain, explain_account
from sim.read.explain.causes import Cause, JournalStep, fault_document, step_of, steps
from sim.read.explain.instruments import instrument_chain
from sim.read.explain.orders import order_chain
from sim.read.explain.rules import Basis, basis_of
from sim.read.record import CALLS
from sim.run.simulation import Simulation
from sim.world.format.suggestions import suggestion

# What is involved in refusals of a class, besides the rule that they name.
_BASES = {
    "OrderRefused": Basis("", EXCHANGE_REJECTS, RETAIL_REJECTS),
    "InstrumentNotTradable": Basis("", EXCHANGE_REJECTS, RETAIL_REJECTS),
    "DuplicateOrder": Basis("", EXCHANGE_REJECTS),
    "OrderDone": Basis("", EXCHANGE_REJECTS, ENGINE_LATENCY),
    "RateLimited": Basis("", EXTRA_LIMITS),
    "EdgeTimeout": Basis("", quirk=UNFILTERED_SEARCH_TIMES_OUT),
    "AnswerTooLate": Basis("", ENGINE_LATENCY, BLOCK_TIME),
    "SsnTaken": Basis("", KYC_SSN_CONFLICT),
    "InvalidSignature": Basis("", CLIENT_CLOCK),
    "InvalidClientAssertion": Basis("", CLIENT_CLOCK, ASSERTION_LIFE_MAX),
}
# Assumptions about one plane are irrelevant for refusals on another.
_OF_ANOTHER_PLANE = {
    "exchange": (RETAIL_REJECTS.name,),
    "grpc": (RETAIL_REJECTS.name,),
    "retail": (EXCHANGE_REJECTS.name,),
}
_SLOW_REPORTS = ("ReportAPI.SearchOrders", "ReportAPI.SearchExecutions")
_REQUEST_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
_ORDER_ID = re.compile(rb"\b[0-9A-Z]{12}\b")
_SYMBOL = re.compile(rb"[a-z0-9][a-z0-9-]{2,}")
_ACCOUNT = re.compile(rb"firms/[\w-]+/(?:accounts|users)/[\w-]+")
_LATEST = 5  # number of causes for each order, instrument, account or limit


def explain_refusal(sim: Simulation, request_id: str) -> dict[str, Any] | None:
    """Explain by its request id a call that was refused or rejected, or whose answer was lost.

    None if the id is unknown, the call is too old, or all of it was done.
    """
    seq = int(request_id, 16) if _REQUEST_ID.fullmatch(request_id) else 0
    call = next(iter(sim.log.entries(seq, seq)), None)
    if call is None or call.verdict.name == DONE.name:
        return None
    step = step_of(sim, seq)
    document = {
        "subject": request_id,
        "kind": "request",
        "verdict": call.verdict.name,
        "seq": seq,
        "caller": step.out.caller,
        **fault_document(sim, call.fault),
    }
    if call.why is not None:
        document |= _refusal(step, call.why.plain(), call.plane)
    return document | (_executed(step, call) if call.verdict.name != "refused" else {})


def _refusal(step: JournalStep, refusal: dict[str, Any], plane: str) -> dict[str, Any]:
    """Return what is special about a call that was answered with a refusal."""
    section = f"§{refusal['section']}"
    decided = [f"rule {refusal['rule']}"] if refusal["rule"] not in ("", section) else []
    return {
        **{key: value for key, value in refusal.items() if key != "answered_in"},
        "remedy": refusal.get("remedy") or remedy_of(step.sim, refusal),
        **_basis(refusal).document(step.sim, without=_OF_ANOTHER_PLANE.get(plane, ())),
        "summary": f"{refusal['status'] or refusal['code']} {refusal['message']}: refused in stage"
        f" {refusal['stage']!r} by {', '.join([*decided, section])}",
        "chain": [*_causes(step, refusal), _refused(step, refusal)],
    }


def _executed(step: JournalStep, call: LoggedCall) -> dict[str, Any]:
    """Return what is special about a call that was executed: its orders were rejected, or its
    answer was lost.
    """
    sim, verdict = step.sim, call.verdict
    status = call.status or call.code
    chain = [cause for name in verdict.orders for cause in order_chain(sim, name)]
    document = {
        "operation": call.operation,
        "status": call.status,
        "code": call.code,
        "message": verdict.text,
        "rule": verdict.rule,
        "facts": verdict.facts,
        "orders": list(verdict.orders),
        "retry": False,
        "chain": chain,
    }
    if verdict.name == "rejected":
        return {
            **document,
            "remedy": _REMEDIES["OrderRefused"],
            **basis_of(verdict.rule).document(sim),
            "summary": f"{status} {verdict.sentence}",
        }
    lost = {"remedy": f"{_look_up(sim, verdict)}; do not send the call again", "retry": False}
    summary = f"{status} {verdict.text}".rstrip() + f": {verdict.summary}"
    if call.why is None:
        return document | basis_of(verdict.rule).document(sim) | lost | {"summary": summary}
    lost |= {"orders": document["orders"], "summary": summary}
    if call.why.answered_in:  # its causes end with its orders already
        return lost
    return lost | {"chain": [*chain, _refused(step, call.why.plain())]}


def _look_up(sim: Simulation, verdict: Verdict) -> str:
    """Return which orders a client has to look up that did not get an answer."""
    orders = [sim.exchange.trading.orders.get(name) for name in verdict.orders]
    names = ", ".join(
        order.id + (f" (clord_id {order.clord_id})" if order.clord_id else "")
        for order in orders
        if order is not None
    )
    return f"look up order {names}" if names else "read what it changed"


def _basis(refusal: dict[str, Any]) -> Basis:
    """Return the assumptions and the quirk involved in a refusal."""
    name = refusal["refusal"]
    if refusal["stage"] == "edge":
        return Basis("")
    if name == "EdgeTimeout" and refusal["operation"] in _SLOW_REPORTS:
        return Basis("", quirk=UNFILTERED_REPORTS_TIME_OUT)
    return _BASES.get(name, Basis(""))


def _refused(step: JournalStep, refusal: dict[str, Any]) -> Cause:
    """Return the refusal itself.

    For a pending answer, it is at the position where the answer was sent.
    """
    at = step.at
    if "answered_in" in refusal:
        answered = step_of(step.sim, refusal["answered_in"])
        if answered.seq != step.seq:
            at = parse_instant(refusal["now"])
        step = answered
    return {
        "seq": step.seq,
        "at": format_instant(at),
        "by": step.actor(at),
        "what": f"refused: {refusal['message']}",
        "request_id": refusal["request_id"],
        "rule": refusal["rule"],
        "facts": refusal["facts"],
        "section": f"§{refusal['section']}",
    }


# ---- causes


def _causes(step: JournalStep, refusal: dict[str, Any]) -> list[Cause]:
    """Return the latest causes of the state in which a call was refused."""
    sim, before = step.sim, step.seq - 1
    if refusal["stage"] == "answer":
        waited = step.cause("waited for the outcome of its orders")
        chains = [order_chain(sim, order, refusal["answered_in"]) for order in refusal["orders"]]
        return [waited, *_latest(chains)]
    match refusal["refusal"]:
        case "InstrumentNotTradable" | "IllegalTransition":
            return _latest([instrument_chain(sim, symbol, before) for symbol in _symbols(step)])
        case "OrderDone" | "DuplicateOrder":
            return _latest([order_chain(sim, order, before) for order in _orders(step)])
        case "OrderRefused" if refusal["rule"] in ("P3", "P4"):
            accounts = _accounts(step)
            return _latest([account_chain(sim, name, before, most=_LATEST) for name in accounts])
        case "RateLimited":
            return _limited(step, refusal["operation"])
        case "Unavailable" if refusal["stage"] == "maintenance":
            windows = [
                begun.decision("a maintenance window began", event)
                for begun in steps(sim, ':"MaintenanceChanged"', until=before)
                for event in begun.events_of(MaintenanceChanged, active=True)
            ]
            return windows[-1:]
        case "Unauthenticated":
            return _token(step)
    return []


def _latest(chains: list[list[Cause]]) -> list[Cause]:
    return [cause for chain in chains for cause in chain[-_LATEST:]]


def _request_text(step: JournalStep) -> bytes:
    """Return everything in a call that may name something: path, query and body, or the message."""
    call = step.input
    if isinstance(call, RestCall):
        return f"{call.path} {call.query} {call.body}".encode()
    return getattr(call, "message", b"")


def _named(step: JournalStep, pattern: re.Pattern[bytes]) -> list[str]:
    """Return the distinct matches of a pattern in a call."""
    return list(dict.fromkeys(word.decode() for word in pattern.findall(_request_text(step))))


def _symbols(step: JournalStep) -> list[str]:
    return [word for word in _named(step, _SYMBOL) if word in step.sim.exchange.instruments]


def _orders(step: JournalStep) -> list[str]:
    """Return orders that a call named by id, or the latest one with a client order id it named."""
    orders = step.sim.exchange.trading.orders
    named = [word for word in _named(step, _ORDER_ID) if orders.get(word) is not None]
    if named:
        return named
    text, caller = _request_text(step), step.out.caller
    quote = '"' if isinstance(step.input, RestCall) else ""
    matching = [
        order.id
        for order in orders.all()
        if order.clord_id and order.participant == caller and order.created <= step.at
        if f"{quote}{order.clord_id}{quote}".encode() in text
    ]
    return matching[-1:]


def _accounts(step: JournalStep) -> list[str]:
    names = [step.out.caller, *_named(step, _ACCOUNT)]
    accounts = [explain_account(step.sim, name) for name in names if name]
    return list(dict.fromkeys(account["subject"] for account in accounts if account is not None))


def _limited(step: JournalStep, operation: str) -> list[Cause]:
    """Return the latest calls that used up the limit."""
    caller = step.out.caller
    calls = [
        entry
        for entry in step.sim.log.entries(0, step.seq - 1)
        if entry.caller == caller and entry.status != 429 and entry.code != 8
    ]
    counted = [entry for entry in calls if entry.operation == operation] or calls
    return [
        {
            "seq": entry.seq,
            "at": format_instant(entry.at),
            "by": f"{caller} called {entry.address}",
            "what": "counted against the limit",
            "request_id": f"{entry.seq:016x}",
            "section": "§8",
        }
        for entry in counted[-_LATEST:]
    ]


def _token(step: JournalStep) -> list[Cause]:
    """Return where the token of a call was issued."""
    key = step.input.credential.key if isinstance(step.input, CALLS) else ""
    if not key:
        return []
    issued = list(steps(step.sim, f'"access_token":"sha256:{key}"', until=step.seq - 1))
    return [
        earlier.cause(
            f"its token was issued, for {earlier.body.get('expires_in', 180)} s of virtual time"
        )
        for earlier in issued[-1:]
    ]


# ---- remedies
#
# What helps after a refusal without a remedy of its own, by the class of the refusal. A remedy from
# the refusing code takes precedence. Every text says what the caller can do next.


_REMEDIES = {
    "InvalidRequest": "correct the named field; the request is the same for REST and gRPC",
    "Unauthenticated": "fetch a token and send `authorization: Bearer …`",
    "InvalidSignature": "sign timestamp + verb + path with the API key's Ed25519 secret",
    "PermissionDenied": "call as a firm that may do this; `x-participant-id` names the user",
    "NotFound": "check the name; a list of the same service says what there is",
    "UnknownPath": "`sim catalogue operations` lists every path that is served",
    "UnknownMethod": "`sim catalogue operations` lists every gRPC method that is served",
    "DuplicateOrder": "use a new client order id for each order; look up the first order by its id",
    "AlreadyExists": "it already exists: read it instead of creating it again",
    "OrderDone": "nothing: the order is filled, canceled, expired or rejected",
    "UnknownOrder": "check the order id; only orders of your own participant are found",
    "OrderRefused": "change the order as the message says",
    "InsufficientFunds": "deposit, cancel open orders that reserve money, or send a smaller order",
    "IllegalTransition": "`GET /_sim/v1/state/instruments` shows its state",
    "Conflict": "read the current state, then decide again",
    "SsnTaken": "stop: the person already exists, under the id that was used first",
    "PayloadTooLarge": "send less in one request",
    "RateLimited": "wait Retry-After seconds, then call again",
    "StreamLimit": "close a stream that is no longer read, or share one",
    "InternalFailure": "call again after a second; if the fault was injected, `fault` names it",
    "EdgeTimeout": "ask for less: filter by symbol or account, or use smaller pages",
    "Unavailable": "wait 1, 2, 4, 8 seconds between attempts",
    "Injected": "an injected fault answered: `GET /_sim/v1/faults` lists them",
}


def remedy_of(sim: Simulation, refusal: dict[str, Any]) -> str:
    """Return what helps after a refusal, by its class or the nearest base class; "" if nothing."""
    if symbol := refusal["facts"].get("symbol", ""):
        symbols = [each.symbol for each in sim.exchange.instruments]
        near = suggestion(symbol, symbols)
        return near.removeprefix(", ") or "the refdata service lists every instrument"
    kind = getattr(refusals, refusal["refusal"], None)
    names = (each.__name__ for each in getattr(kind, "__mro__", ()))
    return next((_REMEDIES[name] for name in names if name in _REMEDIES), "")
