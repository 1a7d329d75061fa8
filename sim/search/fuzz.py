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
from sim.search.moves.view import Act, Document, Steps, Terms, View
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
    random_steps = _RandomSteps(choices, view)
    faults = choices.below(FAULTS_FIRST + 1)
    world = scenario.world
    entries = (read_entry(InstrumentEntry, terms.entry()) for terms in MARKETS)
    appended = (
        read_entry(Step, random_steps.step(number, only_faults=number <= faults))
        for number in range(1, steps + 1)
    )
    return replace(
        scenario,
        world=replace(world, instruments=(*world.instruments, *entries)),
        steps=(*scenario.steps, *appended),
    )


class _RandomSteps:
    """Draws steps: those of new moves, and the next ones of moves that are under way."""

    def __init__(self, choices: RandomStream, view: View) -> None:
        self._choices = choices
        self._view = view
        self._moves = [
            move for move in MOVES.values() for _ in range(move.weight) if move.is_possible(view)
        ]
        self._under_way: list[Steps] = []

    def step(self, number: int, *, only_faults: bool = False) -> Document:
        """Return one step, up to two seconds after the previous one. It may be refused."""
        fault = MOVES["fault.add"].draw(self._choices, self._view)
        step = next(fault) if only_faults else self._next()
        return {
            "name": f"fuzz {number}",
            "at": f"+{self._choices.below(2_000)}ms",
            **(step.step() if isinstance(step, Act) else step),
            "expect": {"refused": "maybe"},
        }

    def _next(self) -> Document | Act:
        """Return the next step of a move under way, or the first one of a new move."""
        choices = self._choices
        while True:
            full = len(self._under_way) >= _UNDER_WAY_MAX
            if not self._under_way or not (full or choices.chance(2, 3)):
                move = choices.choice(self._moves)
                self._under_way.append(move.draw(choices, self._view))
            steps = choices.choice(self._under_way)
            step = next(steps, None)
            if step is not None:
                return step
            self._under_way.remove(steps)
