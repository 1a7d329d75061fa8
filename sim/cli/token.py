"""Print an access token of a firm, for curl.

examples:
  curl -H "Authorization: Bearer $(sim token)" http://127.0.0.1:18082/v1/whoami
  sim token --user mara-voss --ready-file ready.json
"""

from __future__ import annotations

import argparse
import uuid
from typing import Any

from sim.cli.arguments import Options, usage_error
from sim.cli.running_exchange import add_exchange, ask, facts_of, now_ns


def add_arguments(parser: Options) -> None:
    parser.add_text(
        "--firm",
        "FIRM",
        "the firm's name, its last part, or its client id (default: the first firm)",
    )
    user = "a participant instead; the token is its firm's, to use with X-Participant-Id"
    parser.add_text("--user", "USER", user)
    add_exchange(parser)


def run(args: argparse.Namespace) -> int:
    from sim.run.client.credentials import token_form

    facts = facts_of(args)
    firms = [firm for firm in facts["firms"] if _is_selected(firm, args)]
    if not firms:
        names = [name for firm in facts["firms"] for name in (firm["firm"], *firm["users"])]
        word = args.user or args.firm
        return usage_error(f"there is no firm or participant {word!r}; known: {', '.join(names)}")
    form = token_form(firms[0], now_ns(args, facts) // 1_000_000_000, str(uuid.uuid4()))
    print(ask(f"{facts['auth']}/oauth/token", form, facts["tls_ca"])["access_token"])
    return 0


def _is_selected(firm: dict[str, Any], args: argparse.Namespace) -> bool:
    names = (firm["firm"], firm["firm"].rpartition("/")[2], firm["client_id"])
    users = {part for user in firm["users"] for part in (user, user.rpartition("/")[2])}
    users |= set(firm["accounts"])
    return args.firm in ("", *names) and args.user in ("", *users)
