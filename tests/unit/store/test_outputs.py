"""What programs printed is kept as it was, and of much of it the beginning and the end."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from trialwise.store.outputs import KeptOutput, output_files, read_output

MEBIBYTE = 1024 * 1024


def _keep(folder: Path, stdout: bytes, stderr: bytes) -> list[str]:
    (folder / "outputs").mkdir()
    names: list[str] = []
    for name, content in output_files(7, 2, stdout, stderr):
        (folder / name).write_bytes(content)
        names.append(name)
    return names


def test_standard_output_is_kept_even_where_it_is_empty_and_errors_where_there_are_some(tmp_path: Path):
    assert _keep(tmp_path, b"", b"") == ["outputs/000007-2.stdout.gz"]
    assert read_output(tmp_path, 7, 2, "stdout") == KeptOutput(b"", cut=False)
    assert read_output(tmp_path, 7, 2, "stderr") is None
    assert [name for name, _ in output_files(7, 2, b"", b"oh\n")] == [
        "outputs/000007-2.stdout.gz",
        "outputs/000007-2.stderr.gz",
    ]


@pytest.mark.parametrize("what", ["stdout", "stderr"])
def test_a_mebibyte_is_kept_whole_and_of_more_half_a_mebibyte_from_each_end(tmp_path: Path, what):
    half = MEBIBYTE // 2
    whole, longer = b"a" * half + b"z" * half, b"a" * half + b"m" + b"z" * half
    (tmp_path / "whole").mkdir()
    _keep(tmp_path / "whole", *((whole, b"") if what == "stdout" else (b"", whole)))
    assert read_output(tmp_path / "whole", 7, 2, what) == KeptOutput(whole, cut=False)
    _keep(tmp_path, *((longer, b"") if what == "stdout" else (b"", longer)))
    cut = b"a" * half + "\n… 1 bytes left out …\n".encode() + b"z" * half
    assert read_output(tmp_path, 7, 2, what) == KeptOutput(cut, cut=True)
    assert gzip.decompress((tmp_path / f"outputs/000007-2.{what}.cut.gz").read_bytes()) == cut
