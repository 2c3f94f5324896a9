"""Keys of the environment of trials and services: variables set, passed on, and secret."""

from __future__ import annotations

from typing import Annotated

from trialwise.experiment.file.sections import Key, Written, WrongValueError
from trialwise.experiment.file.values import Text, several


def _variable(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise WrongValueError("cannot be the name of a variable")
    return name


Environment = Annotated[
    tuple[tuple[str, str], ...],
    Written(
        dict[Annotated[str, Written(str, _variable)], str],
        lambda variables: tuple(sorted(variables.items())),
        dict,
    ),
]
ENVIRONMENT = Key(
    words="Variables added to the environment.", examples=({"OMP_NUM_THREADS": "{threads}"},), filled=True
)
PASS = Key(
    words="Variables of the machine that trials and services get besides the few that they always get; * stands for anything.",
    examples=(["LD_LIBRARY_PATH", "OMP_*"],),
    name="pass",
)
SECRET = Key(
    words="Variables that the runner hands to trials and services through their environment alone; their values are written nowhere.",
    examples=(["PGPASSWORD"],),
)
Variables = Annotated[tuple[str, ...], several(Annotated[str, Written(Text, _variable)], max_length=100)]
EVERYTHING_PASSED = ("*",)
"""`passed` of commands that were typed and not written into a file: they run in the environment that they were typed in."""
