"""`trialwise serve`."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.auth_tokens import tokens
from trialwise.cli.text import echo
from trialwise.errors import TrialwiseError
from trialwise.extras import require
from trialwise.numbers import counted

VARIABLE = "TRIALWISE_SERVE_TOKEN"
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}")


def serve(
    *folders: Path,
    port: int = 0,
    token_file: Path | None = None,
    open: Annotated[bool, Parameter(negative="")] = False,  # noqa: A002 the flag's name
) -> int:
    r"""Show experiments on a local page, while they run and after: progress, intervals, order, failures, claims.

    The page is read-only, and is there for this machine alone, at an address with a secret. It takes about 1 % of a core, and
    sleeps while nothing comes. Ctrl-C ends it; runs go on.

    For example:

    ```text
    trialwise serve
    trialwise serve compressors.results --open
    trialwise serve monday.results today.results --port 8750
    ```

    From another machine, `ssh -N -L 8750:127.0.0.1:8750 HOST` brings port 8750 of HOST there.

    Exit codes: 0 ended by Ctrl-C, 2 wrong options, 5 a folder that cannot be read.

    Parameters
    ----------
    folders
        Experiment directories, or folders that hold some at any depth; default the current folder. Links in them are not followed.
    port
        The port on 127.0.0.1; 0 takes a free one.
    token_file
        A file whose first line is the secret of the address, so that it stays the same; else TRIALWISE_SERVE_TOKEN, else a new one.
    open
        Open the page in the browser.
    """
    require("serve", "the page is served by Starlette and uvicorn")
    from trialwise.serve.server import Serving, give_way, new_token, serve

    token, _ = tokens(token_file, VARIABLE)
    if token is not None and not _TOKEN.fullmatch(token):
        raise TrialwiseError(
            "the token is not 16 to 128 letters, digits, - and _", hint="make one with `openssl rand -hex 16`"
        )

    def told(page: Serving) -> None:
        echo(f"{counted(page.experiments, 'experiment')} at {page.address}")
        echo("Ctrl-C ends the page; runs go on")
        if open:
            webbrowser.open(page.address)

    give_way()
    serve(folders or (Path(),), port, token or new_token(), told)
    return 0
