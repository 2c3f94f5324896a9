"""Dask's scheduler and nodes without their HTTP servers, which listen whatever the options say, without authentication.

``python -m trialwise.execution.tasks.quiet_node distributed.cli.dask_scheduler …`` (or ``dask_worker``), with that program's
arguments.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from distributed import Scheduler, Worker


class _NoPages:
    """A Dask server that does not serve its HTTP application."""

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Start no server."""
        del arguments, options


class QuietScheduler(_NoPages, Scheduler):
    """A scheduler without pages."""


class QuietWorker(_NoPages, Worker):
    """A worker without pages."""


WORKER = f"trialwise.execution.tasks.quiet_node.{QuietWorker.__name__}"
"""Name by which Dask's programs, and the nannies that they start, find the worker without pages."""


def main() -> None:
    """Run one of Dask's programs."""
    name, *words = sys.argv[1:]
    program: Any = import_module(name)
    if name.endswith("scheduler"):
        program.Scheduler = QuietScheduler  # it has no option to choose the class
    else:
        words += ["--worker-class", WORKER]
    program.main.main(args=words, standalone_mode=False)


if __name__ == "__main__":
    main()
