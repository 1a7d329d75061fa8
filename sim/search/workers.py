"""Independent jobs in several processes, of this machine or of an existing cluster.

The sandbox has no scheduler of its own: if one machine is not enough, Dask runs the jobs.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from multiprocessing import active_children, get_context, resource_tracker
from typing import Protocol, TypeVar

from sim.read.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")

JOBS_AHEAD = 16  # jobs submitted in advance, for each process


class Mapper(Protocol):
    """Applies a function to every job and yields the results in order.

    It can be called repeatedly.
    """

    def __call__(self, work: Callable[[T], R], jobs: Sequence[T], /) -> Iterator[R]: ...


def workers(processes: int, cluster: str = "") -> AbstractContextManager[Mapper]:
    """Return a mapper over processes of this machine, or over a cluster if it has an address."""
    return cluster_of(cluster) if cluster else processes_of(processes)


def map_jobs(work: Callable[[T], R], jobs: Sequence[T], processes: int) -> Iterator[R]:
    """Yield the result of `work` for every job, in the order of the jobs.

    With several processes, each is a new interpreter, so that no run sees another's state.
    """
    with processes_of(processes if len(jobs) > 1 else 1) as mapper:
        yield from mapper(work, jobs)


@contextmanager
def processes_of(processes: int) -> Iterator[Mapper]:
    """Yield a mapper whose processes serve several lists of jobs. One means this process itself."""
    if processes <= 1:
        yield map
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))

    def mapped(work: Callable[[T], R], jobs: Sequence[T], /) -> Iterator[R]:
        left, futures = iter(jobs), deque[Future[R]]()
        while True:
            with _interrupts_blocked():
                futures.extend(
                    pool.submit(work, job)
                    for job in islice(left, JOBS_AHEAD * processes - len(futures))
                )
            if not futures:
                return
            yield futures.popleft().result()

    try:
        yield mapped
    except BrokenProcessPool:
        raise UsageError(
            "a worker process was killed from outside, perhaps for lack of memory: use fewer"
            " --jobs; --resume continues"
        ) from None
    finally:
        # A caller that stops early does not need the results of running jobs.
        for worker in set(active_children()) - others:
            worker.kill()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal also sends to them; the parent ends
    them.

    The parent receives an interrupt when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it would unblock the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def cluster_of(address: str) -> Iterator[Mapper]:
    """Yield a mapper that uses the workers of a Dask scheduler at an address such as
    tcp://10.0.0.1:8786. They must have this package.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("--cluster needs Dask: pip install 'sandbox-exchange[cluster]'") from None
    try:
        client = Client(address, timeout="5s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UsageError(f"no cluster answers at {address}: {error}") from None

    def mapped(work: Callable[[T], R], jobs: Sequence[T], /) -> Iterator[R]:
        futures = deque(client.map(work, jobs, pure=False))
        while futures:
            yield futures.popleft().result()  # so that the cluster can release it

    with client:
        yield mapped
