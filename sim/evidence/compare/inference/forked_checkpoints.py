"""Runs work that stops at some of its steps and continues from there several times in different
ways.

At each place a forked copy of the process waits, and each continuation is a fork of that copy. So
nothing needs code to copy itself. If the system has no `fork`, or a process ends unexpectedly,
`ask` returns None and the caller does the work from its beginning.
"""

from __future__ import annotations

import gc
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeAlias, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

# The steps of some work, and the function that does the rest of it.
BegunWork: TypeAlias = tuple[Iterator[Any], Callable[[Asked], Answer]]


class ForkedCheckpoints(Generic[Asked, Answer]):
    """Processes that wait at places, each after so many steps, until they are asked to continue.

    `begin` begins the work. It is called in another process, and its result stays there; questions
    and answers are pickled.
    """

    def __init__(
        self, places: Sequence[int], begin: Callable[[], BegunWork[Asked, Answer]]
    ) -> None:
        self.places = sorted(places)
        self._ends: dict[int, Connection[Any, Any]] = {}
        self._child = 0
        if not hasattr(os, "fork"):
            return
        pipes = [Pipe() for _ in self.places]
        self._ends = {place: ours for place, (ours, _) in zip(self.places, pipes, strict=True)}
        theirs = {place: end for place, (_, end) in zip(self.places, pipes, strict=True)}
        self._child = _fork()
        if not self._child:
            _run_child(lambda: _stop_at(theirs, list(self._ends.values()), begin))
        for end in theirs.values():
            end.close()

    def ask(self, place: int, question: Asked) -> Answer | None:
        """Return the result of the work after a place; None if no process waits there."""
        end = self._ends.get(place)
        if end is None:
            return None
        try:
            end.send(question)
            answer: Answer = end.recv()
        except (EOFError, OSError):
            self._ends.pop(place).close()
            return None
        return answer

    def close(self) -> None:
        """End all processes."""
        for end in self._ends.values():
            end.close()
        self._ends.clear()
        if self._child:
            os.waitpid(self._child, 0)
        self._child = 0


def _fork() -> int:
    with warnings.catch_warnings():
        # The thread that draws progress is not copied, and no code here waits for it.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run_child(work: Callable[[], None]) -> None:
    """Run as a process of its own, which nothing of the copied one outlives."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        work()
    except BaseException:  # the caller of `ask` gets nothing and does the work itself
        os._exit(1)
    os._exit(0)


def _stop_at(
    theirs: dict[int, Connection[Any, Any]],
    others: list[Connection[Any, Any]],
    begin: Callable[[], BegunWork[Any, Any]],
) -> None:
    """Do the work, and leave a process at each place."""
    for end in others:
        end.close()
    gc.freeze()
    steps, finish = begin()
    done = 0
    for place in sorted(theirs):
        while done < place:
            next(steps)
            done += 1
        end = theirs.pop(place)
        if not _fork():
            for other in theirs.values():
                other.close()
            _run_child(partial(_answer_questions, end, finish))
        end.close()
    _await_all()


def _answer_questions(end: Connection[Any, Any], finish: Callable[[Any], Any]) -> None:
    """Answer each question from a fork, until the other side closes the pipe."""
    gc.freeze()
    while True:
        try:
            question = end.recv()
        except EOFError:
            return
        child = _fork()
        if not child:
            _run_child(partial(_answer, end, finish, question))
        os.waitpid(child, 0)


def _answer(end: Connection[Any, Any], finish: Callable[[Any], Any], question: Any) -> None:
    gc.disable()  # a collection would touch, and so copy, the memory shared with the parent
    end.send(finish(question))


def _await_all() -> None:
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return
