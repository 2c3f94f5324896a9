"""Schemes of the tests' own: plain ones, wrappers of Pantheon, and all kinds of bad ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.system.paths import RECEIVER

from trialwise.trials.scheme_check import DEFAULT_PATH, SchemeCheck, check_scheme, path_of

SENDER = """
import socket, sys, time
connection = socket.socket()
for _ in range(100):
    try:
        connection.connect((sys.argv[1], int(sys.argv[2])))
        break
    except OSError:
        time.sleep(0.05)
while True:
    connection.sendall(bytes(65536))
"""
SERVING_SENDER = """
import socket, sys
listener = socket.create_server(("", int(sys.argv[1])))
connection, _ = listener.accept()
while True:
    connection.sendall(bytes(65536))
"""
FETCHING_RECEIVER = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while connection.recv(1 << 20):
    pass
"""
WRAPPER = """#!/usr/bin/env python3
# As Pantheon's wrappers are: arg_parser, one sub-command each, a program beside it that does the work.
import argparse, os, subprocess, sys
parser = argparse.ArgumentParser()
commands = parser.add_subparsers(dest="option")
for name in ("deps", "run_first", "setup", "setup_after_reboot"):
    commands.add_parser(name)
first, second = ("{first}", "{second}")
commands.add_parser(first).add_argument("port")
other = commands.add_parser(second)
other.add_argument("ip")
other.add_argument("port")
arguments = parser.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
program = os.path.join(here, "programs", "{program}-%s.py" % arguments.option)
if arguments.option == "deps":
    print("python3 no-such-package")
elif arguments.option == "run_first":
    print(first)
elif arguments.option in ("setup", "setup_after_reboot"):
    with open(os.path.join(here, "{name}." + arguments.option), "a") as log:
        log.write("done\\n")
elif arguments.option == first:
    {start}
else:
    {start_second}
"""
CALL = 'subprocess.check_call(["python3", "-IS", program, {}])'
FORK = 'child = os.fork() or os.execvp("python3", ["python3", "-IS", program, {}]); os.waitpid(child, 0)'
RECEIVER_LINE = "python3 -IS {folder}/programs/plain-receiver.py"
SENDER_LINE = "python3 -IS {folder}/programs/plain-sender.py {{peer}} {{port}}"


def write_programs(folder: Path) -> None:
    """The programs that the schemes of a folder start."""
    (folder / "programs").mkdir(parents=True)
    for name, text in {
        "plain-sender": SENDER,
        "plain-receiver": RECEIVER,
        "serving-sender": SERVING_SENDER,
        "serving-receiver": FETCHING_RECEIVER,
    }.items():
        (folder / f"programs/{name}.py").write_text(text)


def write_wrapper(folder: Path, name: str, *, first: str = "receiver", forks: bool = False) -> Path:
    """A wrapper of Pantheon around the programs."""
    start = FORK if forks else CALL
    text = WRAPPER.format(
        name=name,
        first=first,
        second="sender" if first == "receiver" else "receiver",
        program="plain" if first == "receiver" else "serving",
        start=start.format("arguments.port"),
        start_second=start.format("arguments.ip, arguments.port"),
    )
    file = folder / f"{name}.py"
    file.write_text(text)
    file.chmod(0o755)
    return file


def write_scheme(
    folder: Path,
    name: str,
    *,
    receiver: str = RECEIVER_LINE + " {{port}}",
    sender: str = SENDER_LINE,
    ready: str = 'line = "ready"',
    rest: str = "",
) -> None:
    """A scheme file; commands as literal TOML text, with {folder} for the folder."""
    (folder / f"{name}.toml").write_text(
        f'title = "{name}"\n{rest}\n'
        f"[receiver]\ncommand = '''{receiver.format(folder=folder)}'''\nready = {{ {ready} }}\n"
        f"[sender]\ncommand = '''{sender.format(folder=folder)}'''\n"
    )


def check_all(
    names: Sequence[str],
    folder: Path | None = None,
    *,
    seconds: float = 2.0,
    loads: Mapping[str, str] | None = None,
    path: str = DEFAULT_PATH,
) -> dict[str, SchemeCheck]:
    """Check schemes beside each other, each over a path of its own."""
    reading, writing = os.pipe()
    folders = [] if folder is None else [folder]

    def one(name: str) -> SchemeCheck:
        load = (loads or {}).get(name)
        return check_scheme(
            name, folders=folders, path=path_of(path), cancel=reading, load=load, seconds=seconds
        )

    try:
        with ThreadPoolExecutor(len(names)) as pool:
            return dict(zip(names, pool.map(one, names), strict=True))
    finally:
        os.close(reading)
        os.close(writing)
