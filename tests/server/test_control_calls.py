"""Every call of the control plane on the bundled world: it answers 200 and has the effect in the
table of calls.
"""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from sim.kernel import resources
from sim.run.actors.operator.views import VIEWS
from sim.server.control.routes import ROUTES
from tests.kit.clients import Partner, list_market, place
from tests.kit.http import call


@pytest.fixture
def steps(exchange):
    """Return a valid call per route, in an order in which each is possible: (verb, path, body,
    check of the answer).
    """
    symbol = exchange.symbols["open"][0]
    event = call(f"{exchange.gateway}/v1/events?limit=1").json()["events"][0]["slug"]
    partner = Partner(exchange)
    partner.register(exchange.webhooks.url)
    partner.start(first_name="Paulina", last_name="Gizela")
    partner.start(
        external_id="c-2", ssn="223456789", date_of_birth="1985-09-02", docv_eligible=True
    )
    partner.call("GET", "/v1/nothing")
    refused = exchange.requests(status=404)[-1]["explain"]
    firm = exchange.firms[0]["firm"].removeprefix("firms/")
    account = exchange.firms[0]["accounts"][0]
    list_market(exchange, "undone", tick_size="0.01")
    for caller, side in (("maker", "sell"), ("noise", "buy")):
        place(exchange, "undone", side, "0.30", trader=caller)
    trades = exchange.control("GET", "/state/trades?symbol=undone")["trades"]
    trade = trades[0]["id"]
    source = {"amount": "7", "source": f"{firm}-bank", "script": "hold"}
    held = exchange.control("POST", f"/accounts/{account}/fund", source)["transaction"]
    score = {"home_score": 1, "away_score": 0, "period": "Q1", "live": True}
    bid = {"as": "maker", "symbol": symbol, "side": "buy", "price": "0.02", "qty": "3"}
    bodies: dict[str, list[tuple[str, Any]]] = {
        "PUT /clock": [("", {"mode": "manual"})],
        "POST /clock/advance": [("", {"by": "PT1S"}), ("", {"to": "2026-09-08T18:00:05Z"})],
        "POST /rewind": [("", {"seq": 1})],
        "POST /snapshots/{name}": [("here", {})],
        "POST /snapshots/{name}/restore": [("here/restore", {})],
        "POST /fork": [("", {"name": "other"})],
        "POST /worlds": [("", {"scenario": "quickstart", "seed": 3})],
        "DELETE /worlds/{name}": [("other", None)],
        "GET /journal": [("?since=0", None)],
        "GET /scenario": [],  # its answer is not JSON; tests/server/test_room_files.py tests it
        "GET /history": [("?limit=3&kind=control&kind=request", None)],
        "GET /history/{seq}": [("1", None)],
        "GET /history/{seq}/state/{view}": [(f"1/state/{view}", None) for view in VIEWS],
        "GET /history/{seq}/state": [("1/state?view=books&view=trades&last=3", None)],
        "GET /requests": [("?operation=StartKYCVerification&status=200&since=0", None)],
        "GET /explain/{subject*}": [(subject, None) for subject in (refused, symbol, account)],
        "GET /conformance": [
            (query, None)
            for query in ("", "?caller=firms/atlas&rules=backoff,retry-after", "?form=junit")
        ],
        "POST /faults": [("", {"match": {"operation": "ListLeagues"}, "act": {"status": 503}})],
        "DELETE /faults/{id}": [("f1", None)],
        "POST /listeners/{plane}": [
            ("retail", {"accept": False, "for": "10s"}),
            ("retail", {"accept": True}),
        ],
        "POST /connections/{plane}/drop": [("auth/drop", {"how": "close"})],
        "POST /maintenance": [("", {"begins": "+5h", "length": "10m"})],
        "DELETE /maintenance/{name}": [("window-1", None)],
        "PUT /preset": [("", {"name": "ideal"})],
        "PUT /reading": [("", {"name": "observed"})],
        "PUT /quirks/{name}": [("webhook_duplicates", {"value": "1/2"})],
        "PUT /assumptions/{name}": [("clearing.delay", {"value": "5s"})],
        "POST /instruments": [("", {"symbol": "made", "tick_size": "0.01", "state": "OPEN"})],
        "POST /instruments/{symbol}/state": [
            (f"{symbol}/state", {"state": state}) for state in ("SUSPENDED", "SCHEDULE")
        ],
        "POST /instruments/{symbol}/settle": [("made/settle", {"price": "1"})],
        "POST /trades/{id}/bust": [(f"{trade}/bust", None)],
        "POST /orders": [("", bid)],
        "POST /prices/{asset}": [("crypto:btc", {"price": "63000.5"})],
        "POST /fair-prices/{symbol}": [("living-game", {"price": "0.80"})],
        "PUT /participants/{name}": [("fog", {"active": active}) for active in (False, True)],
        "PUT /receivers/{name}": [("hooks", {"answers": [{"status": 500}]})],
        "POST /events/{slug}": [(event, score)],
        "POST /accounts/{account*}/fund": [(f"{account}/fund", {"amount": "5.00"})],
        "POST /funding/{transaction}": [
            (held, {"state": "completed"}),
            (held, {"state": "refunded", "amount": "2.50"}),
        ],
        "POST /kyc/{external_id}/decision": [("c-1/decision", {"decision": "approve"})],
        "POST /kyc/{external_id}/document": [("c-2/document", {"result": "uploaded"})],
        "POST /webhooks/{firm*}/redeliver": [
            (f"{name}/redeliver", {}) for name in ("atlas", "firms/atlas")
        ],
        "GET /state": [("?view=books&view=trades&last=3", None)],
        "GET /state/{view}": [(view, None) for view in VIEWS],
        "GET /catalogue/{kind}": [
            (kind, None) for kind in ("operations", "presets", "assumptions", "observations")
        ],
        "GET /instruments": [("?text=nfl+phi&limit=1", None)],
    }

    def make(verb: str, template: str) -> list[tuple[str, Any]]:
        default = [("", None if verb == "GET" else {})]
        path = template.partition("{")[0]
        return [(path + rest, body) for rest, body in bodies.get(f"{verb} {template}", default)]

    return make


