"""Connect to an existing Dask cluster, or have SLURM or ssh start one."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from trialwise.errors import PlanError, WorkerError
from trialwise.execution.tasks.digests import computed_from, in_words
from trialwise.execution.tasks.executor import Executor
from trialwise.extras import require
from trialwise.measurement.build import Build, own_build

if TYPE_CHECKING:
    from distributed.security import Security

CONNECT_SECONDS = 10.0
NODE_SECONDS = 30.0
"""Maximum time until the first node of a cluster appears, in seconds."""
_START = "start one with `dask scheduler`, and see that host, port and firewall are right"
_CERTIFICATES = (
    "name, here and on every node, certificates of one authority in Dask's configuration (distributed.comm.tls) or in variables "
    "DASK_DISTRIBUTED__COMM__TLS__…: docs/how-to/run-on-a-cluster.md"
)
_FORMS = "write tcp://host:port, tls://host:port, slurm, or ssh:host,host"


class _Client(Protocol):
    """The part of Dask's client that we use; Dask itself has few types."""

    def wait_for_workers(self, n_workers: int, timeout: float) -> None: ...

    def run_on_scheduler(self, function: Callable[[], Build]) -> Build: ...

    def run(self, function: Callable[[], Build], *, on_error: str) -> dict[str, Build | BaseException]: ...


@contextlib.contextmanager
def opened_cluster(name: str, jobs: int | None) -> Generator[Executor]:
    """Yield the nodes that `name` describes, as an executor; whatever was started for it ends with it.

    Raises
    ------
    PlanError
        The name has no known form, or the extra is not installed.
    WorkerError
        The cluster cannot be reached, has no node, or one with another build of Trialwise.
    """
    scheme = urlsplit(name).scheme
    if name != "slurm" and scheme not in ("tcp", "tls", "ssh"):
        raise PlanError(f"--cluster {name}: is not a valid cluster", hint=_FORMS)
    if scheme in ("tcp", "tls"):
        _refuse_other_form(name)
    if jobs is not None and name != "slurm":
        raise PlanError(
            f"--jobs {jobs}: of the cluster {name} every core computes", hint="leave --jobs or --cluster out"
        )
    require_dask()
    with _dask_silent():
        if name == "slurm":
            from trialwise.execution.tasks.slurm import opened_slurm

            with opened_slurm(jobs or 1) as executor:
                yield executor
        elif scheme == "ssh":
            from trialwise.execution.tasks.over_ssh import started_over_ssh

            with (
                started_over_ssh(name.removeprefix("ssh:")) as (address, security),
                _connected(address, security) as executor,
            ):
                yield executor
        else:
            if scheme == "tls":
                _require_certificates(name)
            with _connected(name) as executor:
                yield executor


def _refuse_other_form(address: str) -> None:
    """Raise PlanError unless the text is a scheduler's address; Dask would try it without end."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or not port or address != f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}":
        raise PlanError(
            f"--cluster {address}: is not a scheduler's address",
            hint=f"write {parts.scheme}://host:port, as `dask scheduler` tells it (8786 unless told otherwise)",
        )


@contextlib.contextmanager
def _dask_silent() -> Generator[None]:
    """Silence Dask's tracebacks about lost nodes, which the run reports itself, unless the user has configured Dask's logging."""
    import_module("distributed")  # which sets the level
    known: Any = import_module("dask.config")
    if known.get("logging", None) is not None:
        yield
        return
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def require_dask() -> None:
    """Raise PlanError if the extra `cluster` is not installed."""
    require("cluster", "--cluster needs Dask", also=", here and on every node")


def _require_certificates(address: str) -> None:
    """Raise PlanError if Dask has no certificates configured; without them its client never gives up."""
    from distributed.security import Security

    told: Any = Security()
    files = {
        "ca-file": told.tls_ca_file,
        "client.cert": told.tls_client_cert,
        "client.key": told.tls_client_key,
    }
    for key, file in files.items():
        if file is None:
            raise PlanError(
                f"--cluster {address}: nothing says distributed.comm.tls.{key}", hint=_CERTIFICATES
            )
        if "\n" not in file and not Path(file).is_file():  # Dask also accepts the text of a certificate
            raise PlanError(
                f"--cluster {address}: distributed.comm.tls.{key} names {file}, which is not a file",
                hint=_CERTIFICATES,
            )


@contextlib.contextmanager
def _connected(address: str, security: Security | None = None) -> Generator[Executor]:
    from distributed import Client

    from trialwise.execution.tasks import dask_executor

    _require_host(address)
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS, security=security, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise WorkerError(
            f"--cluster {address}: no scheduler of Dask answers there: {_first_line(error)}",
            hint=_CERTIFICATES if "TLS" in str(error) else _START,  # Dask has no error class for them
        ) from error
    with client:
        _await_node(client, address)
        _require_same_build(client)
        executor = dask_executor.DaskExecutor(client, dask_executor.PATIENCE_SECONDS)
        try:
            yield executor
        finally:
            executor.close()


def _require_host(address: str) -> None:
    """Raise WorkerError if the host name does not resolve; Dask would keep trying."""
    host = urlsplit(address).hostname
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        raise WorkerError(
            f"--cluster {address}: {host}: {error.strerror}", hint="check the name of the host"
        ) from error


def _await_node(client: _Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=NODE_SECONDS)
    except TimeoutError as error:
        raise WorkerError(
            f"--cluster {address}: the scheduler has no node", hint=f"start some with `dask worker {address}`"
        ) from error


def _require_same_build(client: _Client) -> None:
    """Raise WorkerError if the scheduler or a node could not compute the same bits."""
    from trialwise.execution.tasks.dask_executor import other_build

    try:
        found: dict[str, Build | BaseException] = {"scheduler": client.run_on_scheduler(own_build)}
        found |= client.run(own_build, on_error="return")
    except Exception as error:  # whatever prevents the check there
        found = {"scheduler": error}
    ours = computed_from(own_build())
    for place, theirs in found.items():
        if not isinstance(theirs, Build):
            raise other_build(
                place, f"no trialwise of this version that could be asked ({_first_line(theirs)})"
            )
        if changes := computed_from(theirs).changes(ours):
            raise other_build(place, in_words(changes))


def _first_line(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
