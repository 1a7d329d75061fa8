"""Independent runs in several processes: of this machine, or of a cluster that somebody else keeps (design D11)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class NoCluster(RuntimeError):
    """There is no cluster to be reached, or nothing to reach one with."""


def each(work: Callable[[T], R], jobs: Sequence[T], processes: int, cluster: str = "") -> Iterator[R]:
    """`work` of every job, in the order of the jobs. Fresh interpreters, so that no run sees another's state.

    `cluster` is the address of a Dask scheduler whose workers have this package, such as tcp://10.0.0.1:8786; without one `processes` of this machine work.
    """
    if cluster:
        yield from _on_cluster(work, jobs, cluster)
        return
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(work, jobs)


def _on_cluster(work: Callable[[T], R], jobs: Sequence[T], address: str) -> Iterator[R]:
    try:
        from distributed import Client
    except ImportError:
        raise NoCluster("--cluster needs Dask: pip install 'sandbox-exchange[cluster]'") from None
    try:
        client = Client(address, timeout="5s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise NoCluster(f"no cluster answers at {address}: {error}") from None
    with client:
        futures = deque(client.map(work, jobs, pure=False))
        while futures:
            yield futures.popleft().result()  # and may be forgotten there
