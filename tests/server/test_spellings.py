"""One grammar for each kind of value, on every surface that accepts it: scenario files, the control
plane, the command line, the fixture and in-process clients. The grammars are in
docs/reference/values.md.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from sim import Simulation, load_scenario
from sim.cli.arguments import instant as of_command_line
from sim.core.catalogue.quirks import parse_chance
from sim.core.model.refusals import Refusal
from sim.kernel.instants import NS_PER_S, format_instant, from_datetime, parse_instant, parse_span
from sim.testing import connect
from sim.testing.control import ControlError
from sim.world.format.order_flow import _due
from sim.world.format.yaml_tree import ScenarioError
from tests.kit.clients import served_exchange

WORLD = """\
name: spelled
extends: quickstart
world: {instruments: [{symbol: rain, tick_size: "0.01", state: OPEN}]}
"""
SPANS = ["90s", "1m30s", "1.5m", "90000ms", "0.025h", "PT90S", "PT1M30S", "P0DT90S", "+90s"]
NO_SPANS = ["90", "1 m", "90sec", "0:01:30", "PT", "P1M", "", "soon"]
INSTANTS = [
    *("2026-09-08T18:05:00Z", "2026-09-08t18:05:00z", "2026-09-08 18:05:00Z"),
    *("2026-09-08T18:05Z", "2026-09-08T18:05:00.000Z", "2026-09-08T14:05:00-04:00"),
    "2026-09-08T20:05:00+02:00",
]
NO_INSTANTS = ["2026-09-08T18:05:00", "18:05", "08.09.2026", "2026-09-31T00:00:00Z", "soon"]
ODDS = {
    "always": ["always", "true", True, "1", 1, "on", "1/1"],
    "never": ["never", "false", False, "0", 0, "off", "0/7"],
    "1/4": ["1/4"],
    "25/100": ["0.25", ".25", 0.25],
}
NO_ODDS = ["often", "25%", "3/2", "1/0", "-0.5", 2, 1.5]
PEOPLE = {
    "firms/sandbox/accounts/maker": [
        "maker",
        "firms/sandbox/users/maker",
        "firms/sandbox/accounts/maker",
    ],
    "firms/atlas-fcm/accounts/8f3a61c4": [
        "mara-voss",
        "firms/atlas/users/mara-voss",
        "firms/atlas-fcm/accounts/8f3a61c4",
    ],
}


@pytest.fixture(scope="module")
def exchange(tmp_path_factory):
    yield from served_exchange(tmp_path_factory, WORLD)


def step(text):
    """The first step of a scenario."""
    return load_scenario(f"{WORLD}steps:\n- {text}\n").steps[0]


def moved(exchange, move):
    """How far a move of the clock goes, in nanoseconds."""
    before = exchange.now
    move()
    return from_datetime(exchange.now) - from_datetime(before)


def planned(exchange, moment):
    """The instant at which `exchange.at` calls."""
    called = []
    exchange.at(moment, lambda: called.append(exchange.now))
    exchange.clock.advance("1h")
    return from_datetime(called[0])


def of_client(text):
    world = connect(Simulation(load_scenario(WORLD)))
    before = world.simulation.now
    world.advance(text)
    return world.simulation.now - before


def assumption_in_force(exchange, text):
    path = "/assumptions/maintenance.cancel_lead"
    return parse_span(exchange.control("PUT", path, {"value": text})["value"])


def fault_row(exchange, identifier):
    faults = exchange.control("GET", "/faults")["faults"]
    return next(row for row in faults if row["id"] == identifier)


def chance_of(exchange, identifier):
    match = fault_row(exchange, identifier)["match"]
    return str(parse_chance(match.get("probability", "always")))


def fault_ttl(exchange, text):
    fault = {"match": {"operation": "InsertOrder"}, "act": {"status": 503}, "ttl": text}
    identifier = exchange.control("POST", "/faults", fault)["id"]
    return parse_span(fault_row(exchange, identifier)["ttl"])


SPAN_SURFACES = {
    "step at": lambda exchange, text: (
        parse_span(step(f"{{at: '+{text.lstrip('+')}'}}").at) if text else step("{at: '+'}")
    ),
    "step advance": lambda exchange, text: step(f"{{advance: '{text}'}}").advance,
    "step within": lambda exchange, text: (
        step(f"{{when: {{maintenance: true}}, within: '{text}'}}").within
    ),
    "assumption of a file": lambda exchange, text: parse_span(
        load_scenario(f"{WORLD}assumptions: {{maintenance.cancel_lead: '{text}'}}\n").assumptions[
            "maintenance.cancel_lead"
        ]
    ),
    "assumption of the control plane": assumption_in_force,
    "fault of a file": lambda exchange, text: parse_span(
        step(f"{{fault: {{act: {{status: 503}}, ttl: '{text}'}}}}").fault.ttl or "0s"
    ),
    "fault of the control plane": fault_ttl,
    "advance of the control plane": lambda exchange, text: moved(
        exchange, lambda: exchange.control("POST", "/clock/advance", {"by": text})
    ),
    "within of the control plane": lambda exchange, text: moved(
        exchange,
        lambda: exchange.control(
            "POST", "/clock/advance", {"until": {"trade": {"symbol": "rain"}}, "within": text}
        ),
    ),
    "advance of the fixture": lambda exchange, text: moved(
        exchange, lambda: exchange.clock.advance(text)
    ),
    "advance of a client": lambda exchange, text: of_client(text),
    "order flow": lambda exchange, text: _due("+" + text.lstrip("+"), 0),
}
REFUSED = (ScenarioError, Refusal, ControlError, ValueError)


@pytest.mark.parametrize("surface", SPAN_SURFACES)
def test_a_span_is_the_same_wherever_it_stands(exchange, surface):
    read = SPAN_SURFACES[surface]
    assert [read(exchange, text) for text in SPANS] == [90 * NS_PER_S] * len(SPANS)


@pytest.mark.parametrize("surface", SPAN_SURFACES)
@pytest.mark.parametrize("text", NO_SPANS)
def test_what_is_no_span_is_none_anywhere(exchange, surface, text):
    if not text and surface.startswith("fault"):
        pytest.skip("no ttl")
    with pytest.raises(REFUSED):
        SPAN_SURFACES[surface](exchange, text)


AT = parse_instant("2026-09-08T18:05:00Z")


def reset(exchange):
    exchange.control("POST", "/reset", {})


def to_of_control(exchange, text):
    reset(exchange)
    return parse_instant(exchange.control("POST", "/clock/advance", {"to": text})["now"])


def rewind_of_control(exchange, text):
    reset(exchange)
    exchange.clock.advance("1h")
    return parse_instant(exchange.control("POST", "/rewind", {"to": text})["now"])


def to_of_fixture(exchange, text):
    reset(exchange)
    exchange.clock.to(text)
    return from_datetime(exchange.now)


def at_of_fixture(exchange, text):
    reset(exchange)
    return planned(exchange, text)


def of_connection(exchange, text):
    world = connect(Simulation(load_scenario(WORLD)))
    world.advance_to(text)
    return world.simulation.now


INSTANT_SURFACES = {
    "step": lambda exchange, text: step(f"{{at: '{text}'}}").at,
    "start": lambda exchange, text: (
        load_scenario(f"{WORLD}clock: {{start: '{text}'}}\n").clock.start
    ),
    "order": lambda exchange, text: (
        step(
            "{order: {symbol: rain, side: buy, price: '0.4', qty: '1', tif: gtt,"
            f" good_till: '{text}'}}}}"
        ).order.good_till
    ),
    "command line": lambda exchange, text: of_command_line(text),
    "advance of the control plane": to_of_control,
    "rewind of the control plane": rewind_of_control,
    "clock of the fixture": to_of_fixture,
    "at of the fixture": at_of_fixture,
    "client": of_connection,
    "order flow": lambda exchange, text: _due(text, 0),
}
COMMAND_LINE = (*REFUSED, Exception)  # argparse has an error of its own


@pytest.mark.parametrize("surface", INSTANT_SURFACES)
def test_an_instant_is_the_same_wherever_it_stands(exchange, surface):
    read = INSTANT_SURFACES[surface]
    assert [read(exchange, text) for text in INSTANTS] == [AT] * len(INSTANTS)


@pytest.mark.parametrize("surface", INSTANT_SURFACES)
@pytest.mark.parametrize("text", NO_INSTANTS)
def test_what_is_no_instant_is_none_anywhere(exchange, surface, text):
    with pytest.raises(COMMAND_LINE):
        INSTANT_SURFACES[surface](exchange, text)


def test_a_moment_of_a_program_may_be_a_datetime(exchange):
    reset(exchange)
    exchange.clock.to(datetime.fromisoformat("2026-09-08T18:05:00+00:00"))
    assert from_datetime(exchange.now) == AT and format_instant(AT) == "2026-09-08T18:05:00Z"


def yaml(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def quirk_of_control(exchange, value):
    return exchange.control("PUT", "/quirks/stream_duplicates", {"value": value})["value"]


def fault_of_control(exchange, value):
    body = {"match": {"probability": value}, "act": {"status": 503}}
    identifier = exchange.control("POST", "/faults", body)["id"]
    return chance_of(exchange, identifier)


def fault_of_fixture(exchange, value):
    identifier = exchange.fault(probability=value, status=503).id
    return chance_of(exchange, identifier)


ODDS_SURFACES = {
    "quirks of a file": lambda exchange, value: load_scenario(
        f"{WORLD}quirks: {{stream_duplicates: {yaml(value)}}}\n"
    ).quirks["stream_duplicates"],
    "step": lambda exchange, value: step(f"{{quirk: {{stream_duplicates: {yaml(value)}}}}}").quirk[
        "stream_duplicates"
    ],
    "fault of a file": lambda exchange, value: str(
        parse_chance(
            step(
                f"{{fault: {{match: {{probability: {yaml(value)}}}, act: {{status: 503}}}}}}"
            ).fault.match.probability
        )
    ),
    "quirk of the control plane": quirk_of_control,
    "fault of the control plane": fault_of_control,
    "fault of the fixture": fault_of_fixture,
}


@pytest.mark.parametrize("surface", ODDS_SURFACES)
@pytest.mark.parametrize("odds", ODDS)
def test_odds_are_the_same_wherever_they_stand(exchange, surface, odds):
    read = ODDS_SURFACES[surface]
    assert [read(exchange, value) for value in ODDS[odds]] == [odds] * len(ODDS[odds])


@pytest.mark.parametrize("surface", ODDS_SURFACES)
@pytest.mark.parametrize("value", NO_ODDS)
def test_what_is_no_chance_is_none_anywhere(exchange, surface, value):
    with pytest.raises(REFUSED):
        ODDS_SURFACES[surface](exchange, value)


def run(text):
    """What fails when a step runs."""
    simulation = Simulation(load_scenario(f"{WORLD}steps:\n- {text}\n"))
    simulation.advance_to(simulation.now + 1)
    return [line for result in simulation.script.results for line in result.failures]


STEPS = [
    "{order: {%s: %s, symbol: rain, side: buy, price: '0.40', qty: '1'}, expect: {order: {state: NEW}}}",
    "{cancel: {%s: %s, all: true}}",
    "{fund: {%s: %s, amount: '5'}}",
    "{call: {plane: exchange, %s: %s, get: /v1/whoami}, expect: {status: 200}}",
    "{expect: {open_orders: {%s: %s, symbol: rain, count: 0}}}",
    "{expect: {position: {%s: %s, symbol: rain, net: '0'}}}",
]


@pytest.mark.parametrize("text", STEPS, ids=lambda text: text[1:].partition(":")[0])
@pytest.mark.parametrize("name", [name for names in PEOPLE.values() for name in names])
@pytest.mark.parametrize("key", ["as", "account"])
def test_who_acts_has_the_same_names_in_every_step(text, key, name):
    if "call" in text and "maker" in name:
        text = text.replace("200", "403")  # its firm has no scopes
    assert run(text % (key, name)) == []


@pytest.mark.parametrize("account", PEOPLE)
@pytest.mark.parametrize("key", ["as", "account"])
def test_who_acts_has_the_same_names_on_the_control_plane(exchange, account, key):
    reset(exchange)
    order = {"symbol": "rain", "side": "buy", "price": "0.40", "qty": "1"}
    for count, name in enumerate(PEOPLE[account], start=1):
        exchange.control("POST", "/orders", {**order, key: name})
        orders = exchange.control("GET", f"/state/orders?symbol=rain&account={name}")["orders"]
        assert len(orders) == count and {row["account"] for row in orders} == {account}
        paid = exchange.control("POST", f"/accounts/{name}/fund", {"amount": "1"})
        assert account in paid.values()


def test_a_caller_goes_by_its_last_part_in_every_filter(exchange):
    reset(exchange)
    scenario = f"{WORLD}steps:\n- {{call: {{plane: exchange, as: mara-voss, get: /v1/whoami}}}}\n"
    simulation = Simulation(load_scenario(scenario))
    simulation.advance_to(simulation.now + 1)
    for name in ("mara-voss", "firms/atlas/users/mara-voss"):
        (row,) = simulation.requests(caller=name)
        assert row["operation"] == "AccountsAPI.GetWhoAmI"
    assert simulation.requests(caller="voss") == []
