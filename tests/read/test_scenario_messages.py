"""What `sim check` says about slips that people make, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim import load_scenario
from sim.read.headless_run import run_scenario
from sim.read.scenario_check import check
from sim.world.format.yaml_tree import ScenarioError

HEAD = """\
name: slips
extends: quickstart
world: {instruments: [{symbol: a, state: OPEN}, {symbol: h, state: OPEN, tick_size: "0.005"}]}
"""
ORDER = "steps:\n  - {order: {as: maker, symbol: %s, side: buy, price: '%s', qty: '1'}%s}\n"


def notices(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        check(text)
    return [str(problem) for problem in refused.value.problems]


LIMITS = "price limits must satisfy 0 <= low < high <= 1 dollar"
TICK = "tick_size must be between 0 and 1 dollar"
ORDER_OF_DATES = "an instrument must start, expire and terminate in this order"


def late(first: str, at: str, second: str, before: str) -> tuple[str, list[str]]:
    """Dates in the wrong order, and what is said of them."""
    sentence = f"{second} {before} is before {first} {at}; {ORDER_OF_DATES}"
    return f"{first}: {at}, {second}: {before}", [sentence]


def scales(price: int, qty: int = 1) -> str:
    product = f"{price} x {qty} does not"
    return f"price_scale times fractional_qty_scale must divide 100000000, {product}"


@pytest.mark.parametrize(
    ("terms", "messages"),
    [
        # A dollar has at most eight decimal places, and an exact part for each of its units.
        ("price_scale: 100000000", []),
        ("price_scale: 1000000000", [scales(1_000_000_000)]),
        ("price_scale: 10000, fractional_qty_scale: 10000", []),
        ("price_scale: 10000, fractional_qty_scale: 100000", [scales(10_000, 100_000)]),
        ("price_scale: 400", []),
        ("price_scale: 300", [scales(300)]),
        # The tick lies inside the dollar and divides it.
        ("price_scale: 1, tick_size: '1'", [TICK, LIMITS]),
        ("price_scale: 2, tick_size: '0.5', price_limit: {low: '0', high: '1'}", []),
        ("tick_size: '0.5', price_limit: {low: '0', high: '1'}", []),
        ("tick_size: '1'", [TICK, LIMITS]),
        ("tick_size: '1.01'", [TICK, LIMITS]),
        ("tick_size: '0.03'", ["the tick must divide one dollar: 0.03 does not, 0.02 and 0.04 do"]),
        # So do the prices, 0 and a dollar included.
        ("price_limit: {low: '0', high: '1'}", []),
        ("price_limit: {low: '0', high: '1.01'}", [LIMITS]),
        ("price_limit: {low: '0.5', high: '0.5'}", [LIMITS]),
        ("price_limit: {low: '0.5', high: '0.51'}", []),
        ("price_limit: {low: '0.51', high: '0.5'}", [LIMITS]),
        ("minimum_trade_qty: 1", []),
        # Dates are in order, and may be one.
        ("start: 2026-09-09T00:00:00Z, expiration: 2026-09-09T00:00:00Z", []),
        ("expiration: 2026-09-10T00:00:00Z, termination: 2026-09-10T00:00:00Z", []),
        late("start", "2026-09-09T00:00:00.000000001Z", "expiration", "2026-09-09T00:00:00Z"),
        late("expiration", "2026-09-10T00:00:00Z", "termination", "2026-09-09T23:59:59Z"),
    ],
)
def test_terms_of_an_instrument_are_taken_or_it_is_said_what_is_wrong_with_them(
    terms: str, messages: list[str]
) -> None:
    text = f"name: terms\nworld: {{instruments: [{{symbol: a, {terms}}}]}}\n"
    if not messages:
        load_scenario(text)
        return
    assert [message.partition(": ")[2] for message in notices(text)] == messages


X = "name: x\n"
EVERY = "every must be whole seconds that divide a minute, at most 15s"
ID = "id must be crypto:<symbol>, at most 64 of a-z, 0-9 and -"


@pytest.mark.parametrize(
    ("terms", "messages"),
    [
        ("", []),
        ("every: 1s", []),
        ("every: 15s", []),
        ("every: 7s", [EVERY]),
        ("every: 20s", [EVERY]),
        ("every: 500ms", [EVERY]),
        ("places: 0", []),
        ("places: 8", []),
        ("places: 9", ["places must be between 0 and 8"]),
        ("volatility: '0'", []),
        ("volatility: '0.2'", []),
        ("volatility: '0.200001'", ["volatility must be between 0 and 0.2"]),
        (f"id: 'crypto:{'a' * 64}'", []),
        (f"id: 'crypto:{'a' * 65}'", [ID]),
        ("id: 'crypto:'", [ID]),
        ("id: 'crypto:A'", [ID]),
    ],
)
def test_terms_of_an_asset_are_taken_or_it_is_said_what_is_wrong_with_them(
    terms: str, messages: list[str]
) -> None:
    named = terms if terms.startswith("id:") else f"id: 'crypto:mine', {terms}"
    text = f"name: terms\nworld: {{assets: [{{price: '5', {named}}}]}}\n"
    if not messages:
        load_scenario(text)
        return
    partitions = [message.partition(": ")[2].partition(": ")[2] for message in notices(text)]
    assert partitions == messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: x\nsteps:\n\t- {at: +1s}\n",
            "3:1: not YAML: found character that cannot start any token (YAML does not allow tabs"
            " for indentation: use spaces)",
        ),
        (
            "name: x\nsteps:\n  - {at: +1s}\n   - {at: +2s}\n",
            "4:4: not YAML: did not find expected '-' indicator (is this line indented like the"
            " lines that it belongs to?)",
        ),
        (X + "faults: [{status: 503}]\n", "2:11: 'status' belongs under 'act': act: {status: ...}"),
        (
            X + "faults: [{plane: retail, act: {status: 503}}]\n",
            "2:11: 'plane' belongs under 'match'",
        ),
        (X + "games: 5\n", "2:1: 'games' belongs under 'world': world: {games: ...}"),
        (X + "limits: {publick: 5/s}\n", "2:10: unknown limit 'publick'; did you mean 'public'?"),
        (X + "limits: {zzz: 5/s}\n", "unknown limit 'zzz'; known: exchange_rest, retail, public"),
        (HEAD + ORDER % ("a", "0.405", ""), "5:5: refused: price 0.405 is not a multiple of the"),
        (HEAD + ORDER % ("h", "0.4075", ""), "price 0.4075 is not a multiple of the tick 0.005"),
        (HEAD + ORDER % ("h", "0.407", ""), "Price must be a multiple of 0.005, given 0.407"),
        (HEAD + ORDER % ("a", "1.40", ""), "High price limit is 0.99, given 1.4"),
        (
            HEAD + "steps: [{settle: {symbol: a, price: '1.5'}}]\n",
            "a settlement price must be between 0 and 1 dollar, not 1.5",
        ),
        (
            HEAD
            + "steps: [{call: {plane: exchange, as: atlas, get: /v1/whoami, headers: {X: y}}}]\n",
            "`headers` accepts only x-participant-id, not 'X': name the caller with `as`",
        ),
    ],
)
def test_one_slip_is_one_sentence_with_its_place(text: str, message: str) -> None:
    problems = notices(text)
    assert len(problems) == 1
    assert message in problems[0]


@pytest.mark.parametrize(
    "text",
    [
        ORDER % ("h", "0.405", ""),
        ORDER % ("a", "1.40", ", expect: {order: {state: REJECTED}}"),
        ORDER % ("a", "${px}", "") + "params: {px: '0.41'}\n",
        "steps: [{settle: {symbol: a, price: '1.5'}, expect: {refused: true}}]\n",
    ],
)
def test_what_is_meant_is_left_alone(text: str) -> None:
    check(HEAD + text)


def test_a_wrong_assumption_beside_a_world_of_its_own_is_told() -> None:
    assert notices(HEAD + "assumptions: {engine.latency: soon}\n") == [
        "text:4:31: not a duration: 'soon' (write PT5M or 5m)"
    ]


BOOK = (
    "name: slips\nextends: quickstart\nworld: {instruments: [{symbol: a, state: OPEN, tick_size: '0.01'}],"
    " books: [{symbol: %s, mid: '%s', spread: '0.02', sizes: ['10', '%s']}]}\n"
)
GENERATED = "aec-mlb-tor-lad-2026-09-08"


@pytest.mark.parametrize(
    ("symbol", "mid", "size", "told_text"),
    [
        ("a", "0.5", "9999999999999", "size 9999999999999 is more than an order of a can have"),
        ("a", "0.5", "0.5", "size 0.5 is not a multiple of 1, the smallest quantity of a"),
        ("a", "1.5", "5", "mid 1.5 with spread 0.02 makes no price in the band of a, 0.01"),
        (GENERATED, "0.5", "0.5", "Minimum trade quantity is 1, given 0.5"),
        ("cpc-btc-updown-1h-2026-09-09-1600z", "0.5", "0.001", "is not a multiple of 0.01"),
        (
            "cpc-btc-updown-1h-2026-09-19-1600z",
            "0.5",
            "5",
            "not listed before 2026-09-18T16:00:00Z",
        ),
        ("cpc-btc-updown-1h-2026-09-07-1600z", "0.5", "5", "closed at 2026-09-07T17:00:00Z"),
    ],
)
def test_a_book_has_orders_that_its_market_accepts(
    symbol: str, mid: str, size: str, told_text: str
) -> None:
    (message,) = notices(BOOK % (symbol, mid, size))
    assert told_text in message


@pytest.mark.parametrize("state", ["HALTED", "PENDING", "CLOSED"])
def test_a_book_needs_a_market_that_accepts_orders(state: str) -> None:
    (message,) = notices((BOOK % ("a", "0.5", "5")).replace("state: OPEN", f"state: {state}"))
    assert message.endswith(f"a is {state} at the start and accepts no orders")
    assert load_scenario((BOOK % ("a", "0.5", "5")).replace("state: OPEN", "state: PREOPEN"))


@pytest.mark.parametrize("mid", ["1", "0.995", "0.001"])
def test_a_book_may_have_one_side(mid: str) -> None:
    assert load_scenario(BOOK % ("a", mid, "5"))


@pytest.mark.parametrize(
    ("inherited", "text"),
    [
        ("books: [{symbol: x, mid: '0.5', sizes: ['0.5']}]", "size 0.5 is not a multiple"),
        (
            "orders: [{symbol: x, as: maker, side: buy, qty: '0.5', price: '0.5'}]",
            "qty 0.5 is not a multiple",
        ),
    ],
)
def test_inherited_orders_fit_the_instrument_that_a_file_changes(
    tmp_path: Path, inherited: str, text: str
) -> None:
    terms = "{symbol: x, state: OPEN, tick_size: '0.01', fractional_qty_scale: 100}"
    head = "name: base\nextends: quickstart\nworld:\n"
    (tmp_path / "base.yaml").write_text(f"{head}  instruments: [{terms}]\n  {inherited}\n")
    child = tmp_path / "child.yaml"
    changed = "{symbol: x, fractional_qty_scale: 1}"
    total = f"name: child\nextends: base.yaml\nworld: {{instruments: [{changed}]}}\n"
    child.write_text(total)
    (message,) = notices(str(child))
    assert f"x inherits an order: {text}" in message
    child.write_text(total.replace("scale: 1}", "scale: 1000}"))
    assert load_scenario(str(child))


@pytest.mark.parametrize("symbol", ["a", GENERATED, "cpc-btc-updown-1h-2026-09-09-1600z"])
def test_a_book_may_be_of_any_market_that_is_listed_at_the_start(symbol: str) -> None:
    assert not run_scenario(load_scenario(BOOK % (symbol, "0.5", "100"))).broken


@pytest.mark.parametrize(
    ("terms", "told_text"),
    [
        ("qty: '0.5', price: '0.5'", "Minimum trade quantity is 1, given 0.5"),
        ("qty: '5', price: '0.00005'", "price 0.00005 is not a multiple of the tick"),
    ],
)
def test_an_order_of_a_generated_market_has_its_units(terms: str, told_text: str) -> None:
    order = f"{{symbol: {GENERATED}, side: buy, as: maker, {terms}}}"
    messages = notices(f"name: slips\nextends: quickstart\nworld: {{orders: [{order}]}}\n")
    assert any(told_text in message for message in messages)
