"""What the action runs: `trialwise ab`, its table as summary of the step and as a comment that is updated in place.

Everything comes through the environment (action.yml), so no value is read by a shell. Undecided is neutral: the step passes with a
notice. A comment that cannot be written is a warning. Standard library only.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

VERDICTS = {0: "fine", 1: "worse", 3: "undecided"}
OPTIONS = {
    "BASE": "--base",
    "HEAD": "--head",
    "COMMAND": "--command",
    "BUILD": "--build",
    "MARGIN": "--margin",
    "BUDGET": "--budget",
}
MAX_CHARACTERS = 60_000
"""Of a comment; GitHub takes 65,536."""
MAX_PAGES = 10
SECONDS = 30


def main() -> int:
    """Compare, tell, and return the exit code of the step."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "ab.md"
        code = subprocess.run([*command(), "--markdown", str(table)], check=False).returncode
        text = (
            table.read_text(encoding="utf-8")
            if table.exists()
            else f"### trialwise ab failed with exit code {code}\n"
        )
    verdict = VERDICTS.get(code, "failed")
    append("GITHUB_STEP_SUMMARY", text)
    append("GITHUB_OUTPUT", f"verdict={verdict}\n")
    if os.environ["COMMENT"] == "true":
        comment(text)
    if verdict == "undecided":
        print(
            "::notice title=trialwise ab::undecided: the trials neither show nor exclude a change that matters"
        )
    return 0 if verdict in ("fine", "undecided") else code


def command() -> list[str]:
    """The words of `trialwise ab` for what the environment says."""
    given = [(option, os.environ[name]) for name, option in OPTIONS.items()]
    options = [f"{option}={value}" for option, value in given if value]
    return ["trialwise", "ab", *options, "--quiet", *shlex.split(os.environ["ARGUMENTS"])]


def append(variable: str, text: str) -> None:
    """Add text to a file that a variable of GitHub names."""
    with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
        file.write(text)


def comment(text: str) -> None:
    """Write or update the comment of this name on the pull request, if this is one."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    if "pull_request" not in event:
        return
    number = int(event["pull_request"]["number"])
    mark = f"<!-- trialwise {os.environ['NAME']} -->"
    body = {"body": f"{mark}\n{text}"[:MAX_CHARACTERS]}
    try:
        known = earlier(number, mark)
        if known is None:
            asked("POST", f"issues/{number}/comments", body)
        else:
            asked("PATCH", f"issues/comments/{known}", body)
    except (OSError, ValueError) as error:
        print(f"::warning title=trialwise ab::no comment was written: {' '.join(str(error).split())}")


def earlier(number: int, mark: str) -> int | None:
    """Find the comment of an earlier run by its mark."""
    for page in range(1, MAX_PAGES + 1):
        found = asked("GET", f"issues/{number}/comments?per_page=100&page={page}")
        for each in found:
            if str(each["body"]).startswith(mark):
                return int(each["id"])
        if len(found) < 100:
            return None
    return None


def asked(method: str, path: str, body: object = None) -> Any:
    """Ask GitHub's API about this repository.

    Raises
    ------
    OSError
        It cannot be reached, or refuses.
    ValueError
        It answers with something else than JSON.
    """
    request = urllib.request.Request(
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['TOKEN']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
