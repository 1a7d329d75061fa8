"""What the searches with mutants have in common: a time limit, a finding, and the command line."""

from __future__ import annotations

import argparse
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_FILES_EACH = 2  # findings of one place that are written to files


class Slow(BaseException):
    """A mutant that takes longer than anybody waits; no handler of the simulator takes it."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Slow, after so many seconds; only where signals can be had."""

    def end(*_: object) -> None:
        raise Slow(f"more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Finding(NamedTuple):
    """A mutant with which something ended as it must not: how, where, and the mutant."""

    subject: str
    where: str
    source: str

    @classmethod
    def of(cls, error: BaseException, source: str) -> Finding:
        """The finding of an error, at the last line of ours."""
        frames = traceback.extract_tb(error.__traceback__)
        last = next((frame for frame in reversed(frames) if "/sim/" in frame.filename), frames[-1])
        where = f"{Path(last.filename).name}:{last.lineno} {last.name}"
        return cls(f"{type(error).__name__}: {error}"[:400], where, source)


# The verdicts on so many mutants of a seed, and what is wrong; until an instant, 0 for none.
Search = Callable[[int, int, float], Iterator[tuple[str, Finding | None]]]


def run_search(search: Search, about: str | None, count: int, ending: str) -> int:
    """Search as the command line says, and print each finding; return 1 if there is any."""
    parser = argparse.ArgumentParser(description=about, allow_abbrev=False)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long")
    args = parser.parse_args()
    stop = time.monotonic() + 60 * args.minutes if args.minutes else 0
    verdicts: Counter[str] = Counter()
    places: Counter[str] = Counter()
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    for verdict, finding in search(args.count, args.seed, stop):
        verdicts[verdict] += 1
        if finding is not None:
            places[finding.where] += 1
            if places[finding.where] <= _FILES_EACH:
                path = folder / f"{places.total()}{ending}"
                path.write_text(finding.source, "utf-8", "surrogatepass")
                print(f"{finding.where}: {finding.subject}\n  {path}", flush=True)
    print(f"seed {args.seed}: {dict(verdicts)}; {dict(places)}")
    return 1 if places else 0
