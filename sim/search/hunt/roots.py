"""Where a hunt begins: a small world with something of everything, the default world, both with
tight limits and without any, and both sides of each date.
"""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from pathlib import Path

from sim.core.service.rate_limits import LIMITS
from sim.kernel.instants import days, format_instant, hours, parse_instant
from sim.read import dates
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation

SMALL_WORLD = Path(__file__).with_name("small_world.yaml").read_text(encoding="utf-8")
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


@lru_cache(maxsize=32)
def _built(root: str, seed: int) -> Simulation:
    return Simulation(load_scenario(root), seed=seed, journal=BytesIO())


def start_of(root: str, seed: int) -> Simulation:
    """Return a copy of a root at its start, which is built once in this process."""
    return _built(root, seed).fork()


def journal_of(simulation: Simulation) -> bytes:
    """Return what led to the state of a simulation, as a journal that replays alone."""
    file = BytesIO()
    simulation.journal.along(simulation.journal.branch, file)
    return file.getvalue()
