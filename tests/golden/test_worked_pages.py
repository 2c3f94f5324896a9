"""The worked pages say what the commands print from the published data."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.test_docs import assert_shown, commands

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
PAGES = {"memcached.md": {"memcached.csv": "ordersage/ordersage_table3_memcached.csv"}}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_says_what_comes_out(page, tmp_path):
    for name, source in PAGES[page].items():
        if not (DATA / source).exists():
            pytest.skip(f"{DATA / source} is absent: the shared study data are not beside this repository")
        (tmp_path / name).symlink_to(DATA / source)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    blocks = re.findall(
        r"^```text\n(\$ .*?)^```$", (ROOT / "docs/worked" / page).read_text(), re.MULTILINE | re.DOTALL
    )
    assert blocks
    for block in blocks:
        for command, code, shown in commands(block):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == code, done.stderr
            assert_shown(shown, done.stdout)
