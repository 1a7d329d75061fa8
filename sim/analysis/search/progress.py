"""How far long work is: one line that renews itself on a terminal, elsewhere a line at every tenth."""

from __future__ import annotations

from time import monotonic
from typing import TextIO


class Progress:
    """Counts to `total` (0: nobody knows how far) on a stream, usually standard error. Results
    never go there.
    """

    def __init__(self, stream: TextIO, total: int, what: str) -> None:
        self._stream = stream
        self._total = total
        self._what = what
        self._began = monotonic()
        self._live = stream.isatty()
        self._told = 0
        self.done = 0

    def step(self, note: str = "") -> None:
        """One more is done; `note` says something about all of them, such as "2 failed"."""
        self.done += 1
        tenth = self.done * 10 // self._total if self._total else 0
        if self._live:
            print(f"\r\x1b[K{self._line(note)}", end="", file=self._stream, flush=True)
        elif (tenth > self._told and self._total >= 20) or (
            not self._total and self.done % 500 == 0
        ):
            self._told = tenth
            print(self._line(note), file=self._stream, flush=True)

    def end(self) -> None:
        """Leave a clean line."""
        if self._live:
            print("\r\x1b[K", end="", file=self._stream, flush=True)

    def _line(self, note: str) -> str:
        if not self._total:
            return f"{self.done} {self._what}" + (f", {note}" if note else "")
        spent = monotonic() - self._began
        left = spent / self.done * (self._total - self.done)
        return (
            f"{self.done} of {self._total} {self._what}"
            + (f", {note}" if note else "")
            + (f", about {left:.0f} s left" if left >= 1 else "")
        )
