"""A storm: steps and faults that nobody planned, drawn from the seed and put behind a scenario's
own steps. What must survive it are the invariants.

Partners, retail users and scripted participants trade two markets of their own, over REST and gRPC,
with streams that come and go (`storm_partners.py`), and deal past the book (`storm_deals.py`);
markets stop and settle, money comes and goes, people are verified, maintenance begins, faults
strike. A drawn step may be refused: that is said, and changes nothing. A stormy scenario is a
scenario like any other: it can be run again, replayed, shrunk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct, json
from msgspec.structs import replace

from sim.analysis.search.fuzz_deals import Deals
from sim.analysis.search.fuzz_partners import Partners
from sim.core.model.quantities import decimal_text
from sim.core.service.fault_spec import CALLS, ENGINE, KINDS, FaultSpec, fault_from
from sim.kernel.entropy import Entropy, Stream
from sim.scenario.scenario import Scenario
from sim.scenario.steps import Step
from sim.scenario.struct_types import record
from sim.scenario.world_entries import InstrumentEntry
from sim.scenario.yaml_tree import read_text
from sim.world.accounts import Parties
from sim.world.world import build_world

Document: TypeAlias = dict[str, Any]

# Symbol, dollars of a tick as ticks a dollar, price scale, quantity scale.
_MARKETS = (("storm-cents", 100, 100, 1), ("storm-quarters", 400, 10_000, 100))
_SCRIPTED = ("maker", "taker", "noise")
_STATES = (
    *("OPEN",) * 12,
    "SUSPENDED",
    "HALTED",
    "CLOSED",
    "PREOPEN",
    "MATCH_AND_CLOSE_AUCTION",
    "SCHEDULE",
)
_WAITS = ("1ms", "1s", "1s", "10s", "2m", "1h", "3h")
FAULTS = 3
_EXTRAS: tuple[Document, ...] = (
    {},
    {},
    {},
    {"participateDontInitiate": True},
    {"minQty": "2"},
    {"allOrNone": True},
    {"strictLimit": True},
    {"bestLimit": True},
)


def with_random_steps(scenario: Scenario, seed: int, steps: int) -> Scenario:
    """The scenario with so many drawn steps behind its own, the first of which may be faults: they
    strike the storm and not what the scenario expects.

    The same seed draws the same.
    """
    if not steps:
        return scenario
    luck = Entropy(seed).stream("storm")
    drawn = _Storm(luck, build_world(scenario).parties)
    world, faults = scenario.world, luck.below(FAULTS + 1)
    entries = tuple(
        _read(
            InstrumentEntry,
            {
                "symbol": symbol,
                "tick_size": _dollars(1, ticks),
                "price_scale": scale,
                "fractional_qty_scale": qty_scale,
                "state": "OPEN",
            },
        )
        for symbol, ticks, scale, qty_scale in _MARKETS
    )
    return replace(
        scenario,
        world=replace(world, instruments=(*world.instruments, *entries)),
        steps=(
            *scenario.steps,
            *(
                _read(Step, drawn.step(number, faulty=number <= faults))
                for number in range(1, steps + 1)
            ),
        ),
    )


def _read(kind: type[Struct], document: Document) -> Any:
    problems: list[Any] = []
    found = record(kind).read(read_text(json.encode(document), "storm"), problems)
    if problems:
        raise AssertionError(f"a storm drew what is no {kind.__name__}: {problems}")
    return found


def _dollars(ticks: int, a_dollar: int) -> str:
    return decimal_text(ticks * 10_000 // a_dollar, 10_000)


class _Storm:
    """Draws steps."""

    def __init__(self, luck: Stream, parties: Parties) -> None:
        self._luck = luck
        users = [user.name for firm in parties.firms for user in firm.users if firm.client_id]
        self._users = users or list(_SCRIPTED)
        self._partners = Partners(
            luck, parties, [(symbol, scale, scale // ticks) for symbol, ticks, scale, _ in _MARKETS]
        )
        self._keys = self._partners.keys
        partners = self._partners.anybody
        deals = self._deals = Deals(
            luck, parties, [(symbol, scale, scale // ticks) for symbol, ticks, scale, _ in _MARKETS]
        )
        kinds: tuple[tuple[int, Callable[[], Document]], ...] = (
            (36, self._order),
            (25, self._exchange_order),
            (12 if self._keys else 0, self._retail_order),
            (8, self._cancel),
            (4 if self._keys else 0, self._retail_cancel),
            (6, self._state),
            (8, lambda: {"advance": luck.choice(_WAITS)}),
            (1, self._settlement),
            (2, self._money),
            (2, lambda: {"fault": _plain(self.fault())}),
            (
                1,
                lambda: {
                    "maintenance": {
                        "begins": f"+{luck.between(1, 90)}s",
                        "length": "10m",
                        "lead": "30s",
                    }
                },
            ),
            (2, self._assumption),
            (12 if partners else 0, self._partners.rpc),
            (8 if partners or self._keys else 0, self._partners.subscription),
            (3 if partners or self._keys else 0, self._partners.frame),
            (2 if partners or self._keys else 0, self._partners.disconnect),
            (8 if partners else 0, self._partners.verification),
            (5 if deals.partners else 0, deals.cross),
            (5 if deals.partners else 0, deals.vendor),
            (14 if deals.users else 0, deals.deal),
        )
        self._drawing = [draw for weight, draw in kinds for _ in range(weight)]

    def step(self, number: int, *, faulty: bool = False) -> Document:
        """One step. It comes up to two seconds after the one before, and may be refused."""
        draw = (
            self._luck.choice(self._drawing)
            if not faulty
            else lambda: {"fault": _plain(self.fault())}
        )
        return {
            "name": f"storm {number}",
            "at": f"+{self._luck.below(2_000)}ms",
            **draw(),
            "expect": {"refused": "maybe"},
        }

    def fault(self) -> FaultSpec:
        """A fault of any kind on any plane, somewhere in the next hour."""
        luck = self._luck
        kind = luck.choice([kind for kind in KINDS if kind.name != "code"])
        plane = luck.choice(kind.planes)
        value: Any = {
            "status": luck.choice((429, 500, 503, 504)),
            "delay": luck.choice(("1ms", "2s", "6s")),
        }.get(kind.name, True)
        match: Document = {"plane": plane, "probability": luck.choice(("always", "1/3", "1/20"))}
        if plane == "engine":
            match["operation"] = luck.choice(ENGINE)
        act: Document = {kind.name: value}
        if kind.name == "status" and plane in CALLS and luck.chance(1, 2):
            act["handled"] = True
        return fault_from({"match": match, "act": act, "times": luck.between(1, 20), "ttl": "1h"})

    def _market(self) -> tuple[str, int, int, int]:
        return self._luck.choice(_MARKETS)

    def _order(self) -> Document:
        luck = self._luck
        symbol, ticks, _, qty_scale = self._market()
        order: Document = {
            "as": luck.choice(_SCRIPTED),
            "symbol": symbol,
            "side": luck.choice(("buy", "sell")),
            "price": _dollars(self._ticks(ticks), ticks),
            "qty": decimal_text(luck.log_between(1, 200), qty_scale),
            "tif": luck.choice(("gtc", "gtc", "day", "ioc", "fok")),
        }
        if luck.chance(1, 10):
            order["post_only"] = True
        return {"order": order}

    def _ticks(self, a_dollar: int) -> int:
        """A price, most often near the middle, so that there are trades."""
        luck = self._luck
        near = luck.between(47 * a_dollar // 100, 53 * a_dollar // 100)
        return near if luck.chance(4, 5) else luck.between(a_dollar // 100, 99 * a_dollar // 100)

    def _exchange_order(self) -> Document:
        luck = self._luck
        symbol, ticks, scale, _ = self._market()
        body: Document = {
            "type": luck.choice(("ORDER_TYPE_LIMIT",) * 5 + ("ORDER_TYPE_MARKET_TO_LIMIT",)),
            "side": luck.choice(("SIDE_BUY", "SIDE_SELL")),
            "symbol": symbol,
            "orderQty": str(luck.log_between(1, 5_000)),
            "timeInForce": (
                "TIME_IN_FORCE_"
                + luck.choice(("DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL"))
            ),
        }
        if body["type"] == "ORDER_TYPE_LIMIT":
            body["price"] = str(self._ticks(ticks) * scale // ticks)
        extra: Document = luck.choice(_EXTRAS)
        return {
            "call": {
                "plane": "exchange",
                "post": "/v1/trading/orders",
                "as": luck.choice(self._users),
                "json": {**body, **extra},
            }
        }

    def _retail_order(self) -> Document:
        luck = self._luck
        symbol, ticks, _, _ = self._market()
        body = {
            "marketSlug": symbol,
            "intent": (
                "ORDER_INTENT_" + luck.choice(("BUY_LONG", "SELL_LONG", "BUY_SHORT", "SELL_SHORT"))
            ),
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": _dollars(self._ticks(ticks), ticks), "currency": "USD"},
            "quantity": luck.log_between(1, 100),
            "tif": (
                "TIME_IN_FORCE_" + luck.choice(("DAY", "GOOD_TILL_CANCEL", "IMMEDIATE_OR_CANCEL"))
            ),
        }
        return {
            "call": {
                "plane": "retail",
                "post": "/v1/orders",
                "as": luck.choice(self._keys),
                "json": body,
            }
        }

    def _cancel(self) -> Document:
        return {"cancel": {"as": self._luck.choice((*_SCRIPTED, *self._users)), "all": True}}

    def _retail_cancel(self) -> Document:
        return {
            "call": {
                "plane": "retail",
                "post": "/v1/orders/open/cancel",
                "as": self._luck.choice(self._keys),
                "json": {},
            }
        }

    def _state(self) -> Document:
        return {"state": {"symbol": self._market()[0], "state": self._luck.choice(_STATES)}}

    def _settlement(self) -> Document:
        return {
            "settle": {"symbol": self._market()[0], "price": self._luck.choice(("0", "0.5", "1"))}
        }

    def _money(self) -> Document:
        return {
            "fund": {
                "account": self._luck.choice((*_SCRIPTED, *self._users)),
                "amount": decimal_text(self._luck.between(-50_000, 50_000), 100),
            }
        }

    def _assumption(self) -> Document:
        name, values = self._luck.choice(
            (
                ("engine.latency", ("0s", "2s", "6s")),
                ("ledger.commission", ("combined", "separate")),
                ("strict_limit.mode", ("rest", "expire")),
                ("clearing.delay", ("0s", "30s")),
                ("orders.sync_reject", ("spec", "async")),
            )
        )
        return {"assumption": {name: self._luck.choice(values)}}


def _plain(spec: FaultSpec) -> Document:
    found: Document = json.decode(json.encode(spec))
    return found
