"""Write the fidelity page: evidence, and how this exchange agrees.

The scorecard of each operation, stream, assumption and quirk: statements of the specification with
tests, public evidence, and what your recordings show, in both readings side by side. Nothing is
averaged: an item without evidence is counted and listed as "no evidence". The command sends nothing
over the network.

examples:
  sim fidelity
  sim fidelity session.ndjson --out fidelity.html
  sim fidelity mon.ndjson tue.ndjson --scenario quickstart --out fidelity.md
  sim fidelity --documents published/
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from sim.cli.arguments import FAILED, Options, check_writable, count, usage_error
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import counted, put

if TYPE_CHECKING:
    from sim.evidence.scorecard.scorecard import Scorecard

_SUFFIXES = (".md", ".html")


def add_arguments(parser: Options) -> None:
    files = "recordings or HAR files of the service (default: none, so public evidence alone)"
    parser.add_argument("recordings", nargs="*", metavar="FILE", type=Path, help=files)
    scenario = "replay each recording into this scenario, so that values are compared too"
    parser.add_text("--scenario", "NAME", scenario)
    parser.add_option("--seed", "seed of the scenario", type=count, metavar="N")
    inferred = "verdicts on assumptions and quirks, as `sim infer --json FILE` wrote them"
    parser.add_path("--inferred", "FILE", inferred)
    parser.add_path("--out", "FILE", "write the page: FILE.md or FILE.html")
    documents = "hold published OpenAPI, protobuf and changelog files in a folder against ours"
    parser.add_path("--documents", "FOLDER", documents)
    lists = "print what is proven, what is not and what is unknown, by operation and axis"
    parser.add_flag("--summary", lists)
    add_json(parser, "the scorecard")


def run(args: argparse.Namespace) -> int:
    if problem := _problem(args):
        return usage_error(problem)
    out = text_output(args)
    if args.documents:
        return _documents(args, out)
    check_writable([args.out])
    card = _scorecard(args)
    if args.out:
        _write_page(args.out, card)
    give_json(args, card.document())
    for line in _lists(card) if args.summary else _summary(card):
        put(line, file=out)
    if args.out:
        put(f"the page is {args.out}", file=out)
    return 0


def _documents(args: argparse.Namespace, out: TextIO) -> int:
    """Say what moved in published documents; exit 1 if something did."""
    from sim.evidence.documents import moved

    rows = moved(args.documents)
    give_json(args, {"documents": rows})
    for name, differences in rows.items():
        put(f"{name}: {counted(len(differences), 'difference')}", file=out)
        for row in differences:
            put(
                f"  {row['subject']}: published {row['published']}, here {row['contract']}",
                file=out,
            )
    return FAILED if any(rows.values()) else 0


def _problem(args: argparse.Namespace) -> str:
    """What is wrong with the options; "" if nothing."""
    if args.out and args.out.suffix.lower() not in _SUFFIXES:
        return f"--out must end in .md or .html, not {args.out}"
    if args.out and args.out in args.recordings:
        return f"--out {args.out} is one of the recordings"
    if args.scenario and not args.recordings:
        return "--scenario replays recordings: name a FILE"
    if args.seed is not None and not args.scenario:
        return "--seed needs --scenario NAME"
    return ""


def _scorecard(args: argparse.Namespace) -> Scorecard:
    from sim.evidence.recording.reading import uncollected
    from sim.evidence.scorecard.evidence import read_evidence
    from sim.evidence.scorecard.scorecard import scorecard
    from sim.run.loader.load import load_single

    scenario = load_single(args.scenario) if args.scenario else None
    with uncollected():
        evidence = read_evidence(args.recordings, scenario, args.seed, args.inferred)
    return scorecard(evidence)


def _write_page(path: Path, card: Scorecard) -> None:
    from sim.evidence.scorecard.scorecard_page import html, page

    markdown = page(card)
    text = html(markdown) if path.suffix.lower() == ".html" else markdown
    path.write_text(text, encoding="utf-8")


def _lists(card: Scorecard) -> Iterator[str]:
    """What is proven, not proven and unknown."""
    for kind, rows in card.summary().items():
        yield f"{kind}: {counted(len(rows), 'operation')}"
        yield from (f"  {row}" for row in rows)


def _summary(card: Scorecard) -> Iterator[str]:
    """What is known, on a screen."""
    from sim.evidence.scorecard.scorecard_page import summary

    rows = summary(card)
    for source in card.evidence.sources:
        yield f"{source.file}: {source.answers:,} answers and frames, began {source.started}"
    size = max(len(row["what"]) for row in rows)
    yield f"{'':{size}}  documented  observed"
    for row in rows:
        yield f"{row['what']:{size}}  {row['documented']:10}  {row['observed']}"
    if card.evidence.of_this_machine:
        yield "recorded from this machine: a sandbox is not evidence of the service"
    if not card.evidence.sources:
        yield "no recording was read; make one with `sim record`"
