"""aiohttp, imported without the authorities its client would trust: reading them is a tenth of the start, and only a webhook to https asks for them."""

from __future__ import annotations

import os
import ssl
import sys
from functools import lru_cache

_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def import_aiohttp() -> None:
    """For a process that is ours alone: in a user's, aiohttp is the user's too. Nothing happens where it was imported before."""
    if "aiohttp" in sys.modules:
        return
    before = {name: os.environ.get(name) for name in _PLACES}
    os.environ.update(dict.fromkeys(_PLACES, os.devnull))
    try:
        import aiohttp  # noqa: F401  # what it makes at import is the point
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@lru_cache(maxsize=1)
def authorities() -> ssl.SSLContext:
    """What an https client of ours trusts, read when the first asks."""
    return ssl.create_default_context()
