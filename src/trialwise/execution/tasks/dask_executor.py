"""The executor of a Dask cluster, whose nodes come and go."""

from __future__ import annotations

import pickle
import queue
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

from distributed import Client, get_worker
from distributed.scheduler import KilledWorker

from trialwise.errors import WorkerError
from trialwise.execution.tasks.digests import FileDigests, differing, in_words
from trialwise.execution.tasks.executor import Delivery, ExecutorLostError, Node
from trialwise.execution.tasks.worker_process import Batch, Computed, compute
from trialwise.measurement.identity import Change, Identity
from trialwise.numbers import counted

LOOK_SECONDS = 1.0
"""Interval at which the scheduler is asked for its nodes, in seconds."""
PATIENCE_SECONDS = 60.0
"""Time that a run without nodes waits for one, in seconds."""
_FETCHING = 4
"""Results fetched at the same time; Dask combines requests made meanwhile."""
_INSTALL = "install the same wheel of trialwise, with the same Python and NumPy, on every node"
_SHARE = "have the folder of the experiment at the same place on every node, with the same files, as on a shared file system"


class OtherIdentityError(Exception):
    """A node has another build or other files than the trials need; the arguments are its name and the difference."""


class _Future(Protocol):
    """The part of Dask's futures that we use."""

    def result(self) -> Computed: ...

    def release(self) -> None: ...


class JobQueue(Protocol):
    """A queue that provides nodes."""

    def require_jobs(self) -> None:
        """Raise ExecutorLostError if no job is left in it that could become a node."""
        ...


class DaskExecutor:
    """Computes on the nodes of a cluster.

    Dask recomputes a lost node's work on another node; a batch is lost once that has cost as many processes as the scheduler
    allows (`distributed.scheduler.allowed-failures`). A result leaves the cluster's memory as soon as it arrives here.

    Parameters
    ----------
    client
        Connected to the scheduler, and not closed here.
    patience
        Seconds to wait for a node when none is left; with a queue, seconds until the queue is asked.
    jobs
        The queue that provides nodes; as long as it has jobs, the executor waits for nodes.
    """

    def __init__(self, client: Client, patience: float, jobs: JobQueue | None = None) -> None:
        self._client: Any = client  # Dask is barely typed
        self._patience = patience
        self._jobs = jobs
        self._files = FileDigests()
        self._futures: dict[int, _Future] = {}
        self._back: queue.SimpleQueue[Delivery | BaseException] = queue.SimpleQueue()
        self._fetchers = ThreadPoolExecutor(_FETCHING, "results")
        self._looked = self._peopled = self._asked = time.monotonic()
        self._nodes: Sequence[Node] = ()
        self._look()

    def nodes(self) -> Sequence[Node]:
        """Return the machines whose processes were recently seen connected to the scheduler."""
        return self._nodes

    def submit(self, batch_id: int, batch: Batch) -> None:
        """Submit a batch to the scheduler."""
        future: Any = self._client.submit(
            compute_on_node,
            pickle.dumps(batch),
            self._files.of(batch),
            key=f"trials-{id(self):x}-{batch_id}",
            pure=False,
        )
        self._futures[batch_id] = future
        future.add_done_callback(partial(self._fetchers.submit, self._fetch, batch_id))

    def collect(self, seconds: float) -> Sequence[Delivery]:
        """Return what has come back, and check from time to time which nodes are present."""
        deliveries: list[Delivery] = []
        try:
            deliveries.append(self._settled(self._back.get(timeout=seconds)))
            while True:
                deliveries.append(self._settled(self._back.get_nowait()))
        except queue.Empty:
            self._look_now_and_then()
        return deliveries

    def close(self) -> None:
        """Make the cluster forget what it is still computing."""
        self._client.cancel(list(self._futures.values()), force=True)
        self._futures.clear()
        self._fetchers.shutdown(wait=False, cancel_futures=True)

    def _fetch(self, batch_id: int, future: _Future) -> None:
        try:
            self._back.put(Delivery(batch_id, future.result()))
        except KilledWorker as error:
            last = urlsplit(error.last_worker.address).hostname
            times = error.allowed_failures + 1
            self._back.put(
                Delivery(
                    batch_id,
                    None,
                    f"{counted(times, 'process', 'processes')} of nodes ended while they computed it, at last on {last}",
                )
            )
        except BaseException as error:  # reported by collect
            self._back.put(error)

    def _settled(self, found: Delivery | BaseException) -> Delivery:
        if isinstance(found, OtherIdentityError):
            raise _other(*found.args) from found
        if isinstance(found, CancelledError | OSError):
            raise _connection_lost() from found
        if isinstance(found, BaseException):
            raise found
        self._futures.pop(found.batch_id).release()
        return found

    def _look_now_and_then(self) -> None:
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._look()
        waited = time.monotonic() - max(self._peopled, self._asked)
        if waited <= self._patience:
            return
        if self._jobs is None:
            raise ExecutorLostError(
                f"no node of the cluster has been there for {waited:.0f} s",
                hint="start nodes and run again; what is finished is kept",
            )
        self._jobs.require_jobs()
        self._asked = time.monotonic()

    def _look(self) -> None:
        try:
            workers = self._client.scheduler_info()["workers"]
        except (OSError, ValueError) as error:  # also raised by Dask for a client that has closed itself
            raise _connection_lost() from error
        self._looked = time.monotonic()
        cores: Counter[str] = Counter()
        for address, worker in workers.items():
            cores[_host(address)] += worker["nthreads"]
        self._nodes = tuple(Node(name, number) for name, number in sorted(cores.items()))
        if self._nodes:
            self._peopled = self._looked


def compute_on_node(batch: bytes, needed: Identity) -> Computed:
    """Compute a batch, pickled so that the scheduler passes it on unread, if this node has the build and files it needs."""
    node = _host(get_worker().address)
    _require(node, needed)
    computed = compute(pickle.loads(batch), node)  # noqa: S301 from who may have anything run here
    _require(node, needed)  # results computed while a file changed cannot be attributed to either version
    return computed


def _require(node: str, needed: Identity) -> None:
    if changes := differing(needed):
        raise OtherIdentityError(node, changes)


def _other(node: str, changes: Sequence[Change]) -> WorkerError:
    builds = [change for change in changes if change.kind == "build"]
    if builds:
        return other_build(node, in_words(builds))
    return WorkerError(f"node {node}: has {in_words(changes)}, which trials need", hint=_SHARE)


def other_build(node: str, differing: str) -> WorkerError:
    """Return the error for a node with another build."""
    return WorkerError(f"node {node}: has {differing}", hint=_INSTALL)


def _host(address: str) -> str:
    return urlsplit(address).hostname or address


def _connection_lost() -> ExecutorLostError:
    return ExecutorLostError(
        "the connection to the cluster's scheduler was lost",
        hint="see whether it runs, and run again; what is finished is kept",
    )
