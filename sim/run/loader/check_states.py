"""Checks of steps against the states of instruments that follow from the scenario itself.

An instrument with a `state` keeps it until a step changes it. If the steps run in the order of the
file, the file determines the state in which an order or a change of state finds the instrument. A
settled instrument does not trade again. If something else may change the state (a schedule,
maintenance), the instrument is not tracked any further.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.lifecycle.states import ENTRY_STATES, LEGAL_EDGES
from sim.core.model.enums import InstrumentState
from sim.run.loader.nodes import text_at
from sim.world.format.scenario import Scenario
from sim.world.format.steps import Step
from sim.world.format.yaml_tree import Mapping, Problem, Scalar, problem
from sim.world.start.world import World

# An instrument that is settled in one of these states does not trade again.
_TRADED = frozenset(InstrumentState) - {InstrumentState.PENDING, InstrumentState.TERMINATED}


def state_problems(
    scenario: Scenario, nodes: list[Mapping], world: World, *, rejects: bool
) -> Iterator[Problem]:
    """Orders and changes of state that the exchange would refuse, in steps that do not expect it.

    `rejects` says that some step expects a rejected order; it is known only during the run which
    one.
    """
    steps = scenario.steps
    if len(nodes) != len(steps) or any(_runs_elsewhere(step) for step in steps):
        return
    states = {
        terms.symbol: terms.opening_state
        for terms in world.instruments
        if terms.opening_state is not None
    }
    settled: set[str] = set()
    for step, node in zip(steps, nodes, strict=True):
        if step.maintenance is not None:
            return
        expects = "expect" in node.items
        if step.settle is not None:
            was = states.pop(step.settle.symbol, None)
            if not expects and was in _TRADED:
                settled.add(step.settle.symbol)
        if step.order is not None and not expects and not rejects:
            yield from _order(text_at(node, "order", "symbol"), states, settled)
        if step.state is not None:
            moved = text_at(node, "state", "state")
            if not expects and moved is not None:
                yield from _move(step.state.symbol, moved, states, settled)
            states.pop(step.state.symbol, None)
            if step.state.state in InstrumentState.__members__:
                states[step.state.symbol] = InstrumentState[step.state.state]


def _runs_elsewhere(step: Step) -> bool:
    """Whether a step may run at another place than its place in the file."""
    return step.when is not None or isinstance(step.at, int)


def _order(
    symbol: Scalar | None, states: dict[str, InstrumentState], settled: set[str]
) -> Iterator[Problem]:
    if symbol is None:
        return
    state = states.get(symbol.text)
    barred = state is not None and state not in ENTRY_STATES
    if barred or symbol.text in settled:
        is_ = state.name if state is not None and barred else "settled"
        text = f"{symbol.text} is {is_} at this step, so this order would be refused"
        yield problem(symbol.at, f"{text} (to test this, add `expect: {{refused: true}}`)")


def _move(
    symbol: str, moved: Scalar, states: dict[str, InstrumentState], settled: set[str]
) -> Iterator[Problem]:
    was, name = states.get(symbol), moved.text.upper().removeprefix("INSTRUMENT_STATE_")
    if name not in InstrumentState.__members__:
        return
    target = InstrumentState[name]
    if symbol in settled and target in ENTRY_STATES:
        yield problem(moved.at, f"{symbol} is settled at this step and cannot trade again")
    elif was is not None and target is not was and target not in LEGAL_EDGES[was]:
        names = ", ".join(sorted(state.name for state in LEGAL_EDGES[was]))
        text = (
            f"{symbol} is {was.name} at this step, so an operator cannot move it to {target.name}"
        )
        yield problem(
            moved.at, f"{text}; allowed next: {names or 'none, because this state is final'}"
        )
