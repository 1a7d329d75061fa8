"""Scenarios with typical excesses: very large ones, duplicate entries, and dates and numbers out of
range. Each runs or is refused with the line of the error.
"""

from __future__ import annotations

import pytest

from sim import Simulation, load_scenario
from sim.read import invariant_checks
from sim.read.headless_run import run_scenario
from sim.testing.control import ControlError
from sim.world.format.yaml_tree import ScenarioError

HEAD = "name: limits\nextends: quickstart\n"
LISTED = "world: {instruments: [{symbol: q1, state: OPEN}]}\n"


def notices(text):
    """Return the problems of a scenario, one a line."""
    with pytest.raises(ScenarioError) as refused:
        load_scenario(HEAD + text)
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.long
def test_ten_thousand_lines_are_a_scenario():
    line = "  - {at: +1s, order: {as: maker, symbol: q1, side: buy, price: '0.4', qty: '1'}}\n"
    assert len(load_scenario(HEAD + LISTED + "steps:\n" + line * 10_000).steps) == 10_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "world: {instruments: [{symbol: q1}, {symbol: q2}, {symbol: q1}]}\n",
            "symbol 'q1' occurs twice in `instruments`; first in line 3",
        ),
        ("world: {instruments: [&one {symbol: q1}, *one]}\n", "occurs twice in `instruments`"),
        (
            "world: {assets: [{id: 'crypto:x', price: '1'}, {id: 'crypto:x', price: '2'}]}\n",
            "occurs twice in `assets`",
        ),
        (
            LISTED + "participants: {makers: [{name: m, symbols: q1}, {name: m, symbols: q1}]}\n",
            "occurs twice in `makers`",
        ),
        ("world: {instruments: [{symbol: ''}]}\n", "a symbol is 1 to 128 letters"),
        ("world: {instruments: [{symbol: a/b}]}\n", "a symbol is 1 to 128 letters"),
        ("world: {instruments: [{symbol: '😀'}]}\n", "a symbol is 1 to 128 letters"),
        (
            "faults: [{match: {operation: SearchTrades, nth: 0}, act: {status: 503}}]\n",
            "expected a number from 1",
        ),
        (
            "faults: [{match: {operation: SearchTrades, every: 0}, act: {status: 503}}]\n",
            "expected a number from 1",
        ),
        ("steps: [{at: +99999999999999999999s}]\n", "longer than the calendar"),
        ("steps: [{at: +70000d}, {at: +1h}]\n", "3:9: the calendar of this exchange ends"),
        (
            "steps: [{at: +30000d}, {at: +30000d}, {at: +30000d}, {at: +30000d}]\n",
            "3:39: the calendar of this exchange ends",
        ),
        ("steps: [{at: +1s, advance: 70000d}]\n", "3:9: the calendar of this exchange ends"),
        ("assumptions: {engine.latency: 99999999999s}\n", "longer than the calendar"),
        (
            "world:\n  instruments:\n  - &a {symbol: q1}\n  - {<<: *a, symbol: q2}\n",
            "6:6: merge keys (<<) are not supported",
        ),
        ("seed: " + "9" * 5_000 + "\n", "expected a seed, in at most 18 digits"),
    ],
)
def test_what_cannot_be_is_told_at_its_place(text, words):
    problems = notices(text)
    assert len(problems) == 1
    assert words in problems[0]


def test_the_control_plane_refuses_the_same(exchange):
    for path, body, words in (
        (
            "/faults",
            {"match": {"operation": "CreateOrder", "nth": 0}, "act": {"status": 503}},
            "match.nth: expected a number from 1",
        ),
        ("/instruments", {"symbol": "a/b", "tick_size": "0.01"}, "a symbol is 1 to 128 letters"),
        ("/clock/advance", {"by": "99999999h"}, "longer than the calendar"),
    ):
        with pytest.raises(ControlError, match=words) as refused:
            exchange.control("POST", path, body)
        assert refused.value.status == 400


def test_many_open_orders_are_checked_now_and_then_and_at_the_end(monkeypatch):
    looks = []
    monkeypatch.setattr(
        invariant_checks, "violations", lambda trading, *_: looks.append(trading) or []
    )
    monkeypatch.setattr(invariant_checks, "CHECK_EVERY_INPUT_BELOW", 400)
    monkeypatch.setattr(invariant_checks, "ORDERS_PER_INPUT", 10)
    line = "  - {at: +1s, order: {as: maker, symbol: q1, side: buy, price: '0.4', qty: '1'}}\n"
    few = run_scenario(load_scenario(HEAD + LISTED + "steps:\n" + line * 20))
    # each has an advance, a step and its order; the last expectation checks everything else
    assert (len(looks), few.inputs) == (20 + 1, 3 * 20)
    looks.clear()
    many = run_scenario(load_scenario(HEAD + LISTED + "steps:\n" + line * 200))
    assert many.inputs == 3 * 200 and 200 / 20 < len(looks) < 200
    last = load_scenario(HEAD + LISTED + "steps:\n" + line * 200)
    monkeypatch.setattr(
        invariant_checks,
        "violations",
        lambda trading, *_: (
            ["books: spoilt"] if len(list(trading.books.get("q1").working())) == 200 else []
        ),
    )
    assert len(run_scenario(last).broken) == 1


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "words"),
    [
        ("GET", "/conformance?form=xml", None, 400, "form is json or junit"),
        ("PUT", "/preset", {}, 400, "the key .name. is missing"),
        (
            "PUT",
            "/quirks/session_revokation",
            {"value": "never"},
            404,
            "did you mean 'session_revocation'.*catalogue/quirks",
        ),
        (
            "PUT",
            "/assumptions/engine.latenzy",
            {"value": "1s"},
            404,
            "did you mean 'engine.latency'.*catalogue/assumptions",
        ),
        ("POST", "/accounts/none/fund", {"amount": "5"}, 404, "state/accounts"),
        ("POST", "/prices/crypto:btc", {"price": "9" * 26}, 400, "at most 18 digits"),
    ],
)
def test_a_slip_of_the_pen_is_told_what_would_have_worked(
    exchange, verb, path, body, status, words
):
    with pytest.raises(ControlError, match=words) as refused:
        exchange.control(verb, path, body)
    assert refused.value.status == status


@pytest.mark.parametrize("key", ["qty", "min_qty"])
@pytest.mark.parametrize("fractional", [1, 100])
def test_an_order_of_the_beginning_has_a_quantity_that_every_order_may_have(
    key: str, fractional: int
) -> None:
    most = 10**12 // fractional
    text = (
        "name: q\nextends: quickstart\nworld:\n  instruments:\n    - {symbol: w, tick_size: '0.01',"
        f" state: OPEN, fractional_qty_scale: {fractional}}}\n  orders:\n    - {{as: maker, symbol:"
        " w, side: buy, price: '0.3', qty: 'QTY', min_qty: 'LEAST'}\n"
    )

    def scenario(amount: str) -> str:
        qty, least = (amount, "1") if key == "qty" else ("1", amount)
        return text.replace("QTY", qty).replace("LEAST", least)

    assert Simulation(load_scenario(scenario(str(most)))).seq == 0
    with pytest.raises(ScenarioError, match=f"{key} .* more than an order of w can have, {most}"):
        load_scenario(scenario(str(most + 1)))
