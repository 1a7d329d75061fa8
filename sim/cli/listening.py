"""Options about listening, and the serving that `sim serve` and `sim replay --serve` share."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.arguments import COULD_NOT_LISTEN, add_option, usage_error

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.simulation import Simulation

DEFAULT_BASE, LAST_BASE = 18080, 65529
PROCESS_START = time.perf_counter()


def add_listening(parser: argparse.ArgumentParser, default_clock: str) -> None:
    """Add what says where to listen, by which clock, and how answers look."""
    parser.add_argument(
        "--clock",
        metavar="MODE",
        default="",
        help=f"manual, autojump, paced or paced:60 (default: {default_clock})",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; the control plane asks for a token unless it is loopback",
    )
    parser.add_argument(
        "--port-base",
        type=int,
        default=DEFAULT_BASE,
        metavar="N",
        help=f"use ports N to N+6; 0 takes free ones (default {DEFAULT_BASE})",
    )
    parser.add_argument(
        "--tls", type=Path, metavar="DIR", help="serve over TLS; writes the local CA to DIR/ca.pem"
    )
    parser.add_argument(
        "--ready-file",
        type=Path,
        metavar="PATH",
        help="write addresses and credentials as JSON once every listener accepts",
    )
    parser.add_argument(
        "--latency",
        choices=("elide", "hold"),
        default="elide",
        help="on a manual clock: answer slow calls at once, or hold them until the clock moves",
    )
    add_option(
        parser,
        "--no-debug-headers",
        former="--opaque",
        action="store_true",
        help="send no x-sim-* headers",
    )
    parser.add_argument(
        "--vendor-prefix", action="store_true", help="use the vendor-prefixed JSON names of §2.10"
    )
    parser.add_argument(
        "--client-clock",
        choices=("either", "virtual", "wall"),
        default="either",
        help="the clock that assertions and signed timestamps of clients are checked against",
    )
    parser.add_argument(
        "--webhook-clock",
        choices=("auto", "virtual", "wall"),
        default="auto",
        help="the clock that stamps webhooks; auto: virtual while it is near the wall clock",
    )
    parser.add_argument(
        "--webhook-host",
        action="append",
        default=[],
        metavar="HOST",
        help="allow webhooks to this host, besides loopback; repeatable",
    )
    parser.add_argument(
        "--scenarios",
        type=Path,
        metavar="DIR",
        help="folder of scenario files that the control plane may start instances from",
    )
    parser.add_argument(
        "--control-token", default="", metavar="TOKEN", help="bearer token of the control plane"
    )
    parser.add_argument("--log-format", choices=("text", "json"), default="text")


def listen(
    args: argparse.Namespace,
    clock: str,
    build: Callable[[Settings], Simulation],
    journal: Path | None = None,
) -> int:
    """Serve the simulation that `build` returns, with the options of `add_listening`."""
    from sim.api.pipeline.settings import Settings
    from sim.server.clock_driver import parse_clock_mode
    from sim.server.listeners import CouldNotListen
    from sim.server.logs import set_up_logging

    try:
        mode = parse_clock_mode(clock)
    except ValueError as error:
        return usage_error(str(error))
    if not 0 <= args.port_base <= LAST_BASE:
        return usage_error(f"--port-base is 0 or up to {LAST_BASE}")
    if args.scenarios is not None and not args.scenarios.is_dir():
        return usage_error(f"--scenarios {args.scenarios}: no such folder")
    set_up_logging(args.log_format)
    from sim.server.serve import ServeOptions, serve

    settings = Settings(
        host=args.host,
        latency=args.latency,
        opaque=args.no_debug_headers,
        vendor_prefix=args.vendor_prefix,
        client_clock=args.client_clock,
        webhook_clock=args.webhook_clock,
        scenarios=str(args.scenarios.resolve()) if args.scenarios else "",
        webhook_hosts=tuple(host.lower() for host in args.webhook_host),
    )
    options = ServeOptions(
        settings=settings,
        clock=mode,
        port_base=args.port_base,
        tls=args.tls,
        ready_file=args.ready_file,
        journal=journal,
        control_token=args.control_token,
        began=PROCESS_START,
    )
    try:
        return serve(options, build)
    except CouldNotListen as error:
        print(f"sim: {error}", file=sys.stderr)
        return COULD_NOT_LISTEN
