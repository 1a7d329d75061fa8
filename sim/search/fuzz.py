"""Fuzzing: random moves, drawn from the seed, appended to a scenario's own steps.

No expectation can say what the result must be, but the invariants must hold. Partners, retail users
and scripted participants trade two additional markets, follow streams and make deals; markets halt
and settle, money moves, people are verified, maintenance begins, faults are injected (`moves/`). A
random step may be refused; this is recorded without further effect. A fuzzed scenario is a scenario
like any other: it can be repeated, replayed and shrunk.
"""

from __future__ import annotations

from msgspec.structs import replace

from sim.kernel.entropy import Entropy, RandomStream
from sim.run.actors.operator.action import read_entry
from sim.search.moves.table import MOVES
from sim.search.moves.view import Act, Steps, Terms, View
from sim.world.format.scenario import Scenario
from sim.world.format.steps import Step
from sim.world.format.world_entries import InstrumentEntry
from sim.world.start.world import build_world

MARKETS = (
    Terms("fuzz-cents"),
    Terms("fuzz-quarters", tick=25, price_scale=10_000, qty_scale=100, low=100, high=9_900),
)
FAULTS_FIRST = 3
_UNDER_WAY_MAX = 3  # moves of several steps that take turns


def with_random_steps(scenario: Scenario, seed: int, steps: int) -> Scenario:
    """Return the scenario with random steps appended. The same seed draws the same steps.

    The first few may be faults. They are steps, not entries of `faults`, so that they affect the
    random steps and not the expectations of the scenario itself.
    """
    if not steps:
        return scenario
    choices = Entropy(seed).stream("fuzz")
    parties = build_world(scenario).parties
    view = View(parties.firms, parties.api_keys, MARKETS, scenario.clock.start)
    drawn, faults = _drawn_steps(choices, view), choices.below(FAULTS_FIRST + 1)
    appended = []
    for number in range(1, steps + 1):
        fault = MOVES["fault.add"].draw(choices, view)
        step = next(fault if number <= faults else drawn)
        document = {
            "name": f"fuzz {number}",
            "at": f"+{choices.below(2_000)}ms",  # after the previous one
            **(step.step() if isinstance(step, Act) else step),
            "expect": {"refused": "maybe"},
        }
        appended.append(read_entry(Step, document))
    world = scenario.world
    entries = (read_entry(InstrumentEntry, terms.entry()) for terms in MARKETS)
    return replace(
        scenario,
        world=replace(world, instruments=(*world.instruments, *entries)),
        steps=(*scenario.steps, *appended),
    )


def _drawn_steps(choices: RandomStream, view: View) -> Steps:
    """Yield steps without end: of new moves, and the next ones of moves that are under way."""
    moves = [move for move in MOVES.values() for _ in range(move.weight) if move.is_possible(view)]
    under_way: list[Steps] = []
    while True:
        full = len(under_way) >= _UNDER_WAY_MAX
        if not under_way or not (full or choices.chance(2, 3)):
            under_way.append(choices.choice(moves).draw(choices, view))
        steps = choices.choice(under_way)
        step = next(steps, None)
        if step is None:
            under_way.remove(steps)
        else:
            yield step
