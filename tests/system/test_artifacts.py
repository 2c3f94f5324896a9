"""Artifacts of an experiment that really ran: packed, verified, falsified, and written where there is no room."""

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import artifacts
import crates
import full_disk
import small_disk
from in_process import trialwise

LICENCE = ("--licence", "CC-BY-4.0")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = artifacts.measured(tmp_path_factory.mktemp("bench") / "work")
    done = trialwise("pack", "sums.results", *LICENCE, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "packed.json").write_text(done.stdout)
    return folder


@pytest.fixture
def copy(bench, tmp_path):
    return artifacts.unpacked(bench / "artifact.zip", tmp_path / "artifact")


def verified(place):
    done = trialwise("verify", place, "--json", cwd=Path(place).parent)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def test_a_packed_experiment_verifies_as_archive_and_as_folder_with_sha256sum_and_moved(bench, copy):
    code, found = verified(bench / "artifact.zip")
    packed = json.loads((bench / "packed.json").read_text())
    assert (code, found["integrity"]["identity"]) == (0, packed["identity"])
    assert [(claim["result"]["verdict"], claim["same"]) for claim in found["claims"]] == [("supported", True)]
    subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST.sha256"], cwd=copy, check=True)
    tar = copy.parent / "a.tar.gz"
    subprocess.run(["tar", "-czf", tar, "-C", copy.parent, "artifact"], check=True)
    assert {verified(copy)[1]["integrity"]["identity"], verified(tar)[1]["integrity"]["identity"]} == {
        packed["identity"]
    }


def test_an_artifact_is_a_side_of_a_diff(bench):
    done = trialwise("diff", "artifact.zip", "sums.results", "--json", cwd=bench)
    found = json.loads(done.stdout)
    assert found["differences"] == []  # the names that were replaced are those of this machine
    assert (done.returncode, found["a"], found["results"]["refusal"]) == (0, "artifact.zip", None)
    assert trialwise("diff", "artifact.zip", cwd=bench).returncode == 0
    (bench / "broken.zip").write_bytes((bench / "artifact.zip").read_bytes()[:-100])
    assert trialwise("diff", "broken.zip", cwd=bench).returncode == 5


def test_what_is_packed_is_what_a_stranger_needs(bench, copy):
    names = {each.relative_to(copy).as_posix() for each in copy.rglob("*") if each.is_file()}
    needed = "README.md claims.toml claims.json CITATION.cff .zenodo.json LICENSE ro-crate-metadata.json MANIFEST.sha256"
    assert {
        *needed.split(),
        "sums.results/ledger.sqlite",
        "sums.results/experiment.toml",
        "programs/sums.results/work",
    } <= names
    assert not [name for name in names if name.endswith(("-wal", "-shm", ".lock", ".tmp"))]
    assert os.access(copy / "programs/sums.results/work", os.R_OK)
    assert "# our data" in (copy / "claims.toml").read_text()
    (claim,) = json.loads((bench / "packed.json").read_text())["claims"]
    with sqlite3.connect(copy / "sums.results/ledger.sqlite") as ledger:
        (trials,) = ledger.execute(
            "SELECT count(*) FROM trial WHERE status = 'finished' AND NOT warmup"
        ).fetchone()
    assert (claim["trials"], claim["size"]) == (
        trials,
        sum(each.stat().st_size for each in (copy / "sums.results/outputs").iterdir()),
    )


def test_the_same_directory_gives_the_same_bytes(bench):
    again = bench / "again.zip"
    time.sleep(1.1)
    assert trialwise("pack", "sums.results", *LICENCE, "-o", again, cwd=bench).returncode == 0
    assert again.read_bytes() == (bench / "artifact.zip").read_bytes()


def ledger_changed(folder, *statements):
    with sqlite3.connect(folder / "sums.results/ledger.sqlite") as ledger:
        for statement in statements:
            ledger.execute(statement)


def swap(one, other):
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


