"""Where a hunt begins: a small world with something of everything, the default world, both with
tight limits and without any, and both sides of each date.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO

from sim.core.service.rate_limits import LIMITS
from sim.kernel.instants import days, format_instant, hours, parse_instant
from sim.read import dates
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation

# A hunt forks and searches its world thousands of times, and the cost of lists depends on its size.
# So this world has one or two of each kind: partners with all scopes and with few, retail users, a
# game with related markets, a market of each kind that rules distinguish, a recurring market, a
# program, a receiver.
SMALL_WORLD = """name: hunt
extends: [quickstart]
world:
  base: empty
  firms:
    - name: firms/atlas
      client_id: atlas-9f2c7b1e
      clearing_firm: firms/atlas-fcm
      funding_sources: [{id: atlas-bank}, {id: atlas-card, type: card, max_deposit: "100"}]
      users:
        - {name: mara-voss, account: firms/atlas-fcm/accounts/8f3a61c4, balance: "250000"}
        - {name: jon-adeyemi, account: firms/atlas-fcm/accounts/1d77e0b9, balance: "60"}
    - name: firms/borealis
      client_id: borealis-41d80a63
      clearing_firm: firms/borealis-fcm
      users:
        - {name: ines-duarte, account: firms/borealis-fcm/accounts/4be19d07, balance: "150000"}
    - name: firms/cinder
      client_id: cinder-c7735e90
      scopes: [read:accounts, read:marketdata]
      users: [{name: desk, balance: "5000"}]
  accounts:
    - {name: firms/atlas-fcm/accounts/1d77e0b9, collateral_return: true, prior_volume: "900000"}
  api_keys:
    - {key_id: 31320298-b16b-4d3b-b4cd-e1bbf36ad94f, account: firms/retail/accounts/5c1e90d2}
    - {key_id: 07d42773-f6c7-4ebc-a9a8-d6b17956b293, account: firms/retail/accounts/b7702f48}
  assets: [{id: "crypto:btc", price: "63000", every: 10s}]
  events: [{slug: hunt-game, title: Hounds v Foxes, league: mlb, live: true, period: T3}]
  instruments:
    - {symbol: rain, tick_size: "0.01", state: OPEN}
    - {symbol: hunt-fine, tick_size: "0.0025", fractional_qty_scale: 100, state: OPEN}
    - {symbol: hunt-home, event: hunt-game, market_type: moneyline, pick: home, state: OPEN}
    - {symbol: hunt-away, event: hunt-game, market_type: moneyline, pick: away, state: OPEN}
    - {symbol: hunt-line-1, event: hunt-game, market_type: spreads, line: "1.5",
       event_outcome: directional, state: OPEN}
    - {symbol: hunt-line-2, event: hunt-game, market_type: spreads, line: "2.5",
       event_outcome: directional, state: OPEN}
  incentives:
    - symbol: rain
      periods: [{program_id: hunt-quotes, start: 2026-07-01, reward_pool: "500", target_size: 5}]
  receivers: [{name: hunt-receiver, answers: [{status: 200}]}]
"""
# Every read of a recurring market computes its index, so only one root has one.
RECURRING = """\
  windows: [{name: hunt-btc, asset: "crypto:btc", title: Bitcoin, every: 15m, ahead: 30m}]
"""
DEFAULT = """name: hunt
extends: [quickstart]
world: {games: 2}
"""
_TIGHT = "3/10s"
_DATED = ("rule", "operation")


def roots_of(scenario: str = "") -> tuple[str, ...]:
    """Return the scenarios with which a hunt begins, as texts: a small world and the default one if
    the user names none ("").
    """
    base = SMALL_WORLD if not scenario else f"name: hunt\nextends: [{scenario}]\n"
    free, tight = (_limited(base, limit) for limit in ("off", _TIGHT))
    full = (base,) if scenario else (SMALL_WORLD + RECURRING, DEFAULT)
    start = load_scenario(base).clock.start
    instants = {parse_instant(row["from"]) for row in dates.rows() if row["kind"] in _DATED}
    sides = sorted({at - hours(1) for at in instants} | {max(instants)})
    others = [at for at in sides if abs(at - start) > days(1)]
    dated = (f'{free}clock: {{start: "{format_instant(at)}"}}\n' for at in others)
    return (free, tight, *full, *dated)


def _limited(base: str, limit: str) -> str:
    limits = ", ".join(f'{name}: "{limit}"' for name in LIMITS)
    return f"{base}limits: {{{limits}}}\n"


# ---- simulations


class Starts:
    """The root scenarios of a hunt as texts, each built once and copied for every episode."""

    def __init__(self, roots: Sequence[str], seed: int) -> None:
        self._roots = roots
        self._seed = seed
        self._built: dict[int, Simulation] = {}

    def copy(self, root: int) -> Simulation:
        """Return a copy of a root at its start."""
        if root not in self._built:
            self._built[root] = self.fresh(root, BytesIO())
        return self._built[root].fork()

    def fresh(self, root: int, journal: BytesIO) -> Simulation:
        """Return a root at its start, with its journal from the beginning."""
        return Simulation(load_scenario(self._roots[root]), seed=self._seed, journal=journal)


@lru_cache(maxsize=1)
def starts_of(roots: tuple[str, ...], seed: int) -> Starts:
    """Return the starts of a hunt in this process."""
    return Starts(roots, seed)
