"""Which runs of a Pantheon folder count: Pantheon's own rules, held against a reading of the logs line by line."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from trialwise.errors import AnalysisError
from trialwise.exchange.result_files import read_trials

METRICS = ("pantheon_throughput", "pantheon_delay", "pantheon_loss")


def tunnel(path: Path, seconds: float, gap: float, delay: float = 20.0, lost: int = 0) -> None:
    """A merged log: a packet of 1500 bytes every `gap` ms, each `lost`-th of which does not come out."""
    events: list[tuple[float, str]] = []
    for k in range(int(seconds * 1000 / gap)):
        t = k * gap
        events.append((t, f"{t:.3f} + 1500 1"))
        if not lost or k % lost:
            events.append((t + delay, f"{t + delay:.3f} - 1500 {delay:.3f} 1"))
    lines = "".join(f"{line}\n" for _, line in sorted(events))
    path.write_text(f"# init timestamp: 1744936429546.000\n{lines}")


def link(path: Path, seconds: float, gap: int) -> None:
    """A log of mm-link: whole milliseconds, packets four bytes larger, delay in the queue alone, drops."""
    lines = ["# mahimahi mm-link (Uplink) [one.trace]", "# command line: x", "# queue: droptail [packets=5]"]
    lines += ["# init timestamp: 1744936429546", "# base timestamp: 0"]
    for t in range(0, int(seconds * 1000), gap):
        lines += [f"{t} + 1504", f"{t} # 1504", f"{t} - 1504 0"]
        if not t % 100:
            lines += [f"{t} + 1504", f"{t} d 1 1504"]
    path.write_text("\n".join(lines) + "\n")


def metadata(folder: Path, **facts: object) -> None:
    (folder / "pantheon_metadata.json").write_text(json.dumps(facts))


def by_hand(path: Path) -> tuple[float, float, int]:
    """Seconds between first and last departure, Mbit/s, and departures, as Pantheon's tunnel_graph has them."""
    out = [line.split() for line in path.read_text().splitlines() if line.split()[1] == "-"]
    span = (float(out[-1][0]) - float(out[0][0])) / 1000
    return span, sum(int(words[2]) for words in out) * 8 / 1e6 / span, len(out)


@pytest.fixture(params=["folder", "tar.gz"])
def trials_of(request, tmp_path):
    """Read a folder, as it is or packed."""

    def read(folder: Path):
        if request.param == "folder":
            return read_trials(folder)
        packed = tmp_path / f"packed.{request.param}"
        with tarfile.open(packed, f"w:{request.param[4:]}") as archive:
            archive.add(folder, "results")
        return read_trials(packed)

    return read


@pytest.mark.parametrize(("seconds", "counts"), [(3, False), (23.9, False), (24.1, True), (30, True)])
def test_a_run_that_ended_before_four_fifths_of_its_time_is_no_run(tmp_path, trials_of, seconds, counts):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_datalink_run1.log", 30, 25)
    tunnel(folder / "cubic_datalink_run2.log", seconds, 10)
    metadata(folder, runtime=30, flows=1, cc_schemes=["cubic"], run_times=2)
    span, rate, _ = by_hand(folder / "cubic_datalink_run2.log")
    assert (span >= 0.8 * 30) is counts
    found = trials_of(folder)
    rates = found.of("pantheon_throughput")["value"].to_list()
    assert rates == pytest.approx([by_hand(folder / "cubic_datalink_run1.log")[1]] + [rate] * counts)
    assert {found.of(metric).height for metric in METRICS} == {1 + counts}
    said = any("run 2 of cubic: its departures span" in note for note in found.notes)
    assert said is not counts


