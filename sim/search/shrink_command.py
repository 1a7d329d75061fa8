"""`sim shrink`: find a failing run, reduce it, write the smaller file, and say what to do with it.

The source is a scenario that fails, or a journal at whose end something does not hold. A journal of
a client's session is first written as a scenario. If that scenario does not fail, because the
language cannot express what mattered (a failing webhook receiver or a wrong token has no step), the
journal's inputs are shrunk instead, and the shorter journal replays like any other. Frames and
disconnections name streams by id, which differ in a shorter run, so they are translated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, TextIO

from msgspec import Struct, json
from msgspec.structs import replace

from sim.api.pipeline.inputs import Input, StreamFrame, StreamHungUp, by_script
from sim.kernel.journal import Header
from sim.read.commands import sim_command
from sim.read.errors import UsageError
from sim.read.export.journal_to_scenario import is_session, scenario_document
from sim.read.export.yaml_writer import as_yaml
from sim.read.headless_run import file_name, run_scenario
from sim.read.identifiers import without_identifiers
from sim.read.layout import counted, put
from sim.read.progress import Progress
from sim.read.record import entries
from sim.read.replay import at_the_start, journal_lines, simulation_at, simulation_of, verify
from sim.read.tables import print_table
from sim.run.loader.load import load_scenario, scenario_from_source
from sim.run.simulation import Simulation
from sim.search.bisect import Question, question
from sim.search.campaign import RunPlan, jobs_of, scenario_of
from sim.search.delta import minimal
from sim.search.shrink import Shrinker, ShrunkScenario
from sim.world.format.scenario import Scenario
from sim.world.format.yaml_tree import read_text, value_of

_INTERRUPTED = "interrupted: this is the smallest that was found so far"
JOURNAL_BEGINS = (b'{"journal":', b"\x1f\x8b")  # plain, or compressed with gzip


class ShrinkRequest(Struct, frozen=True, kw_only=True):
    """What to shrink, and how: the options of `sim shrink`."""

    source: str
    seeds: Sequence[int] | None = None
    params: Mapping[str, str] = {}
    preset: str = ""
    reading: str = ""
    expect: str = ""
    because: str = ""
    any_failure: bool = False
    trials: int = 3000
    out: Path | None = None


class ShrinkResult(NamedTuple):
    """A file that was written, the sizes before and after, and whether nothing more can be removed.

    `because` is the cause that was kept; `failures` says what failed.
    """

    path: Path
    failures: list[str]
    before: dict[str, int]
    after: dict[str, int]
    because: str = ""
    trials: int = 0
    done: bool = True
    interrupted: bool = False

    def document(self) -> dict[str, Any]:
        """Return the result as a document for programs."""
        rest = self._asdict()
        return {"path": str(rest.pop("path")), "says": rest.pop("failures"), **rest}


def shrink(request: ShrinkRequest, out: TextIO) -> ShrinkResult:
    """Shrink and write. Raises UsageError if nothing fails."""
    if not _is_journal(request.source):
        return write_smallest(_failing_scenario(request), request, out)
    scenario = _scenario_of_journal(request, out)
    if scenario is None:
        return write_shortest(request, out)
    return write_smallest(scenario, request, out)


def write_shortest(request: ShrinkRequest, out: TextIO) -> ShrinkResult:
    """Shrink a journal to its fewest inputs and write them as a journal."""
    session, asked = session_of(Path(request.source)), question(request.expect)
    with Progress(0, "trials", keeps=False) as bar:
        inputs, interrupted = fewest_inputs(
            session, asked, lambda left: bar.step(f"{left} inputs tried")
        )
        if interrupted:
            bar.interrupt()
    path = (request.out or Path(f"{file_name(session.header.name)}-small")).with_suffix(".ndjson")
    path.unlink(missing_ok=True)
    with path.open("w+b", buffering=0) as file:
        sim = at_the_start(session.header, session.seed, file)
        feed(sim, inputs)
    if interrupted:
        put(_INTERRUPTED, file=out)
    put(f"{len(session.inputs)} inputs before, {len(inputs)} after; written to {path}", file=out)
    wrong = asked.ask(sim)
    for line in wrong:
        put(f"  {line}", file=out)
    put(f"next: {sim_command('timeline', path)}", file=out)
    sizes = ({"inputs": len(session.inputs)}, {"inputs": len(inputs)})
    return ShrinkResult(path, wrong, *sizes, done=not interrupted, interrupted=interrupted)


def write_smallest(scenario: Scenario, request: ShrinkRequest, out: TextIO) -> ShrinkResult:
    """Shrink a scenario that fails and write it."""
    with Progress(0, "trials", keeps=False) as bar:
        shrinker = Shrinker(
            scenario,
            any_failure=request.any_failure,
            because=request.because,
            trials=request.trials,
            on_trial=lambda steps: bar.step(f"{steps} steps left"),
        )
        shrunk = shrinker.shrink()
        if shrinker.interrupted:
            bar.interrupt()
    path = request.out or Path(f"{file_name(scenario.name)}-small.yaml")
    failure = shrunk.report.first_failure
    path.write_text(as_yaml(shrunk.document, _comment(request, scenario, shrinker, failure, path)))
    if run_scenario(load_scenario(str(path))).first_failure != failure:
        raise AssertionError(f"{path} does not fail as the shrunk scenario did")
    _print_shrunk(scenario.plain(), shrunk, path, out, interrupted=shrinker.interrupted)
    if shrinker.because:
        put(
            f"{shrinker.because} is kept: without it this step does not fail (--because names"
            " another cause, or nothing)",
            file=out,
        )
    sizes = (_sizes(scenario.plain()), _sizes(shrunk.document))
    return ShrinkResult(
        path,
        [failure],
        *sizes,
        because=shrinker.because,
        trials=shrunk.trials,
        done=shrunk.done,
        interrupted=shrinker.interrupted,
    )


def _comment(
    request: ShrinkRequest, scenario: Scenario, shrinker: Shrinker, failure: str, path: Path
) -> list[str]:
    because = f" because of {shrinker.because}" if shrinker.because else ""
    if shrinker.because.startswith("step "):
        because += " (as counted there)"
    return [
        f"Shrunk from {request.source}, seed {scenario.seed}: it still fails{because}",
        f"  {failure}",
        f"sim run {quote(str(path))}",
    ]


def _failing_scenario(request: ShrinkRequest) -> Scenario:
    """Return the first combination of matrix and seed that fails."""
    plan = RunPlan(
        scenarios=(request.source,),
        seeds=request.seeds,
        params=request.params,
        preset=request.preset,
        reading=request.reading,
    )
    jobs = jobs_of(plan)
    with Progress(len(jobs), "runs, none of which failed", keeps=False) as bar:
        for job in bar.each(jobs):
            scenario = scenario_of(job)
            report = run_scenario(scenario, job.seed)
            if not report.ok:
                return replace(scenario, seed=report.seed)
    outcome = f"{counted(len(jobs), 'run')} and none failed"
    raise UsageError(f"{request.source}: {outcome}, so there is nothing to shrink")


# ---- journals


def _is_journal(name: str) -> bool:
    path = Path(name)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.peek(2).startswith(JOURNAL_BEGINS)


def _scenario_of_journal(request: ShrinkRequest, out: TextIO) -> Scenario | None:
    """Return the run of a journal as a scenario that fails; None if no scenario can express it."""
    path = Path(request.source)
    if not is_session(path):
        with journal_lines(path) as (header, _):
            scenario = scenario_from_source(bytes(header.scenario), header.places)
        clock = replace(scenario.clock, start=header.start)
        return replace(scenario, seed=header.seed, clock=clock)
    if not question(request.expect).ask(simulation_at(path)):
        raise UsageError(
            f"{path}: {request.expect or 'every invariant'} holds at its end: there is nothing to"
            " shrink (--expect says what should hold)"
        )
    converted = scenario_document(path)
    document = converted.document
    if request.expect:
        expect = value_of(read_text(request.expect, "--expect"))
        document["steps"] = [*document["steps"], {"name": "expected", "expect": expect}]
    left_out = ", ".join(f"{count} {kind}" for kind, count in converted.left_out.items())
    put(
        f"{path}: written as {counted(len(document['steps']), 'step')}"
        + (f"; left out: {left_out}" if left_out else ""),
        file=out,
    )
    scenario = scenario_from_source(json.encode(document))
    if run_scenario(scenario).ok:
        put("as a scenario it does not fail, so the journal's inputs are shrunk", file=out)
        return None
    return scenario


# ---- inputs


class RecordedInput(NamedTuple):
    """One input of a journal, and the id of the stream that it opened there (0: none)."""

    input: Input
    stream: int


class Session(NamedTuple):
    """A journal's start, the seed at its end, and the inputs of its current branch."""

    header: Header
    seed: int
    inputs: list[RecordedInput]


