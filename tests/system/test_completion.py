"""Completion by the shells themselves: the script that `trialwise --install-completion` writes, in bash, zsh and fish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TRIALWISE = Path(sys.executable).with_name("trialwise")
COMPLETE = {
    "bash": """
source "$1"
words=($2); COMP_WORDS=("${words[@]}"); COMP_CWORD=$((${#words[@]} - 1)); COMP_LINE=$2; COMP_POINT=${#2}
$(complete -p trialwise | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
""",
    # Without a line editor there is no completion: a shell in a terminal of its own gets the words, Tab, and what prints its line.
    "zsh": """
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "fpath=(${1:h} \\$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w z "show() { print -r -- \\"<\\$BUFFER>\\" > ${1:h}/line; zle .kill-buffer }"
zpty -w z "zle -N show; bindkey '^X' show; print READ''Y"
zpty -r z out '*READY*'
zpty -w -n z "$2"$'\\t\\x18'
repeat 100 { [[ -s ${1:h}/line ]] && break; sleep 0.1 }
cat ${1:h}/line
zpty -d z
""",
    "fish": "source $argv[1]; complete -C $argv[2]",
}
FILES = {"bash": "trialwise", "zsh": "_cyclopts_trialwise", "fish": "trialwise.fish"}


@pytest.mark.parametrize("shell", COMPLETE)
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    script = tmp_path / FILES[shell]
    made = [TRIALWISE, "--install-completion", "--shell", shell, "--output", script]
    subprocess.run(made, check=True, capture_output=True)
    subprocess.run([shell, "-n", script], check=True)
    assert "analyze" in completed(shell, script, "trialwise ana")
    assert "--factor" in completed(shell, script, "trialwise look --fact")


def completed(shell: str, script: Path, words: str) -> str:
    """What the shell makes of the words, or offers for them."""
    program = script.with_name("complete")
    program.write_text(COMPLETE[shell])
    (script.parent / "line").unlink(missing_ok=True)
    bare = {"zsh": ["-f"], "bash": ["--noprofile", "--norc"], "fish": ["--no-config"]}[shell]
    environment = {"PATH": os.environ["PATH"], "HOME": str(script.parent), "TERM": "xterm", "LANG": "C.UTF-8"}
    done = subprocess.run(
        [shell, *bare, program, script, words], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