FALSIFIED = {
    "an edited value": (
        lambda folder: ledger_changed(folder, "UPDATE value SET value = 1 WHERE number = 1"),
        "sums.results/ledger.sqlite",
    ),
    "deleted trials": (
        lambda folder: ledger_changed(
            folder, "DELETE FROM value WHERE number = 2", "DELETE FROM trial WHERE number = 2"
        ),
        "sums.results/ledger.sqlite",
    ),
    "re-ordered rounds": (
        lambda folder: ledger_changed(folder, "UPDATE trial SET round = 6 - round"),
        "sums.results/ledger.sqlite",
    ),
    "swapped outputs": (
        lambda folder: swap(*sorted((folder / "sums.results/outputs").iterdir())[:2]),
        "sums.results/outputs/000001-1.stdout.gz",
    ),
    "changed claims": (
        lambda folder: (folder / "claims.toml").write_text(
            artifacts.CLAIMS.replace("at_least = 2", "at_least = 2.5")
        ),
        "claims.toml",
    ),
    "other results": (lambda folder: (folder / "claims.json").write_text("{}"), "claims.json"),
    "another program": (
        lambda folder: (folder / "programs/sums.results/work").write_text("#!/bin/sh\n"),
        "programs/sums.results/work",
    ),
    "another plan": (
        lambda folder: (folder / "sums.results/experiment.toml").write_text(
            artifacts.TEXT.replace("seed = 5", "seed = 6")
        ),
        "sums.results/experiment.toml",
    ),
    "a file less": (lambda folder: (folder / "README.md").unlink(), "README.md"),
    "a file more": (lambda folder: (folder / "more.txt").write_text("x"), "more.txt"),
}


@pytest.mark.parametrize("what", FALSIFIED)
def test_what_was_falsified_is_named_in_a_folder_a_zip_and_a_tar(copy, what):
    change, name = FALSIFIED[what]
    change(copy)
    archives = [shutil.make_archive(str(copy.parent / "a"), form, copy) for form in ("zip", "gztar")]
    for place in (copy, *archives):
        code, found = verified(place)
        assert code == 5
        assert name in [
            *found["integrity"]["changed"],
            *found["integrity"]["missing"],
            *found["integrity"]["added"],
        ]
        assert found["claims"] == []
    assert name in trialwise("verify", copy, cwd=copy.parent).stdout


def test_nothing_of_what_was_falsified_is_run(copy):
    (copy / "programs/sums.results/work").write_text("#!/bin/sh\ntouch /tmp/ran\n")
    artifacts.sign_again(copy)
    done = trialwise("verify", copy, "--kick", cwd=copy.parent)
    assert (done.returncode, "another program" in done.stdout) == (5, True)
    assert [each.name for each in copy.parent.iterdir()] == ["artifact"]


