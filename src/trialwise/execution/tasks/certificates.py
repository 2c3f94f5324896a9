"""Certificates of one run, so that anyone who reaches our scheduler or a node without one can run nothing there."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import dask.config
from distributed.security import Security

from trialwise.temporary import vanishing_folder

_ROLES = ("scheduler", "worker", "client")
_TLS = "DASK_DISTRIBUTED__COMM__TLS__"


def security_of_run() -> Security:
    """Create a key and a certificate for this run only, in memory; if Dask is configured with the user's own, use those.

    Both sides of each connection must present a certificate.
    """
    known: Any = dask.config
    if known.get("distributed.comm.tls.ca-file", None) is not None:
        return Security(require_encryption=True)
    made: Any = Security
    return made.temporary()


@contextlib.contextmanager
def security_in_files(folder: Path) -> Generator[Security]:
    """Write the certificates of this run to files below `folder`, readable only by this user, and remove them at the end."""
    made: Any = security_of_run()
    if "\n" not in made.tls_ca_file:
        yield made
        return
    with vanishing_folder(".trialwise-certificates-", within=folder) as own:
        certificate, key = own / "certificate.pem", own / "key.pem"
        certificate.write_text(made.tls_ca_file)
        key.touch(mode=0o600)
        key.write_text(made.tls_worker_key)
        files = {f"tls_{role}_cert": str(certificate) for role in _ROLES}
        files |= {f"tls_{role}_key": str(key) for role in _ROLES}
        yield Security(require_encryption=True, tls_ca_file=str(certificate), **files)


def variables(security: Security) -> Mapping[str, str]:
    """Return environment variables that give a scheduler, or a node and its processes, the certificates, and disable their pages.

    They contain the key: pass them through a pipe, because command lines are visible to everyone.
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
