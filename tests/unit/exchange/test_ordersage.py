"""OrderSage repositories, made up after the public format, as experiment files; nothing of them is run."""

import pytest

from trialwise import study
from trialwise.analysis.observations import StoreObservations
from trialwise.cli.new import new
from trialwise.design.plan import make_plan
from trialwise.errors import PlanError
from trialwise.exchange.ordersage import read_ordersage
from trialwise.exchange.printed_lines import NotUnderstoodError, printed_by_python, printed_by_shell
from trialwise.experiment.reading import read_experiment
from trialwise.study.locating import opened

CONFIG = """\
'''
Where to reach the workers
'''
workers = ["node-1.example.org", "node-2.example.org"]
user = "me"
keyfile = "~/.ssh/id_ed25519"
port_num = 2222
repo = "https://git.example.org/me/cache-tests.git"
init_script_call = "cd cache-tests && bash initialize.sh"
exp_script_call = "cd cache-tests && python3 exp_config.py"
results_dir = "~/cache-tests/results"
results_file = "results.txt"
n_runs = 3
interleave = True
verbose = True
reset = {reset}
seed = 11
instrumentation_modules = {modules}
open("was-run", "w")
"""
SCRIPT = """\
import sys

TESTS = {"set": 3, "get": 2}
open_calls = ["./get_hits.sh"]

def main():
    for name, size in TESTS.items():
        print(f"bash cmd.sh {name} {size:02d}")
    for call in open_calls:
        print(call, "&&", "true")

if __name__ == "__main__":
    main()
"""
COMMANDS = ("bash cmd.sh set 03", "bash cmd.sh get 02", "./get_hits.sh && true")


@pytest.fixture
def repository(tmp_path):
    def write(*, reset=False, modules="[]", script=SCRIPT, config=CONFIG):
        folder = tmp_path / "ordersage"
        tests = folder / "cache-tests"
        tests.mkdir(parents=True, exist_ok=True)
        (folder / "config.py").write_text(config.replace("{reset}", str(reset)).replace("{modules}", modules))
        (tests / "exp_config.py").write_text(script)
        (tests / "cmd.sh").write_text('echo "$2.5e1" >> results/results.txt\n')
        (tests / "get_hits.sh").write_text("#!/bin/sh\necho -7 >> results/results.txt\n")
        (tests / "get_hits.sh").chmod(0o755)
        return folder

    return write


def test_the_experiment_is_what_ordersage_does_and_runs(repository, tmp_path, monkeypatch):
    folder = repository()
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.toml"
    assert new(file, from_ordersage=folder) == 0
    experiment = read_experiment(file)
    assert (experiment.name, experiment.seed, experiment.reset) == ("cache-tests", 11, None)
    assert experiment.fixed_factors[0].levels == COMMANDS
    plan = make_plan(experiment)
    fixed = [trial.factors["test"] for trial in plan.trials if trial.order == "fixed"]
    assert (plan.sizing.rounds, tuple(fixed)) == (6, COMMANDS * 3)
    result = study.run(file, tmp_path / "results", workers=["local"])
    assert result.counts == {"finished": 18}
    table = study.open_directory(tmp_path / "results")[2]
    values = {value for _, _, _, value, _, _ in table.values([experiment.metrics[0].source.key])}
    assert values == {35.0, 25.0, -7.0}
    assert not [*tmp_path.rglob("was-run")]
    assert experiment.workers.use == ("ssh://me@node-1.example.org:2222", "ssh://me@node-2.example.org:2222")
    assert experiment.workers.setup == ("bash", "-c", "cd ordersage/cache-tests && bash initialize.sh")


def test_each_of_several_numbers_that_a_test_appends_is_a_sample_of_its_trial(
    repository, tmp_path, monkeypatch
):
    folder = repository()
    (folder / "cache-tests" / "cmd.sh").write_text("printf '1\\n2.5\\n 8e0 \\n' >> results/results.txt\n")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.toml"
    assert new(file, from_ordersage=folder) == 0
    assert study.run(file, tmp_path / "results", workers=["local"]).counts == {"finished": 18}
    with opened(tmp_path / "results") as (experiment, directory, ledger):
        samples = StoreObservations(experiment, directory, ledger).of(experiment.metrics[0])
        found = sorted({tuple(one.values.tolist()) for one in samples})
    assert found == [(-7.0,), (1.0, 2.5, 8.0)]


def test_results_below_the_home_folder_are_read_there(repository, tmp_path, monkeypatch):
    """The scripts name ~/cache-tests/results, wherever they stand themselves."""
    folder = repository()
    for name in ("cmd.sh", "get_hits.sh"):
        (folder / "cache-tests" / name).write_text(
            "#!/bin/sh\necho 4.5 >> ~/cache-tests/results/results.txt\n"
        )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tmp_path / "mine.toml"
    new(file, from_ordersage=folder)
    assert 'file = "~/cache-tests/results/results.txt"' in file.read_text()
    assert study.run(file, tmp_path / "results", workers=["local"]).counts == {"finished": 18}
    assert len((tmp_path / "home/cache-tests/results/results.txt").read_text().split()) == 18