FORGED = {
    "an edited value": ("UPDATE value SET value = 50 WHERE number = 3", "trial 3.1 (", "was changed after"),
    "a deleted trial": (
        "DELETE FROM value WHERE number = 4; DELETE FROM trial WHERE number = 4",
        "is missing",
        "trial 4 has no row",
    ),
    "re-ordered rounds": (
        "UPDATE trial SET round = 6 - round WHERE number IN (1, 10)",
        "trial ",
        "was changed after",
    ),
    "a tail cut off": (
        (
            "DELETE FROM value WHERE number = 10; DELETE FROM trial WHERE number = 10;"
            "UPDATE meta SET value = (SELECT link || ' ' || chain FROM trial ORDER BY link DESC LIMIT 1) WHERE key = 'chain head'"
        ),
        "claims.toml names another head",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_with_a_manifest_written_anew_the_chain_names_the_row(bench, copy, what):
    statements, *words = FORGED[what]
    ledger_changed(copy, *statements.split(";"))
    artifacts.sign_again(copy)
    code, found = verified(copy)
    (ledger,) = found["ledgers"]
    assert (code, found["claims"]) == (5, [])
    assert all(word in " ".join(ledger["broken"]) for word in words), ledger
    assert found["integrity"]["identity"] != json.loads((bench / "packed.json").read_text())["identity"]


def test_swapped_outputs_are_named_although_the_manifest_fits(copy):
    one, other = sorted((copy / "sums.results/outputs").iterdir())[:2]
    swap(one, other)
    artifacts.sign_again(copy)
    code, found = verified(copy)
    outputs = found["ledgers"][0]["outputs"]
    assert (code, found["claims"], outputs["agree"], outputs["differ"]) == (5, [], 8, 2)
    assert [text.partition(" (")[0] for text in outputs["differences"]] == ["trial 1.1", "trial 2.1"]
    report = copy.parent / "ae.md"
    done = trialwise("verify", copy, "--report", report, cwd=copy.parent)
    assert done.returncode == 5
    for said in (done.stdout, report.read_text()):
        assert "what was kept of trials gives other numbers than the ledger" in said
        assert "kept outputs agree with the ledger: 8 of 10 numbers" in said
        assert "trial 2.1" in said


def test_another_program_is_named_although_the_manifest_fits(copy):
    (copy / "programs/sums.results/work").write_text("#!/bin/sh\n")
    artifacts.sign_again(copy)
    code, found = verified(copy)
    said = ["programs/sums.results/work is another program than the one that ran"]
    assert (code, found["ledgers"][0]["broken"]) == (5, said)


def test_results_that_do_not_follow_from_the_data_are_named_although_the_manifest_fits(copy):
    results = json.loads((copy / "claims.json").read_text())
    results["claims"][0]["estimate"] *= 1.01
    (copy / "claims.json").write_text(json.dumps(results))
    artifacts.sign_again(copy)
    code, found = verified(copy)
    assert (code, [claim["same"] for claim in found["claims"]]) == (1, [False])


def test_an_excluded_trial_is_packed_with_its_reason_and_left_out_again(bench, tmp_path):
    shutil.copytree(bench / "sums.results", tmp_path / "sums.results")
    (tmp_path / "claims.toml").write_text(artifacts.CLAIMS)
    done = trialwise("exclude", "sums.results", "2", "--because", "cable pulled", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    packed = json.loads(trialwise("pack", "sums.results", *LICENCE, "--json", cwd=tmp_path).stdout)
    assert packed["experiments"][0]["excluded"] == ["trial 2: cable pulled"]
    assert packed["claims"][0]["trials"] == 9
    code, found = verified(tmp_path / "artifact.zip")
    assert (code, sum(found["claims"][0]["result"]["n"])) == (0, 9)
    copy = artifacts.unpacked(tmp_path / "artifact.zip", tmp_path / "x")
    assert "cable pulled" in (copy / "README.md").read_text()


def test_a_re_run_is_judged_and_a_copy_of_the_packed_one_refused(bench, tmp_path):
    """Steps follow from plan and program: the same ones are measured again, and other ones of another program."""
    shutil.copytree(bench / "sums.results", tmp_path / "sums.results")
    (tmp_path / "claims.toml").write_text(artifacts.CLAIMS + 'tolerance = "30%"\n')
    assert trialwise("pack", "sums.results", *LICENCE, cwd=tmp_path).returncode == 0
    again = artifacts.measured(tmp_path / "again")
    done = trialwise("verify", "artifact.zip", "--rerun", again / "sums.results", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)["rerun"]
    assert (done.returncode, [claim["word"] for claim in found["claims"]]) == (0, ["reproduced"])
    assert [each["name"] for each in found["differences"]] == []
    (tmp_path / "other").mkdir()
    slower = artifacts.measured(
        tmp_path / "other" / "x", artifacts.TEXT, program=artifacts.PROGRAM.replace("$1 * 100", "$1 + 100")
    )
    done = trialwise("verify", "artifact.zip", "--rerun", slower / "sums.results", cwd=tmp_path)
    assert done.returncode == 1
    assert "not reproduced" in done.stdout
    assert "program.work" in done.stdout
    done = trialwise("verify", "artifact.zip", "--rerun", "sums.results", cwd=tmp_path)
    assert (done.returncode, "itself" in done.stderr) == (7, True)


def test_names_of_hosts_and_users_are_replaced_and_told_and_data_are_not_changed(tmp_path):
    folder = artifacts.measured(tmp_path / "home" / "x")
    file = next((folder / "sums.results/environments").iterdir())
    record = json.loads(file.read_text())
    record["machine"]["hostname"] = "secretlab7"
    record["fingerprint"]["environment"] |= {
        "API_KEY": "hidden 123",
        "DATA": "/home/adalove/data",
        "NODE": "on secretlab7",
    }
    file.write_text(json.dumps(record))
    before = {each: each.read_bytes() for each in (folder / "sums.results/outputs").iterdir()}
    found = json.loads(trialwise("pack", "sums.results", *LICENCE, "--json", cwd=folder).stdout)
    copy = artifacts.unpacked(folder / "artifact.zip", tmp_path / "copy")
    text = next((copy / "sums.results/environments").iterdir()).read_text()
    assert "secretlab7" not in text
    assert "adalove" not in text
    assert "API_KEY" not in text
    assert "hidden" not in text
    assert {each["name"] for each in found["replaced"] if each["times"]} >= {"secretlab7", "adalove"}
    assert found["removed"] == ["API_KEY"]
    assert all(
        (copy / "sums.results/outputs" / each.name).read_bytes() == content
        for each, content in before.items()
    )
    assert {each: each.read_bytes() for each in before} == before


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (("at_least = 2", "at_least = 5"), (), "claim C1 is contradicted"),
        (("at_least = 2", "at_least = ESTIMATE"), (), "claim C1 is undecided"),
        (("sums.results", "other.results"), (), "other.results"),
        (("", ""), ("--licence", ""), "no licence"),
        (("", ""), ("--author", "<x>", *LICENCE), "is no author"),
    ],
)
def test_what_cannot_stand_in_an_artifact_is_refused_and_nothing_is_written(
    bench, tmp_path, change, words, said
):
    (tmp_path / "sums.results").symlink_to(bench / "sums.results")
    estimate = json.loads((bench / "packed.json").read_text())["claims"][0]["result"]["estimate"]
    claims = artifacts.CLAIMS.replace(*change) if change[0] else artifacts.CLAIMS
    (tmp_path / "claims.toml").write_text(claims.replace("ESTIMATE", str(estimate)))
    done = trialwise("pack", "sums.results", *(words or LICENCE), cwd=tmp_path)
    assert done.returncode in (2, 7)
    assert said in done.stderr
    assert not list(tmp_path.glob("*.zip"))


def test_a_variable_that_looks_like_a_secret_is_refused_until_it_is_said_to_be_none(tmp_path):
    text = artifacts.TEXT.replace("[metrics", 'environment = { API_TOKEN = "abc" }\n[metrics', 1)
    folder = artifacts.measured(tmp_path, text)
    done = trialwise("pack", "sums.results", *LICENCE, cwd=folder)
    assert (done.returncode, "API_TOKEN" in done.stderr, "abc" in done.stderr) == (2, True, False)
    assert (
        trialwise("pack", "sums.results", *LICENCE, "--not-secret", "API_TOKEN", cwd=folder).returncode == 0
    )


def test_where_there_is_no_room_nothing_is_left(bench, tmp_path):
    shutil.copytree(bench / "sums.results", tmp_path / "sums.results")
    before = sorted(tmp_path.iterdir())
    done = full_disk.trialwise("pack", "sums.results", *LICENCE, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(small_disk.refusal() is not None, reason=str(small_disk.refusal()))
def test_a_full_disk_while_it_is_packed_leaves_nothing_and_with_room_it_is_packed(bench, tmp_path):
    """Room for a part of the archive; the copy of the ledger lies in a temporary folder elsewhere."""
    size = (bench / "artifact.zip").stat().st_size
    with small_disk.small_disk(tmp_path / "disk", 1 << 20) as disk:
        words = [small_disk.TRIALWISE, "pack", str(bench / "sums.results"), *LICENCE, "-o", "a.zip"]
        for leave in (4096, size // 2, size - 4096):
            disk.fill(leave)
            done = disk.enter(*words)
            assert (done.returncode, "Traceback" in done.stderr) == (5, False), done.stderr
            assert disk.enter("ls", "-A").stdout.split() == ["ballast"]
            disk.make_room()
        done = disk.enter(*words)
        assert done.returncode == 0, done.stderr
        assert disk.enter("ls", "-A").stdout.split() == ["a.zip"]


def test_a_pack_that_is_killed_leaves_no_archive_and_the_next_one_is_whole(bench, tmp_path):
    shutil.copytree(bench / "sums.results", tmp_path / "sums.results")
    before = sorted((tmp_path / "sums.results").rglob("*"))
    words = [sys.executable, "-c", artifacts.RUN, "pack", "sums.results", *LICENCE]
    for wait in (0.5, 1.0, 1.4):
        process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.kill()
        if process.wait(60) == 0:
            continue
        assert not (tmp_path / "artifact.zip").exists()
    assert trialwise("pack", "sums.results", *LICENCE, "--force", cwd=tmp_path).returncode == 0
    assert verified(tmp_path / "artifact.zip")[0] == 0
    assert sorted((tmp_path / "sums.results").rglob("*")) == before


def test_a_pack_that_is_interrupted_leaves_no_archive(bench, tmp_path):
    shutil.copytree(bench / "sums.results", tmp_path / "sums.results")
    words = [sys.executable, "-c", artifacts.RUN, "pack", "sums.results", *LICENCE]
    for wait in (0.3, 0.9):
        process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
        archive = tmp_path / "artifact.zip"
        assert archive.exists() == (code == 0)
        archive.unlink(missing_ok=True)
        assert [each.name for each in tmp_path.iterdir()] == ["sums.results"]


def test_the_crate_breaks_no_rule_of_its_profiles(copy):
    assert crates.broken_rules(copy) == []


def _without(name, key):
    def change(document):
        next(each for each in document["@graph"] if each["@id"] == name).pop(key)

    return change


def _with_a_part_inside(document):
    document["@graph"][1]["author"] = {"@type": "Person", "name": "x"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without("./", "datePublished"), "no day"),
        (_without("./", "license"), "the root has no license"),
        (_without("./", "mentions"), "does not mention #run-sums.results"),
        (_without("#run-sums.results", "instrument"), "no action ran sums.results/experiment.toml"),
        (_without("sums.results/experiment.toml", "programmingLanguage"), "in no language"),
        (_with_a_part_inside, "./ holds another entity in author"),
        (lambda document: document["@graph"][1].update(conformsTo=[]), "names no version"),
        (lambda document: document["@graph"][1]["hasPart"].pop(), "is not among the parts"),
    ],
)
def test_a_crate_that_breaks_a_rule_is_found_out(copy, change, said):
    file = copy / "ro-crate-metadata.json"
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))
    assert [rule for rule in crates.broken_rules(copy) if said in rule]