def session_of(path: Path) -> Session:
    """Return the inputs that lead to a journal's end, without those of the scenario's steps.

    Raises UnreadableJournal or Divergence.
    """
    with journal_lines(path) as (header, lines):
        sim = simulation_of(header)
        verify(sim, lines)
    inputs = []
    for entry in entries(sim.journal.lines()):
        if not by_script(entry.input):
            inputs.append(RecordedInput(entry.input, entry.out.stream))
    return Session(header, sim.seed, inputs)


def feed(sim: Simulation, inputs: list[RecordedInput]) -> None:
    """Pass inputs to a simulation at its start, each frame to the corresponding stream."""
    streams: dict[int, int] = {}
    for recorded in inputs:
        input_ = recorded.input
        if isinstance(input_, StreamFrame | StreamHungUp):
            if input_.stream not in streams:
                continue
            input_ = replace(input_, stream=streams[input_.stream])
        outcome = sim.enter(input_)
        if recorded.stream:
            streams[recorded.stream] = outcome.stream


def fewest_inputs(
    session: Session, asked: Question, on_trial: Callable[[int], None]
) -> tuple[list[RecordedInput], bool]:
    """Return the fewest inputs after which the same does not hold, with the same messages, and
    whether an interrupt ended the search.

    After all of them, the question must have been answered with failures.
    """
    best = session.inputs
    sim = at_the_start(session.header, session.seed)
    feed(sim, session.inputs)
    wrong = {without_identifiers(line) for line in asked.ask(sim)}

    def fails(inputs: list[RecordedInput]) -> bool:
        nonlocal best
        on_trial(len(inputs))
        sim.reset()
        try:
            feed(sim, inputs)
            still = wrong <= {without_identifiers(line) for line in asked.ask(sim)}
        except Exception:  # an input depends on a removed one: not a valid reduction
            return False
        if still and len(inputs) < len(best):
            best = inputs
        return still

    try:
        return minimal(session.inputs, fails), False
    except KeyboardInterrupt:
        return best, True


# ---- the result


def _print_shrunk(
    original: dict[str, Any], shrunk: ShrunkScenario, path: Path, out: TextIO, *, interrupted: bool
) -> None:
    before, after = _sizes(original), _sizes(shrunk.document)
    print_table(
        [
            {"": name, "before": before[name], "after": after[name]}
            for name in before
            if before[name]
        ],
        out,
    )
    put("", *path.read_text().splitlines(), "", file=out)
    if interrupted:
        put(_INTERRUPTED, file=out)
    elif not shrunk.done:
        put(f"stopped after {shrunk.trials} trials; raise --trials to continue", file=out)
    put(f"{shrunk.trials} trials; written to {path}", file=out)


def _sizes(document: dict[str, Any]) -> dict[str, int]:
    world = document.get("world", {})
    settings = ("quirks", "assumptions", "limits", "maintenance")
    return {
        "steps": len(document.get("steps", ())),
        "faults": len(document.get("faults", ())),
        "settings": sum(len(document.get(key, ())) for key in settings),
        "world": sum(len(entries) for entries in world.values() if isinstance(entries, list)),
        "characters": len(json.encode(document)),
    }
