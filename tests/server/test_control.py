"""The control plane's HTTP: routing, strictness, access. What its actions do to a world is tested
with the world.
"""

from __future__ import annotations

import hashlib
from xml.etree import ElementTree

import pytest
from fake_simulation import START

from sim.api.pipeline.inputs import Close, Outcome
from sim.core.model.refusals import IllegalTransition, NotFound
from sim.kernel.instants import seconds


async def ask(served, verb, path, body=None, *, raw=None, headers=None):
    """(status, decoded body) of a call."""
    sent = {"json": body} if raw is None else {"data": raw}
    answer = await served.ask("control", f"/_sim/v1{path}", verb, headers=headers, **sent)
    return answer.status, answer.json()


async def test_the_clock_is_read_and_moved(served):
    served.sim.after(10, "maintenance")
    begun = {"now": "2026-09-08T18:00:00Z", "mode": "manual", "next_due": "2026-09-08T18:00:10Z"}
    assert await ask(served, "GET", "/clock") == (200, begun)
    fired = {"at": "2026-09-08T18:00:10Z", "timer": "maintenance", "subject": "maintenance"}
    moved = {"now": "2026-09-08T18:05:00Z", "fired": [fired]}
    assert await ask(served, "POST", "/clock/advance", {"by": "PT5M"}) == (200, moved)
    for how, now in (
        ({"by": "5m"}, "2026-09-08T18:10:00Z"),
        ({"to": "2026-09-08T15:00:00-04:00"}, "2026-09-08T19:00:00Z"),
    ):
        assert (await ask(served, "POST", "/clock/advance", how))[1]["now"] == now
    assert (await ask(served, "PUT", "/clock", {"mode": "autojump"}))[1]["mode"] == "autojump"


@pytest.mark.parametrize(
    ("path", "body", "status", "output"),
    [
        ("/clock/advance", {}, 400, "give exactly one of"),
        ("/clock/advance", {"by": "5m", "to": "2026-09-08T19:00:00Z"}, 400, "give exactly one of"),
        ("/clock/advance", {"by": "soon"}, 400, "expected a duration such as"),
        ("/clock/advance", {"by": 5}, 400, "by: expected a duration"),
        ("/clock/advance", {"by": "-5m"}, 400, "only moves forward"),
        (
            "/clock/advance",
            {"to": "2026-09-08T15:00:00"},
            400,
            "did you mean '2026-09-08T15:00:00Z'",
        ),
        ("/clock/advance", {"to": "2020-01-01T00:00:00Z"}, 409, "only moves forward"),
        ("/clock/advance", {"to": "9999-12-31T23:59:59Z"}, 400, "ends with the year 2199"),
        ("/clock/advance", {"by": "P9999999D"}, 400, "ends with the year 2199"),
        ("/clock/advance", {"bye": "5m"}, 400, "did you mean 'by'"),
        ("/reset", {"seed": "x"}, 400, "seed: expected a seed, not 'x'"),
        ("/reset", {"seed": -1}, 400, "seed: from 0 to 9223372036854775807, not '-1'"),
        ("/reset", {"sed": 1}, 400, "did you mean 'seed'"),
        ("/rewind", {}, 400, "say where to"),
        ("/rewind", {"seq": 99}, 409, "nothing to go back to"),
        ("/instruments/abc/state", {"stat": "OPEN"}, 400, "did you mean 'state'"),
    ],
)
async def test_bodies_are_judged_strictly_and_say_what_would_have_worked(
    served, path, body, status, output
):
    answered, error = await ask(served, "POST", path, body)
    assert answered == status
    assert output in error["message"]
    assert "seed: seed" not in error["message"]
    assert error["details"] == []
    assert served.sim.now == START


@pytest.mark.parametrize("raw", [b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 100_000])
async def test_a_body_that_is_no_json_object_is_refused(served, raw):
    status, error = await ask(served, "POST", "/reset", raw=raw)
    assert status == 400
    assert error["code"] == 3


async def test_unknown_calls_verbs_and_parameters_are_named(served):
    status, error = await ask(served, "GET", "/clok")
    assert (status, "did you mean '/clock'" in error["message"]) == (404, True)
    status, error = await ask(served, "DELETE", "/clock")
    assert (status, error["message"]) == (405, "/clock takes GET, PUT")
    status, error = await ask(served, "GET", "/requests?statuss=1")
    assert (status, "did you mean 'status'" in error["message"]) == (400, True)


# (verb, path, the action, its subject, the body)
ACTIONS = [
    ("POST", "/instruments", "instrument.create", "", {"symbol": "x"}),
    ("POST", "/instruments/a%20b/state", "instrument.state", "a b", {"state": "OPEN"}),
    ("POST", "/instruments/ab/settle", "instrument.settle", "ab", {"price": "1"}),
    ("POST", "/orders", "order.place", "", {"as": "maker"}),
    ("POST", "/prices/crypto:btc", "price.tick", "crypto:btc", {"price": "1"}),
    ("POST", "/fair-prices/ab", "fair_price.set", "ab", {"price": "0.8"}),
    ("PUT", "/participants/mm", "participant.switch", "mm", {"active": False}),
    ("POST", "/events/7", "event.update", "7", {"live": True}),
    ("POST", "/kyc/u-1/decision", "kyc.decide", "u-1", {"decision": "approve"}),
    ("POST", "/kyc/u-1/document", "kyc.document", "u-1", {"result": "uploaded"}),
    ("POST", "/faults", "fault.add", "", {"act": {}}),
    ("DELETE", "/faults/f-1", "fault.remove", "f-1", {}),
    ("PUT", "/quirks/q", "quirk.set", "q", {"value": "always"}),
    ("PUT", "/assumptions/a.b", "assumption.set", "a.b", {"value": 1}),
    ("POST", "/webhooks/firms/acme/redeliver", "webhook.redeliver", "firms/acme", {}),
    ("POST", "/accounts/firms/c/1/fund", "account.fund", "firms/c/1", {"amount": "5"}),
    ("DELETE", "/streams/3", "stream.close", "3", {}),
]


