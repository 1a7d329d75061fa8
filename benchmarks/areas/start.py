"""Processor time from the command until every listener accepts."""

from __future__ import annotations

import resource
import subprocess
import sys

from benchmarks.figures import Figure, Goal
from benchmarks.serving import processor_s, served

GOAL = Goal(1.50, lower=True)


def figures(rounds: int) -> list[Figure]:
    """Start to ready, beside a bare import of the libraries that the task fixes."""
    sandbox, bare = [], []
    for _ in range(rounds):
        with served("quickstart") as ready:
            sandbox.append(processor_s(ready["pid"]) * 1_000)
        before = _children_s()
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import aiohttp.web, grpc.aio, cryptography.hazmat.primitives.asymmetric.ed25519",
            ],
            check=True,
        )
        bare.append((_children_s() - before) * 1_000)
    return [
        Figure(
            "start to ready, all listeners",
            "ms",
            sandbox,
            bare,
            "ms to import aiohttp and grpc",
            GOAL,
        )
    ]


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
