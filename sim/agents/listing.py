"""The table of tools: name, purpose, arguments, and whether it changes anything.

A model reads the whole list before it does anything, so it is short: `tests/agents` limits it to 15
tools and 10,000 characters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from sim.agents import acting, exchanges, investigation, reading
from sim.agents.answers import ToolError, line, quoted
from sim.agents.session import Session
from sim.core.model.refusals import Refusal
from sim.read.catalogues import CATALOGUES

_EXCHANGE = {"exchange": {"type": "string", "description": "which one, where several run"}}


class Tool(NamedTuple):
    """A tool. `takes` is the JSON schema of each argument; those in `needs` are required."""

    name: str
    does: str
    perform: Callable[..., str]
    takes: dict[str, dict[str, Any]]
    needs: tuple[str, ...] = ()
    read_only: bool = False
    destructive: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": self.takes,
            "additionalProperties": False,
        }
        return schema | ({"required": list(self.needs)} if self.needs else {})


def perform(session: Session, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Return the answer of a tool, and whether it failed."""
    tool = TOOLS.get(name)
    if tool is None:
        return f"There is no tool {quoted(name)}. Tools: {', '.join(TOOLS)}.", True
    if problem := _problem(tool, arguments):
        return problem, True
    with session.exclusive():
        try:
            return tool.perform(session, **arguments), False
        except ToolError as refused:
            return str(refused), True
        except Refusal as refusal:
            return f"{quoted(refusal.message)}. Next: {refusal.remedy or 'look at `status`'}.", True


_KINDS: dict[str, Any] = {"string": str, "integer": int, "object": dict[str, Any]}


def _problem(tool: Tool, arguments: dict[str, Any]) -> str:
    """Return what is wrong with the arguments of a tool; empty if nothing is."""
    if lacking := [name for name in tool.needs if name not in arguments]:
        return f"`{tool.name}` needs {'; '.join(_argument_text(tool, name) for name in lacking)}."
    for name, value in arguments.items():
        schema = tool.takes.get(name)
        if schema is None:
            return f"`{tool.name}` takes no {quoted(name)}, but {', '.join(tool.takes)}."
        kind = _KINDS.get(schema.get("type", ""))
        try:
            if kind is not None:
                msgspec.convert(value, kind)
        except msgspec.ValidationError:
            return f"{name} must be a {schema['type']}, not {line(value)}."
        if "enum" in schema and value not in schema["enum"]:
            return f"{name} must be one of {', '.join(schema['enum'])}, not {line(value)}."
    return ""


def _argument_text(tool: Tool, name: str) -> str:
    """Return the description of an argument, with its choices if it has any."""
    schema = tool.takes[name]
    choices = f" ({', '.join(schema['enum'])})" if "enum" in schema else ""
    return f"{name}: {schema.get('description', '')}{choices}"


