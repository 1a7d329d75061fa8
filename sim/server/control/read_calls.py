"""Calls that read: journal, request log, explanations, views, catalogues. None of them
is an input.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import json

from sim.core.model.refusals import InvalidRequest, NotFound
from sim.kernel.instants import format_instant
from sim.kernel.journal import Header, encode_header
from sim.kernel.work import Work
from sim.run.actors.operator import views
from sim.run.actors.script.view import script_view
from sim.server.control.call import ControlCall, LinesAnswer
from sim.server.event_loop import in_helper_thread, in_slices
from sim.server.host import Host
from sim.server.ready_file import reading

_NO_SUBJECT = (
    "no refused call, order, stream, account, instrument, verification or webhook has this name"
)
_FOUND, _FOUND_MAX = 20, 1_000
_SUBJECTS = (
    "a request id (GET /_sim/v1/requests shows those of refused calls as `explain`), an order id,"
    " stream/7, firms/…, a symbol, kyc/EXTERNAL_ID, or webhook/EVENT_ID"
)


async def read_journal(host: Host, call: ControlCall) -> object:
    return LinesAnswer("application/x-ndjson", host.simulation.journal_lines(call.number("since")))


async def read_scenario(host: Host, call: ControlCall) -> object:
    """The actions so far as a scenario. It is written outside the event loop, because that
    may take long.
    """
    from sim.read.export.journal_to_scenario import scenario_of
    from sim.read.export.yaml_writer import as_yaml

    journal, seed = host.simulation.journal, host.simulation.seed
    header = json.decode(encode_header(journal.header), type=Header)
    lines = await in_slices(_collected(journal.lines()))
    document = await in_helper_thread(scenario_of, header, lines, seed)
    left_out = ", ".join(f"{count} {kind}" for kind, count in document.left_out.items())
    why = ["The actions of clients and testers in a run, as steps. Run it with `sim run`."]
    why += [f"Left out, because there is no step for it: {left_out}."] if left_out else []
    return LinesAnswer("application/yaml", [as_yaml(document.document, why).rstrip("\n").encode()])


def _collected(lines: Iterable[bytes]) -> Work[list[bytes]]:
    collected = []
    for line in lines:
        collected.append(line)
        yield
    return collected


async def read_digest(host: Host, call: ControlCall) -> object:
    return {"digest": host.simulation.digest, "seq": host.simulation.seq}


async def read_requests(host: Host, call: ControlCall) -> object:
    requests = await in_slices(
        host.simulation.requests_in_steps(
            operation=call.query.get("operation", ""),
            status=call.number("status"),
            caller=call.query.get("caller", ""),
            since=call.number("since"),
        )
    )
    return {"requests": requests}


async def read_script(host: Host, call: ControlCall) -> object:
    return script_view(host.simulation.script)


async def explain(host: Host, call: ControlCall) -> object:
    from sim.read.explain import explain_in_steps

    explanation = await in_slices(explain_in_steps(host.simulation, call.path["subject"]))
    if explanation is None:
        raise NotFound(_NO_SUBJECT, remedy=_SUBJECTS)
    return explanation


async def conformance(host: Host, call: ControlCall) -> object:
    from sim.read.conformance import check_in_steps

    form = call.query.get("form", "json")
    if form not in ("json", "junit"):
        raise InvalidRequest(f"form is json or junit, not {form!r}", rule="T1")
    rules = tuple(name for name in call.query.get("rules", "").split(",") if name)
    caller = call.query.get("caller", "")
    report = await in_slices(check_in_steps(host.simulation, caller=caller, rules=rules))
    return (
        LinesAnswer("application/xml", [report.junit()]) if form == "junit" else report.document()
    )


async def read_streams(host: Host, call: ControlCall) -> object:
    return {"streams": host.simulation.streams()}


async def read_frames(host: Host, call: ControlCall) -> object:
    from sim.read.history.records import frame_body

    number = call.path["id"]
    stream = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else -1
    frames = host.streams.last_frames(stream)
    if frames is None:
        remedy = "GET /_sim/v1/streams lists those that are open"
        raise NotFound(f"no stream {number[:40]!r} is open", rule="T1", remedy=remedy)
    simulation = host.simulation
    operation = simulation.contract.by_name(simulation.engine.hub.operations()[stream])
    return {
        "frames": [
            {"seq": seq, "at": format_instant(at), "body": frame_body(operation, frame)}
            for seq, at, frame in frames
        ]
    }


async def read_deliveries(host: Host, call: ControlCall) -> object:
    return {"deliveries": views.deliveries(host.simulation.exchange)}


async def read_state(host: Host, call: ControlCall) -> object:
    engine = host.simulation.engine
    return await in_slices(views.view_in_steps(engine, call.path["view"], narrowed(call)))


async def read_views(host: Host, call: ControlCall) -> object:
    simulation = host.simulation
    moment = {
        "seq": simulation.seq,
        "at": format_instant(simulation.now),
        "branch": simulation.branch,
        "digest": simulation.digest,
    }
    names = call.many.get("view", ())
    return moment | await in_slices(views.views_in_steps(simulation.engine, names, narrowed(call)))


def narrowed(call: ControlCall) -> views.ViewFilter:
    """The filter of a view, from the query of a call."""
    symbol, account = call.query.get("symbol", ""), call.query.get("account", "")
    return views.ViewFilter(symbol, account, call.number("last"))


async def find_instruments(host: Host, call: ControlCall) -> object:
    limit = call.number("limit") or _FOUND
    if limit > _FOUND_MAX:
        raise InvalidRequest(f"limit is at most {_FOUND_MAX}", rule="T1")
    return views.find_instruments(host.simulation.engine, call.query.get("text", ""), limit)


async def read_faults(host: Host, call: ControlCall) -> object:
    return views.view(host.simulation.engine, "faults")


async def read_catalogue(host: Host, call: ControlCall) -> object:
    from sim.read.catalogues import rows

    kinds = ("operations", "quirks", "faults", "patches", "presets", "assumptions", "observations")
    return {kind: rows(kind, host.simulation) for kind in kinds}


async def read_catalogue_of(host: Host, call: ControlCall) -> object:
    from sim.read.catalogues import rows

    return {call.path["kind"]: rows(call.path["kind"], host.simulation)}


async def read_metrics(host: Host, call: ControlCall) -> object:
    from sim.run.actors.operator.metrics import metrics
    from sim.server.telemetry.prometheus import prometheus_text

    text = prometheus_text(metrics(host.simulation.engine), host.latencies)
    return LinesAnswer("text/plain; version=0.0.4; charset=utf-8", text.splitlines())


async def health(host: Host, call: ControlCall) -> object:
    simulation = host.simulation
    return {
        "status": "ok",
        "scenario": simulation.scenario.name,
        "seed": simulation.seed,
        "reading": reading(simulation),
        "start": format_instant(simulation.journal.header.start),
        "now": format_instant(simulation.now),
        "seq": simulation.seq,
        **({"docs": host.settings.docs_url} if host.settings.docs_url else {}),
        **({"tls_ca": str(host.tls_ca)} if host.tls_ca else {}),
        **({"replay": host.opened.progress()} if host.opened is not None else {}),
    }