def test_the_crate_and_the_citation_pass_their_validators(copy):
    """roc-validator has RO-Crate 1.3; its profiles of runs are those of 0.5, which know RO-Crate 1.1 and its vocabulary alone."""
    python = os.environ.get("TRIALWISE_CRATE_PYTHON")
    if not python:
        pytest.skip("TRIALWISE_CRATE_PYTHON names no Python with roc-validator, rocrate and cffconvert")
    script = Path(__file__).with_name("validate_crate.py")
    done = subprocess.run([python, script, copy], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "ro-crate-1.3": [],
        "process-run-crate-0.5": ["ro-crate-1.1_5.3"],
        "workflow-run-crate-0.5": ["ro-crate-1.1_5.3", "workflow-ro-crate-1.0_2.1"],
    }
    cff = Path(python).with_name("cffconvert")
    subprocess.run(
        [cff, "--validate", "-i", copy / "CITATION.cff"], check=True, capture_output=True, timeout=60
    )


def test_the_report_of_an_evaluator_names_neither_host_nor_user(bench, tmp_path):
    report = tmp_path / "ae.md"
    assert trialwise("verify", bench / "artifact.zip", "--report", report, cwd=bench).returncode == 0
    text = report.read_text()
    assert "C1" in text
    assert str(bench) not in text
    assert trialwise("verify", "artifact.zip", "--report", report, cwd=bench).returncode == 2


