"""`trialwise pack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from trialwise.cli.budgets import budget_seconds
from trialwise.cli.files import check_out
from trialwise.cli.output import print_json
from trialwise.cli.spinner import StatusLine
from trialwise.cli.text import say_document
from trialwise.foreign_files import named

Flag = Annotated[bool, Parameter(negative="")]
Several = Annotated[tuple[str, ...], Parameter(negative="")]


def pack(
    *directories: Path,
    out: Annotated[Path, Parameter(alias="-o")] = Path("artifact.zip"),
    claims: Path | None = None,
    licence: Annotated[str, Parameter(alias="--license")] = "",
    author: Several = (),
    title: str = "",
    doi: str = "",
    not_secret: Several = (),
    allow_name: Several = (),
    sign: Path | None = None,
    appendix: Path | None = None,
    rehearse: str | None = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    r"""Pack experiment directories and the claims on them into one archive that a stranger can verify.

    It holds plan, ledger, samples, outputs, environments, programs, claims with what their trials cost, a README for the evaluator,
    tables, an RO-Crate, CITATION.cff and a manifest of hashes. Names of hosts and users are replaced in what describes the trials, and
    refused in measured data, which are never changed. A claim that its own data do not support is refused. Nothing is uploaded.

    For example:

    ```text
    trialwise pack tcp.results --licence CC-BY-4.0
    trialwise pack tcp.results web.results --claims claims.toml \
        --author "Ada Lovelace" --licence CC-BY-4.0 -o artifact.zip
    ```

    Exit codes: 0 packed; 2 wrong options, claims that are not supported, no licence, something that looks like a secret,
    or a name of a host or user in measured data;
    5 a directory in use, or an archive that cannot be written; 7 data that cannot be read.

    Parameters
    ----------
    directories
        Experiment directories.
    out
        The archive to write, .zip or .tar.zst.
    claims
        The file of claims; default claims.toml in the only directory, or beside the directories.
    licence
        SPDX identifier of the licence; not needed where a file LICENSE lies beside the claims.
    author
        "Given Family <ORCID>"; repeatable. Without it, nobody is named.
    title
        Title of the artifact; default the names of the experiments.
    doi
        DOI of the artifact, where it is reserved already.
    not_secret
        A variable of the experiment file that looks like a secret, and is none; repeatable.
    allow_name
        A name of a host or user that may stay in measured data, plans and rows of trials; repeatable.
    sign
        Sign the manifest with this SSH key (ssh-keygen(1)); others check it with `trialwise verify --allowed-signers`.
    appendix
        Write the appendix of the artifact in Markdown, as EuroSys and USENIX ask for it; what the data do not say is marked TODO.
    rehearse
        Before the archive gets its name, run `trialwise verify --kick` on it in an empty folder for at most this time, such as 5min.
        Root does so as the user nobody, if that one may run this Python.
    force
        Overwrite the archive and the appendix.
    json
        Print what was packed as JSON (format trialwise.pack/1).
    """
    from trialwise.errors import PlanError
    from trialwise.exchange.artifact.description import author_of
    from trialwise.study.artifact.packing import PackOptions
    from trialwise.study.artifact.packing import pack as packed

    if not directories:
        raise PlanError("there is nothing to pack", hint="name experiment directories")
    check_out(out, force=force)
    if appendix is not None:
        check_out(appendix, force=force)
    options = PackOptions(
        claims=claims,
        title=title,
        licence=licence,
        authors=tuple(map(author_of, author)),
        doi=doi,
        not_secret=not_secret,
        allowed_names=allow_name,
        key=sign,
        appendix=appendix,
        rehearsal=None if rehearse is None else budget_seconds(rehearse, "--rehearse"),
    )
    with StatusLine(f"packing {named(directories[0])}") as patience:
        found = packed(directories, out, options, patience.going)
    if json:
        from trialwise.exchange.artifact.documents import pack_document

        print_json(pack_document(found))
    else:
        from trialwise.report.documents.pack import document

        say_document(document(found))
    return 0
