"""Print the AsyncAPI document of the retail sockets and webhooks."""

from __future__ import annotations

import argparse

from sim.cli.arguments import Options


def add_arguments(parser: Options) -> None:
    at = "the interface as of this instant (default: the start of the quickstart)"
    parser.add_instant("--at", at)


def run(args: argparse.Namespace) -> int:
    import json

    from sim.contract.asyncapi import asyncapi_document
    from sim.contract.contract import load_contract
    from sim.core.catalogue.assumptions.webhooks import WEBHOOK_SHAPE
    from sim.server.http.interface_documents import webhook_samples
    from sim.world.format.scenario import DEFAULT_START

    at = DEFAULT_START if args.at is None else args.at
    samples = webhook_samples(str(WEBHOOK_SHAPE.default), at)
    print(json.dumps(asyncapi_document(load_contract(), at, webhooks=samples), indent=2))
    return 0
