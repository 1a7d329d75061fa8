"""The calls of the control plane (design §3) as a table at the end of this file. Reads are not
journalled; what changes the world goes in as an input.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sim.core.catalogue.assumptions import unknown_name
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound
from sim.kernel.instants import Instant, Span, format_instant, parse_instant, parse_span
from sim.scenario.scenario import Scenario
from sim.server.clock_driver import ClockMode, parse_clock_mode
from sim.server.host import Host


class InstanceControl(Protocol):
    """What the control plane asks of the instances of a process; see `sim.server.instances`."""

    def describe_all(self) -> list[dict[str, Any]]: ...

    def describe(self, name: str) -> dict[str, Any]: ...

    def name_of(self, host: Host) -> str: ...

    async def begin(
        self, origin: Host, scenario: Scenario, seed: int | None, name: str, clock: ClockMode | None
    ) -> str: ...

    async def fork(self, origin: Host, name: str) -> str: ...

    async def end(self, name: str) -> None: ...


class Call(NamedTuple):
    """One call: `path` values by their names in the template, `query` parameters, the JSON object
    of the body ({} without one). `instances` are those of the process, where it serves several.
    """

    path: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any]
    instances: InstanceControl | None = None


class Lines(NamedTuple):
    """An answer that is text line by line instead of one JSON value."""

    content_type: str
    lines: Any  # Iterable[bytes]; each without its newline


class Route(NamedTuple):
    """A call of the control plane. `keys`: what its body may hold; None leaves that to the
    simulation. `query`: its parameters.
    """

    verb: str
    template: str
    does: str
    answer: Callable[[Host, Call], Awaitable[object]]
    keys: tuple[str, ...] | None = ()
    query: tuple[str, ...] = ()


def only_keys(what: str, given: dict[str, Any], known: tuple[str, ...]) -> None:
    """Refuse keys that mean nothing here, naming the nearest that does."""
    for key in given:
        if key not in known:
            raise InvalidRequest(
                unknown_name(what, key, known),
                remedy=f"known: {', '.join(known)}" if known else f"no {what} is taken here",
            )


# ---- clock


async def read_clock(host: Host, call: Call) -> object:
    due = host.simulation.next_due()
    return {
        "now": format_instant(host.simulation.now),
        "mode": str(host.driver.mode),
        "next_due": format_instant(due) if due is not None else None,
    }


async def advance_clock(host: Host, call: Call) -> object:
    by, to = call.body.get("by"), call.body.get("to")
    if (by is None) == (to is None):
        raise InvalidRequest('say how far: {"by": "5m"} or {"to": "2026-07-09T06:00:00Z"}')
    if to is None:
        span = _span("by", by)
        if span < 0:
            raise InvalidRequest("time only moves forward", remedy="POST /_sim/v1/rewind goes back")
        target = host.simulation.now + span
    else:
        target = _instant("to", to)
    fired = await host.advance(target)
    return {
        "now": format_instant(host.simulation.now),
        "fired": [
            {"at": format_instant(one.at), "timer": one.timer, "subject": one.subject}
            for one in fired
        ],
    }


async def set_clock(host: Host, call: Call) -> object:
    host.driver.change(_clock_mode(call.body.get("mode")))
    return await read_clock(host, call)


def _clock_mode(given: object) -> ClockMode:
    try:
        return parse_clock_mode(_text("mode", given))
    except ValueError as problem:
        raise InvalidRequest(str(problem)) from None


# ---- time travel


async def reset(host: Host, call: Call) -> object:
    seed = call.body.get("seed")
    await host.reset(None if seed is None else _integer("seed", seed))
    return {"now": format_instant(host.simulation.now), "seed": host.simulation.seed}


async def rewind(host: Host, call: Call) -> object:
    to, seq = call.body.get("to"), call.body.get("seq")
    if (to is None) == (seq is None):
        raise InvalidRequest('say where to: {"to": instant} or {"seq": n}')
    branch = await (
        host.rewind(seq=_integer("seq", seq)) if to is None else host.rewind(to=_instant("to", to))
    )
    return {
        "now": format_instant(host.simulation.now),
        "seq": host.simulation.seq,
        "branch": branch,
    }


async def take_snapshot(host: Host, call: Call) -> object:
    host.simulation.snapshot(call.path["name"])
    return {
        "name": call.path["name"],
        "now": format_instant(host.simulation.now),
        "seq": host.simulation.seq,
    }


async def restore_snapshot(host: Host, call: Call) -> object:
    await host.restore(call.path["name"])
    return {
        "name": call.path["name"],
        "now": format_instant(host.simulation.now),
        "seq": host.simulation.seq,
    }


# ---- instances


def _instances(call: Call) -> InstanceControl:
    if call.instances is None:
        raise Conflict(
            "this exchange is served alone",
            remedy="`sim serve` and the pytest fixture serve many worlds",
        )
    return call.instances


async def list_worlds(host: Host, call: Call) -> object:
    return {"worlds": _instances(call).describe_all()}


async def begin_world(host: Host, call: Call) -> object:
    instances, given = _instances(call), call.body
    scenario, seed, clock = host.simulation.scenario, given.get("seed"), given.get("clock")
    if "scenario" in given:
        scenario = _scenario(given["scenario"], given.get("params", {}), host.settings.scenarios)
    elif "params" in given:
        raise InvalidRequest("params belong to a scenario", remedy='{"scenario": …, "params": {…}}')
    mode = None if clock is None else _clock_mode(clock)
    name = await instances.begin(
        host,
        scenario,
        None if seed is None else _integer("seed", seed),
        _text("name", given.get("name", "")),
        mode,
    )
    return instances.describe(name)


async def fork_world(host: Host, call: Call) -> object:
    instances = _instances(call)
    return instances.describe(await instances.fork(host, _text("name", call.body.get("name", ""))))


async def end_world(host: Host, call: Call) -> object:
    instances, name = _instances(call), call.path["name"]
    instances.describe(name)
    if instances.name_of(host) == name:
        raise Conflict(
            "a world cannot end itself",
            remedy="ask the control plane of another world, main's for example",
        )
    await instances.end(name)
    return {}


def _scenario(given: object, params: object, folder: str) -> Scenario:
    from sim.loader.load import load_given
    from sim.scenario.yaml_tree import ScenarioError

    if not isinstance(given, str | dict):
        raise InvalidRequest(
            "scenario is the name of a bundled one, a document, YAML text, or a path below the"
            " folder of --scenarios"
        )
    if not isinstance(params, dict) or not all(isinstance(value, str) for value in params.values()):
        raise InvalidRequest("params are texts by name")
    try:
        return load_given(given, Path(folder) if folder else None, params)
    except ScenarioError as error:
        raise InvalidRequest(
            str(error),
            remedy="`sim schema` prints what a scenario may hold; docs/how-to/write-a-scenario.md explains it",
        ) from None


# ---- reading


async def read_journal(host: Host, call: Call) -> object:
    return Lines("application/x-ndjson", host.simulation.journal_lines(_since(call)))


async def read_digest(host: Host, call: Call) -> object:
    return {"digest": host.simulation.digest, "seq": host.simulation.seq}


async def read_requests(host: Host, call: Call) -> object:
    query = call.query
    return {
        "requests": host.simulation.requests(
            operation=query.get("operation", ""),
            status=_integer("status", query.get("status") or "0"),
            caller=query.get("caller", ""),
            since=_since(call),
        )
    }


async def explain(host: Host, call: Call) -> object:
    found = host.simulation.explain(call.path["subject"])
    if found is None:
        raise NotFound(
            "no refused call, order, stream, account, instrument, verification or webhook is called"
            " that",
            remedy=(
                "a request id (GET /_sim/v1/requests shows those of refused calls as `explain`), an"
                " order id, stream/7, firms/…, a symbol, kyc/EXTERNAL_ID, or webhook/EVENT_ID"
            ),
        )
    return found


async def conformance(host: Host, call: Call) -> object:
    form = call.query.get("form", "json")
    if form not in ("json", "junit"):
        raise InvalidRequest(f"form is json or junit, not {form!r}", rule="control")
    rules = tuple(name for name in call.query.get("rules", "").split(",") if name)
    report = host.simulation.judge(caller=call.query.get("caller", ""), rules=rules)
    return Lines("application/xml", [report.junit()]) if form == "junit" else report.document()


async def read_streams(host: Host, call: Call) -> object:
    return {"streams": host.simulation.streams()}


async def read_deliveries(host: Host, call: Call) -> object:
    return {"deliveries": host.simulation.deliveries()}


async def read_state(host: Host, call: Call) -> object:
    return host.simulation.state(call.path["what"])


async def read_catalogue(host: Host, call: Call) -> object:
    from sim.analysis.catalogues import rows

    return {
        kind: rows(kind, host.simulation)
        for kind in ("operations", "quirks", "faults", "presets", "assumptions")
    }


async def read_catalogue_of(host: Host, call: Call) -> object:
    from sim.analysis.catalogues import rows

    return {call.path["kind"]: rows(call.path["kind"], host.simulation)}


async def read_metrics(host: Host, call: Call) -> object:
    from sim.server.control.metrics import prometheus_text

    return Lines(
        "text/plain; version=0.0.4; charset=utf-8", prometheus_text(host.simulation.metrics())
    )


async def health(host: Host, call: Call) -> object:
    simulation = host.simulation
    return {
        "status": "ok",
        "scenario": simulation.scenario.name,
        "seed": simulation.seed,
        "now": format_instant(simulation.now),
        "seq": simulation.seq,
    }


# ---- changing the world


def _act(action: str, subject: str = "") -> Callable[[Host, Call], Awaitable[object]]:
    """A call that is an action of the simulation; `subject` names the path value it is about."""

    async def answer(host: Host, call: Call) -> object:
        value = await host.control(action, call.path[subject] if subject else "", call.body)
        return {} if value is None else value

    return answer


async def redeliver(host: Host, call: Call) -> object:
    firm = "firms/" + call.path["firm"].removeprefix("firms/")
    return await host.control("webhook.redeliver", firm, call.body) or {}


# ---- values


def _since(call: Call) -> int:
    since = _integer("since", call.query.get("since") or "0")
    if since < 0:
        raise InvalidRequest("since is the number of an input, from 0")
    return since


def _text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise InvalidRequest(f"{name} must be text")
    return given


def _integer(name: str, given: object) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if (
        isinstance(given, str)
        and given.isascii()
        and given.removeprefix("-").isdigit()
        and len(given) < 20
    ):
        return int(given)
    raise InvalidRequest(f"{name} must be an integer")


def _instant(name: str, given: object) -> Instant:
    try:
        return parse_instant(_text(name, given))
    except ValueError as problem:
        raise InvalidRequest(f"{name}: {problem}") from None


def _span(name: str, given: object) -> Span:
    try:
        return parse_span(_text(name, given))
    except ValueError as problem:
        raise InvalidRequest(f"{name}: {problem}") from None


ROUTES: tuple[Route, ...] = (
    Route(
        "GET", "/clock", "virtual now, the clock's mode and when the next thing is due", read_clock
    ),
    Route(
        "PUT", "/clock", "change the mode: manual, autojump, paced, paced:60", set_clock, ("mode",)
    ),
    Route(
        "POST",
        "/clock/advance",
        "move time; answers what fired once all of it has settled",
        advance_clock,
        ("by", "to"),
    ),
    Route("POST", "/reset", "back to the scenario's start", reset, ("seed",)),
    Route(
        "POST",
        "/rewind",
        "back to an instant or to right after an input, on a new branch",
        rewind,
        ("to", "seq"),
    ),
    Route("POST", "/snapshots/{name}", "remember this moment under a name", take_snapshot),
    Route("POST", "/snapshots/{name}/restore", "go to a remembered moment", restore_snapshot),
    Route(
        "POST",
        "/fork",
        "another world that begins as this one is now; answers its ready file",
        fork_world,
        ("name",),
    ),
    Route("GET", "/worlds", "every world of this process", list_worlds),
    Route(
        "POST",
        "/worlds",
        "another world at a scenario's start; answers its ready file",
        begin_world,
        ("name", "scenario", "params", "seed", "clock"),
    ),
    Route("DELETE", "/worlds/{name}", "stop serving a world", end_world),
    Route(
        "GET",
        "/journal",
        "inputs and what came of them, one JSON object a line",
        read_journal,
        query=("since",),
    ),
    Route("GET", "/digest", "digest of everything so far", read_digest),
    Route(
        "GET",
        "/requests",
        "what clients sent and were told",
        read_requests,
        query=("operation", "status", "caller", "since"),
    ),
    Route(
        "GET",
        "/explain/{subject*}",
        "why a call was refused, or why an order, stream, account, instrument, verification or"
        " webhook is as it is",
        explain,
    ),
    Route(
        "GET",
        "/conformance",
        "checks what clients did against the documented rules for clients",
        conformance,
        query=("caller", "rules", "form"),
    ),
    Route(
        "GET",
        "/judge",
        "the former name of `/conformance`",
        conformance,
        query=("caller", "rules", "form"),
    ),
    Route(
        "GET",
        "/faults",
        "faults in force",
        lambda host, call: read_state(host, call._replace(path={"what": "faults"})),
    ),
    Route(
        "POST",
        "/faults",
        "inject a fault: an entry of a scenario's `faults`",
        _act("fault.add"),
        None,
    ),
    Route("DELETE", "/faults/{id}", "remove a fault", _act("fault.remove", "id")),
    Route(
        "POST",
        "/maintenance",
        "a one-off maintenance window; at once without `begins`",
        _act("maintenance.add"),
        ("begins", "length", "lead"),
    ),
    Route(
        "DELETE",
        "/maintenance/{name}",
        "call a one-off window off, or end it now",
        _act("maintenance.cancel", "name"),
    ),
    Route(
        "PUT",
        "/preset",
        "all quirks and faults at once: ideal, realistic, hostile",
        _act("preset.set"),
        ("name",),
    ),
    Route(
        "PUT",
        "/quirks/{name}",
        "odds of a quirk: always, never or a fraction",
        _act("quirk.set", "name"),
        ("value",),
    ),
    Route(
        "PUT",
        "/assumptions/{name}",
        "value of an assumption",
        _act("assumption.set", "name"),
        ("value",),
    ),
    Route(
        "POST",
        "/instruments",
        "list an instrument: an entry of a scenario's `world.instruments`",
        _act("instrument.create"),
        None,
    ),
    Route(
        "POST",
        "/instruments/{symbol}/state",
        "move an instrument to a state, or back to its SCHEDULE",
        _act("instrument.state", "symbol"),
        ("state",),
    ),
    Route(
        "POST",
        "/instruments/{symbol}/settle",
        "settle an instrument at a price and pay",
        _act("instrument.settle", "symbol"),
        ("price",),
    ),
    Route(
        "POST",
        "/trades/{id}/bust",
        "undo a trade: contracts, cash and fees go back",
        _act("trade.bust", "id"),
    ),
    Route(
        "POST",
        "/orders",
        "an order of a scripted participant: an `order` step",
        _act("order.place"),
        None,
    ),
    Route("POST", "/prices/{asset}", "an index tick", _act("price.tick", "asset"), ("price", "at")),
    Route(
        "POST",
        "/fair-prices/{symbol}",
        "what scripted participants think an instrument worth from now on",
        _act("fair_price.set", "symbol"),
        ("price",),
    ),
    Route(
        "PUT",
        "/participants/{name}",
        "stop a scripted participant, or let it go on",
        _act("participant.switch", "name"),
        ("active",),
    ),
    Route(
        "POST",
        "/events/{id}",
        "score, period, live or ended of an event",
        _act("event.update", "id"),
        None,
    ),
    Route(
        "POST",
        "/accounts/{account*}/fund",
        "money for an account, at once or through a source: a `fund` step",
        _act("account.fund", "account"),
        None,
    ),
    Route(
        "POST",
        "/funding/{id}",
        "complete, cancel or refund a funding transaction",
        _act("funding.decide", "id"),
        ("state", "amount"),
    ),
    Route(
        "POST",
        "/kyc/{id}/decision",
        "approve or reject a verification",
        _act("kyc.decide", "id"),
        ("decision",),
    ),
    Route(
        "POST",
        "/kyc/{id}/document",
        "say that documents were uploaded",
        _act("kyc.document", "id"),
        ("result",),
    ),
    Route("GET", "/webhooks/deliveries", "webhook attempts", read_deliveries),
    Route("POST", "/webhooks/{firm*}/redeliver", "send a firm's events again", redeliver, None),
    Route("GET", "/streams", "open streams", read_streams),
    Route("DELETE", "/streams/{id}", "end a stream with UNAVAILABLE", _act("stream.close", "id")),
    Route(
        "GET",
        "/state/{what}",
        "books, orders, accounts, sessions, limits, breakers, instruments, ...",
        read_state,
    ),
    Route("GET", "/catalogue", "operations, quirks, faults, assumptions", read_catalogue),
    Route("GET", "/catalogue/{kind}", "one catalogue", read_catalogue_of),
    Route("GET", "/metrics", "Prometheus text", read_metrics),
    Route("GET", "/health", "about itself", health),
)
