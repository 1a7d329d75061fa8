"""Calls about the history: rows, records and branches. None of them is an input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sim.kernel.work import Work
from sim.server.control.call import ControlCall, Events
from sim.server.control.live import LiveReader
from sim.server.control.read_calls import narrowed
from sim.server.event_loop import in_slices
from sim.server.host import Host


async def read_history(host: Host, call: ControlCall) -> object:
    from sim.read.history.pages import LIMIT, Query

    query = Query(
        after=call.number("after"),
        limit=call.number("limit", LIMIT),
        kinds=call.many.get("kind", ()),
        subject=call.query.get("subject", ""),
        caller=call.query.get("caller", ""),
    )
    page = await in_slices(host.history.page(query, call.query.get("branch", "")))
    if host.opened is not None and not host.opened.recorded.finished:
        page["replayed"] = host.opened.progress()
    return page


async def _past(
    host: Host, call: ControlCall, least: int, work: Callable[[int, str], Work[dict[str, Any]]]
) -> object:
    """What `work` finds at a moment, once the replay of a finished run has reached it."""
    seq, branch = call.counted("seq"), call.query.get("branch", "")
    if host.opened is not None:
        host.history.check(seq, branch, least)
        await host.opened.reach(seq, branch)
    around = partial(host.history.around, seq, branch)
    return await host.history_access.read(work(seq, branch), around)


async def read_record(host: Host, call: ControlCall) -> object:
    return await _past(host, call, 1, host.history.record)


async def read_past(host: Host, call: ControlCall) -> object:
    def work(seq: int, branch: str) -> Work[dict[str, Any]]:
        return host.history.state(seq, call.path["view"], branch, narrowed(call))

    return await _past(host, call, 0, work)


async def read_past_views(host: Host, call: ControlCall) -> object:
    def work(seq: int, branch: str) -> Work[dict[str, Any]]:
        return host.history.states(seq, call.many.get("view", ()), branch, narrowed(call))

    return await _past(host, call, 0, work)


async def read_past_frames(host: Host, call: ControlCall) -> object:
    def work(seq: int, branch: str) -> Work[dict[str, Any]]:
        return host.history.frames(seq, call.counted("id"), branch)

    return await _past(host, call, 0, work)


async def live(host: Host, call: ControlCall) -> object:
    return Events(LiveReader(host, call.headers.get("Last-Event-ID", "")))


async def read_branches(host: Host, call: ControlCall) -> object:
    forks = call.instances.forks_of(host) if call.instances is not None else []
    return {"branches": [*host.history.branches(), *forks]}
