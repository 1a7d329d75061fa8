"""Does `sim infer` name what was planted? A dozen values that are not ours, drawn from those that a
drawn session asks for, and three quirks: who is exercised, who is named, and how.

    python -m tests.evidence.planted_truth 21 22 23    # a row of a table for each drawn set
    python -m tests.evidence.planted_truth --sockets 21    # the session over real sockets

A name is *exercised* where the session answers otherwise when it alone has our value.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from msgspec import json

from sim.cli.main import main as sim
from sim.core.catalogue.assumptions import catalogue
from sim.evidence.infer.outcome import Decisions, Setting, TrialOutcome, change
from sim.evidence.infer.session import TrialSession
from sim.evidence.infer.verdict import SIGNED
from sim.evidence.recording.reading import read_recording
from sim.run.loader.load import load_scenario
from tests.evidence import fresh_session as fresh
from tests.evidence.clients import Clients, base, planted
from tests.evidence.conftest import settings_of
from tests.evidence.in_process import record
from tests.evidence.over_sockets import planted_over_sockets

_SPANS = ("2s", "5s", "12s", "40s", "90s", "4m", "15m", "2h")
_NUMBERS = (1, 2, 3, 5, 7, 20, 250, 480, 900)
_QUIRKS = {
    "unfiltered_search_times_out": ["never", "always"],
    "unfiltered_reports_time_out": ["always"],
    "session_revocation": ["never"],
    "empty_participant_window": ["never"],
    "cleared_fields_lag": ["never"],
    "stream_duplicates": ["always"],
    "instrument_columns_fail": ["never"],
}
_ACTS = 6


class Row(NamedTuple):
    """What became of a planted set, by name."""

    number: int
    planted: dict[str, str]
    exercised: list[str]
    right: list[str]  # refuted, and the planted value is among those that fit
    undecided: list[str]  # the planted value fits, and so does ours, or a value of another name
    missed: list[str]
    wrong: list[str]  # refuted, and the planted value does not fit
    false: list[str]  # refuted, and not planted

    def __str__(self) -> str:
        counts = (self.planted, self.exercised, self.right, self.undecided, self.missed)
        cells = [self.number, *map(len, (*counts, self.wrong, self.false))]
        return f"| {' | '.join(map(str, cells))} |"


HEAD = (
    "| set | planted | exercised | named right | undecided | not named | wrong value | falsely |\n"
    "|---|---|---|---|---|---|---|---|"
)


def drawn_set(number: int, folder: Path, sockets: bool = False) -> Row:
    """Plant, record, infer and judge the set of a number."""
    seed, act = 50 + number, fresh.drawn(number, at_most=_ACTS)
    values = _plan(number, folder, act, seed)
    make = planted_over_sockets if sockets else planted
    file = make(folder, "variant", settings_of(values), seed=seed, parts=(act,))
    return judged(number, file, str(base(folder)), seed, values)


def _plan(number: int, folder: Path, act: Any, seed: int) -> dict[str, str]:
    """Values that the session asks for and that are not ours."""
    clients = Clients(record(folder / "asks.ndjson", str(base(folder)), seed))
    asked = clients.world.simulation.exchange.ctx.assumptions.watch()
    act(clients)
    draw, existing, values = Random(1000 + number), catalogue(), dict[str, str]()
    pool = sorted(asked - SIGNED)
    for name in draw.sample(pool, min(12, len(pool))):
        item = existing[name]
        if isinstance(item.default, bool):
            value = str(not item.default).lower()
        elif isinstance(item.default, str):
            others = [word for word in item.options if word != item.default]
            value = draw.choice(others) if others else item.default
        else:
            value = str(draw.choice(_SPANS if item.span else _NUMBERS))
        try:
            if item.parse(value) != item.default:
                values[name] = value
        except ValueError:
            continue
    odds = {name: draw.choice(_QUIRKS[name]) for name in draw.sample(sorted(_QUIRKS), 3)}
    return values | odds


def _exercised(file: Path, scenario: str, seed: int, values: dict[str, str]) -> list[str]:
    session = TrialSession(load_scenario(scenario), seed, list(read_recording(file).entries))

    def trial_without(left: str = "") -> TrialOutcome:
        settings = settings_of({name: value for name, value in values.items() if name != left})
        quirks = {name: Decisions(odds != "never") for name, odds in settings["quirks"].items()}
        return session.trial_of(Setting(settings["assumptions"], quirks))

    truth = trial_without()
    return [name for name in values if change(truth, trial_without(name)).touched]


def judged(number: int, file: Path, scenario: str, seed: int, values: dict[str, str]) -> Row:
    """Infer, and judge what is named of the values that were planted."""
    exercised, out = _exercised(file, scenario, seed, values), file.with_suffix(".json")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        sim(["infer", str(file), "--scenario", scenario, "--json", str(out)])
    document: dict[str, Any] = json.decode(out.read_bytes())
    assumptions = document["assumptions"] | document["quirks"]
    refuted = [name for name, item in assumptions.items() if item["verdict"] == "refuted"]
    fits = {name for name, value in values.items() if _allows(assumptions[name], name, value)}
    rivals = {other for item in assumptions.values() for other in item.get("or", ())}
    right = [name for name in exercised if name in refuted and name in fits]
    undecided = [
        name
        for name in exercised
        if name not in refuted
        and (name in rivals or (assumptions[name]["verdict"] == "undecided" and name in fits))
    ]
    wrong = [name for name in values if name in refuted and name not in fits]
    missed = [name for name in exercised if name not in {*right, *undecided, *wrong}]
    false = [name for name in refuted if name not in values]
    return Row(number, values, exercised, right, undecided, missed, wrong, false)


def _allows(item: dict[str, Any], name: str, value: str) -> bool:
    """Whether a verdict allows a value."""
    if any(str(fits).lower() == value.lower() for fits in item["consistent"]):
        return True
    row = catalogue().get(name)
    if row is None or "between" not in item:
        return False
    low, high = item["between"]
    return (low is None or row.parse(low) <= row.parse(value)) and (
        high is None or row.parse(value) <= row.parse(high)
    )


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.evidence.planted_truth", description="How much `sim infer` finds."
    )
    parser.add_argument("sets", nargs="+", type=int, metavar="SET", help="number of a drawn set")
    parser.add_argument("--sockets", action="store_true", help="record over real sockets")
    args = parser.parse_args()
    print(HEAD, flush=True)
    for number in args.sets:
        with TemporaryDirectory() as folder:
            row = drawn_set(number, Path(folder), args.sockets)
        print(row, flush=True)
        for kind in ("undecided", "missed", "wrong", "false"):
            if names := getattr(row, kind):
                print(f"  {kind}: {', '.join(names)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
