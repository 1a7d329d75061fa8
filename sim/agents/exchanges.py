"""Tools that handle whole exchanges: start, stop, status, branch, compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sim.agents.answers import ToolError, answer, quoted
from sim.agents.session import RunningExchange, Session
from sim.core.model.refusals import Refusal
from sim.testing.exchange_fixture import ServedExchange
from sim.world.format.scenario import Scenario

_SYMBOLS_SHOWN = 10
_DIFFERENCES_MAX = 40
# The views by which two exchanges are compared, with the key of a row.
_VIEWS = {"accounts": "account", "orders": "id", "trades": "id", "instruments": "symbol"}


def start(session: Session, scenario: str = "quickstart", seed: int | None = None) -> str:
    """Serve a scenario on free ports."""
    name = session.new_name()
    served = ServedExchange(
        scenario_of(session, scenario), seed=seed, journal=session.journal(name)
    )
    session.add(RunningExchange(name, served))
    return answer(
        f"Exchange `{name}` is running; its clock stands at {served.ready['now']}. Configure the"
        " client with these addresses and one of these credentials.",
        _credentials(served),
        then="run the client, or use `call` and `order`; then `history` shows what the exchange saw"
        " and `explain` why something was refused. `advance` moves time.",
    )


def scenario_of(session: Session, what: str) -> Scenario:
    """Return a scenario by bundled name, as YAML text, or, unless confined, by path."""
    from sim.run.loader.load import load_scenario, load_submitted
    from sim.world.format.yaml_tree import ScenarioError

    try:
        return load_submitted(what, None) if session.confined else load_scenario(what)
    except ScenarioError as error:
        raise ToolError(
            f"The scenario has mistakes:\n{quoted(error)}\nNext: `catalogue` with kind scenarios"
            " lists the bundled ones; `docs` with 'write a scenario' says what one may hold."
        ) from None


def _credentials(served: ServedExchange) -> list[Any]:
    ready = served.ready
    planes = ("gateway", "retail", "exchange", "auth", "grpc", "control", "docs")
    firms = [
        {key: firm[key] for key in ("firm", "client_id", "private_key_path", "audience", "users")}
        for firm in ready["firms"]
    ]
    symbols = {state: names[:_SYMBOLS_SHOWN] for state, names in ready["symbols"].items() if names}
    return [
        {plane: ready[plane] for plane in planes},
        *({"api_key": key} for key in ready["api_keys"][:3]),
        *({"partner": firm} for firm in firms[:3]),
        {"symbols": symbols},
    ]


def stop(session: Session, exchange: str = "") -> str:
    """End an exchange and its forks."""
    ended = session.stop(session.find(exchange).name)
    left = f" Still running: {', '.join(session.names)}." if session.names else ""
    return f"Ended: {', '.join(ended)}.{left}"


def status(session: Session, exchange: str = "") -> str:
    """Describe the current state of an exchange."""
    if not session.names and not session.shared:
        return "No exchange is running.\n\nNext: `start`."
    running = session.find(exchange)
    served = running.served
    calls = served.requests()
    refused = [call for call in calls if call["status"] >= 400 or call["code"]]
    script = Counter(row["state"] for row in served.script())
    clock = served.control("GET", "/clock")
    facts = {
        "exchange": running.name,
        "scenario": served.ready["scenario"],
        "seed": served.seed,
        **{key: clock[key] for key in ("now", "mode", "next_due")},
        "calls": len(calls),
        "refused": len(refused),
        "faults": len(served.control("GET", "/faults")["faults"]),
        "streams": len(served.control("GET", "/streams")["streams"]),
        "steps": dict(script),
        "running": session.names,
    }
    then = "`advance` moves time; `history` lists what happened."
    if refused:
        latest = refused[-1]
        then = f"`explain` with subject {latest['explain'] or latest['seq']} says why the latest"
        then += " refused call was refused."
    return answer("The state of the exchange:", facts, then=then)


def branch(session: Session, exchange: str = "", seq: int | None = None) -> str:
    """Serve a copy of an exchange, in its current state or in that right after an input."""
    origin = session.find(exchange)
    name = session.new_name()
    try:
        copy = origin.served.fork(seq)
    except Refusal as refusal:
        reason = f"{quoted(refusal.message)}: {quoted(refusal.remedy)}"
        raise ToolError(f"{reason}. `history` has the numbers of the inputs.") from None
    session.add(RunningExchange(name, copy, origin.name))
    when = "as it is now" if seq is None else f"as it was after input {seq}"
    return answer(
        f"Exchange `{name}` is a copy of `{origin.name}` {when}. What happens in one does not"
        " affect the other; credentials are the same.",
        {plane: copy.ready[plane] for plane in ("gateway", "retail", "exchange", "grpc", "now")},
        then=f"do something else on `{name}`, then `compare` the two.",
    )


def compare(session: Session, other: str, exchange: str = "") -> str:
    """Compare the states of two exchanges."""
    one, two = session.find(exchange), session.find(other)
    differences = [row for view, key in _VIEWS.items() for row in _differences(one, two, view, key)]
    if not differences:
        return answer(
            f"`{one.name}` and `{two.name}` have the same accounts, orders, trades and states.",
            then="`history` of each shows whether they got there in the same way.",
        )
    return answer(
        f"`{one.name}` and `{two.name}` differ in {len(differences)} values; each row has the"
        " first's and the second's.",
        differences[:_DIFFERENCES_MAX],
        then="`explain` with an order id, account or symbol says why it is as it is.",
    )


def _differences(
    one: RunningExchange, two: RunningExchange, view: str, key: str
) -> Iterator[dict[str, Any]]:
    left, right = ({str(row[key]): row for row in _rows(each, view)} for each in (one, two))
    for name in {**left, **right}:
        if name not in left or name not in right:
            yield {view: name, "only_in": one.name if name in left else two.name}
            continue
        for field, value in left[name].items():
            if value != right[name].get(field):
                yield {view: name, "value": field, "is": [value, right[name].get(field)]}


def _rows(running: RunningExchange, view: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = running.served.control("GET", f"/state/{view}")[view]
    return rows
