"""`sim shrink` from the command line's point of view: find the failing run, reduce it, write the
file, say what is left and what to do with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct, json
from msgspec.structs import replace

from sim.analysis.headless_run import file_name, run_scenario
from sim.analysis.replay import at_the_start, replaying, simulation_of
from sim.analysis.search.bisect import expecting, sound
from sim.analysis.search.input_shrink import feed, session_of, smallest
from sim.analysis.search.journal_to_scenario import is_session, transcript
from sim.analysis.search.progress import Progress
from sim.analysis.search.shrink import Shrinker, Shrunk
from sim.analysis.search.yaml_writer import as_yaml
from sim.analysis.tables import as_text
from sim.kernel.journal import read_journal
from sim.loader.load import load_scenario, scenario_from_source, scenario_variants
from sim.scenario.scenario import Scenario
from sim.scenario.yaml_tree import read_text, value_of


class ShrinkRequest(Struct, frozen=True, kw_only=True):
    """What to shrink and how; the options of `sim shrink`."""

    what: str
    seeds: Sequence[int] | None = None
    params: Mapping[str, str] = {}
    preset: str = ""
    expect: str = ""
    because: str = ""
    any_failure: bool = False
    trials: int = 3000
    out: Path | None = None


def shrink(asked: ShrinkRequest, out: TextIO, progress: TextIO) -> Path:
    """Shrink and write; the file. ValueError when nothing fails."""
    scenario = _of_journal(asked, out) if _is_journal(asked.what) else _failing(asked)
    return (
        write_shortest(asked, out, progress)
        if scenario is None
        else write_smallest(scenario, asked, out, progress)
    )


def write_shortest(asked: ShrinkRequest, out: TextIO, progress: TextIO) -> Path:
    """Shrink a journal to its fewest inputs and write them as a journal; the file."""
    session, ask = session_of(Path(asked.what)), expecting(asked.expect) if asked.expect else sound
    told = Progress(progress, 0, "trials")
    inputs = smallest(session, ask, lambda left: told.step(f"{left} inputs tried"))
    told.end()
    path = (asked.out or Path(f"{file_name(session.header.name)}-small")).with_suffix(".ndjson")
    path.unlink(missing_ok=True)
    with path.open("w+b", buffering=0) as file:
        sim = at_the_start(session.header, session.seed, file)
        feed(sim, inputs)
    print(f"{len(session.inputs)} inputs before, {len(inputs)} after; written to {path}", file=out)
    for line in ask(sim):
        print(f"  {line}", file=out)
    print(f"next: sim timeline {path}", file=out)
    return path


def write_smallest(scenario: Scenario, asked: ShrinkRequest, out: TextIO, progress: TextIO) -> Path:
    """Shrink a scenario that fails and write it; the file."""
    told = Progress(progress, 0, "trials")
    shrinker = Shrinker(
        scenario,
        any_failure=asked.any_failure,
        because=asked.because,
        trials=asked.trials,
        told=lambda trials, steps: told.step(f"{steps} steps left"),
    )
    found = shrinker.shrink()
    told.end()
    path = asked.out or Path(f"{file_name(scenario.name)}-small.yaml")
    failure = found.report.first_failure
    because = (
        f" because of {shrinker.because} (as counted there)"
        if shrinker.because.startswith("step ")
        else f" because of {shrinker.because}"
    )
    why = [
        (
            f"Shrunk from {asked.what}, seed {scenario.seed}: it still"
            f" fails{because if shrinker.because else ''}"
        ),
        f"  {failure}",
        f"sim run {path}",
    ]
    path.write_text(as_yaml(found.document, why))
    if run_scenario(load_scenario(str(path))).first_failure != failure:
        raise AssertionError(f"{path} does not say what was found")
    _say(scenario.plain(), found, path, out)
    if shrinker.because:
        print(
            f"{shrinker.because} is kept: without it this step does not fail (--because names"
            " something else, or nothing)",
            file=out,
        )
    return path


def _failing(asked: ShrinkRequest) -> Scenario:
    """The first combination of matrix and seed that fails."""
    tried = 0
    for variant in scenario_variants(asked.what):
        if any(variant.get(key, value) != value for key, value in asked.params.items()):
            continue
        scenario = load_scenario(asked.what, {**variant, **asked.params})
        if asked.preset:
            scenario = replace(scenario, preset=asked.preset)
        for seed in asked.seeds if asked.seeds is not None else (scenario.seed,):
            tried += 1
            if not run_scenario(scenario, seed).ok:
                return replace(scenario, seed=seed)
    raise ValueError(f"{asked.what}: {tried} runs and none failed: there is nothing to shrink")


def _is_journal(what: str) -> bool:
    path = Path(what)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.peek(2).startswith((b'{"journal":', b"\x1f\x8b"))


def _of_journal(asked: ShrinkRequest, out: TextIO) -> Scenario | None:
    """The run of a journal as a scenario that fails; None when no scenario can tell it."""
    path = Path(asked.what)
    if not is_session(path):
        with path.open("rb") as file:
            header = read_journal(file)[0]
        scenario = scenario_from_source(bytes(header.scenario))
        return replace(
            scenario, seed=header.seed, clock=replace(scenario.clock, start=header.start)
        )
    wrong = _at_the_end(path, asked.expect)
    if not wrong:
        raise ValueError(
            f"{path}: {asked.expect or 'every invariant'} holds at its end: there is nothing to"
            " shrink (--expect says what should hold)"
        )
    found = transcript(path)
    document = found.document
    if asked.expect:
        document["steps"] = [
            *document["steps"],
            {"name": "expected", "expect": value_of(read_text(asked.expect, "--expect"))},
        ]
    left = ", ".join(f"{count} {kind}" for kind, count in found.left_out.items())
    print(
        f"{path}: written as {len(document['steps'])} steps"
        + (f"; left out: {left}" if left else ""),
        file=out,
    )
    scenario = scenario_from_source(json.encode(document))
    if run_scenario(scenario).ok:
        print("written so it does not fail: its inputs are shrunk instead", file=out)
        return None
    return scenario


def _at_the_end(path: Path, expect: str) -> list[str]:
    with path.open("rb") as file:
        header, lines = read_journal(file)
        sim = simulation_of(header)
        for _ in replaying(sim, lines):
            pass
    return (expecting(expect) if expect else sound)(sim)


def _say(whole: dict[str, Any], found: Shrunk, path: Path, out: TextIO) -> None:
    before, after = _sizes(whole), _sizes(found.document)
    print(
        as_text(
            [
                {"": name, "before": before[name], "after": after[name]}
                for name in before
                if before[name]
            ]
        ),
        file=out,
    )
    print("", path.read_text(), sep="\n", file=out)
    if not found.done:
        print(f"stopped after {found.trials} trials: --trials N goes on", file=out)
    print(f"{found.trials} trials; written to {path}", file=out)


def _sizes(document: dict[str, Any]) -> dict[str, int]:
    world = document.get("world", {})
    return {
        "steps": len(document.get("steps", ())),
        "faults": len(document.get("faults", ())),
        "settings": sum(
            len(document.get(key, ())) for key in ("quirks", "assumptions", "limits", "maintenance")
        ),
        "world": sum(len(entries) for entries in world.values() if isinstance(entries, list)),
        "characters": len(json.encode(document)),
    }
