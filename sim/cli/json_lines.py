"""Standard error as lines of JSON, for `--log-format json`, including messages before the exchange
serves and when it cannot.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from typing import TextIO

_ENTRY = '{"kind":'


def wants_json_lines(argv: Sequence[str]) -> bool:
    """Whether the command line, or else the environment, selects lines of JSON."""
    pairs = zip(argv, [*argv, ""][1:], strict=True)
    given_options = [f"{name}={value}" if name == "--log-format" else name for name, value in pairs]
    formats = [
        option.partition("=")[2] for option in given_options if option.startswith("--log-format=")
    ]
    return (formats or [os.environ.get("SIM_LOG_FORMAT", "")])[-1] == "json"


class JsonLines(io.TextIOBase):
    """Passes lines of JSON through, and makes an entry of kind `log` of every other line."""

    def __init__(self, target: TextIO) -> None:
        self._target = target
        self._begun = ""

    def write(self, text: str) -> int:
        """Write complete lines and keep the rest."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._write_line(line)
        return len(text)

    def _write_line(self, line: str) -> None:
        if not line.strip():
            return
        if not line.startswith(_ENTRY):
            level = "warning" if "warning: " in line else "error"
            entry = {"kind": "log", "level": level, "message": line}
            line = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
        self._target.write(line + "\n")

    def flush(self) -> None:
        """Write an incomplete line too."""
        if self._begun:
            self.write("\n")
        self._target.flush()

    def fileno(self) -> int:
        """The file descriptor of the output."""
        return self._target.fileno()

    def isatty(self) -> bool:
        """False, because the reader is a program."""
        return False
