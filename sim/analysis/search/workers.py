"""Independent runs in several processes: of this machine, or of a cluster that somebody else keeps
(design D11).
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import active_children, get_context, resource_tracker
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


_AHEAD = 16  # jobs handed out before their turn, for each process


class NoWorkers(RuntimeError):
    """Nobody is there to do the work."""


class NoCluster(NoWorkers):
    """There is no cluster to be reached, or nothing to reach one with."""


def each(
    work: Callable[[T], R], jobs: Sequence[T], processes: int, cluster: str = ""
) -> Iterator[R]:
    """`work` of every job, in the order of the jobs. Fresh interpreters, so that no run sees
    another's state.

    `cluster` is the address of a Dask scheduler whose workers have this package, such as
    tcp://10.0.0.1:8786; without one `processes` of this machine work.
    """
    if cluster:
        yield from _on_cluster(work, jobs, cluster)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        left, futures = iter(jobs), deque[Future[R]]()
        while True:
            with _deaf_to_interrupts():
                futures.extend(
                    pool.submit(work, job)
                    for job in islice(left, _AHEAD * processes - len(futures))
                )
            if not futures:
                return
            yield futures.popleft().result()
    except BrokenProcessPool:
        raise NoWorkers(
            "a worker process was killed from outside, by too little memory perhaps: fewer --jobs,"
            " and --resume goes on"
        ) from None
    finally:
        # Whoever stops early wants nothing of what is under way.
        for worker in set(active_children()) - others:
            worker.kill()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes begun in here do not hear Ctrl-C, which a terminal sends to them too: whoever began
    them ends them. We hear it when this is over.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would unblock it once started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