def test_a_run_of_which_nothing_came_out_is_no_run_of_no_throughput(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_datalink_run1.log", 30, 25)
    (folder / "cubic_datalink_run2.log").write_text("")
    (folder / "cubic_datalink_run3.log").write_text("# init timestamp: 1744936429546.000\n")
    tunnel(folder / "cubic_datalink_run4.log", 30, 25, lost=1)
    (folder / "cubic_datalink_run5.log").write_text("# init timestamp: 1.0\n1.0 + 1500 1\n2.0 - 1500 1.0 1\n")
    for facts in ({"runtime": 30}, {}):
        metadata(folder, **facts)
        found = trials_of(folder)
        assert {found.of(metric).height for metric in METRICS} == {1}
        note = next(note for note in found.notes if note.startswith("4 runs are ignored"))
        assert "run 2 of cubic: its log is empty" in note
        assert "run 3 of cubic: nothing came out; run 4 of cubic: nothing came out; run 5 of cubic: " in note
    assert any("runs that ended early cannot be told" in note for note in found.notes)


def test_the_links_own_logs_are_no_schemes(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    for scheme in ("cubic", "bbr_mm_acklink"):
        for run in (1, 2):
            tunnel(folder / f"{scheme}_datalink_run{run}.log", 30, 100)
            tunnel(folder / f"{scheme}_acklink_run{run}.log", 30, 100)
            link(folder / f"{scheme}_mm_datalink_run{run}.log", 30, 100)
            link(folder / f"{scheme}_mm_acklink_run{run}.log", 30, 100)
    for facts in (
        {"runtime": 30, "flows": 1},
        {"runtime": 30, "flows": [{"scheme": "cubic"}]},
        {"runtime": 30},
    ):
        metadata(folder, **facts)
        found = trials_of(folder)
        assert sorted(found.treatments) == ["scheme=bbr_mm_acklink", "scheme=cubic"]
        rate = by_hand(folder / "cubic_datalink_run1.log")[1]
        assert found.of("pantheon_throughput")["value"].to_list() == pytest.approx([rate] * 4)
        assert set(found.of("pantheon_delay")["value"]) == {20.0}


def test_a_scheme_may_be_called_as_the_links_logs_are(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_mm_datalink_run1.log", 30, 100)
    tunnel(folder / "x_datalink_run7_datalink_run1.log", 30, 200)
    link(folder / "cubic_mm_mm_datalink_run1.log", 30, 100)
    metadata(folder, runtime=30, flows=1)
    assert sorted(trials_of(folder).treatments) == ["scheme=cubic_mm", "scheme=x_datalink_run7"]


def test_without_tunnels_the_links_logs_are_the_runs(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    for run in (1, 2):
        link(folder / f"cubic_mm_datalink_run{run}.log", 30, 50)
    for facts in ({"runtime": 30, "flows": 0}, {}):
        metadata(folder, **facts)
        found = trials_of(folder)
        assert list(found.treatments) == ["scheme=cubic"]
        _, rate, departures = by_hand(folder / "cubic_mm_datalink_run1.log")
        assert found.of("pantheon_throughput")["value"].to_list() == pytest.approx([rate] * 2)
        loss = 100 * (1 - departures / (departures + 300))
        assert found.of("pantheon_loss")["value"].to_list() == pytest.approx([loss] * 2)
        assert any("no tunnels" in note for note in found.notes)
    metadata(folder, runtime=30, flows=1)
    with pytest.raises(AnalysisError, match="its logs are the link's alone"):
        trials_of(folder)


def test_runs_that_pantheons_file_lacks_and_that_are_missing_are_named(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "cubic_datalink_run1.log", 30, 100)
    tunnel(folder / "cubic_datalink_run2.log", 3, 1)
    metadata(folder, runtime=30, cc_schemes=["cubic", "vegas"], run_times=3)
    notes = trials_of(folder).notes
    assert "cubic: 2 of 3 runs are there" in notes
    assert "vegas: it has no runs, although the metadata name the scheme" in notes
    perf = {"cubic": {"1": {"all": {"tput": 1.2, "delay": 20.0, "loss": 0.0}}}}
    (folder / "pantheon_perf.json").write_text(json.dumps(perf))
    found = trials_of(folder)
    assert found.of("pantheon_throughput")["value"].to_list() == [1.2]
    assert found.notes == (
        "1 run is ignored, as by Pantheon (run 2 of cubic: it is not in pantheon_perf.json)",
    )


@pytest.mark.parametrize("value", ["NaN", "Infinity", "null"])
def test_a_run_without_one_metric_is_no_run_of_another(tmp_path, value):
    whole = '{"all": {"tput": 1, "delay": 2, "loss": 0.1}}'
    broken = whole.replace("2", value)
    path = tmp_path / "pantheon_perf.json"
    path.write_text(f'{{"a": {{"1": {whole}, "2": {broken}, "3": {{}}}}, "b": {{"1": {broken}}}}}')
    found = read_trials(tmp_path)
    assert list(found.treatments) == ["scheme=a"]
    assert {found.of(metric).height for metric in METRICS} == {1}
    assert "3 runs are left out (run 2 of a: it has no delay" in found.notes[0]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"tput": -5}, "bbr: 1: all: tput: .*a throughput of -5 Mbit/s cannot be"),
        ({"loss": 7}, "bbr: 1: all: loss: .*7 is no share of packets that were lost"),
    ],
)
def test_what_no_run_can_have_is_refused(tmp_path, values, problem):
    path = tmp_path / "pantheon_perf.json"
    path.write_text(json.dumps({"bbr": {"1": {"all": {"tput": 1, "delay": 2, "loss": 0} | values}}}))
    for source in (path, tmp_path):
        with pytest.raises(AnalysisError, match=problem) as raised:
            read_trials(source)
        assert "loss (a share)" in str(raised.value.hint)


