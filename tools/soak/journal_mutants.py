"""Commands that read journals, with journals that are valid JSON but wrong: values of other types,
lines in another order, unknown inputs, instants out of range.

Every command must end with a documented exit code and a message, never with a traceback.

    python -m tools.soak.journal_mutants --count 2000 --seed 1
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.cli.main import main as command_line
from sim.kernel.journal import Header, encode_header
from sim.read.headless_run import run_scenario
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from tools.soak.corpus import WHOLE, mutate
from tools.soak.findings import Finding, Slow, patience, run_search

SOURCES = ("injected-faults", "money-through-a-bank", "kyc-approval-window", "halt-and-suspension")
COMMANDS = (
    ("replay", "{}"),
    ("replay", "{}", "--until", "2026-09-08T18:30:00Z"),
    ("replay", "{}", "--seq", "2"),
    ("timeline", "{}"),
    ("explain", "{}"),
    ("explain", "{}", "stream/1"),
    ("conformance", "{}"),
    ("diff", "{}", "{other}"),
    ("diff", "{other}", "{}"),
    ("shrink", "{}", "--trials", "3", "--out", "{out}"),
    ("bisect", "{}", "--expect", "{{open_orders: {{as: maker, count: 1}}}}"),
)
EXIT_CODES = {0, 1, 2, 3}


def journals() -> list[list[bytes]]:
    """Return the lines of some valid journals, one of them with every kind of mark."""
    results = []
    for source in (*SOURCES, WHOLE):
        written = io.BytesIO()
        simulation = Simulation(load_scenario(source), journal=written)
        run_scenario(simulation.scenario, simulation=simulation, check_invariants=False)
        simulation.snapshot("here")
        simulation.rewind(seq=simulation.seq // 2)
        simulation.restore("here")
        simulation.reset(5)
        results.append(written.getvalue().splitlines())
    return results


def spoilt(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """Return the lines with a defect."""
    lines = list(lines)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        row = rng.randrange(len(lines)) if rng.random() < 0.8 else 0
        kind = rng.randrange(8)
        if kind == 0 and len(lines) > 1:
            del lines[row]
        elif kind == 1:
            lines.insert(rng.randrange(len(lines) + 1), lines[row])
        elif kind == 2:
            other = rng.randrange(len(lines))
            lines[row], lines[other] = lines[other], lines[row]
        elif kind == 3:
            mark = rng.choice(("rewind", "reset", "snapshot", "restore", "fork", "nonsense", ""))
            argument = rng.choice(("", "0", "-1", "3", "9" * 30, "here", "nobody", "x", "1e3"))
            line = {"mark": mark, "argument": argument}
            lines.insert(max(1, row), json.dumps(line).encode())
        else:
            lines[row] = _changed(lines[row], rng, row == 0)
    return lines


def _changed(line: bytes, rng: random.Random, header: bool) -> bytes:
    try:
        document: Any = json.loads(line)
    except ValueError:
        return line
    if not isinstance(document, dict):
        return line
    mutate(document, rng)
    text = json.dumps(document, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if not header or rng.random() < 0.3:
        return text
    return _sealed(text)


def _sealed(text: bytes) -> bytes:
    """Return a header with correct checksums."""
    import msgspec

    try:
        header = msgspec.json.decode(text, type=Header)
        from sim.run.loader.load import scenario_from_source

        with contextlib.suppress(Exception):
            header.scenario_digest = scenario_from_source(bytes(header.scenario)).digest
        return encode_header(header)
    except Exception:
        return text


def examine(
    lines: list[bytes], rng: random.Random, folder: Path, other: Path
) -> tuple[str, Finding | None]:
    """The verdict on a journal with a defect, and what is wrong with us: a command with an
    undocumented result.
    """
    path = folder / "spoilt.ndjson"
    path.write_bytes(b"\n".join(lines) + b"\n")
    command = rng.choice(COMMANDS)
    names = {"other": str(other), "out": str(folder / "small.yaml")}
    argv = [word.format(str(path), **names) for word in command]
    output = io.StringIO()
    try:
        with patience(30), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                code = command_line(argv)
            except SystemExit as end:
                code = end.code
        assert code in EXIT_CODES, code
        assert code == 0 or output.getvalue().strip(), "it failed without a word"
        return f"exit {code}", None
    except (Exception, Slow) as error:
        finding = Finding.of(error, path.read_bytes().decode())
        return "failed", finding._replace(where=f"{command[0]}: {finding.where}")


def search(count: int, seed: int, stop: float = 0) -> Iterator[tuple[str, Finding | None]]:
    """The verdicts on a number of journals; a seed determines their defects."""
    sound = journals()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        other = folder / "other.ndjson"
        other.write_bytes(b"\n".join(sound[0]) + b"\n")
        for number in range(count):
            if stop and time.monotonic() > stop:
                return
            rng = random.Random(f"{seed}/{number}")
            yield examine(spoilt(rng.choice(sound), rng), rng, folder, other)


if __name__ == "__main__":
    sys.exit(run_search(search, __doc__, 2_000, ".ndjson"))
