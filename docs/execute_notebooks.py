"""Runs the notebooks of the documentation and stores what their cells show.

python docs/execute_notebooks.py            # write
python docs/execute_notebooks.py --check    # exit 1 where a cell shows something else

A notebook runs in a temporary folder with copies of the folders beside it. Jupyter is not needed: a cell is Python, or lines
`!COMMAND` for the shell; its last expression is shown as Jupyter would.
"""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
SHOWN = {
    "text/html": "_repr_html_",
    "image/svg+xml": "_repr_svg_",
}


def notebooks() -> list[Path]:
    """The notebooks of the documentation."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> dict[str, Any]:
    """A notebook with the outputs of its cells, which run in a folder of their own."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with TemporaryDirectory(prefix="notebook-") as folder:
        for beside in (each for each in path.parent.iterdir() if each.is_dir()):
            shutil.copytree(beside, Path(folder) / beside.name)
        with chdir(folder):
            _run(notebook)
    return notebook


def _run(notebook: dict[str, Any]) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "_shell": _shell}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        cell["execution_count"] = number
        cell["outputs"] = list(_outputs("".join(cell["source"]), names, number))


def _outputs(source: str, names: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The outputs of a cell: what it printed, then its last expression; or its error, in the two lines that a notebook shows."""
    printed, value, failed = io.StringIO(), None, None
    with redirect_stdout(printed):
        try:
            value = _evaluated(source, names)
        except Exception as error:
            failed = error
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())}
    if failed is not None:
        show = getattr(failed, "_render_traceback_", None)
        lines = show() if show else traceback.format_exception(failed)
        yield {
            "ename": type(failed).__name__,
            "evalue": str(failed),
            "output_type": "error",
            "traceback": lines,
        }
    elif value is not None:
        yield {
            "data": _shown(value),
            "execution_count": number,
            "metadata": {},
            "output_type": "execute_result",
        }


def _evaluated(source: str, names: dict[str, Any]) -> object:
    lines = (f"_shell({line[1:]!r})" if line.startswith("!") else line for line in source.splitlines())
    tree = ast.parse("\n".join(lines))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 a notebook of ours
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


def _shell(command: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr}")


def _shown(value: object) -> dict[str, list[str]]:
    """What a value looks like, by type."""
    rich = {kind: getattr(value, name)() for kind, name in SHOWN.items() if hasattr(value, name)}
    return {kind: _lines(text) for kind, text in {**rich, "text/plain": repr(value)}.items()}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def written(notebook: dict[str, Any]) -> str:
    """A notebook as its file holds it."""
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def main() -> int:
    """Write all notebooks, or check them."""
    stale = 0
    for path in notebooks():
        text = written(executed(path))
        if text == path.read_text(encoding="utf-8"):
            continue
        if "--check" in sys.argv[1:]:
            print(f"{path} shows something else: run python docs/execute_notebooks.py")
            stale = 1
        else:
            path.write_text(text, encoding="utf-8")
            print(path)
    return stale


if __name__ == "__main__":
    raise SystemExit(main())
