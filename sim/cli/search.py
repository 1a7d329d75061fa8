"""`sim sweep`, and what else looks for trouble over many runs: arguments in, exit codes out."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sim.cli.arguments import (
    FAILED,
    USAGE,
    add_option,
    count,
    ordinal,
    params_of,
    read_more_than_once,
    seeds_of,
    will_be_written,
)


def add(commands: Any, presets: tuple[str, ...]) -> None:
    """Add the parsers of this group."""
    command = commands.add_parser(
        "sweep",
        help="scenarios over many seeds and under other assumptions, quirks, presets: one table",
        description=(
            "Runs scenarios over seeds, and under each alternative of what the specification leaves"
            " open. Invariants of money, positions, orders and books are looked at after every"
            " input, seldomer over 1,000 open orders. Without --seeds and --vary it"
            " varies assumptions and quirks."
        ),
        epilog=(
            "examples:\n  sim sweep my.yaml --seeds 1..1000\n  sim sweep my.yaml --vary assumptions"
            " --only 'webhook.*'\n  sim sweep my.yaml --seeds 1..50 --vary presets --json"
            " sweep.json --save-failures runs/failed\n  sim sweep quickstart --seeds 1..1000 --fuzz 200"
            " --shrink smallest.yaml"
        ),
    )
    command.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="bundled name or file")
    command.add_argument(
        "--seeds",
        "--seed",
        default="",
        metavar="A..B",
        help="every seed of the range (default: the scenario's own)",
    )
    add_option(
        command,
        "--vary",
        old="--over",
        action="append",
        default=[],
        choices=("assumptions", "quirks", "presets"),
        help="also run under every alternative of these; repeatable",
    )
    add_option(
        command,
        "--fuzz",
        old="--storm",
        type=count,
        default=0,
        metavar="N",
        help="append N random steps and a few random faults, drawn from the seed",
    )
    add_option(
        command,
        "--verify",
        old="--prove",
        action="store_true",
        help="run everything twice and replay each journal: digests and lines must be the same",
    )
    command.add_argument(
        "--shrink",
        type=Path,
        metavar="FILE",
        help="write the first failing run as the smallest scenario that still fails",
    )
    command.add_argument(
        "--only",
        default="*",
        metavar="NAME",
        help="with --vary: only names that match this pattern, such as 'webhook.*'",
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter; of a matrix only what agrees with it runs",
    )
    command.add_argument(
        "--preset", choices=presets, default="", help="all quirks and faults at once, in every run"
    )
    command.add_argument(
        "--jobs",
        type=ordinal,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at once (default: the machine's processors)",
    )
    command.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="run on a Dask cluster, such as tcp://10.0.0.1:8786, whose workers have this package",
    )
    command.add_argument(
        "--json",
        default="",
        metavar="FILE",
        help="write table and failures as JSON; the same sweep writes the same bytes",
    )
    command.add_argument(
        "--results", default="", metavar="FILE", help="write one JSON line per run, as it finishes"
    )
    command.add_argument(
        "--resume", action="store_true", help="skip the runs that stand in --results"
    )
    add_option(
        command,
        "--save-failures",
        old="--keep",
        default="",
        metavar="DIR",
        help="write the journals of failed runs to this folder",
    )
    command.set_defaults(run=_sweep)
    command = commands.add_parser(
        "bisect",
        help="the input after which something stopped being true, or at which two journals part",
        description=(
            "Replays a journal and finds the first input after which an expectation, or else an"
            " invariant of the exchange, no longer holds. With two journals: where they part, and"
            " how their states differ after it."
        ),
        epilog=(
            "examples:\n  sim bisect run.ndjson\n  sim bisect run.ndjson --expect '{balance:"
            " {account: maker, cash: \"100000\"}}'\n  sim bisect run.ndjson --expect '{order:"
            " {clord_id: bid-3, state: FILLED}}' --becomes true\n  sim bisect yesterday.ndjson"
            " today.ndjson\n\nexit 0: it holds all the time, or the journals are the same; 1:"
            " found; 2: cannot be read; 3: the journal no longer replays"
        ),
    )
    command.add_argument(
        "journals", nargs="+", metavar="JOURNAL", help="one to look into, or two to compare"
    )
    command.add_argument(
        "--expect",
        default="",
        metavar="YAML",
        help="what should hold, as in a step's `expect`; default: the invariants",
    )
    command.add_argument(
        "--becomes",
        choices=("false", "true"),
        default="false",
        help="look for where it turns false (default) or true",
    )
    command.add_argument(
        "--every",
        type=count,
        default=0,
        metavar="N",
        help="look after every N-th line first (default: about 5000 looks in all)",
    )
    command.set_defaults(run=_bisect)
    command = commands.add_parser(
        "shrink",
        help="the smallest scenario file that still fails in the same way",
        description=(
            "Leaves out steps, faults, settings, keys and times as long as the same step fails with"
            " the same words, or the same invariant breaks. A journal of a client's session is"
            " written as a scenario first."
        ),
        epilog=(
            "examples:\n  sim shrink failing.yaml --out small.yaml\n  sim shrink my.yaml --seeds"
            " 1..1000 --because faults\n  sim shrink run.ndjson --expect '{open_orders: {as: maker,"
            " count: 1}}'\n\nexit 0: written; 2: it does not fail, or cannot be read"
        ),
    )
    command.add_argument(
        "what",
        metavar="SCENARIO|JOURNAL",
        help="a scenario that fails, or a journal after which --expect does not hold",
    )
    command.add_argument(
        "--seeds",
        "--seed",
        default="",
        metavar="A..B",
        help="the first of these seeds that fails (default: the scenario's own)",
    )
    command.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter"
    )
    command.add_argument(
        "--preset",
        choices=presets,
        default="",
        help="all quirks and faults at once, instead of the scenario's preset",
    )
    command.add_argument(
        "--expect",
        default="",
        metavar="YAML",
        help="of a journal: what should hold at its end; default: the invariants",
    )
    add_option(
        command,
        "--because",
        old="--unless",
        default="",
        metavar="WHAT",
        help=(
            "the cause that the smaller scenario must keep: faults, quirks, assumptions, preset,"
            " seed=N, a step, or nothing (default: the command finds the cause)"
        ),
    )
    command.add_argument(
        "--any",
        action="store_true",
        help="any failure of the failing step will do, not only one of the same words",
    )
    command.add_argument(
        "--trials",
        type=ordinal,
        default=3000,
        metavar="N",
        help="runs to spend at most (default 3000)",
    )
    command.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where the scenario goes (default: NAME-small.yaml here)",
    )
    command.set_defaults(run=_shrink)
    command = commands.add_parser(
        "explore",
        help="every fault at every point that a scenario, or your test-suite, passes",
        description=(
            "Watches a run to learn which fault points it passes (calls, stream frames, webhook"
            " deliveries, orders on their way into the book), then runs it again once for every"
            " documented fault at each. Tests are those that use the `exchange` fixture; what"
            " follows `--` goes to pytest."
        ),
        epilog=(
            "examples:\n  sim explore my.yaml\n  sim explore tests/test_my_client.py --faults"
            " 'lost*' -- -k orders -x\n  sim explore tests/ --operations InsertOrder --json"
            " explored.json\n\nexit 1: something was not survived"
        ),
    )
    command.add_argument(
        "what",
        nargs="+",
        metavar="SCENARIO|TESTS",
        help="scenarios; or files, folders and ids of tests, and pytest's own options after --",
    )
    command.add_argument(
        "--operations",
        default="*",
        metavar="NAME",
        help="only at operations that match, such as InsertOrder or 'RetailOrdersAPI.*'",
    )
    add_option(
        command,
        "--faults",
        old="--attacks",
        default="*",
        metavar="NAME",
        help="only faults that match: error, limited, lost, late, reset, hang, drop, ...",
    )
    add_option(
        command,
        "--max-occurrences",
        old="--each",
        type=count,
        default=0,
        metavar="N",
        help="only the first N times that the run passes each point",
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter of the scenario",
    )
    command.add_argument(
        "--jobs",
        type=ordinal,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at once, for scenarios (default: the processors)",
    )
    command.add_argument("--json", default="", metavar="FILE", help="write every trial as JSON")
    command.set_defaults(run=_explore)


def _sweep(given: argparse.Namespace) -> int:
    from sim.analysis.search.campaign import RunPlan
    from sim.analysis.search.sweep import sweep, variations
    from sim.analysis.search.workers import NoWorkers
    from sim.scenario.yaml_tree import ScenarioError

    try:
        seeds = seeds_of(given.seeds)
        if given.resume and not given.results:
            raise ValueError("--resume needs --results FILE, which holds what is done")
        kinds = given.vary or (() if given.seeds or given.fuzz else ("assumptions", "quirks"))
        wanted = RunPlan(
            scenarios=given.scenarios,
            seeds=seeds,
            jobs=given.jobs,
            params=params_of(given.param),
            preset=given.preset,
            results=given.results,
            resume=given.resume,
            save_failures=given.save_failures,
            variations=variations(given.scenarios, kinds, given.only),
            fuzz=given.fuzz,
            verify=given.verify,
            cluster=given.cluster,
        )
        will_be_written(
            files=(given.json, given.results, given.shrink),
            folders=() if given.cluster else (given.save_failures,),
        )
        if given.vary and len(wanted.variations) == 1:
            raise ValueError(
                f"nothing of {' and '.join(given.vary)} is called {given.only!r}: `sim catalogue`"
                " lists the names"
            )
        return 0 if sweep(wanted, sys.stdout, sys.stderr, given.json, given.shrink) else FAILED
    except ScenarioError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
    except (ValueError, NoWorkers) as error:
        print(f"sim: {error}", file=sys.stderr)
    return USAGE


def _bisect(given: argparse.Namespace) -> int:
    from msgspec import DecodeError

    from sim.analysis.replay import DIVERGED, Divergence, say_divergence
    from sim.analysis.search.bisect import bisect, expecting, sound
    from sim.analysis.search.compare import compare
    from sim.kernel.journal import NotAJournal, unreadable
    from sim.scenario.yaml_tree import ScenarioError

    paths = [Path(name) for name in given.journals]
    if len(paths) > 2 or (len(paths) == 2 and given.expect):
        print("sim: one journal with a question, or two to compare", file=sys.stderr)
        return USAGE
    try:
        read_more_than_once(*given.journals)
        if len(paths) == 2:
            return 0 if compare(paths[0], paths[1], sys.stdout) else FAILED
        ask, what = (
            (expecting(given.expect), given.expect) if given.expect else (sound, "the invariants")
        )
        return (
            0
            if bisect(
                paths[0], ask, what, sys.stdout, to=given.becomes == "true", every=given.every
            )
            else FAILED
        )
    except ScenarioError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
    except Divergence as found:
        say_divergence(given.journals[0], found, sys.stderr)
        return DIVERGED
    except (OSError, NotAJournal, DecodeError) as error:
        print(
            f"{error.filename if isinstance(error, OSError) else paths[0]}:1:1:"
            f" {unreadable(error)}",
            file=sys.stderr,
        )
    except ValueError as error:
        print(f"sim: {error}", file=sys.stderr)
    return USAGE


def _shrink(given: argparse.Namespace) -> int:
    from sim.analysis.replay import DIVERGED, Divergence, say_divergence
    from sim.analysis.search.shrink_command import ShrinkRequest, shrink
    from sim.kernel.journal import NotAJournal
    from sim.scenario.yaml_tree import ScenarioError

    try:
        read_more_than_once(given.what)
        will_be_written(files=(given.out,))
        asked = ShrinkRequest(
            what=given.what,
            seeds=seeds_of(given.seeds),
            params=params_of(given.param),
            preset=given.preset,
            expect=given.expect,
            because=given.because,
            any_failure=given.any,
            trials=given.trials,
            out=given.out,
        )
        shrink(asked, sys.stdout, sys.stderr)
        return 0
    except ScenarioError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
    except Divergence as found:
        say_divergence(given.what, found, sys.stderr)
        return DIVERGED
    except (ValueError, NotAJournal) as error:
        print(f"sim: {error}", file=sys.stderr)
    return USAGE


def _explore(given: argparse.Namespace) -> int:
    from sim.scenario.yaml_tree import ScenarioError

    if any("::" in one or one.endswith(".py") or Path(one).is_dir() for one in given.what):
        # A process of its own: pytest rewrites what it imports, and here too much is imported
        # already.
        options = [
            "--explore",
            f"--explore-operations={given.operations}",
            f"--explore-faults={given.faults}",
            f"--explore-max-occurrences={given.max_occurrences}",
        ]
        code = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                *given.what,
                *given.rest,
                *options,
                f"--explore-json={given.json}",
            ],
            check=False,
        ).returncode
        return code if code in (0, FAILED) else USAGE
    from sim.analysis.search.explore import ExploreRequest, explore
    from sim.analysis.search.workers import NoWorkers

    will_be_written(files=(given.json,))
    try:
        wanted = ExploreRequest(
            scenarios=given.what,
            params=params_of(given.param),
            operations=given.operations,
            faults=given.faults,
            max_occurrences=given.max_occurrences,
            jobs=given.jobs,
            json=given.json,
        )
        return 0 if explore(wanted, sys.stdout, sys.stderr) else FAILED
    except ScenarioError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
    except (ValueError, NoWorkers) as error:
        print(f"sim: {error}", file=sys.stderr)
    return USAGE
