"""`trialwise doctor`: which optional parts it finds, and what it says of those that it does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialwise import extras
from trialwise.cli.doctor import doctor


def optional(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str | None]]:
    assert doctor(json=True) == 0
    return {part["name"]: part for part in json.loads(capsys.readouterr().out)["optional"]}


def test_the_interpreter_that_is_named_is_asked_for_ns_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho \'{"version": "3.99", "libraries": []}\'\n')
    python.chmod(0o755)
    monkeypatch.setenv("TRIALWISE_NS3_PYTHON", str(python))
    found = optional(capsys)["ns-3"]
    assert (found["version"], found["found"], found["change"]) == ("3.99", f"of {python}", None)
    assert doctor() == 0
    assert "ns-3: 3.99 of " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("script", "said"), [("#!/bin/sh\nexit 1\n", "has no package ns3"), (None, "cannot be started")]
)
def test_ns_3_that_is_not_there_comes_with_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str | None,
    said: str,
):
    python = tmp_path / "python"
    if script:
        python.write_text(script)
        python.chmod(0o755)
    monkeypatch.setenv("TRIALWISE_NS3_PYTHON", str(python))
    found = optional(capsys)["ns-3"]
    assert found["version"] is None
    assert said in str(found["found"])
    assert "TRIALWISE_NS3_PYTHON" in str(found["change"])
    assert doctor() == 0
    assert "change: " in capsys.readouterr().out.partition("ns-3: ")[2]


def test_dask_that_is_not_there_comes_with_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "distributed" else object())
    found = optional(capsys)["Dask"]
    assert found["version"] is None
    assert "trialwise[cluster]" in str(found["change"])


def test_dask_that_is_there_has_its_version(capsys: pytest.CaptureFixture[str]):
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask_jobqueue")
    assert optional(capsys)["Dask"]["version"] == distributed.__version__
