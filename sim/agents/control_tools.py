"""Tools that each make a call of the control plane, and shorten its answer.

`listing.py` adds the arguments that the control plane's own document describes; they arrive here as
`arguments`. Docstrings are the descriptions that agents read.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote, urlencode

from sim.agents.answers import answer, quoted
from sim.agents.session import AgentSession
from sim.agents.tools import ExchangeName
from sim.read.layout import counted

_FIRED_SHOWN, _ROWS_SHOWN, _FINDINGS_SHOWN = 20, 30, 3
_REQUEST_ID = 16  # hexadecimal digits of a request id, which is the number of its input
_HISTORY = ("seq", "at", "kind", "title", "caller", "subject", "result")
_RULE = ("rule", "section", "says", "verdict")


def order(session: AgentSession, exchange: ExchangeName = "", **arguments: Any) -> str:
    """Place an order of any participant, such as the other side of a trade. Prices in dollars,
    amounts in contracts. It is no call of a client: use `call` for one.
    """
    placed = session.find(exchange).control("POST", "/orders", arguments)
    number = placed["order_id"]
    then = f"`explain` with subject {number} explains its state; `advance` lets timers fire."
    return answer(f"Order `{number}`:", placed, then=then)


def advance(session: AgentSession, exchange: ExchangeName = "", **arguments: Any) -> str:
    """Move virtual time forward; everything due on the way happens. Never sleep instead."""
    moved = session.find(exchange).control("POST", "/clock/advance", arguments)
    fired = moved["fired"]
    return answer(
        f"It is {moved['now']} now; {counted(len(fired), 'timer')} fired."
        + (f" The last {_FIRED_SHOWN} of them:" if len(fired) > _FIRED_SHOWN else ""),
        fired[-_FIRED_SHOWN:] or None,
        then="`history` shows what they did; `status` when the next is due.",
    )


def history(
    session: AgentSession,
    seq: Annotated[int | None, "one input, whole"] = None,
    exchange: ExchangeName = "",
    **arguments: Any,
) -> str:
    """What happened, oldest first: calls of clients with results, timers, steps. With seq
    everything about one input: request, answer, events.
    """
    running = session.find(exchange)
    if seq is not None:
        record = running.control("GET", f"/history/{seq}")
        then = "`branch` with this seq begins a copy right after it."
        return answer(f"Everything about input {seq}:", record, then=then)
    query = urlencode({**arguments, "limit": _ROWS_SHOWN})
    page = running.control("GET", f"/history?{query}")
    if not page["rows"]:
        then = "a call that you expected but that is missing never left the client."
        return answer("Nothing of that kind happened.", then=then)
    then = "`history` with seq shows all of one input; `explain` says why a call was refused."
    if page["next"] is not None:
        then = f"`history` with after={page['next']} continues. {then}"
    rows = [{key: row[key] for key in _HISTORY if row.get(key)} for row in page["rows"]]
    return answer(f"{len(rows)} of {page['last']} inputs, oldest first:", rows, then=then)


def explain(
    session: AgentSession,
    subject: Annotated[
        str, "x-request-id or number of a call, order id, account, symbol, stream/7, …"
    ],
    exchange: ExchangeName = "",
) -> str:
    """Why a call was refused: rule, section, remedy. Or why an order, account, symbol, stream,
    verification or webhook is as it is. Ask before you guess.
    """
    is_number = subject.isdecimal() and subject.isascii() and len(subject) < _REQUEST_ID
    name = f"{int(subject):016x}" if is_number else subject
    explanation = session.find(exchange).control("GET", f"/explain/{quote(name, safe='')}")
    chain = explanation.pop("chain")
    rows = [{key: value for key, value in row.items() if value} for row in (explanation, *chain)]
    then = "do what `remedy` says; `docs` with the section or rule says more."
    return answer(f"Why {quoted(subject)} is as it is, then what led to it:", rows, then=then)


def judge(session: AgentSession, exchange: ExchangeName = "", **arguments: Any) -> str:
    """Check the calls so far against the documented rules for clients: double orders, missing ids,
    tokens, retries, limits.
    """
    report = session.find(exchange).control("GET", f"/conformance?{urlencode(arguments)}")
    if not report["calls"]:
        return answer("No client has called yet.", then="run the client, then judge again.")
    applied = [rule for rule in report["rules"] if rule["applied"]]
    broken = [
        {key: rule[key] for key in _RULE}
        | {"broken": [f"input {case['seq']}: {case['broken']}" for case in cases[:_FINDINGS_SHOWN]]}
        for rule in applied
        if (cases := rule["findings"])
    ]
    then = "`history` with seq shows a broken call in full."
    if not broken:
        then = "no rule is broken: look at `history`, and at an account or order with `explain`."
    calls, rules = counted(report["calls"], "call"), counted(len(applied), "rule")
    summary = f"{calls}, {rules} applied, {len(broken)} broken."
    return answer(summary, broken or None, then=then)


def fault(
    session: AgentSession,
    operation: Annotated[str, "such as InsertOrder; default: every one"] = "",
    act: Annotated[
        dict[str, Any] | None, 'such as {"status": 503}, {"delay": "31s"}, {"reset": true}'
    ] = None,
    times: Annotated[int, "how often; default: always"] = 0,
    remove: Annotated[str, "id of a fault to end"] = "",
    exchange: ExchangeName = "",
) -> str:
    """Break something on purpose, end it (remove), or list what is broken (no arguments)."""
    running = session.find(exchange)
    if remove:
        running.control("DELETE", f"/faults/{quote(remove, safe='')}")
        return answer(f"Fault {quoted(remove)} ended.", then="run the client again.")
    if act is None:
        rows = running.control("GET", "/faults")["faults"]
        headline = f"Faults: {len(rows)}." if rows else "No fault is active."
        return answer(headline, rows or None, then="`fault` with operation and act injects one.")
    match = {"operation": operation} if operation else {}
    created = running.control("POST", "/faults", {"match": match, "act": act, "times": times})
    return answer(
        f"Fault `{created['id']}` is active for {quoted(operation or 'every operation')}.",
        then=f"run the client, look at `history`, then end it with remove={created['id']}.",
    )
