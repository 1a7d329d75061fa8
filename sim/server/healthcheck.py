"""`python -m sim.server.healthcheck`: checks that the server of `SIM_READY_FILE` is ready and
answers.

This is the health check of the container. It calls the control plane, so that the journal does not
grow, and uses loopback, because the public host name may not resolve inside. Exit code 0 for yes, 1
with a message for no. It uses only the standard library, because it runs every few seconds.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

_ANSWER_S = 2.0


def problem(path: str) -> str:
    """The problem of the server of a ready file, or ""."""
    try:
        with open(path, encoding="utf-8") as file:
            ready = json.load(file)
        url = urlsplit(ready["control"])
        context = ssl.create_default_context(cafile=ready["tls_ca"]) if ready["tls_ca"] else None
        address = f"{url.scheme}://127.0.0.1:{url.port}/_sim/v1/health"
        direct = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
        direct.open(address, timeout=_ANSWER_S).close()
    except FileNotFoundError:
        return f"{path or 'SIM_READY_FILE'}: the server is not ready: the file does not exist yet"
    except (OSError, URLError, ValueError, KeyError, TypeError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    if message := problem(os.environ.get("SIM_READY_FILE", "")):
        sys.exit(message)
