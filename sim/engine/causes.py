"""Which earlier input an input comes of: the nearest one on its branch without which it would not be.

| Input | Comes of |
|---|---|
| an advance in which timers fired | the input that scheduled the one scheduled last |
| a step of the scenario | the input that brought its moment |
| what a step does | the beginning of the step |
| a frame, the end of a stream by its client | the opening of the stream |
| the answer of a webhook receiver | the input that made the attempt |
| an answer that has to leave | the call that it answers |
| everything else | none: it came from outside |

Nothing is remembered for it: timers are numbered in the order in which they were scheduled, and the
journal knows how many there were after each input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.api.pipeline.inputs import (
    AnswerDue,
    Input,
    StreamFrame,
    StreamHungUp,
    WebhookAnswered,
    by_script,
)

if TYPE_CHECKING:
    from sim.engine.engine import Engine


def cause_of(engine: Engine, given: Input) -> int:
    """The input that one about to be handled comes of; 0 for none, or for an advance, whose timers
    have yet to fire.
    """
    if by_script(given):
        return max(extension.cause_of(given) for extension in engine.extensions.values())
    match given:
        case StreamFrame() | StreamHungUp():
            return engine.hub.opened_in(given.stream)
        case WebhookAnswered():
            return scheduled_by(engine, engine.exchange.webhooks.timer_of(given.attempt))
        case AnswerDue():
            return scheduled_by(engine, engine.exchange.awaited.timer_of(given.pending_on))
    return 0


def scheduled_by(engine: Engine, timer: int) -> int:
    """The earlier input that scheduled a timer, by its number; 0 for the start, or no timer."""
    return engine.journal.branch.scheduled_by(timer, engine.journal.seq) if timer else 0
