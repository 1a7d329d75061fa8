"""Run a client's own tests against a profile and report on it.

COMMAND runs once for each leg of the profile, against an exchange of its own: without faults, with
errors, lost answers and pairs of faults, through halts, maintenance and announced dates. It finds
the exchange by SIM_READY_FILE, SIM_GATEWAY, SIM_RETAIL, SIM_EXCHANGE, SIM_AUTH, SIM_GRPC and
SIM_CONTROL. An item that the client never exercised is reported as not exercised. The report
describes the client; it is not a certificate of the venue. Exit code 1 if an item failed or a leg
is missing.

examples:
  sim certify -- pytest tests/sandbox
  sim certify --out certified --clock manual -- npm test
  sim certify --check certified/bundle.zip
  sim certify --list
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from sim.cli.arguments import DIVERGED, FAILED, Options, check_writable, clock_mode, ordinal
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put


def add_arguments(parser: Options) -> None:
    profile = "the profile, by name, or by name and version"
    parser.add_text("--profile", "NAME", profile, default="partner")
    out = "write report.json, junit.xml, index.html, badge.svg and bundle.zip here"
    parser.add_option("--out", out, metavar="DIR", type=Path, default=Path("certified"))
    clock = (
        "the clock of each exchange (default: paced, so that the client's pauses count as waiting)"
    )
    parser.add_text("--clock", "MODE", clock, default="paced", type=clock_mode)
    limit = (
        "stop after N minutes; the report names the legs that did not run (default: the profile's)"
    )
    parser.add_option("--minutes", limit, metavar="N", type=ordinal, default=None)
    parser.add_path("--check", "BUNDLE", "replay a bundle, judge it again, and compare")
    parser.add_flag("--list", "list the legs and items of the profile")
    add_json(parser, "the report")


def problems(args: argparse.Namespace) -> Iterator[str]:
    if not args.list and args.check is None and not args.rest:
        yield "name the client's test command after --: sim certify -- pytest tests/sandbox"
    if (args.list or args.check is not None) and args.rest:
        yield "--list and --check run no command: leave out what follows --"


def run(args: argparse.Namespace) -> int:
    from sim.testing.certify.profile import load_profile

    out = text_output(args)
    if args.check is not None:
        return _check(args)
    profile = load_profile(args.profile)
    if args.list:
        from sim.testing.certify.report import listing, print_listing

        give_json(args, listing(profile))
        print_listing(profile, out)
        return 0
    from sim.testing.certify.report import write
    from sim.testing.certify.runs import certify
    from sim.testing.refusing_proxy import FENCED

    check_writable(folders=(args.out,))
    put(FENCED, file=sys.stderr)
    limit = args.minutes or profile.minutes
    report = certify(profile, args.rest, args.out, clock=args.clock, minutes=limit)
    give_json(args, report.document())
    write(report, out)
    put(
        f"{args.out / 'index.html'} has the report, {args.out / 'bundle.zip'} what it rests on,"
        f" {args.out / 'legs/LEG/output.txt'} what each leg printed",
        file=out,
    )
    return 0 if report.ok else FAILED


def _check(args: argparse.Namespace) -> int:
    from sim.read.replay import Divergence
    from sim.testing.certify.bundle import check_bundle
    from sim.testing.certify.report import write

    out = text_output(args)
    try:
        checked = check_bundle(args.check)
    except Divergence as difference:
        give_json(args, difference.document())
        put(*difference.lines(), file=out)
        return DIVERGED
    give_json(args, {**checked.report.document(), "differences": list(checked.differences)})
    write(checked.report, out)
    legs = len(checked.report.legs)
    for line in checked.differences:
        put(f"differs: {line}", file=out)
    if checked.differences:
        return DIVERGED
    put(f"the {legs} journals replay to the same digests and the same verdicts", file=out)
    return 0 if checked.report.ok else FAILED
