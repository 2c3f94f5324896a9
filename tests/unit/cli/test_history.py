"""`trialwise history` on what others keep of their commits and days."""

import json
import random
import subprocess

import pytest

COMMITS = [f"{number:08x}" + 32 * "0" for number in range(1, 61)]


@pytest.fixture
def trialwise(capfd):
    from trialwise.cli.main import app

    def run(*words):
        code = app([*map(str, words)], exit_on_error=False, result_action="return_value")
        return code, *capfd.readouterr()

    return run


def level(place, change, at=41, noise=0.02):
    """A value of 100 that changes by a share at a place, with a noise that depends on the place alone."""
    return 100 * (1 + change * (place >= at)) * random.Random(place).gauss(1, noise)


def action(path, benches, commits=COMMITS):
    runs = [
        {
            "commit": {
                "id": commit,
                "timestamp": f"2026-{1 + place // 28:02}-{1 + place % 28:02}T00:00:00+00:00",
            },
            "date": 1_767_225_600_000 + place * 86_400_000,
            "tool": "cargo",
            "benches": [{"name": name, "unit": "ns", "value": of(place)} for name, of in benches.items()],
        }
        for place, commit in enumerate(commits)
    ]
    told = {"lastUpdate": 1, "repoUrl": "", "entries": {"Rust": runs}}
    path.write_text("window.BENCHMARK_DATA = " + json.dumps(told))


def document(trialwise, *words):
    code, out, _ = trialwise("history", *words, "--json")
    assert code == 0
    return json.loads(out)


def test_a_planted_change_has_its_commits_and_its_size(tmp_path, trialwise):
    action(
        tmp_path / "data.js",
        {"parse": lambda place: level(place, 0.1), "render": lambda place: level(place, 0, 0)},
    )
    found = document(trialwise, tmp_path / "data.js")
    assert (found["format"], found["by"]) == ("trialwise.history/1", "commit")
    parse, render = found["series"]
    (change,) = parse["changes"]
    assert (change["last"], change["first"], change["meaning"]) == (COMMITS[40], COMMITS[41], "worse")
    assert change["low"] < 10 < change["high"]
    assert change["high"] - change["low"] < 4
    assert render["changes"] == []
    code, out, _ = trialwise("history", tmp_path / "data.js")
    assert code == 0
    assert "1 of 2 series changed; the newest: parse +" in out.splitlines()[0]
    assert max(map(len, out.splitlines()[1:-2])) <= 100


def test_the_schema_describes_the_document(tmp_path, trialwise):
    from jsonschema import Draft202012Validator

    from trialwise.cli.schema import json_schema

    action(tmp_path / "data.js", {"parse": lambda place: level(place, 0.1)})
    Draft202012Validator(json_schema("history")).validate(document(trialwise, tmp_path / "data.js"))


def test_the_repository_has_the_order(tmp_path, trialwise):
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for number in range(30):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
    listed = subprocess.run(
        [*git, "log", "--format=%H"], capture_output=True, text=True, check=True
    ).stdout.split()[::-1]
    shuffled = random.Random(1).sample(range(30), 30)
    for place in shuffled:
        told = [{"name": "parse", "unit": "ms", "value": level(place, 0.3, 15)}]
        (tmp_path / f"{listed[place][:12]}_smaller.json").write_text(json.dumps(told))
    files = sorted(tmp_path.glob("*.json"))
    found = document(trialwise, *files, "--factor", "{commit}_smaller.json", "--repository", repository)
    (series,) = found["series"]
    assert [point["at"] for point in series["points"]] == [commit[:12] for commit in listed]
    assert [change["first"] for change in series["changes"]] == [listed[15][:12]]
    unordered = document(trialwise, *files, "--factor", "{commit}_smaller.json")
    assert "which may not be theirs" in unordered["order"]


def test_days_in_names_and_repeated_values(tmp_path, trialwise):
    for place in range(30):
        for again in range(2):
            told = {"parse": {"latency": {"value": level(place, -0.3, 20) + again}}}
            (tmp_path / f"2026-03-{place + 1:02}_{again}.json").write_text(json.dumps(told))
    found = document(trialwise, tmp_path, "--factor", "{date}_{rep}.json")
    (series,) = found["series"]
    assert found["by"] == "date"
    assert {point["n"] for point in series["points"]} == {2}
    assert [change["first"] for change in series["changes"]] == ["2026-03-21"]
    assert series["changes"][0]["meaning"] == "better"


