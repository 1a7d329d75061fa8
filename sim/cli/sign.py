"""Print the headers of a signed retail request, for curl.

A signature holds for the verb and the path, and for a few seconds.

example:
  sim sign GET /v1/account/balances |
    curl -H @- http://127.0.0.1:18081/v1/account/balances
"""

from __future__ import annotations

import argparse

from sim.cli.arguments import Options, usage_error
from sim.cli.running_exchange import add_exchange, facts_of, now_ns


def add_arguments(parser: Options) -> None:
    parser.add_argument("verb", metavar="VERB", type=_verb, help="GET, POST, …")
    parser.add_argument(
        "path", metavar="PATH", type=_path, help="from its first slash; a query is not signed"
    )
    key = "number of the API key in the ready file, from 1, or its id (default: the first)"
    parser.add_text("--key", "N", key, default="1")
    add_exchange(parser)


def run(args: argparse.Namespace) -> int:
    from sim.run.client.credentials import retail_headers

    facts = facts_of(args)
    keys = {str(n): key for n, key in enumerate(facts["api_keys"], 1)}
    keys |= {key["key_id"]: key for key in facts["api_keys"]}
    if args.key not in keys:
        key_names = ", ".join(f"{n} {key['key_id']}" for n, key in enumerate(facts["api_keys"], 1))
        return usage_error(f"--key: there is no API key {args.key!r}; known: {key_names}")
    now_ms = now_ns(args, facts) // 1_000_000
    for name, value in retail_headers(keys[args.key], args.verb, args.path, now_ms).items():
        print(f"{name}: {value}")
    return 0


def _verb(text: str) -> str:
    if not (text.isascii() and text.isalpha()):
        raise argparse.ArgumentTypeError(f"expected a verb such as GET, not {text!r}")
    return text.upper()


def _path(text: str) -> str:
    if not text.startswith("/"):
        raise argparse.ArgumentTypeError(
            f"expected a path such as /v1/account/balances, not {text!r}"
        )
    return text
