"""The progress of a script, as snapshots store it. Indexes of steps count from 0."""

from __future__ import annotations

from msgspec import Struct, field

from sim.api.pipeline.inputs import Input, StepResult
from sim.kernel.instants import Instant


class StepUnderWay(Struct):
    """A step that has begun, with its remaining inputs. `at` is its instant, `seq` the input in
    which it began, `rejected` the reasons why the exchange rejected its orders or changes of
    orders. `fault` broke the connection of its call to `operation`, which ignored the names in
    `ignored`; `remedy` says what would have worked.
    """

    index: int
    at: Instant
    inputs: list[Input]
    seq: int = 0
    refusal: str = ""
    rejected: list[str] = field(default_factory=list)
    fault: str = ""
    operation: str = ""
    ignored: tuple[str, ...] = ()
    remedy: str = ""


class ScriptState(Struct):
    """The progress of a script: results so far, saved values, and unfinished steps.

    `waiting` is the index of the armed step (-1: none) and `late` the timer of its `within`.
    `queue` contains (index, instant, input that made it due) of due steps. `pending` contains the
    steps whose call has no answer yet, by the name of the answer.
    """

    results: list[StepResult] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    waiting: int = -1
    late: int = 0
    queue: list[tuple[int, Instant, int]] = field(default_factory=list)
    under_way: StepUnderWay | None = None
    pending: dict[str, StepUnderWay] = field(default_factory=dict)
