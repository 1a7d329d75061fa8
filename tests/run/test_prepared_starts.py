"""A run that copies the start of an earlier one in its process is the run that it would have been
alone.
"""

from __future__ import annotations

import gc
import weakref
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from sim import Simulation, load_scenario
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import NotFound
from sim.read.headless_run import run_scenario
from sim.run import simulation
from sim.run.client.client import connect
from sim.run.engine.engine import Engine
from sim.run.engine.run import Run
from sim.run.engine.start import PreparedStarts, Start
from sim.search.fuzz import with_random_steps
from sim.world.format.scenario import Scenario
from tests.deeds import do
from tests.journeys import FEW_GAMES, key, quiet, retail_order

KEY = "11111111-1111-1111-1111-111111111111"
FILES = sorted(path.stem for path in (Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


@pytest.fixture(autouse=True)
def none_is_prepared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(simulation, "PREPARED", PreparedStarts())
    yield


def begun(scenario: str, count: int) -> list[Simulation]:
    """The first begins from nothing, the third and later ones copy."""
    return [Simulation(load_scenario(scenario), journal=BytesIO()) for _ in range(count)]


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("living")])
def test_a_bundled_scenario_has_the_same_journal(name: str) -> None:
    journals = []
    for _ in range(3):
        journal = BytesIO()
        run = Simulation(load_scenario(name), journal=journal)
        report = run_scenario(run.scenario, simulation=run)
        assert report.ok
        journals.append(journal.getvalue())
    assert journals[0] == journals[1] == journals[2]


def test_orders_that_expire_have_the_same_timers_where_a_step_waits_for_a_recurring_market() -> (
    None
):
    """Reports carry the number of an order's timer, so numbers must be those of the first run."""
    journals = []
    for _ in range(3):
        journal = BytesIO()
        scenario = with_random_steps(load_scenario("automated-window"), 408, 100)
        run_scenario(scenario, simulation=Simulation(scenario, journal=journal))
        journals.append(journal.getvalue())
    assert b"expiry_timer" in journals[0]
    assert journals[0] == journals[1] == journals[2]


@pytest.mark.long
@settings(max_examples=14)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=12))
def test_the_same_inputs_have_the_same_lines_also_after_time_travel(numbers: list[int]) -> None:
    runs = begun(FEW_GAMES, 3)
    for run in runs:
        world = connect(run)
        for number in numbers:
            do(world, number)
    first, _, copied = runs
    assert list(copied.journal.lines()) == list(first.journal.lines())
    assert copied.digest == first.digest
    assert copied.requests() == first.requests()
    for run in (first, copied):
        run.reset()
        do(connect(run), numbers[0])
    assert copied.digest == first.digest
    for run in (first, copied):
        run.rewind(seq=0)
        do(connect(run), numbers[-1])
    assert copied.digest == first.digest
    for seed in (99, 98, 99, 98, 99):
        for run in (first, copied):
            run.reset(seed)
            do(connect(run), numbers[0])
            run.rewind(seq=0)
            do(connect(run), numbers[-1])
        assert copied.digest == first.digest


def journals(scenario: Scenario) -> list[bytes]:
    """Of runs under four seeds, each with one order, a reset and a minute."""
    written = []
    for seed in (1, 2, 3, 2):
        journal = BytesIO()
        run = Simulation(scenario, seed=seed, journal=journal)
        run_scenario(run.scenario, simulation=run)
        order = retail_order(quiet(run), "BUY_LONG", 35, 1)
        assert connect(run).retail(key(run)).post("/v1/orders", json=order).status == 200
        run.reset()
        connect(run).advance("1m")
        written.append(journal.getvalue() + run.digest.encode())
    return written


def assert_seeds_do_not_meet(scenario: Scenario) -> None:
    copied = journals(scenario)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "PREPARED", PreparedStarts(0))
        alone = journals(scenario)
    assert copied == alone
    assert len(set(copied)) == 3


@pytest.mark.parametrize(
    "name", [name for name in FILES if not name.startswith(("li", "automated"))]
)
def test_a_run_under_another_seed_is_the_one_that_it_is_alone(name: str) -> None:
    assert_seeds_do_not_meet(load_scenario(name))


def started(orders: list[str], more: str = "", windows: str = "false") -> Scenario:
    """A small world with orders that are placed before anything else happens."""
    return load_scenario(
        "name: starts\nextends: quickstart\nworld:\n  games: 2\n"
        f"  automated_windows: {windows}\n"
        "  instruments: [{symbol: held, state: OPEN}]\n"
        f"  orders: [{', '.join(orders)}]\n{more}\n"
    )


ORDERS = st.builds(
    "{{symbol: held, as: {}, side: {}, price: '0.{}', qty: {}, {}}}".format,
    st.sampled_from(["maker", "taker"]),
    st.sampled_from(["buy", "sell"]),
    st.integers(30, 60),
    st.integers(1, 20),
    st.sampled_from(
        ["tif: gtc", "tif: ioc", "tif: fok", "tif: gtt, good_till: '2026-12-08T14:00:00-04:00'"]
    ),
)


@pytest.mark.long
@settings(max_examples=8)
@given(st.lists(ORDERS, max_size=6))
def test_orders_of_a_start_have_the_names_of_its_seed(orders: list[str]) -> None:
    """They rest, expire, are refused or trade, and trades are names that are not renamed."""
    assert_seeds_do_not_meet(started(orders))


