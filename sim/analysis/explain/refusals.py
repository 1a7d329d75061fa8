"""Why a call was refused: the stage and rule that decided, what would have worked, and what had
made the world refuse it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import json

from sim.analysis.explain.accounts import account_chain, explain_account
from sim.analysis.explain.causes import (
    Basis,
    Cause,
    JournalStep,
    basis_document,
    cause_of,
    fault_document,
    step_of,
    steps,
)
from sim.analysis.explain.instruments import instrument_chain
from sim.analysis.explain.orders import order_chain
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
from sim.kernel.instants import format_instant, parse_instant

if TYPE_CHECKING:
    from sim.simulation import Simulation

# What had a say in refusals of a class, besides the rule they name.
_REASONS: dict[str, Basis] = {
    "OrderRefused": Basis(assumptions=(EXCHANGE_REJECTS.name, RETAIL_REJECTS.name)),
    "InstrumentNotTradable": Basis(assumptions=(EXCHANGE_REJECTS.name, RETAIL_REJECTS.name)),
    "DuplicateOrder": Basis(assumptions=(EXCHANGE_REJECTS.name,)),
    "OrderDone": Basis(assumptions=(EXCHANGE_REJECTS.name, ENGINE_LATENCY.name)),
    "RateLimited": Basis(assumptions=(EXTRA_LIMITS.name,)),
    "EdgeTimeout": Basis(quirk=UNFILTERED_SEARCH_TIMES_OUT.name),
    "AnswerTooLate": Basis(assumptions=(ENGINE_LATENCY.name, BLOCK_TIME.name)),
    "SsnTaken": Basis(assumptions=(KYC_SSN_CONFLICT.name,)),
    "InvalidSignature": Basis(assumptions=(CLIENT_CLOCK.name,)),
    "InvalidClientAssertion": Basis(assumptions=(CLIENT_CLOCK.name, ASSERTION_LIFE_MAX.name)),
}
_OTHER_REASONS: dict[tuple[str, str], Basis] = {
    ("EdgeTimeout", operation): Basis(quirk=UNFILTERED_REPORTS_TIME_OUT.name)
    for operation in ("ReportAPI.SearchOrders", "ReportAPI.SearchExecutions")
}
_ORDER = re.compile(rb"\b[0-9A-Z]{12}\b")
_WORD = re.compile(rb"[a-z0-9][a-z0-9-]{2,}")
_ACCOUNT = re.compile(rb"firms/[\w-]+/(?:accounts|users)/[\w-]+")
_LATEST = 5


def explain_refusal(sim: Simulation, request_id: str) -> dict[str, Any] | None:
    """The explanation of a refused call by its request id; None when it is unknown, too long ago,
    or was not refused.
    """
    found = sim.log.explain(request_id)
    if found is None:
        return None
    seq = int(request_id, 16)
    step = step_of(sim, seq)
    basis = (
        Basis()
        if found["stage"] == "edge"
        else _OTHER_REASONS.get((found["refusal"], found["operation"]))
        or _REASONS.get(found["refusal"], Basis())
    )
    shown = basis_document(sim, basis)
    chain = [*_causes(sim, step, found), _itself(sim, step, found)]
    return {
        **{key: value for key, value in found.items() if key != "answered_in"},
        "subject": request_id,
        "kind": "request",
        "seq": seq,
        "caller": step.out.get("caller", ""),
        **{key: value for key, value in shown.items() if key in ("assumptions", "quirk")},
        **fault_document(sim, next((entry.fault for entry in sim.log.entries(seq, seq)), "")),
        "summary": (
            f"{found['status'] or found['code']} {found['message']}: refused in stage"
            f" {found['stage']!r}{_by(found)}"
        ),
        "chain": chain,
    }


def _by(found: dict[str, Any]) -> str:
    return (
        f" by rule {found['rule']}, §{found['section']}"
        if found["rule"]
        else f", §{found['section']}"
    )


def _itself(sim: Simulation, step: JournalStep, found: dict[str, Any]) -> Cause:
    """The refusal; of a held answer, where it left."""
    end = step_of(sim, found["answered_in"]) if "answered_in" in found else step
    at = step.at if end is step else parse_instant(found["now"])
    return {
        "seq": end.seq,
        "at": format_instant(at),
        "by": end.actor(at),
        "what": f"refused: {found['message']}",
        "request_id": found["request_id"],
        "rule": found["rule"],
        "section": f"§{found['section']}",
    }


# ---- what had led to it


def _causes(sim: Simulation, step: JournalStep, found: dict[str, Any]) -> list[Cause]:
    refusal, before = found["refusal"], step.seq - 1
    if found["stage"] == "answer":
        asked = cause_of(
            sim,
            step,
            "asked for the outcome of its orders, and was held for it",
            Basis("M37", "7.2"),
        )
        return [
            asked,
            *(
                one
                for order_id in found["orders"]
                for one in order_chain(sim, order_id, found["answered_in"])[-_LATEST:]
            ),
        ]
    match refusal:
        case "InstrumentNotTradable" | "IllegalTransition":
            return [
                one
                for symbol in _symbols(sim, step)
                for one in instrument_chain(sim, symbol, before)[-_LATEST:]
            ]
        case "OrderDone" | "DuplicateOrder":
            return [
                one
                for order_id in _orders(sim, step)
                for one in order_chain(sim, order_id, before)[-_LATEST:]
            ]
        case "OrderRefused" if found["rule"] in ("P3", "P4"):
            return [
                one
                for account in _accounts(sim, step)
                for one in account_chain(sim, account, before, most=_LATEST)
            ]
        case "RateLimited":
            return _spent(sim, step, found)
        case "Unavailable" if found["stage"] == "maintenance":
            windows = [
                cause_of(sim, one, "a maintenance window began", Basis("W1", "8"), event["at"])
                for one in steps(sim, '"MaintenanceChanged"', until=before)
                for event in one.events
                if event["event"] == "MaintenanceChanged" and event["active"]
            ]
            return windows[-1:]
        case "Unauthenticated":
            return _token(sim, step)
    return []


def _said(step: JournalStep) -> bytes:
    """Everything a call said that may name something: its path, query and body, or its message."""
    given = step.input
    if given["type"] == "rest":
        return f"{given['path']} {given.get('query', '')} {given.get('body', '')}".encode()
    return json.decode(json.encode(given.get("message", "")), type=bytes)


def _symbols(sim: Simulation, step: JournalStep) -> list[str]:
    words = dict.fromkeys(word.decode() for word in _WORD.findall(_said(step)))
    return [word for word in words if word in sim.exchange.instruments]


def _orders(sim: Simulation, step: JournalStep) -> list[str]:
    """Orders that a call named by id, or by the client order id of its participant."""
    orders = sim.exchange.trading.orders
    named = [
        found
        for word in _ORDER.findall(_said(step))
        if orders.get(found := word.decode()) is not None
    ]
    if not named:
        text, caller, quote = (
            _said(step),
            step.out.get("caller", ""),
            '"' if step.input["type"] == "rest" else "",
        )
        mine = [
            order
            for order in orders.all()
            if order.clord_id and order.participant == caller and order.created <= step.at
        ]
        named = [order.id for order in mine if f"{quote}{order.clord_id}{quote}".encode() in text][
            -1:
        ]
    return list(dict.fromkeys(named))


def _accounts(sim: Simulation, step: JournalStep) -> list[str]:
    names = [step.out.get("caller", ""), *(word.decode() for word in _ACCOUNT.findall(_said(step)))]
    found = (explain_account(sim, name) for name in names if name)
    return list(dict.fromkeys(one["subject"] for one in found if one is not None))


def _spent(sim: Simulation, step: JournalStep, found: dict[str, Any]) -> list[Cause]:
    """The latest calls that took from the limit."""
    caller = step.out.get("caller", "")
    calls = [
        entry
        for entry in sim.log.entries(0, step.seq - 1)
        if entry.caller == caller and entry.status != 429 and entry.code != 8
    ]
    mine = [entry for entry in calls if entry.operation == found["operation"]] or calls
    return [
        {
            "seq": entry.seq,
            "at": format_instant(entry.at),
            "by": f"{caller} called {entry.address}",
            "what": "took from the limit",
            "request_id": f"{entry.seq:016x}",
            "section": "§8",
        }
        for entry in mine[-_LATEST:]
    ]


def _token(sim: Simulation, step: JournalStep) -> list[Cause]:
    """Where the token of a call came from."""
    key = step.input.get("credential", {}).get("key", "")
    if not key:
        return []
    issued = list(steps(sim, f'"access_token":"sha256:{key}"', until=step.seq - 1))
    return [
        cause_of(
            sim,
            one,
            f"its token was issued, for {one.out['body'].get('expires_in', 180)} s of virtual time",
            Basis("S5.1-6", "5.1"),
        )
        for one in issued[-1:]
    ]
