"""What an artifact has besides data: signature, tables, figures, costs, packages; tar.zst; and names that stay in measured data."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

import artifacts
from in_process import trialwise
from simulation_directory import run_simulation

LICENCE = ("--licence", "CC-BY-4.0")
COUNTED = artifacts.TEXT.replace("[design]", "[instrumentation]\nresources = true\n[design]")
needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="not installed: ssh-keygen")
needs_zstd = pytest.mark.skipif(shutil.which("zstd") is None, reason="not installed: zstd")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench") / "work"
    claims = artifacts.CLAIMS + 'figure = "figures/a.svg"\n'
    artifacts.measured(folder, COUNTED, claims)
    (folder / "figures").mkdir()
    (folder / "figures/a.svg").write_text("<svg/>")
    return folder


def packed(folder, *words, code=0):
    done = trialwise("pack", "sums.results", *LICENCE, "--json", "--force", *words, cwd=folder)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


def verified(folder, *words):
    done = trialwise("verify", *words, "--json", cwd=folder)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


@pytest.fixture(scope="module")
def artifact(bench, tmp_path_factory):
    found = packed(bench, "-o", "parts.zip")
    copy = artifacts.unpacked(bench / "parts.zip", tmp_path_factory.mktemp("copy") / "x")
    return found, copy


def key(folder, name):
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / name]
    subprocess.run(words, check=True)
    text = (folder / f"{name}.pub").read_text()
    shown = subprocess.run(
        ["ssh-keygen", "-l", "-f", folder / f"{name}.pub"], check=True, capture_output=True, text=True
    )
    return text, shown.stdout.split()[1]


@needs_ssh
def test_a_signature_is_known_unknown_or_does_not_fit(bench, tmp_path):
    public, fingerprint = key(tmp_path, "own")
    stranger, _ = key(tmp_path, "other")
    assert packed(bench, "-o", tmp_path / "a.zip", "--sign", tmp_path / "own")["signed"] is True
    code, found = verified(tmp_path, "a.zip")
    assert (code, found["integrity"]["signed"]) == (
        0,
        {"key": fingerprint, "name": None, "problem": None},
    )
    assert f"signed by an unknown key {fingerprint}" in trialwise("verify", "a.zip", cwd=tmp_path).stdout
    (tmp_path / "known").write_text(f"ada@example.org {public}")
    code, found = verified(tmp_path, "a.zip", "--allowed-signers", "known")
    assert (code, found["integrity"]["signed"]["name"]) == (0, "ada@example.org")
    (tmp_path / "known").write_text(f"eve@example.org {stranger}")
    code, found = verified(tmp_path, "a.zip", "--allowed-signers", "known")
    assert (code, found["claims"]) == (5, [])
    assert "is not in known" in found["integrity"]["signed"]["problem"]


@needs_ssh
def test_the_signature_is_one_that_ssh_keygen_takes_by_itself_and_covers_the_manifest(bench, tmp_path):
    public, _ = key(tmp_path, "own")
    packed(bench, "-o", tmp_path / "a.zip", "--sign", tmp_path / "own")
    copy = artifacts.unpacked(tmp_path / "a.zip", tmp_path / "copy")
    (tmp_path / "known").write_text(f"ada@example.org {public}")
    words = ["-f", tmp_path / "known", "-I", "ada@example.org", "-n", "trialwise-artifact"]
    done = subprocess.run(
        ["ssh-keygen", "-Y", "verify", *words, "-s", copy / "MANIFEST.sha256.sig"],
        input=(copy / "MANIFEST.sha256").read_bytes(),
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    (copy / "README.md").write_text("changed\n")
    artifacts.sign_again(copy)  # a manifest written anew, with the signature of the old one
    assert (copy / "MANIFEST.sha256.sig").exists()
    code, found = verified(tmp_path, copy)
    assert (code, found["integrity"]["signed"]["problem"]) == (5, "the signature does not fit the manifest")
    (copy / "MANIFEST.sha256.sig").write_text("-----BEGIN SSH SIGNATURE-----\nAAAA\n")
    assert verified(tmp_path, copy)[0] == 5


@needs_ssh
def test_who_asks_for_a_signer_is_not_content_without_a_signature(bench, artifact, tmp_path):
    (tmp_path / "known").write_text("")
    code, found = verified(bench, "parts.zip", "--allowed-signers", tmp_path / "known")
    assert (code, found["integrity"]["signed"]["problem"]) == (5, "it is not signed")
    assert verified(bench, "parts.zip", "--allowed-signers", tmp_path / "absent")[0] == 2
    said = packed(bench, "-o", tmp_path / "b.zip", "--sign", tmp_path / "known", code=2)
    assert "does not sign with it" in said
    assert not (tmp_path / "b.zip").exists()


def test_tables_have_the_values_of_the_ledger_and_a_schema_that_names_their_columns(bench, artifact):
    _, copy = artifact
    package = json.loads((copy / "datapackage.json").read_text())
    (resource,) = package["resources"]
    assert resource["path"] == "tables/sums.results.csv"
    table = pl.read_csv(copy / resource["path"])
    assert table.columns == [field["name"] for field in resource["schema"]["fields"]]
    assert table.select(resource["schema"]["primaryKey"]).is_duplicated().sum() == 0
    steps = table.filter(pl.col("metric") == "steps")
    # the program prints n * 100 + round * n mod 7
    expected = {(n, at): n * 100 + at * n % 7 for n in (1, 3) for at in range(1, 6)}
    assert {
        (row["n"], int(str(row["round"]).rpartition(".")[2])): row["value"] for row in steps.to_dicts()
    } == expected
    assert trialwise("look", copy / resource["path"], cwd=bench).returncode == 0


def test_frictionless_accepts_the_tables(artifact):
    """The program of the people who wrote the specification, where TRIALWISE_CRATE_PYTHON has it."""
    python = os.environ.get("TRIALWISE_CRATE_PYTHON")
    program = Path(python).with_name("frictionless") if python else None
    if program is None or not program.exists():
        pytest.skip("TRIALWISE_CRATE_PYTHON names no Python with frictionless")
    done = subprocess.run(
        [program, "validate", "datapackage.json", "--json"],
        cwd=artifact[1],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert json.loads(done.stdout)["valid"], done.stdout


def test_figures_that_claims_name_are_packed_and_absent_ones_are_said(bench, artifact, tmp_path):
    found, copy = artifact
    assert (copy / "figures/a.svg").read_text() == "<svg/>"
    assert found["claims"][0]["figure"] == "figures/a.svg"
    shutil.copytree(bench / "sums.results", tmp_path / "sums.results")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/a.svg").symlink_to("/etc/passwd")
    (tmp_path / "claims.toml").write_text((bench / "claims.toml").read_text())
    again = packed(tmp_path)
    assert again["left_out"] == ["figures/a.svg, the figure of C1, is not there"]
    assert "figures/a.svg" not in zipfile.ZipFile(tmp_path / "artifact.zip").namelist()


def test_the_readme_has_the_command_that_draws_the_authors_own_figures(bench, artifact, tmp_path):
    copy = shutil.copytree(artifact[1], tmp_path / "artifact")
    (command,) = [
        line for line in (copy / "README.md").read_text().splitlines() if "report" in line and "--svg" in line
    ]
    done = subprocess.run(
        ["sh", "-c", command.replace("trialwise", '"$@"', 1), "sh", sys.executable, "-c", artifacts.RUN],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert (
        trialwise(
            "report", "sums.results", "--svg", tmp_path / "own", "-o", tmp_path / "own.html", cwd=bench
        ).returncode
        == 0
    )
    drawn = {each.name: each.read_bytes() for each in (tmp_path / "figures-sums.results").iterdir()}
    assert drawn == {each.name: each.read_bytes() for each in (tmp_path / "own").iterdir()}
    assert "verdicts-steps.svg" in drawn
    assert verified(tmp_path, "artifact")[0] == 0


USING = """#!/usr/bin/python3
import json, resource, sys
held = bytearray(48 << 20)
for _ in range(300_000):
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"steps": int(sys.argv[1]) * 100, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss << 10}))
"""
SAYS_WHAT_IT_USES = artifacts.TEXT.replace(
    "[design]",
    '[metrics.cpu]\njson = "/cpu"\nunit = "s"\n[metrics.peak]\njson = "/peak"\nunit = "B"\n[design]',
)


def test_costs_are_what_programs_say_of_themselves_though_no_metric_asks(tmp_path):
    folder = artifacts.measured(tmp_path / "work", SAYS_WHAT_IT_USES, program=USING)
    (claim,) = packed(folder)["claims"]
    own = {name: _values(folder, f"stdout|json:/{name}") for name in ("cpu", "peak")}
    assert len(own["cpu"]) == claim["trials"] == 10
    assert sum(own["cpu"]) <= claim["processor"] <= claim["seconds"]  # of one thread
    assert max(own["peak"]) <= claim["memory"] < max(own["peak"]) + (4 << 20)
    assert claim["root"] is (os.geteuid() == 0)
    readme = zipfile.ZipFile(folder / "artifact.zip").read("README.md").decode()
    assert "not recorded" not in readme


def test_resources_that_are_recorded_twice_count_once(bench, artifact):
    (claim,) = artifact[0]["claims"]
    times = _values(bench, "instrument:user") + _values(bench, "instrument:system")
    assert len(times) == 20
    assert claim["processor"] == pytest.approx(sum(times))
    assert claim["memory"] == max(_values(bench, "instrument:max_rss")) > 2**18


SERVICE = """[service.s]
start = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; echo up; exec sleep 600'"
ready = { log = "^up$", timeout = "60s" }
"""


@pytest.mark.parametrize("metric", ['[metrics.service]\nservice = "s.cpu"\n', ""], ids=["measured", "not"])
def test_costs_have_services_in_them_or_are_not_known(metric, tmp_path):
    folder = artifacts.measured(tmp_path / "work", f"{artifacts.TEXT}{SERVICE}{metric}")
    (claim, *_) = packed(folder)["claims"]
    if not metric:
        assert (claim["processor"], claim["memory"]) == (None, None)
        readme = (artifacts.unpacked(folder / "artifact.zip", tmp_path / "x") / "README.md").read_text()
        assert "are known where metrics ask for them" in readme
        as_root = "no rights of root are stated, but the authors' trials ran with them."
        assert (as_root in readme) is (os.geteuid() == 0)
        return
    sources = ("instrument:user", "instrument:system", "service:s.cpu")
    assert claim["processor"] == pytest.approx(sum(sum(_values(folder, source)) for source in sources))
    least = min(_values(folder, "service:s.memory")) + min(_values(folder, "instrument:max_rss"))
    most = max(_values(folder, "service:s.memory")) + max(_values(folder, "instrument:max_rss"))
    assert least <= claim["memory"] <= most


def test_computed_trials_cost_the_processor_time_and_the_memory_of_the_process_that_computes_them(tmp_path):
    run_simulation(tmp_path)
    (tmp_path / "results").rename(tmp_path / "sums.results")
    said = 'text = "x"\nmetric = "mean_fct"\nratio = { of = { scheme = "hpcc" }, to = { scheme = "dctcp" }, at_least = 0 }\n'
    claims = artifacts.CLAIMS[: artifacts.CLAIMS.index("text =")]
    (tmp_path / "claims.toml").write_text(claims + said)
    (claim,) = packed(tmp_path)["claims"]
    times = [value for name in ("user", "system") for value in _values(tmp_path, f"instrument:{name}")]
    # Each trial counts, though both of a round met the same flows and are one pair in the analysis.
    assert claim["trials"] == 60
    assert claim["processor"] == pytest.approx(sum(times))
    assert claim["memory"] == max(_values(tmp_path, "instrument:max_rss"))
    assert claim["seconds"] > 0


def _values(folder, source):
    with contextlib.closing(sqlite3.connect(folder / "sums.results/ledger.sqlite")) as ledger:
        return [value for (value,) in ledger.execute("SELECT value FROM value WHERE source = ?", (source,))]


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="not installed: dpkg")
def test_programs_of_the_system_are_named_with_their_packages_and_others_as_lacking(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy("/bin/true", elsewhere / "mine")
    program = artifacts.PROGRAM.replace(
        "#!/bin/sh\n", f"#!/bin/sh\nif false; then :; else perl -e 1; fi\n{elsewhere}/mine\n"
    )
    folder = artifacts.measured(tmp_path / "x", program=program)
    (experiment,) = packed(folder)["experiments"]
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version}", "perl-base"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout in experiment["packages"]
    lacking = {each["name"]: each["why"] for each in experiment["outside"]}
    assert [name for name in lacking if name.endswith("elsewhere/mine")]
    assert "say how to get or build it" in next(iter(lacking.values()))
    assert not [name for name in lacking if "perl" in name]


@needs_zstd
def test_a_tar_of_zstd_is_written_read_and_unpacked_by_tar_and_the_same_twice(bench, artifact, tmp_path):
    found = packed(bench, "-o", tmp_path / "a.tar.zst")
    assert found["identity"] == artifact[0]["identity"]
    packed(bench, "-o", tmp_path / "b.tar.zst")
    assert (tmp_path / "a.tar.zst").read_bytes() == (tmp_path / "b.tar.zst").read_bytes()
    assert verified(tmp_path, "a.tar.zst")[1]["integrity"]["identity"] == found["identity"]
    (tmp_path / "copy").mkdir()
    subprocess.run(["tar", "--zstd", "-xf", "a.tar.zst", "-C", "copy"], cwd=tmp_path, check=True)
    subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST.sha256"], cwd=tmp_path / "copy", check=True)
    subprocess.run(["tar", "--zstd", "-cf", "c.tar.zst", "-C", "copy", "."], cwd=tmp_path, check=True)
    assert verified(tmp_path, "c.tar.zst")[0] == 0
    assert "ending" in packed(bench, "-o", tmp_path / "a.tar.gz", code=2)


def test_a_name_in_measured_data_is_refused_until_it_is_allowed_and_data_stay_as_they_are(tmp_path):
    program = artifacts.PROGRAM + 'echo "on secretlab7" >&2\n'
    folder = artifacts.measured(tmp_path / "x", program=program)
    file = next((folder / "sums.results/environments").iterdir())
    record = json.loads(file.read_text())
    record["machine"]["hostname"] = "secretlab7"
    file.write_text(json.dumps(record))
    said = packed(folder, code=2)
    assert "the name secretlab7 stands in" in said
    assert "--allow-name secretlab7" in said
    assert not list(folder.glob("*.zip"))
    found = packed(folder, "--allow-name", "secretlab7")
    (name,) = [each for each in found["replaced"] if each["name"] == "secretlab7"]
    assert name["stays"] >= 10  # the standard error of each trial
