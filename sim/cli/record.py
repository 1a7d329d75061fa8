"""Record the traffic of a client and a service, without secrets.

The recorder stands between a client and any service that speaks this interface. Point the client
at the addresses that it prints. It forwards everything, including WebSockets and gRPC streams.

example:
  sim record --to session.ndjson --gateway https://gateway.example
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from sim.cli.arguments import Options, check_writable, from_options, port_base

_PLANES = ("gateway", "retail", "exchange", "auth")
DEFAULT_BASE = 19080


def add_arguments(parser: Options) -> None:
    to = "the new file to write, readable only by you"
    parser.add_option("--to", to, metavar="FILE", type=Path, required=True)
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
    parser.add_text("--note", "TEXT", "a note for the file's first line")


def problems(args: argparse.Namespace) -> Iterator[str]:
    upstream = _upstream(args)
    if not upstream:
        yield "name a service to forward to: --gateway, --retail, --exchange, --auth or --grpc"
    for plane in _PLANES:
        address = upstream.get(plane, "https://")
        if not address.startswith(("http://", "https://")):
            yield f"--{plane} must begin with http:// or https://, not {address!r}"
    if args.to is not None and args.to.exists():
        yield f"{args.to} exists already and is not overwritten; choose another file"


def run(args: argparse.Namespace) -> int:
    from sim.server.recorder.recorder import RecordOptions, record

    check_writable([args.ready_file], [args.to.parent])
    options = from_options(RecordOptions, args, upstream=_upstream(args))
    return record(options)


def _upstream(args: argparse.Namespace) -> dict[str, str]:
    """The address of each plane that is named."""
    named = {plane: getattr(args, plane) for plane in (*_PLANES, "grpc")}
    return {plane: address.rstrip("/") for plane, address in named.items() if address}
