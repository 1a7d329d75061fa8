"""Finds the lines of a branch that contain a text, without reading every line.

Lines are searched in blocks of `BLOCK`. A full block has an index: checksums of the values in it. A
row of as many blocks has one, too; both take about 80 bytes per line. A text that contains a value,
such as `:"QX6R3V2HM5BH"`, is searched only in blocks that may have that value; any other text in
group blocks, at a fiftieth of the cost of reading lines. Indexes are built on first use and shared
by all readers of a run.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary
from zlib import crc32

from sim.kernel.branches import Branch, LinePosition
from sim.kernel.work import Work

BLOCK = 64  # lines
_READ_BYTES = 1 << 20  # read at once, unless a line is longer
# Values of a line that are indexed: texts without an escape, and numbers of streams.
_VALUE = re.compile(rb':"[^"\\]++"|"stream":\d++(?=[,}])')


class Lines(Protocol):
    """The source of lines: a journal, or the file of a finished run."""

    def line_at(self, position: LinePosition, /) -> bytes: ...


class _Index:
    """The sorted checksums of the values in each full block of a branch, and those in each full row
    of `BLOCK` blocks.
    """

    def __init__(self) -> None:
        self.blocks: list[array[int]] = []
        self.wide: list[array[int]] = []

    def grow(self, lines: Lines, branch: Branch) -> Work[None]:
        """Index every full block of the branch's own lines."""
        while (len(self.blocks) + 1) * BLOCK <= branch.seq - branch.from_seq:
            first = branch.from_seq + len(self.blocks) * BLOCK
            values: set[bytes] = set()
            for text, _ in texts_of(lines, branch, first, first + BLOCK):
                values.update(_VALUE.findall(text))
            self.blocks.append(array("I", sorted(set(map(crc32, values)))))
            if len(self.blocks) % BLOCK == 0:
                self.wide.append(array("I", sorted(set().union(*self.blocks[-BLOCK:]))))
            yield

    def choose(self, first: int, last: int, sought: Sequence[Sequence[int]]) -> Iterator[int]:
        """Yield the blocks in a range that may have all values of at least one of some texts."""
        block = first
        while block <= last:
            row = block // BLOCK
            end = min(last, (row + 1) * BLOCK - 1)
            if row >= len(self.wide) or _may_contain(self.wide[row], sought):
                for number in range(block, end + 1):
                    if number >= len(self.blocks) or _may_contain(self.blocks[number], sought):
                        yield number
            block = end + 1


_INDEXES: WeakKeyDictionary[Branch, _Index] = WeakKeyDictionary()


def prepare(lines: Lines, branch: Branch) -> Work[None]:
    """Build the indexes of a branch and of its ancestors, in small steps."""
    on: Branch | None = branch
    while on is not None:
        yield from _INDEXES.setdefault(on, _Index()).grow(lines, on)
        on = on.parent


def lines_with(
    lines: Lines,
    branch: Branch,
    texts: Sequence[bytes],
    after: int,
    until: int,
    *,
    backwards: bool = False,
) -> Iterator[bytes]:
    """Yield the lines of the inputs `after`+1 … `until` that contain one of the texts."""
    sought = [[crc32(value) for value in _VALUE.findall(text)] for text in texts]
    step = -1 if backwards else 1
    for on, first, last in branch.parts(after, until)[::step]:
        index = _INDEXES.setdefault(on, _Index())
        if all(sought):
            for _ in index.grow(lines, on):
                pass
        ends = (first - on.from_seq) // BLOCK, (last - on.from_seq - 1) // BLOCK
        for block in list(index.choose(*ends, sought))[::step]:
            begin = on.from_seq + block * BLOCK
            span = max(first, begin), min(last, begin + BLOCK)
            yield from list(_matching_lines(lines, on, *span, texts))[::step]


def _matching_lines(
    lines: Lines, branch: Branch, first: int, last: int, texts: Sequence[bytes]
) -> Iterator[bytes]:
    for group, sizes in texts_of(lines, branch, first, last):
        if any(text in group for text in texts):
            for start, size in sizes:
                line = group[start : start + size]
                if any(text in line for text in texts):
                    yield line


def texts_of(
    lines: Lines, branch: Branch, first: int, last: int
) -> Iterator[tuple[bytes, list[tuple[int, int]]]]:
    """Yield the lines `first`+1 … `last`, which must be a branch's own, in large groups.

    A group is a text, and the position of each line in it as (start, size). There may be a mark
    between two lines.
    """
    group: list[LinePosition] = []
    for position in branch.positions(first, last):
        if group and position.offset + position.size - group[0].offset > _READ_BYTES:
            yield _read(lines, group)
            group = []
        group.append(position)
    if group:
        yield _read(lines, group)


def _read(lines: Lines, group: list[LinePosition]) -> tuple[bytes, list[tuple[int, int]]]:
    begin = group[0].offset
    size = group[-1].offset + group[-1].size - begin
    text = lines.line_at(group[0]._replace(size=size))
    return text, [(position.offset - begin, position.size) for position in group]


def _may_contain(values: array[int], sought: Sequence[Sequence[int]]) -> bool:
    for some in sought:
        for value in some:
            index = bisect_left(values, value)
            if index == len(values) or values[index] != value:
                break
        else:
            return True
    return False
