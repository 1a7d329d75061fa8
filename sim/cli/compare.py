"""Compare a recording of the service with this exchange.

Each difference is listed with its place and its likely cause. Without a scenario, the command
checks each answer and stream frame against the contract and the specification. With a scenario, it
replays the session into it in virtual time and compares values as well. `sim record` makes
recordings; HAR files of browsers and proxies are accepted too.

Use --accepted for a nightly drift check: only differences that are not in the file count. A
recording with nothing to compare then exits with 1 as well.

exit codes:
  0  nothing differs
  1  something differs
  2  a file cannot be read

examples:
  sim compare session.ndjson
  sim compare session.har --reading observed --json
  sim compare session.ndjson --scenario quickstart --seed 3
  sim compare tonight.ndjson --accepted accepted.yaml --against last.json \\
    --json last.json --junit drift.xml
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.arguments import FAILED, Options, check_writable, count, usage_error
from sim.cli.json_output import add_json, give_json, text_output

if TYPE_CHECKING:
    from sim.evidence.compare.compare import RecordingComparison
    from sim.evidence.compare.drift import Drift
    from sim.world.format.scenario import Scenario


def add_arguments(parser: Options) -> None:
    parser.add_argument("recording", metavar="FILE", type=Path, help="recording, HAR or shape file")
    scenario = "replay the session into this scenario, and compare values, order and causality too"
    parser.add_text("--scenario", "NAME", scenario)
    parser.add_option("--seed", "seed of the scenario", type=count, metavar="N")
    parser.add_reading()
    accepted = "reviewed differences (YAML), which do not count"
    parser.add_path("--accepted", "FILE", accepted)
    propose = "write the other differences to a new file, as entries to review for --accepted"
    parser.add_path("--propose", "FILE", propose)
    against = "show what is new since an earlier comparison (its --json file)"
    parser.add_path("--against", "FILE", against)
    parser.add_path("--junit", "FILE", "write JUnit XML, one case per operation in the recording")
    shapes = "write what the recording shows, without any value, to a new file"
    parser.add_path("--shapes", "FILE", shapes)
    add_json(parser, "the comparison")


def problems(args: argparse.Namespace) -> Iterator[str]:
    if args.seed is not None and not args.scenario:
        yield "--seed needs --scenario NAME"
    if args.shapes is not None and args.shapes.exists():
        yield f"{args.shapes} exists already and is not overwritten; choose another file"


def run(args: argparse.Namespace) -> int:
    from sim.evidence.compare.drift import Drift, read_accepted, read_earlier, write
    from sim.evidence.recording.reading import uncollected

    if args.propose and args.propose.exists():
        return usage_error(
            f"{args.propose} exists already and is not overwritten; choose another file"
        )
    out = text_output(args)
    check_writable([args.junit, args.propose, args.shapes])
    accepted = read_accepted(args.accepted) if args.accepted else ()
    earlier = read_earlier(args.against) if args.against else None
    with uncollected():
        comparison = _compared(args)
    drift = Drift(comparison, accepted, earlier)
    if not (args.accepted or args.propose or args.against or args.junit):
        give_json(args, comparison.document())
        comparison.write(out)
        return 0 if comparison.tally.same else FAILED
    _write_files(args, drift)
    give_json(args, comparison.document() | {"drift": drift.document()})
    write(drift, out)
    return FAILED if drift.rings else 0


def _write_files(args: argparse.Namespace, drift: Drift) -> None:
    from sim.evidence.compare.drift import proposed, suite
    from sim.read.junit import junit

    if args.junit:
        args.junit.write_bytes(junit([suite(drift)]))
    if args.propose:
        args.propose.write_text(proposed(drift), encoding="utf-8")


def _compared(args: argparse.Namespace) -> RecordingComparison:
    from sim.evidence.compare.compare import compare, compare_with
    from sim.evidence.recording.reading import read_recording

    recording = read_recording(args.recording)
    if args.shapes is not None:
        from sim.evidence.shapes import write_shapes

        write_shapes(recording, args.shapes)
    if args.scenario:
        return compare_with(args.recording, recording, _scenario(args), args.seed)
    return compare(args.recording, recording, args.reading or "documented")


def _scenario(args: argparse.Namespace) -> Scenario:
    from msgspec.structs import replace

    from sim.run.loader.load import load_single

    scenario = load_single(args.scenario)
    return replace(scenario, reading=args.reading) if args.reading else scenario
