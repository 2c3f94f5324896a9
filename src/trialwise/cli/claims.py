"""`trialwise claims`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.files import check_out, write_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import echo, say_document
from trialwise.errors import TrialwiseError
from trialwise.foreign_files import named

Flag = Annotated[bool, Parameter(negative="")]
_CODES = {"supported": 0, "contradicted": 1, "undecided": 3}


def claims(
    path: Path,
    /,
    *,
    suggest: Flag = False,
    latex: Path | None = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    r"""Check the claims of a paper against its data: supported, contradicted, or undecided with what would settle it.

    Claims stand in a file, claims.toml: a bound on a KPI, a mean or each trial; a difference or ratio of two treatments;
    "no difference within"; the best treatment; a ranking; an order of magnitude (docs/how-to/state-claims.md).

    For example:

    ```text
    trialwise claims tcp.results --suggest > claims.toml
    trialwise claims tcp.results
    trialwise claims claims.toml --latex claims.tex
    ```

    Exit codes: 0 all claims are supported; 1 one is contradicted; 3 one is undecided; 2 wrong options or a wrong file; 7 data that
    cannot be read.

    Parameters
    ----------
    path
        A file of claims, a folder with claims.toml, or an experiment directory in or beside which it lies.
    suggest
        Print a draft of claims that the data of a folder support, instead.
    latex
        Write the numbers of the claims as LaTeX macros.
    force
        Overwrite that file.
    json
        Print the claims as JSON (format trialwise.claims/1).
    """
    if suggest and (json or latex is not None):
        raise TrialwiseError(
            "--suggest prints a draft, and nothing else", hint="leave out --json and --latex"
        )
    if latex is not None:
        check_out(latex, force=force)
    if suggest:
        echo(_draft(path), end="")
        return 0
    from trialwise.study.claims import check_claims

    with StatusLine(f"reading {named(path)}") as patience:
        found = check_claims(path, patience.going)
    if json:
        from trialwise.exchange.claims_json import claims_document

        print_json(claims_document(found))
    else:
        from trialwise.report.documents.claims import document

        say_document(document(found))
    if latex is not None:
        from trialwise.report.claims_latex import claims_macros

        write_text(latex, claims_macros(found))
        stderr_console().print(f"wrote {latex}", markup=False)
    return _CODES[found.verdict]


def _draft(path: Path) -> str:
    from trialwise.study.claims import trials_of
    from trialwise.study.claims_draft import data_of, draft

    with StatusLine(f"reading {named(path)}") as patience:
        return draft(trials_of([path], None, patience.going), data_of(path))
