"""Record what a client and a service say, without their secrets.

The recorder stands between a client and any service that speaks this interface. Point the client
at the addresses that it prints: it passes everything on, sockets and gRPC streams too.

example:
  sim record --to session.ndjson --gateway https://gateway.example
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from sim.cli.arguments import (
    COULD_NOT_LISTEN,
    add_option,
    add_path,
    add_text,
    check_writable,
    from_options,
    port_base,
)

_PLANES = ("gateway", "retail", "exchange", "auth")
DEFAULT_BASE = 19080


def add_arguments(parser: argparse.ArgumentParser) -> None:
    to = "the file to write; it must not exist yet; only you can read it"
    add_option(parser, "--to", to, metavar="FILE", type=Path, required=True)
    for plane in _PLANES:
        add_text(parser, f"--{plane}", "URL", f"address of the service's {plane} plane")
    target = "its gRPC address; over TLS where the other addresses are https, or as grpcs:// says"
    add_text(parser, "--grpc", "HOST:PORT", target)
    authorities = "certificates to trust for the service, instead of this machine's"
    add_path(parser, "--ca", "FILE", authorities)
    add_option(parser, "--host", "address to listen on", default="127.0.0.1")
    ports = f"use ports N to N+4; 0 takes free ones (default {DEFAULT_BASE})"
    add_option(parser, "--port-base", ports, type=port_base, default=DEFAULT_BASE, metavar="N")
    add_path(parser, "--ready-file", "PATH", "write the addresses as JSON once all of them accept")
    add_text(parser, "--note", "TEXT", "written into the file's first line")


def problems(args: argparse.Namespace) -> Iterator[str]:
    upstream = _upstream(args)
    if not upstream:
        yield "say what to pass on to: --gateway, --retail, --exchange, --auth or --grpc"
    for plane in _PLANES:
        address = upstream.get(plane, "https://")
        if not address.startswith(("http://", "https://")):
            yield f"--{plane} is a URL that begins with http:// or https://, not {address!r}"
    if args.to is not None and args.to.exists():
        yield f"{args.to} is there already: a recording is not written over"


def run(args: argparse.Namespace) -> int:
    from sim.recording.recorder import RecordOptions, record
    from sim.server.listeners import CouldNotListen

    check_writable([args.ready_file], [args.to.parent])
    options = from_options(RecordOptions, args, upstream=_upstream(args))
    try:
        return record(options)
    except CouldNotListen as error:
        print(f"sim: {error}", file=sys.stderr)
        return COULD_NOT_LISTEN


def _upstream(args: argparse.Namespace) -> dict[str, str]:
    """The address of each plane that is named."""
    named = {plane: getattr(args, plane) for plane in (*_PLANES, "grpc")}
    return {plane: address.rstrip("/") for plane, address in named.items() if address}
