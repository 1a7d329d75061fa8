"""What no recording can show, and why: it is not observed, however rich the session."""

from __future__ import annotations

# A recording has a fingerprint of what a client signs, and a replay signs anew by its own clock.
SIGNED = frozenset(("token.assertion_life_max", "auth.client_clock", "auth.timestamp_tolerance"))

_SIGNED = "signatures are fingerprints in a recording, and signed anew for a replay"
_TEXTS = "texts of refusals are not compared"
_HEADERS = "headers for browsers are not compared"
_WEBHOOKS = "webhooks go to the partner's server, past the recorder"
_REASONS = {
    **dict.fromkeys(SIGNED, _SIGNED),
    "limits.endpoint_text": _TEXTS,
    "surfaces.browser_origins": _HEADERS,
    "webhook_duplicates": _WEBHOOKS,
}


def not_exercised(name: str) -> str:
    """Why no recording can show a value of an assumption or a quirk; "" for what one can show."""
    return _REASONS.get(name) or (_WEBHOOKS if name.startswith("webhook.") else "")