async def test_actions_reach_the_simulation_with_their_subject(served):
    for verb, path, _, _, body in ACTIONS:
        sent = None if verb == "DELETE" else body
        assert (await ask(served, verb, path, sent))[0] == 200
    assert [value[1:] for value in served.sim.inputs] == [row[2:] for row in ACTIONS]


async def test_a_refused_action_says_why_and_what_would_work(served):

    def refuse(action, subject, arguments):
        raise IllegalTransition("TERMINATED is final", rule="L10", remedy="list another instrument")

    served.sim.on_control = refuse
    why = {"code": 9, "message": "TERMINATED is final", "details": [], "rule": "L10"}
    why["remedy"] = "list another instrument"
    answer = await ask(served, "POST", "/instruments/x/state", {"state": "OPEN"})
    assert answer == (409, why)

    def missing(action, subject, arguments):
        raise NotFound("no such stream")

    served.sim.on_control = missing
    assert (await ask(served, "DELETE", "/streams/9"))[0] == 404


async def test_an_action_carries_out_what_it_sets_off(served):
    served.sim.on_control = lambda action, subject, arguments: Outcome(
        seq=1, effects=[Close(1, 14, "closed by a tester", 1012)], value=None
    )
    async with served.web_socket("/v1/ws/private") as socket:
        assert await ask(served, "DELETE", "/streams/1") == (200, {})
        assert (await socket.receive()).data == 1012


async def test_reset_starts_over(served):
    await served.host.advance(START + seconds(60))
    for body in ({"seed": 11}, None):
        begun = {"now": "2026-09-08T18:00:00Z", "seed": 11}
        assert await ask(served, "POST", "/reset", body) == (200, begun)


async def test_reading_is_no_input(serve, monkeypatch):
    existing = {"req-1": {"request_id": "req-1"}}
    monkeypatch.setattr("sim.read.explain.explain", lambda sim, subject: existing.get(subject))
    served = await serve()
    for path in ("/clock", "/digest", "/requests", "/health", "/explain/req-1"):
        assert (await ask(served, "GET", path))[0] == 200
    assert (await ask(served, "GET", "/explain/req-2"))[0] == 404
    assert served.sim.inputs == []


async def test_the_journal_is_lines_after_a_number(served):
    for _ in range(3):
        served.sim.hangup(0)
    answer = await served.ask("control", "/_sim/v1/journal?since=1")
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.body == b'{"seq":2}\n{"seq":3}\n'


async def test_requests_are_selected(served):
    path = "/requests?operation=GetBBO&status=429&caller=firms/a&since=4"
    _, answer = await ask(served, "GET", path)
    matching = {"operation": "GetBBO", "status": 429, "caller": "firms/a", "since": 4}
    assert answer["requests"][0]["matching"] == matching


async def test_with_a_token_only_health_is_open(serve):
    served = await serve(control_token="s3cret")
    assert (await ask(served, "GET", "/health"))[0] == 200
    assert (await ask(served, "GET", "/clock"))[0] == 401
    for credentials, status in (
        ("Bearer wrong", 401),
        ("s3cret", 401),
        ("Basic s3cret", 401),
        ("Bearer s3cret", 200),
        ("bearer s3cret", 200),  # no scheme has a case (RFC 9110, section 11.1)
    ):
        headers = {"Authorization": credentials}
        assert (await ask(served, "GET", "/clock", headers=headers))[0] == status


async def test_a_page_in_a_browser_may_not_drive_the_simulator(served):
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert (await ask(served, "POST", "/reset", {}, headers=headers))[0] == 403


@pytest.mark.spec("S9-2", "S9-5")
async def test_the_docs_listener_has_an_index_the_bundle_the_changelog_and_its_feed(served):
    index = (await served.ask("docs", "/")).body.decode()
    assert served.at.retail in index and served.at.grpc in index and "GetOrderBook" in index
    bundle = await served.ask("docs", "/proto/bundle")
    assert bundle.body[:2] == b"PK"
    assert bundle.headers["x-checksum-sha256"] == hashlib.sha256(bundle.body).hexdigest()
    assert b'id="v0.0.71"' in (await served.ask("docs", "/changelog")).body
    feed = await served.ask("docs", "/changelog/rss.xml")
    assert feed.headers["Content-Type"].startswith("application/rss+xml")
    links = [link.text for link in ElementTree.fromstring(feed.body).iter("link")]
    assert links[0] == f"{served.at.docs}/changelog"
