"""The end of serving: by a signal, or because the run cannot continue."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from sim.kernel.journal import JournalLost
from sim.server.console import Console
from sim.server.platforms import on_signal

INTERRUPTED, UNWRITABLE, INTERNAL_ERROR = 130, 2, 5


class Shutdown:
    """The end of serving. `code` is the exit code once it is known, `message` the message
    for the user.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.code: asyncio.Future[int] = self._loop.create_future()
        self.message = ""

    def on_signals(self, console: Console) -> None:
        """End at SIGINT, SIGTERM and SIGHUP; a second SIGINT kills the process."""
        on_signal(self._loop, "SIGINT", self._interrupt, console)
        # The last two are sent when a terminal closes
        for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
            on_signal(self._loop, name, self._end, 0)

    def run_ended(self, journal: Path | None, cause: BaseException) -> None:
        """End because a run has ended: no answer may be sent that its journal does not contain."""
        where = f"{journal}: " if journal is not None else ""
        if isinstance(cause, JournalLost):
            where = where or f"the journal, a temporary file in {tempfile.gettempdir()}: "
            ends = "the journal cannot be written any further, so this exchange stops"
            self._end(UNWRITABLE, f"{where}{cause.strerror}: {ends}")
            return
        error = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        self._end(
            INTERNAL_ERROR,
            f"{where}internal error: {error}: this exchange stops. The input that failed has no"
            " effect; it is the last line of the journal, which contains every input. This is a bug"
            " of the sandbox: please report it with the journal",
        )

    def _interrupt(self, console: Console) -> None:
        if self.code.done():
            os._exit(INTERRUPTED)
        self._end(INTERRUPTED)
        console.say("stopping; interrupt again to stop at once", error=True, level="info")

    def _end(self, code: int, message: str = "") -> None:
        if not self.code.done():
            self.code.set_result(code)
            self.message = message
