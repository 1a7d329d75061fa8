"""Write a collection of every REST operation for Bruno or Postman.

A script of the collection signs the requests. Each request checks the status that a fresh exchange
answers, so the whole collection passes in the apps and in their command-line runners.

examples:
  sim collection postman --out collection --ready-file ready.json
  npx newman run collection/sandbox.postman_collection.json \\
    -e collection/sandbox.postman_environment.json --delay-request 60
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from sim.cli.arguments import Options, usage_error
from sim.read.layout import counted, put

_KINDS = ("bruno", "postman")


def add_arguments(parser: Options) -> None:
    kind = {"metavar": "bruno|postman", "help": "the application"}
    parser.add_argument("kind", choices=_KINDS, **kind)  # type: ignore[arg-type]
    parser.add_path("--out", "DIR", "folder to write to")
    ready = "addresses and credentials of a running exchange (default: the quickstart's ports)"
    parser.add_path("--ready-file", "PATH", ready)


def run(args: argparse.Namespace) -> int:
    if args.out is None:
        return usage_error("name a folder to write to: --out DIR")
    from sim.cli.running_exchange import default_facts, facts_in
    from sim.testing.collection_files import bruno_files, environment, postman_files
    from sim.testing.collection_requests import requests

    facts = facts_in(args.ready_file) if args.ready_file is not None else None
    simulation, exact = _simulation(facts)
    rows = requests(simulation)
    if not exact:
        from msgspec.structs import replace

        rows = [replace(row, status=0) for row in rows]
    variables = environment(facts if facts is not None else default_facts())
    files = (bruno_files if args.kind == "bruno" else postman_files)(rows, variables)
    folder: Path = args.out
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    put(f"{len(rows)} requests in {counted(len(files), 'file')} in {folder}; on a fresh exchange:")
    at = shlex.quote(str(folder))
    if args.kind == "bruno":
        put(f"  cd {at} && npx @usebruno/cli run -r --env sandbox --delay 60")
    else:
        put(f"  npx newman run {at}/sandbox.postman_collection.json \\")
        put(f"    -e {at}/sandbox.postman_environment.json --delay-request 60")
    put("The environment holds credentials of this exchange.")
    return 0


def _simulation(facts: dict[str, Any] | None) -> tuple[Any, bool]:
    """A run like the one that is served, and whether it is identical."""
    from sim.kernel import resources
    from sim.run.loader.load import load_scenario
    from sim.run.simulation import Simulation

    name = "quickstart" if facts is None else facts["scenario"]
    if name not in resources.bundled_scenarios():
        return Simulation(load_scenario("quickstart")), False
    seed = None if facts is None else facts["seed"]
    return Simulation(load_scenario(name), seed=seed), True