def test_a_delay_below_zero_shows_that_the_clocks_differ(tmp_path):
    path = tmp_path / "pantheon_perf.json"
    path.write_text('{"bbr": {"1": {"all": {"tput": 1, "delay": -20.5, "loss": -0.01}}}}')
    for source in (path, tmp_path):
        assert [note for note in read_trials(source).notes if "-20.5 ms: the clocks of its two ends" in note]


@pytest.mark.parametrize(
    "facts", ["[", '{"runtime": "soon"}', '{"runtime": -1}', '{"runtime": 1e400}', '{"flows": -3}']
)
def test_metadata_that_are_none_are_said_and_cost_no_run(tmp_path, facts):
    tunnel(tmp_path / "cubic_datalink_run1.log", 30, 25)
    (tmp_path / "pantheon_metadata.json").write_text(facts)
    found = read_trials(tmp_path)
    assert found.of("pantheon_throughput").height == 1
    assert "pantheon_metadata.json: is not what Pantheon writes" in found.notes[0]


def test_nothing_outside_of_the_folder_is_read(tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(tmp_path / "outside.log", 30, 25)
    tunnel(folder / "cubic_datalink_run1.log", 30, 25)
    (folder / "cubic_datalink_run2.log").symlink_to(tmp_path / "outside.log")
    os.mkfifo(folder / "cubic_datalink_run3.log")
    found = read_trials(folder)
    assert found.of("pantheon_throughput").height == 1
    assert [note.split(": ", 1)[0] for note in found.notes].count("left out") == 2
    (folder / "pantheon_perf.json").symlink_to("/dev/zero")
    with pytest.raises(AnalysisError, match="is a link"):
        read_trials(folder)


def tunnel_ends(
    folder: Path, run: str, flow: int, *, offsets=(0.0, 0.0), attempt="a", began=1_744_936_429_546.0, n=900
) -> list[str]:
    """The logs of both ends of a tunnel, each by a clock that is behind by its offset; return the lines of a merged log by true time.

    Every 50th packet is lost; delays are 20 ms and up to 6 ms more.
    """
    sent, received = began + 7.25, began - 3.5
    ends: dict[str, list[str]] = {"egress": [], "ingress": []}
    events: list[tuple[float, str]] = []
    for uid in range(1, n + 1):
        t, delay, size = 33.0 * uid + flow, 20.0 + uid % 7, 1000 + uid % 400 + 36
        ends["egress"].append(f"{t - (sent - began) - offsets[0] + 50:.3f} - {uid} - {size}")
        events.append((t, f"{t:.3f} + {size} {flow}"))
        if uid % 50:
            at = t + delay
            ends["ingress"].append(f"{at - (received - began) - offsets[1] + 50:.3f} - {uid} - {size}")
            events.append((at, f"{at:.3f} - {size} {delay:.3f} {flow}"))
    for end, init in (("egress", sent), ("ingress", received)):
        head = f"# 'mm-tunnelserver' '--{end}-log={run}' {end}: {init - 50:.3f}\n"
        name = f"{run}_flow{flow}_uid{attempt}.log.{end}"
        (folder / name).write_text(head + "".join(f"{line}\n" for line in ends[end]))
    return [line for _, line in sorted(events)]


def stats_log(folder: Path, scheme: str, run: int, began: str, offsets=None) -> None:
    said = (
        "" if offsets is None else "Local clock offset: {} ms\nRemote clock offset: {} ms\n".format(*offsets)
    )
    text = f"Start at: {began}\nEnd at: {began}\n{said}\n# Below is generated by plot.py\n"
    (folder / f"{scheme}_stats_run{run}.log").write_text(text)


@pytest.mark.parametrize("flows", [1, 3])
@pytest.mark.parametrize("sender", ["local", "remote", None])
def test_logs_of_tunnels_are_merged_as_by_pantheon(tmp_path, trials_of, flows, sender):
    """Against a merged log of the same packets, written by true time."""
    ends, merged = tmp_path / "ends", tmp_path / "merged"
    ends.mkdir()
    merged.mkdir()
    local, remote = (0.0, 0.0) if sender is None else (12.5, -80.25)
    offsets = (remote, local) if sender == "remote" else (local, remote)
    lines = [
        line
        for flow in range(1, flows + 1)
        for line in tunnel_ends(ends, "bbr_datalink_run4", flow, offsets=offsets)
    ]
    lines.sort(key=lambda line: float(line.split()[0]))
    (merged / "bbr_datalink_run4.log").write_text(
        "\n".join(["# init timestamp: 1744936429546.000", *lines, ""])
    )
    if sender:
        metadata(ends, runtime=30, flows=flows, sender_side=sender, mode="remote")
        stats_log(ends, "bbr", 4, "2018-02-03 04:05:06", (local, remote))
    found, wanted = trials_of(ends), trials_of(merged)
    for metric in METRICS:
        assert found.of(metric)["value"].to_list() == pytest.approx(wanted.of(metric)["value"].to_list())
        assert found.of(metric).height == 1
    assert found.of("pantheon_delay")["value"].to_list() == pytest.approx([26.0], abs=0.002)
    assert "1 run was merged from the logs of both ends of the tunnels" in found.notes
    if sender:
        # The same logs without offsets: the clocks differ by 92.75 ms.
        (ends / "bbr_stats_run4.log").unlink()
        found = trials_of(ends)
        shift = 92.75 if sender == "local" else -92.75
        assert found.of("pantheon_delay")["value"].to_list() == pytest.approx([26.0 + shift], abs=0.002)
        said = [note for note in found.notes if "the clocks of its two ends differ" in note]
        assert len(said) == (shift < 0)


def test_of_several_attempts_at_a_run_the_last_one_counts(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel_ends(folder, "bbr_datalink_run1", 1, attempt="zz", n=300)
    tunnel_ends(folder, "bbr_datalink_run1", 1, attempt="aa", began=1_744_936_529_546.0, n=880)
    (folder / "bbr_datalink_run1_flow1_uidm.log.ingress").write_text("# x ingress: 9744936529546.000\n")
    found = trials_of(folder)
    wanted = trials_of_lines(tmp_path, tunnel_ends(tmp_path, "x_datalink_run1", 1, n=880))
    assert found.of("pantheon_throughput")["value"].to_list() == pytest.approx([wanted])


def trials_of_lines(folder: Path, lines: list[str]) -> float:
    (folder / "by-hand.log").write_text("\n".join(lines) + "\n")
    return by_hand(folder / "by-hand.log")[1]


def test_a_merged_log_of_each_tunnel_will_do(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    lines: list[str] = []
    for flow in (1, 2):
        own = tunnel_ends(tmp_path, "x_datalink_run1", flow)
        lines += own
        text = "".join(f"{line.rpartition(' ')[0]}\n" for line in own)
        name = f"x_datalink_run1_flow{flow}_uid5.log.merged"
        (folder / name).write_text(f"# init timestamp: 1744936429546.000\n{text}")
    lines.sort(key=lambda line: float(line.split()[0]))
    found = trials_of(folder)
    assert found.of("pantheon_throughput")["value"].to_list() == pytest.approx(
        [trials_of_lines(tmp_path, lines)]
    )


def test_a_run_of_which_a_log_is_missing_is_left_out_and_said(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    for run in (1, 2, 3):
        for flow in (1, 2):
            tunnel_ends(folder, f"bbr_datalink_run{run}", flow)
    (folder / "bbr_datalink_run2_flow2_uida.log.ingress").unlink()
    for end in ("ingress", "egress"):
        (folder / f"bbr_datalink_run3_flow2_uida.log.{end}").unlink()
    metadata(folder, runtime=30, flows=2)
    found = trials_of(folder)
    assert found.of("pantheon_delay").height == 1
    said = "\n".join(found.notes)
    assert (
        "bbr_datalink_run2_flow2_uida.log.egress: is what one end of a tunnel saw, and bbr_datalink_run2"
        in said
    )
    assert "left out: run 3 of bbr: the logs of 1 of 2 tunnels are there" in said
    # What came out has to have gone in, and what is left out is said with its run.
    name = folder / "bbr_datalink_run1_flow1_uida.log.ingress"
    name.write_text(name.read_text() + "31000.000 - 5000 - 1036\n")
    with pytest.raises(AnalysisError, match="no trial has a value") as raised:
        trials_of(folder)
    assert "run 1 of bbr: packet 5000 came out of the tunnel and never went in" in raised.value.message
    assert "merged from" not in raised.value.message


def test_schemes_may_be_one_text_as_in_2017(tmp_path, trials_of):
    folder = tmp_path / "f"
    folder.mkdir()
    tunnel(folder / "default_tcp_datalink_run1.log", 30, 25)
    tunnel(folder / "koho_cc_datalink_run1.log", 3, 25)
    facts = {"cc_schemes": "default_tcp vegas koho_cc", "runtime": 30, "flows": 1, "run_times": 1}
    metadata(folder, **facts, sender_side="local", interval=0, git_information="x")
    found = trials_of(folder)
    assert list(found.treatments) == ["scheme=default_tcp"]
    assert "vegas: it has no runs, although the metadata name the scheme" in found.notes
    assert any("run 1 of koho_cc: its departures span" in note for note in found.notes)


@pytest.mark.parametrize(
    "form", ["2017-01-0{day} 21:{minute:02}:05", "Tue, 0{day} Jan 2017 21:{minute:02}:05 +0000",
             "Tue, 0{day} Jan 2017 23:{minute:02}:05 +0200"],
)  # fmt: skip
def test_a_run_began_when_its_statistics_say(tmp_path, trials_of, form):
    folder = tmp_path / "f"
    folder.mkdir()
    for place, (scheme, run) in enumerate([("b", 1), ("a", 1), ("b", 2), ("a", 2)]):
        tunnel(folder / f"{scheme}_datalink_run{run}.log", 30, 100)
        stats_log(folder, scheme, run, form.format(day=run + 2, minute=place))
    table = trials_of(folder).of("pantheon_delay").sort("started")
    assert list(zip(table["treatment"], table["round"], strict=True)) == [
        ("scheme=b", "1"), ("scheme=a", "1"), ("scheme=b", "2"), ("scheme=a", "2"),
    ]  # fmt: skip
    assert table["started"][0] == 1_483_477_205  # date -u -d '2017-01-03 21:00:05' +%s
    assert table["started"][3] - table["started"][0] == 86_400 + 180


@pytest.mark.parametrize(
    "text", ["", "Start at: soon\n", "Start at: 2017-99-99 00:00:00\n", "\0\xff" * 9000, None]
)
def test_statistics_that_say_nothing_cost_nothing(tmp_path, text):
    tunnel(tmp_path / "a_datalink_run1.log", 30, 100)
    if text is None:
        (tmp_path / "a_stats_run1.log").symlink_to("/dev/zero")
    else:
        (tmp_path / "a_stats_run1.log").write_text(text)
    assert read_trials(tmp_path).of("pantheon_delay")["started"].to_list() == [None]
