"""The live stream: Server-Sent Events about the run (`GET /live`).

A reader is a position in the journal. Rows are read when its connection can take them, so nothing
is stored for it, however slow it is. A reader that falls far behind gets `behind` and is ended; it
can resume from its last row, or start again from the present.

| Event | Data |
|---|---|
| `row` | a row of history; its id, `branch:seq`, is where `Last-Event-ID` resumes |
| `clock` | `now`, `mode`, `next_due`, and the moment: `branch`, `seq`, `digest` |
| `script` | changed steps, as in `GET /script`, and `failed` |
| `jump` | `branch`, `seq` and `digest` after a reset, a rewind or a restore |
| `replay` | progress of the replay of a finished run: `inputs`, `of`; there are no rows meanwhile |
| `behind` | `branch` and `seq` of the last row; the last event |
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from msgspec import json

from sim.core.model.refusals import InvalidRequest
from sim.kernel.branches import Branch
from sim.kernel.instants import format_instant
from sim.run.actors.script.view import script_view
from sim.server.host import Host

# Rows by which a reader may be behind.
LAG_MAX = 5_000
_ROWS_PER_TURN = 100
# Interval of the comments that keep the connection alive.
_QUIET_S = 15.0


class LiveReader:
    """One reader of the live stream. Iterating yields bytes to send; `behind` says whether it has
    fallen too far behind, and `last_words` is what to send then.
    """

    def __init__(self, host: Host, last_id: str) -> None:
        self._host = host
        journal = host.simulation.journal
        self._branch: Branch = journal.branch
        self._seq = journal.seq
        self._jumps = host.jumps
        self._clock: object = None
        self._steps: list[dict[str, Any]] = []
        self._script: object = None
        self._replayed = False
        if last_id:
            self._branch, self._seq = self._place(last_id)

    def _place(self, text: str) -> tuple[Branch, int]:
        """The position of the last row that a reader got. InvalidRequest if it does not exist."""
        name, _, number = text.rpartition(":")
        branch = self._host.simulation.journal.branches.get(name)
        if branch is None or not number.isdecimal() or not number.isascii() or len(number) > 18:
            remedy = "send the id of the last row, such as main:12, or leave it out to start now"
            raise InvalidRequest(
                f"Last-Event-ID {text[:80]!r} is not a row of this run", remedy=remedy
            )
        if int(number) > branch.seq:
            raise InvalidRequest(f"{name} has the inputs 1..{branch.seq}, not {int(number)}")
        current = self._host.simulation.journal.branch
        # The row may be on a branch from which the present one was forked.
        on_the_way = current.seq >= int(number) and current.holder(int(number)) is branch
        if not on_the_way:
            self._jumps = -1  # the run has moved to another moment since then
        return (current if on_the_way else branch), int(number)

    @property
    def behind(self) -> bool:
        """Whether it has fallen too far behind."""
        return self._branch.seq - self._seq > LAG_MAX

    @property
    def last_words(self) -> bytes:
        """The event with which a slow reader is ended."""
        return _event("behind", {"branch": self._branch.name, "seq": self._seq})

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._host.watchers.watch() as changed:
            while True:
                changed.clear()
                for part in self._news():
                    yield part
                    await asyncio.sleep(0)  # yield after each piece
                if self._caught_up and not changed.is_set():
                    try:
                        await asyncio.wait_for(changed.wait(), _QUIET_S)
                    except TimeoutError:
                        yield b":\n\n"

    @property
    def _caught_up(self) -> bool:
        here = self._host.simulation.journal.branch
        return self._branch is here and self._seq >= here.seq and self._jumps == self._host.jumps

    def _news(self) -> list[bytes]:
        """The events since the last call, in pieces."""
        parts = []
        host, opened = self._host, self._host.opened
        if opened is not None and not self._replayed:
            self._branch, self._seq = self._journal_branch, self._host.simulation.seq
            self._jumps, self._replayed = self._host.jumps, opened.over
            parts.append(_event("replay", opened.progress()))
        branches = host.simulation.journal.branches
        # Of a run that was replaced (--watch)
        if branches.get(self._branch.name) is not self._branch:
            parts.append(self._jump())
        elif self._seq < self._branch.seq:
            parts.append(self._rows())
        elif self._jumps != self._host.jumps or self._branch is not self._journal_branch:
            parts.append(self._jump())
        if self._caught_up:
            parts += [*self._clock_news(), *self._script_news()]
        return parts

    @property
    def _journal_branch(self) -> Branch:
        return self._host.simulation.journal.branch

    def _rows(self) -> bytes:
        last = min(self._branch.seq, self._seq + _ROWS_PER_TURN)
        history = self._host.history
        new_rows = []
        for seq in range(self._seq + 1, last + 1):
            row = history.row(self._branch, seq)
            new_rows.append(_event("row", row, f"{row['branch']}:{seq}"))
        self._seq = last
        return b"".join(new_rows)

    def _jump(self) -> bytes:
        self._jumps, self._branch = self._host.jumps, self._journal_branch
        self._seq = self._branch.from_seq
        self._clock = None
        jump = self._host.last_jump
        if jump.get("branch") != self._branch.name:
            jump = {"branch": self._branch.name, "seq": self._seq, "digest": None}
        return _event("jump", jump)

    def _clock_news(self) -> list[bytes]:
        host, simulation = self._host, self._host.simulation
        clock = (simulation.now, str(host.driver.mode))
        if clock == self._clock:
            return []
        self._clock = clock
        due = simulation.next_due()
        data = {
            "now": format_instant(simulation.now),
            "mode": str(host.driver.mode),
            "next_due": format_instant(due) if due is not None else None,
            "branch": simulation.branch,
            "seq": simulation.seq,
            "digest": simulation.digest,
        }
        return [_event("clock", data)]

    def _script_news(self) -> list[bytes]:
        script = self._host.simulation.script
        progress = (self._branch.name, len(script.results))
        if progress == self._script:
            return []
        self._script = progress
        view = script_view(script)
        steps = view["steps"]
        before = self._steps if len(self._steps) == len(steps) else [{}] * len(steps)
        changed = [step for step, was in zip(steps, before, strict=True) if step != was]
        self._steps = steps
        return [_event("script", {"steps": changed, "failed": view["failed"]})] if changed else []


def _event(name: str, data: object, id: str = "") -> bytes:
    head = f"id: {id}\n" if id else ""
    return f"event: {name}\n{head}data: ".encode() + json.encode(data) + b"\n\n"
