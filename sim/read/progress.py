"""Progress and interruption of long work, one mechanism for every command.

A stretch of long work is a `with Progress(total, unit)` statement that counts its steps. Progress
goes to standard error, results never do: as a bar on a terminal, elsewhere as a line at every tenth
and every half minute.

If the statement `keeps` partial results, Ctrl-C ends the statement and not the command: a line says
how far it came, the command continues with these results, and exits with the code of an interrupted
one. A second Ctrl-C ends the command. Only code below `reporting` shows progress, so calling these
functions from a program prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, TextIO, TypeVar

from sim.read.layout import put

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

T = TypeVar("T")

QUIET_BELOW = 20  # shorter work writes no lines to a log
QUIET_BELOW_LINES = 5_000  # of a file: about two seconds of replay
STEPS_A_LINE = 100  # if the total is unknown
LINE_EVERY_S = 30.0  # if a tenth takes longer
_DRAWN_EVERY_S = 0.1
_CHUNK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


class Interrupted(Exception):
    """A part of a command's work was interrupted; the text says how far it came.

    The command shows the results that it has without it.
    """


class Reporting:
    """The stream for progress, and whether any work was interrupted."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.interrupted = False


_reporting: ContextVar[Reporting | None] = ContextVar("reporting", default=None)


@contextmanager
def reporting(stream: TextIO) -> Iterator[Reporting]:
    """Show the progress of everything in this statement on a stream."""
    report = Reporting(stream)
    token = _reporting.set(report)
    try:
        yield report
    finally:
        _reporting.reset(token)


def was_interrupted() -> bool:
    """Return whether any work below `reporting` was interrupted."""
    report = _reporting.get()
    return report is not None and report.interrupted


class Progress:
    """Counts steps to `total`, which is 0 if it is unknown. Use it in a `with` statement.

    With `keeps`, an interrupt ends the statement and is not raised: `interrupted` tells. Without,
    it is raised with a note of how far the work came. `log` is false if results are printed as they
    come, so that a log needs no progress.
    """

    def __init__(
        self,
        total: int,
        unit: str,
        *,
        log: bool = True,
        keeps: bool = True,
        quiet_below: int = QUIET_BELOW,
    ) -> None:
        self._report = _reporting.get()
        self._total = total
        self._unit = unit
        self._keeps = keeps
        self._began = self._drawn = self._told = monotonic()
        self._tenth = 0
        self._log = log and total >= quiet_below if total else log
        self._bar: Bar | None = None
        if self._report is not None and self._report.stream.isatty():
            self._bar = _bar(self._report.stream, total, unit)
        self.done = 0
        self.interrupted = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        self.clear()
        if not isinstance(error, KeyboardInterrupt):
            return False
        if self._keeps:
            self.interrupt()
            return True
        error.add_note(f"after {self.summary}")
        return False

    @property
    def summary(self) -> str:
        """The progress in words, such as "37 of 100 runs"."""
        of = f" of {self._total:,}" if self._total else ""
        return f"{self.done:,}{of} {self._unit}"

    def interrupt(self) -> None:
        """Say that the work ends here and that the command continues with what there is."""
        self.interrupted = True
        if self._report is not None and not self._report.interrupted:
            self._report.interrupted = True
            put(
                f"sim: interrupted after {self.summary}; Ctrl-C again ends at once",
                file=self._report.stream,
                flush=True,
            )

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items. Each is a step, counted once the caller has finished with it."""
        for item in items:
            yield item
            self.step()

    def step(self, note: str = "") -> None:
        """Count a step. `note` describes all steps so far, such as "2 failed"."""
        self.done += 1
        if self._report is None:
            return
        if self._bar is not None:
            self._draw(self._bar, note)
        elif self._log and self._line_is_due(now := monotonic()):
            self._told = now
            put(self._line(note), file=self._report.stream, flush=True)

    def _draw(self, bar: Bar, note: str) -> None:
        now = monotonic()
        if self.done > 1 and now - self._drawn < _DRAWN_EVERY_S:
            return
        self._drawn = now
        bar.start()
        bar.update(bar.task_ids[0], completed=self.done, note=note)
        bar.refresh()

    def _line_is_due(self, now: float) -> bool:
        if not self._total:
            return self.done % STEPS_A_LINE == 0
        before, self._tenth = self._tenth, self.done * 10 // self._total
        return self._tenth > before or now - self._told >= LINE_EVERY_S

    def clear(self) -> None:
        """Erase the bar. The next step draws it again."""
        if self._bar is not None:
            self._bar.stop()
            self._drawn = 0.0

    def _line(self, note: str) -> str:
        suffix = f", {note}" if note else ""
        if not self._total:
            return f"{self.summary}{suffix}"
        left = (monotonic() - self._began) / self.done * (self._total - self.done)
        time = f", about {left:.0f} s left" if left >= 1 else ""
        return f"{self.summary}{suffix}{time}"


def reading(path: Path | str, *, keeps: bool = False) -> Progress:
    """Return the progress through the lines of a journal or recording."""
    unit = f"lines of {path}"
    return Progress(_lines_in(Path(path)), unit, keeps=keeps, quiet_below=QUIET_BELOW_LINES)


def _lines_in(path: Path) -> int:
    """Return the number of lines after the first; 0 if counting would require reading them all."""
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        if file.peek(2).startswith(_GZIP):
            return 0
        chunks = iter(lambda: file.read(_CHUNK_BYTES), b"")
        return max(0, sum(chunk.count(b"\n") for chunk in chunks) - 1)


def _bar(stream: TextIO, total: int, unit: str) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    count = MofNCompleteColumn() if total else TextColumn("{task.completed}")
    bar = Bar(
        count,
        TextColumn("{task.description} {task.fields[note]}", markup=False),
        BarColumn(),
        TimeRemainingColumn(),
        console=Console(file=stream),
        auto_refresh=False,
        transient=True,
    )
    bar.add_task(unit, total=total or None, note="")
    return bar
