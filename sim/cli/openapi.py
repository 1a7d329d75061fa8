"""Print the OpenAPI document of one plane."""

from __future__ import annotations

import argparse

from sim.cli.arguments import Options


def add_arguments(parser: Options) -> None:
    planes = ("gateway", "retail", "exchange", "auth", "control")
    plane = "plane (default: exchange)"
    parser.add_argument("plane", nargs="?", default="exchange", choices=planes, help=plane)
    at = "the interface as of this instant (default: the start of the quickstart)"
    parser.add_instant("--at", at)


def run(args: argparse.Namespace) -> int:
    import json

    if args.plane == "control":
        from sim.server.control.openapi import control_openapi

        print(json.dumps(control_openapi(), indent=2))
        return 0
    from sim.contract.contract import load_contract
    from sim.contract.openapi import openapi_document
    from sim.world.format.scenario import DEFAULT_START

    at = DEFAULT_START if args.at is None else args.at
    print(json.dumps(openapi_document(load_contract(), args.plane, at), indent=2))
    return 0
