"""Serve tools for coding agents over the Model Context Protocol.

An agent can start exchanges, call them, move their clocks, and read what happened and why. The
exchanges that it starts end with its session. Requires pip install 'sandbox-exchange[mcp]'.

example:
  sim mcp
  sim mcp --http 127.0.0.1:18090
"""

from __future__ import annotations

import argparse
import asyncio

from sim.cli.arguments import Options, usage_error
from sim.read.layout import put

MISSING = "`sim mcp` needs the official SDK: pip install 'sandbox-exchange[mcp]'"


def add_arguments(parser: Options) -> None:
    http = "serve over HTTP there and print the address, instead of standard input and output"
    parser.add_text("--http", "HOST:PORT", http)
    lease = "end exchanges that nobody has used for N minutes (default 30)"
    parser.add_option("--lease", lease, type=float, default=30.0, metavar="N")


def run(args: argparse.Namespace) -> int:
    try:
        from sim.agents import mcp_server
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] in ("mcp", "mcp_types", "uvicorn"):
            return usage_error(MISSING)
        raise
    from sim.server.listeners import is_loopback

    lease_s = args.lease * 60
    if not 0 < lease_s < 7 * 86_400:
        return usage_error("--lease is a number of minutes above 0, at most a week")
    if not args.http:
        asyncio.run(mcp_server.serve_stdio(lease_s, _version()))
        return 0
    host, _, port = args.http.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        return usage_error(f"--http must be HOST:PORT, such as 127.0.0.1:18090, not {args.http!r}")
    if not is_loopback(host):
        return usage_error("--http listens on loopback only: who reaches it can start exchanges")
    asyncio.run(mcp_server.serve_http(host, int(port), lease_s, _version(), _announce))
    return 0


def _announce(address: str) -> None:
    put(f"MCP over HTTP at {address}", flush=True)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sandbox-exchange")
    except PackageNotFoundError:
        return "0"
