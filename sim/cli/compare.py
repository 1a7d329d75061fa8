"""Compare a recorded service with us: what differs, and whose it is.

Without a scenario each answer and frame is held against contract and specification. With one the
session is replayed into it in virtual time, and values are compared as well. Exit code 0: nothing
differs; 1: something does; 2: unreadable. `sim record` makes recordings; HAR files of
browsers and proxies are read too.

examples:
  sim compare session.ndjson
  sim compare session.har --reading observed --json
  sim compare session.ndjson --scenario quickstart --seed 3
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.arguments import FAILED, add_option, add_reading, add_text, count, usage_error
from sim.cli.json_output import add_json, give_json, text_output

if TYPE_CHECKING:
    from sim.fidelity.compare import Comparison
    from sim.scenario.scenario import Scenario


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="FILE", type=Path, help="recording or HAR file")
    scenario = "replay the session into this scenario, and compare values, order and causality too"
    add_text(parser, "--scenario", "NAME", scenario)
    add_option(parser, "--seed", "seed of the scenario", type=count, metavar="N")
    add_reading(parser)
    add_json(parser, "the comparison")


def problems(args: argparse.Namespace) -> Iterator[str]:
    if args.seed is not None and not args.scenario:
        yield "--seed is that of a scenario: name one with --scenario"


def run(args: argparse.Namespace) -> int:
    from sim.fidelity.identities import Unmatched
    from sim.recording.files import UnreadableRecording
    from sim.recording.reading import uncollected

    out = text_output(args)
    try:
        with uncollected():
            found = _compared(args)
    except (UnreadableRecording, Unmatched) as error:
        return usage_error(str(error))
    give_json(args, found.document())
    found.write(out)
    return 0 if found.same else FAILED


def _compared(args: argparse.Namespace) -> Comparison:
    from sim.fidelity.compare import compare, compare_with
    from sim.recording.reading import read_recording

    recording = read_recording(args.recording)
    if args.scenario:
        return compare_with(args.recording, recording, _scenario(args), args.seed)
    return compare(args.recording, recording, args.reading or "documented")


def _scenario(args: argparse.Namespace) -> Scenario:
    from msgspec.structs import replace

    from sim.loader.load import load_scenario

    scenario = load_scenario(args.scenario)
    return replace(scenario, reading=args.reading) if args.reading else scenario
