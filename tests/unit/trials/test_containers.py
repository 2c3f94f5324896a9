"""Command lines of podman and docker: which start a container, and how it gets the label by which it is ended."""

from __future__ import annotations

import shlex

import pytest

from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import read_experiment
from trialwise.trials.client_check import check_clients
from trialwise.trials.container_cgroups import Cgroup
from trialwise.trials.containers import client_of, labelled, starts_container

HEAD = '[experiment]\nname = "e"\n[factors]\nengine = ["true", "podman"]\n'


def experiment(tmp_path, trial: str, metric: str = 'resource = "wall"', rest: str = "") -> Experiment:
    (tmp_path / "experiment.toml").write_text(f"{HEAD}[trial]\n{trial}\n[metrics.m]\n{metric}\n{rest}\n")
    return read_experiment(tmp_path / "experiment.toml")


def refusal(experiment: Experiment) -> str:
    with pytest.raises(PlanError) as raised:
        check_clients(experiment, [{"engine": "true"}, {"engine": "podman"}])
    return str(raised.value)


@pytest.mark.parametrize(
    "line", ["podman run box true", "/usr/bin/docker run box", "docker --context far container run box"]
)
def test_the_container_gets_labels_behind_the_word_run_and_the_line_is_otherwise_as_it_was(line):
    words = shlex.split(line)
    assert starts_container(words)
    added = [each for each in labelled(words, "dir:3.1") if each not in words]
    assert added == ["--rm", "--label=trialwise.marker=dir:3.1", "--label=trialwise.experiment=dir"]
    assert labelled(words, "dir:3.1")[labelled(words, "dir:3.1").index("run") + 1] == "--rm"


@pytest.mark.parametrize(
    "line", ["podman exec run true", "docker", "sh -c 'docker run box'", "podmanrun run", "docker ps run"]
)
def test_other_lines_stay_as_they_are(line):
    words = shlex.split(line)
    assert not starts_container(words)
    assert labelled(words, "dir:3.1") == words


def test_options_of_the_client_go_with_it_to_the_command_that_ends_the_container():
    assert client_of(["podman", "--root", "/r", "run", "box"]) == ["podman", "--root", "/r"]


@pytest.mark.parametrize("resource", ["user", "system", "max_rss"])
def test_resources_of_a_client_that_starts_no_container_are_refused_also_where_one_treatment_has_it(
    tmp_path, resource
):
    found = experiment(tmp_path, "command = '{engine} exec box'", f'resource = "{resource}"')
    assert "is of the client podman, and not of its container" in refusal(found)


def test_a_peak_that_is_of_a_process_here_and_of_a_cgroup_there_is_refused(tmp_path):
    found = experiment(tmp_path, "command = '{engine} run box'", 'resource = "max_rss"')
    assert "of the largest process for some treatments, and of the whole cgroup" in refusal(found)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/nowhere/podman run box", "/nowhere/podman: No such file or directory"),
        ("podman run --cgroup-parent=/mine box", "the command line has --cgroup-parent: leave it out"),
        ("podman run --pod mine box", "the command line has --pod: leave it out"),
    ],
)
def test_cpu_time_of_a_container_is_refused_where_its_cgroup_cannot_be_ours(tmp_path, line, why):
    found = experiment(tmp_path, f"command = '{line} {{engine}}'", 'resource = "user"')
    assert why in refusal(found)
    # What workers have is known there.
    check_clients(found, [{"engine": "true"}], runs_here=False)


def test_the_cgroup_of_a_container_is_told_to_its_engine():
    words = labelled(["podman", "run", "box"], "dir:3.1", Cgroup("trialwise-0-3.1", "podman").options)
    assert words[-3:] == ["--cgroup-parent=/trialwise-0-3.1", "--cgroups=no-conmon", "box"]


@pytest.mark.parametrize(
    "rest",
    [
        '[instrumentation]\nperf = ["cycles"]',
        "[instrumentation]\nresources = true",
        "[instrumentation]\ncpus = [0]",
    ],
)
def test_what_would_act_on_the_client_alone_is_refused(tmp_path, rest):
    assert "and not" in refusal(experiment(tmp_path, "command = '{engine} run box'", rest=rest))
    assert "and not" in refusal(experiment(tmp_path, "command = '{engine} run box'\nisolate = ['network']"))


def test_resources_of_a_service_whose_client_is_started_are_refused(tmp_path):
    service = "[service.s]\nstart = 'docker run box'\nready = { port = 4000 }"
    found = experiment(tmp_path, "command = 'true {engine}'", 'service = "s.cpu"', service)
    assert "s.cpu is of the client docker" in refusal(found)


def test_systemd_run_is_taken_with_a_scope_alone(tmp_path):
    found = experiment(tmp_path, "command = 'systemd-run --scope --quiet {engine}'", 'resource = "user"')
    check_clients(found, [{"engine": "true"}])
    assert "without --scope" in refusal(experiment(tmp_path, "command = 'systemd-run --wait {engine}'"))
