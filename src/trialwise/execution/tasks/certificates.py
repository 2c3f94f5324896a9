"""Certificates of one run, so that whoever reaches a scheduler or a node of ours, and has none, runs nothing there."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import dask.config
from distributed.security import Security

_ROLES = ("scheduler", "worker", "client")
_TLS = "DASK_DISTRIBUTED__COMM__TLS__"


def security_of_run() -> Security:
    """Make a key and a certificate that no other run has, in memory alone; where Dask is told of the user's own, take those.

    A certificate is demanded of both sides of each connection.
    """
    known: Any = dask.config
    if known.get("distributed.comm.tls.ca-file", None) is not None:
        return Security(require_encryption=True)
    made: Any = Security
    return made.temporary()


@contextlib.contextmanager
def security_in_files(folder: Path) -> Generator[Security]:
    """Give the certificates of this run as files below `folder`, which only this user can read, and remove them at the end."""
    made: Any = security_of_run()
    if "\n" not in made.tls_ca_file:
        yield made
        return
    with tempfile.TemporaryDirectory(prefix=".trialwise-certificates-", dir=folder) as own:
        certificate, key = Path(own) / "certificate.pem", Path(own) / "key.pem"
        certificate.write_text(made.tls_ca_file)
        key.touch(mode=0o600)
        key.write_text(made.tls_worker_key)
        files = {f"tls_{role}_cert": str(certificate) for role in _ROLES}
        files |= {f"tls_{role}_key": str(key) for role in _ROLES}
        yield Security(require_encryption=True, tls_ca_file=str(certificate), **files)


def variables(security: Security) -> Mapping[str, str]:
    """Environment variables by which a scheduler, or a node and its processes, have the certificates, and serve no pages.

    They hold the key: hand them over through a pipe, for the words of a command are for everybody to read.
    """
    told: Any = security
    files = {
        "CA_FILE": told.tls_ca_file,
        **{
            f"{role.upper()}__{part.upper()}": getattr(told, f"tls_{role}_{part}")
            for role in _ROLES
            for part in ("cert", "key")
        },
    }
    return {
        **{_TLS + name: text for name, text in files.items() if text is not None},
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
        "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
        "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    }
