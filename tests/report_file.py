"""A report's file, unpacked as its page unpacks it."""

from __future__ import annotations

import gzip
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from msgspec import json

_PART = re.compile(rb'<script type="text/plain" id="(part-)?(\w+)">([^<]*)</script>')
_LISTS = ("events", "frames", "closed", "answered", "webhooks", "fired", "steps")
Rows = list[dict[str, Any]]


class ReportFile:
    """What a report holds, by branch and input."""

    def __init__(self, path: Path) -> None:
        self.html = path.read_bytes()
        packed = {name.decode(): text for _, name, text in _PART.findall(self.html)}
        texts = {name: gzip.decompress(b64decode(text)) for name, text in packed.items()}
        self.text = b"\n".join([self.html, *texts.values()]).decode()
        self.index: dict[str, Any] = json.decode(texts.pop("run"))
        self._parts = {int(number): json.decode(text) for number, text in texts.items()}
        self.branches = {row["name"]: row for row in self.index["branches"]}

    def position(self, branch: str, seq: int) -> int:
        row = self.branches[branch]
        while seq <= row["from_seq"] and row["parent"]:
            row = self.branches[row["parent"]]
        return int(row["first"] + seq - row["from_seq"] - 1)

    def _at(self, series: list[list[int]], position: int) -> list[Any]:
        """The part that has a position."""
        return list(self._parts[[part for first, part in series if first <= position][-1]])

    def row(self, branch: str, seq: int) -> dict[str, Any]:
        return self._only(self.index["rows"], self.position(branch, seq))

    def record(self, branch: str, seq: int) -> dict[str, Any]:
        return self._only(self.index["records"], self.position(branch, seq))

    def _only(self, series: list[list[int]], position: int) -> dict[str, Any]:
        (result,) = [row for row in self._at(series, position) if row["p"] == position]
        return {key: value for key, value in result.items() if key != "p"}

    def complete(self, branch: str, seq: int) -> dict[str, Any]:
        """A record as the page has it, without its causes, which it finds in the rows."""
        empty = {key: [] for key in _LISTS} | {"frames_sent": 0, "answer": None, "why": None}
        return empty | self.row(branch, seq) | self.record(branch, seq) | {"causes": None}

    def state(self, view: str, branch: str, seq: int) -> Rows:
        position = self.position(branch, seq)
        (_, total, rows), *changes = self._at(self.index["states"][view], position)
        assert total
        rows = list(rows)
        for at, _, splices in changes:
            for slot, removed, added in splices if at <= position else ():
                rows[slot : slot + removed] = added
        return rows
