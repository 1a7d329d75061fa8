"""Fetch a bearer token from a served simulation."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from typing import Any


def token(ready: dict[str, Any], name: str = "") -> str:
    """An access token of a firm, the first one if none is named."""
    from sim.run.client.credentials import token_form

    firm = next(firm for firm in ready["firms"] if name in ("", firm["firm"]))
    form = token_form(firm, int(time.time()), f"bench-{time.time_ns()}")
    with urllib.request.urlopen(
        ready["auth"] + "/oauth/token", data=urllib.parse.urlencode(form).encode()
    ) as answer:
        return str(json.load(answer)["access_token"])
