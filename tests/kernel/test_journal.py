"""A journal in bytes: what each line holds, what the digest covers, how it is read again, and what
happens where the file fails.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from errno import EIO, ENOSPC
from hashlib import sha256
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, json, structs

from sim.kernel import journal_reader
from sim.kernel.journal import Header, Journal, JournalLost, Line, RunEnded, encode_header
from sim.kernel.journal_reader import NotAJournal, read_journal, read_line, unreadable

HEADER = Header(
    name="t", seed=7, start=5, scenario=Raw(b"{}"), scenario_digest="abc", libraries={"x": "1"}
)


def write(journal: Journal, number: int, **more: Any) -> bytes:
    """One record, recognisable by a number."""
    asked = {"timers": number, "cause": number // 2, "aside": b""} | more
    journal.append(number, b'{"in":%d}' % number, b'{"out":%d}' % number, after=number + 1, **asked)
    return journal.last_line


def chained(seed: int, *numbers: int) -> str:
    """The digest over some records, from its definition."""
    text = f"abc\n{seed}\n5\n".encode()
    for seq, number in enumerate(numbers, 1):
        text += b'{"seq":%d,"at":%d,"input":{"in":%d},"out":{"out":%d}' % (
            seq,
            number,
            number,
            number,
        )
    return sha256(text).hexdigest()


def numbers(lines: Iterator[bytes]) -> list[int]:
    return [read_line(line).at for line in lines]


# ---- what is written


def test_the_first_line_is_the_header_and_its_check_covers_the_rest_of_it() -> None:
    file = io.BytesIO()
    Journal(HEADER, file)
    (line,) = file.getvalue().splitlines(keepends=True)
    assert line.endswith(b"\n") and line == encode_header(HEADER) + b"\n"
    header = json.decode(line)
    assert (header["journal"], header["places"], header["settings"]) == (3, [], {})
    bare = json.encode(structs.replace(HEADER, check=""))
    assert header["check"] == f"{crc32(bare):08x}"
    again, lines = read_journal(io.BytesIO(file.getvalue()))
    assert (again.seed, again.start, again.libraries, list(lines)) == (7, 5, {"x": "1"}, [])


def test_a_record_has_number_instant_input_outcome_and_the_digest_after_it() -> None:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    assert (journal.digest, journal.file, journal.last_line) == (chained(7), file, b"")
    first = write(journal, 3)
    assert first == b'{"seq":1,"at":3,"input":{"in":3},"out":{"out":3},"digest":"%s"}\n' % (
        chained(7, 3)[:16].encode()
    )
    aside = b'"nonce"'
    second = write(journal, 4, aside=aside)
    assert second == (
        b'{"seq":2,"at":4,"input":{"in":4},"out":{"out":4},"aside":"nonce","check":"%08x",'
        b'"digest":"%s"}\n' % (crc32(aside), chained(7, 3, 4)[:16].encode())
    )
    assert journal.digest == chained(7, 3, 4), "what is aside is not in it"
    assert file.getvalue() == encode_header(HEADER) + b"\n" + first + second
    assert list(journal.lines()) == [first[:-1], second[:-1]]
    assert [index[2:] for index in journal.branch.positions(0, 2)] == [(4, 3, 1, 0), (5, 4, 2, 0)]
    assert (journal.seq, journal.last_line) == (2, second)
    journal.append(9, b"{}", b"{}", b"", 10)
    assert journal.branch.position(3)[2:] == (10, 0, 0, 0)


def test_a_mark_is_a_line_that_the_digest_does_not_cover() -> None:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    journal.mark("rewind", "3")
    assert file.getvalue().endswith(b'\n{"mark":"rewind","argument":"3"}\n')
    assert (journal.digest, journal.seq, list(journal.lines())) == (chained(7), 0, [])
    line = write(journal, 1)
    assert list(journal.lines()) == [line[:-1]]


def test_an_input_that_is_repeated_is_chained_and_not_written() -> None:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    start = journal.checkpoint()
    line = write(journal, 1)
    written, digest = file.getvalue(), journal.digest
    journal.resume(start)
    assert (journal.seq, journal.digest) == (0, chained(7))
    journal.shadow = True
    write(journal, 1)
    assert (journal.seq, journal.digest, file.getvalue()) == (1, digest, written)
    assert (journal.branch.seq, journal.last_line) == (1, line)


# ---- branches


def test_a_rewound_journal_goes_on_with_the_digest_that_was_there() -> None:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    write(journal, 1)
    there = journal.checkpoint()
    write(journal, 2)
    write(journal, 3)
    end = journal.checkpoint()
    journal.resume(there)
    journal.branch_off("rewind")
    assert journal.branch.name == "branch-1" and journal.digest == chained(7, 1)
    write(journal, 4)
    assert journal.digest == chained(7, 1, 4)
    assert numbers(journal.lines()) == [1, 4]
    main = journal.branches["main"]
    assert numbers(journal.lines(branch=main)) == [1, 2, 3]
    assert numbers(journal.lines(1, 99, main)) == [2, 3]
    assert numbers(journal.lines(1, 2, main)) == numbers(journal.lines(1, 2, branch=main)) == [2]
    assert numbers(journal.lines(1)) == [4] and numbers(journal.lines(0, 1)) == [1]
    assert (journal.seq_at(1), journal.seq_at(2), journal.seq_at(4), journal.seq_at(5)) == (
        0,
        1,
        1,
        2,
    )
    assert [journal.on_branch(at) for at in (there, end, journal.checkpoint())] == [
        True,
        False,
        True,
    ]
    assert [journal.on_branch(at, main) for at in (there, end, journal.checkpoint())] == [
        True,
        True,
        False,
    ]
    journal.resume(end)
    assert (journal.seq, journal.branch, journal.digest) == (3, main, chained(7, 1, 2, 3))


def test_starts_are_the_same_where_their_seeds_are() -> None:
    journal = Journal(HEADER)
    first = journal.checkpoint()
    write(journal, 1)
    item = journal.checkpoint()
    journal.restart(8)
    assert (journal.seq, journal.digest, journal.branch.begun) == (0, chained(8), "reset")
    eighth = journal.checkpoint()
    write(journal, 2)
    assert [journal.on_branch(at) for at in (first, item, eighth)] == [False, False, True]
    journal.restart(7)
    assert journal.digest == chained(7)
    assert [journal.on_branch(at) for at in (first, item, eighth)] == [True, False, False]
    assert not journal.on_branch(first._replace(branch="nowhere"))
    assert [branch.begun for branch in journal.branches.values()] == ["start", "reset", "reset"]
    journal.stand_at_start(journal.branches["branch-1"])
    assert (journal.seq, journal.branch.name, journal.digest) == (0, "branch-1", chained(8))


def test_a_shorter_moment_of_a_branch_counts_only_its_own_lines() -> None:
    """During a rewind to the middle of a branch, later inputs do not exist yet."""
    journal = Journal(HEADER)
    write(journal, 1)
    there = journal.checkpoint()
    write(journal, 2)
    journal.resume(there)
    assert (journal.seq_at(99), numbers(journal.lines())) == (1, [1])


# ---- forks, copies along a branch, views


@pytest.mark.parametrize("copied", [False, True])
def test_a_fork_goes_on_by_itself_and_has_everything_so_far(
    monkeypatch: pytest.MonkeyPatch, copied: bool
) -> None:
    monkeypatch.setattr("sim.kernel.journal._COPY_BYTES", 100)
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    write(journal, 1)
    there = journal.checkpoint()
    write(journal, 2)
    journal.resume(there)
    journal.branch_off("rewind")
    write(journal, 3)
    heard: list[BaseException] = []
    journal.set_end_listener(heard.append)
    before = file.getvalue()
    other = io.BytesIO() if copied else None
    fork = journal.fork(other)
    if other is not None:
        assert other.getvalue() == before
    write(journal, 4)
    line = write(fork, 5)
    assert (numbers(journal.lines()), numbers(fork.lines())) == ([1, 3, 4], [1, 3, 5])
    assert (journal.digest, fork.digest) == (chained(7, 1, 3, 4), chained(7, 1, 3, 5))
    assert numbers(fork.lines(branch=fork.branches["main"])) == [1, 2]
    assert fork.branches["branch-1"].parent is fork.branches["main"]
    assert journal.branches["branch-1"].seq == fork.branches["branch-1"].seq == 3
    assert journal.branches["branch-1"] is journal.branch is not fork.branch
    twice = fork.fork()
    write(twice, 6)
    assert numbers(twice.lines()) == [1, 3, 5, 6]
    everything = fork._read(0, fork._end)
    assert everything == before + line
    for cut in range(0, len(everything) - 90, 7):  # wherever a read begins and ends
        assert fork._read(cut, 90) == everything[cut : cut + 90]
    assert twice._read(0, fork._end) == everything
    fork.end(ValueError())
    assert (journal.ended, heard) == (None, [])
    journal.check_open()


def test_a_journal_along_a_branch_replays_to_the_same_digest() -> None:
    journal = Journal(HEADER)
    journal.branch.timers = 2
    write(journal, 3)
    journal.restart(8)
    journal.branch.timers = 5
    for number in (6, 7, 8):
        write(journal, number)
    there = journal.checkpoint()._replace(seq=2)
    journal.branch_off("snapshot")
    write(journal, 9)
    on = journal.branch
    file = io.BytesIO()
    along = journal.along(on, file)
    assert (along.seq, along.digest, along.branch.timers) == (4, journal.digest, 5)
    assert numbers(along.lines()) == [6, 7, 8, 9]
    assert list(along.lines()) == list(journal.lines())
    assert [*along.branch.positions(0, 4)] != [*journal.branch.positions(0, 4)]
    assert [position[1:] for position in along.branch.positions(0, 4)] == [
        position[1:] for position in journal.branch.positions(0, 4)
    ]
    lines = [read_line(line) for line in file.getvalue().splitlines()[1:]]
    assert [(line.mark, line.argument, line.seq) for line in lines] == [
        ("reset", "8", 0),
        ("", "", 1),
        ("", "", 2),
        ("", "", 3),
        ("fork", "branch-2", 0),
        ("", "", 4),
    ]
    assert [branch.begun for branch in along.branches.values()] == ["start", "reset", "fork"]
    journal.seq = there.seq
    short = io.BytesIO()
    journal.along(on, short)
    assert short.getvalue().count(b"\n") == 4, "header, reset, and two inputs"
    plain = io.BytesIO()
    journal.stand_at_start(journal.branches["main"])
    journal.seq = 1
    journal.along(journal.branches["main"], plain)
    assert b"mark" not in plain.getvalue()


def test_a_view_goes_anywhere_and_writes_nothing() -> None:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    there = journal.checkpoint()
    write(journal, 1)
    write(journal, 2)
    heard: list[BaseException] = []
    journal.set_end_listener(heard.append)
    view = journal.view()
    written = file.getvalue()
    assert numbers(view.lines()) == [1, 2]
    view.resume(there)
    write(view, 1)
    assert (view.seq, view.digest, journal.seq) == (1, chained(7, 1), 2)
    assert file.getvalue() == written
    write(journal, 3)
    assert numbers(view.lines(0, 9, view.branch)) == [1, 2, 3], "lines come while one looks"
    view.end(ValueError())
    assert (journal.ended, heard) == (None, [])
    journal.end(KeyError())
    assert journal.view().ended is None


# ---- a run that ends early


def test_an_ended_journal_takes_no_more_and_keeps_its_first_cause() -> None:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    write(journal, 1)
    heard: list[BaseException] = []
    journal.set_end_listener(heard.append)
    journal.check_open()
    cause = ValueError("first")
    journal.end(cause)
    journal.end(KeyError("second"))
    assert (journal.ended, heard) == (cause, [cause])
    with pytest.raises(RunEnded, match=r"^this run has ended early$") as error:
        journal.check_open()
    assert error.value.__cause__ is cause
    written = file.getvalue()
    for attempt in (lambda: write(journal, 2), lambda: journal.mark("reset", "1")):
        with pytest.raises(RunEnded):
            attempt()
    assert file.getvalue() == written
    assert numbers(journal.lines(0, 1)) == [1]


class Broken(io.BytesIO):
    """A file that fails on demand."""

    failing: dict[str, BaseException] = {}

    def write(self, line: Any, /) -> int:
        self.fail("write")
        return super().write(line)

    def read(self, size: int | None = -1, /) -> bytes:
        self.fail("read")
        return super().read(size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self.fail("seek")
        return super().seek(offset, whence)

    def fail(self, name: str) -> None:
        if name in self.failing:
            raise self.failing[name]


def broken(**failing: BaseException) -> tuple[Journal, Broken]:
    file = Broken()
    journal = Journal(HEADER, file)
    write(journal, 1)
    file.failing = failing
    return journal, file


def test_a_full_disk_is_a_lost_journal() -> None:
    journal, _ = broken(write=OSError(ENOSPC, "no space left"))
    end = journal._end
    with pytest.raises(JournalLost, match="no space left") as error:
        write(journal, 2)
    assert error.value.errno == ENOSPC and journal._end == end
    assert unreadable(error.value) == "no space left"


def test_a_write_that_was_interrupted_ends_the_run() -> None:
    journal, _ = broken(write=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        write(journal, 2)
    assert isinstance(journal.ended, KeyboardInterrupt)


def test_a_journal_that_cannot_be_read_ends_the_run_and_stands_at_its_end() -> None:
    journal, file = broken(read=OSError(EIO, "bad sector"))
    with pytest.raises(JournalLost, match="bad sector"):
        list(journal.lines())
    assert isinstance(journal.ended, JournalLost) and file.tell() == len(file.getvalue())


def test_a_journal_that_was_truncated_ends_the_run() -> None:
    journal, file = broken()
    file.truncate(len(file.getvalue()) - 5)
    with pytest.raises(JournalLost, match="truncated by another process") as error:
        list(journal.lines())
    assert error.value.errno == EIO and journal.ended is error.value


def test_a_position_that_is_unknown_ends_the_run() -> None:
    journal, _ = broken(seek=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        list(journal.lines())
    assert isinstance(journal.ended, KeyboardInterrupt)


def test_a_line_that_was_read_is_not_returned_where_the_end_cannot_be_found_again() -> None:
    journal, file = broken()
    seeks: list[int] = []
    seek = file.seek

    def fail_later(offset: int, whence: int = 0, /) -> int:
        seeks.append(offset)
        if len(seeks) > 1:
            raise KeyboardInterrupt
        return seek(offset, whence)

    file.seek = fail_later  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        next(journal.lines())
    assert isinstance(journal.ended, KeyboardInterrupt)


def test_reading_between_writes_leaves_the_place_to_write_at_the_end() -> None:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    for number in (1, 2, 3):
        write(journal, number)
        next(journal.lines())
    assert numbers(iter(file.getvalue().splitlines()[1:])) == [1, 2, 3]
    fork = journal.fork()
    write(fork, 4)
    list(fork.lines())
    write(fork, 5)
    assert numbers(fork.lines()) == [1, 2, 3, 4, 5]


# ---- reading


def written(*numbers: int) -> bytes:
    file = io.BytesIO()
    journal = Journal(HEADER, file)
    for number in numbers:
        write(journal, number)
    return file.getvalue()


@given(st.lists(st.integers(0, 9), max_size=3), st.integers(0, 400))
def test_of_a_torn_journal_its_whole_lines_are_left(some: list[int], cut: int) -> None:
    total = written(*some)
    head = total.index(b"\n") + 1
    torn = total[: max(head, len(total) - cut)]
    _, lines = read_journal(io.BytesIO(torn))
    assert [(number, line) for number, line in lines] == [
        (number, line) for number, line in enumerate(torn[: torn.rindex(b"\n")].split(b"\n"), 1)
    ][1:]


@pytest.mark.parametrize("cut", [0, 1, 9, 30])
def test_a_compressed_journal_is_read_as_far_as_it_goes(cut: int) -> None:
    plain = written(*range(50))
    packed = gzip.compress(plain)
    file = io.BufferedReader(io.BytesIO(packed[: len(packed) - cut]))  # type: ignore[arg-type]
    header, lines = read_journal(file)
    results = [line for _, line in lines]
    assert header.seed == 7
    assert results == plain.splitlines()[1 : 1 + len(results)]
    assert len(results) == 50 if not cut else 0 <= len(results) < 51
    plain_file = io.BufferedReader(io.BytesIO(plain))  # type: ignore[arg-type]
    assert len(list(read_journal(plain_file)[1])) == 50


def reason(text: bytes) -> str:
    with pytest.raises(NotAJournal) as error:
        list(read_journal(io.BytesIO(text))[1])
    return f"{error.value.line}: {error.value}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "1: the file is empty"),
        (
            b"name: x\n",
            "1: this is not a journal but a scenario, by its first line: `sim run SCENARIO"
            " --journal DIR` runs it and writes its journal",
        ),
        (b"# a comment\n", "1: this is not a journal but a scenario"),
        (b"---\n", "1: this is not a journal but a scenario"),
        (b"steps:\n", "1: this is not a journal but a scenario"),
        (
            b"hello\n",
            "1: line 1 is not a journal header: it begins with 'hello'; `--journal` of serve, run"
            " and demo writes journals",
        ),
        (b"Name: x\n", "1: line 1 is not a journal header: it begins with 'Name: x'"),
        (
            b"#\xff\n",
            "1: line 1 is not a journal header: it begins with '#\N{REPLACEMENT CHARACTER}'",
        ),
        (b"x" * 300, f"1: line 1 is not a journal header: it begins with '{'x' * 40}'; "),
        (b'{"a":1}\n', "1: line 1 is not a journal header: Object missing required field `name`"),
        (b'{"a":1', "1: line 1 is not a journal header: Input data was truncated"),
        (b'{"journal":3,"na', "1: the journal ends within its first line, so the run is lost"),
        (b'{"journal":3}\n', "1: line 1 is not a journal header: Object missing required field"),
        (b'{"journal":3}', "1: line 1 is not a journal header: Object missing required field"),
        (b'{"journal":3,,}\n', "1: line 1 is not a journal header: JSON is malformed"),
        (b'{"journal":1}\n', "1: journal format 1 is not the one this version reads (3)"),
        (
            written().replace(b"\n", b"\r\n"),
            "1: its lines end in CR LF: a program has rewritten the journal, so its digests no"
            " longer match; use the original",
        ),
        (written(1) + b"{\n", "3: not a journal record: Input data was truncated"),
        (written(1) + b'{"at":"\xff"}\n', "3: not a journal record: 'utf-8' codec"),
        (written()[:-2] + b',"more":"\xff"}\n', "1: line 1 is not a journal header: 'utf-8'"),
        (
            encode_header(structs.replace(HEADER, scenario=Raw(b'{"a":"?"}')))
            .replace(b'"journal":3,', b"")
            .replace(b"?", b"\xff")
            + b"\n",
            "1: line 1 is not a journal header: 'utf-8'",
        ),
        (written() + b"[" * 100_000 + b"\n", "2: not a journal record: "),
    ],
)
def test_what_is_no_journal_is_refused_with_its_line_and_reason(text: bytes, message: str) -> None:
    assert reason(text).startswith(message)


def test_a_line_has_a_longest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(1, 2)
    header, first, _ = text.splitlines(keepends=True)
    longest = max(len(header), len(first))
    monkeypatch.setattr(journal_reader, "LINE_MAX", longest)
    assert len(list(read_journal(io.BytesIO(text))[1])) == 2
    long = written()[:-1] + b" " * longest + b"\n"
    assert reason(long) == f"1: the line has more than {longest} bytes"
    padded = text + b" " * (longest + 1) + b"\n"
    assert reason(padded) == f"4: the line has more than {longest} bytes"
    monkeypatch.setattr(journal_reader, "LINE_MAX", len(header))
    assert len(list(read_journal(io.BytesIO(header))[1])) == 0
    monkeypatch.setattr(journal_reader, "LINE_MAX", len(header) - 1)
    assert reason(header) == f"1: the line has more than {len(header) - 1} bytes"
    monkeypatch.undo()
    assert journal_reader.LINE_MAX == 256 * 1024 * 1024


def test_errors_of_the_system_are_told_in_its_words() -> None:
    assert unreadable(OSError(EIO, "bad sector")) == "bad sector"
    assert unreadable(OSError("by itself")) == "by itself"
    assert unreadable(NotAJournal("the file is empty")) == "the file is empty"
    assert NotAJournal("x").line == 1


def test_defaults_of_a_line_stand_for_what_it_leaves_out() -> None:
    assert read_line(b"{}") == Line(
        seq=0, at=0, input=Raw(b""), out=Raw(b""), aside=Raw(b""), check="", digest="", mark=""
    )
    assert json.encode(Line()) == b"{}"
