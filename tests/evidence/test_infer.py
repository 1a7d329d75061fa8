"""`sim infer`: planted values are named, with their lines; nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.cli.main import main
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.quirks import Chance
from sim.evidence.infer.confidence_interval import Count
from sim.evidence.infer.session import TrialSession
from sim.run.client.client import Connection, RpcError
from tests.evidence import fresh_session as fresh
from tests.evidence.clients import Clients, base, planted
from tests.evidence.conftest import Infer, Inferred, named, settings_of
from tests.evidence.lines import called, edited, lines, put
from tests.evidence.planted_truth import drawn_set, judged
from tests.journeys import firm, order

pytestmark = pytest.mark.reading("documented")

# Shown by the parts of the session that the first test names.
DOZEN = {
    "orders.sync_reject": "async",
    "orders.session_id": "ignore",
    "cash_qty.allow_limit": "false",
    "orders.cross_price": "any",
    "orders.cross_fee_mode": "both_taker",
    "fees.taker_theta": "300",
    "book.mid_price_rounding": "up",
    "gateway.order_by": "ignore",
    "report.bars": "edges",
    "report.reversed_window": "empty",
    "events.id": "string",
    "retail.preview_market": "any",
    "cleared_fields_lag": "never",
}
DAY = {"startTime": "2026-09-08T00:00:00Z", "endTime": "2026-09-09T00:00:00Z"}
ORDERS = "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()


def few_reads(clients: Clients) -> None:
    """Lists of the gateway."""
    for path in ("/v1/events?limit=1", "/v1/markets?limit=1&orderBy=volumee"):
        clients.world.gateway.get(path)


def stats(clients: Clients, bars: int = 1) -> None:
    body = {"symbol": clients.market.symbol, **DAY, "bars": bars}
    clients.buyer.post("/v1/report/trades/stats", json=body)


def polled(clients: Clients) -> None:
    """Statistics, and a search whose window is the wrong way round."""
    symbol = {"symbol": clients.market.symbol}
    clients.buyer.post("/v1/report/executions/search", json=symbol)
    stats(clients, 2)
    back = {"startTime": DAY["endTime"], "endTime": DAY["startTime"]}
    clients.buyer.post("/v1/report/orders/search", json=symbol | back)


@pytest.mark.soak
def test_planted_values_are_named_and_nothing_else(inferred: Inferred) -> None:
    result = inferred(DOZEN, few_reads, fresh.PARTS["enter"], trades, polled)
    assert named(result) == DOZEN.keys()
    for name, row in (result["assumptions"] | result["quirks"]).items():
        if name in DOZEN:
            assert str(row["consistent"][0]).lower() == DOZEN[name], (name, row)
            assert row["evidence"], name
    assert result["unexplained"] == []


@pytest.mark.long
def test_a_recording_of_ourselves_refutes_nothing(tmp_path: Path, infer: Infer, capsys) -> None:
    parts = [fresh.PARTS[name] for name in ("read", "report")]
    file = planted(tmp_path, "self", {}, seed=11, parts=parts)
    code, result = infer(file)
    assert code == 0, capsys.readouterr().out
    assert named(result) == set()
    assert result["unexplained"] == []
    assert result["scenario_lines"] == ""
    assert named(result, "confirmed")


def polls(clients: Clients) -> None:
    """A trade, and statistics that show when it is cleared."""
    clients.order(clients.seller, "sell", 41, 30)
    clients.order(clients.buyer, "buy", 41, 10)
    for _ in range(25):
        stats(clients)
        clients.world.advance("5s")


@pytest.mark.soak
def test_a_span_is_found_within_what_the_session_shows(inferred: Inferred) -> None:
    result = inferred({"clearing.delay": "1m"}, polls)
    clearing_delay = result["assumptions"]["clearing.delay"]
    assert (clearing_delay["verdict"], clearing_delay["consistent"][0]) == ("refuted", "1m")
    assert clearing_delay["between"][0] != clearing_delay["between"][1]
    assert named(result) == {"clearing.delay"}


def searches(count: int) -> Callable[[Clients], None]:
    """Searches that the edge may give up."""

    def act(clients: Clients) -> None:
        for _ in range(count):
            clients.buyer.post("/v1/report/trades/search", json={})
            clients.world.advance("30s")  # within the limit of such calls

    return act


@pytest.mark.parametrize(
    ("odds", "count", "verdict"),
    [
        ("1/2", 3, {"undecided"}),
        ("2/3", 3, {"undecided"}),
        ("never", 3, {"refuted"}),
        pytest.param("1/10", 24, {"refuted"}, marks=pytest.mark.soak),
    ],
)
@pytest.mark.long
def test_odds_are_counted(
    odds: str, count: int, verdict: set[str], tmp_path: Path, inferred: Inferred
) -> None:
    """Ours are 2/3. From three samples nothing is confirmed."""
    result = inferred({"unfiltered_search_times_out": odds}, searches(count))
    recorded = lines(tmp_path / "variant.ndjson")
    occurred = sum(row.get("answer", {}).get("status") == 504 for row in recorded)
    quirks = result["quirks"]["unfiltered_search_times_out"]
    assert (quirks["occurred"], quirks["of"]) == (occurred, count)
    allowed = Count(occurred, count).allows(Chance(2, 3))
    assert quirks["verdict"] in (verdict if not allowed else {"undecided"})
    low, high = quirks["between"]
    assert low <= occurred / count <= high
    assert result["unexplained"] == []


@given(struck=st.integers(0, 20), more=st.integers(0, 20))
def test_an_interval_of_odds_holds_its_share_and_shrinks(struck: int, more: int) -> None:
    if not struck + more:
        return
    low, high = Count(struck, struck + more).between()
    assert 0 <= low <= struck / (struck + more) <= high <= 1
    wider = Count(2 * struck, 2 * (struck + more)).between()
    assert wider[1] - wider[0] < high - low


def sessions(clients: Clients) -> None:
    """An order that belongs to a stream, and what becomes of it when that ends."""
    stream = clients.rpc.stream(*ORDERS)
    session = stream.take()[0].session_id
    clients.order(clients.buyer, "buy", 40, 1, sessionId=session)
    stream.close()
    for _ in range(6):
        clients.buyer.get("/v1/trading/orders/open")
        clients.world.advance("5s")


@pytest.mark.soak
def test_an_assumption_that_only_another_shows_is_found(inferred: Inferred) -> None:
    values = {"orders.session_id": "cancel_on_end", "orders.session_cancel_after": "12s"}
    result = inferred(values, sessions)
    assert named(result) == values.keys()
    assert result["assumptions"]["orders.session_id"]["consistent"] == ["cancel_on_end"]
    after = result["assumptions"]["orders.session_cancel_after"]
    assert "12s" in after["consistent"], after["between"]
    assert result["unexplained"] == []


def trades(clients: Clients) -> None:
    """A trade and what it cost."""
    clients.order(clients.seller, "sell", 41, 30)
    clients.order(clients.buyer, "buy", 41, 10)
    body = order(clients.market, "buy", 30, 1)
    clients.buyer.post("/v1/trading/orders", json=body)
    search = {"symbol": clients.market.symbol}
    clients.buyer.post("/v1/report/executions/search", json=search)
    clients.buyer.post("/v1/report/orders/search", json=search)


@pytest.mark.soak
def test_what_no_value_explains_is_listed_and_nobody_is_named(
    tmp_path: Path, infer: Infer, capsys
) -> None:
    file = planted(tmp_path, "spoilt", {}, parts=(trades,))
    with edited(file) as rows:
        row = called(rows, "/v1/report/orders/search")
        put(row, "answer.body.order[0].symbol", "another-market")
    code, result = infer(file)
    assert code == 1
    assert named(result) == set()
    ((item),) = result["unexplained"]
    assert (item["n"], item["where"]) == (row["n"], "answer.body.order[0].symbol")
    assert "not explained by any value" in capsys.readouterr().out


@pytest.mark.soak
def test_the_scenario_lines_answer_like_the_recording(tmp_path: Path, infer: Infer) -> None:
    settings = {"assumptions": {"fees.taker_theta": "425", "ledger.commission": "separate"}}
    file = planted(tmp_path, "fees", settings, parts=(trades,))
    written = tmp_path / "like.yaml"
    code, result = infer(file, "--write", str(written))
    assert code == 1
    assert result["assumptions"]["fees.taker_theta"]["consistent"][0] == 425
    assert "fees.taker_theta: 425" in written.read_text()
    assert main(["compare", str(file), "--scenario", str(written)]) == 0
    assert infer(file, scenario=str(written))[0] == 0


@pytest.mark.long
def test_what_is_known_when_it_is_interrupted_is_told(
    tmp_path: Path, infer: Infer, monkeypatch, capsys
) -> None:
    file = planted(tmp_path, "fees", {"assumptions": {"events.id": "string"}}, parts=(trades,))
    trial_of = TrialSession.trial_of

    def interrupted(session: TrialSession, *rest: Any, **more: Any) -> Any:
        if session.trials == 12:
            raise KeyboardInterrupt
        return trial_of(session, *rest, **more)

    monkeypatch.setattr(TrialSession, "trial_of", interrupted)
    code, result = infer(file)
    assert (code, result["complete"], result["interrupted"]) == (130, False, True)
    assert named(result, "undecided")
    assert "interrupted" in capsys.readouterr().out


@pytest.mark.long
def test_what_no_recording_can_show_is_told_with_the_reason(
    tmp_path: Path, infer: Infer, capsys
) -> None:
    _, result = infer(planted(tmp_path, "none", {}, parts=(few_reads,)))
    assumptions = result["assumptions"] | result["quirks"]
    hidden = {name for name, item in assumptions.items() if "why" in item}
    assert {"auth.client_clock", "webhook.timeout", "webhook_duplicates"} <= hidden
    assert all(assumptions[name]["verdict"] == "not observed" for name in hidden)
    assert "signed anew" in assumptions["auth.client_clock"]["why"]
    assert "why" not in assumptions["clearing.delay"]  # another session would show it
    text = " ".join(capsys.readouterr().out.split())
    assert "cannot be seen in any recording" in text
    assert assumptions["webhook.timeout"]["why"] in text


def test_a_scenario_is_needed(tmp_path: Path, capsys) -> None:
    file = planted(tmp_path, "none", {}, parts=())
    with pytest.raises(SystemExit):
        main(["infer", str(file)])
    assert "--scenario" in capsys.readouterr().err
    assert main(["infer", str(file), "--scenario", "nowhere"]) == 2


def opened_thrice(clients: Clients) -> None:
    """Three sockets of one key, at once."""
    for socket in [clients.world.web_socket(clients.key, "/v1/ws/markets") for _ in range(3)]:
        socket.close()


@pytest.mark.soak
def test_sockets_of_a_key_are_counted(inferred: Inferred) -> None:
    def act(clients: Clients) -> None:
        world: Connection = clients.world
        opened = [world.web_socket(clients.key, "/v1/ws/markets") for _ in range(2)]
        with pytest.raises(RpcError):
            world.web_socket(clients.key, "/v1/ws/markets")
        for socket in opened:
            socket.close()

    retail_sockets_per_key = inferred({}, opened_thrice)["assumptions"]["retail.sockets_per_key"]
    assert (
        retail_sockets_per_key["verdict"],
        retail_sockets_per_key["consistent"][0],
        retail_sockets_per_key["between"],
    ) == ("undecided", 0, [3, None])
    result = inferred({"retail.sockets_per_key": "2"}, act, name="limited")
    retail_sockets_per_key = result["assumptions"]["retail.sockets_per_key"]
    assert (retail_sockets_per_key["verdict"], retail_sockets_per_key["consistent"]) == (
        "refuted",
        [2],
    )


def tokens(*lives: int) -> Callable[[Clients], None]:
    """Tokens of a participant: one of the usual life, and some of another."""

    def act(clients: Clients) -> None:
        name = firm(clients.world.simulation).users[0].name
        for life in ({}, *({"ttl_seconds": life} for life in lives)):
            body = {"participant_id": name, **life}
            clients.partner.post("/v1/participant/tokens", json=body)

    return act


@pytest.mark.long
def test_two_names_that_explain_the_same_are_both_named_and_neither_is_refuted(
    tmp_path: Path, infer: Infer, capsys
) -> None:
    settings = {"assumptions": {"participant_token.life_max": "90s"}}
    file = planted(tmp_path, "ends", settings, parts=(tokens(60),))
    written = tmp_path / "like.yaml"
    code, result = infer(file, "--write", str(written))
    assert (code, named(result)) == (1, set())
    participant_token_life = result["assumptions"]["participant_token.life"]
    assert participant_token_life["verdict"] == "undecided"
    assert {"3m", "1m30s"} <= set(participant_token_life["consistent"])
    assert participant_token_life["or"].keys() == {"participant_token.life_max"}
    assert "or participant_token.life_max: 1m30s" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", str(file), "--scenario", str(written)]) == 0


@pytest.mark.soak
def test_a_session_that_tells_two_names_apart_refutes_the_right_one(inferred: Inferred) -> None:
    result = inferred({"participant_token.life_max": "90s"}, tokens(60, 600))
    assert named(result) == {"participant_token.life_max"}
    assert "1m30s" in result["assumptions"]["participant_token.life_max"]["consistent"]


@pytest.mark.soak
def test_no_heartbeat_in_a_short_session_may_be_a_long_wait(inferred: Inferred) -> None:
    def act(clients: Clients) -> None:
        stream = clients.rpc.stream(*ORDERS)
        for _ in range(3):
            clients.world.advance("40s")
            clients.buyer.get("/v1/trading/orders/open")
        stream.close()

    stream_heartbeat = inferred({"stream.heartbeat": "4m"}, act)["assumptions"]["stream.heartbeat"]
    assert (stream_heartbeat["verdict"], stream_heartbeat["between"][1]) == ("refuted", None)
    assert {"5m", "0s"} <= set(stream_heartbeat["consistent"])


def cleared(*waits: str) -> Callable[[Clients], None]:
    """A trade, and statistics and reports after waits, which show when it is cleared."""

    def act(clients: Clients) -> None:
        trades(clients)
        for wait in waits:
            clients.world.advance(wait)
            stats(clients)

    return act


@pytest.mark.long
def test_a_short_span_is_not_taken_for_none(inferred: Inferred) -> None:
    """What is looked at ten seconds later cannot tell two seconds from none."""
    result = inferred({"clearing.delay": "2s"}, cleared("0s", "10s"))
    clearing_delay = result["assumptions"]["clearing.delay"]
    assert clearing_delay["verdict"] == "refuted"
    assert {"0s", "2s"} <= set(clearing_delay["consistent"])
    assert clearing_delay["between"][0] == "0s"
    assert named(result) == {"clearing.delay"}


@pytest.mark.soak
def test_a_quirk_and_an_assumption_that_explain_the_same_are_both_named(inferred: Inferred) -> None:
    """A trade that is cleared at the first look: at once, or its fields were never cleared."""
    result = inferred({"clearing.delay": "2s"}, cleared("10s"))
    cleared_fields_lag = result["quirks"]["cleared_fields_lag"]
    assert (cleared_fields_lag["verdict"], list(cleared_fields_lag["or"])) == (
        "undecided",
        ["clearing.delay"],
    )
    assert {"never", "always"} <= set(cleared_fields_lag["consistent"])
    assert named(result) == set()


def two_streams(clients: Clients) -> None:
    """Two streams of one identity, of different methods, and an order that the first one shows."""
    changes = wire.CreatePositionChangeSubscriptionRequest()
    clients.rpc.stream(*ORDERS)
    clients.rpc.stream("DropCopyAPI.CreatePositionChangeSubscription", changes)
    clients.order(clients.buyer, "buy", 20, 1)


@pytest.mark.long
def test_a_value_that_fits_only_together_with_a_quirk_leaves_both_undecided(
    inferred: Inferred, capsys
) -> None:
    """The first stream goes on: the second does not take its session, or no stream ever does."""
    values = {"stream.revocation_scope": "identity", "session_revocation": "never"}
    result = inferred(values, two_streams)
    scope = result["assumptions"]["stream.revocation_scope"]
    assert (scope["verdict"], scope["consistent"]) == ("undecided", ["rpc", "identity"])
    assert scope["only_with"] == {"identity": {"session_revocation": "never"}}
    quirk = result["quirks"]["session_revocation"]
    assert (quirk["verdict"], quirk["consistent"]) == ("undecided", ["always", "never"])
    text = " ".join(capsys.readouterr().out.split())
    assert "rpc, identity; identity only with session_revocation: never" in text
    assert named(result) == set()


@pytest.mark.long
def test_a_value_that_fits_without_a_quirk_too_is_confirmed(inferred: Inferred) -> None:
    """The second stream ends the first, as with our values."""
    result = inferred({"stream.revocation_scope": "identity"}, two_streams)
    scope = result["assumptions"]["stream.revocation_scope"]
    assert (scope["verdict"], scope["consistent"]) == ("refuted", ["identity"])
    assert named(result) == {"stream.revocation_scope"}


@pytest.mark.soak
def test_heartbeats_are_not_taken_for_frames_that_come_twice(inferred: Inferred) -> None:
    def act(clients: Clients) -> None:
        fresh.sockets(fresh.Fresh(clients, Random(32)))

    values = {"stream.heartbeat": "2s", "retail.debounce": "90s"}
    result = inferred(values, act, seed=82)
    assert named(result) == values.keys()
    assert "2s" in result["assumptions"]["stream.heartbeat"]["consistent"]
    assert result["unexplained"] == []


# Names that the acts of a short session show, with values that are not ours.
SHOWN = {
    "orders.sync_reject": ["async"],
    "orders.session_id": ["ignore"],
    "orders.parent": ["list"],
    "orders.cross_price": ["any"],
    "orders.cross_fee_mode": ["none", "both_taker"],
    "fees.taker_theta": ["250", "300", "900"],
    "gateway.order_by": ["ignore"],
    "retail.preview_market": ["any"],
    "users.require_participant": ["true"],
    "book.depth_above_maximum": ["refuse"],
    "events.id": ["string"],
    "participant_token.life_max": ["2m", "20m"],
    "kyc.ssn_conflict_status": ["409"],
}
SHORT_ACTS = (
    fresh.orders,
    fresh.odd_orders,
    fresh.crosses,
    fresh.retail,
    fresh.lists,
    fresh.tokens,
)


@pytest.mark.soak
@pytest.mark.parametrize("number", [4, 6])
def test_of_any_planted_set_nothing_is_named_falsely(number: int, tmp_path: Path) -> None:
    draw = Random(number)
    values = {name: draw.choice(SHOWN[name]) for name in draw.sample(sorted(SHOWN), 5)}
    act = fresh.drawn(number, SHORT_ACTS, at_most=2)
    file = planted(tmp_path, "set", settings_of(values), seed=number, parts=(act,))
    row = judged(number, file, str(base(tmp_path)), number, values)
    assert (row.false, row.wrong, row.missed) == ([], [], [])


@pytest.mark.soak
def test_of_ten_drawn_dozens_nine_tenths_of_what_shows_is_named_and_nothing_falsely(
    tmp_path: Path,
) -> None:
    """The table of the page on fidelity."""
    rows = []
    for number in range(21, 31):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows.append(drawn_set(number, folder))
    assert [(row.number, row.wrong, row.false) for row in rows if row.wrong or row.false] == []
    exercised = sum(len(row.exercised) for row in rows)
    assert sum(len(row.right) for row in rows) >= 0.9 * exercised, "\n".join(map(str, rows))
