"""Options about listening, and the serving that `sim serve` and `sim replay --serve` share."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.arguments import DEFAULT_BASE, Options, clock_mode, from_options, port_base
from sim.read.layout import put

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.run.simulation import Simulation
    from sim.server.watching import ScenarioWatch

TOKEN_VARIABLE = "SIM_CONTROL_TOKEN"
_TOKEN_MAX = 4096
PROCESS_START = time.perf_counter()


def add_listening(parser: Options, default_clock: str) -> None:
    """Add the options for addresses, clock and form of answers."""
    mode = (
        "how the clock moves. manual: only by command; autojump: to the next event while a client"
        " waits for an answer; fast: from event to event, as fast as clients read;"
        f" paced, paced:60: 1 or 60 virtual seconds a second (default: {default_clock})"
    )
    parser.add_text("--clock", "MODE", mode, type=clock_mode)
    host = "address to listen on; on any but loopback the control plane requires a token"
    parser.add_option("--host", host, default="127.0.0.1")
    public = "host name to use in addresses and certificates (default: --host)"
    parser.add_text("--public-host", "NAME", public)
    ports = f"use ports N to N+6; 0 takes free ones (default {DEFAULT_BASE})"
    parser.add_option("--port-base", ports, type=port_base, default=DEFAULT_BASE, metavar="N")
    parser.add_path("--tls", "DIR", "serve over TLS; writes the local CA to DIR/ca.pem")
    names = "an additional name in the certificate, for clients with fixed hosts; repeatable"
    parser.add_list("--tls-name", "NAME", names)
    ready = "write addresses and credentials as JSON once every listener accepts"
    parser.add_path("--ready-file", "PATH", ready)
    slow = "on a manual clock: answer slow calls at once, or hold them until the clock moves"
    parser.add_option("--latency", slow, choices=("elide", "hold"), default="elide")
    no_headers = "send no x-sim-* headers"
    parser.add_flag("--no-debug-headers", no_headers, dest="opaque")
    parser.add_flag(
        "--vendor-prefix", "use the vendor-prefixed JSON names of the specification, section 2.10"
    )
    checked = "clock to check clients' assertions and signed timestamps against"
    clocks = ("either", "virtual", "wall")
    parser.add_option("--client-clock", checked, choices=clocks, default="either")
    stamps = "clock that stamps webhooks; auto: virtual while it is near the wall clock"
    clocks = ("auto", "virtual", "wall")
    parser.add_option("--webhook-clock", stamps, choices=clocks, default="auto")
    hosts = "allow webhooks to this host, besides loopback; repeatable"
    parser.add_list("--webhook-host", "HOST", hosts)
    folder = "folder of scenario files that the control plane may start instances from"
    parser.add_path("--scenarios", "DIR", folder)
    token = f"file with the bearer token of the control plane; or set {TOKEN_VARIABLE}"
    parser.add_path("--control-token-file", "PATH", token)
    warning = "the token itself, which every user of this machine can then see in the process list"
    parser.add_text("--control-token", "TOKEN", warning)
    otlp = "export spans, metrics and logs to this OpenTelemetry collector (OTLP/HTTP base URL)"
    parser.add_text("--otlp", "URL", otlp, type=_collector)
    parser.add_flag("--open", "open the control room in a browser")
    parser.add_flag("--quiet", "write no line for each request, step and webhook")
    lines = "json: every line is an object with a `kind`"
    parser.add_option("--log-format", lines, choices=("text", "json"), default="text")


def _collector(text: str) -> str:
    from urllib.parse import urlsplit

    if text and (urlsplit(text).scheme not in ("http", "https") or not urlsplit(text).hostname):
        message = f"expected an address such as http://127.0.0.1:4318, not {text!r}"
        raise argparse.ArgumentTypeError(message)
    return text


def listening_problems(args: argparse.Namespace) -> Iterator[str]:
    """Problems of names and folders, and of options that need others."""
    if args.scenarios is not None and not args.scenarios.is_dir():
        yield f"--scenarios {args.scenarios}: no such folder"
    if args.otlp and find_spec("opentelemetry") is None:
        yield "--otlp needs an extra: pip install 'sandbox-exchange[otel]'"
    if args.tls_name and args.tls is None:
        yield "--tls-name needs --tls DIR"
    if not (args.public_host or args.tls_name):
        return
    from sim.server.listeners import is_host_name
    from sim.server.tls import name_problem

    public_host = args.public_host.lower()
    if public_host and not is_host_name(public_host):
        yield "--public-host must be a host name or an IP address, without scheme and port"
        public_host = ""
    for name in (*args.tls_name, public_host) if args.tls is not None else ():
        if not is_host_name(name.lower().removeprefix("*.") or "localhost"):
            yield f"--tls-name {name}: not a host name, an IP address or *.name"
        elif name and (problem := name_problem(name.lower())):
            yield f"--tls: no certificate can contain the name {name}: {problem}"


def listen(
    args: argparse.Namespace,
    clock: str,
    build: Callable[[Settings], Simulation],
    journal: Path | None = None,
    watch: Callable[[Settings], ScenarioWatch] | None = None,
) -> int:
    """Serve the simulation that `build` returns, with the options of `add_listening`."""
    from sim.api.pipeline.settings import Settings
    from sim.server.logs import set_up_logging
    from sim.world.format.clock_mode import parse_clock_mode

    args.control_token = _control_token(args)
    set_up_logging(args.log_format)
    from sim.server.serve import ServeOptions, serve

    settings = from_options(
        Settings,
        args,
        public_host=args.public_host.lower(),
        scenarios=str(args.scenarios.resolve()) if args.scenarios else "",
        webhook_hosts=tuple(host.lower() for host in args.webhook_host),
    )
    options = from_options(
        ServeOptions,
        args,
        settings=settings,
        clock=parse_clock_mode(clock),
        journal=journal,
        tls_names=tuple(name.lower() for name in args.tls_name),
        began=PROCESS_START,
        watch=watch,
    )
    return serve(options, build)


def _control_token(args: argparse.Namespace) -> str:
    """The token of the control plane from the option, its file or the environment; "" for none.
    UsageError for text that cannot be in a header; OSError.
    """
    from sim.read.errors import UsageError

    if args.control_token:
        name, token = "--control-token", args.control_token
        put(
            "warning: --control-token shows in the process list; --control-token-file and"
            f" {TOKEN_VARIABLE} do not",
            file=sys.stderr,
        )
    elif args.control_token_file is not None:
        name = f"{args.control_token_file}"
        with open(args.control_token_file, "rb") as file:
            token = file.read(_TOKEN_MAX).decode("ascii", "replace").strip()
    else:
        name, token = TOKEN_VARIABLE, os.environ.get(TOKEN_VARIABLE, "")
        if not token:
            return ""
    if not (token.isascii() and token.isprintable()) or " " in token or not token:
        raise UsageError(f"{name}: a token must be printable ASCII without spaces")
    return str(token)
