"""`sim report`: a run as one file that can be viewed anywhere, without a network."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import mkstemp
from typing import NamedTuple

from msgspec import json

from sim.read.history.recorded import RecordedRun
from sim.read.replay import Divergence
from sim.read.report.contents import INPUTS, Contents
from sim.read.report.packing import Parts
from sim.read.report.page import write_foot, write_head


class ReportResult(NamedTuple):
    """A report that was written.

    It says at which line this version stops reproducing the run, if it does (the report says so,
    and has only rows from there on), and which data is missing.
    """

    difference: Divergence | None
    notices: list[str]


def write_report(
    recorded: RecordedRun, path: Path, step: Callable[[], None] = lambda: None, inputs: int = INPUTS
) -> ReportResult:
    """Write the report of a run. `step` is called after each of its `total` inputs.

    The last `inputs` of them have records and states. An existing file is replaced when the new one
    is complete. Raises UnreadableJournal or OSError.
    """
    header = recorded.header
    handle, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            write_head(file, f"{header.name}, seed {header.seed} · report of a run")
            parts = Parts(file)
            contents = Contents(recorded, parts, inputs)
            parts.add(json.encode(contents.write(step)), "run")
            write_foot(file)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return ReportResult(contents.difference, contents.notices())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
