"""Record the traffic of a client and a service, without secrets.

The recorder stands between a client and any service that speaks this interface. Point the client
at the addresses that it prints. It forwards everything, including WebSockets and gRPC streams.

examples:
  sim record --to session.ndjson --gateway https://gateway.example
  sim record --shapes service.json --probe safe --gateway https://gateway.example
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from sim.cli.arguments import Options, check_writable, from_options, port_base
from sim.read.layout import put

_PLANES = ("gateway", "retail", "exchange", "auth")
DEFAULT_BASE = 19080


def add_arguments(parser: Options) -> None:
    to = "the new file to write, readable only by you"
    parser.add_option("--to", to, metavar="FILE", type=Path)
    shapes = "write what the session shows without any value, beside --to or instead of it"
    parser.add_path("--shapes", "FILE", shapes)
    for plane in _PLANES:
        parser.add_text(f"--{plane}", "URL", f"address of the service's {plane} plane")
    target = "the service's gRPC address; TLS if the other addresses are https, or with grpcs://"
    parser.add_text("--grpc", "HOST:PORT", target)
    authorities = "trust these CA certificates for the service instead of the system's"
    parser.add_path("--ca", "FILE", authorities)
    parser.add_option("--host", "address to listen on", default="127.0.0.1")
    ports = f"use ports N to N+4; 0 takes free ones (default {DEFAULT_BASE})"
    parser.add_option("--port-base", ports, type=port_base, default=DEFAULT_BASE, metavar="N")
    parser.add_path("--ready-file", "PATH", "write the addresses as JSON once all of them accept")
    plan = "make the calls of this plan, which change nothing, and end: a file, or safe"
    parser.add_text("--probe", "PLAN", plan)
    parser.add_flag("--dry-run", "with --probe: print the calls and make none")
    parser.add_text("--note", "TEXT", "a note for the file's first line")


def problems(args: argparse.Namespace) -> Iterator[str]:
    upstream = _upstream(args)
    if not upstream and not args.dry_run:
        yield "name a service to forward to: --gateway, --retail, --exchange, --auth or --grpc"
    for plane in _PLANES:
        address = upstream.get(plane, "https://")
        if not address.startswith(("http://", "https://")):
            yield f"--{plane} must begin with http:// or https://, not {address!r}"
    if args.dry_run and args.probe is None:
        yield "--dry-run needs --probe PLAN"
    if args.to is None and args.shapes is None and not args.dry_run:
        yield "name a file to write: --to FILE, --shapes FILE, or both"
    for path in (args.to, args.shapes):
        if path is not None and path.exists():
            yield f"{path} exists already and is not overwritten; choose another file"


def run(args: argparse.Namespace) -> int:
    from sim.server.recorder.probe import listed, read_plan
    from sim.server.recorder.recorder import RecordOptions, record

    plan = read_plan(args.probe) if args.probe else None
    if args.dry_run and plan is not None:
        put(*listed(plan))
        return 0
    check_writable([args.ready_file], [path.parent for path in (args.to, args.shapes) if path])
    with TemporaryDirectory() as folder:
        to = args.to or Path(folder) / "session.ndjson"
        options = from_options(RecordOptions, args, upstream=_upstream(args), to=to, probe=plan)
        code = record(options)
        if args.shapes is not None and code in (0, 130):
            _write_shapes(to, args.shapes)
    return code


def _write_shapes(recorded: Path, to: Path) -> None:
    from sim.evidence.recording.reading import read_recording
    from sim.evidence.shapes import write_shapes

    write_shapes(read_recording(recorded), to)
    put(f"what the session shows, without its values, is {to}")


def _upstream(args: argparse.Namespace) -> dict[str, str]:
    """The address of each plane that is named."""
    named = {plane: getattr(args, plane) for plane in (*_PLANES, "grpc")}
    return {plane: address.rstrip("/") for plane, address in named.items() if address}
