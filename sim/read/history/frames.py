"""The last frames of a stream up to a moment, whether it is still open or has ended."""

from __future__ import annotations

from collections import deque
from typing import Any

from sim.api.pipeline.inputs import Outcome, Send
from sim.core.model.refusals import NotFound
from sim.kernel.branches import Branch
from sim.kernel.instants import format_instant
from sim.read.history.moments import Moments
from sim.read.history.records import frame_body, operations
from sim.read.history.work import Work
from sim.run.simulation import Simulation

FRAMES_MAX = 50
# The number of inputs that are repeated to obtain frames, of which the journal holds only counts.
INPUTS_MAX = 500


def last_frames(moments: Moments, branch: Branch, seq: int, stream: int) -> Work[dict[str, Any]]:
    """Return the latest frames, oldest first, and whether the stream is open at the moment.

    Covers the inputs after `after`. Refused as not found if the stream was open at none of them.
    """
    after = max(0, seq - INPUTS_MAX)
    before = yield from moments.at(branch, after)
    operation = operations(before).get(stream)
    frames: deque[dict[str, Any]] = deque(maxlen=FRAMES_MAX)

    def on_input(sim: Simulation, outcome: Outcome) -> None:
        nonlocal operation
        operation = operation or operations(sim).get(stream)
        for effect in outcome.effects:
            if isinstance(effect, Send) and effect.stream == stream and operation is not None:
                body = frame_body(operation, effect.frame)
                frames.append({"seq": sim.seq, "at": format_instant(sim.now), "body": body})

    replica = yield from moments.walk(branch, after, seq, on_input)
    if operation is None:
        message = f"stream {stream} was not open at input {seq}, nor in the {seq - after} before"
        raise NotFound(message, rule="T1", remedy="GET /_sim/v1/history?kind=stream lists them")
    is_open = stream in operations(replica)
    return {"frames": list(frames), "after": after, "open": is_open}
