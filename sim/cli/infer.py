"""Infer which values of assumptions and quirks fit a recording.

The command replays the session into a scenario under each value of each assumption and quirk that
could affect it. The verdict for each is confirmed, refuted (with the value that fits), undecided,
or not observed, with the lines of the recording that show it. Differences that no value explains
are listed. `sim record` makes recordings.

exit codes:
  0    the default values answer like the recording
  1    they do not
  2    a file cannot be read
  130  interrupted; the verdicts so far were printed

examples:
  sim infer session.ndjson --scenario quickstart
  sim infer session.ndjson --scenario quickstart --write like-recorded.yaml
  sim infer session.har --scenario my.yaml --seed 3 --json verdicts.json
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from sim.cli.arguments import FAILED, Options, check_writable, count
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    parser.add_argument("recording", metavar="FILE", type=Path, help="recording or HAR file")
    scenario = "replay the session into this scenario; its values are compared with the recording"
    parser.add_option("--scenario", scenario, metavar="NAME", required=True)
    parser.add_option("--seed", "seed of the scenario", type=count, metavar="N")
    write = "write a scenario whose values reproduce the recording as closely as possible"
    parser.add_path("--write", "FILE", write)
    add_json(parser, "the verdicts")


def run(args: argparse.Namespace) -> int:
    from sim.evidence.infer.infer import infer
    from sim.evidence.recording.reading import read_recording
    from sim.run.loader.load import load_single

    out = text_output(args)
    check_writable((args.write,))
    recording = read_recording(args.recording)
    inference = infer(args.recording, recording, load_single(args.scenario), args.seed)
    give_json(args, inference.document())
    inference.write(out)
    if args.write is not None:
        args.write.write_text(inference.scenario_file(_base(args)), encoding="utf-8")
    return 0 if inference.explained else FAILED


def _base(args: argparse.Namespace) -> str:
    """The scenario to extend in the written one; a file relative to that one."""
    if not Path(args.scenario).is_file():
        return str(args.scenario)
    return os.path.relpath(args.scenario, Path(args.write).parent)
