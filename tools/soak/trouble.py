"""Resource failures under load: no memory, a full disk, no file descriptors, a wall clock that
jumps.

`python -m tools.soak.trouble --rounds 40` (`make soak`). In a round, three clients
place orders, and one resource fails after a number of answers that the seed determines. The process
either stops with a documented exit code, or continues and answers again once the failure is over.
In both cases its journal replays to an exchange that has every acknowledged order.
"""

from __future__ import annotations

import argparse
import re
import resource
import signal
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tools.soak.load import PATIENCE_S, SURFACES, Load, Server, lost_orders

_MEBIBYTE = 1 << 20
# Permitted exit codes of `sim serve`: it received a signal, the journal cannot be written, or an
# internal error. Without memory, native code may abort as well.
EXIT_CODES = {0, 2, 5}
ABORTS = {-signal.SIGABRT, -signal.SIGBUS, -signal.SIGSEGV}

# Adds the offset in a file, in nanoseconds, to `time.time` and `time.time_ns`.
CLOCK_STEPS = """
import sys, time

real, file = time.time_ns, open(sys.argv.pop(1), "rb", buffering=0)

def stepped():  # one descriptor for all: another trouble takes them away
    file.seek(0)
    return real() + int(file.read(30) or 0)

time.time_ns, time.time = stepped, lambda: stepped() / 1e9
from sim.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class FragileServer(Server):
    """A served exchange whose resources can be made to fail."""

    def __init__(self, folder: Path) -> None:
        self.steps = folder / "steps"
        self.steps.write_text("0")
        super().__init__(folder, "-c", CLOCK_STEPS, str(self.steps))

    def limit(self, kind: int, soft: int) -> None:
        """Set a resource limit of the process."""
        with suppress(ProcessLookupError):
            _, hard = resource.prlimit(self.process.pid, kind)
            resource.prlimit(self.process.pid, kind, (soft, hard))

    def status(self, name: str) -> int:
        """Return a value of the process's status, in KiB."""
        with suppress(OSError):
            text = Path(f"/proc/{self.process.pid}/status").read_text()
            return int(re.findall(rf"{name}:\s+(\d+)", text)[0])
        return 0

    def descriptors(self) -> int:
        """Return the number of open file descriptors."""
        with suppress(OSError):
            return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))
        return 0

    def control(self, verb: str, path: str, body: bytes | None = None) -> int:
        """Make a control call; return its status, or 0 if there was no answer."""
        url = f"{self.ready['control']}/_sim/v1{path}"
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, body, method=verb), timeout=10
            ) as answer:
                answer.read()
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code
        except (OSError, ValueError, EOFError):
            return 0


@contextmanager
def no_memory(server: FragileServer, random: Random) -> Iterator[None]:
    """Allow little more memory than the process uses; then a client requests much."""
    room = random.choice((0, 1, 2, 4, 8, 16)) * _MEBIBYTE
    server.limit(resource.RLIMIT_AS, server.status("VmSize") * 1024 + room)
    for _ in range(6):
        server.control("POST", "/snapshots", b'{"name": "here"}')
        server.control("GET", "/timeline?limit=5000")
        server.control("POST", "/fork", b"{}")
        server.control("POST", "/worlds", b"x" * 4 * _MEBIBYTE)
    yield
    server.limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)


@contextmanager
def full_disk(server: FragileServer, random: Random) -> Iterator[None]:
    """Let the journal grow by a few bytes only."""
    size = server.journal.stat().st_size + random.choice((0, 1, 100, 5_000, 50_000))
    server.limit(resource.RLIMIT_FSIZE, size)
    yield
    server.limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)


@contextmanager
def no_descriptors(server: FragileServer, random: Random) -> Iterator[None]:
    """Allow few more descriptors than are open; then a client opens more."""
    server.limit(resource.RLIMIT_NOFILE, server.descriptors() + random.randrange(4))
    for _ in range(6):
        server.control("POST", "/fork", b"{}")
        server.control("POST", "/snapshots", b'{"name": "here"}')
    yield
    server.limit(resource.RLIMIT_NOFILE, 4096)


@contextmanager
def clock_steps(server: FragileServer, random: Random) -> Iterator[None]:
    """Move the wall clock back and forth, by small and large steps."""
    second, day = 10**9, 86_400 * 10**9
    now = time.time_ns()
    far = (-now, -now + 1, 2**63 - 1 - now, 230 * 365 * day)
    for _ in range(5):
        near = random.choice((1, 40, 3_600)) * second * random.choice((1, -1))
        server.steps.write_text(str(random.choice((near, near, day, -day, *far))))
        server.control("GET", "/clock")
    yield
    server.steps.write_text("0")


Trouble = Callable[[FragileServer, Random], Any]
TROUBLES: dict[str, Trouble] = {
    "no memory": no_memory,
    "full disk": full_disk,
    "no descriptors": no_descriptors,
    "clock steps": clock_steps,
}


class Round(NamedTuple):
    """The result of a round: acknowledged orders, lost ones, those acknowledged after the failure,
    and the exit code (None if the process continued).
    """

    acknowledged: int
    lost: set[str]
    after: int
    code: int | None


def trouble_round(trouble: str, surface: str, folder: Path, random: Random) -> Round:
    """Make a resource fail after some answers. Raises Divergence if the journal does not replay,
    and AssertionError if the server neither stops as documented nor answers again.
    """
    server = FragileServer(folder)
    load = Load(server, surface)
    try:
        assert load.wait(random.randint(1, 80)), f"{surface}: {len(load.acknowledged)} answers only"
        with TROUBLES[trouble](server, random):
            load.wait(60, 3.0)
        before = len(load.acknowledged)
        answers = load.wait(5) if not server.over else False
        assert answers or server.over, "it neither answers again nor has it stopped"
        after = len(load.acknowledged) - before
        went_on = not server.over
        load.stop()
        server.process.send_signal(signal.SIGTERM)
        _, output = server.process.communicate(timeout=PATIENCE_S)
    finally:
        server.process.kill()
        load.stop()
        server.process.communicate()
    code = server.process.returncode
    codes = EXIT_CODES | (ABORTS if trouble == "no memory" else set())
    assert code in codes, (code, output.decode()[-2_000:])
    assert b"Traceback" not in output or trouble == "no memory", output.decode()[-2_000:]
    lost, _ = lost_orders(server.journal, load.acknowledged)
    return Round(len(load.acknowledged), lost, after, None if went_on else code)


def main() -> int:
    """Run the rounds; return 1 if an acknowledged order is lost."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak.trouble", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trouble", action="append", choices=TROUBLES, help="only this")
    args = parser.parse_args()
    random, total, lost = Random(args.seed), 0, 0
    ends: Counter[str] = Counter()
    kinds = args.trouble or list(TROUBLES)
    for number in range(args.rounds):
        trouble = kinds[number % len(kinds)]
        surface = tuple(SURFACES)[number // len(kinds) % len(SURFACES)]
        with TemporaryDirectory(prefix="sim-trouble-") as folder:
            done = trouble_round(trouble, surface, Path(folder), random)
        total, lost = total + done.acknowledged, lost + len(done.lost)
        end = "went on" if done.code is None else f"stopped with {done.code}"
        ends[f"{trouble}: {end}"] += 1
        print(
            f"round {number + 1}, {trouble}, {surface}: {done.acknowledged} acknowledged"
            f" ({done.after} afterwards), {len(done.lost)} lost, {end}",
            flush=True,
        )
    print(f"{args.rounds} rounds, {total} acknowledged orders, {lost} lost; {dict(ends)}")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
