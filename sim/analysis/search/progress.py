"""Progress of long work: a bar on a terminal, elsewhere a line at every tenth.

It goes to standard error, results never do. `rich` draws the bar and is imported only for it.
"""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

QUIET_BELOW = 20  # shorter work is not worth lines in a log
STEPS_A_LINE = 100  # where the total is unknown


class Progress:
    """Counts steps to `total`, which is 0 when nobody knows it. Use it in a `with` statement.

    `log` is false where results are printed as they come, so that a log needs no progress.
    """

    def __init__(self, stream: TextIO, total: int, unit: str, *, log: bool = True) -> None:
        self._stream = stream
        self._total = total
        self._unit = unit
        self._began = monotonic()
        self._tenth = 0
        self._log = log
        self._bar = _bar(stream, total, unit) if stream.isatty() else None
        self.done = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.clear()

    def step(self, note: str = "") -> None:
        """Count one more; `note` says something about all of them, such as "2 failed"."""
        self.done += 1
        if self._bar is not None:
            self._bar.start()
            self._bar.update(self._bar.task_ids[0], completed=self.done, note=note)
            self._bar.refresh()
        elif self._log and self._line_is_due():
            print(self._line(note), file=self._stream, flush=True)

    def _line_is_due(self) -> bool:
        if not self._total:
            return self.done % STEPS_A_LINE == 0
        before, self._tenth = self._tenth, self.done * 10 // self._total
        return self._tenth > before and self._total >= QUIET_BELOW

    def clear(self) -> None:
        """Erase the bar; the next step draws it again."""
        if self._bar is not None:
            self._bar.stop()

    def _line(self, note: str) -> str:
        said = f", {note}" if note else ""
        if not self._total:
            return f"{self.done} {self._unit}{said}"
        left = (monotonic() - self._began) / self.done * (self._total - self.done)
        time = f", about {left:.0f} s left" if left >= 1 else ""
        return f"{self.done} of {self._total} {self._unit}{said}{time}"


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
