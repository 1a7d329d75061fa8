"""Fetch a bearer token from a served simulation."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any


def token(ready: dict[str, Any], name: str = "") -> str:
    """An access token of a firm, the first one if none is named."""
    import jwt

    firm = next(firm for firm in ready["firms"] if name in ("", firm["firm"]))
    now = int(time.time())
    claims = {
        "iss": firm["client_id"],
        "sub": firm["client_id"],
        "aud": firm["audience"],
        "iat": now,
        "exp": now + 240,
        "jti": f"bench-{time.time_ns()}",
    }
    form = {
        "grant_type": "client_credentials",
        "client_id": firm["client_id"],
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode(
            claims, Path(firm["private_key_path"]).read_bytes(), algorithm="RS256"
        ),
        "audience": firm["audience"],
    }
    with urllib.request.urlopen(
        ready["auth"] + "/oauth/token", data=urllib.parse.urlencode(form).encode()
    ) as answer:
        return str(json.load(answer)["access_token"])
