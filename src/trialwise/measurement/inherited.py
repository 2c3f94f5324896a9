"""What trials inherit from the process that starts them: variables, limits, processors, priority.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import resource
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

STATED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
)
"""Names and prefixes (*) of the variables that trials get from the machine they run on, without any `trial.pass`."""
EVERYTHING = ("*",)
"""`trial.pass` of directories that began before environments were stated: all variables are passed."""

IRRELEVANT = (
    # Terminal and desktop.
    *(
        "TERM",
        "TERM_*",
        "COLORTERM",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR*",
        "LS_COLORS",
        "LESS*",
    ),
    *(
        "PAGER",
        "MANPAGER",
        "EDITOR",
        "VISUAL",
        "GIT_PAGER",
        "GIT_EDITOR",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
    ),
    *(
        "WINDOWID",
        "TMUX*",
        "STY",
        "WINDOW",
        "VTE_VERSION",
        "KONSOLE_*",
        "ITERM_*",
        "KITTY_*",
        "ALACRITTY_*",
        "GPG_TTY",
    ),
    *(
        "XDG_*",
        "DBUS_*",
        "DESKTOP_*",
        "GDM*",
        "GNOME_*",
        "KDE_*",
        "GTK_*",
        "QT_*",
        "SESSION_MANAGER",
        "VSCODE_*",
    ),
    # Login and shell.
    *(
        "SSH_*",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
        "PS1",
        "PS2",
        "PS4",
        "PROMPT*",
        "HIST*",
        "MAIL*",
        "LOGNAME",
        "USER",
    ),
    *(
        "USERNAME",
        "HOSTNAME",
        "SUDO_*",
        "KRB5CCNAME",
        "BASH_FUNC_*",
        "BASHOPTS",
        "SHELLOPTS",
        "VIRTUAL_ENV_PROMPT",
    ),
    # Job schedulers and CI; what a job may use shows in its limits and processors.
    *(
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "SYSTEMD_*",
        "MANAGERPID*",
        "NOTIFY_SOCKET",
        "LISTEN_*",
        "WATCHDOG_*",
    ),
    *(
        "GITHUB_*",
        "RUNNER_*",
        "ACTIONS_*",
        "CI_*",
        "GITLAB_*",
        "JENKINS_*",
        "BUILD_*",
        "SLURM*",
        "SRUN_*",
        "PBS_*",
    ),
    *("LSB_*", "OAR_*", "SGE_*", "JOB_ID", "PYTEST_*", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "COVERAGE_*"),
    # Our own: set for each trial, or meant for the runner alone.
    "TRIALWISE_*",
)
"""Names and prefixes (*) of variables that do not affect measurements."""


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in names))


_IRRELEVANT = _pattern(IRRELEVANT)
_TELLING = _pattern(
    (
        "LD_*",
        "OMP_*",
        "*_NUM_THREADS",
        "MALLOC_*",
        "GO*",
        "JAVA*",
        "PYTHON*",
        "NODE_*",
        "RUST*",
        "CUDA_*",
        "*_PROXY",
        "*_proxy",
    )
)
"""Variables that are known to change what programs do; they are named first."""
_SECRET = re.compile(
    r"TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|COOKIE|PRIVATE|(^|_)(API|ACCESS)?_?KEY(_|$)|DSN|SESSION",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"://[^/\s]*@|-----BEGIN|\b(ghp|gho|ghs|glpat|sk|xox[abp])[-_][A-Za-z0-9]{8}")
_LIMITS = ("AS", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "RSS", "STACK", "RTPRIO", "NICE")
"""Limits that are compared. The numbers of processes and pending signals depend on the memory at boot."""
_ROUNDED = 1 << 28
"""Bytes: the kernel's own share, and limits that follow from it, vary from boot to boot."""


def passed_on(environment: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the variables that trials get: those that are stated, and those that `names` of `trial.pass` match."""
    wanted = _pattern((*STATED, *names))
    return {name: value for name, value in environment.items() if wanted.fullmatch(name)}


def held_back(environment: Mapping[str, str], names: Sequence[str], own: Iterable[str]) -> list[str]:
    """Return the names of variables that may affect measurements and that trials neither get nor set (`own`), likely ones first."""
    known = {*passed_on(environment, names), *own}
    held = [name for name in environment if name not in known and not _IRRELEVANT.fullmatch(name)]
    return sorted(held, key=lambda name: (_TELLING.fullmatch(name) is None, name))


def variables(environment: Mapping[str, str], own: Iterable[str], key: bytes) -> dict[str, str]:
    """Return the variables that trials inherit and that may matter, secret-looking values as keyed hashes.

    `own` lists names that the experiment sets itself; `key` is known on this machine only, so that hashes cannot be guessed.
    """
    left_out = set(own)
    return {
        name: hidden(name, value, key)
        for name, value in sorted(environment.items())
        if name not in left_out and _IRRELEVANT.fullmatch(name) is None
    }


def hidden(name: str, value: str, key: bytes) -> str:
    """Return the value, or its keyed hash if name or value looks secret."""
    if _SECRET.search(name) is None and _SECRET_VALUE.search(value) is None:
        return value
    digest = hmac.new(key, f"{name}={value}".encode(errors="surrogateescape"), hashlib.sha256).hexdigest()
    return f"hidden {digest[:16]}"


def key_here() -> bytes:
    """Return the key for `variables`: the machine's id, which is not published."""
    return (_text("/etc/machine-id") or _text("/proc/sys/kernel/hostname")).encode()


def limits() -> dict[str, str]:
    """Return what child processes may use: soft limits, processors, niceness, scheduling, and control group limits."""
    found = {
        f"limit_{name.lower()}": _limit(resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0])
        for name in _LIMITS
        if hasattr(resource, f"RLIMIT_{name}")
    }
    return {**found, **quick_limits(), **_of_control_groups()}


def quick_limits() -> dict[str, str]:
    """Return the limits that others may change at any time. Takes microseconds; called before every trial."""
    return {
        "cpus_allowed": cpu_text(os.sched_getaffinity(0)),
        "niceness": str(os.getpriority(os.PRIO_PROCESS, 0)),
        "scheduler": str(os.sched_getscheduler(0)),
    }


def cpu_text(cpus: Iterable[int]) -> str:
    """Format CPUs as the kernel does: ``0-3,8``."""
    spans: list[tuple[int, int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], cpu
        else:
            spans.append((cpu, cpu))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _limit(value: int) -> str:
    if value == resource.RLIM_INFINITY:
        return "unlimited"
    return str(round(value / _ROUNDED) * _ROUNDED if value > _ROUNDED else value)


def _of_control_groups() -> dict[str, str]:
    """Return what the control groups (version 2) of this process allow, innermost first; their names differ between logins."""
    lines = _text("/proc/self/cgroup").splitlines()
    parts = next((line[3:] for line in lines if line.startswith("0::")), "/").split("/")
    folders = ["/".join(["/sys/fs/cgroup", *parts[1:depth]]) for depth in range(len(parts), 1, -1)]
    found: dict[str, str] = {}
    for name in ("cpu.max", "memory.max", "memory.high"):
        texts = [
            text for folder in folders if (text := _text(f"{folder}/{name}")) and not text.startswith("max")
        ]
        if texts:
            found[f"cgroup_{name}"] = ", ".join(texts)
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""
