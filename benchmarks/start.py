"""From the command to every listener accepting."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.figures import Figure
from benchmarks.serving import served


def figures(rounds: int) -> list[Figure]:
    """Start to ready, beside a bare import of the libraries that the card fixes."""
    ours, bare = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        with served("quickstart"):
            ours.append((time.perf_counter() - start) * 1_000)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import aiohttp.web, grpc.aio, cryptography.hazmat.primitives.asymmetric.ed25519"], check=True)
        bare.append((time.perf_counter() - start) * 1_000)
    return [Figure("start to ready, all listeners (less is better)", "ms", ours, bare, "ms to import aiohttp and grpc", "800 ms")]
