"""Containers that a command line starts by podman or docker: label them, and end them by their label.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENGINES = ("docker", "podman")
MARKED, OF_EXPERIMENT = "trialwise.marker", "trialwise.experiment"
"""Labels of a container: the whole marker (see `marked`), and the part of it that all processes of an experiment share."""
_WITH_VALUE = {
    *(
        "-c",
        "-H",
        "-l",
        "--cgroup-manager",
        "--config",
        "--conmon",
        "--connection",
        "--context",
        "--events-backend",
    ),
    *(
        "--hooks-dir",
        "--host",
        "--identity",
        "--imagestore",
        "--log-level",
        "--module",
        "--namespace",
        "--network-cmd-path",
    ),
    *(
        "--network-config-dir",
        "--root",
        "--runroot",
        "--runtime",
        "--runtime-flag",
        "--ssh",
        "--storage-driver",
    ),
    *("--storage-opt", "--tlscacert", "--tlscert", "--tlskey", "--tmpdir", "--url", "--volumepath"),
}
"""Options of the clients before the word `run` whose value is a word of its own: docker(1), podman(1)."""
END_SECONDS = 30.0
"""Time that the client has to list containers, and to end them."""
_LONGEST_COMPLAINT = 300


def engine_of(program: str) -> str | None:
    """Return "docker" or "podman" if the program is that client, else None."""
    name = os.path.basename(program)  # noqa: PTH119 Python 3.8, and a word
    return name if name in ENGINES else None


def client_of(words: Sequence[str]) -> list[str] | None:
    """Return the client with its options if the words are a command line of podman or docker, else None."""
    if not words or engine_of(words[0]) is None:
        return None
    place = 1
    while words[place : place + 1] and words[place].startswith("-"):
        place += 2 if words[place] in _WITH_VALUE else 1
    return list(words[:place])


def starts_container(words: Sequence[str]) -> bool:
    """Return True if the words are `podman run` or `docker run`."""
    return _run_at(words) > 0


def labelled(words: Sequence[str], marker: str, options: Sequence[str] = ()) -> list[str]:
    """Return a command line whose container, if it starts one, carries the marker, has these options, and is removed at its end."""
    place = _run_at(words)
    if not place:
        return list(words)
    experiment = marker.partition(":")[0]
    added = ["--rm", f"--label={MARKED}={marker}", f"--label={OF_EXPERIMENT}={experiment}", *options]
    return [*words[:place], *added, *words[place:]]


def end_container(
    words: Sequence[str], marker: str, environment: Mapping[str, str], directory: str
) -> str | None:
    """End the container that `labelled` words started; return what is wrong if it still ran or cannot be ended, else None."""
    client = client_of(words)
    if client is None or not starts_container(words):
        return None
    return _end(client, f"{MARKED}={marker}", environment, directory)


def end_containers_of(
    client: Sequence[str], experiment: str, environment: Mapping[str, str], directory: str
) -> str | None:
    """End all containers of an experiment, as a killed runner may have left them; see `end_container`."""
    return _end(client, f"{OF_EXPERIMENT}={experiment}", environment, directory)


def _run_at(words: Sequence[str]) -> int:
    """Return the place behind the word `run` of a client, 0 if it starts no container."""
    client = client_of(words)
    if client is None:
        return 0
    place = len(client) + (words[len(client) : len(client) + 1] == ["container"])
    return place + 1 if words[place : place + 1] == ["run"] else 0


def _end(client: Sequence[str], label: str, environment: Mapping[str, str], directory: str) -> str | None:
    listed = ("ps", "--all", "--no-trunc", f"--filter=label={label}", "--format={{.ID}} {{.State}}")
    said = said_by([*client, *listed], environment, directory)
    if isinstance(said, Complaint):
        return f"whether its container has ended cannot be told: {said}"
    found = [line.split() for line in said.splitlines() if line.strip()]
    if not found:
        return None
    at_once = ["--time=0"] if engine_of(client[0]) == "podman" else []
    ended = said_by(
        [*client, "rm", "--force", "--volumes", *at_once, *(each[0] for each in found)],
        environment,
        directory,
    )
    if isinstance(ended, Complaint) and said_by([*client, *listed], environment, directory) != "":
        return f"its container could not be ended: {ended}"
    # Podman removes a container before its client ends, docker may do so afterwards.
    if at_once or any(each[-1].lower() == "running" for each in found):
        return "its container was still there when the client had ended, and was ended: run it in the foreground, without --detach"
    return None


class Complaint(str):
    """What a client complained of, in a line."""

    __slots__ = ()


def said_by(words: Sequence[str], environment: Mapping[str, str], directory: str) -> str:
    """Return what a client prints, or its complaint."""
    try:
        done = subprocess.run(
            words,
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=END_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Complaint(f"{words[0]} took longer than {END_SECONDS:g} s")
    except (OSError, ValueError) as problem:
        return Complaint(f"{words[0]}: {getattr(problem, 'strerror', None) or problem}")
    if done.returncode == 0:
        return done.stdout.decode(errors="replace").strip()
    lines = done.stderr.decode(errors="replace").strip().splitlines() or [
        f"{words[0]} ended with exit code {done.returncode}"
    ]
    return Complaint(lines[-1][:_LONGEST_COMPLAINT])
