"""The table of all calls of the control plane (paths below `/_sim/v1`).

Calls that change the world are operator actions: their rows come from the table in
`actors/operator/actions.py`, and they enter as inputs. The other rows stand here: they read, or
move time, and are no inputs themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sim.actors.operator.action import Action, Route
from sim.actors.operator.actions import ACTIONS
from sim.server.control import clock_calls, instance_calls, read_calls
from sim.server.control.call import Call, Endpoint
from sim.server.host import Host

_INSTANCE = (
    '{"world": "what-if", "now": "2026-09-08T18:00:00Z", "seed": 7,'
    ' "gateway": "http://127.0.0.1:40001"}'
)
_CLOCK = '{"now": "2026-09-08T18:00:00Z", "mode": "manual", "next_due": "2026-09-08T18:00:30Z"}'
_SNAPSHOT = '{"name": "before", "now": "2026-09-08T18:00:00Z", "seq": 12}'

_OWN = (
    Endpoint(
        Route(
            "GET /clock",
            "virtual now, the clock's mode and when the next timer is due",
            answer=_CLOCK,
        ),
        clock_calls.read_clock,
    ),
    Endpoint(
        Route(
            "PUT /clock",
            "change the mode: manual, autojump, paced, paced:60",
            '{"mode": "paced:60"}',
            _CLOCK,
        ),
        clock_calls.set_clock,
        clock_calls.ModeBody,
    ),
    Endpoint(
        Route(
            "POST /clock/advance",
            "move time, by a duration or to an instant; answers what fired once all has settled",
            '{"by": "5m"}',
            '{"now": "2026-09-08T18:05:00Z", "fired": [{"at": "2026-09-08T18:00:30Z",'
            ' "timer": "book.publish", "subject": ""}]}',
        ),
        clock_calls.advance_clock,
        clock_calls.AdvanceBody,
    ),
    Endpoint(
        Route(
            "POST /reset",
            "go back to the scenario's start",
            '{"seed": 7}',
            '{"now": "2026-09-08T18:00:00Z", "seed": 7}',
        ),
        clock_calls.reset,
        clock_calls.ResetBody,
    ),
    Endpoint(
        Route(
            "POST /rewind",
            "go back to an instant (`to`) or to right after an input (`seq`), on a new branch",
            '{"seq": 12}',
            '{"now": "2026-09-08T18:00:00Z", "seq": 12, "branch": "branch-1"}',
        ),
        clock_calls.rewind,
        clock_calls.RewindBody,
    ),
    Endpoint(
        Route("POST /snapshots/{name}", "remember this moment under a name", answer=_SNAPSHOT),
        clock_calls.take_snapshot,
    ),
    Endpoint(
        Route("POST /snapshots/{name}/restore", "go to a remembered moment", answer=_SNAPSHOT),
        clock_calls.restore_snapshot,
    ),
    Endpoint(
        Route(
            "POST /fork",
            "start another world that begins as this one is now; answers its ready file",
            '{"name": "what-if"}',
            _INSTANCE,
        ),
        instance_calls.fork_instance,
        instance_calls.NameBody,
    ),
    Endpoint(
        Route(
            "GET /worlds",
            "every world of this process",
            answer='{"worlds": [{"world": "main", "scenario": "quickstart"}]}',
        ),
        instance_calls.list_instances,
    ),
    Endpoint(
        Route(
            "POST /worlds",
            "start another world at a scenario's start; answers its ready file",
            '{"name": "what-if", "scenario": "quickstart", "params": {}, "seed": 7,'
            ' "clock": "manual"}',
            _INSTANCE,
        ),
        instance_calls.start_instance,
        instance_calls.InstanceBody,
    ),
    Endpoint(Route("DELETE /worlds/{name}", "stop serving a world"), instance_calls.stop_instance),
    Endpoint(
        Route(
            "GET /journal",
            "inputs and what came of them, one JSON object a line; `since` counts inputs",
            answer="",
        ),
        read_calls.read_journal,
        query=("since",),
    ),
    Endpoint(
        Route(
            "GET /digest",
            "digest of everything so far",
            answer='{"digest": "64 hexadecimal digits", "seq": 12}',
        ),
        read_calls.read_digest,
    ),
    Endpoint(
        Route(
            "GET /requests",
            "what clients sent and what they were answered",
            answer='{"requests": [{"seq": 3, "at": "2026-09-08T18:00:00Z", "plane": "exchange",'
            ' "operation": "InsertOrder", "caller": "firms/atlas/users/mara-voss",'
            ' "status": 422, "code": 9, "explain": "0000000000000003"}]}',
        ),
        read_calls.read_requests,
        query=("operation", "status", "caller", "since"),
    ),
    Endpoint(
        Route(
            "GET /explain/{subject*}",
            "why a call was refused, or why an order, stream, account, instrument, verification or"
            " webhook is as it is",
        ),
        read_calls.explain,
    ),
    Endpoint(
        Route(
            "GET /conformance", "check what clients did against the documented rules for clients"
        ),
        read_calls.conformance,
        query=("caller", "rules", "form"),
    ),
    Endpoint(
        Route("GET /judge", "the former name of `/conformance`"),
        read_calls.conformance,
        query=("caller", "rules", "form"),
    ),
    Endpoint(
        Route(
            "GET /faults",
            "faults in force, and those that are over",
            answer='{"faults": [{"id": "f1", "match": {"operation": "CreateOrder", "nth": 2},'
            ' "act": {"status": 503}, "seen": 1, "struck": 0, "over": false}]}',
        ),
        read_calls.read_faults,
    ),
    Endpoint(
        Route(
            "GET /webhooks/deliveries",
            "attempts to deliver webhooks",
            answer='{"deliveries": [{"event_id": "evt_1", "type": "kyc.approved",'
            ' "firm": "firms/atlas", "url": "http://127.0.0.1:9000/", "attempt": 1,'
            ' "at": "2026-09-08T18:00:00Z", "status": 200}]}',
        ),
        read_calls.read_deliveries,
    ),
    Endpoint(
        Route(
            "GET /streams",
            "open streams",
            answer='{"streams": [{"id": 1, "rpc": "MarketDataSubscriptionAPI.CreateMarketData'
            'Subscription", "firm": "firms/atlas", "participant": "", "sent": 4,'
            ' "since": "2026-09-08T18:00:00Z"}]}',
        ),
        read_calls.read_streams,
    ),
    Endpoint(
        Route(
            "GET /state/{view}",
            "accounts, books, breakers, faults, funding, instruments, limits, maintenance, orders,"
            " participants, sessions, timers or verifications; answers them under the view's name",
            answer='{"books": [{"symbol": "by-hand", "state": "OPEN",'
            ' "bids": [{"px": "0.45", "qty": "10", "orders": 1}], "offers": []}]}',
        ),
        read_calls.read_state,
    ),
    Endpoint(
        Route("GET /catalogue", "operations, quirks, faults, presets, assumptions"),
        read_calls.read_catalogue,
    ),
    Endpoint(Route("GET /catalogue/{kind}", "one catalogue"), read_calls.read_catalogue_of),
    Endpoint(Route("GET /metrics", "Prometheus text", answer=""), read_calls.read_metrics),
    Endpoint(
        Route(
            "GET /health",
            "whether the simulator answers, and what it serves",
            answer='{"status": "ok", "scenario": "quickstart", "seed": 7,'
            ' "now": "2026-09-08T18:00:00Z", "seq": 12}',
        ),
        read_calls.health,
    ),
)


def _perform(action: Action) -> Callable[[Host, Call], Awaitable[object]]:
    async def respond(host: Host, call: Call) -> object:
        subject = call.path.get(action.subject, "")
        return await host.control(action.name, subject, call.body) or {}

    return respond


ROUTES: tuple[Endpoint, ...] = (
    *_OWN,
    *(
        Endpoint(action.route, _perform(action), action.body_keys)
        for action in ACTIONS.values()
        if action.route is not None
    ),
)