def test_files_of_other_tools_are_packed_where_claims_name_them(bench, tmp_path):
    shutil.copytree(bench / "sums.results", tmp_path / "sums.results")
    (tmp_path / "out").mkdir()
    rows = "".join(f"{scheme},{base + at}\n" for scheme, base in (("a", 10), ("b", 50)) for at in range(6))
    (tmp_path / "out/t.csv").write_text(f"scheme,delay\n{rows}")
    claims = artifacts.CLAIMS.replace("[data]", '[[data]]\nname = "own"').replace(
        'id = "C1"', 'id = "C1"\ndata = "own"'
    )
    more = (
        '[[data]]\nname = "field"\nfiles = ["out/*.csv"]\n[[claim]]\nid = "C2"\ntext = "b is slower"\ndata = "field"\n'
        'metric = "delay"\ndifference = { of = { scheme = "b" }, to = { scheme = "a" }, at_least = 20 }\n'
    )
    (tmp_path / "claims.toml").write_text(claims + more)
    done = trialwise("pack", "sums.results", *LICENCE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "out/t.csv" in zipfile.ZipFile(tmp_path / "artifact.zip").namelist()
    code, found = verified(tmp_path / "artifact.zip")
    assert (code, [claim["result"]["id"] for claim in found["claims"]]) == (0, ["C1", "C2"])
    # the hash over the files is that of the lines of sha256sum, and another file is found although the manifest fits
    copy = artifacts.unpacked(tmp_path / "artifact.zip", tmp_path / "copy")
    lines = subprocess.run(["sha256sum", "out/t.csv"], cwd=copy, capture_output=True, check=True).stdout
    assert f'sha256 = "{hashlib.sha256(lines).hexdigest()}"' in (copy / "claims.toml").read_text()
    (copy / "out/t.csv").write_text(f"scheme,delay\n{rows.replace('50', '51')}")
    artifacts.sign_again(copy)
    code, said = verified(copy)
    assert (code, "not the files whose hash" in said) == (7, True)
