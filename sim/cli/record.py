"""Record what a client and a service say, without their secrets.

The recorder stands between a client and any service that speaks this interface. Point the client
at the addresses that it prints: it passes everything on, sockets and gRPC streams too.

example:
  sim record --to session.ndjson --gateway https://gateway.example
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from sim.cli.arguments import (
    COULD_NOT_LISTEN,
    add_option,
    add_path,
    add_text,
    check_writable,
    usage_error,
)

_PLANES = ("gateway", "retail", "exchange", "auth")
DEFAULT_BASE, LAST_BASE = 19080, 65529


def add_arguments(parser: argparse.ArgumentParser) -> None:
    to = "the file to write; it may not exist yet, and only you may read it"
    add_option(parser, "--to", to, metavar="FILE", type=Path, required=True)
    for plane in _PLANES:
        add_text(parser, f"--{plane}", "URL", f"address of the service's {plane} plane")
    target = "its gRPC address; over TLS where the other addresses are https, or as grpcs:// says"
    add_text(parser, "--grpc", "HOST:PORT", target)
    authorities = "certificates to trust for the service, instead of this machine's"
    add_path(parser, "--ca", "FILE", authorities)
    add_option(parser, "--host", "address to listen on", default="127.0.0.1")
    ports = f"use ports N to N+4; 0 takes free ones (default {DEFAULT_BASE})"
    add_option(parser, "--port-base", ports, type=int, default=DEFAULT_BASE, metavar="N")
    add_path(parser, "--ready-file", "PATH", "write the addresses as JSON once all of them accept")
    add_text(parser, "--note", "TEXT", "written into the file's first line")


def run(args: argparse.Namespace) -> int:
    from sim.recording.recorder import RecordOptions, record
    from sim.server.listeners import CouldNotListen

    upstream = {plane: getattr(args, plane) for plane in (*_PLANES, "grpc")}
    upstream = {plane: address.rstrip("/") for plane, address in upstream.items() if address}
    if problem := _problem(args, upstream):
        return usage_error(problem)
    check_writable([args.ready_file], [args.to.parent])
    options = RecordOptions(
        to=args.to,
        upstream=upstream,
        host=args.host,
        port_base=args.port_base,
        ready_file=args.ready_file,
        ca=args.ca,
        note=args.note,
    )
    try:
        return record(options)
    except CouldNotListen as error:
        print(f"sim: {error}", file=sys.stderr)
        return COULD_NOT_LISTEN


def _problem(args: Any, upstream: dict[str, str]) -> str:
    """What is wrong with the options; "" if nothing."""
    if not upstream:
        return "say what to pass on to: --gateway, --retail, --exchange, --auth or --grpc"
    for plane in _PLANES:
        address = upstream.get(plane, "https://")
        if not address.startswith(("http://", "https://")):
            return f"--{plane} is a URL that begins with http:// or https://, not {address!r}"
    if args.port_base and not 1 <= args.port_base <= LAST_BASE:
        return f"--port-base is 0 or a port from 1 to {LAST_BASE}"
    if args.to.exists():
        return f"{args.to} is there already: a recording is not written over"
    return ""
