"""Where a hunt begins: the scenario, the scenario without limits, and both sides of each date."""

from __future__ import annotations

from sim.analysis import dates
from sim.core.service.rate_limits import LIMITS
from sim.kernel.instants import days, format_instant, hours, parse_instant
from sim.loader.load import load_scenario

# A world of few games: a hunt forks and restores it thousands of times.
DEFAULT = """name: hunt
extends: [quickstart]
world: {games: 2}
"""


def roots_of(scenario: str = "") -> tuple[str, ...]:
    """The scenarios that a hunt begins with, as texts; "" is the default world, made small."""
    base = DEFAULT if not scenario else f"name: hunt\nextends: [{scenario}]\n"
    limits = ", ".join(f'{name}: "off"' for name in LIMITS)
    free = f"{base}limits: {{{limits}}}\n"
    start = load_scenario(base).clock.start
    instants = {parse_instant(row["from"]) for row in dates.rows() if row["kind"] == "rule"}
    sides = sorted({at - hours(1) for at in instants} | {max(instants)})
    others = [at for at in sides if abs(at - start) > days(1)]
    dated = (f'{free}clock: {{start: "{format_instant(at)}"}}\n' for at in others)
    return (base, free, *dated)
