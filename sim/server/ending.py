"""How serving ends: a signal, or a run that cannot go on."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from sim.kernel.journal import JournalLost
from sim.server.console import Console
from sim.server.platforms import on_signal

INTERRUPTED, UNWRITABLE, INTERNAL_ERROR = 130, 2, 5


class Ending:
    """How serving ends: `code` is the exit code once that is known, `says` what the user reads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.code: asyncio.Future[int] = self._loop.create_future()
        self.says = ""

    def on_signals(self, console: Console) -> None:
        """End at SIGINT, SIGTERM and SIGHUP; a second SIGINT kills the process."""
        on_signal(self._loop, "SIGINT", self._interrupt, console)
        for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):  # the last two: a terminal that closes
            on_signal(self._loop, name, self._end, 0)

    def run_ended(self, journal: Path | None, cause: BaseException) -> None:
        """End because a run has: nothing may be answered that its journal does not hold."""
        where = f"{journal}: " if journal is not None else ""
        if isinstance(cause, JournalLost):
            where = where or f"the journal, a temporary file in {tempfile.gettempdir()}: "
            ends = "the journal ends here, so this exchange stops"
            self._end(UNWRITABLE, f"{where}{cause.strerror}: {ends}")
            return
        error = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        self._end(
            INTERNAL_ERROR,
            f"{where}internal error: {error}: this exchange stops. The input that failed was not"
            " carried out; the journal holds every one before it. This is a mistake of the"
            " sandbox: please report it with the journal",
        )

    def _interrupt(self, console: Console) -> None:
        if self.code.done():
            os._exit(INTERRUPTED)
        self._end(INTERRUPTED)
        console.say("stopping; once more to kill", error=True, level="info")

    def _end(self, code: int, says: str = "") -> None:
        if not self.code.done():
            self.code.set_result(code)
            self.says = says
