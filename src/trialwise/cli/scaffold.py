"""`trialwise scaffold`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from trialwise.cli.files import read_text
from trialwise.cli.text import echo
from trialwise.errors import PlanError, not_written
from trialwise.measurement.scaffold import c_options_header, read_description, skeleton


def scaffold(
    points: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    language: Literal["c", "rust", "python"],
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path(),
    opts: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(alias="-f", negative="")] = False,
) -> int:
    r"""Write the skeleton of a program that measures, with a typed inject function for each measurement point.

    The description is TOML: `[program]` with name, version and description; `[options.NAME]` with type, default,
    description, unit and letter; `[points.NAME]` with description, and `[points.NAME.fields]` with a line FIELD = "TYPE"
    or FIELD = { type = "TYPE", unit = "…", description = "…" } for each field. Types: int32, uint32, int64, uint64,
    double, string, blob, guid, bool, and vectors of them ("[double]"). OML's own descriptions (defApplication) are read
    too, from files that end in .rb or .app.

    For example:

    ```text
    trialwise scaffold points.toml --language c
    trialwise scaffold generator.rb --language rust --out generator
    ```

    Exit codes: 0 written; 2 a description that cannot be used, or a file is there already.

    Parameters
    ----------
    points
        The description; `-` is standard input (TOML).
    language
        The language of the skeleton.
    out
        The folder that the files go to; made if it is not there.
    opts
        With --language c: only NAME_popt.h, the options for a program that reads them with libpopt.
    force
        Overwrite files that are there.
    """
    text, name = read_text(points)
    program = read_description(text, name)
    if opts and language != "c":
        raise PlanError("--opts writes a header of C", hint="write --language c")
    files = c_options_header(program) if opts else skeleton(program, language)
    _write({out / path: content for path, content in files.items()}, force=force)
    echo("\n".join(f"wrote {out / path}" for path in files))
    return 0


def _write(files: dict[Path, str], *, force: bool) -> None:
    """Write all files, or none if one already exists."""
    taken = [path for path in files if path.exists()]
    if taken and not force:
        raise PlanError(
            f"{taken[0]}: there is such a file", hint="choose another folder with --out, or add --force"
        )
    for path, content in files.items():
        aside = path.with_name(f"{path.name}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_text(content, encoding="utf-8")
            aside.replace(path)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            raise not_written(path, error, kind=PlanError) from error