@pytest.mark.parametrize(
    "more",
    [
        "participants: {fair_prices: [{symbol: held, start: '0.48', volatility: '0.05'}],"
        " makers: [{name: anchor, symbols: held, spread: '0.04', sizes: ['20']}]}",
        "participants: {noise: [{name: fog, symbols: held, rate: 12/m, size: {low: '1', high: '3'}}]}",
    ],
)
def test_a_start_is_not_copied_where_more_than_names_follows_from_its_seed(more: str) -> None:
    """Prices that a walk draws, waits of a participant."""
    assert_seeds_do_not_meet(started([], more))


def test_a_market_that_is_compared_with_an_index_begins_with_the_index_of_its_seed() -> None:
    assert_seeds_do_not_meet(started([], windows="true"))


def test_what_happens_in_one_run_is_not_in_the_next() -> None:
    digests = set()
    for _ in range(5):
        (run,) = begun("quickstart", 1)
        world = connect(run)
        digests.add(run.digest)
        order = retail_order(quiet(run), "BUY_LONG", 35, 1)
        assert world.retail(key(run)).post("/v1/orders", json=order).status == 200
        world.advance("1d")
        run.snapshot("here")
        with pytest.raises(NotFound):
            run.restore("of another run")
    assert len(digests) == 1


def test_other_seeds_starts_settings_and_secrets_begin_otherwise() -> None:
    same = begun("quickstart", 3)[-1]
    scenario = load_scenario("quickstart")
    other_seed = [Simulation(scenario, seed=same.seed + 1) for _ in range(3)][-1]
    assert other_seed.seed == same.seed + 1
    assert other_seed.digest != same.digest
    later = [Simulation(scenario, start=same.now + 10**9) for _ in range(3)][-1]
    assert later.now == same.now + 10**9
    prefixed = [Simulation(scenario, settings=Settings(vendor_prefix="acme")) for _ in range(3)][-1]
    assert prefixed.engine.settings.vendor_prefix == "acme"
    assert begun("quickstart", 1)[0].engine.settings.vendor_prefix != "acme"


def test_a_key_has_the_secret_of_its_own_scenario_which_stands_in_no_journal() -> None:
    def keyed(secret: bytes) -> Simulation:
        text = b64encode(secret).decode()
        key = f"{{key_id: {KEY}, secret_key: {text}, account: firms/retail/accounts/mine}}"
        return Simulation(load_scenario(f"name: keyed\nworld: {{api_keys: [{key}]}}\n"))

    secrets = [bytes([1] * 32), bytes([2] * 32)]
    for secret in (secrets[0], *secrets, *secrets * 2, *secrets[1:] * 3):
        run = keyed(secret)
        assert b64decode(run.engine.world.parties.secrets[KEY])[:32] == secret
        assert run.digest == keyed(secrets[0]).digest


@pytest.mark.long
def test_the_runs_are_not_kept() -> None:
    runs = begun("quickstart", 3)
    watched = [weakref.ref(run.engine) for run in runs]
    runs.clear()
    gc.collect()
    assert [engine() for engine in watched] == [None, None, None]


class Counting:
    """Prepared starts, and how often one was begun from nothing."""

    def __init__(self, scenario: Scenario, kept: int) -> None:
        self.starts = PreparedStarts(kept)
        self.sim = Simulation(scenario)
        self.begun = 0

    def begin(self) -> Engine:
        self.begun += 1
        return self.sim.engine

    def of(self, run: Run | None = None, **fields: Any) -> Start | None:
        run = (run or self.sim.engine.run)._replace(**fields)
        return self.starts.of(run, self.sim.journal.header, self.begin)


def test_the_second_run_of_a_kind_prepares_its_start_and_later_ones_take_it() -> None:
    count = Counting(load_scenario(FEW_GAMES), 2)
    start = count.sim.start
    assert count.of() is None and count.begun == 0
    first = count.of()
    assert first is not None and count.begun == 1
    assert count.of() is first is count.of(seed=99)
    assert count.begun == 1, "nothing but names follows from the seed"
    assert count.of(start=start + 1) is None, "another kind"
    assert count.of() is first
    assert count.of(start=start + 2) is None, "the third kind drops the one that was used least"
    assert count.of() is first
    assert count.of(start=start + 1) is None and count.begun == 1
    assert count.of(start=start + 1) is not None and count.begun == 2
    changed = structs.replace(count.sim.scenario, description="another")
    assert count.of(scenario=changed) is None, "as its file says something else by now"
    assert count.of(scenario=changed) not in (None, first)
    assert count.of(settings=Settings(vendor_prefix="acme")) is None


def test_eight_kinds_are_kept() -> None:
    count = Counting(load_scenario(FEW_GAMES), 8)
    count.starts = PreparedStarts()
    kinds = [count.sim.start + number for number in range(9)]
    for start in kinds[:8]:
        assert count.of(start=start) is None
    assert all(count.of(start=start) is not None for start in kinds[:8])
    assert count.begun == 8
    assert count.of(start=kinds[8]) is None
    assert count.of(start=kinds[0]) is None, "it was used least recently"


def test_where_more_than_names_follows_from_the_seed_each_seed_is_a_kind_of_its_own() -> None:
    noise = (
        "participants: {noise: [{name: fog, symbols: held, rate: 12/m,"
        " size: {low: '1', high: '3'}}]}"
    )
    count = Counting(started([], noise), 8)
    assert count.of() is None
    first = count.of()
    assert first is not None and count.begun == 1
    assert count.of(seed=99) is None
    assert count.of() is first and count.begun == 1
    assert count.of(seed=99) is not None and count.begun == 2
    assert first.follows_from_the_seed()
    assert not Start(Simulation(load_scenario(FEW_GAMES)).engine).follows_from_the_seed()
