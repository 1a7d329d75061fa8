"""`python -m sim.server.healthcheck`: whether the server of `SIM_READY_FILE` is ready and answers.

The health check of the container. It asks the control plane, so that nothing stands in the journal,
and on loopback, because the public host name may have no address inside. Exit code 0 for yes, 1
with a sentence for no. Standard library only: it runs every few seconds.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

_ANSWER_S = 2.0


def problem(path: str) -> str:
    """What is wrong with the server of a ready file, or an empty text."""
    try:
        with open(path, encoding="utf-8") as file:
            ready = json.load(file)
        url = urlsplit(ready["control"])
        context = ssl.create_default_context(cafile=ready["tls_ca"]) if ready["tls_ca"] else None
        address = f"{url.scheme}://127.0.0.1:{url.port}/_sim/v1/health"
        urlopen(address, timeout=_ANSWER_S, context=context).close()
    except FileNotFoundError:
        return f"{path or 'SIM_READY_FILE'}: not written yet"
    except (OSError, URLError, ValueError, KeyError, TypeError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    if says := problem(os.environ.get("SIM_READY_FILE", "")):
        sys.exit(says)
