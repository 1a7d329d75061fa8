"""Fuzzing: random steps and faults, drawn from the seed, appended to a scenario's own steps.

No expectation can say what the result must be, but the invariants must hold. Partners, retail users
and scripted participants trade two additional markets over REST and gRPC, with streams that open
and close (`fuzz_partners.py`), and trade outside the book (`fuzz_deals.py`). Markets halt and
settle, money moves, people are verified, maintenance begins, faults are injected. A random step may
be refused; this is recorded without further effect. A fuzzed scenario is a scenario like any other:
it can be repeated, replayed and shrunk. The table in `_RandomSteps` says what may be drawn, and how
often; `generator.py` holds the rules that hypothesis uses as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, json
from msgspec.structs import replace

from sim.core.model.quantities import decimal_text
from sim.kernel.entropy import Entropy, RandomStream
from sim.search.fuzz_deals import Deals
from sim.search.fuzz_partners import Partners
from sim.search.generator import (
    SCRIPTED,
    Document,
    MarketSteps,
    Terms,
    call,
    exchange_order,
    fault,
    retail_order,
)
from sim.world.format.scenario import Scenario
from sim.world.format.steps import Step
from sim.world.format.struct_types import record
from sim.world.format.world_entries import InstrumentEntry
from sim.world.format.yaml_tree import read_text
from sim.world.start.accounts import OpeningParties
from sim.world.start.world import build_world

MARKETS = (
    Terms("fuzz-cents"),
    Terms("fuzz-quarters", tick=25, price_scale=10_000, qty_scale=100, low=100, high=9_900),
)
FAULTS_FIRST = 3
ASSUMPTIONS = (
    ("engine.latency", ("0s", "2s", "6s")),
    ("ledger.commission", ("combined", "separate")),
    ("strict_limit.mode", ("rest", "expire")),
    ("clearing.delay", ("0s", "30s")),
    ("orders.sync_reject", ("spec", "async")),
)


def with_random_steps(scenario: Scenario, seed: int, steps: int) -> Scenario:
    """Return the scenario with random steps appended. The same seed draws the same steps.

    The first few may be faults. They are steps, not entries of `faults`, so that they affect the
    random steps and not the expectations of the scenario itself.
    """
    if not steps:
        return scenario
    rng = Entropy(seed).stream("storm")  # another name would draw other steps
    random_steps = _RandomSteps(rng, build_world(scenario).parties)
    faults = rng.below(FAULTS_FIRST + 1)
    world = scenario.world
    entries = (_parse(InstrumentEntry, _entry(terms)) for terms in MARKETS)
    appended = (
        _parse(Step, random_steps.step(number, only_faults=number <= faults))
        for number in range(1, steps + 1)
    )
    return replace(
        scenario,
        world=replace(world, instruments=(*world.instruments, *entries)),
        steps=(*scenario.steps, *appended),
    )


def _entry(terms: Terms) -> Document:
    return {
        "symbol": terms.symbol,
        "tick_size": terms.dollars(terms.tick),
        "price_scale": terms.price_scale,
        "fractional_qty_scale": terms.qty_scale,
        "state": "OPEN",
    }


def _parse(kind: type[Struct], document: Document) -> Any:
    problems: list[Any] = []
    entry = record(kind).read(read_text(json.encode(document), "fuzz"), problems)
    if problems:
        raise AssertionError(f"a random step is no {kind.__name__}: {problems}")
    return entry


class _RandomSteps(MarketSteps):
    """Draws steps, each kind with its weight."""

    def __init__(self, rng: RandomStream, parties: OpeningParties) -> None:
        super().__init__(rng, MARKETS)
        self._rng = rng
        users = [user.name for firm in parties.firms for user in firm.users if firm.client_id]
        self._users = users or list(SCRIPTED)
        partners = Partners(rng, parties, MARKETS)
        deals = Deals(rng, parties, MARKETS)
        self._keys = partners.keys
        participants = partners.has_participants
        has_callers = participants or bool(self._keys)
        kinds: tuple[tuple[int, Callable[[], Document]], ...] = (
            (36, self.order),
            (25, self._exchange_order),
            (12 if self._keys else 0, self._retail_order),
            (8, lambda: self.cancel((*SCRIPTED, *self._users))),
            (4 if self._keys else 0, self._retail_cancel),
            (6, self.state),
            (8, self.wait),
            (1, self.settlement),
            (2, self._money),
            (2, self._fault),
            (1, self._maintenance),
            (2, self._assumption),
            (12 if participants else 0, partners.rpc),
            (8 if has_callers else 0, partners.subscription),
            (3 if has_callers else 0, partners.frame),
            (2 if has_callers else 0, partners.disconnect),
            (8 if participants else 0, partners.verification),
            (5 if deals.has_partners else 0, deals.cross),
            (5 if deals.has_partners else 0, deals.vendor),
            (14 if deals.has_users else 0, deals.deal),
        )
        self._drawing = [draw for weight, draw in kinds for _ in range(weight)]

    def step(self, number: int, *, only_faults: bool = False) -> Document:
        """Return one step, up to two seconds after the previous one. It may be refused."""
        draw = self._fault if only_faults else self._rng.choice(self._drawing)
        return {
            "name": f"fuzz {number}",
            "at": f"+{self._rng.below(2_000)}ms",
            **draw(),
            "expect": {"refused": "maybe"},
        }

    def _fault(self) -> Document:
        return {"fault": fault(self._rng)}

    def _exchange_order(self) -> Document:
        order = exchange_order(self._rng, self.market())
        return self._post("exchange", "/v1/trading/orders", self._users, order)

    def _retail_order(self) -> Document:
        order = retail_order(self._rng, self.market())
        return self._post("retail", "/v1/orders", self._keys, order)

    def _retail_cancel(self) -> Document:
        return self._post("retail", "/v1/orders/open/cancel", self._keys, {})

    def _post(self, plane: str, path: str, callers: list[str], body: Document) -> Document:
        return call(plane, self._rng.choice(callers), ("post", path), body)

    def _money(self) -> Document:
        account = self._rng.choice((*SCRIPTED, *self._users))
        amount = decimal_text(self._rng.between(-50_000, 50_000), 100)
        return {"fund": {"account": account, "amount": amount}}

    def _maintenance(self) -> Document:
        begins = f"+{self._rng.between(1, 90)}s"
        return {"maintenance": {"begins": begins, "length": "10m", "lead": "30s"}}

    def _assumption(self) -> Document:
        name, values = self._rng.choice(ASSUMPTIONS)
        return {"assumption": {name: self._rng.choice(values)}}
