"""What takes part in a run besides clients: the protocol of an extension.

An extension acts inside an input, on virtual time: a script that runs the steps of a scenario,
participants that trade. The engine knows extensions by this class alone. It gives each of them the
timers whose kinds it declares, tells it what happens, and saves and loads its state by name, so a
further extension needs a class and a place in the tuple that `Simulation` hands to the engine.

Invariant: an extension changes the exchange only while an input is handled, draws randomness only
from streams of its own, and holds no state that `save` leaves out. Then a replay, a rewind and a
fork are exact whatever the extension does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct

from sim.api.pipeline.inputs import Input, InputHandlers, Outcome, OutcomeHandlers, Reply
from sim.core.model.events import Event


class Extension:
    """One extension of one engine. Hooks that a class does not override are never called.

    `name` stands in snapshots; `state_type` is the type that `save` returns.
    """

    name: ClassVar[str]
    state_type: ClassVar[type[Struct]]

    @property
    def timers(self) -> OutcomeHandlers:
        """The kinds of timers that it owns, with what each does."""
        return {}

    @property
    def inputs(self) -> InputHandlers:
        """The types of inputs that it handles itself."""
        return {}

    def next_input(self) -> Input | None:
        """What it wants to be handled before anything else happens, or None.

        The same until that input has been handled; `Engine.enter` handles it.
        """
        return None

    def cause_of(self, input_: Input) -> int:
        """The earlier input that made it ask for this one, its next; 0 for none."""
        return 0

    def hears(self, hook: str) -> bool:
        """Whether it overrides a hook."""
        return getattr(type(self), hook) is not getattr(Extension, hook)

    # ---- the beginning, in this order

    def plan(self) -> None:
        """Schedule what does not depend on the world; the exchange is still bare."""

    def follow(self) -> None:
        """Subscribe to what it needs to hear of; called again after each `load`."""

    def begin(self) -> None:
        """Act in the instant in which the scenario begins; the world is complete."""

    def begin_as(self, original: Any) -> None:
        """Have the beginning of the same extension of another engine, of which this is a fork."""

    # ---- during an input

    def on_events(self, events: Sequence[Event], outcome: Outcome) -> None:
        """Events have just happened, at virtual now."""

    def on_call(self, input_: Input, outcome: Outcome) -> None:
        """A call was answered."""

    def on_answer(self, name: str, reply: Reply, outcome: Outcome) -> None:
        """The answer of a deferred call leaves."""

    def on_done(self, input_: Input, outcome: Outcome) -> None:
        """The input is complete. Nothing may happen any more, but the record is not written yet."""

    # ---- streams of its own

    def save_streams(self) -> object:
        """What it remembers of streams that it has open, as data that can be pickled. Streams are
        no part of the state: whoever travels in time ends them; this serves who looks back.
        """
        return None

    def load_streams(self, state: Any) -> None:
        """Have what was remembered; None: there are none any more."""

    # ---- state

    def save(self) -> Struct:
        """Everything that changes, not copied: it is encoded before anything else happens."""
        raise NotImplementedError

    def load(self, state: Any) -> None:
        """Go on from a saved state."""
        raise NotImplementedError
