"""The two readings of the service: where they are chosen, what they change, and that a run keeps
the one that it began with.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import sandbox_exchange_pytest
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.core.catalogue.observations import READINGS, catalogue
from sim.core.catalogue.observations.observation import EVIDENCE
from sim.read.catalogues import rows
from sim.run.loader.load import scenario_from_document
from tests.kit import Desk, begin

pytestmark = pytest.mark.reading("documented")

QUICKSTART = load_scenario("quickstart")


@pytest.fixture(scope="module")
def displayed() -> dict[str, dict[str, Any]]:
    """An event of a game as each reading shows it."""
    return {reading: event(served(reading)) for reading in READINGS}


def served(reading: str, **changes: Any) -> Desk:
    return Desk(Simulation(replace(QUICKSTART, reading=reading, **changes)))


def event(world: Desk) -> dict[str, Any]:
    events = world.gateway.get("/v1/events", params={"limit": "40"}).json()["events"]
    return next(
        item for item in events if item["teams"] and any(m["bestBidQuote"] for m in item["markets"])
    )


def in_force(simulation: Simulation) -> dict[str, bool]:
    result = rows("observations", simulation)
    return {row["observation"]: row["in_force"] for row in result if row["reading"] == "observed"}


# ---- the catalogue


def test_every_observation_says_what_where_and_when() -> None:
    for item in catalogue().values():
        assert item.summary.endswith("."), item.name
        assert item.source and set(item.evidence) <= set(EVIDENCE) and item.evidence, item.name
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", item.date), item.name
        assert not item.section or item.switch is not None, f"{item.name} contradicts unswitched"


def test_the_catalogue_is_filtered_by_a_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "observations", "quote_value", "--json"]) == 0
    assert '"markets.quote_value"' in capsys.readouterr().out
    assert main(["catalogue", "observations", "nothing-of-this-kind"]) == 2
    assert "no row of observations matches" in capsys.readouterr().err


# ---- what a reading changes


def test_each_switch_is_off_in_documented_and_on_in_observed() -> None:
    assert not any(in_force(Simulation(QUICKSTART)).values())
    assert all(in_force(Simulation(replace(QUICKSTART, reading="observed"))).values())


KEPT = (
    *("marketType", "outcomes", "outcomePrices", "sportsMarketTypeV2"),
    *("archived", "manualActivation", "gameStartTime"),
)


@pytest.mark.spec("S9-3")
@pytest.mark.observed("markets.deprecated_fields")
def test_a_market_keeps_its_deprecated_fields_in_observed_only(displayed: Any) -> None:
    documented, observed = (displayed[reading]["markets"][0] for reading in READINGS)
    assert not set(KEPT) & set(documented) and set(KEPT) <= set(observed)


@pytest.mark.spec("S2.10-1")
@pytest.mark.observed("markets.quote_value")
def test_quotes_are_numbers_in_documented_and_text_with_four_decimals_in_observed(
    displayed: Any,
) -> None:
    for reading, form in (("documented", float), ("observed", str)):
        market = next(m for m in displayed[reading]["markets"] if m["bestBidQuote"])
        quotes = [market["bestBidQuote"], *(side["quote"] for side in market["marketSides"])]
        assert {type(quote["value"]) for quote in quotes} == {form}
        if form is str:
            long, short = market["marketSides"]
            assert re.fullmatch(r"[01]\.\d{4}", long["quote"]["value"])
            assert re.fullmatch(r"[01](\.\d*[1-9])?", short["quote"]["value"])  # O77


@pytest.mark.spec("S2.11-1")
@pytest.mark.observed("events.id", "events.deprecated_fields", "events.shape")
def test_an_event_has_the_shape_that_was_observed(displayed: Any) -> None:
    documented, observed = (displayed[reading] for reading in READINGS)
    assert documented["id"] == int(observed["id"]) and isinstance(observed["id"], str)
    assert not {"participants", "archived"} & set(documented)
    assert observed["participants"] == [] and observed["archived"] is False
    for item in (documented, observed):
        assert item["marketGroups"] == [] and item["combos"]["enabled"] in (True, False)
        assert item["imageDisplayType"].startswith("IMAGE_DISPLAY_TYPE_")
        assert item["startTime"] is not None


def test_every_event_says_when_it_starts() -> None:
    """Games begin; what futures and topics ask about happens at the end of their events."""
    world = begin()
    kinds = set()
    for page in range(3):
        for event in world.gateway.get(f"/v1/events?limit=100&offset={100 * page}").json()[
            "events"
        ]:
            kinds.add(event["category"])
            assert event["startTime"] is not None, event["slug"]
            if event["category"] != "crypto" and not event.get("gameId"):
                assert event["startTime"] == event["endDate"]
    assert {"sports", "politics", "crypto"} <= kinds


SWITCHES = {
    "markets.deprecated_fields": ("shown", lambda item, book: "marketType" in item["markets"][0]),
    "markets.quote_value": (
        "string",
        lambda item, book: isinstance(item["markets"][0]["bestBidQuote"]["value"], str),
    ),
    "events.deprecated_fields": ("shown", lambda item, book: "participants" in item),
    "events.id": ("string", lambda item, book: isinstance(item["id"], str)),
    "market_data.last_price_sample": (
        "shown",
        lambda item, book: "lastPriceSample" in book["stats"],
    ),
    "statistics.notional_traded": (
        "undivided",
        lambda item, book: float(book["stats"]["notionalTraded"]["value"]) > 10,
    ),
}


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.observed("market_data.last_price_sample", "statistics.notional_traded")
def test_each_switch_can_be_set_alone(name: str) -> None:
    value, shows = SWITCHES[name]
    world = served("documented")
    order = {"symbol": "aec-nfl-dal-phi-2026-09-10", "price": "0.50", "qty": "2"}
    for caller, side in (("maker", "sell"), ("taker", "buy")):
        world.simulation.control("order.place", "", {**order, "as": caller, "side": side})

    def shown_now() -> bool:
        item = event(world)
        path = f"/v1/markets/{order['symbol']}/book"
        return bool(shows(item, world.gateway.get(path).json()["marketData"]))

    assert not shown_now()
    world.assume(name, value)
    assert shown_now()
    assert sum(in_force(world.simulation).values()) == 1


def test_a_switch_is_set_alone_over_a_reading() -> None:
    world = served("observed", assumptions={"events.id": "number"})
    assert isinstance(event(world)["id"], int) and "participants" in event(world)


@pytest.mark.spec("S0-4")
@pytest.mark.observed("retail.camel_case_query")
def test_camel_case_parameters_work_in_observed_whatever_the_preset_says() -> None:
    for reading, slug in (("documented", "ignored"), ("observed", "heard")):
        world = served(reading)
        world.preset("realistic")
        world.preset("ideal")
        if reading == "documented":
            world.operate("reading.set", name="documented")
        key = world.core.firms.api_keys()[0]
        retail = world.retail(key)
        answer = retail.get("/v1/portfolio/activities", params={"sortOrder": "SIDEWAYS"})
        assert (answer.status == 400) is (slug == "heard")


# ---- a run keeps its reading


def test_replay_fork_and_reset_keep_the_reading(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "run.ndjson"
    with path.open("wb") as file:
        simulation = Simulation(replace(QUICKSTART, reading="observed"), journal=file)
        assert isinstance(event(Desk(simulation))["id"], str)
        fork = simulation.fork()
        assert all(in_force(fork).values())
        simulation.control("reading.set", "", {"name": "documented"})
        assert isinstance(event(Desk(simulation))["id"], int)
        assert all(in_force(fork).values())
        simulation.reset()
        assert all(in_force(simulation).values())
    assert main(["replay", str(path)]) == 0


def test_a_step_changes_the_reading() -> None:
    document = {"name": "steps", "extends": "quickstart", "steps": [{"reading": "observed"}]}
    simulation = Simulation(scenario_from_document(document))
    simulation.advance_to(simulation.now + 1)
    assert all(in_force(simulation).values())


# ---- where it is chosen


def test_a_wrong_reading_is_refused_where_it_is_chosen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", "quickstart", "--reading", "guessed"])
    assert stopped.value.code == 2
    assert "documented, observed" in capsys.readouterr().err
    monkeypatch.setenv("SIM_READING", "guessed")
    with pytest.raises(SystemExit):
        main(["run", "quickstart"])
    assert "guessed" in capsys.readouterr().err


@pytest.mark.scenario("quickstart", reading="observed")
@pytest.mark.long
def test_the_marker_chooses_the_reading(exchange: Any) -> None:
    assert exchange.control("GET", "/health")["reading"] == exchange.ready["reading"] == "observed"


def test_the_environment_chooses_the_reading_of_a_test(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIM_READING", "observed")
    exchange = request.getfixturevalue("exchange")
    assert exchange.control("GET", "/health")["reading"] == "observed"
    exchange.control("PUT", "/assumptions/events.id", {"value": "number"})
    assert exchange.control("GET", "/health")["reading"] == "mixed"


def test_a_wrong_reading_fails_the_test_that_asks_for_it(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIM_READING", "guessed")
    with pytest.raises(
        pytest.fail.Exception, match="SIM_READING must be one of documented, observed"
    ):
        request.getfixturevalue("exchange")


def test_the_lists_of_readings_agree() -> None:
    from sim.cli import arguments

    assert tuple(READINGS) == sandbox_exchange_pytest.READINGS == arguments.READINGS