@pytest.mark.scenario(
    "name: every-call\nextends: living-market\nworld: {receivers: [{name: hooks}]}\n"
)
def test_every_call_does_what_it_says(exchange, steps):
    # Those that leave the present come last; a stream's end is shown where streams are
    # (tests/server/test_tester_tools.py), and what goes on forever in tests/server/test_live.py.
    last = ("/rewind", "/snapshots/{name}/restore", "/reset")
    reference = json.loads(resources.path("fixtures", "control-reference.json").read_bytes())
    endless = ("/streams/{id}", "/history/{seq}/streams", "/live")
    routes = [item.route for item in ROUTES if not item.route.path.startswith(endless)]
    routes.sort(key=lambda route: _place(route.path, last))
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
    (held,) = answers["GET /state/funding"]["funding"]
    assert held["amount"] == "7.00"
    assert (held["state"], held["review"]) == ("PARTIALLY_REFUNDED", "APPROVED")
    (busted,) = (row for asked, row in answers.items() if asked.endswith("/bust"))
    assert (busted["symbol"], busted["state"]) == ("undone", "BUSTED")
    assert answers["PUT /participants/fog"] == {"name": "fog", "active": True}
    kinds = {row["kind"] for row in answers["GET /state/participants"]["participants"]}
    assert kinds == {"maker", "taker", "noise", "flow"}
    assert answers["POST /orders"]["state"] == "ORDER_STATE_NEW"
    assert [world["world"] for world in answers["GET /worlds"]["worlds"]] == ["main", "other"]
    assert answers["POST /worlds"]["seed"] == 3
    assert answers["POST /rewind"]["branch"] == "branch-1"
    cases = answers["GET /state/verifications"]["verifications"]
    assert [row["external_id"] for row in cases] == ["c-1", "c-2"]
    assert all(answers[f"GET /state/{view}"][view] is not None for view in VIEWS)
    kinds = {"operations", "quirks", "faults", "patches", "presets", "assumptions", "observations"}
    assert set(answers["GET /catalogue"]) == kinds


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


@pytest.mark.spec("S8-8", "S9-2")
def test_one_off_windows_are_announced_in_the_changelog_and_its_feed(exchange):
    """§8: what began when it was announced stands nowhere."""

    def feed() -> list[str | None]:
        answer = call(f"{exchange.docs}/changelog/rss.xml")
        items = ElementTree.fromstring(answer.body).iter("item")
        return [item.findtext("title") for item in items]

    former = feed()
    exchange.control("POST", "/maintenance", {"length": "10m"})
    assert feed() == former
    body = {"begins": "2026-09-10T12:00:00-04:00", "length": "1h"}
    window = exchange.control("POST", "/maintenance", body)
    assert feed() == ["Maintenance window announced", *former]
    assert b"2026-09-10T16:00:00Z" in call(f"{exchange.docs}/changelog").body
    exchange.control("DELETE", f"/maintenance/{window['name']}")
    assert feed()[0] == "Maintenance window called off"
