"""Log lines of the process, as text or as JSON objects. They are about the process; the journal
records what the exchange does.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from errno import EMFILE, ENFILE
from typing import Any

from sim.kernel.journal import RunEnded
from sim.read.layout import visible

NO_MEMORY = "this process has no memory left for the request"
_NO_DESCRIPTORS = "this process has no file descriptors left for the request"

_log = logging.getLogger("sim.server")


def stamped(kind: str, level: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a JSON line: its kind and level, and wall time in UTC."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    return {"kind": kind, "level": level, "time": f"{now}Z", **fields}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(stamped("log", record.levelname.lower(), fields))


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        lines = [f"{record.levelname} {record.name}: {record.getMessage()}"]
        if record.exc_info:
            lines += self.formatException(record.exc_info).split("\n")
        return "\n".join(map(visible, lines))


def set_up_logging(form: str) -> None:
    """Log warnings and errors to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def lacking(error: BaseException | None) -> str:
    """Return what the process has too little of, if that is why it failed; else an empty text."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, OSError) and error.errno in (EMFILE, ENFILE):
        return _NO_DESCRIPTORS
    return ""


def log_failure(error: BaseException, failed: str, *names: object) -> None:
    """Log that something failed: `failed` is a format for `names`.

    A failure that may be a bug has a traceback. A full disk or another error of the system has
    none. After the end of a run nothing is logged, because the server says why it stops.
    """
    if isinstance(error, RunEnded):
        return
    trace = None if lacking(error) or isinstance(error, OSError) else error
    _log.error(f"{failed}: %s", *names, lacking(error) or error, exc_info=trace)
