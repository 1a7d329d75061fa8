"""How far a script is: everything that a snapshot keeps of it. Indexes of steps count from 0."""

from __future__ import annotations

from msgspec import Struct, field

from sim.api.pipeline.inputs import Input, StepResult
from sim.kernel.instants import Instant


class StepUnderWay(Struct):
    """A step that has begun, with what it has yet to do. `at` is its moment, `seq` the input in
    which it began, `rejected` why the exchange rejected orders or changes that it sent.
    """

    index: int
    at: Instant
    inputs: list[Input]
    seq: int = 0
    refusal: str = ""
    rejected: list[str] = field(default_factory=list)


class ScriptState(Struct):
    """How far a script is: results so far, values that steps saved, and steps under way.

    `waiting` is the index of the armed step (-1: none) and `late` the timer that ends its patience.
    `queue` holds (index, moment, input that brought it) of steps whose moment has come. `pending`
    holds (index, moment, fault on the connection) of steps whose call has no answer yet, by the
    name of the answer.
    """

    results: list[StepResult] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    waiting: int = -1
    late: int = 0
    queue: list[tuple[int, Instant, int]] = field(default_factory=list)
    under_way: StepUnderWay | None = None
    pending: dict[str, tuple[int, Instant, str]] = field(default_factory=dict)
