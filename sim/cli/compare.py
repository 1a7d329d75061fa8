"""Compare a recorded service with us: what differs, and whose it is.

Without a scenario each answer and frame is held against contract and specification. Exit code 0:
nothing differs; 1: something does; 2: unreadable. `sim record` makes recordings; HAR files of
browsers and proxies are read too.

examples:
  sim compare session.ndjson
  sim compare session.har --reading observed --json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.cli.arguments import FAILED, add_reading, usage_error
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recording", metavar="FILE", type=Path, help="recording or HAR file")
    add_reading(parser)
    add_json(parser, "the comparison")


def run(args: argparse.Namespace) -> int:
    from sim.fidelity.compare import compare
    from sim.recording.files import UnreadableRecording
    from sim.recording.reading import read_recording

    out = text_output(args)
    try:
        recording = read_recording(args.recording)
        found = compare(args.recording, recording, args.reading or "documented")
    except UnreadableRecording as error:
        return usage_error(str(error))
    give_json(args, found.document())
    found.write(out)
    return 0 if found.same else FAILED
