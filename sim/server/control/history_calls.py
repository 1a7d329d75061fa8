"""Calls about what happened: rows, records and branches. None is an input."""

from __future__ import annotations

from sim.server.control.call import Call, Events
from sim.server.control.live import LiveReader
from sim.server.control.read_calls import narrowed
from sim.server.host import Host
from sim.server.turns import in_turns


async def read_history(host: Host, call: Call) -> object:
    from sim.analysis.history.pages import LIMIT, Query

    query = Query(
        after=call.number("after"),
        limit=call.number("limit", LIMIT),
        kinds=call.many.get("kind", ()),
        subject=call.query.get("subject", ""),
        caller=call.query.get("caller", ""),
    )
    return await in_turns(host.history.page(query, call.query.get("branch", "")))


async def read_record(host: Host, call: Call) -> object:
    work = host.history.record(call.counted("seq"), call.query.get("branch", ""))
    async with host.looking:
        return await in_turns(work)


async def read_past(host: Host, call: Call) -> object:
    branch = call.query.get("branch", "")
    work = host.history.state(call.counted("seq"), call.path["view"], branch, narrowed(call))
    async with host.looking:
        return await in_turns(work)


async def live(host: Host, call: Call) -> object:
    return Events(LiveReader(host, call.headers.get("Last-Event-ID", "")))


async def read_branches(host: Host, call: Call) -> object:
    forks = call.instances.forks_of(host) if call.instances is not None else []
    return {"branches": [*host.history.branches(), *forks]}
