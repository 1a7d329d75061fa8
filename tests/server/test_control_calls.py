"""Every call of the control plane on the bundled world: it answers 200 and has the effect in the
table of calls.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sim.kernel import resources
from sim.run.actors.operator.views import VIEWS
from sim.server.control.routes import ROUTES
from tests.kit.clients import Partner


@pytest.fixture
def steps(exchange):
    """Return a valid call per route, in an order in which each is possible: (verb, path, body,
    check of the answer).
    """
    symbol, event = exchange.symbols["open"][0], _event(exchange)
    partner = Partner(exchange)
    partner.register(exchange.webhooks.url)
    partner.start(first_name="Paulina", last_name="Gizela")
    partner.start(
        external_id="c-2", ssn="223456789", date_of_birth="1985-09-02", docv_eligible=True
    )
    partner.call("GET", "/v1/nothing")
    refused = exchange.requests(status=404)[-1]["explain"]
    firm = exchange.firms[0]
    source = {"source": f"{firm['firm'].removeprefix('firms/')}-bank", "script": "hold"}
    exchange.control(
        "POST", "/instruments", {"symbol": "undone", "tick_size": "0.01", "state": "OPEN"}
    )
    for who, side in (("maker", "sell"), ("noise", "buy")):
        exchange.control(
            "POST",
            "/orders",
            {"as": who, "symbol": "undone", "side": side, "price": "0.30", "qty": "1"},
        )
    trade = exchange.running.call(
        lambda: next(
            row.id
            for row in exchange.running.simulation.exchange.trading.trades
            if row.symbol == "undone"
        )
    )
    held = exchange.control(
        "POST", f"/accounts/{firm['accounts'][0]}/fund", {"amount": "7", **source}
    )["transaction"]

    def make(verb: str, template: str) -> list[tuple[str, Any]]:
        return {
            "GET /clock": [("/clock", None)],
            "PUT /clock": [("/clock", {"mode": "manual"})],
            "POST /clock/advance": [
                ("/clock/advance", {"by": "PT1S"}),
                ("/clock/advance", {"to": "2026-09-08T18:00:05Z"}),
            ],
            "GET /script": [("/script", None)],
            "POST /reset": [("/reset", {})],
            "POST /rewind": [("/rewind", {"seq": 1})],
            "POST /snapshots/{name}": [("/snapshots/here", {})],
            "POST /snapshots/{name}/restore": [("/snapshots/here/restore", {})],
            "POST /fork": [("/fork", {"name": "other"})],
            "GET /worlds": [("/worlds", None)],
            "POST /worlds": [("/worlds", {"scenario": "quickstart", "seed": 3})],
            "DELETE /worlds/{name}": [("/worlds/other", None)],
            "GET /journal": [("/journal?since=0", None)],
            "GET /digest": [("/digest", None)],
            "GET /scenario": [],  # its answer is not JSON; tests/server/test_room_files.py tests it
            "GET /history": [("/history?limit=3&kind=control&kind=request", None)],
            "GET /history/{seq}": [("/history/1", None)],
            "GET /history/{seq}/state/{view}": [
                (f"/history/1/state/{what}", None) for what in VIEWS
            ],
            "GET /history/{seq}/state": [("/history/1/state?view=books&view=trades&last=3", None)],
            "GET /branches": [("/branches", None)],
            "GET /requests": [
                ("/requests?operation=StartKYCVerification&status=200&since=0", None)
            ],
            "GET /explain/{subject*}": [
                (f"/explain/{refused}", None),
                (f"/explain/{symbol}", None),
                (f"/explain/{exchange.firms[0]['accounts'][0]}", None),
            ],
            "GET /conformance": [
                ("/conformance", None),
                ("/conformance?caller=firms/atlas&rules=backoff,retry-after", None),
                ("/conformance?form=junit", None),
            ],
            "GET /faults": [("/faults", None)],
            "POST /faults": [
                ("/faults", {"match": {"operation": "ListLeagues"}, "act": {"status": 503}})
            ],
            "DELETE /faults/{id}": [("/faults/f1", None)],
            "POST /maintenance": [("/maintenance", {"begins": "+5h", "length": "10m"})],
            "DELETE /maintenance/{name}": [("/maintenance/window-1", None)],
            "PUT /preset": [("/preset", {"name": "ideal"})],
            "PUT /reading": [("/reading", {"name": "observed"})],
            "PUT /quirks/{name}": [("/quirks/webhook_duplicates", {"value": "1/2"})],
            "PUT /assumptions/{name}": [("/assumptions/clearing.delay", {"value": "5s"})],
            "POST /instruments": [
                ("/instruments", {"symbol": "made", "tick_size": "0.01", "state": "OPEN"})
            ],
            "POST /instruments/{symbol}/state": [
                (f"/instruments/{symbol}/state", {"state": state})
                for state in ("SUSPENDED", "SCHEDULE")
            ],
            "POST /instruments/{symbol}/settle": [("/instruments/made/settle", {"price": "1"})],
            "POST /trades/{id}/bust": [(f"/trades/{trade}/bust", None)],
            "POST /orders": [
                (
                    "/orders",
                    {"as": "maker", "symbol": symbol, "side": "buy", "price": "0.02", "qty": "3"},
                )
            ],
            "POST /prices/{asset}": [("/prices/crypto:btc", {"price": "63000.5"})],
            "POST /fair-prices/{symbol}": [("/fair-prices/living-game", {"price": "0.80"})],
            "PUT /participants/{name}": [
                ("/participants/fog", {"active": active}) for active in (False, True)
            ],
            "PUT /receivers/{name}": [("/receivers/hooks", {"answers": [{"status": 500}]})],
            "POST /events/{slug}": [
                (
                    f"/events/{event}",
                    {"home_score": 1, "away_score": 0, "period": "Q1", "live": True},
                )
            ],
            "POST /accounts/{account*}/fund": [
                (f"/accounts/{exchange.firms[0]['accounts'][0]}/fund", {"amount": "5.00"})
            ],
            "POST /funding/{transaction}": [
                (f"/funding/{held}", {"state": "completed"}),
                (f"/funding/{held}", {"state": "refunded", "amount": "2.50"}),
            ],
            "POST /kyc/{external_id}/decision": [("/kyc/c-1/decision", {"decision": "approve"})],
            "POST /kyc/{external_id}/document": [("/kyc/c-2/document", {"result": "uploaded"})],
            "GET /webhooks/deliveries": [("/webhooks/deliveries", None)],
            "POST /webhooks/{firm*}/redeliver": [
                ("/webhooks/atlas/redeliver", {}),
                ("/webhooks/firms/atlas/redeliver", {}),
            ],
            "GET /streams": [("/streams", None)],
            "GET /state": [("/state?view=books&view=trades&last=3", None)],
            "GET /state/{view}": [(f"/state/{what}", None) for what in VIEWS],
            "GET /catalogue": [("/catalogue", None)],
            "GET /catalogue/{kind}": [
                (f"/catalogue/{kind}", None)
                for kind in ("operations", "presets", "assumptions", "observations")
            ],
            "GET /metrics": [("/metrics", None)],
            "GET /health": [("/health", None)],
            "GET /calls": [("/calls", None)],
            "GET /instruments": [("/instruments?text=nfl+phi&limit=1", None)],
        }[f"{verb} {template}"]

    return make


def _event(exchange) -> str:
    import urllib.request

    with urllib.request.urlopen(f"{exchange.gateway}/v1/events?limit=1") as answer:
        return str(json.load(answer)["events"][0]["slug"])


@pytest.mark.scenario(
    "name: every-call\nextends: living-market\nworld: {receivers: [{name: hooks}]}\n"
)
def test_every_call_does_what_it_says(exchange, steps):
    # Those that leave the present come last; a stream's end is shown where streams are
    # (tests/server/test_tester_tools.py), and what goes on forever in tests/server/test_live.py.
    last = ("/rewind", "/snapshots/{name}/restore", "/reset")
    reference = json.loads(resources.path("fixtures", "control-reference.json").read_bytes())
    routes = sorted(
        (
            endpoint.route
            for endpoint in ROUTES
            if not endpoint.route.path.startswith(
                ("/streams/{id}", "/history/{seq}/streams", "/live")
            )
        ),
        key=lambda route: _place(route.path, last),
    )
    answers: dict[str, Any] = {}
    for route in routes:
        for path, body in steps(route.verb, route.path):
            answer = exchange.control(route.verb, path, body)
            answers[f"{route.verb} {path.partition('?')[0]}"] = answer
            if "answer" in reference[route.call]:
                assert _shows(reference[route.call]["answer"], answer), (path, answer)
    assert answers["POST /clock/advance"]["now"] == "2026-09-08T18:00:05Z"
    assert answers["POST /kyc/c-1/decision"]["decision"] == "ACCEPT"
    assert answers["POST /kyc/c-2/document"]["sub_status"] == "pending"
    assert answers["POST /instruments/made/settle"] == {"symbol": "made", "price": "1", "paid": 0}
    assert [
        (row["amount"], row["state"], row["review"])
        for row in answers["GET /state/funding"]["funding"]
    ] == [("7.00", "PARTIALLY_REFUNDED", "APPROVED")]
    assert [
        (row["symbol"], row["state"]) for call, row in answers.items() if call.endswith("/bust")
    ] == [("undone", "BUSTED")]
    assert answers["PUT /participants/fog"] == {"name": "fog", "active": True}
    assert {row["kind"] for row in answers["GET /state/participants"]["participants"]} == {
        "maker",
        "taker",
        "noise",
        "flow",
    }
    assert answers["POST /orders"]["state"] == "ORDER_STATE_NEW"
    assert [world["world"] for world in answers["GET /worlds"]["worlds"]] == ["main", "other"]
    assert answers["POST /worlds"]["seed"] == 3
    assert answers["POST /rewind"]["branch"] == "branch-1"
    assert [row["external_id"] for row in answers["GET /state/verifications"]["verifications"]] == [
        "c-1",
        "c-2",
    ]
    assert all(answers[f"GET /state/{what}"][what] is not None for what in VIEWS)
    assert set(answers["GET /catalogue"]) == {
        "operations",
        "quirks",
        "faults",
        "presets",
        "assumptions",
        "observations",
    }


def _shows(example: Any, answer: Any) -> bool:
    """Return whether an answer has every key of its example in the reference."""
    if isinstance(example, dict):
        return all(
            key in answer and _shows(value, answer[key])
            for key, value in example.items()
            if key != "books" or key in answer  # the example is of one view of many
        )
    return not (isinstance(example, list) and example and answer) or _shows(example[0], answer[0])


def _place(template: str, last: tuple[str, ...]) -> int:
    if template in last:
        return 2 + last.index(template)
    return 1 if template.startswith("/state") else 0  # reads the effects of the actions
