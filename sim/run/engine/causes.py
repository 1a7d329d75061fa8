"""Which earlier input caused an input: the nearest on its branch without which it would not exist.

| Input | Cause |
|---|---|
| an advance in which timers fired | the input that scheduled the one scheduled last |
| an advance in which trades cleared | the input that made the last of them, if that is later |
| a step of the scenario | the input that reached the step's time or condition |
| an action of a step | the beginning of the step |
| a frame, or the end of a stream by its client | the opening of the stream |
| the answer of a webhook receiver | the input that made the attempt |
| an answer that has to leave | the call that it answers |
| any other input | none: it came from outside |

Nothing is stored for this: timers and trades are numbered, and the journal knows how many there
were after each input. Clearing has one timer for all trades that wait, so a trade says more than
who scheduled it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.api.pipeline.inputs import (
    Advanced,
    AnswerDue,
    Input,
    StreamFrame,
    StreamHungUp,
    WebhookAnswered,
    by_script,
)
from sim.api.streams.hub import Hub
from sim.core.exchange import Exchange
from sim.kernel.journal import Journal
from sim.run.engine.extension import Extension


class Causes:
    """Finds the causes of the inputs of one engine."""

    def __init__(
        self, exchange: Exchange, hub: Hub, extensions: Sequence[Extension], journal: Journal
    ) -> None:
        self._exchange = exchange
        self._hub = hub
        self._extensions = extensions
        self._journal = journal

    def of(self, input_: Input) -> int:
        """Return the cause of an input that is about to be handled.

        0 if there is none, and for an advance, whose timers have yet to fire.
        """
        if isinstance(input_, Advanced):
            return 0
        if by_script(input_) and not isinstance(input_, WebhookAnswered):
            return max(extension.cause_of(input_) for extension in self._extensions)
        match input_:
            case StreamFrame() | StreamHungUp():
                return self._hub.opened_in(input_.stream)
            case WebhookAnswered():
                return self.of_timer(self._exchange.webhooks.timer_of(input_.attempt))
            case AnswerDue():
                return self.of_timer(self._exchange.awaited.timer_of(input_.pending_on))
        return 0

    def of_timer(self, timer: int) -> int:
        """Return the input that scheduled a timer, by the timer's number.

        0 for the start or no timer.
        """
        return self._journal.branch.scheduled_by(timer, self._journal.seq) if timer else 0

    def of_advance(self, timer: int, trades: int) -> int:
        """Return the cause of an advance: of the last timer that fired but for those of clearing,
        or of the last trade that cleared, of so many trades. 0 is none of them.
        """
        branch, seq = self._journal.branch, self._journal.seq
        return max(self.of_timer(timer), branch.traded_by(trades - 1, seq) if trades else 0)