def test_machines_are_two_series_and_gaps_are_counted(tmp_path, trialwise):
    (tmp_path / "benchmarks.json").write_text(
        json.dumps({"time_x": {"type": "time", "unit": "seconds"}, "version": 2})
    )
    for machine, shift in (("fast", 0.0), ("slow", 0.5)):
        folder = tmp_path / machine
        folder.mkdir()
        for place, commit in enumerate(COMMITS[:20]):
            if machine == "slow" and place == 3:
                continue
            told = {
                "version": 2, "commit_hash": commit, "env_name": "env", "date": 1_767_225_600_000 + 1000 * place,
                "params": {"machine": machine}, "result_columns": ["result"],
                "results": {"time_x": [[level(place, shift, 0)]]},
            }  # fmt: skip
            (folder / f"{commit[:8]}-env.json").write_text(json.dumps(told))
    found = document(trialwise, tmp_path)
    assert {(each["machine"], len(each["points"]), each["gaps"]) for each in found["series"]} == {
        ("fast", 20, 0),
        ("slow", 19, 1),
    }
    assert all(each["changes"] == [] for each in found["series"])
    assert found["order"] == "by commit, in the order of their dates"


def test_experiment_directories_have_the_commit_that_they_ran_on(tmp_path, trialwise):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.results")
    (tmp_path / "e.toml").write_text(
        '[experiment]\nname = "e"\n[trial]\ncommand = "cat value.txt"\n'
        '[metrics.value]\nstdout = "([0-9.]+)"\n[design]\nrounds = 2\nseries = 1\n'
    )
    commits = []
    for place, value in enumerate((1.5, 2.5)):
        (tmp_path / "value.txt").write_text(str(value))
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", str(value)], check=True)
        told = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        commits.append(told.stdout.strip())
        assert trialwise("run", tmp_path / "e.toml", "--directory", tmp_path / f"{1 - place}.results")[0] == 0
    (series,) = document(trialwise, tmp_path, "--repository", tmp_path)["series"]
    found = [(point["at"], point["value"], point["n"]) for point in series["points"]]
    assert found == [(commits[0], 1.5, 2), (commits[1], 2.5, 2)]


def test_a_short_series_says_how_many_points_it_needs(tmp_path, trialwise):
    action(tmp_path / "data.js", {"parse": lambda place: level(place, 1, 3)}, COMMITS[:6])
    (series,) = document(trialwise, tmp_path / "data.js")["series"]
    assert series["more"] > 0
    action(
        tmp_path / "data.js",
        {"parse": lambda place: level(place, 1, (6 + series["more"]) // 2)},
        COMMITS[: 6 + series["more"]],
    )
    (series,) = document(trialwise, tmp_path / "data.js")["series"]
    assert series["more"] == 0
    assert len(series["changes"]) == 1


def test_hostile_names_and_a_page(tmp_path, trialwise):
    name = "</script><b>\x1b[31mred"
    action(
        tmp_path / "data.js",
        {name: lambda place: level(place, 0.1)},
        [f"\x1b]0;{commit[:9]}" for commit in COMMITS],
    )
    code, out, _ = trialwise("history", tmp_path / "data.js", "--html", tmp_path / "page.html")
    assert code == 0
    assert "\x1b" not in out
    page = (tmp_path / "page.html").read_text()
    assert "\x1b" not in page
    assert "<b>" not in page.split("<body")[1].split("<script")[0]
    code, out, _ = trialwise("history", tmp_path / "data.js", "--json")
    assert "\x1b" not in out


def test_nothing_to_look_back_at_is_said(tmp_path, trialwise):
    from trialwise.errors import AnalysisError

    (tmp_path / "a.json").write_text('[{"name": "parse", "unit": "ms", "value": 1}]')
    with pytest.raises(AnalysisError, match="no value has a date"):
        trialwise("history", tmp_path / "a.json")
    action(tmp_path / "data.js", {"parse": lambda place: level(place, 0)})
    with pytest.raises(AnalysisError, match="nothing matches"):
        trialwise("history", tmp_path / "data.js", "--metric", "none*")