def _text(says: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": says, **more}


def _number(says: str) -> dict[str, Any]:
    return {"type": "integer", "description": says}


_WHO = _text("API key, firm or participant; default: the first")

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "start",
            "Serve an exchange on free local ports, its clock standing still. Answers addresses and"
            " credentials for the client under test. It ends with this session.",
            exchanges.start,
            {
                "scenario": _text("bundled name, file, or YAML text; default: quickstart"),
                "seed": _number("default: the scenario's"),
            },
        ),
        Tool(
            "stop",
            "End an exchange and its branches. Its state is lost.",
            exchanges.stop,
            _EXCHANGE,
            destructive=True,
        ),
        Tool(
            "status",
            "Virtual time, what is due next, calls, refusals, faults, steps of the scenario.",
            exchanges.status,
            _EXCHANGE,
            read_only=True,
        ),
        Tool(
            "call",
            "Make one HTTP call as a client does, signed. Use it to see what the exchange answers;"
            " to test a client, run the client.",
            acting.call,
            {
                "plane": _text(
                    "which plane", enum=["gateway", "retail", "exchange", "auth", "control"]
                ),
                "verb": _text("default: GET"),
                "path": _text("with its query, such as /v1/markets?limit=2"),
                "body": {"description": "JSON body"},
                "who": _WHO,
                **_EXCHANGE,
            },
            needs=("plane", "path"),
            destructive=True,
        ),
        Tool(
            "order",
            "Place an order as a partner's participant. Prices in dollars, amounts in contracts.",
            acting.order,
            {
                "symbol": _text("instrument"),
                "side": _text("", enum=["buy", "sell"]),
                "qty": _text("contracts, such as 10"),
                "price": _text("dollars, such as 0.45; none: at the market"),
                "tif": _text(
                    "default: DAY",
                    enum=["DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL"],
                ),
                "who": _WHO,
                "clord_id": _text("the client's id of the order"),
                **_EXCHANGE,
            },
            needs=("symbol", "side", "qty"),
        ),
        Tool(
            "advance",
            "Move virtual time forward; everything due on the way happens. Never sleep instead.",
            acting.advance,
            {
                "by": _text("duration, such as 90s, 5m, 2d"),
                "to": _text("instant, RFC 3339"),
                **_EXCHANGE,
            },
        ),
        Tool(
            "history",
            "What happened, oldest first: calls of clients with results, timers, steps. With seq"
            " everything about one input: request, answer, events.",
            reading.history,
            {
                "after": _number("rows after this input; default 0"),
                "seq": _number("one input, whole"),
                "kind": _text("only this kind, such as request, stream, timer, step, control"),
                "subject": _text("only about this symbol, stream/7, …"),
                "caller": _text("only of this caller"),
                **_EXCHANGE,
            },
            read_only=True,
        ),
        Tool(
            "explain",
            "Why a call was refused: rule, section, remedy. Or why an order, account, symbol,"
            " stream, verification or webhook is as it is. Ask before you guess.",
            reading.explain,
            {
                "subject": _text(
                    "x-request-id or number of a call, order id, account, symbol, stream/7, …"
                ),
                **_EXCHANGE,
            },
            needs=("subject",),
            read_only=True,
        ),
        Tool(
            "branch",
            "Serve a copy of an exchange as it is, or as it was right after an input: try something"
            " there without changing the original.",
            exchanges.branch,
            {"seq": _number("the input after which the copy begins; default: now"), **_EXCHANGE},
        ),
        Tool(
            "compare",
            "How the accounts, orders, trades and instruments of two exchanges differ.",
            exchanges.compare,
            {"other": _text("the second exchange"), **_EXCHANGE},
            needs=("other",),
            read_only=True,
        ),
        Tool(
            "judge",
            "Check the calls so far against the documented rules for clients: double orders,"
            " missing ids, tokens, retries, limits.",
            reading.judge,
            {"caller": _text("only this caller"), **_EXCHANGE},
            read_only=True,
        ),
        Tool(
            "fault",
            "Break something on purpose, end it (remove), or list what is broken (no arguments).",
            acting.fault,
            {
                "operation": _text("such as InsertOrder; default: every one"),
                "act": {
                    "type": "object",
                    "description": 'such as {"status": 503}, {"delay": "31s"}, {"reset": true}',
                },
                "times": _number("how often; default: always"),
                "remove": _text("id of a fault to end"),
                **_EXCHANGE,
            },
            destructive=True,
        ),
        Tool(
            "catalogue",
            "Names and rows: operations, quirks, faults, assumptions, scenarios and more.",
            reading.catalogue,
            {
                "kind": _text("default: operations", enum=[*CATALOGUES, "scenarios"]),
                "pattern": _text("part of a name, or with wildcards"),
                **_EXCHANGE,
            },
            read_only=True,
        ),
        Tool(
            "investigate",
            "Search: the smallest scenario that still fails, and the assumptions its failure"
            " depends on. Takes minutes; changes no exchange.",
            investigation.investigate,
            {
                "scenario": _text("a scenario that fails: bundled name, file, or YAML text"),
                "expect": _text(
                    "or: what should hold on the exchange, such as"
                    " {open_orders: {as: maker, count: 1}}"
                ),
                "only": _text("only assumptions that match, such as 'webhook.*'"),
                **_EXCHANGE,
            },
            read_only=True,
        ),
        Tool(
            "docs",
            "Search the guides: how to sign, stream, write scenarios, use the control plane.",
            reading.docs,
            {"query": _text("some words")},
            needs=("query",),
            read_only=True,
        ),
    )
}
