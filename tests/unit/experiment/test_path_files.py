"""Path files: what they refuse and say, and files that are damaged or of another version."""

from pathlib import Path

import pytest

from trialwise.errors import PlanError
from trialwise.experiment.named_paths import path_named
from trialwise.experiment.path_files import PathCertificate, file_named, judged_as, path_file, read_path_file
from trialwise.experiment.trials import PathSettings

SETTINGS = PathSettings(
    ((("rate", "12Mbit/s"), ("queue", "droptail:packets=50"), ("delay", "28ms")),),
    ((("rate", "12Mbit/s"), ("delay", "28ms")),),
)
CERTIFICATE = PathCertificate(
    'real "home".results',
    "2026-11-26T18:00:00+00:00",
    ("scheme=udp-copa",),
    ("throughput",),
    ("queueing_delay_p50",),
    ("loss", "queueing_delay_p95"),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "home.path"
    found.write_text(path_file(SETTINGS, CERTIFICATE))
    return found


def test_a_file_is_a_path_by_name(file: Path):
    found = path_named("file:home.path", folder=file.parent)
    assert (found.uplink, found.downlink, found.mtu) == (SETTINGS.uplink, SETTINGS.downlink, 1500)
    assert found.refused == ("loss", "queueing_delay_p95")
    assert "different: loss, queueing_delay_p95" in found.source


def test_despite_overrules_a_metric_and_the_source_says_so(file: Path):
    found = read_path_file("file:home.path,despite=loss", file.parent)
    assert found.refused == ("queueing_delay_p95",)
    assert "used despite its certificate: loss" in found.source


@pytest.mark.parametrize(
    ("text", "said"),
    [("file:", "names no file"), ("file:a.path,loss", "despite"), ("file:a,despite=x", "despite=x")],
)
def test_texts_that_name_no_file_or_something_else(text: str, said: str):
    with pytest.raises(PlanError, match=said):
        file_named(text)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("28ms", "29ms", "changed after it was written"),
        ('different = ["loss", "queueing_delay_p95"]', "different = []", "changed after it was written"),
        ("path-file/1", "path-file/9", "of this version"),
        ("[certificate]", "[certificates]", "lacks"),
        ("format =", "format", "not TOML"),
    ],
)
def test_a_file_that_was_changed_is_refused(file: Path, was: str, becomes: str, said: str):
    text = file.read_text()
    assert was in text
    file.write_text(text.replace(was, becomes))
    with pytest.raises(PlanError, match=said):
        read_path_file("file:home.path", file.parent)


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"format = 'trialwise.path-file/1'\n"])
def test_other_files_are_refused(tmp_path: Path, content: bytes):
    (tmp_path / "x.path").write_bytes(content)
    with pytest.raises(PlanError, match=r"x\.path"):
        read_path_file("file:x.path", tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(PlanError, match=r"nowhere\.path"):
        read_path_file("file:nowhere.path", tmp_path)


@pytest.mark.parametrize(
    ("quantity", "measure", "metrics"),
    [
        ("throughput", "mean", ("throughput",)),
        ("delay", 95.0, ("queueing_delay_p95",)),
        ("queueing_delay", "median", ("queueing_delay_p50",)),
        ("delay", "mean", ("queueing_delay_p50", "queueing_delay_p95")),
        ("pantheon_delay", "mean", ("queueing_delay_p95",)),
        ("pantheon_loss", "mean", ("loss",)),
        ("completion_time", 99.0, ("completion_time",)),
        ("fairness", "mean", ()),
    ],
)
def test_quantities_rest_on_metrics_of_the_certificate(quantity: str, measure, metrics: tuple[str, ...]):
    assert judged_as(quantity, measure) == metrics
