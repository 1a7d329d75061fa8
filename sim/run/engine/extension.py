"""What takes part in a run besides clients: the protocol of an extension.

An extension acts within inputs, on virtual time: a script that runs the steps of a scenario,
participants that trade. The engine knows extensions by this class only. It passes them the timers
whose kinds they declare, notifies them of events, and saves and loads their state by name. A
further extension needs a class and a place in the tuple that `Simulation` passes to the engine.

Invariant: an extension changes the exchange only while an input is handled, draws randomness only
from its own streams, and has no state that `save` omits. Then a replay, a rewind and a fork are
exact whatever the extension does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct

from sim.api.pipeline.inputs import Input, InputHandlers, Outcome, OutcomeHandlers, Reply
from sim.core.model.events import Event


class Extension:
    """One extension of one engine. Hooks that a class does not override are never called.

    `name` is its name in snapshots; `state_type` is the type that `save` returns.
    """

    name: ClassVar[str]
    state_type: ClassVar[type[Struct]]

    @property
    def timers(self) -> OutcomeHandlers:
        """The timer kinds that it owns, with their handlers."""
        return {}

    @property
    def inputs(self) -> InputHandlers:
        """The types of inputs that it handles itself, with their handlers."""
        return {}

    def next_input(self) -> Input | None:
        """Return the input that must be handled before anything else, or None.

        It stays the same until that input has been handled; `Engine.enter` handles it.
        """
        return None

    def cause_of(self, input_: Input) -> int:
        """Return the earlier input that made it request this one; 0 if there is none."""
        return 0

    def overrides(self, hook: str) -> bool:
        """Return whether it overrides a hook."""
        return getattr(type(self), hook) is not getattr(Extension, hook)

    # ---- the beginning, in this order

    def plan(self) -> None:
        """Schedule whatever does not depend on the world. The exchange is still empty."""

    def follow(self) -> None:
        """Subscribe to the events that it needs. Called again after each `load`."""

    def begin(self) -> None:
        """Act at the instant at which the scenario begins. The world is complete."""

    def begin_as(self, original: Any) -> None:
        """Share the beginning of the same extension in the engine that was forked."""

    # ---- during an input

    def on_events(self, events: Sequence[Event], outcome: Outcome) -> None:
        """React to events that have just happened, at virtual now."""

    def on_call(self, input_: Input, outcome: Outcome) -> None:
        """React to a call that was answered."""

    def on_answer(self, name: str, reply: Reply, outcome: Outcome) -> None:
        """React to the answer of a deferred call, which is about to leave."""

    def on_done(self, input_: Input, outcome: Outcome) -> None:
        """Note that the input is complete.

        Nothing may happen any more, but it is not recorded yet.
        """

    # ---- streams of its own

    def save_streams(self) -> object:
        """Return what it knows about streams that it has open, as data that can be pickled.

        Streams are not part of the state, because time travel ends them. Views of the past
        need this data.
        """
        return None

    def load_streams(self, state: Any) -> None:
        """Restore what `save_streams` returned; None means that there are no streams."""

    # ---- state

    def save(self) -> Struct:
        """Return all changing state, not copied. It is encoded before anything else happens."""
        raise NotImplementedError

    def load(self, state: Any) -> None:
        """Restore a saved state."""
        raise NotImplementedError