def test_a_configuration_with_loops_and_percent_signs_is_read(repository, tmp_path):
    config = CONFIG.replace(
        'workers = ["node-1.example.org", "node-2.example.org"]',
        'DOMAIN = "example.org"\nworkers = ["node-%d.%s" % (n, DOMAIN) for n in range(1, 3)]\n'
        'for n in range(3, 5):\n    workers.append("node-%02d" % n)',
    )
    script = 'for size in [8, 64]:\n    print("./fio --bs=%dk --name %s" % (size, "x"))\nprint("./a %5.1f%%" % 2)\n'
    file = tmp_path / "mine.toml"
    new(file, from_ordersage=repository(config=config, script=script))
    experiment = read_experiment(file)
    assert experiment.fixed_factors[0].levels == (
        "./fio --bs=8k --name x",
        "./fio --bs=64k --name x",
        "./a   2.0%",
    )
    hosts = ("node-1.example.org", "node-2.example.org", "node-03", "node-04")
    assert experiment.workers.use == tuple(f"ssh://me@{host}:2222" for host in hosts)


def test_a_reboot_and_instrumentation_come_along(repository, tmp_path):
    file = tmp_path / "mine.toml"
    new(file, from_ordersage=repository(reset=True, modules='["perf", "pin_to_core", "own"]'))
    experiment = read_experiment(file)
    assert experiment.reset is not None
    assert experiment.reset.reboot
    assert "instructions" in experiment.instrumentation.perf
    assert "# own: has no counterpart here" in file.read_text()


def test_a_script_of_the_shell_and_a_file_of_commands(repository, tmp_path):
    config = CONFIG.replace("python3 exp_config.py", "bash exp_config.py")
    folder = repository(
        script="#!/bin/bash\n# tests\necho ./a.sh -r 20\necho \"./b.sh 'x y'\"\n", config=config
    )
    assert read_ordersage(folder).commands == ("./a.sh -r 20", "./b.sh 'x y'")
    printed = tmp_path / "commands.txt"
    printed.write_text("one\n\n  two --size 3\n")
    assert read_ordersage(folder, printed).commands == ("one", "two --size 3")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"script": "import os\nprint(os.listdir())\n"}, r"exp_config.py:2: what it prints cannot be known"),
        ({"script": "print('a')\nprint('a')\n"}, "the command 'a' occurs twice"),
        ({"script": "x = 3\n"}, "prints no command"),
        (
            {"config": CONFIG.replace("n_runs = 3", "n_runs = 2 + len('a')")},
            "n_runs is more than a plain value",
        ),
        ({"config": CONFIG.replace("n_runs = 3", "n_runs = 0")}, "n_runs must be a whole number"),
        ({"config": CONFIG.replace("exp_config.py", "../../secret.py")}, "is missing"),
        ({"config": "repo = 3\n"}, "repo must be a text"),
        ({"config": "repo = (\n"}, "config.py:1: is not Python"),
    ],
)
def test_what_cannot_be_known_is_refused(repository, tmp_path, change, says):
    folder = repository(**change)
    with pytest.raises(PlanError, match=says):
        new(tmp_path / "mine.toml", from_ordersage=folder)
    assert not (tmp_path / "mine.toml").exists()


def test_options_that_do_not_go_together(repository, tmp_path):
    with pytest.raises(PlanError, match="takes no --command"):
        new(tmp_path / "x.toml", from_ordersage=repository(), command="true")
    with pytest.raises(PlanError, match="is only valid with --from-ordersage"):
        new(tmp_path / "x.toml", commands=tmp_path)
    with pytest.raises(PlanError, match=r"config\.py: there is none"):
        new(tmp_path / "x.toml", from_ordersage=tmp_path / "absent")


@pytest.mark.parametrize(
    "script",
    [
        "for i in range(10**12):\n    pass\n",
        "s = 'x'\nfor i in range(60):\n    s = s + s\n",
        "def f():\n    f()\nf()\n",
        "print(f'{1:1000000}')\n",
        "while True: pass\n",
        "print('%99999d' % 1)\n",
        "print('%*d' % (10**9, 1))\n",
        "print('%d' % 'x')\n",
        "x = [i for i in range(10**12)]\n",
        "for a, b in [[1]]:\n    print(a)\n",
        "print('a', file=open('x', 'w'))\n",
        "\0",
        "(" * 1000,
    ],
)
def test_scripts_that_are_not_lists_are_given_up(script):
    with pytest.raises(NotUnderstoodError):
        printed_by_python(script)


def test_python_that_lists():
    script = "n = ' '.join(['a', 'b'])\nfor i in range(1, 3):\n    print(n + '-' + str(i))\nprint()\n"
    assert printed_by_python(script) == ["a b-1", "a b-2", ""]


@pytest.mark.parametrize(
    "line",
    [
        "echo $HOME",
        'echo "`id`"',
        "echo a > b",
        "rm x",
        "echo -n a",
        "echo 'a",
        "for i in 1; do",
        "cat << E\na",
    ],
)
def test_shell_lines_that_do_more_are_given_up(line):
    with pytest.raises(NotUnderstoodError):
        printed_by_shell(line)


def test_shell_that_lists():
    text = "set -e\ncat << 'END'\na $x\nEND\nprintf '%s\\n' b 'c d'\necho 'costs $3'  # why\nexit 0\n"
    assert printed_by_shell(text) == ["a $x", "b", "c d", "costs $3"]
